#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include "rope/detail/unit.hpp"

// Random numbers that do not depend on the standard library: its distributions may turn the same
// engine's numbers into different ones on every platform.

namespace rope::detail {

/// What std::uniform_random_bit_generator asks for, without the whole of <random>.
template <class Engine>
concept RandomBits = requires(Engine& engine) {
  { engine() } -> std::unsigned_integral;
  { (Engine::min)() } -> std::same_as<decltype(engine())>;
  { (Engine::max)() } -> std::same_as<decltype(engine())>;
};

inline namespace ROPE_DETAIL_UNIT {

/// How many random bits each number of an engine surely holds: the floor of log2(max - min + 1).
template <RandomBits Engine>
constexpr int bits_per_draw() noexcept {
  constexpr auto span = static_cast<std::uint64_t>((Engine::max)() - (Engine::min)());
  static_assert(span > 0, "the engine gives always the same number");
  return span == (std::numeric_limits<std::uint64_t>::max)()
             ? 64
             : static_cast<int>(std::bit_width(span + 1)) - 1;
}

/// A whole number from 0 to 2^53 - 1, all equally likely: the bits of as many draws as it takes,
/// the first one uppermost, and of these the upper 53. A draw that is 2^bits_per_draw or more above
/// the engine's minimum is left out.
template <RandomBits Engine>
std::uint64_t uniform_53_bits(Engine& engine) {
  constexpr int width = bits_per_draw<Engine>();
  std::uint64_t bits = 0;
  int have = 0;
  while (have < 53) {
    const auto draw = static_cast<std::uint64_t>(engine() - (Engine::min)());
    if constexpr (width < 64) {
      if (draw >> width != 0) continue;
    }
    const int take = width < 53 - have ? width : 53 - have;
    bits = (bits << take) | (draw >> (width - take));
    have += take;
  }
  return bits;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope::detail
