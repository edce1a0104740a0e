// Tables of cos and sin against MPFR: every entry of a common size, spots far out, magnitudes,
// rows per head; and that the number of rows never changes a row.
#include "rope/table.hpp"

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "rope/frequencies.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope::CosSinTable;
using rope::Frequencies;
using rope::InvalidArgument;
using rope::OutOfRange;
using rope_test::require_throws;

/// A real number as the sum of two doubles: about 2^-106 from what MPFR gives.
struct Exact {
  double nearest;
  double rest;
};

struct ExactSinCos {
  Exact cos;
  Exact sin;
};

/// magnitude * cos and sin of position * frequency, the angle exact.
class Oracle {
 public:
  Oracle() { mpfr_inits2(200, angle_, cos_, sin_, rest_, static_cast<mpfr_ptr>(nullptr)); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle() { mpfr_clears(angle_, cos_, sin_, rest_, static_cast<mpfr_ptr>(nullptr)); }

  ExactSinCos operator()(std::int64_t position, double frequency, double magnitude = 1) {
    mpfr_set_d(angle_, frequency, MPFR_RNDN);
    mpfr_mul_si(angle_, angle_, static_cast<long>(position), MPFR_RNDN);
    mpfr_sin_cos(sin_, cos_, angle_, MPFR_RNDN);
    return {split(cos_, magnitude), split(sin_, magnitude)};
  }

 private:
  Exact split(mpfr_ptr value, double magnitude) {
    mpfr_mul_d(value, value, magnitude, MPFR_RNDN);
    const double nearest = mpfr_get_d(value, MPFR_RNDN);
    mpfr_sub_d(rest_, value, nearest, MPFR_RNDN);
    return {nearest, mpfr_get_d(rest_, MPFR_RNDN)};
  }

  mpfr_t angle_;
  mpfr_t cos_;
  mpfr_t sin_;
  mpfr_t rest_;
};

/// The worst errors of many entries.
struct Worst {
  double float_ulp = 0;     // where |value| > 2^-20 * |magnitude|
  double double_error = 0;  // in units of 2^-53 * |magnitude|
  std::int64_t entries = 0;

  void take(float value, const Exact& exact, double magnitude = 1) {
    ++entries;
    if (!(std::abs(exact.nearest) > 0x1p-20 * std::abs(magnitude))) {
      // Small values: the absolute error must be as small as the ulp at the border.
      const double bound = 0x1p-44 * std::abs(magnitude);
      if (!(std::abs(error_of(static_cast<double>(value), exact)) <= bound)) float_ulp = 1e9;
      return;
    }
    const double ulp = std::ldexp(1.0, std::ilogb(exact.nearest) - 23);
    keep_larger(float_ulp, std::abs(error_of(static_cast<double>(value), exact)) / ulp);
  }
  void take(double value, const Exact& exact, double magnitude = 1) {
    ++entries;
    keep_larger(double_error, std::abs(error_of(value, exact)) / (0x1p-53 * std::abs(magnitude)));
  }

 private:
  static double error_of(double value, const Exact& exact) {
    return (value - exact.nearest) - exact.rest;
  }
  static void keep_larger(double& worst, double error) {
    if (!(error <= worst)) worst = error;  // a NaN is kept as well
  }
};

void require_accurate(const Worst& worst) {
  INFO("worst float error " << worst.float_ulp << " ulp, worst double error " << worst.double_error
                            << " * 2^-53, entries " << worst.entries);
  REQUIRE(worst.entries > 0);
  CHECK(worst.float_ulp <= 0.51);
  CHECK(worst.double_error <= 4.0);
}

template <class T>
void take_row(Worst& worst, const CosSinTable<T>& table, std::int64_t row, std::int64_t head,
              std::int64_t pair, const ExactSinCos& exact) {
  const auto i = static_cast<std::size_t>(pair);
  worst.take(table.cos(row, head)[i], exact.cos, table.magnitude());
  worst.take(table.sin(row, head)[i], exact.sin, table.magnitude());
}

template <class T>
bool same_row(const CosSinTable<T>& a, const CosSinTable<T>& b, std::int64_t row,
              std::int64_t a_head = 0, std::int64_t b_head = 0) {
  const std::size_t bytes = static_cast<std::size_t>(a.pairs()) * sizeof(T);
  return a.pairs() == b.pairs() &&
         std::memcmp(a.cos(row, a_head).data(), b.cos(row, b_head).data(), bytes) == 0 &&
         std::memcmp(a.sin(row, a_head).data(), b.sin(row, b_head).data(), bytes) == 0;
}

/// One pair of the plain scheme, so that a table can have very many rows.
Frequencies single(double frequency) { return Frequencies({frequency}, {1, 1, 1}); }

double plain_frequency(int rotary_dim, double base, std::int64_t pair) {
  return rope::frequencies({.rotary_dim = rotary_dim, .base = base})(0, 0, pair);
}

}  // namespace

TEST_CASE("every entry of 4096 positions of d = 128 is within 0.51 ulp") {
  const Frequencies frequencies = rope::frequencies({.rotary_dim = 128});
  const CosSinTable<float> narrow(frequencies, 4096);
  const CosSinTable<double> wide(frequencies, 4096);
  REQUIRE(narrow.rows() == 4096);
  REQUIRE(narrow.pairs() == 64);
  REQUIRE(narrow.heads() == 1);
  REQUIRE(narrow.rotary_dim() == 128);
  Oracle oracle;
  Worst worst;
  for (std::int64_t row = 0; row < 4096; ++row) {
    for (std::int64_t pair = 0; pair < 64; ++pair) {
      const ExactSinCos exact = oracle(row, frequencies(0, 0, pair));
      take_row(worst, narrow, row, 0, pair, exact);
      take_row(worst, wide, row, 0, pair, exact);
    }
  }
  require_accurate(worst);
  CHECK(worst.float_ulp > 0.49);  // otherwise nothing was measured
}

TEST_CASE("entries at positions to 2^24 are within 0.51 ulp") {
  constexpr std::int64_t rows = (1 << 24) + 1;
  Oracle oracle;
  rope_test::Random random(1);
  std::vector<std::int64_t> spots = {0, 1, 1023, 1024, 1025, rows - 1, rows - 2, 1 << 23};
  for (int exponent = 1; exponent <= 24; ++exponent) {
    for (int i = 0; i < 150; ++i) spots.push_back(random.integer(0, std::int64_t{1} << exponent));
  }
  for (const double frequency : {1.0, plain_frequency(128, 1e4, 1), plain_frequency(128, 5e5, 10),
                                 plain_frequency(128, 1e4, 63)}) {
    Worst worst;
    const CosSinTable<float> table(single(frequency), rows);
    for (const std::int64_t spot : spots) {
      take_row(worst, table, spot, 0, 0, oracle(spot, frequency));
    }
    require_accurate(worst);
  }
  Worst worst;
  const CosSinTable<double> table(single(0.7), rows);
  for (const std::int64_t spot : spots) take_row(worst, table, spot, 0, 0, oracle(spot, 0.7));
  require_accurate(worst);
}

TEST_CASE("the magnitude is multiplied in before the one rounding") {
  Oracle oracle;
  for (const double magnitude : {1.13862943611, 1.0, 0.1, 3.0, -1.25, 1e-3, 1e6, 1.2772588722398}) {
    const Frequencies frequencies({1.0, 0.3, 0.01, 1e-5}, {1, 1, 4}, magnitude);
    const CosSinTable<float> narrow(frequencies, 3000);
    const CosSinTable<double> wide(frequencies, 3000);
    CHECK(narrow.magnitude() == magnitude);
    Worst worst;
    for (std::int64_t row = 0; row < 3000; row += 7) {
      for (std::int64_t pair = 0; pair < 4; ++pair) {
        const ExactSinCos exact = oracle(row, frequencies(0, 0, pair), magnitude);
        take_row(worst, narrow, row, 0, pair, exact);
        take_row(worst, wide, row, 0, pair, exact);
      }
    }
    require_accurate(worst);
  }
}

TEST_CASE("a table can have frequencies for each head") {
  // [1, heads 3, pairs 5], all different, some negative and one 0.
  std::vector<double> values;
  for (int i = 0; i < 15; ++i) values.push_back(std::ldexp(i % 2 == 0 ? 1.0 : -1.3, -i));
  values[7] = 0;
  const Frequencies frequencies(values, {1, 3, 5}, 1.5);
  const CosSinTable<float> narrow(frequencies, 2500);
  const CosSinTable<double> wide(frequencies, 2500);
  REQUIRE(narrow.heads() == 3);
  REQUIRE(narrow.rows() == 2500);
  Oracle oracle;
  Worst worst;
  for (std::int64_t row = 0; row < 2500; row += 3) {
    for (std::int64_t head = 0; head < 3; ++head) {
      for (std::int64_t pair = 0; pair < 5; ++pair) {
        const double frequency = values[static_cast<std::size_t>(head * 5 + pair)];
        const ExactSinCos exact = oracle(row, frequency, 1.5);
        take_row(worst, narrow, row, head, pair, exact);
        take_row(worst, wide, row, head, pair, exact);
      }
    }
  }
  require_accurate(worst);
  // A head's rows are those of a table for its frequencies alone.
  for (std::int64_t head = 0; head < 3; ++head) {
    const auto first = values.begin() + head * 5;
    const CosSinTable<float> alone(Frequencies({first, first + 5}, {1, 1, 5}, 1.5), 2500);
    for (std::int64_t row = 0; row < 2500; ++row) REQUIRE(same_row(narrow, alone, row, head, 0));
  }
}

TEMPLATE_TEST_CASE("the bits of a row do not depend on the number of rows", "", float, double) {
  const Frequencies frequencies(rope::frequencies({.rotary_dim = 30, .base = 5e5}));
  const CosSinTable<TestType> large(frequencies, 5000);
  for (const int rows : {1, 2, 16, 31, 32, 33, 1023, 1024, 1025, 2047, 2048, 3000, 4096}) {
    const CosSinTable<TestType> small(frequencies, rows);
    REQUIRE(small.rows() == rows);
    for (std::int64_t row = 0; row < rows; ++row) REQUIRE(same_row(small, large, row));
  }
}

TEMPLATE_TEST_CASE("a table keeps each pair's bits whatever the other pairs are", "", float,
                   double) {
  // Widths below, at and above those of vectors.
  const Frequencies all = rope::frequencies({.rotary_dim = 40});
  const CosSinTable<TestType> wide(all, 1100);
  for (std::int64_t pairs = 1; pairs <= 20; ++pairs) {
    const CosSinTable<TestType> narrow(
        Frequencies({all.values().begin(), all.values().begin() + pairs}, {1, 1, pairs}), 1100);
    for (std::int64_t row = 0; row < 1100; row += 11) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
        REQUIRE(narrow.cos(row)[i] == wide.cos(row)[i]);
        REQUIRE(narrow.sin(row)[i] == wide.sin(row)[i]);
      }
    }
  }
}

TEMPLATE_TEST_CASE("position 0 is exactly the magnitude and plus zero", "", float, double) {
  for (const double magnitude : {1.0, 1.25, -2.0}) {
    const Frequencies frequencies({1.0, -0.5, 0.0, 1e-300}, {1, 1, 4}, magnitude);
    const CosSinTable<TestType> table(frequencies, 1);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(table.cos(0)[i] == static_cast<TestType>(magnitude));
      CHECK(table.sin(0)[i] == 0);
      CHECK_FALSE(std::signbit(table.sin(0)[i]));
    }
  }
}

TEST_CASE("a magnitude of 0 gives zeros") {
  const CosSinTable<float> table(Frequencies({1.0}, {1, 1, 1}, 0.0), 2000);
  for (std::int64_t row = 0; row < 2000; ++row) {
    REQUIRE(table.cos(row)[0] == 0.0F);
    REQUIRE(table.sin(row)[0] == 0.0F);
  }
}

TEST_CASE("long positions do not suffer from angles in float") {
  // Position 999999, pair 1 of d = 128: an angle in float is off by 3.1e-2.
  const CosSinTable<float> far(single(plain_frequency(128, 1e4, 1)), 1000000);
  CHECK(std::abs(far.cos(999999)[0] - -0.660281339748F) <= 1e-6F);
  CHECK(std::abs(far.sin(999999)[0] - 0.751018343571F) <= 1e-6F);
  // Position 131071, pair 10: off by 1.5e-3. Pair 63 by repeated multiplication: 1.2e-2.
  for (const std::int64_t pair : {10, 63}) {
    const double frequency = plain_frequency(128, 1e4, pair);
    const CosSinTable<float> table(single(frequency), 131072);
    const double angle = 131071 * frequency;
    CHECK(std::abs(static_cast<double>(table.cos(131071)[0]) - std::cos(angle)) <= 1e-7);
    CHECK(std::abs(static_cast<double>(table.sin(131071)[0]) - std::sin(angle)) <= 1e-7);
  }
  // Position 1857, pair 1 of d = 32: frequencies in half precision give -0.408.
  const CosSinTable<float> middle(rope::frequencies({.rotary_dim = 32}), 1858);
  CHECK(std::abs(middle.cos(1857)[1] - 0.306692810F) <= 1e-6F);
}

TEST_CASE("tables of scaled and of small positions") {
  // Linear factor 4, position 8, pair 0: angle 2; the scale applied twice would give cos 0.5.
  const CosSinTable<float> linear(
      rope::frequencies({.rotary_dim = 8, .scaling = rope::Linear{.factor = 4}}), 9);
  CHECK(std::abs(linear.cos(8)[0] - -0.416146837F) <= 1e-7F);
  // d = 8, position 2, pair 1: angle 0.2.
  const CosSinTable<float> plain(rope::frequencies({.rotary_dim = 8}), 3);
  CHECK(std::abs(plain.cos(2)[1] - 0.980066578F) <= 1e-7F);
}

TEST_CASE("tables with other parameters do not disturb each other") {
  const CosSinTable<double> a(rope::frequencies({.rotary_dim = 4, .base = 1e4}), 8);
  const CosSinTable<double> b(rope::frequencies({.rotary_dim = 4, .base = 1e6}), 8);
  CHECK(std::abs(std::asin(a.sin(1)[1]) - 0.01) <= 1e-15);
  CHECK(std::abs(std::asin(b.sin(1)[1]) - 0.001) <= 1e-15);
  CHECK(std::abs(std::asin(a.sin(1)[1]) - 0.01) <= 1e-15);
}

TEST_CASE("a table keeps its frequencies, and copies are whole") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 6}), 10);
  CHECK(table.frequencies().pairs() == 3);
  CosSinTable<float> copy = table;
  CHECK(same_row(table, copy, 9));
  CHECK(copy.cos(9).data() != table.cos(9).data());
  const CosSinTable<float> moved = std::move(copy);
  CHECK(same_row(table, moved, 9));
}

TEST_CASE("a table may have no rows") {
  const CosSinTable<float> table(rope::frequencies({.rotary_dim = 6}), 0);
  CHECK(table.rows() == 0);
  CHECK_THROWS_AS(table.cos(0), OutOfRange);
}

TEST_CASE("tables that cannot be are refused") {
  const Frequencies two_axes({1, 2}, {2, 1, 1});
  require_throws<InvalidArgument>(
      "rope::CosSinTable: frequencies have 2 axes, but a table addressed by one integer position "
      "needs 1",
      [&] { (void)CosSinTable<float>(two_axes, 8); });
  const Frequencies plain = rope::frequencies({.rotary_dim = 8});
  require_throws<InvalidArgument>("rope::CosSinTable: rows must not be negative, got -1",
                                  [&] { (void)CosSinTable<float>(plain, -1); });
  require_throws<InvalidArgument>(
      "rope::CosSinTable: 1152921504606846976 rows of 1 heads and 4 pairs are more bytes than 64 "
      "bits can count",
      [&] { (void)CosSinTable<float>(plain, 1LL << 60); });
  Frequencies gone = plain;
  const Frequencies taken = std::move(gone);
  require_throws<InvalidArgument>(
      "rope::CosSinTable: frequencies hold 0 values for 1 heads and 4 pairs: they were moved from",
      [&] { (void)CosSinTable<float>(gone, 8); });
  require_throws<InvalidArgument>(
      "rope::CosSinTable: the magnitude 1e+39 is beyond the range of the table's 4-byte entries",
      [] { (void)CosSinTable<float>(Frequencies({1.0}, {1, 1, 1}, 1e39), 4); });
  const CosSinTable<double> wide(Frequencies({1.0}, {1, 1, 1}, 1e39), 4);
  CHECK(wide.cos(0)[0] == 1e39);
  require_throws<InvalidArgument>(
      "rope::CosSinTable: frequency 1e+15 at 100 rows makes angles beyond 2^53 radians",
      [] { (void)CosSinTable<double>(single(1e15), 100); });
  require_throws<InvalidArgument>(
      "rope::CosSinTable: frequency -1e+15 at 100 rows makes angles beyond 2^53 radians",
      [] { (void)CosSinTable<double>(single(-1e15), 100); });
}

TEST_CASE("rows and heads outside the table are refused") {
  const CosSinTable<float> table(Frequencies({1, 2}, {1, 2, 1}), 8);
  require_throws<OutOfRange>(
      "rope::CosSinTable::cos: row 8 of head 0 is not in a table of 8 rows and 2 heads",
      [&] { (void)table.cos(8); });
  require_throws<OutOfRange>(
      "rope::CosSinTable::sin: row -1 of head 1 is not in a table of 8 rows and 2 heads",
      [&] { (void)table.sin(-1, 1); });
  require_throws<OutOfRange>(
      "rope::CosSinTable::sin: row 0 of head 2 is not in a table of 8 rows and 2 heads",
      [&] { (void)table.sin(0, 2); });
  CHECK(table.cos(7, 1).size() == 1);
}
