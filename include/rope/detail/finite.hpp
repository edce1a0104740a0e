#pragma once

#include <cstdint>

#include "rope/detail/bits.hpp"
#include "rope/detail/unit.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Whether `value` is neither infinite nor NaN, told from its bits: under -ffast-math a compiler
/// takes std::isfinite for true, and a configuration with a NaN in it would pass.
constexpr bool is_finite(double value) noexcept {
  constexpr std::uint64_t exponent = 0x7ff0'0000'0000'0000;
  return (bits_of(value) & exponent) != exponent;
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
