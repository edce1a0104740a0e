// A ladder for each axis.
#include "rope/spatial/axial.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/token_table.hpp"
#include "spatial/reference.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope_test::require_throws;
using rope_test::rotation_tolerance;
using rope_test::Shape;
using rope_test::Tensor;
using rope_test::spatial::Ladders;
using rope_test::spatial::ladders_of;
using rope_test::spatial::Place;
using rope_test::spatial::score;
using rope_test::spatial::worst_error;

/// Frequencies of axial RoPE by the mathematics library, each axis' block on its axis.
Ladders expected_ladders(const std::vector<std::int64_t>& dims,
                         const std::vector<std::size_t>& axis_of_block, double base) {
  std::size_t axes = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    axes = std::max(axes, axis_of_block[i] + 1);
    pairs += static_cast<std::size_t>(dims[i] / 2);
  }
  Ladders ladders(axes, std::vector<double>(pairs, 0.0));
  std::size_t first = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    for (const double frequency : rope_test::plain_frequencies(dims[i], base)) {
      ladders[axis_of_block[i]][first++] = frequency;
    }
  }
  return ladders;
}

Ladders ladders_of_frequencies(const rope::Frequencies& frequencies) {
  return ladders_of({frequencies.values().begin(), frequencies.values().end()},
                    static_cast<std::size_t>(frequencies.axes()));
}

void check_close(const Ladders& found, const Ladders& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t axis = 0; axis < found.size(); ++axis) {
    REQUIRE(found[axis].size() == expected[axis].size());
    for (std::size_t pair = 0; pair < found[axis].size(); ++pair) {
      CHECK(std::abs(found[axis][pair] - expected[axis][pair]) <= 2.3e-16 * expected[axis][pair]);
    }
  }
}

/// A grid of height x width, rows first: {row, column}.
std::vector<double> grid(std::int64_t height, std::int64_t width) {
  std::vector<double> values;
  for (std::int64_t row = 0; row < height; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      values.push_back(static_cast<double>(row));
      values.push_back(static_cast<double>(column));
    }
  }
  return values;
}

}  // namespace

TEST_CASE("each axis has the ladder of its own width") {
  check_close(ladders_of_frequencies(rope::axial_frequencies({.axis_dims = {4, 6, 6}})),
              expected_ladders({4, 6, 6}, {0, 1, 2}, 10000));
  // Odd numbers of pairs, a width of one pair, one axis.
  check_close(ladders_of_frequencies(rope::axial_frequencies({.axis_dims = {2, 14}, .base = 50})),
              expected_ladders({2, 14}, {0, 1}, 50));
  check_close(ladders_of_frequencies(rope::axial_frequencies({.axis_dims = {10}, .base = 100})),
              expected_ladders({10}, {0}, 100));
  // Columns first in the head, positions (row, column).
  check_close(ladders_of_frequencies(rope::axial_frequencies(
                  {.axis_dims = {8, 4}, .base = 100, .axis_of_block = {1, 0}})),
              expected_ladders({8, 4}, {1, 0}, 100));
  // Two blocks of one axis, and an axis that nothing follows.
  check_close(ladders_of_frequencies(
                  rope::axial_frequencies({.axis_dims = {4, 4, 2}, .axis_of_block = {2, 0, 2}})),
              expected_ladders({4, 4, 2}, {2, 0, 2}, 10000));
}

TEST_CASE("blocks have the bits of frequencies(), also scaled") {
  const rope::Yarn yarn = {.factor = 4, .original_max_positions = 64};
  const rope::Frequencies axial =
      rope::axial_frequencies({.axis_dims = {12, 4}, .base = 100, .scaling = yarn});
  const rope::Frequencies first =
      rope::frequencies({.rotary_dim = 12, .base = 100, .scaling = yarn});
  const rope::Frequencies second =
      rope::frequencies({.rotary_dim = 4, .base = 100, .scaling = yarn});
  for (std::int64_t i = 0; i < 6; ++i) CHECK(axial(0, 0, i) == first(0, 0, i));
  for (std::int64_t i = 0; i < 2; ++i) CHECK(axial(1, 0, 6 + i) == second(0, 0, i));
  CHECK(axial.magnitude() == first.magnitude());
  CHECK(axial.magnitude() > 1.1);
}

TEST_CASE("any ladders side by side") {
  const rope::Frequencies blocks =
      rope::axis_blocks({{1, rope::Frequencies({5, 6}, {1, 1, 2}, 2.0)},
                         {0, rope::Frequencies({7}, {1, 1, 1}, 2.0)},
                         {1, rope::Frequencies({8}, {1, 1, 1}, 2.0)}});
  CHECK(blocks.axes() == 2);
  CHECK(blocks.pairs() == 4);
  CHECK(blocks.magnitude() == 2);
  CHECK(std::vector<double>(blocks.values().begin(), blocks.values().end()) ==
        std::vector<double>{0, 0, 7, 0, /**/ 5, 6, 0, 8});
  require_throws<rope::InvalidArgument>("rope::axis_blocks: there are no blocks",
                                        [] { static_cast<void>(rope::axis_blocks({})); });
  require_throws<rope::InvalidArgument>(
      "rope::axis_blocks: blocks[0].axis must be from 0 to 1023, got -1", [] {
        static_cast<void>(rope::axis_blocks({{-1, rope::Frequencies({7}, {1, 1, 1})}}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::axis_blocks: blocks[1].ladder must have 1 axis and 1 head, got 2 and 1", [] {
        static_cast<void>(rope::axis_blocks(
            {{0, rope::Frequencies({7}, {1, 1, 1})}, {1, rope::Frequencies({7, 8}, {2, 1, 1})}}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::axis_blocks: blocks[1].ladder has the magnitude 3, but blocks[0].ladder has 2, and a "
      "table has one for all pairs",
      [] {
        static_cast<void>(rope::axis_blocks({{0, rope::Frequencies({7}, {1, 1, 1}, 2)},
                                             {1, rope::Frequencies({7}, {1, 1, 1}, 3)}}));
      });
}

TEST_CASE("equal shares of a head") {
  CHECK(rope::equal_axis_dims(16, 2) == std::vector<std::int64_t>{8, 8});
  CHECK(rope::equal_axis_dims(18, 3) == std::vector<std::int64_t>{6, 6, 6});
  CHECK(rope::equal_axis_dims(10, 1) == std::vector<std::int64_t>{10});
  require_throws<rope::InvalidArgument>(
      "rope::equal_axis_dims: rotary_dim 64 does not divide into whole pairs for each of 3 axes; "
      "60 and 66 would",
      [] { static_cast<void>(rope::equal_axis_dims(64, 3)); });
  require_throws<rope::InvalidArgument>(
      "rope::equal_axis_dims: rotary_dim 2 does not divide into whole pairs for each of 2 axes; "
      "multiples of 4 do",
      [] { static_cast<void>(rope::equal_axis_dims(2, 2)); });
  require_throws<rope::InvalidArgument>("rope::equal_axis_dims: axes must be from 1 to 1024, got 0",
                                        [] { static_cast<void>(rope::equal_axis_dims(64, 0)); });
  require_throws<rope::InvalidArgument>(
      "rope::equal_axis_dims: rotary_dim must be from 1 to 2^32, got 0",
      [] { static_cast<void>(rope::equal_axis_dims(0, 2)); });
}

TEST_CASE("axial parameters that cannot be are refused") {
  const char* const odd =
      "rope::axial_frequencies: axis_dims[1] must be even, as an axis turns whole pairs, from 2 to "
      "2^32, got 5";
  require_throws<rope::InvalidArgument>(odd, [] {
    static_cast<void>(rope::axial_frequencies({.axis_dims = {6, 5}}));
  });
  require_throws<rope::InvalidArgument>("rope::axial_frequencies: axis_dims is empty", [] {
    static_cast<void>(rope::axial_frequencies({.base = 100}));
  });
  require_throws<rope::InvalidArgument>(
      "rope::axial_frequencies: base must be finite and above 1, got 1", [] {
        static_cast<void>(rope::axial_frequencies({.axis_dims = {4, 4}, .base = 1}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::axial_frequencies: axis_of_block has 1 values, but axis_dims has 2", [] {
        static_cast<void>(rope::axial_frequencies({.axis_dims = {4, 4}, .axis_of_block = {0}}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::axial_frequencies: axis_of_block must be from 0 to 1023, got -2 for block 1", [] {
        static_cast<void>(rope::axial_frequencies({.axis_dims = {4, 4}, .axis_of_block = {0, -2}}));
      });
  require_throws<rope::InvalidArgument>(
      "rope::axial_frequencies: scaling.factor must be finite and above 0, got 0", [] {
        static_cast<void>(
            rope::axial_frequencies({.axis_dims = {4, 4}, .scaling = rope::Linear{.factor = 0}}));
      });
}

TEST_CASE("rotated patches of grids that are not square, of one row, and of one patch") {
  const rope::Frequencies frequencies = rope::axial_frequencies({.axis_dims = {6, 10}});
  const Ladders ladders = expected_ladders({6, 10}, {0, 1}, 10000);
  const std::vector<std::vector<std::int64_t>> sizes = {{3, 4}, {4, 3}, {1, 7}, {5, 1}, {1, 1}};
  for (const auto& size : sizes) {
    const std::int64_t width = size[1];
    const std::vector<double> places = grid(size[0], width);
    const rope::TokenTable<float> table(frequencies,
                                        rope::coordinates(places, {size[0] * width, 2}));
    const rope::TokenTable<double> fine(frequencies,
                                        rope::coordinates(places, {size[0] * width, 2}));
    rope_test::for_both_pairings([&]<rope::Pairing pairing>() {
      const auto place_of = [&](std::int64_t, std::int64_t t) {
        return Place{static_cast<double>(t / width), static_cast<double>(t % width)};
      };
      const auto before = Tensor<float>::random({2, size[0] * width, 3, 18}, 3);
      auto after = before;
      rope::rotate<pairing>(after.view(), table);
      CHECK(worst_error(before, after, ladders, rope_test::partners_of(pairing), place_of) <=
            rotation_tolerance<float>);
      const auto exact = Tensor<double>::random({1, size[0] * width, 1, 16}, 4);
      auto turned = exact;
      rope::rotate<pairing>(turned.view(), fine);
      CHECK(worst_error(exact, turned, ladders, rope_test::partners_of(pairing), place_of) <=
            rotation_tolerance<double>);
      rope::rotate_inverse<pairing>(turned.view(), fine);
      for (std::int64_t i = 0; i < 16; ++i) {
        CHECK(std::abs(turned[{0, 0, 0, i}] - exact[{0, 0, 0, i}]) <= 1e-15);
      }
    });
  }
}

TEST_CASE("no token at all") {
  const rope::Frequencies frequencies = rope::axial_frequencies({.axis_dims = {4, 4}});
  const std::vector<double> nothing;
  const rope::TokenTable<float> table(frequencies, rope::coordinates(nothing, {0, 2}));
  float untouched = 7;
  rope::rotate<rope::Pairing::interleaved>(rope::thd(&untouched, {0, 2, 8}), table);
  CHECK(untouched == 7);
}

TEST_CASE("patches: scores depend on differences, rotations compose, lengths are kept") {
  const rope::Frequencies frequencies = rope::axial_frequencies({.axis_dims = {6, 6}, .base = 100});
  // q at (2, 3), k at (5, 1); both moved by (7, -4); k at the sum of (2, 3) and (5, 1).
  const std::vector<double> places = {2, 3, 5, 1, 9, -1, 12, -3, 7, 4};
  const rope::TokenTable<double> table(frequencies, rope::coordinates(places, {5, 2}));
  const auto q = Tensor<double>::random({1, 1, 1, 12}, 5).values(0, 0, 0);
  const auto k = Tensor<double>::random({1, 1, 1, 12}, 6).values(0, 0, 0);
  rope_test::for_both_pairings([&]<rope::Pairing pairing>() {
    Tensor<double> x(Shape{1, 5, 1, 12});
    for (std::int64_t t = 0; t < 5; ++t) {
      for (std::int64_t i = 0; i < 12; ++i) {
        const auto at = static_cast<std::size_t>(i);
        x[{0, t, 0, i}] = t == 0 || t == 2 ? q[at] : k[at];
      }
    }
    rope::rotate<pairing>(x.view(), table);
    CHECK(std::abs(score(x.values(0, 0, 0), x.values(0, 1, 0)) -
                   score(x.values(0, 2, 0), x.values(0, 3, 0))) <= 1e-14L);
    CHECK(std::abs(score(x.values(0, 1, 0), x.values(0, 1, 0)) - score(k, k)) <= 1e-14L);
    // By (5, 1), then by (2, 3), is by (7, 4).
    Tensor<double> twice(Shape{1, 1, 1, 12});
    for (std::int64_t i = 0; i < 12; ++i) twice[{0, 0, 0, i}] = x[{0, 1, 0, i}];
    const rope::TokenTable<double> more(frequencies,
                                        rope::coordinates(std::span(places).first(2), {1, 2}));
    rope::rotate<pairing>(twice.view(), more);
    for (std::int64_t i = 0; i < 12; ++i) {
      CHECK(std::abs(twice[{0, 0, 0, i}] - x[{0, 4, 0, i}]) <= 2e-15);
    }
  });
}
