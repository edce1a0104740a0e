// The sinusoidal encoding against the numbers of its formula, taken with the mathematics library.

#include "rope/encodings/sinusoidal.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "encodings/message.hpp"
#include "rope/encodings/matrix.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"

using rope_test::Approx;
using rope_test::message_of;

namespace {

/// PE(t) by the formula of the paper.
std::vector<double> formula(std::int64_t t, std::int64_t width) {
  std::vector<double> row;
  for (std::int64_t i = 0; i < width / 2; ++i) {
    const double angle = static_cast<double>(t) / std::pow(10000.0, 2.0 * static_cast<double>(i) /
                                                                        static_cast<double>(width));
    row.push_back(std::sin(angle));
    row.push_back(std::cos(angle));
  }
  return row;
}

std::vector<double> row_at(const rope::CosSinTable<double>& table, std::int64_t t) {
  std::vector<double> row(static_cast<std::size_t>(table.rotary_dim()));
  rope::write_sinusoidal(rope::matrix(row, {1, row.size()}), table, rope::from(t));
  return row;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

TEMPLATE_TEST_CASE("width 4, position 1", "", float, double) {
  using T = TestType;
  const rope::CosSinTable<T> table(rope::sinusoidal_frequencies(4), 2);
  std::vector<T> row(4);
  rope::write_sinusoidal(rope::matrix(row, {1, 4}), table, rope::from(1));
  CHECK(row[0] == Approx(0.841).margin(5e-4));
  CHECK(row[1] == Approx(0.540).margin(5e-4));
  CHECK(row[2] == Approx(0.010).margin(5e-4));
  CHECK(row[3] == Approx(1.000).margin(5e-4));
  // More digits: sin 1, cos 1, sin 0.01, cos 0.01.
  CHECK(row[0] == Approx(0.8414709848).margin(1e-7));
  CHECK(row[1] == Approx(0.5403023059).margin(1e-7));
  CHECK(row[2] == Approx(0.0099998333).margin(1e-7));
  CHECK(row[3] == Approx(0.9999500004).margin(1e-7));
}

TEST_CASE("any width and any length") {
  // 130 pairs are more than are fetched from a table at a time.
  for (const std::int64_t width : {2, 6, 64, 128, 130, 260, 512}) {
    const rope::CosSinTable<double> table(rope::sinusoidal_frequencies(width), 70001);
    for (const std::int64_t t : {0, 1, 1023, 1024, 70000}) {
      const std::vector<double> row = row_at(table, t);
      const std::vector<double> expected = formula(t, width);
      double worst = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        worst = std::fmax(worst, std::abs(row[i] - expected[i]));
      }
      // The formula itself is off by an ulp of the angle, 1.5e-11 at 70000.
      CHECK(worst < 1e-10);
    }
  }
}

TEST_CASE("a longer table has the same rows") {
  const rope::CosSinTable<float> shorter(rope::sinusoidal_frequencies(64), 100);
  const rope::CosSinTable<float> longer(rope::sinusoidal_frequencies(64), 5000);
  std::vector<float> a(100 * 64);
  std::vector<float> b(100 * 64);
  rope::write_sinusoidal(rope::matrix(a, {100, 64}), shorter, rope::from(0));
  rope::write_sinusoidal(rope::matrix(b, {100, 64}), longer, rope::from(0));
  CHECK(a == b);
}

TEST_CASE("products depend on the distance alone") {
  const rope::CosSinTable<double> table(rope::sinusoidal_frequencies(8), 40);
  const double near = dot(row_at(table, 3), row_at(table, 10));
  const double far = dot(row_at(table, 20), row_at(table, 27));
  CHECK(near == Approx(3.516).margin(5e-4));
  CHECK(far == Approx(3.516).margin(5e-4));
  CHECK(near == Approx(far).margin(1e-14));
  CHECK(dot(row_at(table, 5), row_at(table, 5)) == Approx(4).margin(1e-14));
}

TEST_CASE("it is added to embeddings in place, at any positions") {
  const rope::CosSinTable<double> table(rope::sinusoidal_frequencies(4), 16);
  std::vector<double> x(2 * 3 * 4, 10.0);
  const std::vector<int> ids = {0, 0, 1, 7, 8, 9};
  rope::add_sinusoidal(rope::bthd(x, {2, 3, 1, 4}), table, rope::at(ids, {2, 3}));
  for (std::size_t token = 0; token < 6; ++token) {
    const std::vector<double> expected = formula(ids[token], 4);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(x[token * 4 + i] == Approx(10 + expected[i]).margin(1e-14));
    }
  }
}

TEST_CASE("a shift by k is one block rotation for all positions") {
  const rope::CosSinTable<double> table(rope::sinusoidal_frequencies(8), 64);
  std::vector<double> x(2 * 5 * 8);
  const auto view = rope::bthd(x, {2, 5, 1, 8});
  rope::write_sinusoidal(view, table, rope::from(20));
  rope::shift_sinusoidal(view, table, 13);
  for (std::size_t token = 0; token < 10; ++token) {
    const std::vector<double> expected = formula(static_cast<std::int64_t>(33 + token % 5), 8);
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(x[token * 8 + i] == Approx(expected[i]).margin(1e-13));
    }
  }
  rope::shift_sinusoidal(view, table, -30);
  for (std::size_t i = 0; i < 8; ++i) CHECK(x[i] == Approx(formula(3, 8)[i]).margin(1e-13));

  // M_k written out for one pair: [[cos k, sin k], [-sin k, cos k]] on (sin t, cos t).
  std::vector<double> pair = {2.0, 5.0};
  const rope::CosSinTable<double> one(rope::sinusoidal_frequencies(2), 4);
  rope::shift_sinusoidal(rope::matrix(pair, {1, 2}), one, 3);
  CHECK(pair[0] == Approx(2 * std::cos(3) + 5 * std::sin(3)).margin(1e-14));
  CHECK(pair[1] == Approx(-2 * std::sin(3) + 5 * std::cos(3)).margin(1e-14));
}

TEST_CASE("bad widths, shapes, positions and shifts are refused, and nothing is written") {
  CHECK(message_of([] { rope::sinusoidal_frequencies(5); }) ==
        "InvalidArgument: rope::sinusoidal_frequencies: width must be even and above 0, got 5");
  CHECK(message_of([] { rope::sinusoidal_frequencies(0); }) ==
        "InvalidArgument: rope::sinusoidal_frequencies: width must be even and above 0, got 0");
  CHECK(message_of([] { rope::sinusoidal_frequencies(-2); }) ==
        "InvalidArgument: rope::sinusoidal_frequencies: width must be even and above 0, got -2");
  CHECK(message_of([] { rope::sinusoidal_frequencies(4, 1); }) ==
        "InvalidArgument: rope::sinusoidal_frequencies: base must be finite and above 1, got 1");
  CHECK(message_of([] {
          rope::sinusoidal_frequencies(4, std::numeric_limits<double>::infinity());
        }) != "nothing thrown");

  const rope::CosSinTable<float> table(rope::sinusoidal_frequencies(4), 8);
  const std::vector<float> before(12, 5.0f);
  std::vector<float> x = before;
  const auto view = rope::matrix(x, {3, 4});
  CHECK(message_of([&] { rope::add_sinusoidal(view, table, rope::from(6)); }) ==
        "OutOfRange: rope::add_sinusoidal: positions: 3 tokens from position 6 on in batch row 0 "
        "end outside the table's rows 0 .. 7");
  CHECK(message_of([&] { rope::write_sinusoidal(view, table, rope::from(-1)); }) ==
        "OutOfRange: rope::write_sinusoidal: positions: the position -1 of batch row 0, token 0 is "
        "outside the table's rows 0 .. 7");
  CHECK(message_of([&] {
          rope::add_sinusoidal(rope::matrix(x, {4, 3}), table, rope::from(0));
        }) ==
        "InvalidArgument: rope::add_sinusoidal: x has dim 3, but the table's pairs make a width of "
        "4");
  CHECK(message_of([&] {
          rope::add_sinusoidal(rope::thd(x, {1, 3, 4}), table, rope::from(0));
        }) ==
        "InvalidArgument: rope::add_sinusoidal: embeddings have 1 head of the full width, but x "
        "has heads 3");
  CHECK(message_of([&] { rope::shift_sinusoidal(view, table, 8); }) ==
        "OutOfRange: rope::shift_sinusoidal: a shift of 8 has no row in a table of rows 0 .. 7");
  CHECK(message_of([&] { rope::shift_sinusoidal(view, table, -8); }) != "nothing thrown");
  CHECK(message_of([&] {
          rope::shift_sinusoidal(view, table, (std::numeric_limits<std::int64_t>::min)());
        }) != "nothing thrown");
  const rope::CosSinTable<float> scaled(rope::Frequencies({1.0, 0.5}, {1, 1, 2}, 1.5), 8);
  CHECK(message_of([&] { rope::add_sinusoidal(view, scaled, rope::from(0)); }) ==
        "InvalidArgument: rope::add_sinusoidal: the table must have one row for all heads and "
        "magnitude 1, but has heads 1 and magnitude 1.5");
  CHECK(message_of([&] { rope::shift_sinusoidal(view, scaled, 1); }) != "nothing thrown");
  CHECK(x == before);
}
