#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "rope/argument.hpp"
#include "rope/coordinates.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/detail/vision_blocks.hpp"
#include "rope/error.hpp"
#include "rope/row_positions.hpp"
#include "rope/spatial/mrope_rules.hpp"
#include "rope/spatial/token_kinds.hpp"
#include "rope/spatial/vision_grid.hpp"

namespace rope {

/// How mrope_ids() counts.
struct MropeOptions {
  required<MropeRule> rule;
  /// The patches on each side of the block that becomes one token: spatial_merge_size.
  required<Extent> merge_size;
  /// All images and all videos of the batch, in the order of their tokens: image_grid_thw and
  /// video_grid_thw.
  std::vector<VisionGrid> images = {};
  std::vector<VisionGrid> videos = {};
  /// For Qwen25Vl alone: the time between two frames of each video, "second_per_grid_ts"; see
  /// seconds_per_grid(). None given: 1 second.
  std::vector<double> seconds_per_grid = {};
  /// Where each batch row begins: next() of what is already in its cache. Empty: at 0.
  std::vector<std::int64_t> starts = {};
  MropeReading reading = MropeReading::published;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_mrope_sizes(std::size_t values, const PositionShape& shape, std::size_t next,
                                std::size_t deltas) noexcept {
  const auto count = static_cast<std::int64_t>(values);
  if (values % 3 != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "rope::MropeIds: %lld values, which are not as many for each of 3 axes",
                   static_cast<long long>(count));
  }
  if (const Status status =
          check_listed("rope::MropeIds", "ids for each axis", false, count / 3, shape);
      !status) {
    return status;
  }
  if (static_cast<std::int64_t>(next) != shape.batch() ||
      static_cast<std::int64_t>(deltas) != shape.batch()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "rope::MropeIds: %lld values of next and %lld of deltas for a batch of %lld",
                   static_cast<long long>(next), static_cast<long long>(deltas),
                   static_cast<long long>(shape.batch()));
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Position ids on three axes: time, height, width, in this order. Made by mrope_ids().
class MropeIds {
 public:
  static constexpr std::int64_t axis_count = 3;

  /// Ids from elsewhere: [axes, batch, tokens] values, and [batch] of what next() and deltas()
  /// give.
  ///
  /// Throws InvalidArgument for sizes that are not those of the shape.
  ROPE_DETAIL_FORWARD MropeIds(std::vector<std::int64_t> values, const PositionShape& shape,
                               std::vector<std::int64_t> next, std::vector<std::int64_t> deltas)
      : shape_(shape),
        values_(std::move(values)),
        next_(std::move(next)),
        deltas_(std::move(deltas)) {
    detail::require(
        detail::check_mrope_sizes(values_.size(), shape_, next_.size(), deltas_.size()));
  }

  ROPE_DETAIL_FORWARD MropeIds(const MropeIds&) = default;
  ROPE_DETAIL_FORWARD MropeIds(MropeIds&&) = default;
  ROPE_DETAIL_FORWARD MropeIds& operator=(const MropeIds&) = default;
  ROPE_DETAIL_FORWARD MropeIds& operator=(MropeIds&&) = default;
  ROPE_DETAIL_FORWARD ~MropeIds() = default;

  ROPE_DETAIL_FORWARD std::int64_t axes() const noexcept { return axis_count; }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return shape_.batch(); }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept { return shape_.tokens(); }

  /// All ids, [axes, batch, tokens] packed, as in transformers.
  ROPE_DETAIL_FORWARD std::span<const std::int64_t> values() const& noexcept {
    return {values_.data(), values_.size()};
  }
  std::span<const std::int64_t> values() const&& = delete;  // of a temporary: would dangle
  /// The ids of one axis, [batch, tokens] packed: for at(). The axis is not checked, as below.
  ROPE_DETAIL_FORWARD std::span<const std::int64_t> axis(std::int64_t axis) const& noexcept {
    const auto count = static_cast<std::size_t>(batch() * tokens());
    return {values_.data() + static_cast<std::size_t>(axis) * count, count};
  }
  std::span<const std::int64_t> axis(std::int64_t axis) const&& = delete;
  ROPE_DETAIL_FORWARD std::int64_t operator()(std::int64_t axis, std::int64_t batch,
                                              std::int64_t token) const noexcept {
    return values_[static_cast<std::size_t>((axis * this->batch() + batch) * tokens() + token)];
  }

  /// The position of the first token to decode of each batch row, the same on all axes: one past
  /// the row's largest. For from_each(): from there on, M-RoPE is plain RoPE.
  ROPE_DETAIL_FORWARD std::span<const std::int64_t> next() const& noexcept {
    return {next_.data(), next_.size()};
  }
  std::span<const std::int64_t> next() const&& = delete;
  /// next() minus the row's start and the number of its tokens, which models keep to decode with:
  /// the token that finds `n` tokens in the cache is at n + delta. Which tokens count, MropeReading
  /// says. Where a prompt came in several calls, delta is the sum of theirs.
  ROPE_DETAIL_FORWARD std::span<const std::int64_t> deltas() const& noexcept {
    return {deltas_.data(), deltas_.size()};
  }
  std::span<const std::int64_t> deltas() const&& = delete;

  /// The ids as coordinates, [batch, tokens, axes]: for a TokenTable.
  ROPE_DETAIL_FORWARD Coordinates coordinates() const;

 private:
  PositionShape shape_;
  std::vector<std::int64_t> values_;
  std::vector<std::int64_t> next_;
  std::vector<std::int64_t> deltas_;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Coordinates mrope_coordinates(const MropeIds& ids) {
  std::vector<double> values;
  values.reserve(ids.values().size());
  for (std::int64_t row = 0; row < ids.batch(); ++row) {
    for (std::int64_t token = 0; token < ids.tokens(); ++token) {
      for (std::int64_t axis = 0; axis < ids.axes(); ++axis) {
        values.push_back(static_cast<double>(ids(axis, row, token)));
      }
    }
  }
  return Coordinates(std::move(values), {ids.batch(), ids.tokens(), ids.axes()});
}

/// Fails unless there are no starts, or one for each row that leaves room to count.
inline Status check_starts(const char* who, const std::vector<std::int64_t>& starts,
                           std::int64_t batch) noexcept {
  if (!starts.empty() && !std::cmp_equal(starts.size(), batch)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %lld starts for a batch of %lld", who,
                   static_cast<long long>(starts.size()), static_cast<long long>(batch));
  }
  for (std::size_t row = 0; row < starts.size(); ++row) {
    constexpr std::int64_t limit = std::int64_t{1} << 62;
    if (starts[row] < 0 || starts[row] >= limit) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: the start of batch row %lld must be 0 to below 2^62, got %lld", who,
                     static_cast<long long>(row), static_cast<long long>(starts[row]));
    }
  }
  return {};
}

/// How far frames are apart, and when the next text begins.
struct MropeClock {
  bool is_timed = false;  // Qwen25Vl
  double tokens_per_second = 1;
  const std::vector<double>& seconds_per_grid;
  MropeReading reading;

  /// The position of a frame from the start of its block.
  std::int64_t frame(TokenKind kind, const VisionBlock& block, std::int64_t frame) const noexcept {
    if (!is_timed) return frame;
    if (kind == TokenKind::image) return reading == MropeReading::transformers_5 ? frame : 0;
    const double seconds =
        seconds_per_grid.empty() ? 1.0 : seconds_per_grid[static_cast<std::size_t>(block.index)];
    if (reading == MropeReading::published) {
      const float time = keep(keep(static_cast<float>(frame)) * static_cast<float>(seconds));
      return static_cast<std::int64_t>(time * keep(static_cast<float>(tokens_per_second)));
    }
    const auto whole_seconds = static_cast<double>(static_cast<std::int64_t>(seconds));
    const double time = keep(static_cast<double>(frame) * whole_seconds);
    return static_cast<std::int64_t>(time * tokens_per_second);
  }
};

/// Fails for numbers that are not finite and not negative, or so large that the last frame of a
/// video would be at 2^40 or beyond.
inline Status check_clock(const char* who, const MropeClock& clock,
                          const std::vector<VisionGrid>& videos) noexcept {
  const double rate = clock.tokens_per_second;
  if (!is_finite(rate) || !(rate >= 0)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: tokens_per_second must be finite and not negative, got %g", who, rate);
  }
  const std::vector<double>& seconds = clock.seconds_per_grid;
  if (!clock.is_timed && !seconds.empty()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: seconds_per_grid has %lld entries, but only the rule Qwen25Vl has times",
                   who, static_cast<long long>(seconds.size()));
  }
  if (!seconds.empty() && seconds.size() != videos.size()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: seconds_per_grid has %lld entries, but there are %lld videos", who,
                   static_cast<long long>(seconds.size()), static_cast<long long>(videos.size()));
  }
  for (std::size_t i = 0; i < videos.size(); ++i) {
    const double own = seconds.empty() ? 1.0 : seconds[i];
    if (!is_finite(own) || !(own >= 0)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: seconds_per_grid of video %lld must be finite and not negative, got %g",
                     who, static_cast<long long>(i), own);
    }
    // The three factors as the clock takes them, without a product that could overflow.
    const double frames = static_cast<double>(std::int64_t{videos[i].frames});
    constexpr double limit = 0x1p40;
    if (clock.is_timed && !(own < limit && rate < limit && keep(frames * own) * rate < limit))
        [[unlikely]] {
      return failure(
          ErrorKind::invalid_argument,
          "%s: %g frames of %g seconds at %g tokens per second put the end of video %lld "
          "beyond 2^40",
          who, frames, own, rate, static_cast<long long>(i));
    }
  }
  return {};
}

/// Writes the ids of one batch row after the other.
class MropeWalk {
 public:
  MropeWalk(const PositionShape& shape, const MropeClock& clock,
            const std::vector<std::int64_t>& starts)
      : clock_(clock),
        starts_(starts),
        shape_(shape),
        plane_(static_cast<std::size_t>(shape.batch() * shape.tokens())),
        values_(3 * plane_) {
    next_of_row_.reserve(static_cast<std::size_t>(shape.batch()));
    deltas_.reserve(static_cast<std::size_t>(shape.batch()));
  }

  void start_row(std::int64_t row) noexcept {
    start_ = starts_.empty() ? 0 : starts_[static_cast<std::size_t>(row)];
    next_ = start_;
    end_ = start_;
    real_tokens_ = 0;
  }
  void padding(std::size_t token) noexcept { set(token, padding_position(), 0, 0, 0); }
  void text(std::size_t token) noexcept {
    ++real_tokens_;
    set(token, next_, 0, 0, 0);
    ++next_;
    reach(next_);
  }
  void start_block(TokenKind kind, const VisionBlock& block) noexcept {
    kind_ = kind;
    block_ = &block;
  }
  void vision(std::size_t token, std::int64_t frame, std::int64_t row,
              std::int64_t column) noexcept {
    ++real_tokens_;
    const std::int64_t time = clock_.frame(kind_, *block_, frame);
    set(token, next_, time, row, column);
    reach(next_ + larger(time, larger(row, column)) + 1);
  }
  void end_block() noexcept {
    next_ = clock_.reading == MropeReading::transformers_5
                ? next_ + larger(block_->height, block_->width)
                : end_;
  }
  void end_row(std::int64_t) {
    next_of_row_.push_back(end_);
    deltas_.push_back(
        end_ - start_ -
        (clock_.reading == MropeReading::transformers_5 ? real_tokens_ : shape_.tokens()));
  }
  MropeIds ids() && {
    return MropeIds(std::move(values_), shape_, std::move(next_of_row_), std::move(deltas_));
  }

 private:
  static std::int64_t larger(std::int64_t a, std::int64_t b) noexcept { return a > b ? a : b; }
  std::int64_t padding_position() const noexcept {
    return clock_.reading == MropeReading::transformers_5 ? 0 : 1;
  }
  void reach(std::int64_t end) noexcept { end_ = larger(end_, end); }
  void set(std::size_t token, std::int64_t start, std::int64_t time, std::int64_t row,
           std::int64_t column) noexcept {
    values_[token] = start + time;
    values_[plane_ + token] = start + row;
    values_[2 * plane_ + token] = start + column;
  }

  const MropeClock& clock_;
  const std::vector<std::int64_t>& starts_;
  PositionShape shape_;
  std::size_t plane_;
  std::vector<std::int64_t> values_;
  std::vector<std::int64_t> next_of_row_;
  std::vector<std::int64_t> deltas_;
  std::int64_t start_ = 0;
  std::int64_t next_ = 0;  // where the next token or block starts
  std::int64_t end_ = 0;   // one past the largest position of the row
  std::int64_t real_tokens_ = 0;
  TokenKind kind_ = TokenKind::text;
  const VisionBlock* block_ = nullptr;
};

inline MropeIds make_mrope_ids(std::span<const TokenKind> kinds, const PositionShape& shape,
                               const MropeOptions& options) {
  const char* const who = "rope::mrope_ids";
  require(check_listed(who, "kinds", false, static_cast<std::int64_t>(kinds.size()), shape));
  const MropeReading reading = options.reading;
  if (reading != MropeReading::published && reading != MropeReading::transformers_4 &&
      reading != MropeReading::transformers_5) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: reading has no value %d", who,
                  static_cast<int>(reading)));
  }
  const MropeRule& rule = options.rule;
  MropeClock clock{.seconds_per_grid = options.seconds_per_grid, .reading = reading};
  BlockRule blocks{.merge_size = options.merge_size.value()};
  if (const auto* const timed = std::get_if<Qwen25Vl>(&rule)) {
    clock.is_timed = true;
    clock.tokens_per_second = timed->tokens_per_second.value();
  }
  require(check_clock(who, clock, options.videos));
  require(check_merge_size(who, "merge_size", blocks.merge_size));
  VisionBlocks images = make_blocks(who, "image", options.images, blocks, kinds.size());
  if (const auto* const ernie = std::get_if<Ernie45Vl>(&rule)) {
    blocks.temporal_merge_size = ernie->temporal_merge_size.value();
    require(check_merge_size(who, "temporal_merge_size", blocks.temporal_merge_size));
  }
  blocks.each_frame = std::holds_alternative<Qwen3Vl>(rule) || std::holds_alternative<Glm4v>(rule);
  VisionBlocks videos = make_blocks(who, "video", options.videos, blocks, kinds.size());
  require(check_starts(who, options.starts, shape.batch()));
  MropeWalk walk(shape, clock, options.starts);
  walk_tokens(who, kinds, shape, images, videos, walk);
  return std::move(walk).ids();
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

ROPE_DETAIL_FORWARD inline Coordinates MropeIds::coordinates() const {
  return detail::mrope_coordinates(*this);
}

inline namespace ROPE_DETAIL_UNIT {

/// The M-RoPE position ids of a batch of prompts with images and videos: "get_rope_index". `kinds`
/// is what token_kinds() gives, [batch, tokens] or [tokens], in any contiguous container.
///
/// Text is at consecutive positions, the same on all three axes. An image or video starts where the
/// text would have gone on; its tokens are at start + time, start + row and start + column of the
/// merged grid. Then text goes on past all of it, as the reading says.
///
/// Throws InvalidArgument for kinds that are not as many as the shape says, for grids that the
/// merge sizes do not divide, for more or fewer vision tokens than the grids have, and for a time
/// step that is negative, not finite or of no use. O(batch * tokens). Sources: Wang et al.,
/// "Qwen2-VL" (2024), section 2.1; Bai et al., "Qwen2.5-VL" (2025), section 2.1; and their code.
inline MropeIds mrope_ids(std::span<const TokenKind> kinds, const PositionShape& shape,
                          const MropeOptions& options) {
  return detail::make_mrope_ids(kinds, shape, options);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
