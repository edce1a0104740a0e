#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/coordinates.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// Which coordinate of an image patch is axis 0. The tokens are row-major either way.
enum class AxisOrder : unsigned char {
  row_first,  ///< (row, column): DINOv3, EVA, Qwen-VL, Pixtral, FLUX, video models
  x_first,    ///< (column, row) = (x, y): naver's rope-vit, SAM 2, Llama 4, Golden Gate RoPE
};

namespace detail::inline ROPE_DETAIL_UNIT {

using AxisValues = std::vector<std::vector<double>>;

inline Status check_grid(const AxisValues& values, const std::vector<std::int64_t>& strides,
                         std::int64_t tokens) noexcept {
  const auto axes = static_cast<std::int64_t>(values.size());
  if (axes == 0 || strides.size() != values.size()) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "rope::Grid: %lld axes with %lld strides; there must be as many, at least 1",
                   static_cast<long long>(axes), static_cast<long long>(strides.size()));
  }
  if (std::int64_t count; tokens < 0 || __builtin_mul_overflow(tokens, axes, &count)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "rope::Grid: %lld tokens of %lld axes are no size that can be",
                   static_cast<long long>(tokens), static_cast<long long>(axes));
  }
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (strides[a] < 1 || (values[a].empty() && tokens != 0)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "rope::Grid: axis %lld has %lld values and stride %lld, but there are %lld "
                     "tokens",
                     static_cast<long long>(a), static_cast<long long>(values[a].size()),
                     static_cast<long long>(strides[a]), static_cast<long long>(tokens));
    }
    for (std::size_t i = 0; i < values[a].size(); ++i) {
      if (!is_finite(values[a][i])) [[unlikely]] {
        return failure(ErrorKind::invalid_argument,
                       "rope::Grid: value %lld of axis %lld must be finite, got %g",
                       static_cast<long long>(i), static_cast<long long>(a), values[a][i]);
      }
    }
  }
  return {};
}

inline std::int64_t repeated_tokens(std::int64_t tokens, std::int64_t times) {
  std::int64_t all = 0;
  if (times < 0 || __builtin_mul_overflow(tokens, times, &all)) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "rope::Grid::repeated: %lld tokens cannot be repeated %lld times",
                  static_cast<long long>(tokens), static_cast<long long>(times)));
  }
  return all;
}

inline Coordinates grid_coordinates(const AxisValues& axes,
                                    const std::vector<std::int64_t>& strides, std::int64_t tokens) {
  std::vector<double> values(static_cast<std::size_t>(tokens) * axes.size());
  for (std::size_t a = 0; a < axes.size(); ++a) {
    std::size_t index = 0;
    std::int64_t left = strides[a];
    for (std::size_t i = a; i < values.size(); i += axes.size()) {
      values[i] = axes[a][index];
      if (--left == 0) {
        left = strides[a];
        if (++index == axes[a].size()) index = 0;
      }
    }
  }
  return Coordinates(std::move(values), {tokens, axes.size()});
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// A grid of tokens: on each axis a token has one of a few coordinates, as its place in the
/// row-major order says. Made by grid() and image_grid().
class Grid {
 public:
  /// Token t has on axis a the coordinate values[a][t / strides[a] % values[a].size()].
  ///
  /// Throws InvalidArgument for no axis or another number of strides, negative tokens, a stride
  /// below 1, an axis without values, unless there are no tokens, and values that are not finite.
  ROPE_DETAIL_FORWARD Grid(std::vector<std::vector<double>> values,
                           std::vector<std::int64_t> strides, Extent tokens)
      : values_(std::move(values)), strides_(std::move(strides)), tokens_(tokens) {
    detail::require(detail::check_grid(values_, strides_, tokens_));
  }

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD Grid(const Grid&) = default;
  ROPE_DETAIL_FORWARD Grid(Grid&&) = default;
  ROPE_DETAIL_FORWARD Grid& operator=(const Grid&) = default;
  ROPE_DETAIL_FORWARD Grid& operator=(Grid&&) = default;
  ROPE_DETAIL_FORWARD ~Grid() = default;

  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept { return tokens_; }
  ROPE_DETAIL_FORWARD std::int64_t axes() const noexcept {
    return static_cast<std::int64_t>(values_.size());
  }
  /// The different coordinates of one axis; the axis is not checked, nor below.
  ROPE_DETAIL_FORWARD std::span<const double> values(std::int64_t axis) const& noexcept {
    const std::vector<double>& own = values_[static_cast<std::size_t>(axis)];
    return {own.data(), own.size()};
  }
  std::span<const double> values(std::int64_t axis) const&& = delete;  // of a temporary: dangling
  /// How many tokens further the next coordinate of that axis is.
  ROPE_DETAIL_FORWARD std::int64_t stride(std::int64_t axis) const noexcept {
    return strides_[static_cast<std::size_t>(axis)];
  }

  /// The coordinates of all tokens, one after the other, [tokens, axes]: for a TokenTable, which is
  /// built in little more time than its memory takes where coordinates come so often.
  ROPE_DETAIL_FORWARD Coordinates coordinates() const {
    return detail::grid_coordinates(values_, strides_, tokens_);
  }

  /// The same grid `times` times over, whole copy after whole copy: the frames of a memory that all
  /// have an image's coordinates, without a time axis (SAM 2's keys).
  ///
  /// Throws InvalidArgument for negative times and for 2^63 tokens or more.
  ROPE_DETAIL_FORWARD Grid repeated(Extent times) const {
    return Grid(values_, strides_, detail::repeated_tokens(tokens_, times));
  }

 private:
  std::vector<std::vector<double>> values_;
  std::vector<std::int64_t> strides_;
  std::int64_t tokens_;
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// `lists`: the coordinates of each axis, the slowest first; `places`: which axis each of them is.
inline Grid make_grid(const char* who, std::vector<double>* lists, const std::size_t* places,
                      std::size_t axes) {
  AxisValues values(axes);
  std::vector<std::int64_t> strides(axes);
  std::int64_t tokens = 1;
  bool is_empty = false;
  for (std::size_t i = axes; i-- > 0;) {
    strides[places[i]] = tokens;
    const auto count = static_cast<std::int64_t>(lists[i].size());
    values[places[i]] = std::move(lists[i]);
    if (count == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(tokens, count, &tokens)) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument, "%s: more than 2^63 tokens", who));
    }
  }
  return Grid(std::move(values), std::move(strides), is_empty ? 0 : tokens);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The grid of all combinations of the axes' coordinates. `axes[a]` has the coordinates of axis a;
/// the last axis changes fastest from token to token: {frames, rows, columns} is a video in the
/// usual order, {{0}, rows, columns} an image of a model with a time axis.
///
/// The lists come from axis_steps() and the like, of rope/spatial/grid_axis.hpp. Throws
/// InvalidArgument for no axis, for values that are not finite and for 2^63 tokens or more.
/// O(number of values).
inline Grid grid(std::vector<std::vector<double>> axes) {
  std::vector<std::size_t> places(axes.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  return detail::make_grid("rope::grid", axes.data(), places.data(), axes.size());
}

/// The grid of an image, rows after one another: `rows` has the coordinate of each row, `columns`
/// of each column.
///
/// Throws as grid() does.
inline Grid image_grid(std::vector<double> rows, std::vector<double> columns, AxisOrder order) {
  if (order != AxisOrder::row_first && order != AxisOrder::x_first) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "rope::image_grid: order has no value %d",
                                  static_cast<int>(order)));
  }
  std::vector<double> lists[] = {std::move(rows), std::move(columns)};
  const std::size_t row = order == AxisOrder::row_first ? 0 : 1;
  const std::size_t places[] = {row, 1 - row};
  return detail::make_grid("rope::image_grid", lists, places, 2);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
