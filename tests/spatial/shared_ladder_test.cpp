// One ladder for several axes.
#include "rope/spatial/shared_ladder.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "rope/token_table.hpp"
#include "spatial/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope_test::require_throws;
using rope_test::Tensor;
using rope_test::spatial::ladders_of;
using rope_test::spatial::Place;
using rope_test::spatial::score;
using rope_test::spatial::worst_error;

const rope::Frequencies ladder({1.0, 0.5, 0.25, 0.125}, {1, 1, 4}, 1.5);

rope::AxisMap map_of(std::int64_t axes, const std::vector<std::int64_t>& owners,
                     const std::vector<std::int64_t>& rungs = {}) {
  return {.axes = axes, .axis_of_pair = owners, .rung_of_pair = rungs};
}

}  // namespace

TEST_CASE("a pair has its frequency on its own axis, and 0 on the others") {
  const rope::Frequencies shared = rope::share_ladder(ladder, map_of(3, {0, 2, 2, 1}));
  CHECK(shared.axes() == 3);
  CHECK(shared.heads() == 1);
  CHECK(shared.pairs() == 4);
  CHECK(shared.magnitude() == 1.5);
  CHECK(std::vector<double>(shared.values().begin(), shared.values().end()) ==
        std::vector<double>{1, 0, 0, 0, /**/ 0, 0, 0, 0.125, /**/ 0, 0.5, 0.25, 0});
}

TEST_CASE("a map may take frequencies in any order, repeat them, and leave pairs alone") {
  const rope::Frequencies shared =
      rope::share_ladder(ladder, map_of(2, {0, 1, -1, 1, 0}, {3, 3, -7, 0, 1}));
  CHECK(shared.pairs() == 5);
  CHECK(std::vector<double>(shared.values().begin(), shared.values().end()) ==
        std::vector<double>{0.125, 0, 0, 0, 0.5, /**/ 0, 0.125, 0, 1, 0});
}

TEST_CASE("a ladder for each head is shared out head by head") {
  const rope::Frequencies two({1, 2, 3, 10, 20, 30}, {1, 2, 3});
  const rope::Frequencies shared = rope::share_ladder(two, map_of(2, {1, 0, 1}));
  CHECK(shared.heads() == 2);
  CHECK(std::vector<double>(shared.values().begin(), shared.values().end()) ==
        std::vector<double>{0, 2, 0, 0, 20, 0, /**/ 1, 0, 3, 10, 0, 30});
}

TEST_CASE("rotated vectors, with the same place on all axes and with different ones") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 14, .base = 1000});
  const rope::Frequencies shared =
      rope::share_ladder(plain, rope::interleaved_axes({.time = 3, .height = 2, .width = 2}));
  const auto ladders = ladders_of({shared.values().begin(), shared.values().end()}, 3);
  const std::vector<Place> places = {{0, 0, 0}, {5, 5, 5}, {1, 2, 3}, {-4, 0.5, 7.25}, {9, 0, 1}};
  std::vector<double> values;
  for (const Place& place : places) values.insert(values.end(), place.begin(), place.end());
  const rope::TokenTable<float> table(shared, rope::coordinates(values, {5, 3}));
  const rope::CosSinTable<float> text(plain, 6);
  rope_test::for_both_pairings([&]<rope::Pairing pairing>() {
    const auto before = Tensor<float>::random({2, 5, 3, 16}, 7);
    auto after = before;
    rope::rotate<pairing>(after.view(), table);
    CHECK(worst_error(before, after, ladders, rope_test::partners_of(pairing),
                      [&](std::int64_t, std::int64_t t) {
                        return places[static_cast<std::size_t>(t)];
                      }) <= rope_test::rotation_tolerance<float>);
    // The second token stands at 5 on every axis: the rotation of text, bit for bit.
    auto as_text = before;
    rope::rotate<pairing>(as_text.view().slice_tokens(1, 1), text, rope::from(5));
    CHECK(after.values(0, 1, 0) == as_text.values(0, 1, 0));
    CHECK(after.values(1, 1, 2) == as_text.values(1, 1, 2));
  });
}

// Qwen2-VL's blocks and Qwen3-VL's turns give different angles, and neither changes the pairing.
TEST_CASE("angles of sections 2, 1, 1 at time 5, height 2, width 3") {
  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 8});
  const std::vector<double> place = {5, 2, 3};
  const std::vector<double> by_blocks = {5, 0.5, 0.02, 0.003};
  const std::vector<double> by_turns = {5, 0.2, 0.03, 0.005};
  const rope::AxisMap maps[] = {rope::contiguous_axes({2, 1, 1}),
                                rope::interleaved_axes({.time = 2, .height = 1, .width = 1})};
  for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
    const rope::TokenTable<double> table(rope::share_ladder(plain, maps[which]),
                                         rope::coordinates(place, {1, 3}));
    const std::vector<double>& angles = which == 0 ? by_blocks : by_turns;
    // Ones in the first half of the head, zeros in the second: half_split pairs.
    std::vector<double> x = {1, 1, 1, 1, 0, 0, 0, 0};
    rope::rotate<rope::Pairing::half_split>(rope::thd(x, {1, 1, 8}), table);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(std::abs(x[i] - std::cos(angles[i])) <= 1e-15);
      CHECK(std::abs(x[4 + i] - std::sin(angles[i])) <= 1e-15);
    }
  }
}

TEST_CASE("scores depend on the differences of positions alone") {
  const rope::Frequencies shared =
      rope::share_ladder(rope::frequencies({.rotary_dim = 12}), rope::contiguous_axes({1, 3, 2}));
  // Query and key at (3, 1, 4) and (1, 5, 9), then both moved by (2, -6.5, 100).
  const std::vector<double> places = {3, 1, 4, 1, 5, 9, 5, -5.5, 104, 3, -1.5, 109};
  const rope::TokenTable<double> table(shared, rope::coordinates(places, {4, 3}));
  const auto q = Tensor<double>::random({1, 1, 1, 12}, 1);
  const auto k = Tensor<double>::random({1, 1, 1, 12}, 2);
  Tensor<double> x(rope_test::Shape{1, 4, 1, 12});
  for (std::int64_t i = 0; i < 12; ++i) {
    x[{0, 0, 0, i}] = x[{0, 2, 0, i}] = q[{0, 0, 0, i}];
    x[{0, 1, 0, i}] = x[{0, 3, 0, i}] = k[{0, 0, 0, i}];
  }
  rope::rotate<rope::Pairing::half_split>(x.view(), table);
  const long double here = score(x.values(0, 0, 0), x.values(0, 1, 0));
  const long double there = score(x.values(0, 2, 0), x.values(0, 3, 0));
  CHECK(std::abs(here - there) <= 1e-14L);
  CHECK(std::abs(here - score(q.values(0, 0, 0), k.values(0, 0, 0))) > 1e-3L);
}

TEST_CASE("what does not fit together is refused") {
  require_throws<rope::InvalidArgument>(
      "rope::share_ladder: the ladder must have 1 axis, which the map shares out, got 2", [] {
        static_cast<void>(rope::share_ladder(rope::Frequencies({1, 2}, {2, 1, 1}), map_of(1, {0})));
      });
  require_throws<rope::InvalidArgument>(
      "rope::share_ladder: the map is for 3 pairs, but the ladder has 4 frequencies", [] {
        static_cast<void>(rope::share_ladder(ladder, map_of(2, {0, 1, 0})));
      });
  require_throws<rope::InvalidArgument>(
      "rope::share_ladder: map.axes must be at least 1, got 0", [] {
        static_cast<void>(rope::share_ladder(ladder, map_of(0, {0, 0, 0, 0})));
      });
  require_throws<rope::InvalidArgument>("rope::share_ladder: map.axis_of_pair is empty", [] {
    static_cast<void>(rope::share_ladder(ladder, map_of(1, {})));
  });
  require_throws<rope::InvalidArgument>(
      "rope::share_ladder: map.axis_of_pair[2] must be an axis from 0 to 1, or -1 for none, got 2",
      [] {
        static_cast<void>(rope::share_ladder(ladder, map_of(2, {0, 1, 2, 0})));
      });
  require_throws<rope::InvalidArgument>(
      "rope::share_ladder: map.rung_of_pair has 1 values, but map.axis_of_pair has 2", [] {
        static_cast<void>(rope::share_ladder(ladder, map_of(2, {0, 1}, {0})));
      });
  require_throws<rope::InvalidArgument>(
      "rope::share_ladder: map.rung_of_pair[1] must be from 0 to 3, the last frequency of the "
      "ladder, got 4",
      [] {
        static_cast<void>(rope::share_ladder(ladder, map_of(2, {0, 1}, {0, 4})));
      });
}
