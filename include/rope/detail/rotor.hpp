#pragma once

#include <cstdint>

#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// A factor of many products: without a fused multiply-add, its halves are split off only once.
struct Factor {
  DoubleDouble value;
  DoubleDouble halves;
};

[[gnu::always_inline]] inline Factor make_factor(DoubleDouble value) {
#if ROPE_DETAIL_HAS_FMA
  return {value, {}};
#else
  return {value, halves_of(value.hi)};
#endif
}

/// The product of the leading parts, exactly.
[[gnu::always_inline]] inline DoubleDouble leading_product(const Factor& a, const Factor& b) {
  const double product = keep(a.value.hi * b.value.hi);
#if ROPE_DETAIL_HAS_FMA
  return {product, keep(fused_multiply_add(a.value.hi, b.value.hi, -product))};
#else
  return {product, product_error(product, a.halves, b.halves)};
#endif
}

/// The products of the leading parts with the trailing ones.
[[gnu::always_inline]] inline double trailing_product(const Factor& a, const Factor& b) {
  return keep(keep(a.value.hi * b.value.lo) + keep(a.value.lo * b.value.hi));
}

/// A complex number of modulus near 1.
struct Rotor {
  Factor cos;
  Factor sin;
};

/// exp(i * multiple * frequency), the product taken exactly. Needs |multiple| <= 2^53.
inline Rotor rotor(double frequency, std::int64_t multiple) {
  const SinCos value = sin_cos(two_product(static_cast<double>(multiple), frequency));
  return {make_factor(value.cos), make_factor(value.sin)};
}

/// The real part of a * b, rounded to double once for all practical purposes: error below 0.5 ulp +
/// 2^-102.
[[gnu::always_inline]] inline double product_cos(const Rotor& a, const Rotor& b) {
  const DoubleDouble first = leading_product(a.cos, b.cos);
  const DoubleDouble second = leading_product(a.sin, b.sin);
  const DoubleDouble sum = two_sum(first.hi, -second.hi);
  const double errors = keep(keep(first.lo - second.lo) + sum.lo);
  const double trailing = keep(trailing_product(a.cos, b.cos) - trailing_product(a.sin, b.sin));
  return keep(sum.hi + keep(errors + trailing));
}

/// The imaginary part of a * b, as above.
[[gnu::always_inline]] inline double product_sin(const Rotor& a, const Rotor& b) {
  const DoubleDouble first = leading_product(a.sin, b.cos);
  const DoubleDouble second = leading_product(a.cos, b.sin);
  const DoubleDouble sum = two_sum(first.hi, second.hi);
  const double errors = keep(keep(first.lo + second.lo) + sum.lo);
  const double trailing = keep(trailing_product(a.sin, b.cos) + trailing_product(a.cos, b.sin));
  return keep(sum.hi + keep(errors + trailing));
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
