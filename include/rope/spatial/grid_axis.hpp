#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

// The coordinates along one axis of a grid. Models differ in little else, and a model run on a grid
// of another size than it was trained on changes just these numbers. They are combined by grid()
// and image_grid() of rope/spatial/grid.hpp.

namespace rope {

/// Evenly spaced coordinates: first, first + step, ...
struct AxisSteps {
  Real first = 0;
  Real step = 1;
};

/// The interval that an axis is spread over. `low` may be above `high`: then the axis runs down.
struct AxisRange {
  required<Real> low;
  required<Real> high;
};

/// A change of resolution: what was `from` becomes `to`.
struct AxisRescale {
  required<Real> from;
  required<Real> to;
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// Far above any axis, and low enough that every number made of it is exact in double.
inline constexpr std::int64_t largest_axis = std::int64_t{1} << 40;

inline Status check_axis_count(const char* who, const char* what, std::int64_t count,
                               std::int64_t least = 0) noexcept {
  if (count < least || count > largest_axis) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s must be %lld to 2^40, got %lld", who, what,
                   static_cast<long long>(least), static_cast<long long>(count));
  }
  return {};
}

inline Status check_axis_number(const char* who, const char* what, double value) noexcept {
  if (!is_finite(value)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s must be finite, got %g", who, what, value);
  }
  return {};
}

inline void require_axis_range(const char* who, std::int64_t count, const AxisRange& range) {
  require(check_axis_count(who, "count", count));
  require(check_axis_number(who, "low", range.low.value()));
  require(check_axis_number(who, "high", range.high.value()));
  require(check_axis_number(who, "high - low", double{range.high.value()} - range.low.value()));
}

/// The point that lies `part` of `parts` along from low to high. Counted from the nearer end, so
/// that both ends are exact, and mirror images are exact opposites where low = -high.
inline double between(const AxisRange& range, double part, double parts) noexcept {
  const double low = range.low.value();
  const double high = range.high.value();
  const double length = keep(high) - low;
  if (2 * part <= parts) return fused_multiply_add(length, rounded_quotient(part, parts), low);
  return fused_multiply_add(-length, rounded_quotient(parts - part, parts), high);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// first + i * step for i < count: patch indices (the default), indices from 1 on ({.first = 1},
/// Llama 4), frames that are some time apart ({.step = seconds or positions per frame}), a crop of
/// a larger image ({.first = its offset}).
///
/// Throws InvalidArgument for a count outside 0 .. 2^40 and for numbers that are not finite.
/// O(count), as all of these.
inline std::vector<double> axis_steps(Extent count, const AxisSteps& steps = {}) {
  const char* const who = "rope::axis_steps";
  detail::require(detail::check_axis_count(who, "count", count));
  detail::require(detail::check_axis_number(who, "first", steps.first));
  detail::require(detail::check_axis_number(who, "step", steps.step));
  std::vector<double> values(static_cast<std::size_t>(std::int64_t{count}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        detail::fused_multiply_add(double{steps.step}, static_cast<double>(i), double{steps.first});
  }
  return values;
}

/// -(count - count / 2) .. count / 2 - 1: whole numbers around the middle, with one more on the
/// negative side where the count is odd (Qwen-Image, "scale_rope").
///
/// Throws InvalidArgument for a count outside 0 .. 2^40.
inline std::vector<double> axis_centred(Extent count) {
  detail::require(detail::check_axis_count("rope::axis_centred", "count", count));
  const std::int64_t first = count / 2 - count;
  return axis_steps(count, {.first = first});
}

/// `count` coordinates from low to high, both of them included: torch.linspace. A single one is
/// `low`, not the middle. (Golden Gate RoPE, pixel frequencies of lucidrains and timm.)
///
/// CogVideoX's grid of n from start to stop is {.low = start, .high = stop * (n - 1) / n}. Throws
/// InvalidArgument for a count outside 0 .. 2^40 and for a low or high that is not finite.
inline std::vector<double> axis_end_points(Extent count, const AxisRange& range) {
  detail::require_axis_range("rope::axis_end_points", count, range);
  std::vector<double> values(static_cast<std::size_t>(std::int64_t{count}), range.low.value());
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto last = static_cast<double>(values.size() - 1);
    values[i] = detail::between(range, static_cast<double>(i), last);
  }
  return values;
}

/// `count` coordinates from low on, with high just past the last: low + i * (high - low) / count.
/// (HunyuanVideo's start, stop and number; numpy.linspace with endpoint=False.)
///
/// Throws as axis_end_points() does.
inline std::vector<double> axis_half_open(Extent count, const AxisRange& range) {
  detail::require_axis_range("rope::axis_half_open", count, range);
  std::vector<double> values(static_cast<std::size_t>(std::int64_t{count}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = detail::between(range, static_cast<double>(i), static_cast<double>(values.size()));
  }
  return values;
}

/// The middles of `count` equal cells from low to high. A single one is in the middle. (DINOv3 with
/// -1 and 1, Mochi.)
///
/// Throws as axis_end_points() does.
inline std::vector<double> axis_cell_centres(Extent count, const AxisRange& range) {
  detail::require_axis_range("rope::axis_cell_centres", count, range);
  std::vector<double> values(static_cast<std::size_t>(std::int64_t{count}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = detail::between(range, static_cast<double>(2 * i + 1),
                                static_cast<double>(2 * values.size()));
  }
  return values;
}

/// Where each of `count` cells falls on a grid of `reference` cells, rounded down: i * reference /
/// count. (CogView4's resampling to the trained size.)
///
/// Throws InvalidArgument for a count outside 0 .. 2^40 or a reference outside 1 .. 2^40.
inline std::vector<double> axis_nearest(Extent count, Extent reference) {
  detail::require(detail::check_axis_count("rope::axis_nearest", "count", count));
  detail::require(detail::check_axis_count("rope::axis_nearest", "reference", reference, 1));
  std::vector<double> values(static_cast<std::size_t>(std::int64_t{count}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto scaled = detail::UInt128{i} * static_cast<std::uint64_t>(std::int64_t{reference});
    values[i] = static_cast<double>(static_cast<std::uint64_t>(scaled / values.size()));
  }
  return values;
}

/// The same coordinates for another resolution: each times to / from. With `from` the size of this
/// grid and `to` the trained one, the grid covers what the trained one covered (timm's
/// ref_feat_shape, EVA-02's pt_seq_len / ft_seq_len, V-JEPA 2's grid_size / size).
///
/// Throws InvalidArgument unless from and to are finite and from is not 0.
inline std::vector<double> axis_rescaled(std::vector<double> values, const AxisRescale& rescale) {
  const double from = rescale.from.value();
  const double to = rescale.to.value();
  if (!detail::is_finite(from) || from == 0 || !detail::is_finite(to)) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "rope::axis_rescaled: from must be finite and not 0, to finite, "
                                  "got %g and %g",
                                  from, to));
  }
  for (double& value : values) value = detail::rounded_quotient(value * to, from);
  return values;
}

/// The same coordinates, each plus `offset`.
///
/// Throws InvalidArgument unless the offset is finite.
inline std::vector<double> axis_shifted(std::vector<double> values, Real offset) {
  detail::require(detail::check_axis_number("rope::axis_shifted", "offset", offset));
  for (double& value : values) value = detail::keep(value) + double{offset};
  return values;
}

/// -sqrt(count / other) .. sqrt(count / other), for an axis of `count` beside one of `other` cells:
/// the area of the image stays that of -1 .. 1 squared, and its shape is kept.
///
/// Throws InvalidArgument for counts outside 1 .. 2^40. Source: Xiong, "On N-dimensional rotary
/// positional embeddings" (Golden Gate RoPE).
inline AxisRange aspect_range(Extent count, Extent other) {
  detail::require(detail::check_axis_count("rope::aspect_range", "count", count, 1));
  detail::require(detail::check_axis_count("rope::aspect_range", "other", other, 1));
  const double ratio = detail::rounded_quotient(static_cast<double>(std::int64_t{count}),
                                                static_cast<double>(std::int64_t{other}));
  const double limit = detail::keep(std::sqrt(ratio));
  return {.low = -limit, .high = limit};
}

/// The range of an axis of `count` beside one of `other` cells around 0, scaled so that the whole
/// has `area`: +-count / 2 * sqrt(area / (count * other)). (Mochi, with the area of the trained
/// grid, 192 * 192.)
///
/// Throws InvalidArgument for counts outside 1 .. 2^40 or an area that is not finite and above 0.
inline AxisRange area_range(Extent count, Extent other, Real area) {
  detail::require(detail::check_axis_count("rope::area_range", "count", count, 1));
  detail::require(detail::check_axis_count("rope::area_range", "other", other, 1));
  if (!detail::is_finite(area) || !(area > 0)) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "rope::area_range: area must be finite and above 0, got %g",
                                  double{area}));
  }
  const double own = static_cast<double>(std::int64_t{count});
  const double cells = detail::keep(own * static_cast<double>(std::int64_t{other}));
  const double scale = detail::keep(std::sqrt(detail::rounded_quotient(area, cells)));
  const double limit = detail::keep(own * scale) / 2;
  return {.low = -limit, .high = limit};
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
