// Learned absolute positions: hand-worked sums, the start of training, and what happens at the
// end of the table.

#include "rope/encodings/learned.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "encodings/message.hpp"
#include "rope/encodings/matrix.hpp"
#include "support/catch.hpp"

using rope_test::Approx;
using rope_test::message_of;

namespace {

/// An engine of one byte with 200 values, so that bits have to be thrown away.
struct Crooked {
  using result_type = std::uint8_t;
  static constexpr result_type min() { return 3; }
  static constexpr result_type max() { return 202; }
  result_type operator()() { return static_cast<result_type>(3 + source() % 200); }
  std::mt19937 source{7};
};

struct Moments {
  double mean;
  double deviation;
  double kurtosis;
  double beyond_two_deviations;
};

/// Marsaglia's polar method with the mathematics library's logarithm.
template <class Uniform>
std::vector<double> polar_method(std::size_t count, const Uniform& uniform) {
  std::vector<double> values;
  while (values.size() < count) {
    const double u = uniform();
    const double v = uniform();
    const double s = u * u + v * v;
    if (s == 0 || s >= 1) continue;
    const double radius = std::sqrt(-2 * std::log(s) / s);
    values.push_back(u * radius);
    values.push_back(v * radius);
  }
  return values;
}

Moments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  double second = 0;
  double fourth = 0;
  for (const double value : values) {
    second += std::pow(value - mean, 2) / n;
    fourth += std::pow(value - mean, 4) / n;
  }
  const double deviation = std::sqrt(second);
  double beyond = 0;
  for (const double value : values) beyond += std::abs(value - mean) > 2 * deviation ? 1 / n : 0;
  return {mean, deviation, fourth / (second * second), beyond};
}

}  // namespace

TEMPLATE_TEST_CASE("rows are added to embeddings", "", float, double) {
  using T = TestType;
  const std::vector<T> table = {T(0.1), T(0.2), T(-0.3), T(0.4)};
  std::vector<T> x = {T(0.5), T(-1), T(0.5), T(-1)};
  rope::add_learned(rope::matrix(x, {2, 2}), rope::matrix(table, {2, 2}), rope::from(0));
  const double tolerance = sizeof(T) == 4 ? 1e-7 : 1e-15;
  CHECK(x[0] == Approx(0.6).margin(tolerance));
  CHECK(x[1] == Approx(-0.8).margin(tolerance));
  CHECK(x[2] == Approx(0.2).margin(tolerance));
  CHECK(x[3] == Approx(-0.6).margin(tolerance));
}

TEST_CASE("positions come from a start, a start for each row, or ids made from a mask") {
  const std::vector<double> table = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<double> x(10, 100.0);
  const auto view = rope::bthd(x, {2, 5, 1, 1});
  const auto rows = rope::matrix(table, {8, 1});

  rope::add_learned(view, rows, rope::from(3));
  CHECK(x == std::vector<double>{103, 104, 105, 106, 107, 103, 104, 105, 106, 107});

  x.assign(10, 100.0);
  const std::vector<int> starts = {0, 2};
  rope::add_learned(view, rows, rope::from_each(starts));
  CHECK(x == std::vector<double>{100, 101, 102, 103, 104, 102, 103, 104, 105, 106});

  // The first row is padded on the left by two tokens: cumulative sum of the mask minus one, and
  // row 0 for the padding, whose result nobody reads.
  const std::vector<int> mask = {0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  std::vector<std::int64_t> ids;
  for (std::size_t row = 0; row < 2; ++row) {
    std::int64_t seen = 0;
    for (std::size_t token = 0; token < 5; ++token) {
      seen += mask[row * 5 + token];
      ids.push_back(mask[row * 5 + token] != 0 ? seen - 1 : 0);
    }
  }
  x.assign(10, 100.0);
  rope::add_learned(view, rows, rope::at(ids, {2, 5}));
  CHECK(x == std::vector<double>{100, 100, 100, 101, 102, 100, 101, 102, 103, 104});
}

TEST_CASE("views may have any strides") {
  // A table stored by columns, and embeddings with a gap after each row.
  const std::vector<float> by_columns = {1, 2, 3, 10, 20, 30};
  const rope::View<const float> table(by_columns.data(), {1, 3, 1, 2}, {0, 1, 0, 3});
  std::vector<float> x(2 * 4, 0.5f);
  const rope::View<float> view(x.data(), {1, 2, 1, 2}, {0, 4, 0, 1});
  rope::add_learned(view, table, rope::from(1));
  CHECK(x == std::vector<float>{2.5f, 20.5f, 0.5f, 0.5f, 3.5f, 30.5f, 0.5f, 0.5f});
}

TEST_CASE("parameter counts of GPT-1 and GPT-2") {
  CHECK(rope::learned_parameters(512, 768) == 393216);
  CHECK(rope::learned_parameters(1024, 768) == 786432);
  // All of GPT-2: embeddings, twelve layers (two norms, attention, MLP of four times the width),
  // the last norm.
  const std::int64_t w = 768;
  const std::int64_t layer =
      2 * 2 * w + (w * 3 * w + 3 * w) + (w * w + w) + (w * 4 * w + 4 * w) + (4 * w * w + w);
  const std::int64_t gpt2 = 50257 * w + rope::learned_parameters(1024, w) + 12 * layer + 2 * w;
  CHECK(gpt2 == 124439808);
  CHECK(100.0 * 786432 / static_cast<double>(gpt2) == Approx(0.63).margin(0.005));
  CHECK(rope::learned_parameters(0, 768) == 0);
  CHECK(message_of([] { rope::learned_parameters(-1, 768); }) ==
        "InvalidArgument: rope::learned_parameters: max_positions -1 and width 768 must not be "
        "negative or multiply to 2^63");
  CHECK(message_of([] {
          rope::learned_parameters(std::int64_t{1} << 40, std::int64_t{1} << 23);
        }) != "nothing thrown");
}

TEST_CASE("training starts from the normal distribution of deviation 0.02") {
  std::vector<double> table(512 * 768);
  std::mt19937_64 engine(1);
  rope::initialize_learned(rope::matrix(table, {512, 768}), engine);
  const Moments found = moments(table);
  // Bounds of five standard errors for 393,216 draws.
  CHECK(std::abs(found.mean) < 5 * 0.02 / std::sqrt(393216.0));
  CHECK(found.deviation == Approx(0.02).epsilon(5 / std::sqrt(2 * 393216.0)));
  CHECK(found.kurtosis == Approx(3).margin(5 * std::sqrt(24 / 393216.0)));
  CHECK(found.beyond_two_deviations == Approx(0.0455).margin(0.002));
}

TEST_CASE("the engine alone decides the table") {
  std::vector<double> first(5);
  std::vector<double> second(5);
  std::mt19937_64 engine(42);
  std::mt19937_64 same(42);
  rope::initialize_learned(rope::matrix(first, {5, 1}), engine, 1);
  rope::initialize_learned(rope::matrix(second, {1, 5}), same, 1);
  CHECK(first == second);
  CHECK(engine == same);
  rope::initialize_learned(rope::matrix(second, {1, 5}), same, 1);
  CHECK(first != second);

  // The highest 54 bits of each number.
  std::mt19937_64 again(42);
  const std::vector<double> expected =
      polar_method(5, [&] { return static_cast<double>(again() >> 10) * 0x1p-53 - 1; });
  for (std::size_t i = 0; i < 5; ++i) CHECK(first[i] == Approx(expected[i]).epsilon(1e-13));
}

TEST_CASE("numbers of an engine that make no whole bits are left out") {
  std::vector<double> table(5);
  Crooked engine;
  rope::initialize_learned(rope::matrix(table, {5, 1}), engine, 1);
  // Of 200 values those below 128 give seven bits each: seven of them, and five bits of an eighth.
  Crooked again;
  const std::vector<double> expected = polar_method(5, [&] {
    double value = 0;
    for (int digit = 0; digit < 8;) {
      const int drawn = again() - Crooked::min();
      if (drawn >= 128) continue;
      value = digit < 7 ? value * 128 + drawn : value * 32 + drawn / 4;
      ++digit;
    }
    return value * 0x1p-53 - 1;
  });
  for (std::size_t i = 0; i < 5; ++i) CHECK(table[i] == Approx(expected[i]).epsilon(1e-13));
}

TEST_CASE("engines of any width serve") {
  const auto check = [](auto engine) {
    std::vector<double> table(40000);
    rope::initialize_learned(rope::matrix(table, {200, 200}), engine, 1);
    const Moments found = moments(table);
    CHECK(std::abs(found.mean) < 0.025);
    CHECK(found.deviation == Approx(1).epsilon(0.02));
    CHECK(found.kurtosis == Approx(3).margin(0.13));
  };
  check(std::mt19937(3));
  check(std::minstd_rand(3));
  check(std::ranlux24_base(3));
  check(Crooked{});
}

TEST_CASE("a table of float, and deviation 0") {
  std::vector<float> table(6, 9.0f);
  std::mt19937 engine(1);
  rope::initialize_learned(rope::matrix(table, {3, 2}), engine, 0);
  for (const float value : table) CHECK(value == 0.0f);
  rope::initialize_learned(rope::matrix(table, {3, 2}), engine);
  for (const float value : table) CHECK((value != 0.0f && std::abs(value) < 0.2f));
}

TEST_CASE("past the table there is an error, and the embeddings stay as they are") {
  const std::vector<float> table(512 * 2, 1.0f);
  const std::vector<float> before(3 * 2, 5.0f);
  std::vector<float> x = before;
  const auto view = rope::matrix(x, {3, 2});
  const auto rows = rope::matrix(table, {512, 2});
  rope::add_learned(view, rows, rope::from(509));
  x = before;

  CHECK(message_of([&] { rope::add_learned(view, rows, rope::from(510)); }) ==
        "OutOfRange: rope::add_learned: positions: 3 tokens from position 510 on in batch row 0 "
        "end outside the table's rows 0 .. 511");
  CHECK(message_of([&] { rope::add_learned(view, rows, rope::from(-1)); }) ==
        "OutOfRange: rope::add_learned: positions: the position -1 of batch row 0, token 0 is "
        "outside the table's rows 0 .. 511");
  const std::vector<std::int64_t> ids = {0, 1, 512};
  CHECK(message_of([&] { rope::add_learned(view, rows, rope::at(ids, {3})); }) ==
        "OutOfRange: rope::add_learned: positions: the position 512 of batch row 0, token 2 is "
        "outside the table's rows 0 .. 511");
  CHECK(message_of([&] {
          rope::add_learned(view, rows, rope::from((std::numeric_limits<std::int64_t>::max)()));
        }) != "nothing thrown");
  CHECK(x == before);
}

TEST_CASE("shapes that do not fit are refused") {
  const std::vector<double> table(12, 1.0);
  std::vector<double> x(12, 5.0);
  const auto rows = rope::matrix(table, {4, 3});
  CHECK(message_of([&] {
          rope::add_learned(rope::matrix(x, {6, 2}), rows, rope::from(0));
        }) == "InvalidArgument: rope::add_learned: x has dim 2, but the table has dim 3");
  CHECK(message_of([&] {
          rope::add_learned(rope::thd(x, {2, 2, 3}), rows, rope::from(0));
        }) ==
        "InvalidArgument: rope::add_learned: embeddings have 1 head of the full width, but x has "
        "heads 2");
  CHECK(message_of([&] {
          rope::add_learned(rope::matrix(x, {4, 3}), rope::thd(table, {2, 2, 3}), rope::from(0));
        }) ==
        "InvalidArgument: rope::add_learned: table must be a matrix, batch 1 and heads 1, but has "
        "batch 1 and heads 2");
  const rope::View<double> everywhere(x.data(), {1, 2, 1, 3}, {0, 0, 0, 1});
  CHECK(message_of([&] { rope::add_learned(everywhere, rows, rope::from(0)); }) ==
        "InvalidArgument: rope::add_learned: the written view of strides [0, 0, 0, 1] (batch, "
        "tokens, heads, dim) has the same element at several indices");
  CHECK(message_of([&] {
          rope::add_learned(rope::matrix(x, {4, 3}), rope::matrix(x, {4, 3}), rope::from(0));
        }) == "InvalidArgument: rope::add_learned: x and table share elements");
  CHECK(message_of([&] {
          rope::matrix(x, {-1, 3});
        }) ==
        "InvalidArgument: rope::matrix: the shape [-1, 3] (rows, columns) has a negative extent");
  CHECK(x == std::vector<double>(12, 5.0));

  std::mt19937 engine(1);
  const std::mt19937 unused = engine;
  CHECK(message_of([&] {
          rope::initialize_learned(rope::matrix(x, {4, 3}), engine, -0.02);
        }) ==
        "InvalidArgument: rope::initialize_learned: standard_deviation must be finite and not "
        "negative, got -0.02");
  CHECK(message_of([&] {
          rope::initialize_learned(rope::matrix(x, {4, 3}), engine,
                                   std::numeric_limits<double>::quiet_NaN());
        }) != "nothing thrown");
  CHECK(engine == unused);
  CHECK(x == std::vector<double>(12, 5.0));
}

TEST_CASE("the window: with the cache while the text fits, without it after") {
  const auto equals = [](const rope::LearnedWindow& window, std::int64_t first, std::int64_t tokens,
                         std::int64_t start, bool keeps_cache) {
    return window.first_token == first && window.tokens == tokens && window.start == start &&
           window.keeps_cache == keeps_cache;
  };
  CHECK(equals(rope::learned_window(0, 5, 8), 0, 5, 0, true));
  CHECK(equals(rope::learned_window(5, 6, 8), 5, 1, 5, true));
  CHECK(equals(rope::learned_window(7, 8, 8), 7, 1, 7, true));
  CHECK(equals(rope::learned_window(8, 8, 8), 8, 0, 8, true));
  CHECK(equals(rope::learned_window(8, 9, 8), 1, 8, 0, false));
  CHECK(equals(rope::learned_window(8, 10, 8), 2, 8, 0, false));
  CHECK(equals(rope::learned_window(0, 100, 8), 92, 8, 0, false));
  CHECK(message_of([] { rope::learned_window(0, 5, 0); }) ==
        "InvalidArgument: rope::learned_window: max_positions must be at least 1, got 0");
  CHECK(message_of([] { rope::learned_window(0, -5, 8); }) ==
        "InvalidArgument: rope::learned_window: length must be at least 0, got -5");
  CHECK(message_of([] { rope::learned_window(9, 10, 8); }) ==
        "InvalidArgument: rope::learned_window: cached must be within 0 .. length 10 and 0 .. "
        "max_positions 8, got 9");
  CHECK(message_of([] { rope::learned_window(5, 4, 8); }) != "nothing thrown");
  CHECK(message_of([] { rope::learned_window(-1, 4, 8); }) != "nothing thrown");
}
