#pragma once

#include <cmath>
#include <cstdint>

#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/unit.hpp"

// The quantile of the normal distribution, which turns evenly spread numbers into evenly spread
// directions, with the same bits on every platform.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// sqrt(x) of a positive number: the hardware's correctly rounded root and one step of Newton's.
inline DoubleDouble square_root(DoubleDouble x) {
  const double root = keep(std::sqrt(keep(x.hi)));
  const DoubleDouble rest = x - two_product(root, root);
  return quick_two_sum(root, rounded_quotient(rest.hi, keep(root * 2.0)));
}

/// 1 / sqrt(pi).
inline DoubleDouble inverse_root_pi() {
  return exactly(1.0) / square_root(DoubleDouble{keep(half_pi[0] * 2.0), keep(half_pi[1] * 2.0)});
}

/// The error function at |x| <= 7 and its derivative. The series erf x = 2 / sqrt(pi) e^-x^2 (x +
/// 2 x^3 / 3 + 4 x^5 / 15 + ...) has no alternating signs, so nothing cancels: the relative error
/// is below 2^-95 (Abramowitz and Stegun, 7.1.6).
struct ErrorFunction {
  DoubleDouble value;
  double slope;
};
inline ErrorFunction error_function(double x, DoubleDouble factor) {
  const DoubleDouble square = two_product(x, x);
  const DoubleDouble twice = {keep(square.hi * 2.0), keep(square.lo * 2.0)};
  DoubleDouble term = exactly(x);
  DoubleDouble sum = term;
  for (std::int64_t n = 3; absolute(term.hi) > keep(absolute(sum.hi) * 0x1p-105); n += 2) {
    term = term * twice / exactly(static_cast<double>(n));
    sum = sum + term;
  }
  const DoubleDouble scale = factor * exp(-square) * 2.0;
  return {scale * sum, scale.hi};
}

/// x with erf x = p, for |p| < 1, relative error below 2^-60: sqrt(1/2) times the quantile of the
/// normal distribution at (1 + p) / 2.
///
/// Starts from a fit with seven digits (Giles, "Approximating the erfinv function", 2010) and
/// improves it by Halley's method.
class InverseErrorFunction {
 public:
  DoubleDouble operator()(DoubleDouble p) const {
    if (absolute(p.hi) < 0x1p-200) return p * keep(0.5 / factor_.hi);
    double x = start(p);
    for (int step = 0;; ++step) {
      const ErrorFunction erf = error_function(x, factor_);
      const double newton = rounded_quotient((erf.value - p).hi, erf.slope);
      // The second derivative of erf is -2x times the first.
      const double change = rounded_quotient(newton, keep(1.0 + keep(x * newton)));
      const DoubleDouble better = exactly(x) - change;
      // Each step triples the number of right digits.
      if (absolute(change) < absolute(keep(x * 0x1p-20)) || step == max_steps) return better;
      x = rounded(better);
    }
  }

 private:
  static constexpr int max_steps = 20;

  static double polynomial(double x, const double (&coefficients)[9]) {
    double value = 0;
    for (const double coefficient : coefficients) value = keep(keep(value * x) + coefficient);
    return value;
  }

  static double start(DoubleDouble p) {
    constexpr double middle[9] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                  -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                  -0.00417768164,  0.246640727,    1.50140941};
    constexpr double tail[9] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                -0.00367342844,  0.00573950773,  -0.0076224613,
                                0.00943887047,   1.00167406,     2.83297682};
    const double w = -log((exactly(1.0) - p) * (exactly(1.0) + p)).hi;
    const double slope = w < 5 ? polynomial(keep(w - 2.5), middle)
                               : polynomial(keep(keep(std::sqrt(w)) - 3.0), tail);
    return keep(slope * p.hi);
  }

  DoubleDouble factor_ = inverse_root_pi();
};

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
