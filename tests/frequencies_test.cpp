// Frequencies: hand numbers, exact powers by MPFR, linear interpolation, and what is refused.
#include "rope/frequencies.hpp"

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "rope/parameters.hpp"
#include "rope/scaling/linear.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::Frequencies;
using rope::InvalidArgument;
using rope_test::require_throws;

double relative_error(double value, double expected) {
  return std::abs(value - expected) / std::abs(expected);
}

/// How many ulp `value` is from base^(-2i/d) / factor, by MPFR with 200 bits.
double ulp_from_power(double value, double base, std::int64_t i, std::int64_t rotary_dim,
                      double factor = 1) {
  mpfr_t power;
  mpfr_t exponent;
  mpfr_init2(power, 200);
  mpfr_init2(exponent, 200);
  mpfr_set_si(exponent, static_cast<long>(-2 * i), MPFR_RNDN);
  mpfr_div_si(exponent, exponent, static_cast<long>(rotary_dim), MPFR_RNDN);
  mpfr_set_d(power, base, MPFR_RNDN);
  mpfr_pow(power, power, exponent, MPFR_RNDN);
  mpfr_div_d(power, power, factor, MPFR_RNDN);
  const double nearest = mpfr_get_d(power, MPFR_RNDN);
  const double ulp = std::ldexp(1.0, std::ilogb(nearest) - 52);
  mpfr_sub_d(power, power, value, MPFR_RNDN);
  mpfr_div_d(power, power, ulp, MPFR_RNDN);
  const double error = std::abs(mpfr_get_d(power, MPFR_RNDN));
  mpfr_clear(power);
  mpfr_clear(exponent);
  return error;
}

}  // namespace

TEST_CASE("the frequencies of d = 8, base 10000 are 1, 0.1, 0.01, 0.001") {
  // An integer division in the exponent would make them all 1; its sign lost, they would grow.
  const Frequencies frequencies = rope::frequencies({.rotary_dim = 8});
  REQUIRE(frequencies.pairs() == 4);
  CHECK(frequencies.axes() == 1);
  CHECK(frequencies.heads() == 1);
  CHECK(frequencies.rotary_dim() == 8);
  CHECK(frequencies.magnitude() == 1.0);
  const double expected[] = {1, 0.1, 0.01, 0.001};
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(std::abs(frequencies(0, 0, i) - expected[i]) <= 1e-15);
  }
  CHECK(frequencies(0, 0, 0) == 1.0);
}

TEST_CASE("frequencies of d = 64") {
  const Frequencies small = rope::frequencies({.rotary_dim = 64, .base = 1e4});
  CHECK(relative_error(small(0, 0, 8), 0.1) <= 1e-15);
  CHECK(relative_error(small(0, 0, 16), 0.01) <= 1e-15);
  CHECK(relative_error(small(0, 0, 24), 0.001) <= 1e-15);
  // 10^(-6 * 8 / 32) = 10^-1.5 = 0.0316..., printed as 0.032 in texts.
  const Frequencies large = rope::frequencies({.rotary_dim = 64, .base = 1e6});
  CHECK(relative_error(large(0, 0, 8), 0.031622776601683793) <= 1e-15);
  CHECK(relative_error(large(0, 0, 16), 0.001) <= 1e-15);
  CHECK(relative_error(large(0, 0, 24), 3.1622776601683793e-5) <= 1e-15);
}

TEST_CASE("the last frequency of d = 128 has not drifted") {
  // Repeated multiplication in float is off by 2e-6 here.
  const Frequencies frequencies = rope::frequencies({.rotary_dim = 128});
  CHECK(relative_error(frequencies(0, 0, 63), 1.15478198468945817e-4) <= 1e-12);
}

TEST_CASE("frequencies fall with the pair index") {
  for (const double base : {1.5, 100.0, 1e4, 5e5, 1e8}) {
    const Frequencies frequencies = rope::frequencies({.rotary_dim = 256, .base = base});
    for (std::int64_t i = 1; i < frequencies.pairs(); ++i) {
      REQUIRE(frequencies(0, 0, i) < frequencies(0, 0, i - 1));
    }
  }
}

TEST_CASE("plain frequencies are within 0.51 ulp of the exact power") {
  double worst = 0;
  for (const double base : {1.0000000000000002, 1.5, 2.0, 10.0, 100.0, 9999.5, 1e4, 1e5, 5e5, 1e6,
                            8e6, 1e7, 1e9, 5e10, 1e100, 1.7e308}) {
    for (const int rotary_dim : {2,  4,  6,   8,   10,  16,  30,  32,  42,  64,  70,
                                 80, 96, 112, 128, 192, 254, 256, 320, 512, 1022}) {
      const Frequencies frequencies = rope::frequencies({.rotary_dim = rotary_dim, .base = base});
      for (std::int64_t i = 0; i < frequencies.pairs(); ++i) {
        worst = std::fmax(worst, ulp_from_power(frequencies(0, 0, i), base, i, rotary_dim));
      }
    }
  }
  INFO("worst error in ulp: " << worst);
  CHECK(worst <= 0.51);
  CHECK(worst > 0.4);  // otherwise nothing was measured
}

TEST_CASE("a large base is kept exactly") {
  // 1e7 * 1000 in 32 bits would be 1410065.408.
  CHECK(relative_error(rope::frequencies({.rotary_dim = 4, .base = 1e7})(0, 0, 1),
                       3.1622776601683795e-4) <= 1e-15);
  CHECK(relative_error(rope::frequencies({.rotary_dim = 4, .base = 50000000000})(0, 0, 1),
                       4.4721359549995794e-6) <= 1e-15);
}

TEST_CASE("linear interpolation divides every frequency by the factor, once") {
  const Frequencies plain = rope::frequencies({.rotary_dim = 128});
  double worst = 0;
  for (const double factor : {4.0, 1.5, 0.5, 3.0, 1.0, 8.0, 7.3}) {
    const Frequencies linear =
        rope::frequencies({.rotary_dim = 128, .scaling = rope::Linear{.factor = factor}});
    REQUIRE(linear.pairs() == 64);
    CHECK(linear.magnitude() == 1.0);
    for (std::int64_t i = 0; i < 64; ++i) {
      REQUIRE(relative_error(linear(0, 0, i), plain(0, 0, i) / factor) <= 4e-16);
      worst = std::fmax(worst, ulp_from_power(linear(0, 0, i), 1e4, i, 128, factor));
    }
  }
  CHECK(worst <= 0.51);
  // A power of two divides without rounding.
  const Frequencies quarter =
      rope::frequencies({.rotary_dim = 128, .scaling = rope::Linear{.factor = 4}});
  for (std::int64_t i = 0; i < 64; ++i) REQUIRE(quarter(0, 0, i) == plain(0, 0, i) / 4);
}

TEST_CASE("frequencies of the caller's own are kept as given") {
  // [axes 2, heads 2, pairs 3]
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, -7, 0, 0.5, 1e-30, 11, 12};
  const Frequencies frequencies(values, {2, 2, 3}, 1.25);
  CHECK(frequencies.axes() == 2);
  CHECK(frequencies.heads() == 2);
  CHECK(frequencies.pairs() == 3);
  CHECK(frequencies.magnitude() == 1.25);
  CHECK(frequencies(0, 1, 0) == 4.0);
  CHECK(frequencies(1, 0, 2) == 0.5);
  CHECK(frequencies(1, 1, 2) == 12.0);
  CHECK(std::vector<double>(frequencies.values().begin(), frequencies.values().end()) == values);
}

TEST_CASE("objects with other parameters do not disturb each other") {
  const Frequencies a = rope::frequencies({.rotary_dim = 4, .base = 1e4});
  const Frequencies b = rope::frequencies({.rotary_dim = 4, .base = 1e6});
  const Frequencies c = rope::frequencies({.rotary_dim = 8, .base = 1e4});
  CHECK(relative_error(a(0, 0, 1), 0.01) <= 1e-15);
  CHECK(relative_error(b(0, 0, 1), 0.001) <= 1e-15);
  CHECK(relative_error(c(0, 0, 1), 0.1) <= 1e-15);
}

TEST_CASE("a rotary_dim that is odd or not positive is refused") {
  for (const auto& [rotary_dim, message] :
       {std::pair{3, "rope::frequencies: rotary_dim must be even and above 0, got 3"},
        {65, "rope::frequencies: rotary_dim must be even and above 0, got 65"},
        {1, "rope::frequencies: rotary_dim must be even and above 0, got 1"},
        {0, "rope::frequencies: rotary_dim must be even and above 0, got 0"},
        {-2, "rope::frequencies: rotary_dim must be even and above 0, got -2"}}) {
    require_throws<InvalidArgument>(
        message, [d = rotary_dim] { (void)rope::frequencies({.rotary_dim = d}); });
  }
}

TEST_CASE("a rotary_dim beyond any memory is refused by name") {
  require_throws<InvalidArgument>(
      "rope::frequencies: rotary_dim must be at most 2^32, got 4611686018427387904",
      [] { (void)rope::frequencies({.rotary_dim = 1LL << 62}); });
}

TEST_CASE("a base that is not finite and above 1 is refused") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [base, text] : {std::pair{0.0, "0"},
                                   {-1.0, "-1"},
                                   {1.0, "1"},
                                   {0.5, "0.5"},
                                   {infinity, "inf"},
                                   {-infinity, "-inf"},
                                   {std::numeric_limits<double>::quiet_NaN(), "nan"}}) {
    require_throws<InvalidArgument>(
        std::string("rope::frequencies: base must be finite and above 1, got ") + text,
        [b = base] { (void)rope::frequencies({.rotary_dim = 8, .base = b}); });
  }
}

TEST_CASE("a linear factor that is not finite and above 0 is refused") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [factor, text] : {std::pair{0.0, "0"},
                                     {-4.0, "-4"},
                                     {infinity, "inf"},
                                     {std::numeric_limits<double>::quiet_NaN(), "nan"}}) {
    require_throws<InvalidArgument>(
        std::string("rope::frequencies: scaling.factor must be finite and above 0, got ") + text,
        [f = factor] {
          (void)rope::frequencies({.rotary_dim = 8, .scaling = rope::Linear{.factor = f}});
        });
  }
}

TEST_CASE("frequencies of the caller's own are checked") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  require_throws<InvalidArgument>(
      "rope::Frequencies: the shape [1, 0, 2] (axes, heads, pairs) must have extents of at least 1 "
      "and fewer than 2^63 values",
      [] {
        (void)Frequencies({}, {1, 0, 2});
      });
  require_throws<InvalidArgument>(
      "rope::Frequencies: the shape [1, 4294967296, 4294967296] (axes, heads, pairs) must have "
      "extents of at least 1 and fewer than 2^63 values",
      [] {
        (void)Frequencies({}, {1, 1LL << 32, 1LL << 32});
      });
  require_throws<InvalidArgument>(
      "rope::Frequencies: 3 values, but the shape [1, 2, 2] (axes, heads, pairs) needs 4", [] {
        (void)Frequencies({1, 2, 3}, {1, 2, 2});
      });
  require_throws<InvalidArgument>("rope::Frequencies: values[1] must be finite, got inf", [=] {
    (void)Frequencies({1, infinity}, {1, 1, 2});
  });
  require_throws<InvalidArgument>("rope::Frequencies: magnitude must be finite, got -inf", [=] {
    (void)Frequencies({1}, {1, 1, 1}, -infinity);
  });
}
