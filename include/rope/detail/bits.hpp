#pragma once

#include <cstdint>

#include "rope/detail/unit.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// The bits of a double, and the double of some bits. Not by std::bit_cast: without optimisation
/// that is a function, of which the linker would keep one copy for units of all instruction sets.
[[gnu::always_inline]] constexpr std::uint64_t bits_of(double value) noexcept {
  return __builtin_bit_cast(std::uint64_t, value);
}
[[gnu::always_inline]] constexpr double double_of(std::uint64_t bits) noexcept {
  return __builtin_bit_cast(double, bits);
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
