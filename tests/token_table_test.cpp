// Tables of tokens against MPFR: several axes, fractions, negative coordinates, rows per head; that
// a row depends on its own coordinates alone; refilling; what is refused.
#include "rope/token_table.hpp"

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "rope/table.hpp"
#include "rope/thread_pool.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/isa.hpp"
#include "support/tensor.hpp"

namespace {

using rope::Coordinates;
using rope::Frequencies;
using rope::InvalidArgument;
using rope::OutOfRange;
using rope::TokenTable;
using rope_test::require_throws;

/// magnitude * cos and sin of the sum of coordinate * frequency over the axes, exact: the errors of
/// found values.
class Oracle {
 public:
  Oracle() { mpfr_inits2(300, angle_, term_, cos_, sin_, static_cast<mpfr_ptr>(nullptr)); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle() { mpfr_clears(angle_, term_, cos_, sin_, static_cast<mpfr_ptr>(nullptr)); }

  void angle(const std::vector<double>& coordinates, const std::vector<double>& frequencies) {
    mpfr_set_zero(angle_, 1);
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
      mpfr_set_d(term_, coordinates[axis], MPFR_RNDN);
      mpfr_mul_d(term_, term_, frequencies[axis], MPFR_RNDN);
      mpfr_add(angle_, angle_, term_, MPFR_RNDN);
    }
    mpfr_sin_cos(sin_, cos_, angle_, MPFR_RNDN);
  }

  double cos_error(double found, double magnitude) { return error(cos_, found, magnitude); }
  double sin_error(double found, double magnitude) { return error(sin_, found, magnitude); }
  double cos_value() const { return mpfr_get_d(cos_, MPFR_RNDN); }
  double sin_value() const { return mpfr_get_d(sin_, MPFR_RNDN); }

 private:
  double error(mpfr_ptr exact, double found, double magnitude) {
    mpfr_mul_d(term_, exact, magnitude, MPFR_RNDN);
    mpfr_d_sub(term_, found, term_, MPFR_RNDN);
    return std::abs(mpfr_get_d(term_, MPFR_RNDN));
  }

  mpfr_t angle_;
  mpfr_t term_;
  mpfr_t cos_;
  mpfr_t sin_;
};

/// The worst error of a table in ulps of float, or in 2^-53 * magnitude.
template <class T>
double worst_error(const TokenTable<T>& table, const Coordinates& coordinates) {
  const Frequencies& frequencies = table.frequencies();
  const double magnitude = table.magnitude();
  Oracle oracle;
  double worst = 0;
  const auto take = [&](T found, double exact, double error) {
    double unit = 0x1p-53 * std::abs(magnitude);
    if constexpr (sizeof(T) == 4) {
      const double value = std::abs(exact * magnitude);
      const double floor = 0x1p-20 * std::abs(magnitude);
      unit = std::ldexp(1.0, std::ilogb(value > floor ? value : floor) - 23);
    }
    static_cast<void>(found);
    if (!(error / unit <= worst)) worst = error / unit;  // a NaN is kept as well
  };
  const auto axes = static_cast<std::size_t>(coordinates.axes());
  for (std::int64_t batch = 0; batch < coordinates.batch(); ++batch) {
    for (std::int64_t token = 0; token < coordinates.tokens(); ++token) {
      for (std::int64_t head = 0; head < table.heads(); ++head) {
        for (std::int64_t pair = 0; pair < table.pairs(); ++pair) {
          std::vector<double> position(axes);
          std::vector<double> frequency(axes);
          for (std::size_t axis = 0; axis < axes; ++axis) {
            const auto a = static_cast<std::int64_t>(axis);
            position[axis] = coordinates(batch, token, a);
            frequency[axis] = frequencies(a, head, pair);
          }
          oracle.angle(position, frequency);
          const auto i = static_cast<std::size_t>(pair);
          const T cos = table.cos(batch, token, head)[i];
          const T sin = table.sin(batch, token, head)[i];
          take(cos, oracle.cos_value(), oracle.cos_error(static_cast<double>(cos), magnitude));
          take(sin, oracle.sin_value(), oracle.sin_error(static_cast<double>(sin), magnitude));
        }
      }
    }
  }
  return worst;
}

Frequencies random_frequencies(std::uint64_t seed, std::int64_t axes, std::int64_t heads,
                               std::int64_t pairs, double magnitude) {
  rope_test::Random random(seed);
  std::vector<double> values(static_cast<std::size_t>(axes * heads * pairs));
  for (double& value : values) {
    value = random.integer(0, 5) == 0
                ? 0.0
                : std::ldexp(random.real(), static_cast<int>(random.integer(-12, 5)));
  }
  return Frequencies(values, {axes, heads, pairs}, magnitude);
}

enum class Kind { grid, whole, fractions, mixed };

Coordinates random_coordinates(std::uint64_t seed, Kind kind, std::int64_t batch,
                               std::int64_t tokens, std::int64_t axes) {
  rope_test::Random random(seed);
  std::vector<double> values(static_cast<std::size_t>(batch * tokens * axes));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto token = static_cast<std::int64_t>(i) / axes;
    const bool is_first = static_cast<std::int64_t>(i) % axes == 0;
    switch (kind) {
      case Kind::grid:
        values[i] = static_cast<double>(is_first ? token / 7 : token % 7) - 2;
        break;
      case Kind::whole:
        values[i] = static_cast<double>(random.integer(-5000, 3000000));
        break;
      case Kind::fractions:
        values[i] = std::ldexp(random.real(), static_cast<int>(random.integer(-3, 12)));
        break;
      case Kind::mixed:
        values[i] = random.integer(0, 1) == 0 ? static_cast<double>(random.integer(-20, 20))
                                              : 8 * random.real();
        break;
    }
  }
  return Coordinates(std::move(values), {batch, tokens, axes});
}

template <class T>
bool same_row(const TokenTable<T>& a, std::int64_t token, const TokenTable<T>& b,
              std::int64_t other) {
  const std::size_t bytes = static_cast<std::size_t>(a.heads() * 2 * a.pairs()) * sizeof(T);
  return a.heads() == b.heads() && a.pairs() == b.pairs() &&
         std::memcmp(a.row(token, 0, 0, 0, nullptr).cos, b.row(other, 0, 0, 0, nullptr).cos,
                     bytes) == 0;
}

template <class T>
bool same_rows(const TokenTable<T>& a, const TokenTable<T>& b) {
  if (a.batch() != b.batch() || a.tokens() != b.tokens()) return false;
  for (std::int64_t row = 0; row < a.batch() * a.tokens(); ++row) {
    if (!same_row(a, row, b, row)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("entries of tokens are within 0.51 ulp of float, and 4 * 2^-53 an axis in double") {
  int tables = 0;
  for (const Kind kind : {Kind::grid, Kind::whole, Kind::fractions, Kind::mixed}) {
    for (const std::int64_t axes : {1, 2, 3, 4}) {
      for (const std::int64_t pairs : {1, 2, 5, 16, 33}) {
        const std::int64_t heads = pairs % 2 + 1;
        const double magnitude = axes == 2 ? 1.13862943611 : 1.0;
        const Frequencies frequencies = random_frequencies(
            static_cast<std::uint64_t>(100 * axes + pairs), axes, heads, pairs, magnitude);
        const Coordinates coordinates =
            random_coordinates(static_cast<std::uint64_t>(pairs), kind, 2, 40, axes);
        INFO("axes " << axes << " pairs " << pairs << " kind " << static_cast<int>(kind));
        CHECK(worst_error(TokenTable<float>(frequencies, coordinates), coordinates) <= 0.51);
        CHECK(worst_error(TokenTable<double>(frequencies, coordinates), coordinates) <=
              4.0 * static_cast<double>(axes));
        ++tables;
      }
    }
  }
  CHECK(tables == 80);
}

TEST_CASE("angles of many turns are still exact") {
  const Coordinates coordinates({4e15, 1.0 / 3, 12345678.9, 2147483647.0, 1e-3, -8e9 + 0.5},
                                {6, 1});
  const Frequencies frequencies({1.0, 0.7390851332151607, 1.1e-5}, {1, 1, 3});
  CHECK(worst_error(TokenTable<float>(frequencies, coordinates), coordinates) <= 0.51);
  CHECK(worst_error(TokenTable<double>(frequencies, coordinates), coordinates) <= 4.0);
}

TEMPLATE_TEST_CASE("one axis and whole coordinates give the rows of a CosSinTable", "", float,
                   double) {
  for (const int rotary_dim : {2, 30, 64, 128}) {
    const Frequencies plain = rope::frequencies({.rotary_dim = rotary_dim});
    const Frequencies frequencies({plain.values().begin(), plain.values().end()},
                                  {1, 1, plain.pairs()}, 1.25);
    const rope::CosSinTable<TestType> rows(frequencies, 140000);
    const std::vector<double> positions = {0,    1,    2,    31,    32,    33,     1023,  1024,
                                           1025, 2047, 5000, 32767, 32768, 131071, 139999};
    const TokenTable<TestType> tokens(frequencies, rope::coordinates(positions, {15, 1}));
    const std::size_t bytes = static_cast<std::size_t>(plain.pairs()) * sizeof(TestType);
    for (std::size_t t = 0; t < positions.size(); ++t) {
      const auto row = static_cast<std::int64_t>(positions[t]);
      INFO("position " << row);
      CHECK(std::memcmp(tokens.cos(0, t).data(), rows.cos(row).data(), bytes) == 0);
      CHECK(std::memcmp(tokens.sin(0, t).data(), rows.sin(row).data(), bytes) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("axes that do not turn a pair change nothing", "", float, double) {
  // An axial table's columns are those of one axis each; three axes of which one is 0 are two.
  const Frequencies one({0.9, 0.3, 1e-4}, {1, 1, 3}, 1.5);
  const Frequencies three({0, 0, 1e-4, 0.9, 0, 0, 0, 0.3, 0}, {3, 1, 3}, 1.5);
  const std::vector<double> values = {0, 1, -7, 2.5, 1e6, -0.125};
  const TokenTable<TestType> narrow(one, rope::coordinates(values, {6, 1}));
  std::vector<double> repeated;
  for (const double value : values) repeated.insert(repeated.end(), 3, value);
  const TokenTable<TestType> wide(three, rope::coordinates(repeated, {6, 3}));
  CHECK(same_rows(narrow, wide));
}

TEMPLATE_TEST_CASE("opposite coordinates give the same cos and the opposite sin", "", float,
                   double) {
  const Frequencies frequencies = random_frequencies(4, 2, 1, 9, 1.1);
  const Coordinates there = random_coordinates(5, Kind::mixed, 1, 50, 2);
  std::vector<double> opposite(there.values().begin(), there.values().end());
  for (double& value : opposite) value = -value;
  const TokenTable<TestType> a(frequencies, there);
  const TokenTable<TestType> b(frequencies, Coordinates(opposite, {50, 2}));
  for (std::int64_t t = 0; t < 50; ++t) {
    for (std::size_t i = 0; i < 9; ++i) {
      REQUIRE(a.cos(0, t)[i] == b.cos(0, t)[i]);
      REQUIRE(a.sin(0, t)[i] == -b.sin(0, t)[i]);
    }
  }
}

TEMPLATE_TEST_CASE("a row depends on its own coordinates alone", "", float, double) {
  // Grids, whose values are listed, and points, which are not; more values than are ever listed.
  for (const Kind kind : {Kind::grid, Kind::whole, Kind::fractions, Kind::mixed}) {
    for (const std::int64_t pairs : {3, 32, 45}) {
      const Frequencies frequencies =
          random_frequencies(static_cast<std::uint64_t>(pairs), 2, 2, pairs, 0.9);
      const std::int64_t tokens = kind == Kind::fractions ? 1500 : 600;
      const Coordinates all = random_coordinates(11, kind, 1, tokens, 2);
      const TokenTable<TestType> together(frequencies, all);
      for (std::int64_t t = 0; t < tokens; t += 37) {
        const TokenTable<TestType> alone(frequencies,
                                         rope::coordinates(all.values().data() + 2 * t, {1, 2}));
        INFO("token " << t);
        REQUIRE(same_row(together, t, alone, 0));
      }
    }
  }
}

TEMPLATE_TEST_CASE("a pair's bits do not depend on the other pairs", "", float, double) {
  const Coordinates coordinates = random_coordinates(3, Kind::mixed, 1, 30, 1);
  const Frequencies all = random_frequencies(9, 1, 1, 80, 1.0);
  const TokenTable<TestType> wide(all, coordinates);
  for (const std::int64_t pairs : {1, 2, 3, 4, 7, 8, 31, 32, 33, 63, 64, 65}) {
    const TokenTable<TestType> narrow(
        Frequencies({all.values().begin(), all.values().begin() + pairs}, {1, 1, pairs}),
        coordinates);
    for (std::int64_t t = 0; t < 30; ++t) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
        REQUIRE(narrow.cos(0, t)[i] == wide.cos(0, t)[i]);
        REQUIRE(narrow.sin(0, t)[i] == wide.sin(0, t)[i]);
      }
    }
  }
}

TEMPLATE_TEST_CASE("tables of tokens have the same bits on every instruction set", "", float,
                   double) {
  for (const Kind kind : {Kind::grid, Kind::whole, Kind::fractions}) {
    for (const std::int64_t axes : {1, 2, 3}) {
      for (const std::int64_t pairs : {1, 6, 16, 37}) {
        for (const rope::TableOptions& options :
             {rope::TableOptions{}, rope::TableOptions{.angles = rope::Angles::float32},
              rope::TableOptions{.round_entries_to = rope::EntryRounding::bf16}}) {
          const Frequencies frequencies =
              random_frequencies(static_cast<std::uint64_t>(pairs), axes, 2, pairs, 1.2);
          const Coordinates coordinates = random_coordinates(8, kind, 1, 150, axes);
          const TokenTable<TestType> expected(frequencies, coordinates, options);
          rope_test::on_every_isa([&] {
            CHECK(same_rows(TokenTable<TestType>(frequencies, coordinates, options), expected));
          });
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("tables of tokens do not depend on who makes them", "", float, double) {
  rope::ThreadPool pool(3);
  // Rows per head, few columns with many tokens, and points of which nothing repeats.
  for (const Kind kind : {Kind::grid, Kind::fractions}) {
    for (const std::int64_t heads : {1, 8}) {
      const Frequencies frequencies = random_frequencies(6, 2, heads, 24, 1.0);
      const Coordinates coordinates = random_coordinates(12, kind, 1, 5000, 2);
      const TokenTable<TestType> serial(frequencies, coordinates);
      TokenTable<TestType> threaded(frequencies, coordinates, {.executor = pool});
      CHECK(same_rows(serial, threaded));
      threaded.refill(coordinates, pool);
      CHECK(same_rows(serial, threaded));
    }
  }
}

TEMPLATE_TEST_CASE("a refilled table is as one made anew", "", float, double) {
  const Frequencies frequencies = random_frequencies(2, 2, 3, 11, 1.0);
  TokenTable<TestType> table(frequencies, random_coordinates(1, Kind::grid, 2, 100, 2));
  CHECK(table.capacity() == 200);
  // More values than when it was made, fewer tokens, other batches, and back.
  for (const Kind kind : {Kind::fractions, Kind::whole, Kind::grid, Kind::mixed}) {
    for (const auto& [batch, tokens] :
         {std::pair{1, 200}, std::pair{2, 100}, std::pair{4, 9}, std::pair{1, 1}}) {
      const Coordinates coordinates = random_coordinates(77, kind, batch, tokens, 2);
      table.refill(coordinates);
      CHECK(table.capacity() == 200);
      CHECK(same_rows(table, TokenTable<TestType>(frequencies, coordinates)));
    }
  }
  table.refill(Coordinates({}, {0, 2}));
  CHECK(table.tokens() == 0);
}

TEST_CASE("large tables, whose stores pass by the caches, are right to the last row") {
  // 3 heads of 32 pairs: pieces of whole cache lines.
  const Frequencies frequencies = random_frequencies(21, 2, 3, 32, 1.0);
  const std::int64_t tokens = 12000;
  const Coordinates all = random_coordinates(1, Kind::grid, 1, tokens, 2);
  const TokenTable<float> large(frequencies, all);
  const std::int64_t some[] = {0, 1, 255, 256, 257, 5000, tokens - 2, tokens - 1};
  for (const std::int64_t t : some) {
    const TokenTable<float> alone(frequencies,
                                  rope::coordinates(all.values().data() + 2 * t, {1, 2}));
    CHECK(same_row(large, t, alone, 0));
  }
}

TEST_CASE("a coordinate of 0, of either sign, is exactly the magnitude and plus zero") {
  const Frequencies frequencies({1.0, -0.5, 0.0, 1e-310}, {1, 1, 4}, -1.25);
  const double zeros[] = {0.0, -0.0};
  const TokenTable<double> table(frequencies, rope::coordinates(zeros, {2, 1}));
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(table.cos(0, t)[i] == -1.25);
      CHECK(table.sin(0, t)[i] == 0);
      CHECK_FALSE(std::signbit(table.sin(0, t)[i]));
    }
  }
}

TEST_CASE("frequencies and coordinates too small to turn anything") {
  const Frequencies frequencies({1e-305, 5e-324, 1e-3}, {1, 1, 3});
  const double values[] = {2.0, 0.5, 1e-310, 4097};
  const TokenTable<double> table(frequencies, rope::coordinates(values, {4, 1}));
  for (std::int64_t t = 0; t < 4; ++t) {
    CHECK(table.cos(0, t)[0] == 1);
    CHECK(table.sin(0, t)[0] == values[t] * 1e-305);
    CHECK(table.cos(0, t)[1] == 1);
  }
  CHECK(table.sin(0, 2)[2] == 1e-310 * 1e-3);
}

TEST_CASE("a table keeps its frequencies, and copies are whole") {
  const Frequencies frequencies = random_frequencies(3, 2, 1, 6, 1.0);
  const Coordinates coordinates = random_coordinates(3, Kind::grid, 2, 20, 2);
  const TokenTable<float> table(frequencies, coordinates);
  CHECK(table.frequencies().axes() == 2);
  CHECK(table.batch() == 2);
  CHECK(table.tokens() == 20);
  CHECK(table.heads() == 1);
  CHECK(table.pairs() == 6);
  CHECK(table.rotary_dim() == 12);
  TokenTable<float> copy = table;
  CHECK(same_rows(table, copy));
  copy.refill(random_coordinates(4, Kind::grid, 1, 20, 2));
  const TokenTable<float> moved = std::move(copy);
  CHECK(moved.batch() == 1);
  CHECK(same_rows(moved,
                  TokenTable<float>(frequencies, random_coordinates(4, Kind::grid, 1, 20, 2))));
}

TEST_CASE("tables of tokens that cannot be are refused") {
  const Frequencies two({1, 2}, {2, 1, 1});
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {0, 1, 2, 3, 4, 5};
  require_throws<InvalidArgument>(
      "rope::TokenTable: the coordinates have 3 axes, but the frequencies 2", [&] {
        (void)TokenTable<float>(two, rope::coordinates(values, {2, 3}));
      });
  require_throws<InvalidArgument>(
      "rope::TokenTable: frequencies have 65 axes, but at most 64 are supported", [&] {
        const std::vector<double> ones(65, 1.0);
        (void)TokenTable<float>(Frequencies(ones, {65, 1, 1}), rope::coordinates(ones, {1, 65}));
      });
  double broken[] = {0, 1, 2, infinity};
  require_throws<InvalidArgument>(
      "rope::TokenTable: the coordinate at [1, 0, 1] (batch, token, axis) must be finite, got inf",
      [&] {
        (void)TokenTable<float>(two, rope::coordinates(broken, {2, 1, 2}));
      });
  broken[3] = -1e16;
  require_throws<InvalidArgument>(
      "rope::TokenTable: the coordinate -1e+16 at [0, 1, 1] (batch, token, axis) with the "
      "frequency "
      "2: neither a coordinate nor an angle may be beyond 2^53",
      [&] {
        (void)TokenTable<float>(two, rope::coordinates(broken, {2, 2}));
      });
  require_throws<InvalidArgument>(
      "rope::TokenTable: a frequency of axis 1 is 1e+16, but at most 2^53 is supported", [&] {
        (void)TokenTable<float>(Frequencies({1, -1e16}, {2, 1, 1}),
                                rope::coordinates(values, {3, 2}));
      });
  require_throws<InvalidArgument>(
      "rope::TokenTable: the magnitude 1e+39 is beyond the range of the table's 4-byte entries",
      [&] {
        (void)TokenTable<float>(Frequencies({1.0}, {1, 1, 1}, 1e39),
                                rope::coordinates(values, {6, 1}));
      });
  Frequencies gone = two;
  const Frequencies taken = std::move(gone);
  require_throws<InvalidArgument>(
      "rope::TokenTable: frequencies hold 0 values for 2 axes, 1 heads and 1 pairs: they were "
      "moved "
      "from",
      [&] {
        (void)TokenTable<float>(gone, rope::coordinates(values, {3, 2}));
      });
  require_throws<InvalidArgument>(
      "rope::TokenTable: angles has the value 7, which names no way to compute them", [&] {
        (void)TokenTable<float>(two, rope::coordinates(values, {3, 2}),
                                {.angles = static_cast<rope::Angles>(7)});
      });
}

TEST_CASE("a refill that cannot be leaves the table as it was") {
  const Frequencies two({1, 2}, {2, 1, 1});
  double values[] = {0, 1, 2, 3, 4, 5};
  TokenTable<float> table(two, rope::coordinates(&values[0], {2, 2}));
  const TokenTable<float> before = table;
  require_throws<InvalidArgument>(
      "rope::TokenTable::refill: the coordinates have 3 tokens, but the table has room for 2", [&] {
        table.refill(rope::coordinates(values, {3, 2}));
      });
  require_throws<InvalidArgument>(
      "rope::TokenTable::refill: the coordinates have 1 axes, but the frequencies 2", [&] {
        table.refill(rope::coordinates(values, {6, 1}));
      });
  values[1] = std::nan("");
  require_throws<InvalidArgument>(
      "rope::TokenTable::refill: the coordinate at [0, 0, 1] (batch, token, axis) must be finite, "
      "got nan",
      [&] {
        table.refill(rope::coordinates(values, {3, 2}));
      });
  CHECK(same_rows(table, before));
}

TEST_CASE("tokens and heads outside the table are refused") {
  const double values[] = {0, 1, 2, 3, 4, 5};
  const TokenTable<float> table(Frequencies({1, 2}, {1, 2, 1}),
                                rope::coordinates(values, {2, 3, 1}));
  require_throws<OutOfRange>(
      "rope::TokenTable::cos: batch row 2, token 0, head 0 is not in a table of [2, 3, 2] (batch "
      "or "
      "1, tokens, heads)",
      [&] { (void)table.cos(2, 0); });
  require_throws<OutOfRange>(
      "rope::TokenTable::sin: batch row 0, token 3, head 1 is not in a table of [2, 3, 2] (batch "
      "or "
      "1, tokens, heads)",
      [&] { (void)table.sin(0, 3, 1); });
  require_throws<OutOfRange>(
      "rope::TokenTable::sin: batch row 0, token -1, head 2 is not in a table of [2, 3, 2] (batch "
      "or "
      "1, tokens, heads)",
      [&] { (void)table.sin(0, -1, 2); });
}

TEST_CASE("coordinates that were moved from have no tokens") {
  Coordinates gone({1, 2, 3}, {3, 1});
  const Coordinates taken = std::move(gone);
  CHECK(taken.tokens() == 3);
  CHECK(gone.tokens() == 0);
  CHECK(TokenTable<float>(rope::frequencies({.rotary_dim = 8}), gone).tokens() == 0);
  Coordinates other({4, 5}, {1, 2});
  other = std::move(gone);
  CHECK(other.tokens() == 0);
  CHECK(other.axes() == 1);
}

TEST_CASE("a view of coordinates checks its shape") {
  const double values[] = {1, 2};
  require_throws<rope::InvalidArgument>(
      "rope::CoordinatesView: the shape has batch 1, tokens -2 and axes 1", [&] {
        static_cast<void>(rope::CoordinatesView(values, {-2, 1}));
      });
  require_throws<rope::InvalidArgument>("rope::CoordinatesView: values are null, but 2 are needed",
                                        [&] {
                                          static_cast<void>(rope::CoordinatesView(nullptr, {2, 1}));
                                        });
}

TEST_CASE("a table that was moved from has no tokens") {
  const double values[] = {0, 1, 2, 3};
  TokenTable<float> table(Frequencies({1, 2}, {1, 1, 2}), rope::coordinates(values, {4, 1}));
  const TokenTable<float> taken = std::move(table);
  CHECK(taken.tokens() == 4);
  CHECK(table.tokens() == 0);
  CHECK(table.capacity() == 0);
  CHECK_THROWS_AS(table.cos(0, 0), OutOfRange);
  CHECK_THROWS_AS(table.refill(rope::coordinates(values, {4, 1})), InvalidArgument);
}

TEST_CASE("what a table is made of takes no more memory than its entries, by however many parts") {
  const auto many = [](std::int64_t count, rope::TaskRef body) {
    while (count > 0) body(--count);
  };
  const Frequencies frequencies(std::vector<double>(3 * 64, 0.5), {3, 1, 64});
  for (const std::int64_t different : {7, 1000, 16384}) {
    std::vector<double> places(3 * 16384);
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = static_cast<double>(static_cast<std::int64_t>(i / 3) % different);
    }
    rope::detail::TokenScratch scratch;
    const auto where = rope::coordinates(places, {16384, 3});
    const auto entries =
        rope::detail::token_table_entries<float>(frequencies, where, {.executor = many}, scratch);
    CHECK(scratch.rows.size() * sizeof(double) <= entries.size() * sizeof(float));
    CHECK(scratch.parts >= 2);
    rope::detail::TokenScratch serial;
    CHECK(entries == rope::detail::token_table_entries<float>(frequencies, where, {}, serial));
  }
}

TEST_CASE("a table made by one thread is refilled by several, as far as there is room") {
  std::int64_t parts = 0;
  const auto counting = [&](std::int64_t count, rope::TaskRef body) {
    parts = count;
    while (count > 0) body(--count);
  };
  rope_test::Random random(4);
  for (const auto& [heads, pairs] : {std::pair{1, 64}, std::pair{8, 64}, std::pair{8, 40}}) {
    std::vector<double> frequencies(static_cast<std::size_t>(2 * heads * pairs));
    for (double& frequency : frequencies) frequency = random.real();
    for (const bool is_grid : {true, false}) {
      std::vector<double> places(2 * 2000);
      for (std::size_t i = 0; i < places.size(); ++i) {
        places[i] = is_grid ? static_cast<double>(i % 2 == 0 ? i / 80 : i / 2 % 40) : random.real();
      }
      const Frequencies all(frequencies, {2, heads, pairs});
      for (const rope::Angles angles : {rope::Angles::exact, rope::Angles::float32}) {
        const auto where = rope::coordinates(places, {2000, 2});
        const TokenTable<float> alone(all, where, {.angles = angles});
        const std::vector<double> nowhere(2 * 2000);
        TokenTable<float> table(all, rope::coordinates(nowhere, {2000, 2}), {.angles = angles});
        parts = 0;
        table.refill(where, counting);
        CHECK(parts >= 2);
        CHECK(same_rows(table, alone));
      }
    }
  }
}
