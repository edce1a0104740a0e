#pragma once

#include <cstdint>

#include "rope/detail/bits.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/half_bits.hpp"
#include "rope/detail/unit.hpp"
#include "rope/table_options.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// The step of the coarse factors of a table, in positions. Fixed, so that the number of rows never
/// changes the bits of a row.
inline constexpr std::int64_t angle_addition_step = 1024;

/// The value of a narrow type nearest to a float.
inline float round_entry(float value, EntryRounding rounding) noexcept {
  switch (rounding) {
    case EntryRounding::bf16:
      return float_of_bf16(bf16_of_float(value));
    case EntryRounding::f16:
      return float_of_f16(f16_of_float(value));
    case EntryRounding::none:
      break;
  }
  return value;
}

/// The value of a narrow type nearest to a double, rounded once.
inline double round_entry(double value, EntryRounding rounding) noexcept {
  if (rounding == EntryRounding::none) {
    return value;
  }
  // To a float with the last bit odd where it is not exact: the second rounding is then that of the
  // double.
  const float near = keep(static_cast<float>(keep(value)));
  const double error = keep(value - static_cast<double>(near));
  auto bits = __builtin_bit_cast(std::uint32_t, near);
  const bool is_finite = (bits & 0x7f800000) != 0x7f800000;
  if (is_finite && (bits_of(error) << 1) != 0 && (bits & 1) == 0) {
    bits += (bits_of(error) >> 63) == bits >> 31 ? 1u : -1u;
  }
  return static_cast<double>(round_entry(__builtin_bit_cast(float, bits), rounding));
}

/// An entry as models make it that compute in float: cos or sin to float, times the magnitude as a
/// float, then to a narrow type.
inline double round_float_entry(double value, double magnitude, EntryRounding rounding) noexcept {
  const float product = keep(keep(static_cast<float>(value)) * keep(static_cast<float>(magnitude)));
  return static_cast<double>(round_entry(product, rounding));
}

/// The angle of one axis as models make it that compute in float.
inline float float_angle(double coordinate, double frequency) noexcept {
  return keep(keep(static_cast<float>(coordinate)) * keep(static_cast<float>(frequency)));
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
