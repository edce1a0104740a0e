#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/coordinates.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"
#include "rope/detail/vision_blocks.hpp"
#include "rope/error.hpp"
#include "rope/row_positions.hpp"
#include "rope/spatial/token_kinds.hpp"
#include "rope/spatial/vision_grid.hpp"

namespace rope {

/// How video_rope_positions() counts.
struct VideoRopeOptions {
  /// How far the frames of a video are apart: 2 in the paper. May be a fraction.
  required<Real> time_step;
  /// The patches on each side of the block that becomes one token: spatial_merge_size.
  required<Extent> merge_size;
  /// All images and all videos of the batch, in the order of their tokens.
  std::vector<VisionGrid> images = {};
  std::vector<VisionGrid> videos = {};
  /// Where each batch row begins: `next` of what is already in its cache. Empty: at 0.
  std::vector<double> starts = {};
  /// On all axes.
  Real pad_position = 1;
};

/// What video_rope_positions() gives.
struct VideoRopePositions {
  /// [batch, tokens, 3]: time, height, width.
  Coordinates coordinates;
  /// The position of the first token to decode of each batch row, on all axes.
  std::vector<double> next;
  /// next minus the row's start and the number of its tokens, padding included.
  std::vector<double> deltas;

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD VideoRopePositions(Coordinates coordinates_, std::vector<double> next_,
                                         std::vector<double> deltas_)
      : coordinates(std::move(coordinates_)), next(std::move(next_)), deltas(std::move(deltas_)) {}
  ROPE_DETAIL_FORWARD VideoRopePositions(const VideoRopePositions&) = default;
  ROPE_DETAIL_FORWARD VideoRopePositions(VideoRopePositions&&) = default;
  ROPE_DETAIL_FORWARD VideoRopePositions& operator=(const VideoRopePositions&) = default;
  ROPE_DETAIL_FORWARD VideoRopePositions& operator=(VideoRopePositions&&) = default;
  ROPE_DETAIL_FORWARD ~VideoRopePositions() = default;
};

namespace detail::inline ROPE_DETAIL_UNIT {

class VideoRopeWalk {
 public:
  VideoRopeWalk(const PositionShape& shape, const VideoRopeOptions& options)
      : values(static_cast<std::size_t>(3 * shape.batch() * shape.tokens())),
        next(static_cast<std::size_t>(shape.batch())),
        deltas(static_cast<std::size_t>(shape.batch())),
        starts_(options.starts),
        tokens_(static_cast<double>(shape.tokens())),
        time_step_(options.time_step.value()),
        pad_position_(options.pad_position) {}

  void start_row(std::int64_t row) noexcept {
    start_ = starts_.empty() ? 0 : starts_[static_cast<std::size_t>(row)];
    next_ = start_;
    end_ = start_;
  }
  void padding(std::size_t token) noexcept { set(token, pad_position_, 0, 0); }
  void text(std::size_t token) noexcept {
    set(token, next_, 0, 0);
    next_ += 1;
    end_ = next_;
  }
  void start_block(TokenKind, const VisionBlock& block) noexcept { block_ = &block; }
  void vision(std::size_t token, std::int64_t frame, std::int64_t row,
              std::int64_t column) noexcept {
    const double time = fused_multiply_add(time_step_, static_cast<double>(frame), next_);
    set(token, time, row - (block_->height - 1) / 2, column - (block_->width - 1) / 2);
    if (time + 1 > end_) end_ = time + 1;
  }
  void end_block() noexcept { next_ = end_; }
  void end_row(std::int64_t row) noexcept {
    next[static_cast<std::size_t>(row)] = end_;
    deltas[static_cast<std::size_t>(row)] = end_ - start_ - tokens_;
  }

  std::vector<double> values;
  std::vector<double> next;
  std::vector<double> deltas;

 private:
  void set(std::size_t token, double time, std::int64_t row, std::int64_t column) noexcept {
    values[3 * token] = time;
    values[3 * token + 1] = time + static_cast<double>(row);
    values[3 * token + 2] = time + static_cast<double>(column);
  }

  std::span<const double> starts_;
  double tokens_;
  double time_step_;
  double pad_position_;
  double start_ = 0;
  double next_ = 0;
  double end_ = 0;
  const VisionBlock* block_ = nullptr;
};

inline VideoRopePositions make_video_rope(std::span<const TokenKind> kinds,
                                          const PositionShape& shape,
                                          const VideoRopeOptions& options) {
  const char* const who = "rope::video_rope_positions";
  require(check_listed(who, "kinds", false, static_cast<std::int64_t>(kinds.size()), shape));
  const double step = options.time_step.value();
  if (!is_finite(step) || !(step >= 0) || !(step < 0x1p40)) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: time_step must be 0 to below 2^40, got %g", who,
                  step));
  }
  if (!is_finite(options.pad_position)) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: pad_position must be finite, got %g", who,
                  double{options.pad_position}));
  }
  const std::vector<double>& starts = options.starts;
  if (!starts.empty() && !std::cmp_equal(starts.size(), shape.batch())) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: %lld starts for a batch of %lld", who,
                  static_cast<long long>(starts.size()), static_cast<long long>(shape.batch())));
  }
  for (std::size_t row = 0; row < starts.size(); ++row) {
    if (!is_finite(starts[row])) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: the start of batch row %lld must be finite, got %g", who,
                    static_cast<long long>(row), starts[row]));
    }
  }
  const BlockRule rule{.merge_size = options.merge_size.value()};
  require(check_merge_size(who, "merge_size", rule.merge_size));
  VisionBlocks images = make_blocks(who, "image", options.images, rule, kinds.size());
  VisionBlocks videos = make_blocks(who, "video", options.videos, rule, kinds.size());
  VideoRopeWalk walk(shape, options);
  walk_tokens(who, kinds, shape, images, videos, walk);
  return {Coordinates(std::move(walk.values), {shape.batch(), shape.tokens(), 3}),
          std::move(walk.next), std::move(walk.deltas)};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// VideoRoPE's positions of a batch of prompts with images and videos. `kinds` is what
/// token_kinds() gives, [batch, tokens] or [tokens].
///
/// Text is at consecutive positions, the same on all three axes. Frame f of a video is at time
/// start + f * time_step; its rows and columns lie around that time, from -(size - 1) / 2 rounded
/// towards 0 on, so that a video's middle is on the diagonal that the text is on. Text goes on one
/// past the last frame's time, whatever rows and columns reach. Positions may be negative and
/// fractions: they are for a TokenTable.
///
/// Throws InvalidArgument as mrope_ids() does, and for a time_step outside 0 .. 2^40. O(batch *
/// tokens). Source: Wei et al., "VideoRoPE" (2025), section 4, and its code.
inline VideoRopePositions video_rope_positions(std::span<const TokenKind> kinds,
                                               const PositionShape& shape,
                                               const VideoRopeOptions& options) {
  return detail::make_video_rope(kinds, shape, options);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
