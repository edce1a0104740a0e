#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/coordinates.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

// Coordinates of sequences that are put together from several parts: text before an image, several
// images, those patches that a mask leaves over.

namespace rope {

/// Where coordinates are measured from, and in what, on each axis.
struct CoordinateUnits {
  std::vector<double> origin;
  /// Finite and not 0.
  std::vector<double> unit;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Coordinates make_joined_tokens(std::span<const CoordinatesView> parts) {
  const char* const who = "rope::join_tokens";
  if (parts.empty()) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: there are no parts", who));
  }
  const std::int64_t axes = parts[0].axes();
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const CoordinatesView& part = parts[i];
    if (part.axes() != axes) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument, "%s: part 0 has %lld axes, part %lld has %lld",
                    who, static_cast<long long>(axes), static_cast<long long>(i),
                    static_cast<long long>(part.axes())));
    }
    if (part.batch() != 1 && batch != 1 && part.batch() != batch) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: part %lld has a batch of %lld, the parts before it one of %lld", who,
                    static_cast<long long>(i), static_cast<long long>(part.batch()),
                    static_cast<long long>(batch)));
    }
    if (part.batch() != 1) batch = part.batch();
    if (__builtin_add_overflow(tokens, part.tokens(), &tokens)) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument, "%s: more than 2^63 tokens", who));
    }
  }
  require(check_coordinates(who, false, -1, {batch, tokens, axes}));
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(batch * tokens * axes));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const CoordinatesView& part = parts[i];
      for (std::int64_t t = 0; t < part.tokens(); ++t) {
        for (std::int64_t a = 0; a < axes; ++a) {
          values.push_back(part(part.batch() == 1 ? 0 : b, t, a));
        }
      }
    }
  }
  return Coordinates(std::move(values), {batch, tokens, axes});
}

inline Coordinates make_joined_batch(std::span<const CoordinatesView> items) {
  const char* const who = "rope::join_batch";
  if (items.empty()) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: there are no items", who));
  }
  const std::int64_t tokens = items[0].tokens();
  const std::int64_t axes = items[0].axes();
  std::int64_t batch = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].tokens() != tokens || items[i].axes() != axes) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: item 0 has %lld tokens and %lld axes, item %lld has %lld and %lld", who,
                    static_cast<long long>(tokens), static_cast<long long>(axes),
                    static_cast<long long>(i), static_cast<long long>(items[i].tokens()),
                    static_cast<long long>(items[i].axes())));
    }
    if (__builtin_add_overflow(batch, items[i].batch(), &batch)) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument, "%s: more than 2^63 rows", who));
    }
  }
  require(check_coordinates(who, false, -1, {batch, tokens, axes}));
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(batch * tokens * axes));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const CoordinatesView& item = items[i];
    for (std::int64_t b = 0; b < item.batch(); ++b) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t a = 0; a < axes; ++a) values.push_back(item(b, t, a));
      }
    }
  }
  return Coordinates(std::move(values), {batch, tokens, axes});
}

inline Coordinates make_columns(std::span<const std::span<const double>> axes) {
  const char* const who = "rope::coordinates_by_axis";
  if (axes.empty()) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument, "%s: there are no axes", who));
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].size() != axes[0].size()) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument, "%s: axis 0 has %lld values, axis %lld has %lld",
                    who, static_cast<long long>(axes[0].size()), static_cast<long long>(a),
                    static_cast<long long>(axes[a].size())));
    }
  }
  std::vector<double> values;
  values.reserve(axes.size() * axes[0].size());
  for (std::size_t t = 0; t < axes[0].size(); ++t) {
    for (std::size_t a = 0; a < axes.size(); ++a) values.push_back(axes[a][t]);
  }
  return Coordinates(std::move(values), {axes[0].size(), axes.size()});
}

inline Coordinates make_in_units(const CoordinatesView& all, const CoordinateUnits& units) {
  const char* const who = "rope::coordinates_in_units";
  const std::vector<double>& origin = units.origin;
  const std::vector<double>& unit = units.unit;
  const auto axes = static_cast<std::size_t>(all.axes());
  if (origin.size() != axes || unit.size() != axes) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: %lld axes, but origin has %lld values and unit %lld", who,
                  static_cast<long long>(axes), static_cast<long long>(origin.size()),
                  static_cast<long long>(unit.size())));
  }
  for (std::size_t a = 0; a < axes; ++a) {
    if (!is_finite(origin[a]) || !is_finite(unit[a]) || unit[a] == 0) [[unlikely]] {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: origin must be finite, unit finite and not 0, got %g and %g for axis %lld",
                    who, origin[a], unit[a], static_cast<long long>(a)));
    }
  }
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(all.batch() * all.tokens()) * axes);
  for (std::int64_t b = 0; b < all.batch(); ++b) {
    for (std::int64_t t = 0; t < all.tokens(); ++t) {
      for (std::size_t a = 0; a < axes; ++a) {
        const double offset = keep(all(b, t, static_cast<std::int64_t>(a))) - origin[a];
        values.push_back(rounded_quotient(offset, unit[a]));
      }
    }
  }
  return Coordinates(std::move(values), {all.batch(), all.tokens(), all.axes()});
}

inline Coordinates make_selected_tokens(const CoordinatesView& all,
                                        std::span<const std::int64_t> tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= all.tokens()) [[unlikely]] {
      raise(failure(ErrorKind::out_of_range,
                    "rope::select_tokens: entry %lld is token %lld, but there are %lld tokens",
                    static_cast<long long>(i), static_cast<long long>(tokens[i]),
                    static_cast<long long>(all.tokens())));
    }
  }
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(all.batch() * all.axes()) * tokens.size());
  for (std::int64_t b = 0; b < all.batch(); ++b) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      for (std::int64_t a = 0; a < all.axes(); ++a) values.push_back(all(b, tokens[i], a));
    }
  }
  return Coordinates(std::move(values), {all.batch(), tokens.size(), all.axes()});
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The tokens of all parts, one part after the other. A part whose batch is 1 goes to every row.
///
/// Throws InvalidArgument for no parts, and for parts that differ in their axes or in a batch that
/// is not 1. O(batch * tokens * axes).
inline Coordinates join_tokens(std::initializer_list<CoordinatesView> parts) {
  return detail::make_joined_tokens({parts.begin(), parts.size()});
}
inline Coordinates join_tokens(std::span<const CoordinatesView> parts) {
  return detail::make_joined_tokens(parts);
}

/// The rows of all items as one batch: positions of its own for each sequence.
///
/// Throws InvalidArgument for no items, and for items that differ in their tokens or axes. O(batch
/// * tokens * axes).
inline Coordinates join_batch(std::initializer_list<CoordinatesView> items) {
  return detail::make_joined_batch({items.begin(), items.size()});
}
inline Coordinates join_batch(std::span<const CoordinatesView> items) {
  return detail::make_joined_batch(items);
}

/// Coordinates whose axes lie apart: `axes[a][t]` is that of token t on axis a. [tokens, axes].
///
/// Throws InvalidArgument for no axes, and for axes of different lengths. O(tokens * axes).
inline Coordinates coordinates_by_axis(std::initializer_list<std::span<const double>> axes) {
  return detail::make_columns({axes.begin(), axes.size()});
}
inline Coordinates coordinates_by_axis(std::span<const std::span<const double>> axes) {
  return detail::make_columns(axes);
}

/// (coordinate - origin) / unit on each axis: points of a cloud in voxels (Lepard: the origin of
/// the volume, the size of a voxel), keypoints about -1 to 1 (LightGlue: half the size of the
/// image, and half its larger side on both axes), times from the first on in steps.
///
/// Throws InvalidArgument for an origin or unit of another number of axes, for numbers that are not
/// finite and for a unit of 0. O(batch * tokens * axes).
inline Coordinates coordinates_in_units(const CoordinatesView& all, const CoordinateUnits& units) {
  return detail::make_in_units(all, units);
}

/// Those tokens alone, in the order of the list: what is left of a masked image, a packed or sorted
/// sequence. `tokens` are indices into the tokens of `all`.
///
/// Throws OutOfRange for a token that is not there. O(batch * number of tokens * axes).
inline Coordinates select_tokens(const CoordinatesView& all,
                                 const std::vector<std::int64_t>& tokens) {
  return detail::make_selected_tokens(all, tokens);
}

/// `tokens` tokens that are all at `point`: text beside an image that has no place in it (FLUX: at
/// {0, 0, 0}), registers.
///
/// Throws InvalidArgument for negative tokens, a point without coordinates or one that is not
/// finite.
inline Coordinates constant_coordinates(Extent tokens, const std::vector<double>& point) {
  const char* const who = "rope::constant_coordinates";
  detail::require(detail::check_coordinates(who, false, -1, {tokens, point.size()}));
  for (std::size_t a = 0; a < point.size(); ++a) {
    if (!detail::is_finite(point[a])) [[unlikely]] {
      detail::raise(detail::failure(ErrorKind::invalid_argument,
                                    "%s: coordinate %lld must be finite, got %g", who,
                                    static_cast<long long>(a), point[a]));
    }
  }
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(std::int64_t{tokens}) * point.size());
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (const double coordinate : point) values.push_back(coordinate);
  }
  return Coordinates(std::move(values), {tokens, point.size()});
}

/// first, first + 1, ... for `tokens` tokens, the same on all axes: text in a model of several
/// axes, which plain RoPE and M-RoPE rotate alike.
///
/// Throws InvalidArgument for negative tokens, fewer than 1 axis or a first that is not finite.
inline Coordinates text_coordinates(Extent tokens, Extent axes, Real first = 0) {
  const char* const who = "rope::text_coordinates";
  detail::require(detail::check_coordinates(who, false, -1, {tokens, axes}));
  if (!detail::is_finite(first)) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument, "%s: first must be finite, got %g",
                                  who, double{first}));
  }
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(tokens * axes));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const double coordinate = double{first} + static_cast<double>(t);
    for (std::int64_t a = 0; a < axes; ++a) values.push_back(coordinate);
  }
  return Coordinates(std::move(values), {tokens, axes});
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
