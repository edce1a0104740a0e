// Ladders other than base^(-2i/d), against the mathematics library in long double.
#include "rope/spatial/ladders.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope_test::require_throws;
constexpr long double pi = std::numbers::pi_v<long double>;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The largest error in units of the last place.
template <class Expected>
long double worst_ulp(const rope::Frequencies& ladder, Expected expected) {
  long double worst = 0;
  for (std::int64_t i = 0; i < ladder.pairs(); ++i) {
    const double found = ladder(0, 0, i);
    const long double exact = expected(static_cast<long double>(i));
    const long double ulp = static_cast<long double>(
        std::nextafter(std::abs(found), std::numeric_limits<double>::infinity()) - std::abs(found));
    worst = std::max(worst, std::abs(static_cast<long double>(found) - exact) / ulp);
  }
  return worst;
}
// Half an ulp for the rounding, and what long double adds.
constexpr long double one_rounding = 0.51L;

}  // namespace

TEST_CASE("pixel frequencies") {
  const rope::Frequencies linear =
      rope::pixel_frequencies({.pairs = 5, .max_frequency = 10, .spacing = rope::Spacing::linear});
  CHECK(linear.axes() == 1);
  CHECK(linear.heads() == 1);
  CHECK(linear.magnitude() == 1);
  // pi times 1, 2, 3, 4, 5
  CHECK(worst_ulp(linear, [](long double i) { return pi * (1 + i); }) <= one_rounding);
  const rope::Frequencies logarithmic = rope::pixel_frequencies(
      {.pairs = 7, .max_frequency = 224, .spacing = rope::Spacing::logarithmic});
  CHECK(worst_ulp(logarithmic, [](long double i) { return pi * std::pow(112.0L, i / 6); }) <=
        one_rounding);
  for (const rope::Spacing spacing : {rope::Spacing::linear, rope::Spacing::logarithmic}) {
    const rope::Frequencies single = rope::pixel_frequencies({.pairs = 1, .spacing = spacing});
    CHECK(single(0, 0, 0) == std::numbers::pi);
  }
}

TEST_CASE("geometric frequencies, with zeros in front") {
  const rope::Frequencies ladder = rope::geometric_frequencies(
      {.pairs = 10, .min_frequency = 0.2, .max_frequency = 20, .zero_pairs = 3});
  for (std::int64_t i = 0; i < 3; ++i) CHECK(ladder(0, 0, i) == 0);
  CHECK(ladder(0, 0, 3) == 0.2);
  CHECK(ladder(0, 0, 9) == 20);
  const rope::Frequencies plain =
      rope::geometric_frequencies({.pairs = 9, .min_frequency = 0.2, .max_frequency = 20});
  CHECK(worst_ulp(plain, [](long double i) {
          const auto lowest = static_cast<long double>(0.2);
          return lowest * std::pow(20 / lowest, i / 8);
        }) <= one_rounding);
  // One turning pair has the lower end, and there may be none.
  CHECK(rope::geometric_frequencies(
            {.pairs = 2, .min_frequency = 0.5, .max_frequency = 8, .zero_pairs = 1})(0, 0, 1) ==
        0.5);
  CHECK(rope::geometric_frequencies(
            {.pairs = 1, .min_frequency = 0.5, .max_frequency = 8, .zero_pairs = 1})(0, 0, 0) == 0);
}

TEST_CASE("periods") {
  const rope::Frequencies of_base = rope::period_frequencies({.pairs = 16, .base = 100});
  CHECK(worst_ulp(of_base, [](long double i) { return 2 * pi / std::pow(100.0L, i / 16); }) <=
        one_rounding);
  const rope::Frequencies of_ends =
      rope::period_frequencies({.pairs = 6, .min_period = 0.5, .max_period = 90});
  CHECK(worst_ulp(of_ends, [](long double i) {
          return 2 * pi / (0.5L * std::pow(180.0L, i / 5));
        }) <= one_rounding);
  CHECK(rope::period_frequencies({.pairs = 1, .min_period = 4, .max_period = 9})(0, 0, 0) ==
        std::numbers::pi / 2);
}

TEST_CASE("ladders that cannot be are refused") {
  require_throws<rope::InvalidArgument>(
      "rope::pixel_frequencies: pairs must be from 1 to 2^31, got 0", [] {
        static_cast<void>(rope::pixel_frequencies({.pairs = 0, .spacing = rope::Spacing::linear}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::pixel_frequencies: max_frequency must be finite and above 0, got 0", [] {
        static_cast<void>(rope::pixel_frequencies(
            {.pairs = 2, .max_frequency = 0, .spacing = rope::Spacing::linear}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::pixel_frequencies: spacing has the value 7, which names no spacing", [] {
        static_cast<void>(
            rope::pixel_frequencies({.pairs = 2, .spacing = static_cast<rope::Spacing>(7)}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::geometric_frequencies: min_frequency must be finite and above 0, got nan", [] {
        static_cast<void>(rope::geometric_frequencies(
            {.pairs = 2, .min_frequency = not_a_number, .max_frequency = 1}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::geometric_frequencies: max_frequency must be finite and above 0, got -1", [] {
        static_cast<void>(
            rope::geometric_frequencies({.pairs = 2, .min_frequency = 1, .max_frequency = -1}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::geometric_frequencies: zero_pairs must be from 0 to the 2 pairs, got 3", [] {
        static_cast<void>(rope::geometric_frequencies(
            {.pairs = 2, .min_frequency = 1, .max_frequency = 2, .zero_pairs = 3}));
      });
  const char* const either =
      "rope::period_frequencies: either base must be given, or both min_period and max_period";
  require_throws<rope::InvalidArgument>(
      either, [] { static_cast<void>(rope::period_frequencies({.pairs = 2})); });
  require_throws<rope::InvalidArgument>(
      either, [] { static_cast<void>(rope::period_frequencies({.pairs = 2, .min_period = 1})); });
  require_throws<rope::InvalidArgument>(either, [] {
    static_cast<void>(
        rope::period_frequencies({.pairs = 2, .base = 9, .min_period = 1, .max_period = 2}));
  });
  require_throws<rope::InvalidArgument>(
      "rope::period_frequencies: base must be finite and above 0, got 0",
      [] { static_cast<void>(rope::period_frequencies({.pairs = 2, .base = 0})); });
  require_throws<rope::InvalidArgument>(
      "rope::period_frequencies: min_period must be finite and above 0, got 0", [] {
        static_cast<void>(rope::period_frequencies({.pairs = 2, .min_period = 0, .max_period = 2}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::period_frequencies: max_period must be finite and above 0, got inf", [] {
        static_cast<void>(rope::period_frequencies(
            {.pairs = 2, .min_period = 1, .max_period = std::numeric_limits<double>::infinity()}));
      });
}
