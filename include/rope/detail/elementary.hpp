#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rope/detail/bits.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"

// Elementary functions in double-double, with the same bits on every platform. They evaluate series
// in plain sight rather than call the mathematics library, whose results differ between its
// versions and machines.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Numbers below this have squares that no longer count, and products whose errors are no longer
/// doubles.
inline constexpr double negligible = 0x1p-300;

/// ln 2 and pi/2, each as a sum of three doubles: about 160 bits.
inline constexpr std::array<double, 3> ln_2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56,
                                               0x1.7b57a079a1934p-111};
inline constexpr std::array<double, 3> half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                                  -0x1.f1976b7ed8fbcp-110};

/// `value` - count * (the sum of `constant`), for |count| <= 2^53. The absolute error is about
/// 2^-103 where the result is of order 1.
inline DoubleDouble subtract_multiple(DoubleDouble value, std::int64_t count,
                                      const std::array<double, 3>& constant) {
  const auto factor = static_cast<double>(count);
  const DoubleDouble first = two_product(factor, constant[0]);
  const DoubleDouble second = two_product(factor, constant[1]);
  const double rest = keep(second.lo + keep(factor * constant[2]));
  return (((two_sum(value.hi, -first.hi) + value.lo) - first.lo) - second.hi) - rest;
}

struct ScaledDouble {
  DoubleDouble significand;
  int exponent;
};

/// e^x as significand * 2^exponent, relative error below 2^-98. Needs |x| < 2^20.
inline ScaledDouble exp_scaled(DoubleDouble x) {
  x = keep(x);

  if (absolute(x.hi) < negligible) return {DoubleDouble{1.0, x.hi}, 0};
  const std::int64_t exponent = nearest_integer(keep(x.hi * 0x1.71547652b82fep+0));
  const DoubleDouble rest = subtract_multiple(x, exponent, ln_2);
  // e^y - 1 for y = rest / 256, |y| < 0.0014, by Taylor's series in Horner's form.
  constexpr int halvings = 8;
  constexpr double scale = 0x1p-8;
  const DoubleDouble y = {keep(rest.hi * scale), keep(rest.lo * scale)};
  DoubleDouble series = {1.0, 0.0};
  for (int n = 10; n >= 2; --n) {
    series = series * y / DoubleDouble{static_cast<double>(n), 0.0} + 1.0;
  }
  DoubleDouble result = series * y;
  // e^2y - 1 = u * (2 + u) for u = e^y - 1; squaring e^y itself would lose a bit each time.
  for (int i = 0; i < halvings; ++i) result = result * (result + 2.0);
  return {result + 1.0, static_cast<int>(exponent)};
}

/// value * 2^exponent, with at most one rounding for normal results, zero and infinity beyond them.
inline double scale_by_power_of_two(double value, int exponent) {
  // Three factors reach from the largest double to the smallest.
  for (int i = 0; i < 3 && exponent != 0; ++i) {
    const int step = exponent > 1000 ? 1000 : (exponent < -1000 ? -1000 : exponent);
    value = keep(value * power_of_two(step));
    exponent -= step;
  }
  return value;
}

/// e^x, relative error below 2^-98 while both parts of the result are normal numbers. Needs |x| <
/// 2^20.
inline DoubleDouble exp(DoubleDouble x) {
  const ScaledDouble result = exp_scaled(x);
  return {scale_by_power_of_two(result.significand.hi, result.exponent),
          scale_by_power_of_two(result.significand.lo, result.exponent)};
}

/// The natural logarithm, relative error below 2^-98, for a positive finite number.
inline DoubleDouble log(double x) {
  x = keep(x);

  int exponent = 0;
  if (x < 0x1p-1022) {
    x = keep(x * 0x1p54);
    exponent = -54;
  }
  // x = m * 2^exponent with m between sqrt(1/2) and sqrt(2), so that nothing cancels below.
  const auto bits = bits_of(x);
  constexpr std::uint64_t half_root_2 = 0x3fe6a09e667f3bcd;
  const std::uint64_t above = bits - half_root_2;
  exponent += static_cast<int>(static_cast<std::int64_t>(above) >> 52);
  const double m = double_of((above & 0xfffffffffffff) + half_root_2);
  // ln m = 2 artanh z = 2 (z + z^3/3 + z^5/5 + ...) with z = (m - 1) / (m + 1), |z| < 0.172.
  const DoubleDouble z = DoubleDouble{keep(m - 1.0), 0.0} / two_sum(m, 1.0);
  const DoubleDouble z_squared = z * z;
  DoubleDouble series = {0.0, 0.0};
  for (int n = 41; n >= 1; n -= 2) {
    series =
        series * z_squared + DoubleDouble{1.0, 0.0} / DoubleDouble{static_cast<double>(n), 0.0};
  }
  const DoubleDouble half_logarithm = series * z;
  const auto factor = static_cast<double>(exponent);
  const DoubleDouble powers = two_product(factor, ln_2[0]) + keep(factor * ln_2[1]);
  return powers + DoubleDouble{keep(half_logarithm.hi * 2.0), keep(half_logarithm.lo * 2.0)};
}

/// base^(numerator / denominator) rounded to double, at most 0.501 ulp from the exact power while
/// it is a normal number; zero or infinity far outside. `base` is positive and finite,
/// `denominator` not 0, the exponent's size below 1000.
inline double power(double base, std::int64_t numerator, std::int64_t denominator) {
  const DoubleDouble exponent = double_double(numerator) / double_double(denominator);
  const ScaledDouble result = exp_scaled(log(base) * exponent);
  return scale_by_power_of_two(keep(result.significand.hi + result.significand.lo),
                               result.exponent);
}

struct SinCos {
  DoubleDouble sin;
  DoubleDouble cos;
};

/// sin and cos of i / 32.
inline constexpr std::array<SinCos, 27> sin_cos_of_32nds = {{
    {{0.0, 0.0}, {1.0, 0.0}},
    {{0x1.ffeaaaeeee86fp-6, -0x1.cd406fb224ae2p-60},
     {0x1.ffc00155527d3p-1, -0x1.3b54492d89b5bp-55}},
    {{0x1.ffaaaeeed4edbp-5, -0x1.2d16d32684b69p-59}, {0x1.ff0015549f4d3p-1, 0x1.328387b99426fp-55}},
    {{0x1.7f701032550e4p-4, 0x1.afc2d1800501ap-60}, {0x1.fdc06bf7e6b9bp-1, 0x1.31902b535f8dbp-55}},
    {{0x1.feaaeee86ee36p-4, -0x1.afcb2bcc6f03bp-59}, {0x1.fc015527d5bd3p-1, 0x1.b68f35094efb8p-55}},
    {{0x1.3eb312c5d66cbp-3, 0x1.47d666b66cb91p-57}, {0x1.f9c340a7cc428p-1, 0x1.c5b6b063b7462p-55}},
    {{0x1.7dc102fbaf2b5p-3, 0x1.5ab50e23c97c3p-59}, {0x1.f706bdf9ece1cp-1, -0x1.698c80c36dcb4p-55}},
    {{0x1.bc6f84edc6199p-3, 0x1.9c1a56a7b0cabp-57}, {0x1.f3cc7c3b3d16ep-1, -0x1.21a3ad28a3494p-57}},
    {{0x1.faaeed4f31577p-3, -0x1.15d88508e32b8p-57}, {0x1.f01549f7deea1p-1, 0x1.d3c1e99e5cafdp-55}},
    {{0x1.1c37d64c6b876p-2, 0x1.46076fe0dcff4p-56}, {0x1.ebe214f76efa8p-1, -0x1.02f9f12ba543ep-55}},
    {{0x1.3ad129769d3d8p-2, 0x1.03d550487839ap-63}, {0x1.e733ea0193d4p-1, -0x1.6428b3546ce13p-55}},
    {{0x1.591bc9fa2f597p-2, 0x1.7c74bac3fe0cbp-57}, {0x1.e20bf49acd6c1p-1, -0x1.660aec7ef636bp-58}},
    {{0x1.7710255764214p-2, -0x1.6ead7314bb6cep-57}, {0x1.dc6b7eb995912p-1, 0x1.4b364776dcd35p-58}},
    {{0x1.94a6be9f546c5p-2, -0x1.69ce13e683f58p-56}, {0x1.d653f073e404p-1, -0x1.76236434bec37p-55}},
    {{0x1.b1d8305321617p-2, -0x1.ae242cb99f519p-56}, {0x1.cfc6cfa52ad9fp-1, 0x1.8b5b5508f2a0dp-55}},
    {{0x1.ce9d2e3d4a51fp-2, -0x1.2fc8a12dae298p-57}, {0x1.c8c5bf8ce1a84p-1, 0x1.ab3d1a1590123p-56}},
    {{0x1.eaee8744b05fp-2, -0x1.789b43c9b027dp-58}, {0x1.c1528065b7d5p-1, -0x1.892111312e828p-55}},
    {{0x1.0362939c69955p-1, -0x1.2d8cd78397b01p-55}, {0x1.b96eeef58840ep-1, 0x1.45a3cc78fadep-58}},
    {{0x1.110d0c4b69c3bp-1, 0x1.d918998809981p-55}, {0x1.b11d04162a4c6p-1, 0x1.1dd561efbc0c2p-56}},
    {{0x1.1e7343236574cp-1, 0x1.22a3fa4f41d5ap-56}, {0x1.a85ed4373e02dp-1, 0x1.9be06385ec792p-57}},
    {{0x1.2b91dea88421ep-1, -0x1.fa371db216abp-55}, {0x1.9f368ed912f85p-1, -0x1.1d200c5791606p-55}},
    {{0x1.386597456282bp-1, -0x1.10fada93b07a8p-56},
     {0x1.95a67e00cb1fdp-1, -0x1.0befda21f862dp-55}},
    {{0x1.44eb381cf386bp-1, -0x1.3ed6c1e6a5505p-55}, {0x1.8bb105a5dc9p-1, 0x1.863e03e9474c1p-55}},
    {{0x1.511f9fd7b351cp-1, -0x1.5c0e861c48831p-55},
     {0x1.8158a31916d5dp-1, -0x1.de8b90b8228dep-57}},
    {{0x1.5cffc16bf8f0dp-1, 0x1.96cb370eb578ap-55}, {0x1.769fec655211fp-1, -0x1.827d5cf8c68c5p-57}},
    {{0x1.6888a4e134b2fp-1, -0x1.6b7d37644d5e6p-55}, {0x1.6b898fa9efb5dp-1, 0x1.15ac786ccf4b2p-56}},
    {{0x1.73b7680dea578p-1, -0x1.2248306dc12a2p-56}, {0x1.6018526f563dfp-1, 0x1.46ca5e0e432dp-55}},
}};

/// sin x and (cos x) - 1 for |x| <= 1/64, relative error about 2^-101, by Taylor's series. A term
/// needs a second double only where its size times 2^-53 would count.
inline SinCos small_sin_and_cos_minus_1(DoubleDouble x) {
  const DoubleDouble square = x * x;
  const double sin_9 = keep(0x1.71de3a556c734p-19 + keep(-0x1.ae64567f544e4p-26 * square.hi));
  const double sin_7 = keep(-0x1.a01a01a01a01ap-13 + keep(sin_9 * square.hi));
  const DoubleDouble sin_5 =
      DoubleDouble{0x1.1111111111111p-7, 0x1.1111111111111p-63} + two_product(sin_7, square.hi);
  const DoubleDouble sin_3 =
      DoubleDouble{-0x1.5555555555555p-3, -0x1.5555555555555p-57} + sin_5 * square;

  const double cos_10 = keep(-0x1.27e4fb7789f5cp-22 + keep(0x1.1eed8eff8d898p-29 * square.hi));
  const double cos_8 = keep(0x1.a01a01a01a01ap-16 + keep(cos_10 * square.hi));
  const DoubleDouble cos_6 =
      DoubleDouble{-0x1.6c16c16c16c17p-10, 0x1.f49f49f49f49fp-65} + two_product(cos_8, square.hi);
  const DoubleDouble cos_4 =
      DoubleDouble{0x1.5555555555555p-5, 0x1.5555555555555p-59} + cos_6 * square;
  const DoubleDouble cos_2 = DoubleDouble{-0.5, 0.0} + cos_4 * square;
  return {x + x * (square * sin_3), square * cos_2};
}

/// The largest angle that sin_cos reduces with full accuracy; callers check.
inline constexpr double max_angle = 0x1p53;

/// sin and cos of an angle in radians, |angle| <= max_angle: absolute error about 2^-101, and
/// relative error about 2^-100 while |angle| < pi/4.
inline SinCos sin_cos(DoubleDouble angle) {
  angle = keep(angle);

  if (absolute(angle.hi) < negligible) return {angle, {1.0, 0.0}};
  std::int64_t quadrant = 0;
  // Once is enough for all but huge angles, whose quotient by pi/2 is off by one or two.
  while (absolute(angle.hi) > 0.8) {
    const std::int64_t quarters = nearest_integer(keep(angle.hi * 0x1.45f306dc9c883p-1));
    angle = subtract_multiple(angle, quarters, half_pi);
    quadrant += quarters;
  }

  // The nearest i / 32, and what is left: exactly, since both parts are multiples of the same power
  // of two.
  const std::int64_t i = nearest_integer(keep(angle.hi * 32.0));
  const DoubleDouble rest = angle - keep(static_cast<double>(i) * 0x1p-5);
  const SinCos small =
      absolute(rest.hi) < negligible ? SinCos{rest, {0.0, 0.0}} : small_sin_and_cos_minus_1(rest);
  SinCos result = {small.sin, small.cos + 1.0};
  if (i != 0) {
    const SinCos& whole = sin_cos_of_32nds[static_cast<std::size_t>(i < 0 ? -i : i)];
    const DoubleDouble whole_sin = i < 0 ? -whole.sin : whole.sin;
    result.sin = whole_sin + (whole_sin * small.cos + whole.cos * small.sin);
    result.cos = whole.cos + (whole.cos * small.cos - whole_sin * small.sin);
  }

  switch (quadrant & 3) {
    case 0:
      return result;
    case 1:
      return {result.cos, -result.sin};
    case 2:
      return {-result.sin, -result.cos};
    default:
      return {-result.cos, result.sin};
  }
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
