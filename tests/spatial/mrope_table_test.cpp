// Rows picked from a 1-D table by the positions on several axes.
#include "rope/spatial/mrope_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rope/check_rotate.hpp"
#include "rope/compact_table.hpp"
#include "rope/rotate.hpp"
#include "rope/scalar.hpp"
#include "rope/spatial/shared_ladder.hpp"
#include "rope/table.hpp"
#include "rope/table_view.hpp"
#include "rope/token_table.hpp"
#include "spatial/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope_test::require_throws;
using rope_test::Tensor;

// [axes 3, batch 2, tokens 4]
const std::vector<std::int64_t> ids = {0,      1, 2, 2, 9, 3, 3, 3, /**/ 0, 1, 2, 3, 9, 3, 4, 5,
                                       /**/ 0, 1, 2, 2, 9, 8, 0, 1};
const std::vector<std::int32_t> narrow(ids.begin(), ids.end());

std::vector<double> by_token(std::size_t axes, std::size_t rows) {
  std::vector<double> values;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t axis = 0; axis < axes; ++axis) {
      values.push_back(static_cast<double>(ids[axis * rows + row]));
    }
  }
  return values;
}

/// Rows made on demand in scratch, of a table with a stride between its pairs.
template <class T>
struct Spread {
  explicit Spread(const rope::CosSinTable<T>& table) {
    for (std::int64_t row = 0; row < table.rows(); ++row) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(table.pairs()); ++i) {
        cos.insert(cos.end(), {table.cos(row)[i], T{99}});
        sin.insert(sin.end(), {table.sin(row)[i], T{99}});
      }
    }
  }
  auto view(std::int64_t rows, std::int64_t pairs) const {
    return rope::table_view(cos.data(), sin.data(), rope::RowsShape(rows, pairs),
                            {.rotary_dim = 2 * pairs, .row_stride = 2 * pairs, .pair_stride = 2});
  }
  std::vector<T> cos;
  std::vector<T> sin;
};

}  // namespace

TEST_CASE("the rotation of a table with a row for each token, bit for bit") {
  // 149 pairs: more than a piece of scratch, and odd.
  for (const std::int64_t pairs : {8, 149}) {
    const rope::Frequencies ladder = rope::frequencies({.rotary_dim = 2 * pairs, .base = 1e6});
    const rope::CosSinTable<float> table(ladder, 10);
    const Spread<float> spread(table);
    const auto view = spread.view(10, pairs);
    const std::int64_t third = pairs / 3;
    const rope::AxisMap maps[] = {
        rope::contiguous_axes({pairs - 2 * third, third, third}),
        rope::interleaved_axes({.time = pairs - 2 * third, .height = third, .width = third}),
        rope::time_last_axes({.time = pairs - 2 * third, .height = third, .width = third})};
    for (const rope::AxisMap& map : maps) {
      const std::vector<double> places = by_token(3, 8);
      const rope::TokenTable<float> expected(rope::share_ladder(ladder, map),
                                             rope::coordinates(places, {2, 4, 3}));
      const auto picked = rope::mrope_table(table, map, ids, {3, 2, 4});
      const auto from_narrow = rope::mrope_table(table, map, narrow, {3, 2, 4});
      const auto from_spread = rope::mrope_table(view, map, ids, {3, 2, 4});
      CHECK(picked.pairs() == pairs);
      CHECK(picked.rotary_dim() == 2 * pairs);
      CHECK(picked.heads() == 1);
      rope_test::for_both_pairings([&]<rope::Pairing pairing>() {
        const auto before = Tensor<float>::random({2, 4, 3, 2 * pairs + 3}, 21);
        auto by_row = before;
        rope::rotate<pairing>(by_row.view(), expected);
        auto by_pick = before;
        rope::rotate<pairing>(by_pick.view(), picked);
        CHECK(by_pick.same_values(by_row));
        by_pick = before;
        rope::rotate<pairing>(by_pick.view(), from_narrow);
        CHECK(by_pick.same_values(by_row));
        by_pick = before;
        rope::rotate<pairing>(by_pick.view(), from_spread);
        CHECK(by_pick.same_values(by_row));
      });
    }
  }
}

TEST_CASE("one list of ids for all batch rows, pairs that follow nothing, and the magnitude") {
  const rope::Frequencies ladder({1, 0.5, 0.25}, {1, 1, 3}, 2.0);
  const rope::CosSinTable<double> table(ladder, 10);
  const rope::AxisMap map = {.axes = 2, .axis_of_pair = {1, -1, 0}};
  const std::vector<std::int64_t> own = {3, 4, /**/ 5, 6};
  const auto picked = rope::mrope_table(table, map, own, {2, 2});
  CHECK(picked.batch() == 1);
  CHECK(picked.tokens() == 2);
  CHECK(picked.magnitude() == 2);
  const auto before = Tensor<double>::random({3, 2, 1, 6}, 22);
  auto after = before;
  rope::rotate<rope::Pairing::interleaved>(after.view(), picked);
  for (std::int64_t b = 0; b < 3; ++b) {
    for (std::int64_t t = 0; t < 2; ++t) {
      const auto in = before.values(b, t, 0);
      const auto out = after.values(b, t, 0);
      const long double angles[] = {static_cast<long double>(5 + t), 0,
                                    0.25L * static_cast<long double>(3 + t)};
      for (std::size_t i = 0; i < 3; ++i) {
        const auto x = static_cast<long double>(in[2 * i]);
        const auto y = static_cast<long double>(in[2 * i + 1]);
        CHECK(std::abs(static_cast<long double>(out[2 * i]) -
                       2 * (x * std::cos(angles[i]) - y * std::sin(angles[i]))) <= 1e-15L);
        CHECK(std::abs(static_cast<long double>(out[2 * i + 1]) -
                       2 * (x * std::sin(angles[i]) + y * std::cos(angles[i]))) <= 1e-15L);
      }
    }
  }
}

TEST_CASE("from a table that makes its rows on demand, for elements of 16 bits") {
  const rope::Frequencies ladder = rope::frequencies({.rotary_dim = 20});
  const rope::CosSinTable<float> stored(ladder, 5000);
  const rope::CompactTable<float> compact(ladder, 5000);
  const rope::AxisMap map = rope::interleaved_axes({.time = 4, .height = 3, .width = 3});
  const std::vector<std::int64_t> far = {4999, 0, 1023, /**/ 1024, 4000, 1, /**/ 2, 3000, 1025};
  const auto picked = rope::mrope_table(stored, map, far, {3, 3});
  const auto made = rope::mrope_table(compact, map, far, {3, 3});
  std::vector<rope::bf16> x;
  for (std::int64_t i = 0; i < 3 * 2 * 20; ++i) {
    x.push_back(rope::bf16(static_cast<float>(i % 17) / 8 - 1));
  }
  std::vector<rope::bf16> y = x;
  const std::vector<rope::bf16> before = x;
  rope::rotate<rope::Pairing::half_split>(rope::thd(x, {3, 2, 20}), picked);
  rope::rotate<rope::Pairing::half_split>(rope::thd(y, {3, 2, 20}), made);
  const auto same = [](rope::bf16 a, rope::bf16 b) { return a.bits == b.bits; };
  CHECK(std::equal(x.begin(), x.end(), y.begin(), same));
  CHECK(!std::equal(x.begin(), x.end(), before.begin(), same));
}

TEST_CASE("heads with rows of their own") {
  const rope::Frequencies ladder({1, 0.5, 0.25, 3, 2, 1}, {1, 2, 3});
  const rope::CosSinTable<float> table(ladder, 10);
  const rope::AxisMap map = rope::contiguous_axes({1, 1, 1});
  const auto picked = rope::mrope_table(table, map, ids, {3, 2, 4});
  CHECK(picked.heads() == 2);
  const std::vector<double> places = by_token(3, 8);
  const rope::TokenTable<float> expected(rope::share_ladder(ladder, map),
                                         rope::coordinates(places, {2, 4, 3}));
  const auto before = Tensor<float>::random({2, 4, 2, 6}, 23);
  auto by_row = before;
  auto by_pick = before;
  rope::rotate<rope::Pairing::half_split>(by_row.view(), expected);
  rope::rotate<rope::Pairing::half_split>(by_pick.view(), picked);
  CHECK(by_pick.same_values(by_row));
}

// [3, N] ids are N tokens, not 3 N.
TEST_CASE("just the tokens of the ids are written") {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 6}), 10);
  const std::vector<std::int64_t> own = {1, 2, 3, 4, 5, /**/ 1, 2, 3, 4, 5, /**/ 9, 8, 7, 6, 5};
  const auto picked = rope::mrope_table(table, rope::contiguous_axes({1, 1, 1}), own, {3, 5});
  std::vector<float> x(6 * 6, 1.0F);
  rope::rotate<rope::Pairing::half_split>(rope::thd(std::span(x).first(5 * 6), {5, 1, 6}), picked);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(x[4 * 6 + i] != 1);
    CHECK(x[5 * 6 + i] == 1);
  }
}

TEST_CASE("no tokens") {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 0);
  const auto picked = rope::mrope_table(table, rope::contiguous_axes({1, 1}),
                                        static_cast<const std::int64_t*>(nullptr), {2, 0});
  CHECK(picked.tokens() == 0);
}

TEST_CASE("ids and maps that do not fit are refused") {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 6}), 10);
  const rope::AxisMap map = rope::contiguous_axes({1, 1, 1});
  const auto refuse = [&](const char* message, const rope::AxisMap& own,
                          const std::vector<std::int64_t>& list, const rope::AxisIdShape& shape) {
    require_throws<rope::InvalidArgument>(
        message, [&] { static_cast<void>(rope::mrope_table(table, own, list, shape)); });
  };
  refuse("rope::mrope_table: the map is for 2 pairs, but the ladder has 3 frequencies",
         rope::contiguous_axes({1, 1}), ids, {2, 2, 4});
  refuse(
      "rope::mrope_table: map.rung_of_pair[1] is 2, but rows can only be picked where pair i takes "
      "frequency i (share_ladder() and a TokenTable take any map)",
      rope::even_odd_axes(3), ids, {2, 3, 4});
  refuse("rope::mrope_table: the ids have 2 axes, but the map is for 3", map, ids, {2, 3, 4});
  refuse("rope::mrope_table: 24 ids, but the shape of axes 3, batch 2 and tokens 5 needs 30", map,
         ids, {3, 2, 5});
  refuse("rope::mrope_table: the shape of the ids has axes 3, batch -2 and tokens 4", map, ids,
         {3, -2, 4});
  require_throws<rope::InvalidArgument>("rope::mrope_table: ids are null, but 12 are needed", [&] {
    static_cast<void>(
        rope::mrope_table(table, map, static_cast<const std::int32_t*>(nullptr), {3, 4}));
  });
  std::vector<std::int64_t> beyond = ids;
  beyond[14] = 10;
  require_throws<rope::OutOfRange>(
      "rope::mrope_table: the id 10 of axis 1, batch row 1, token 2 is outside the table's rows 0 "
      ".. 9",
      [&] {
        static_cast<void>(rope::mrope_table(table, map, beyond, {3, 2, 4}));
      });
  beyond[14] = -1;
  require_throws<rope::OutOfRange>(
      "rope::mrope_table: the id -1 of axis 1, batch row 1, token 2 is outside the table's rows 0 "
      ".. 9",
      [&] {
        static_cast<void>(rope::mrope_table(table, map, beyond, {3, 2, 4}));
      });
  const rope::CosSinTable<float> empty(rope::frequencies({.rotary_dim = 6}), 0);
  require_throws<rope::OutOfRange>(
      "rope::mrope_table: the table has no rows, but there are 24 ids", [&] {
        static_cast<void>(rope::mrope_table(empty, map, ids, {3, 2, 4}));
      });
  // Rotating another number of tokens is refused as with any table for tokens.
  auto x = Tensor<float>::random({2, 3, 1, 6}, 24);
  const auto picked = rope::mrope_table(table, map, ids, {3, 2, 4});
  CHECK(
      std::string(rope::check_rotate(x.view(), picked).message()) ==
      "rope::rotate: the table has rows for [2, 4] (batch or 1, tokens), but the view has batch 2 "
      "and tokens 3");
}
