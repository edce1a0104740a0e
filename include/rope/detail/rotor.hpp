#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "rope/detail/bits.hpp"
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

/// Writes magnitude * exp(i * j * step * frequency) for j = 0 .. count-1:
/// cos[j * stride] and sin[j * stride] are the correct roundings of its real and imaginary part,
/// where the angle is the exact product with the given double. The error is at most 0.5001 ulp, but
/// never asked to be below 2^-95 * |magnitude|, which matters next to a zero of cos or sin.
///
/// Entry 0 is exactly (magnitude, +0). An entry does not depend on count. `frequency` and
/// `magnitude` are finite, with |j * step| <= 2^53 and |j * step * frequency| <= max_angle;
/// `stride` counts elements.
///
/// Cost: with j = 32 u + v one product of two anchors per entry, and two sines and cosines per 32
/// entries.
inline void rotor_multiples(double frequency, std::int64_t step, std::int64_t count,
                            double magnitude, double* cos, double* sin, std::ptrdiff_t stride) {
  if (count <= 0) return;
  frequency = keep(frequency);
  magnitude = keep(magnitude);

  cos[0] = magnitude;
  sin[0] = 0.0;

  // |frequency| so small, that even 2^53 times it is nothing beside 1: here the exact product of an
  // anchor could have an error below the smallest double.
  if (absolute(frequency) < negligible) {
    for (std::int64_t j = 1; j < count; ++j) {
      const double angle = keep(static_cast<double>(j * step) * frequency);
      cos[j * stride] = magnitude;
      sin[j * stride] = frequency == 0 ? 0.0 : keep(magnitude * angle);
    }
    return;
  }

  // Products are taken with the magnitude's significand, in [1, 2), for the same reason.
  const auto bits = bits_of(magnitude);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const bool is_normal = exponent != 0 && exponent != 2047;
  const double scale = is_normal ? power_of_two(exponent - 1023) : 1.0;
  const double significand =
      is_normal ? double_of((bits & ~exponent_mask) | std::uint64_t{1023} << 52) : magnitude;

  constexpr std::int64_t block = 32;
  std::array<Rotor, block> fine;
  for (std::int64_t v = 0; v < (std::min)(count, block); ++v) {
    fine[static_cast<std::size_t>(v)] = rotor(frequency, v * step);
  }
  for (std::int64_t first = 0; first < count; first += block) {
    const SinCos anchor = sin_cos(two_product(static_cast<double>(first * step), frequency));
    const Rotor coarse = {make_factor(anchor.cos * significand),
                          make_factor(anchor.sin * significand)};
    const std::int64_t end = (std::min)(block, count - first);
    for (std::int64_t v = first == 0 ? 1 : 0; v < end; ++v) {
      const Rotor& unit = fine[static_cast<std::size_t>(v)];
      const std::ptrdiff_t at = (first + v) * stride;
      cos[at] = keep(product_cos(coarse, unit) * scale);
      sin[at] = keep(product_sin(coarse, unit) * scale);
    }
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
