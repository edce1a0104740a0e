#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"

// What the scaling schemes compute with. All of it is double-double, rounded to double once at the
// end: no mathematics library and nothing a compiler could contract, so that frequencies have the
// same bits on every platform.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

inline DoubleDouble exactly(double value) { return {value, 0.0}; }

inline double rounded(DoubleDouble value) { return keep(value.hi + value.lo); }

inline DoubleDouble two_pi() { return {keep(half_pi[0] * 4.0), keep(half_pi[1] * 4.0)}; }

/// The natural logarithm of a positive sum: its low part changes log(hi) by lo / hi, and what is
/// left out is below 2^-106.
inline DoubleDouble log(DoubleDouble x) { return log(x.hi) + rounded_quotient(x.lo, x.hi); }

inline DoubleDouble quotient(std::int64_t a, std::int64_t b) {
  return double_double(a) / double_double(b);
}

/// base^exponent where log_base = ln base.
inline DoubleDouble power(DoubleDouble log_base, DoubleDouble exponent) {
  return exp(log_base * exponent);
}

inline bool is_less(DoubleDouble a, DoubleDouble b) { return (a - b).hi < 0; }

inline DoubleDouble floor(DoubleDouble x) {
  const double whole = std::floor(x.hi);
  return whole == x.hi ? two_sum(whole, std::floor(x.lo)) : exactly(whole);
}

inline DoubleDouble ceil(DoubleDouble x) { return -floor(-x); }

/// a + (b - a) * weight, and exactly an end where the weight is not between 0 and 1.
inline DoubleDouble blend(DoubleDouble a, DoubleDouble b, DoubleDouble weight) {
  if (!(weight.hi > 0)) return a;
  if (!is_less(weight, exactly(1.0))) return b;
  return a + (b - a) * weight;
}

/// (x - low) / (high - low) limited to [0, 1]; high may lie below low, but not at it.
inline DoubleDouble ramp(DoubleDouble x, DoubleDouble low, DoubleDouble high) {
  const DoubleDouble value = (x - low) / (high - low);
  if (!(value.hi > 0)) return exactly(0.0);
  return is_less(value, exactly(1.0)) ? value : exactly(1.0);
}

/// What a scheme starts from: the plain frequencies base^(-2i / rotary_dim) of the pairs, and the
/// length of the sequence, if one is given.
struct Ladder {
  DoubleDouble log_base;
  std::int64_t rotary_dim;
  std::optional<std::int64_t> sequence_length;

  std::int64_t pairs() const { return rotary_dim / 2; }
  DoubleDouble plain(std::int64_t pair) const {
    return power(log_base, quotient(-2 * pair, rotary_dim));
  }
};

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
