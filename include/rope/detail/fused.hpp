#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "rope/detail/bits.hpp"
#include "rope/detail/unit.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Returns `value`, and hides from the optimiser where it came from. Every rounded step of the
/// exact arithmetic passes through here, because contraction may fuse a product into a later sum
/// and -ffast-math may cancel the very differences that measure a rounding error. So do arguments:
/// after inlining, a caller's product is as open to such changes as our own.
template <std::floating_point T>
[[gnu::always_inline]] inline T keep(T value) {
#if defined(__SSE2_MATH__)
  __asm__("" : "+x"(value));
  return value;
#elif defined(__aarch64__)
  __asm__("" : "+w"(value));
  return value;
#else
  volatile T stored = value;
  return stored;
#endif
}

/// An unevaluated sum hi + lo, where hi is the sum rounded to double: about 106 significant bits.
struct DoubleDouble {
  double hi;
  double lo;
};

/// As above, for both parts.
[[gnu::always_inline]] inline DoubleDouble keep(DoubleDouble value) {
  return {keep(value.hi), keep(value.lo)};
}

/// a + b exactly, for any finite a and b whose sum does not overflow (Knuth 1969).
[[gnu::always_inline]] inline DoubleDouble two_sum(double a, double b) {
  a = keep(a);
  b = keep(b);
  const double sum = keep(a + b);
  const double b_part = keep(sum - a);
  const double a_part = keep(sum - b_part);
  const double a_error = keep(a - a_part);
  const double b_error = keep(b - b_part);
  return {sum, keep(a_error + b_error)};
}

/// A double as the sum of two numbers of at most 26 significant bits each, so that products of such
/// halves are exact. Needs |value| < 2^996 (Veltkamp 1968, in Dekker 1971).
[[gnu::always_inline]] inline DoubleDouble halves_of(double value) {
  value = keep(value);
  constexpr double splitter = 134217729.0;  // 2^27 + 1
  const double scaled = keep(splitter * value);
  const double rest = keep(scaled - value);
  const double high = keep(scaled - rest);
  return {high, keep(value - high)};
}

/// The rounding error of `product` = round(a * b), from the halves of a and b (Dekker 1971). Exact
/// unless the error lies below the smallest subnormal, so needs |a * b| >= 2^-960 or a product of
/// 0.
[[gnu::always_inline]] inline double product_error(double product, DoubleDouble a, DoubleDouble b) {
  const double high = keep(keep(a.hi * b.hi) - product);
  const double middle = keep(keep(high + keep(a.hi * b.lo)) + keep(a.lo * b.hi));
  return keep(middle + keep(a.lo * b.lo));
}

/// Changes `rounded`, whose rounding error was `error`, to the neighbour with an odd last bit on
/// the other side of the exact value. A later rounding to fewer bits is then the rounding of the
/// exact value (Boldo and Melquiond 2008). Needs a finite `rounded`.
[[gnu::always_inline]] inline double round_to_odd(double rounded, double error) {
  const auto error_bits = bits_of(error);
  const auto bits = bits_of(rounded);
  // Bits, because with denormals-are-zero a comparison would take a tiny error for none.
  const bool inexact_and_even = (error_bits << 1) != 0 && (bits & 1) == 0;
  if (!inexact_and_even) return rounded;
  const bool away_from_zero = ((bits ^ error_bits) >> 63) == 0;
  return double_of(away_from_zero ? bits + 1 : bits - 1);
}

inline constexpr std::uint64_t exponent_mask = std::uint64_t{0x7ff} << 52;

[[gnu::noinline, gnu::cold]] inline float emulated_fma_rare(double product, float c, double sum) {
  const auto bits = bits_of(sum);
  if ((bits & exponent_mask) == exponent_mask) return static_cast<float>(sum);
  return static_cast<float>(keep(round_to_odd(sum, two_sum(product, static_cast<double>(c)).lo)));
}

/// The correctly rounded a * b + c without a fused multiply-add instruction.
///
/// The product of two floats is exact in double. Rounding its sum with c to double and then to
/// float goes wrong only where the double is just halfway between two floats, or where the float is
/// subnormal and so has its halfway points elsewhere: both are rare, and the test costs little.
[[gnu::always_inline]] inline float emulated_fma(float a, float b, float c) {
  constexpr std::uint64_t dropped_bits = 0x1fffffff;
  constexpr std::uint64_t halfway = 0x10000000;
  constexpr std::uint64_t smallest_normal = std::uint64_t{1023 - 126} << 52;
  const double product = keep(static_cast<double>(keep(a)) * static_cast<double>(keep(b)));
  const double sum = keep(product + static_cast<double>(keep(c)));
  const auto bits = bits_of(sum);
  const bool is_normal_or_zero = (bits << 1) - 1 >= (smallest_normal << 1) - 1;
  if ((bits & dropped_bits) == halfway || !is_normal_or_zero) [[unlikely]] {
    return emulated_fma_rare(product, c, sum);
  }
  return static_cast<float>(sum);
}

__extension__ using UInt128 = unsigned __int128;

/// A nonzero finite number: -1^negative * significand * 2^exponent with 2^124 <= significand <
/// 2^125.
struct WideFloat {
  UInt128 significand;
  int exponent;
  bool negative;
};

inline int leading_zeros(UInt128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? std::countl_zero(high)
                   : 64 + std::countl_zero(static_cast<std::uint64_t>(value));
}

/// significand * 2^exponent, brought to the normal form of WideFloat.
inline WideFloat wide_float(UInt128 significand, int exponent, bool negative) {
  const int shift = leading_zeros(significand) - 3;
  return {significand << shift, exponent - shift, negative};
}

struct Decomposed {
  std::uint64_t significand;
  int exponent;
};

inline Decomposed decompose(std::uint64_t bits) {
  const auto fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const auto biased = static_cast<int>((bits & exponent_mask) >> 52);
  if (biased == 0) return {fraction, -1074};
  return {fraction | (std::uint64_t{1} << 52), biased - 1075};
}

/// Rounds to nearest even, with gradual underflow, and overflow to infinity.
inline double round_to_double(UInt128 significand, int exponent, bool negative) {
  const auto sign = std::uint64_t{negative} << 63;
  const int top = 127 - leading_zeros(significand);
  const int shift = top - 52 > -1074 - exponent ? top - 52 : -1074 - exponent;
  const int biased = shift + exponent + 1074;
  if (biased > 2045) return double_of(sign | exponent_mask);
  if (shift <= 0) {
    // At most 53 bits are left after cancellation, and nothing was lost: exact.
    const auto shifted = static_cast<std::uint64_t>(significand << -shift);
    return double_of(sign | (shifted + (static_cast<std::uint64_t>(biased) << 52)));
  }
  if (shift > 127) return double_of(sign);
  auto kept = static_cast<std::uint64_t>(significand >> shift);
  const UInt128 dropped = significand & ((UInt128{1} << shift) - 1);
  const UInt128 half = UInt128{1} << (shift - 1);
  if (dropped > half || (dropped == half && (kept & 1) != 0)) ++kept;
  // A carry out of the significand lands in the exponent, which is just what it should do.
  return double_of(sign | (kept + (static_cast<std::uint64_t>(biased) << 52)));
}

/// The whole range of emulated_fma(double), in integers.
[[gnu::noinline, gnu::cold]] inline double emulated_fma_rare(double a, double b, double c) {
  const auto a_bits = bits_of(a);
  const auto b_bits = bits_of(b);
  const auto c_bits = bits_of(c);
  const auto special = [](std::uint64_t bits) { return (bits & exponent_mask) == exponent_mask; };
  const auto zero = [](std::uint64_t bits) { return (bits << 1) == 0; };

  // Not by adding, since a finite a * b may overflow to the opposite infinity.
  if (special(c_bits) && !special(a_bits) && !special(b_bits)) return c;
  if (special(a_bits) || special(b_bits) || zero(a_bits) || zero(b_bits)) {
    return keep(keep(a * b) + c);  // the product is exact
  }
  const bool product_negative = ((a_bits ^ b_bits) >> 63) != 0;
  const Decomposed a_parts = decompose(a_bits);
  const Decomposed b_parts = decompose(b_bits);
  const WideFloat product = wide_float(UInt128{a_parts.significand} * b_parts.significand,
                                       a_parts.exponent + b_parts.exponent, product_negative);
  if (zero(c_bits)) {  // also keeps the sign of a product that vanishes
    return round_to_double(product.significand, product.exponent, product.negative);
  }
  const Decomposed c_parts = decompose(c_bits);
  const WideFloat addend =
      wide_float(UInt128{c_parts.significand}, c_parts.exponent, (c_bits >> 63) != 0);

  const bool product_is_larger = product.exponent != addend.exponent
                                     ? product.exponent > addend.exponent
                                     : product.significand >= addend.significand;
  const WideFloat& large = product_is_larger ? product : addend;
  const WideFloat& small = product_is_larger ? addend : product;
  // The last bit collects what the shift drops. It stays far below the rounding position: a shift
  // of 19 or less drops nothing, and after a longer one at most one leading bit can cancel.
  const int distance = large.exponent - small.exponent;
  UInt128 shifted = 1;
  if (distance < 125) {
    shifted = small.significand >> distance;
    if ((shifted << distance) != small.significand) shifted |= 1;
  }
  if (large.negative == small.negative) {
    return round_to_double(large.significand + shifted, large.exponent, large.negative);
  }
  const UInt128 difference = large.significand - shifted;
  if (difference == 0) return 0.0;
  return round_to_double(difference, large.exponent, large.negative);
}

/// The correctly rounded a * b + c without a fused multiply-add instruction (Boldo and Melquiond,
/// "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
[[gnu::always_inline]] inline double emulated_fma(double a, double b, double c) {
  a = keep(a);
  b = keep(b);
  c = keep(c);
  const auto exponent_of = [](double value) {
    return static_cast<std::uint32_t>(bits_of(value) >> 52) & 0x7ff;
  };
  const std::uint32_t a_exponent = exponent_of(a);
  const std::uint32_t b_exponent = exponent_of(b);
  // Two normal factors below 2^990 with 2^-960 <= |a * b| < 2^1020, and |c| < 2^1020: nothing below
  // overflows, and every error term is a multiple of the smallest subnormal.
  const bool safe = a_exponent - 1 < 2012 && b_exponent - 1 < 2012 &&
                    a_exponent + b_exponent - (2046 - 960) < 1978 && exponent_of(c) < 2043;
  if (!safe) [[unlikely]]
    return emulated_fma_rare(a, b, c);
  const double product = keep(a * b);
  const double error = product_error(product, halves_of(a), halves_of(b));
  const DoubleDouble low = two_sum(c, error);
  const DoubleDouble high = two_sum(product, low.hi);
  const DoubleDouble rest = two_sum(low.lo, high.lo);
  return keep(high.hi + keep(round_to_odd(rest.hi, rest.lo)));
}

#if defined(__FMA__) || defined(__aarch64__)
#define ROPE_DETAIL_HAS_FMA 1
#else
#define ROPE_DETAIL_HAS_FMA 0
#endif

/// The correctly rounded a * b + c in round-to-nearest, on every machine: one instruction where the
/// translation unit's baseline has it, else emulated. A NaN stays NaN, payload unspecified.
template <std::floating_point T>
[[gnu::always_inline]] inline T fused_multiply_add(T a, T b, T c) {
#if ROPE_DETAIL_HAS_FMA
  if constexpr (std::same_as<T, float>) {
    return __builtin_fmaf(keep(a), keep(b), keep(c));
  } else {
    return __builtin_fma(keep(a), keep(b), keep(c));
  }
#else
  return emulated_fma(a, b, c);
#endif
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
