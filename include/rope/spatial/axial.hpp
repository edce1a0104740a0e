#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scheme.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/parameters.hpp"

// Axial RoPE: every pair follows one axis, and every axis has a ladder of its own.

namespace rope {

/// Axial RoPE whose axes all have the usual ladder base^(-2i/d), each with its own d.
struct Axial {
  /// Features of each block of pairs, in the order in which the blocks stand in the head: even and
  /// above 0. {16, 56, 56} for FLUX; equal_axis_dims() where all are alike.
  std::vector<std::int64_t> axis_dims = {};
  /// Finite and above 1.
  Real base = 10000.0;
  /// Changes every axis' ladder, with that axis' d.
  Scaling scaling = {};  // Plain
  /// The position axis that each block follows; empty: block i follows axis i. {1, 0} where the
  /// positions are (row, column), but the columns come first in the head.
  std::vector<std::int64_t> axis_of_block = {};
};

/// One block of pairs that follow one axis with a ladder of their own.
class AxisBlock {
 public:
  /// `axis` from 0 on; `ladder` of one axis and one head: frequencies(), pixel_frequencies(),
  /// period_frequencies() ... Both are checked by axis_blocks().
  ROPE_DETAIL_FORWARD AxisBlock(Extent axis, Frequencies ladder)
      : axis_(axis), ladder_(std::move(ladder)) {}

  // Spelt out for their attribute: implicit ones could be shared by differently compiled units.
  ROPE_DETAIL_FORWARD AxisBlock(const AxisBlock&) = default;
  ROPE_DETAIL_FORWARD AxisBlock(AxisBlock&&) = default;
  ROPE_DETAIL_FORWARD AxisBlock& operator=(const AxisBlock&) = default;
  ROPE_DETAIL_FORWARD AxisBlock& operator=(AxisBlock&&) = default;
  ROPE_DETAIL_FORWARD ~AxisBlock() = default;

  ROPE_DETAIL_FORWARD std::int64_t axis() const noexcept { return axis_; }
  ROPE_DETAIL_FORWARD const Frequencies& ladder() const noexcept { return ladder_; }

 private:
  std::int64_t axis_;
  Frequencies ladder_;
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// More position axes than anybody has; a slip such as a size in place of an axis is above it.
inline constexpr std::int64_t most_axes = 1024;

inline std::vector<std::int64_t> equal_axis_dims(std::int64_t rotary_dim, std::int64_t axes) {
  constexpr const char* who = "rope::equal_axis_dims";
  if (axes < 1 || axes > most_axes) {
    raise(failure(ErrorKind::invalid_argument, "%s: axes must be from 1 to 1024, got %lld", who,
                  static_cast<long long>(axes)));
  }
  const std::int64_t step = 2 * axes;
  if (rotary_dim < 1 || rotary_dim > largest_rotary_dim) {
    raise(failure(ErrorKind::invalid_argument, "%s: rotary_dim must be from 1 to 2^32, got %lld",
                  who, static_cast<long long>(rotary_dim)));
  }
  if (rotary_dim % step != 0) {
    const std::int64_t below = rotary_dim / step * step;
    if (below == 0) {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: rotary_dim %lld does not divide into whole pairs for each of %lld axes; "
                    "multiples of %lld do",
                    who, static_cast<long long>(rotary_dim), static_cast<long long>(axes),
                    static_cast<long long>(step)));
    }
    raise(failure(ErrorKind::invalid_argument,
                  "%s: rotary_dim %lld does not divide into whole pairs for each of %lld axes; "
                  "%lld and %lld would",
                  who, static_cast<long long>(rotary_dim), static_cast<long long>(axes),
                  static_cast<long long>(below), static_cast<long long>(below + step)));
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(axes), rotary_dim / axes);
}

inline Status check_axis_block(const char* who, std::size_t i, const AxisBlock& block,
                               double magnitude) noexcept {
  const std::int64_t axis = block.axis();
  if (axis < 0 || axis >= most_axes) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: blocks[%zu].axis must be from 0 to 1023, got %lld", who, i,
                   static_cast<long long>(axis));
  }
  if (block.ladder().axes() != 1 || block.ladder().heads() != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: blocks[%zu].ladder must have 1 axis and 1 head, got %lld and %lld", who, i,
                   static_cast<long long>(block.ladder().axes()),
                   static_cast<long long>(block.ladder().heads()));
  }
  if (block.ladder().magnitude() != magnitude) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: blocks[%zu].ladder has the magnitude %g, but blocks[0].ladder has %g, and "
                   "a table has one for all pairs",
                   who, i, block.ladder().magnitude(), magnitude);
  }
  return {};
}

inline Frequencies axis_blocks(const std::vector<AxisBlock>& blocks) {
  constexpr const char* who = "rope::axis_blocks";
  if (blocks.empty()) {
    raise(failure(ErrorKind::invalid_argument, "%s: there are no blocks", who));
  }
  std::int64_t axes = 1;
  std::int64_t pairs = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    require(check_axis_block(who, i, blocks[i], blocks[0].ladder().magnitude()));
    if (blocks[i].axis() >= axes) axes = blocks[i].axis() + 1;
    pairs += blocks[i].ladder().pairs();
  }
  std::vector<double> values(static_cast<std::size_t>(axes * pairs), 0.0);
  std::int64_t first = 0;
  for (const AxisBlock& block : blocks) {
    for (std::int64_t i = 0; i < block.ladder().pairs(); ++i) {
      values[static_cast<std::size_t>(block.axis() * pairs + first + i)] = block.ladder()(0, 0, i);
    }
    first += block.ladder().pairs();
  }
  return Frequencies(std::move(values), {axes, 1, pairs}, blocks[0].ladder().magnitude());
}

inline std::int64_t axis_of_block(const Axial& axial, std::size_t block) noexcept {
  return axial.axis_of_block.empty() ? static_cast<std::int64_t>(block)
                                     : axial.axis_of_block[block];
}

inline Frequencies axial_frequencies(const Axial& axial) {
  constexpr const char* who = "rope::axial_frequencies";
  const std::size_t count = axial.axis_dims.size();
  if (count == 0) {
    raise(failure(ErrorKind::invalid_argument, "%s: axis_dims is empty", who));
  }
  if (!axial.axis_of_block.empty() && axial.axis_of_block.size() != count) {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: axis_of_block has %zu values, but axis_dims has %zu", who,
                  axial.axis_of_block.size(), count));
  }
  const double base = axial.base;
  if (!is_finite(base) || !(base > 1)) {
    raise(failure(ErrorKind::invalid_argument, "%s: base must be finite and above 1, got %g", who,
                  base));
  }
  std::int64_t axes = 1;
  std::int64_t pairs = 0;
  double magnitude = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t dim = axial.axis_dims[i];
    if (dim < 2 || dim % 2 != 0 || dim > largest_rotary_dim) {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: axis_dims[%zu] must be even, as an axis turns whole pairs, from 2 to "
                    "2^32, got %lld",
                    who, i, static_cast<long long>(dim)));
    }
    const std::int64_t axis = axis_of_block(axial, i);
    if (axis < 0 || axis >= most_axes) {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: %s must be from 0 to 1023, got %lld for block %zu", who,
                    axial.axis_of_block.empty() ? "an axis" : "axis_of_block",
                    static_cast<long long>(axis), i));
    }
    require(check_scheme(who, axial.scaling, dim));
    const double own = scheme_magnitude(axial.scaling, {log(base), dim, std::nullopt});
    if (i == 0) magnitude = own;
    if (own != magnitude) {
      raise(failure(ErrorKind::invalid_argument,
                    "%s: the scaling gives block %zu the magnitude %g, but block 0 has %g, and a "
                    "table has one for all pairs",
                    who, i, own, magnitude));
    }
    if (axis >= axes) axes = axis + 1;
    pairs += dim / 2;
  }
  std::vector<double> values(static_cast<std::size_t>(axes * pairs), 0.0);
  double* next = values.data();
  for (std::size_t i = 0; i < count; ++i) {
    const Ladder ladder = {log(base), axial.axis_dims[i], std::nullopt};
    write_frequencies(axial.scaling, ladder, next + axis_of_block(axial, i) * pairs);
    next += ladder.pairs();
  }
  return Frequencies(std::move(values), {axes, 1, pairs}, magnitude);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The same share of `rotary_dim` features for each of `axes` axes, for Axial::axis_dims.
///
/// Throws InvalidArgument where that is not a whole number of pairs, and says what would be.
inline std::vector<std::int64_t> equal_axis_dims(Extent rotary_dim, Extent axes) {
  return detail::equal_axis_dims(rotary_dim, axes);
}

/// The frequencies of axial RoPE, [axes, 1, pairs]: block after block of pairs, each with the
/// ladder base^(-2i/d) of its own d on its own axis, and 0 on the others.
///
/// Frequencies are those of frequencies() for each d, with the same bits. Throws InvalidArgument
/// for axis_dims that are empty or not even and above 0, and what frequencies() refuses.
/// O(axes * pairs).
///
/// Source: Heo et al., "Rotary Position Embedding for Vision Transformer" (2024); see
/// docs/spatial.md for the models that are cases of it.
inline Frequencies axial_frequencies(const Axial& axial) {
  return detail::axial_frequencies(axial);
}

/// The frequencies of any ladders side by side, [highest axis + 1, 1, pairs]: each block of pairs
/// follows its axis with its own ladder. Several blocks may follow the same axis.
///
/// For ladders that axial_frequencies() does not make: pixel frequencies, periods, a base or a
/// scaling scheme for each axis. Throws InvalidArgument for no blocks, a negative axis, ladders of
/// several axes or heads, and different magnitudes. O(axes * pairs).
inline Frequencies axis_blocks(const std::vector<AxisBlock>& blocks) {
  return detail::axis_blocks(blocks);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
