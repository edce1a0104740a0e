// VideoRoPE's positions, counted by hand.
#include "rope/spatial/video_rope.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include "rope/spatial/token_kinds.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::InvalidArgument;
using rope::TokenKind;
using rope_test::require_throws;

using List = std::vector<double>;

List axis(const rope::VideoRopePositions& found, std::int64_t row, std::int64_t index) {
  List list;
  for (std::int64_t t = 0; t < found.coordinates.tokens(); ++t) {
    list.push_back(found.coordinates(row, t, index));
  }
  return list;
}

constexpr TokenKind text = TokenKind::text;
constexpr TokenKind image = TokenKind::image;
constexpr TokenKind video = TokenKind::video;
constexpr TokenKind padding = TokenKind::padding;

}  // namespace

TEST_CASE("frames are a time step apart, and their cells lie around them") {
  // Two frames of 1 x 4 cells, whose columns are -1, 0, 1, 2.
  const std::vector<TokenKind> kinds = {text,  video, video, video, video,
                                        video, video, video, video, text};
  const auto found = rope::video_rope_positions(
      kinds, {10}, {.time_step = 2, .merge_size = 2, .videos = {{2, 2, 8}}});
  CHECK(axis(found, 0, 0) == List{0, 1, 1, 1, 1, 3, 3, 3, 3, 4});
  CHECK(axis(found, 0, 1) == List{0, 1, 1, 1, 1, 3, 3, 3, 3, 4});
  CHECK(axis(found, 0, 2) == List{0, 0, 1, 2, 3, 2, 3, 4, 5, 4});
  CHECK(found.next == List{5});
  CHECK(found.deltas == List{-5});
}

TEST_CASE("a fractional step, negative positions, images and padding") {
  const std::vector<TokenKind> kinds = {padding, image, image, image, text,  //
                                        video,   video, video, text,  padding};
  const auto found = rope::video_rope_positions(
      kinds, {2, 5},
      {.time_step = 0.75, .merge_size = 1, .images = {{1, 3, 1}}, .videos = {{3, 1, 1}}});
  CHECK(found.coordinates.batch() == 2);
  CHECK(axis(found, 0, 0) == List{1, 0, 0, 0, 1});
  CHECK(axis(found, 0, 1) == List{1, -1, 0, 1, 1});
  CHECK(axis(found, 0, 2) == List{1, 0, 0, 0, 1});
  CHECK(axis(found, 1, 0) == List{0, 0.75, 1.5, 2.5, 1});
  CHECK(found.next == List{2, 3.5});
  CHECK(found.deltas == List{-3, -1.5});
}

TEST_CASE("rows may begin where their caches end") {
  const std::vector<TokenKind> kinds = {text, video, video, text};
  const auto found = rope::video_rope_positions(
      kinds, {2, 2},
      {.time_step = 1, .merge_size = 1, .videos = {{1, 1, 1}, {1, 1, 1}}, .starts = {10.5, 3}});
  CHECK(axis(found, 0, 0) == List{10.5, 11.5});
  CHECK(axis(found, 1, 2) == List{3, 4});
  CHECK(found.next == List{12.5, 5});
  CHECK(found.deltas == List{0, 0});
}

TEST_CASE("no tokens, and another position for padding") {
  const rope::VideoRopeOptions options = {.time_step = 2, .merge_size = 2, .pad_position = -0.5};
  CHECK(rope::video_rope_positions({}, {0, 3}, options).coordinates.batch() == 0);
  const std::vector<TokenKind> kinds = {padding};
  const auto found = rope::video_rope_positions(kinds, {1}, options);
  CHECK(axis(found, 0, 1) == List{-0.5});
  CHECK(found.next == List{0});
}

TEST_CASE("what makes no sense is refused") {
  const std::vector<TokenKind> kinds = {image};
  require_throws<InvalidArgument>(
      "rope::video_rope_positions: time_step must be 0 to below 2^40, got nan", [&] {
        (void)rope::video_rope_positions(
            kinds, {1}, {.time_step = std::numeric_limits<double>::quiet_NaN(), .merge_size = 2});
      });
  require_throws<InvalidArgument>(
      "rope::video_rope_positions: pad_position must be finite, got inf", [&] {
        (void)rope::video_rope_positions(kinds, {1},
                                         {.time_step = 2,
                                          .merge_size = 2,
                                          .pad_position = std::numeric_limits<double>::infinity()});
      });
  require_throws<InvalidArgument>(
      "rope::video_rope_positions: token 0 of batch row 0 is an image's, but the grids are used up "
      "(image grids: 0)",
      [&] { (void)rope::video_rope_positions(kinds, {1}, {.time_step = 2, .merge_size = 2}); });
  require_throws<InvalidArgument>(
      "rope::video_rope_positions: 1 kinds, but the shape of batch 1 and tokens 2 needs 2",
      [&] { (void)rope::video_rope_positions(kinds, {2}, {.time_step = 2, .merge_size = 2}); });
  require_throws<InvalidArgument>("rope::video_rope_positions: 2 starts for a batch of 1", [&] {
    (void)rope::video_rope_positions(kinds, {1},
                                     {.time_step = 2, .merge_size = 2, .starts = {1, 2}});
  });
  require_throws<InvalidArgument>(
      "rope::video_rope_positions: the start of batch row 0 must be finite, got inf", [&] {
        (void)rope::video_rope_positions(
            kinds, {1},
            {.time_step = 2, .merge_size = 2, .starts = {std::numeric_limits<double>::infinity()}});
      });
  require_throws<InvalidArgument>(
      "rope::video_rope_positions: merge_size must be at least 1, got -2",
      [&] { (void)rope::video_rope_positions(kinds, {1}, {.time_step = 2, .merge_size = -2}); });
}
