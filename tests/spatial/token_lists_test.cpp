// Coordinates of patches in merge blocks, and of sequences put together from parts.
#include "rope/spatial/token_lists.hpp"

#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "rope/spatial/vision_grid.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::Coordinates;
using rope::InvalidArgument;
using rope::OutOfRange;
using rope_test::require_throws;

using List = std::vector<double>;

List values(const Coordinates& coordinates) {
  return {coordinates.values().begin(), coordinates.values().end()};
}

}  // namespace

TEST_CASE("merge blocks: the patches of one token stand together") {
  // 2 x 4 patches: the left block's four, then the right one's.
  CHECK(values(rope::merge_block_coordinates({1, 2, 4}, 2)) ==
        List{0, 0, 0, 1, 1, 0, 1, 1, 0, 2, 0, 3, 1, 2, 1, 3});
  // 3 x 1 blocks of one patch, as without merging.
  CHECK(values(rope::merge_block_coordinates({1, 3, 1}, 1)) == List{0, 0, 1, 0, 2, 0});
  CHECK(values(rope::merge_block_coordinates({1, 1, 1}, 1)) == List{0, 0});
  // Frames have the same coordinates; images follow one another.
  CHECK(values(rope::merge_block_coordinates({2, 2, 2}, 2)) ==
        List{0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1});
  CHECK(values(rope::merge_block_coordinates({{1, 1, 2}, {1, 2, 1}}, 1)) ==
        List{0, 0, 0, 1, 0, 0, 1, 0});
  CHECK(rope::merge_block_coordinates(std::vector<rope::VisionGrid>{}, 2).tokens() == 0);
}

TEST_CASE("merge blocks hold every patch once, block after block") {
  const Coordinates all = rope::merge_block_coordinates({1, 6, 9}, 3);
  std::set<std::pair<double, double>> seen;
  for (std::int64_t t = 0; t < all.tokens(); ++t) {
    const double row = all(0, t, 0);
    const double column = all(0, t, 1);
    seen.insert({row, column});
    const std::int64_t block = t / 9;
    CHECK(static_cast<std::int64_t>(row) / 3 == block / 3);
    CHECK(static_cast<std::int64_t>(column) / 3 == block % 3);
  }
  CHECK(seen.size() == 54);
}

TEST_CASE("tokens of several parts follow one another, in every row of the batch") {
  const Coordinates text = rope::text_coordinates(2, 2, 5);
  const Coordinates image({7, 8, 9, 10}, {2, 1, 2});  // a batch of two, one token each
  CHECK(values(text) == List{5, 5, 6, 6});
  const Coordinates both = rope::join_tokens({text, image, rope::constant_coordinates(1, {0, -1})});
  CHECK(both.batch() == 2);
  CHECK(both.tokens() == 4);
  CHECK(values(both) == List{5, 5, 6, 6, 7, 8, 0, -1, 5, 5, 6, 6, 9, 10, 0, -1});
  const std::vector<rope::CoordinatesView> one = {text};
  CHECK(values(rope::join_tokens(one)) == values(text));
  CHECK(rope::join_tokens({rope::text_coordinates(0, 3), rope::text_coordinates(0, 3)}).axes() ==
        3);
}

TEST_CASE("sequences of their own positions make a batch") {
  const Coordinates a({0, 1, 2}, {3, 1});
  const Coordinates b({0.5, -1, 7}, {3, 1});
  const Coordinates both = rope::join_batch({a, b});
  CHECK(both.batch() == 2);
  CHECK(values(both) == List{0, 1, 2, 0.5, -1, 7});
  CHECK(rope::join_batch({both, a}).batch() == 3);
}

TEST_CASE("selected tokens come in the order of the list") {
  const Coordinates all({0, 1, 2, 10, 11, 12}, {2, 3, 1});
  CHECK(values(rope::select_tokens(all, {2, 0, 2})) == List{2, 0, 2, 12, 10, 12});
  CHECK(rope::select_tokens(all, {}).tokens() == 0);
}

TEST_CASE("coordinates whose axes lie apart, and in other units") {
  const std::vector<double> hours = {0, 0.5, 7};
  const double metres[] = {-3, 4, 5};
  CHECK(values(rope::coordinates_by_axis({hours, metres})) == List{0, -3, 0.5, 4, 7, 5});
  CHECK(values(rope::coordinates_by_axis({hours})) == hours);
  const std::vector<std::span<const double>> both = {hours, metres};
  CHECK(rope::coordinates_by_axis(both).axes() == 2);
  // Keypoints of an image of 64 x 48 pixels, as LightGlue has them.
  const Coordinates corners({0, 0, 64, 48, 32, 24}, {3, 2});
  CHECK(values(rope::coordinates_in_units(corners, {.origin = {32, 24}, .unit = {32, 32}})) ==
        List{-1, -0.75, 1, 0.75, 0, 0});
  // A batch keeps its rows.
  const Coordinates batch({1, 2, 3, 4}, {2, 2, 1});
  const Coordinates moved = rope::coordinates_in_units(batch, {.origin = {1}, .unit = {-0.5}});
  CHECK(moved.batch() == 2);
  CHECK(values(moved) == List{0, -2, -4, -6});
  require_throws<InvalidArgument>("rope::coordinates_by_axis: axis 0 has 3 values, axis 1 has 1",
                                  [&] {
                                    (void)rope::coordinates_by_axis({hours, {metres, 1}});
                                  });
  require_throws<InvalidArgument>("rope::coordinates_by_axis: there are no axes", [] {
    (void)rope::coordinates_by_axis(std::span<const std::span<const double>>());
  });
  require_throws<InvalidArgument>(
      "rope::coordinates_in_units: 1 axes, but origin has 1 values and unit 2", [&] {
        (void)rope::coordinates_in_units(batch, {.origin = {1}, .unit = {1, 1}});
      });
  require_throws<InvalidArgument>(
      "rope::coordinates_in_units: origin must be finite, unit finite and not 0, got 0 and 0 for "
      "axis 0",
      [&] { (void)rope::coordinates_in_units(batch, {.origin = {0}, .unit = {0}}); });
}

TEST_CASE("parts that do not fit together are refused") {
  const Coordinates flat({1, 2}, {1, 2});
  const Coordinates deep({1, 2, 3}, {1, 3});
  require_throws<InvalidArgument>("rope::join_tokens: there are no parts", [] {
    (void)rope::join_tokens(std::span<const rope::CoordinatesView>());
  });
  require_throws<InvalidArgument>("rope::join_tokens: part 0 has 2 axes, part 1 has 3", [&] {
    (void)rope::join_tokens({flat, deep});
  });
  require_throws<InvalidArgument>(
      "rope::join_tokens: part 1 has a batch of 3, the parts before it one of 2", [&] {
        (void)rope::join_tokens(
            {Coordinates({1, 2}, {2, 1, 1}), Coordinates({1, 2, 3}, {3, 1, 1})});
      });
  require_throws<InvalidArgument>("rope::join_batch: there are no items", [] {
    (void)rope::join_batch(std::span<const rope::CoordinatesView>());
  });
  require_throws<InvalidArgument>(
      "rope::join_batch: item 0 has 1 tokens and 2 axes, item 1 has 1 and 3", [&] {
        (void)rope::join_batch({flat, deep});
      });
  require_throws<OutOfRange>("rope::select_tokens: entry 1 is token 1, but there are 1 tokens",
                             [&] {
                               (void)rope::select_tokens(flat, {0, 1});
                             });
  require_throws<OutOfRange>("rope::select_tokens: entry 0 is token -1, but there are 1 tokens",
                             [&] { (void)rope::select_tokens(flat, {-1}); });
  require_throws<InvalidArgument>(
      "rope::constant_coordinates: the shape has batch 1, tokens 2 and axes 0",
      [] { (void)rope::constant_coordinates(2, {}); });
  require_throws<InvalidArgument>(
      "rope::constant_coordinates: coordinate 1 must be finite, got inf", [] {
        (void)rope::constant_coordinates(2, {0, std::numeric_limits<double>::infinity()});
      });
  require_throws<InvalidArgument>(
      "rope::text_coordinates: the shape has batch 1, tokens -1 and axes 3",
      [] { (void)rope::text_coordinates(-1, 3); });
  require_throws<InvalidArgument>("rope::text_coordinates: first must be finite, got nan", [] {
    (void)rope::text_coordinates(1, 3, std::numeric_limits<double>::quiet_NaN());
  });
}

TEST_CASE("grids without patches, or that the blocks do not divide, are refused") {
  require_throws<InvalidArgument>(
      "rope::merge_block_coordinates: merge_size must be at least 1, "
      "got 0",
      [] {
        (void)rope::merge_block_coordinates({1, 2, 2}, 0);
      });
  require_throws<InvalidArgument>(
      "rope::merge_block_coordinates: grid 1 has 4 x 3 patches, which merge_size 2 does not divide",
      [] {
        (void)rope::merge_block_coordinates({{1, 2, 2}, {1, 4, 3}}, 2);
      });
  require_throws<InvalidArgument>(
      "rope::merge_block_coordinates: grid 0 has 0 frames of 2 x 2 patches: there must be some, "
      "and fewer than 2^62",
      [] {
        (void)rope::merge_block_coordinates({0, 2, 2}, 2);
      });
  require_throws<InvalidArgument>(
      "rope::merge_block_coordinates: grid 0 has 4611686018427387904 frames of 2 x 2 patches: "
      "there must be some, and fewer than 2^62",
      [] {
        (void)rope::merge_block_coordinates({1LL << 62, 2, 2}, 2);
      });
}
