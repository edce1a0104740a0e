#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/spatial/grid.hpp"
#include "rope/spatial/grid_axis.hpp"

namespace rope {

/// By what size the cells of an image are divided.
enum class NormaliseBy : unsigned char {
  separate,  ///< each axis by its own: both run from -1 to 1, and patches are as oblong as the
             ///< image
  max,       ///< both by the larger: the shorter axis covers -1 to something below 1
  min,       ///< both by the smaller: the longer axis goes beyond 1
};

/// One number for the rows and one for the columns of an image.
struct RowColumn {
  Real row;
  Real column;
};

/// How the cells of an image become coordinates about -1 to 1.
struct NormalisedGridOptions {
  required<NormaliseBy> normalise_by;
  required<AxisOrder> order;
  /// Added to each cell's index before anything else (timm's grid_offset).
  Real offset = 0;
  /// The augmentations of training, as numbers that the caller has drawn. They are applied in this
  /// order: a shift, then a factor for each axis, then a factor for both.
  RowColumn shift = {0, 0};
  RowColumn jitter = {1, 1};
  Real rescale = 1;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_normalised_grid(const char* who, std::int64_t rows, std::int64_t columns,
                                    const NormalisedGridOptions& options) noexcept {
  const struct {
    const char* name;
    double value;
    bool is_factor;
  } numbers[] = {{"offset", options.offset, false},
                 {"shift.row", options.shift.row, false},
                 {"shift.column", options.shift.column, false},
                 {"jitter.row", options.jitter.row, true},
                 {"jitter.column", options.jitter.column, true},
                 {"rescale", options.rescale, true}};
  for (const auto& number : numbers) {
    if (!is_finite(number.value) || (number.is_factor && !(number.value > 0))) [[unlikely]] {
      return failure(ErrorKind::invalid_argument, "%s: %s must be finite%s, got %g", who,
                     number.name, number.is_factor ? " and above 0" : "", number.value);
    }
  }
  const NormaliseBy by = options.normalise_by;
  if (by != NormaliseBy::separate && by != NormaliseBy::max && by != NormaliseBy::min)
      [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: normalise_by has no value %d", who,
                   static_cast<int>(by));
  }
  if (const Status status = check_axis_count(who, "rows", rows); !status) return status;
  return check_axis_count(who, "columns", columns);
}

/// The size that an axis of `own` cells beside one of `other` is divided by.
inline std::int64_t normaliser(NormaliseBy by, std::int64_t own, std::int64_t other) noexcept {
  if (own == 0 || other == 0) return 1;  // there are no tokens to divide for
  switch (by) {
    case NormaliseBy::max:
      return own > other ? own : other;
    case NormaliseBy::min:
      return own < other ? own : other;
    case NormaliseBy::separate:
      break;
  }
  return own;
}

/// 2 * (i + 0.5 + offset) / size - 1, then ((that + shift) * jitter) * rescale.
inline std::vector<double> normalised_axis(std::int64_t count, std::int64_t size, double offset,
                                           const double (&augment)[3]) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double doubled = static_cast<double>(2 * i + 1 - size);
    const double cell =
        rounded_quotient(fused_multiply_add(2.0, offset, doubled), static_cast<double>(size));
    const double shifted = keep(cell + augment[0]);
    values[static_cast<std::size_t>(i)] = keep(shifted * augment[1]) * augment[2];
  }
  return values;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The grid of an image of rows x columns patches, at the middles of its cells: about -1 to 1,
/// whatever the resolution. (DINOv3, its augmentations included.)
///
/// Throws InvalidArgument for rows or columns outside 0 .. 2^40, for numbers that are not finite
/// and for factors that are not above 0. O(rows + columns). Source: Simeoni et al., "DINOv3"
/// (2025), section 3.2, and its code.
inline Grid normalised_grid(Extent rows, Extent columns, const NormalisedGridOptions& options) {
  detail::require(detail::check_normalised_grid("rope::normalised_grid", rows, columns, options));
  const NormaliseBy by = options.normalise_by;
  return image_grid(
      detail::normalised_axis(rows, detail::normaliser(by, rows, columns), options.offset,
                              {options.shift.row, options.jitter.row, options.rescale}),
      detail::normalised_axis(columns, detail::normaliser(by, columns, rows), options.offset,
                              {options.shift.column, options.jitter.column, options.rescale}),
      options.order);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
