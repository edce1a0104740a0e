#pragma once

#include <cstdint>

#include "rope/detail/unit.hpp"

// The two 16-bit floating-point formats, converted by integer operations alone: the same bits
// everywhere, subnormals kept, whatever the unit's floating-point flags.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// The value of a binary16 pattern; exact.
constexpr float float_of_f16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00) {  // infinity, or a NaN, which becomes a quiet one
    const std::uint32_t quiet = magnitude > 0x7c00 ? 0x400000u : 0u;
    return __builtin_bit_cast(float, sign | 0x7f800000u | quiet | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude >= 0x400) {
    return __builtin_bit_cast(float, sign | ((magnitude << 13) + 0x38000000u));
  }
  // A subnormal is a whole number of 2^-24, which is normal in float.
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, value));
}

/// The binary16 pattern nearest to a float, ties to even; above 65520, infinity.
constexpr std::uint16_t f16_of_float(float value) noexcept {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t rounded = 0;
  if (magnitude > 0x7f800000) {  // NaN
    rounded = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  } else if (magnitude >= 0x477ff000) {  // 65520 lies between the largest number and infinity
    rounded = 0x7c00;
  } else if (magnitude >= 0x38800000) {
    rounded = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  } else if (magnitude > 0x33000000) {  // above half of the least subnormal
    const std::uint32_t digits = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t shift = 126 - (magnitude >> 23);  // 14 .. 24
    const std::uint32_t half = 1u << (shift - 1);
    rounded = (digits + half - 1 + (digits >> shift & 1u)) >> shift;
  }
  return static_cast<std::uint16_t>(sign | rounded);
}

/// The value of a bfloat16 pattern; exact.
constexpr float float_of_bf16(std::uint16_t bits) noexcept {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

/// The bfloat16 pattern nearest to a float, ties to even.
constexpr std::uint16_t bf16_of_float(float value) noexcept {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000) {  // NaN: rounding could carry it into infinity
    return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  }
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
