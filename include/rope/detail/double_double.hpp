#pragma once

#include <cstdint>

#include "rope/detail/bits.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"

// Arithmetic on unevaluated sums of two doubles, with relative errors of a few 2^-104. Results have
// the same bits with and without a fused multiply-add instruction, as long as no nonzero product is
// below 2^-900: there the error of a product is no longer a double.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// a + b exactly, where |a| >= |b| or a is 0 (Dekker 1971).
[[gnu::always_inline]] inline DoubleDouble quick_two_sum(double a, double b) {
  a = keep(a);
  b = keep(b);
  const double sum = keep(a + b);
  return {sum, keep(b - keep(sum - a))};
}

/// a * b exactly, where 2^-900 <= |a * b| or a * b = 0, and |a|, |b| < 2^990.
[[gnu::always_inline]] inline DoubleDouble two_product(double a, double b) {
  a = keep(a);
  b = keep(b);
  const double product = keep(a * b);
#if ROPE_DETAIL_HAS_FMA
  return {product, keep(fused_multiply_add(a, b, -product))};
#else
  return {product, product_error(product, halves_of(a), halves_of(b))};
#endif
}

/// Exactly `value`, which may need 63 bits.
inline DoubleDouble double_double(std::int64_t value) {
  constexpr double two_to_32 = 4294967296.0;
  const std::int64_t low = value & 0xffffffff;
  const std::int64_t high = (value - low) / 4294967296;
  return two_sum(keep(static_cast<double>(high) * two_to_32), static_cast<double>(low));
}

[[gnu::always_inline]] inline DoubleDouble operator-(DoubleDouble a) { return {-a.hi, -a.lo}; }

/// Relative error at most 3 * 2^-106, also where a and b cancel (Li et al. 2002, "accurate"
/// addition).
inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  a = keep(a);
  b = keep(b);
  const DoubleDouble high = two_sum(a.hi, b.hi);
  const DoubleDouble low = two_sum(a.lo, b.lo);
  const DoubleDouble sum = quick_two_sum(high.hi, keep(high.lo + low.hi));
  return quick_two_sum(sum.hi, keep(low.lo + sum.lo));
}

[[gnu::always_inline]] inline DoubleDouble operator+(DoubleDouble a, double b) {
  a = keep(a);
  const DoubleDouble sum = two_sum(a.hi, b);
  return quick_two_sum(sum.hi, keep(sum.lo + a.lo));
}

inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }

[[gnu::always_inline]] inline DoubleDouble operator-(DoubleDouble a, double b) { return a + -b; }

[[gnu::always_inline]] inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  a = keep(a);
  b = keep(b);
  const DoubleDouble product = two_product(a.hi, b.hi);
  const double cross = keep(keep(a.hi * b.lo) + keep(a.lo * b.hi));
  return quick_two_sum(product.hi, keep(product.lo + cross));
}

[[gnu::always_inline]] inline DoubleDouble operator*(DoubleDouble a, double b) {
  a = keep(a);
  b = keep(b);
  const DoubleDouble product = two_product(a.hi, b);
  return quick_two_sum(product.hi, keep(product.lo + keep(a.lo * b)));
}

/// a / b rounded once. -ffast-math may turn several divisions by one number into products with its
/// reciprocal; a divisor that comes out of a volatile statement is never taken for the same number.
inline double rounded_quotient(double a, double b) {
#if defined(__SSE2_MATH__)
  __asm__ volatile("" : "+x"(b));
#elif defined(__aarch64__)
  __asm__ volatile("" : "+w"(b));
#else
  b = keep(b);
#endif
  return keep(keep(a) / b);
}

inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = rounded_quotient(a.hi, b.hi);
  const DoubleDouble after_first = a - b * first;
  const double second = rounded_quotient(after_first.hi, b.hi);
  const double third = rounded_quotient((after_first - b * second).hi, b.hi);
  return quick_two_sum(first, second) + third;
}

/// |value| without a call, also at -O0.
[[gnu::always_inline]] inline double absolute(double value) { return value < 0 ? -value : value; }

/// 2^exponent for a normal result: -1022 <= exponent <= 1023.
[[gnu::always_inline]] inline double power_of_two(int exponent) {
  return double_of(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The integer nearest to `value`, off by one at most where the sum with a half is rounded. Needs
/// |value| < 2^62.
[[gnu::always_inline]] inline std::int64_t nearest_integer(double value) {
  return static_cast<std::int64_t>(keep(keep(value) + (value < 0 ? -0.5 : 0.5)));
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
