// Wavelengths, angles, decay and errors, against the numbers of the literature and sums written
// with the mathematics library.

#include "rope/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include "encodings/message.hpp"
#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"

using rope_test::Approx;
using rope_test::message_of;

namespace {

rope::Frequencies plain(std::int64_t dim, double base) {
  return rope::frequencies({.rotary_dim = dim, .base = base});
}

/// How far the nearest number of 8 significant bits is.
double bf16_error(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const double step = std::ldexp(1.0, exponent - 8);
  return std::abs(std::nearbyint(value / step) * step - value);
}

}  // namespace

TEST_CASE("wavelengths for d = 64") {
  const std::vector<double> a = rope::wavelengths(plain(64, 1e4));
  CHECK(a.size() == 32);
  CHECK(a[0] == Approx(6).margin(0.5));
  CHECK(a[8] == Approx(63).margin(0.5));
  CHECK(a[16] == Approx(628).margin(0.5));
  CHECK(a[24] == Approx(6283).margin(0.5));
  CHECK(a[31] == Approx(47000).margin(500));
  const std::vector<double> b = rope::wavelengths(plain(64, 1e6));
  CHECK(b[0] == Approx(6).margin(0.5));
  CHECK(b[8] == Approx(199).margin(0.5));
  CHECK(b[16] == Approx(6283).margin(0.5));
  CHECK(b[24] == Approx(199000).margin(500));
  CHECK(b[31] == Approx(4.08e6).margin(5000));
  const std::vector<double> c = rope::wavelengths(plain(64, 5e5));
  CHECK(c[31] == Approx(2085000).margin(500));
  // By the definition.
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(a[i] == Approx(2 * std::numbers::pi * std::pow(1e4, static_cast<double>(i) / 32)));
  }
  // A pair that never turns, and one that turns backwards.
  const std::vector<double> odd = rope::wavelengths(rope::Frequencies({0.0, -0.5}, {1, 1, 2}));
  CHECK(odd[0] == std::numeric_limits<double>::infinity());
  CHECK(odd[1] == Approx(4 * std::numbers::pi));
}

TEST_CASE("the slowest pair for d = 64") {
  const auto slowest = [](double base, std::int64_t position) {
    return rope::degrees(rope::slowest_angle_radians(plain(64, base), position));
  };
  CHECK(slowest(1e4, 512) == Approx(3.9).margin(0.05));
  CHECK(slowest(1e4, 4096) == Approx(31).margin(0.5));
  CHECK(slowest(1e4, 8192) == Approx(63).margin(0.5));
  CHECK(slowest(1e4, 32768) == Approx(250).margin(0.5));
  CHECK(slowest(1e6, 512) == Approx(0.045).margin(0.0005));
  CHECK(slowest(1e6, 4096) == Approx(0.36).margin(0.005));
  CHECK(slowest(1e6, 8192) == Approx(0.72).margin(0.005));
  CHECK(slowest(1e6, 32768) == Approx(2.89).margin(0.005));
  CHECK(slowest(5e5, 32768) < 6);
  CHECK(slowest(5e5, 32768) == Approx(5.66).margin(0.01));
  CHECK(rope::degrees(std::numbers::pi) == 180);
  CHECK(rope::slowest_angle_radians(rope::Frequencies({0.5, -0.25, 0.75}, {1, 1, 3}), 8) == 2);
}

TEST_CASE("angles of all pairs") {
  CHECK(rope::angles_radians(rope::Frequencies({0.5, -0.25}, {1, 1, 2}), -8) ==
        std::vector<double>{-4, 2});
  const std::vector<double> angles = rope::angles_radians(plain(8, 1e4), 3);
  const std::vector<double> expected = {3, 0.3, 0.03, 0.003};
  for (std::size_t i = 0; i < 4; ++i) CHECK(angles[i] == Approx(expected[i]).epsilon(1e-15));
}

TEST_CASE("how far two schemes are apart") {
  const rope::Frequencies unscaled = plain(8, 1e4);
  const rope::Frequencies linear =
      rope::frequencies({.rotary_dim = 8, .scaling = rope::Linear{.factor = 4}});
  const std::vector<double> apart = rope::angle_differences_radians(unscaled, linear, 100);
  const std::vector<double> expected = {75, 7.5, 0.75, 0.075};
  for (std::size_t i = 0; i < 4; ++i) CHECK(apart[i] == Approx(expected[i]).epsilon(1e-14));
  for (const double same : rope::angle_differences_radians(linear, linear, 1e6)) CHECK(same == 0);
  CHECK(message_of([&] { rope::angle_differences_radians(unscaled, plain(6, 1e4), 1); }) ==
        "InvalidArgument: rope::angle_differences_radians: a has 4 pairs, but b has 3");
}

TEST_CASE("the decay bound for d = 128, base 10000") {
  const rope::Frequencies frequencies = plain(128, 1e4);
  const std::vector<std::pair<int, double>> expected = {
      {0, 32.5},   {1, 31.5},  {5, 20.8},  {10, 18.0}, {50, 12.6},
      {100, 10.2}, {200, 7.2}, {250, 6.5}, {300, 7.2}, {1000, 4.5}};
  for (const auto& [distance, bound] : expected) {
    INFO("distance " << distance);
    CHECK(rope::decay_bound(frequencies, distance) == Approx(bound).margin(0.05));
    CHECK(rope::decay_bound(frequencies, -distance) ==
          Approx(rope::decay_bound(frequencies, distance)).epsilon(1e-13));
    // The definition.
    std::complex<double> sum = 0;
    double sizes = 0;
    for (int i = 0; i < 64; ++i) {
      sum += std::polar(1.0, distance * std::pow(1e4, -i / 64.0));
      sizes += std::abs(sum);
    }
    CHECK(rope::decay_bound(frequencies, distance) == Approx(sizes / 64).epsilon(1e-12));
  }
  // Not monotone: 250 is below both of its neighbours.
  CHECK(rope::decay_bound(frequencies, 250) < rope::decay_bound(frequencies, 200));
  CHECK(rope::decay_bound(frequencies, 250) < rope::decay_bound(frequencies, 300));
}

TEST_CASE("the explicit score, by hand") {
  const rope::Frequencies one({1.0}, {1, 1, 1});
  const std::vector<double> unit = {1, 0};
  const auto terms = rope::score_terms<rope::Pairing::interleaved, double>(unit, unit);
  CHECK(rope::score_at(terms, one, 44) == Approx(0.9998).margin(5e-5));
  CHECK(rope::score_at(terms, one, 0) == 1);
  CHECK(rope::score_at(terms, one, 3) == Approx(std::cos(3)).margin(1e-15));

  // d = 4, base 100, q = (1,2,0,1), k = (0,1,1,1) at (m, n) = (3, 1) and (1, 3).
  const std::vector<float> q = {1, 2, 0, 1};
  const std::vector<float> k = {0, 1, 1, 1};
  const auto pairs = rope::score_terms<rope::Pairing::interleaved, float>(q, k);
  CHECK(pairs[0].cos_factor == 2);
  CHECK(pairs[0].sin_factor == 1);
  CHECK(pairs[1].cos_factor == 1);
  CHECK(pairs[1].sin_factor == -1);
  const rope::Frequencies base100 = plain(4, 100);
  CHECK(rope::score_at(pairs, base100, 0) == Approx(3));
  CHECK(rope::score_at(pairs, base100, 2) == Approx(0.8584).margin(5e-5));
  CHECK(rope::score_at(pairs, base100, -2) == Approx(-0.5629).margin(5e-5));
  const std::vector<double> each = rope::pair_scores(pairs, base100, 2);
  CHECK(each[0] == Approx(2 * std::cos(2) + std::sin(2)));
  CHECK(each[1] == Approx(std::cos(0.2) - std::sin(0.2)));

  // The halves of the same vectors are other pairs.
  const auto halves = rope::score_terms<rope::Pairing::half_split, float>(q, k);
  CHECK(halves[0].cos_factor == 0);  // (1, 0) and (0, 1)
  CHECK(halves[0].sin_factor == 1);
  CHECK(halves[1].cos_factor == 3);  // (2, 1) and (1, 1)
  CHECK(halves[1].sin_factor == 1);
}

TEST_CASE("the explicit score is that of rotated vectors, magnitude and all") {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  constexpr std::int64_t dim = 32;
  const rope::Frequencies base = plain(dim, 1e4);
  const rope::Frequencies frequencies({base.values().begin(), base.values().end()}, {1, 1, dim / 2},
                                      1.25);
  const rope::CosSinTable<double> table(frequencies, 500);
  std::vector<double> q(dim);
  std::vector<double> k(dim);
  for (double& value : q) value = normal(engine);
  for (double& value : k) value = normal(engine);
  const auto check = [&]<rope::Pairing pairing>() {
    const auto terms =
        rope::score_terms<pairing>(std::span<const double>(q), std::span<const double>(k));
    for (const auto& [m, n] : std::vector<std::pair<int, int>>{{0, 0}, {7, 3}, {3, 7}, {499, 1}}) {
      std::vector<double> rotated_q = q;
      std::vector<double> rotated_k = k;
      rope::rotate<pairing>(rope::thd(rotated_q, {1, 1, dim}), table, rope::from(m));
      rope::rotate<pairing>(rope::thd(rotated_k, {1, 1, dim}), table, rope::from(n));
      double score = 0;
      for (std::size_t i = 0; i < dim; ++i) score += rotated_q[i] * rotated_k[i];
      CHECK(rope::score_at(terms, frequencies, m - n) == Approx(score).epsilon(1e-12));
    }
  };
  check.template operator()<rope::Pairing::interleaved>();
  check.template operator()<rope::Pairing::half_split>();
}

TEST_CASE("float32 angles are off by what the rounding of large angles makes") {
  const rope::Frequencies frequencies = plain(128, 1e4);
  // Pair 1 at 999999: the frequency is rounded by 3.0e-8, worth 0.0297, and the angle by 1/32 at
  // most. Cos is off by 3.1e-2.
  const double error = rope::float32_angle_errors_radians(frequencies, 999999)[1];
  CHECK(error == Approx(0.04260).margin(5e-6));
  const double angle = 999999 * frequencies(0, 0, 1);
  CHECK(std::cos(angle + error) - std::cos(angle) == Approx(-0.03139).margin(5e-6));
  const double other = rope::float32_angle_errors_radians(frequencies, 131071)[10];
  const double other_angle = 131071 * frequencies(0, 0, 10);
  CHECK(std::cos(other_angle + other) - std::cos(other_angle) == Approx(1.491e-3).margin(1e-6));

  for (const int position : {0, 1, 100, 4095, 131071, 16777216}) {
    const std::vector<double> errors = rope::float32_angle_errors_radians(frequencies, position);
    for (std::size_t i = 0; i < 64; ++i) {
      const float narrow = static_cast<float>(position) *
                           static_cast<float>(frequencies(0, 0, static_cast<std::int64_t>(i)));
      const long double exact =
          static_cast<long double>(position) *
          static_cast<long double>(frequencies(0, 0, static_cast<std::int64_t>(i)));
      CHECK(errors[i] ==
            Approx(static_cast<double>(static_cast<long double>(narrow) - exact)).epsilon(1e-9));
    }
  }
  // Frequencies that are floats, at positions whose angles are too, have no error at all.
  for (const double none : rope::float32_angle_errors_radians(
           rope::Frequencies({1.0, 0.5, 0x1p-20}, {1, 1, 3}), 16777215)) {
    CHECK(none == 0);
  }
}

TEST_CASE("bf16 tables are off by 2^-9 at most, and nearly that much") {
  const rope::Frequencies frequencies = plain(128, 1e4);
  const rope::CosSinTable<double> table(frequencies, 2000);
  double worst = 0;
  for (std::int64_t position = 0; position < 2000; ++position) {
    const double error = rope::bf16_table_error(frequencies, position);
    double expected = 0;
    for (const auto entries : {table.cos(position), table.sin(position)}) {
      for (const double entry : entries) {
        expected = std::max(expected, bf16_error(entry));
      }
    }
    CHECK(error == Approx(expected).margin(1e-15));
    worst = std::max(worst, error);
  }
  CHECK(worst <= 0x1p-9);
  CHECK(worst > 0.99 * 0x1p-9);
  CHECK(rope::bf16_table_error(frequencies, 0) == 0);
  // cos 0 times 1 + 2^-7 + 2^-9 is rounded down by 2^-9; half a step goes to the even side.
  CHECK(rope::bf16_table_error(rope::Frequencies({1.0}, {1, 1, 1}, 1 + 0x1p-7 + 0x1p-9), 0) ==
        0x1p-9);
  CHECK(rope::bf16_table_error(rope::Frequencies({1.0}, {1, 1, 1}, 1 + 0x1p-8), 0) == 0x1p-8);
  CHECK(rope::bf16_table_error(rope::Frequencies({1.0}, {1, 1, 1}, 0x1p-134), 0) == 0x1p-134);
}

TEST_CASE("what cannot be analysed is refused") {
  const rope::Frequencies two_axes({1, 2, 3, 4}, {2, 1, 2});
  const rope::Frequencies two_heads({1, 2, 3, 4}, {1, 2, 2});
  const rope::Frequencies good = plain(4, 100);
  CHECK(message_of([&] { rope::wavelengths(two_axes); }) ==
        "InvalidArgument: rope::wavelengths: frequencies must have one axis and one set for all "
        "heads, but have axes 2 and heads 1");
  CHECK(message_of([&] { rope::decay_bound(two_heads, 1); }) ==
        "InvalidArgument: rope::decay_bound: frequencies must have one axis and one set for all "
        "heads, but have axes 1 and heads 2");
  CHECK(message_of([&] { rope::angles_radians(good, std::numeric_limits<double>::quiet_NaN()); }) ==
        "InvalidArgument: rope::angles_radians: position is not finite");
  CHECK(message_of([&] { rope::decay_bound(good, 1e17); }) ==
        "InvalidArgument: rope::decay_bound: distance 1e+17 times frequency 1 is beyond 2^53 "
        "radians");
  CHECK(message_of([&] { rope::slowest_angle_radians(two_axes, 1); }) != "nothing thrown");
  CHECK(message_of([&] { rope::float32_angle_errors_radians(two_axes, 1); }) != "nothing thrown");
  CHECK(message_of([&] { rope::bf16_table_error(two_axes, 1); }) != "nothing thrown");

  const std::vector<float> three(3);
  const std::vector<float> four(4);
  using rope::Pairing;
  CHECK(message_of([&] { rope::score_terms<Pairing::interleaved, float>(three, three); }) ==
        "InvalidArgument: rope::score_terms: q and k must have the same even number of features "
        "above 0, but have 3 and 3");
  CHECK(message_of([&] { rope::score_terms<Pairing::interleaved, float>(four, three); }) !=
        "nothing thrown");
  const auto terms = rope::score_terms<Pairing::interleaved, float>(four, four);
  CHECK(message_of([&] { rope::score_at(terms, plain(6, 100), 1); }) ==
        "InvalidArgument: rope::pair_scores: 2 terms, but the frequencies have 3 pairs");
}
