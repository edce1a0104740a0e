// xPos: rotations whose scores also decay with the distance.
#include "rope/spatial/xpos.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "support/catch.hpp"
#include "support/counting_executor.hpp"
#include "support/errors.hpp"
#include "support/reference.hpp"
#include "support/tensor.hpp"

namespace {

using rope_test::require_throws;
using rope_test::Tensor;

constexpr auto interleaved = rope::Pairing::interleaved;
constexpr auto query = rope::XposSide::query;
constexpr auto key = rope::XposSide::key;

long double zeta(std::size_t pair, std::size_t pairs) {
  const auto dim = static_cast<long double>(2 * pairs);
  return (2 * static_cast<long double>(pair) + 0.4L * dim) / (1.4L * dim);
}

template <class T>
void check_entries(const rope::Xpos& xpos, std::int64_t rows, long double tolerance) {
  const std::vector<double> ladder = rope_test::plain_frequencies(14, 10000);
  const rope::XposTable<T> table(rope::Frequencies(ladder, {1, 1, 7}, 1.5), rows, xpos);
  REQUIRE(table.rows() == rows);
  const long double sign = xpos.side.value() == query ? 1 : -1;
  long double worst = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < 7; ++i) {
      const long double power =
          sign * (static_cast<long double>(row) - static_cast<long double>(xpos.center.value())) /
          static_cast<long double>(double{xpos.scale_base});
      const long double scale = 1.5L * std::pow(zeta(i, 7), power);
      const long double angle = static_cast<long double>(row) * static_cast<long double>(ladder[i]);
      worst = std::max(
          worst,
          std::abs(static_cast<long double>(table.cos(row)[i]) - scale * std::cos(angle)) / scale);
      worst = std::max(
          worst,
          std::abs(static_cast<long double>(table.sin(row)[i]) - scale * std::sin(angle)) / scale);
    }
  }
  CHECK(worst <= tolerance);
}

}  // namespace

TEST_CASE("entries are cos and sin times the scale of the position") {
  for (const rope::XposSide side : {query, key}) {
    check_entries<float>({.side = side, .center = 65}, 131, 0.51L * 0x1p-23L);
    check_entries<double>({.side = side, .center = 65}, 131, 4 * 0x1p-53L);
    // A center and a base that are no whole numbers, a center before the first row.
    check_entries<double>({.side = side, .center = -7.25, .scale_base = 33.3}, 70, 4 * 0x1p-53L);
  }
}

TEST_CASE("at the center nothing is scaled, and no rows are fine") {
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 6});
  const rope::XposTable<float> table(frequencies, 5, {.side = key, .center = 3});
  const rope::CosSinTable<float> plain(frequencies, 5);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(table.cos(3)[i] == plain.cos(3)[i]);
    CHECK(table.sin(3)[i] == plain.sin(3)[i]);
    CHECK(table.cos(0)[i] != plain.cos(0)[i]);
  }
  CHECK(rope::XposTable<float>(frequencies, 0, {.side = key, .center = 0}).rows() == 0);
  CHECK(table.pairs() == 3);
  CHECK(table.rotary_dim() == 6);
  CHECK(table.heads() == 1);
  CHECK(table.magnitude() == 1);
}

TEST_CASE("a score depends on the distance alone, and decays with it") {
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 8});
  const rope::Xpos of_query = {.side = query, .center = 50, .scale_base = 16};
  const rope::Xpos of_key = {.side = key, .center = 50, .scale_base = 16};
  const rope::XposTable<double> queries(frequencies, 100, of_query);
  const rope::XposTable<double> keys(frequencies, 100, of_key);
  const auto q = Tensor<double>::random({1, 1, 1, 8}, 41);
  const auto k = Tensor<double>::random({1, 1, 1, 8}, 42);
  const auto score = [&](std::int64_t at_query, std::int64_t at_key) {
    auto x = q;
    auto y = k;
    rope::rotate<interleaved>(x.view(), queries, rope::from(at_query));
    rope::rotate<interleaved>(y.view(), keys, rope::from(at_key));
    double sum = 0;
    for (std::int64_t i = 0; i < 8; ++i) sum += x[{0, 0, 0, i}] * y[{0, 0, 0, i}];
    return sum;
  };
  CHECK(std::abs(score(30, 10) - score(95, 75)) <= 1e-14);
  CHECK(std::abs(score(30, 10) - score(20, 0)) <= 1e-14);
  // Pair by pair: plain RoPE's share times zeta^(distance / base).
  double expected = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto at = static_cast<std::int64_t>(2 * i);
    const double angle = 20 * rope_test::plain_frequencies(8, 10000)[i];
    const double a = q[{0, 0, 0, at}];
    const double b = q[{0, 0, 0, at + 1}];
    const double c = k[{0, 0, 0, at}];
    const double d = k[{0, 0, 0, at + 1}];
    expected += static_cast<double>(std::pow(zeta(i, 4), 20.0L / 16)) *
                ((a * c + b * d) * std::cos(angle) + (a * d - b * c) * std::sin(angle));
  }
  CHECK(std::abs(score(30, 10) - expected) <= 1e-14);
  // The transpose of the other side undoes a rotation.
  auto x = q;
  rope::rotate<interleaved>(x.view(), queries, rope::from(7));
  rope::rotate_transpose<interleaved>(x.view(), keys, rope::from(7));
  x.for_each([&](const rope_test::Shape& at) { CHECK(std::abs(x[at] - q[at]) <= 1e-15); });
}

TEST_CASE("xPos parameters that cannot be are refused") {
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 8});
  const auto refuse = [&](const char* message, std::int64_t rows, const rope::Xpos& xpos) {
    require_throws<rope::InvalidArgument>(
        message, [&] { static_cast<void>(rope::XposTable<float>(frequencies, rows, xpos)); });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  refuse("rope::XposTable: rows must not be negative, got -1", -1, {.side = key, .center = 0});
  refuse("rope::XposTable: xpos.center must be finite, got nan", 4, {.side = key, .center = nan});
  refuse("rope::XposTable: xpos.scale_base must be finite and above 0, got 0", 4,
         {.side = key, .center = 0, .scale_base = 0});
  refuse("rope::XposTable: xpos.side has the value 9, which names no side", 4,
         {.side = static_cast<rope::XposSide>(9), .center = 0});
  refuse(
      "rope::XposTable: 100000 rows around the center 0 at a scale_base of 512 have scales beyond "
      "the range of the table's 4-byte entries",
      100000, {.side = key, .center = 0});
  CHECK(rope::XposTable<double>(frequencies, 10000, {.side = key, .center = 0}).rows() == 10000);
  require_throws<rope::InvalidArgument>(
      "rope::CosSinTable: frequencies have 2 axes, but a table addressed by one integer position "
      "needs 1",
      [] {
        static_cast<void>(rope::XposTable<float>(rope::Frequencies({1, 2}, {2, 1, 1}), 4,
                                                 {.side = key, .center = 0}));
      });
  const rope::XposTable<float> table(frequencies, 4, {.side = key, .center = 2});
  require_throws<rope::OutOfRange>(
      "rope::XposTable::cos: row 4 of head 0 is not in a table of 4 rows and 1 heads",
      [&] { static_cast<void>(table.cos(4)); });
  require_throws<rope::OutOfRange>(
      "rope::XposTable::sin: row 0 of head 1 is not in a table of 4 rows and 1 heads",
      [&] { static_cast<void>(table.sin(0, 1)); });
}

TEST_CASE("a pool builds the same table") {
  rope_test::CountingExecutor pool(3);
  const rope::Frequencies frequencies(rope_test::plain_frequencies(32, 10000), {1, 2, 8}, 1.5);
  for (const std::int64_t rows : {0, 1, 64, 4095}) {
    const rope::XposTable<double> alone(frequencies, rows, {.side = key, .center = 100});
    const rope::XposTable<double> together(frequencies, rows,
                                           {.side = key, .center = 100, .executor = pool});
    REQUIRE(together.rows() == rows);
    bool same = true;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (const int head : {0, 1}) {
        same = same && std::ranges::equal(alone.cos(row, head), together.cos(row, head)) &&
               std::ranges::equal(alone.sin(row, head), together.sin(row, head));
      }
    }
    CHECK(same);
  }
  CHECK(pool.calls >= 2);  // for the plain rows and for their scales
}
