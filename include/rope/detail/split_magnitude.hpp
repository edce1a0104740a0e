#pragma once

#include <cstdint>

#include "rope/detail/bits.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// A magnitude as the product of two factors. Products are taken with the significand, in [1, 2):
/// the error of an exact product with a tiny magnitude could be below the smallest double.
struct SplitMagnitude {
  double significand;
  double scale;
};

inline SplitMagnitude split_magnitude(double magnitude) {
  const auto bits = bits_of(magnitude);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  if (exponent == 0 || exponent == 2047) {
    return {magnitude, 1.0};
  }
  return {double_of((bits & ~exponent_mask) | std::uint64_t{1023} << 52),
          power_of_two(exponent - 1023)};
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
