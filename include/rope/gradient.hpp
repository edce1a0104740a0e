#pragma once

#include <cstdint>
#include <type_traits>

#include "rope/accumulation.hpp"
#include "rope/argument.hpp"
#include "rope/coordinates.hpp"
#include "rope/detail/gradient_check.hpp"
#include "rope/detail/gradient_sums.hpp"
#include "rope/detail/pairing_call.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/frequencies.hpp"
#include "rope/pairing.hpp"
#include "rope/rotate_inverse.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/view.hpp"

// Gradients of a loss through a rotation y = rotate(x), from y and the loss's gradient with respect
// to y. That with respect to x is rotate_transpose() of rope/rotate_inverse.hpp, with the table of
// the rotation; those with respect to frequencies and positions are here, and need no table.

namespace rope {
namespace detail {

/// Memory that a gradient is written to.
template <class S>
concept GradientSource = SourceOf<S> && IsDouble<source_element_t<S>>;

/// An element type that a gradient can be computed of.
template <class T>
concept Differentiable = Element<std::remove_const_t<T>>;

}  // namespace detail

/// Where a gradient with respect to frequencies goes: doubles in the caller's memory, [axes, heads,
/// pairs] as Frequencies::values(); heads is 1 where all heads share them.
class FrequencyGradient {
 public:
  /// `values` is a pointer, or a lasting container or span, whose size must then be that of
  /// `shape`, {axes, heads, pairs}. Throws InvalidArgument for an extent below 1, a wrong size, and
  /// null.
  template <detail::GradientSource S>
  ROPE_DETAIL_FORWARD FrequencyGradient(S&& values, const Extents<3>& shape)
      : axes_(shape[0]), heads_(shape[1]), pairs_(shape[2]) {
    const auto given = detail::source(values);
    detail::require(
        detail::check_frequency_gradient(axes_, heads_, pairs_, given.data == nullptr, given.size));
    data_ = given.data;
  }

  ROPE_DETAIL_FORWARD double* data() const noexcept { return data_; }
  ROPE_DETAIL_FORWARD std::int64_t axes() const noexcept { return axes_; }
  ROPE_DETAIL_FORWARD std::int64_t heads() const noexcept { return heads_; }
  ROPE_DETAIL_FORWARD std::int64_t pairs() const noexcept { return pairs_; }

 private:
  double* data_;
  std::int64_t axes_;
  std::int64_t heads_;
  std::int64_t pairs_;
};

/// Where a gradient with respect to positions goes: doubles in the caller's memory, [batch or 1,
/// tokens, axes].
class PositionGradient {
 public:
  /// `values` is a pointer, or a lasting container or span, whose size must then be that of
  /// `shape`. Throws InvalidArgument for a negative extent, fewer than 1 axis, a wrong size, and
  /// null where there is a token.
  template <detail::GradientSource S>
  ROPE_DETAIL_FORWARD PositionGradient(S&& values, const CoordinateShape& shape) : shape_(shape) {
    const auto given = detail::source(values);
    detail::require(detail::check_coordinates("rope::PositionGradient", given.data == nullptr,
                                              given.size, shape));
    data_ = given.data;
  }

  ROPE_DETAIL_FORWARD double* data() const noexcept { return data_; }
  ROPE_DETAIL_FORWARD std::int64_t batch() const noexcept { return shape_.batch(); }
  ROPE_DETAIL_FORWARD std::int64_t tokens() const noexcept { return shape_.tokens(); }
  ROPE_DETAIL_FORWARD std::int64_t axes() const noexcept { return shape_.axes(); }

 private:
  double* data_;
  CoordinateShape shape_;
};

/// What a gradient may be told beside its views, when the pairing is a template argument.
struct GradientOptions {
  required<Accumulation> accumulation;
  /// The first rotated feature, as for rotate().
  Extent first_dim = 0;
  /// Who does the work: the same bits, whoever does. Used only during the call.
  ExecutorRef executor = {};
};

/// The same, with the pairing as a run-time value. It has no default.
struct PairingGradientOptions {
  required<Pairing> pairing;
  required<Accumulation> accumulation;
  /// See GradientOptions for these.
  Extent first_dim = 0;
  ExecutorRef executor = {};
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline GradientOptions without_pairing(const PairingGradientOptions& options) {
  return {.accumulation = options.accumulation,
          .first_dim = options.first_dim,
          .executor = options.executor};
}

/// One position for each batch row, token and axis.
inline auto position_of(const CoordinatesView& coordinates) {
  return [coordinates, has_batch = coordinates.batch() != 1](std::int64_t batch, std::int64_t token,
                                                             std::int64_t axis) {
    return coordinates(has_batch ? batch : 0, token, axis);
  };
}
inline auto position_of(const Positions& positions) {
  return [positions](std::int64_t batch, std::int64_t token, std::int64_t) {
    return static_cast<double>(positions.position(batch, token));
  };
}

template <Pairing pairing, class Y, class G, class Where>
void checked_frequency_gradient(View<const Y> y, View<const G> gradient_y, const Where& positions,
                                const FrequencyGradient& gradient, const GradientOptions& options) {
  static_assert(is_valid(pairing));
  constexpr const char* who = "rope::frequency_gradient";
  require(check_gradient_input(who, y.layout(), gradient_y.layout(), gradient.heads(),
                               gradient.pairs(), options.first_dim));
  require(check_gradient_positions(who, positions, gradient.axes(), y.layout()));
  require(check_accumulation(who, options.accumulation));
  require(check_gradient_memory(
      who, gradient.data(), gradient.axes() * gradient.heads() * gradient.pairs(), y, gradient_y));
  const GradientInput<Y, G> input = {y, gradient_y, options.first_dim, gradient.pairs()};
  frequency_gradient<pairing>(input, position_of(positions), gradient.axes(), gradient.heads() == 1,
                              options.accumulation.value() == Accumulation::add, gradient.data(),
                              options.executor);
}

template <Pairing pairing, class Y, class G>
void checked_position_gradient(View<const Y> y, View<const G> gradient_y,
                               const Frequencies& frequencies, const PositionGradient& gradient,
                               const GradientOptions& options) {
  static_assert(is_valid(pairing));
  constexpr const char* who = "rope::position_gradient";
  require(check_gradient_input(who, y.layout(), gradient_y.layout(), frequencies.heads(),
                               frequencies.pairs(), options.first_dim));
  require(check_gradient_frequencies(who, frequencies, gradient.axes()));
  require(
      check_gradient_tokens(who, "gradient has", gradient.batch(), gradient.tokens(), y.layout()));
  require(check_accumulation(who, options.accumulation));
  require(check_gradient_memory(
      who, gradient.data(), gradient.batch() * gradient.tokens() * gradient.axes(), y, gradient_y));
  const GradientInput<Y, G> input = {y, gradient_y, options.first_dim, frequencies.pairs()};
  const auto row = [values = frequencies.values().data(), heads = frequencies.heads(),
                    pairs = frequencies.pairs()](std::int64_t axis, std::int64_t head) {
    return values + (axis * heads + (heads == 1 ? 0 : head)) * pairs;
  };
  position_gradient<pairing>(input, row, gradient.axes(), gradient.batch(),
                             options.accumulation.value() == Accumulation::add, gradient.data(),
                             options.executor);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The gradient with respect to frequencies: y = rotate(x) and `gradient_y`, the loss's gradient
/// with respect to y, are [batch, tokens, heads, dim] in any layouts; `positions` are those that x
/// was rotated by, with an axis for each of the gradient's.
///
/// For head h, pair j with features (a, b), axis p: the sum over batch and tokens of (g_b * y_a -
/// g_a * y_b) * position[p], and over the heads too where the frequencies are shared. A magnitude
/// is contained in y. Pairs of frequency 0 have a gradient that is not 0; keep_zero_frequencies()
/// of rope/gradient_chain.hpp freezes them. Of q and k that share frequencies, add both.
///
/// Computed in double, with the same bits for any executor and on every platform; float data to
/// within about 1e-15 of the sum of the terms' sizes. Everything is checked before the first write:
/// throws InvalidArgument for shapes that do not fit and for a gradient that lies in y or
/// gradient_y. Allocates sums for parts of the tokens: at most 64 times the size of the gradient
/// where each head has frequencies, 256 times where they are shared, and about axes / 256 of the
/// size of a float y at most where there are many tokens. O(batch * tokens * heads * pairs * axes).
///
/// Source: the derivative of the rotation; see docs/directions.md.
template <Pairing pairing, detail::Differentiable Y, detail::Differentiable G>
void frequency_gradient(View<Y> y, View<G> gradient_y, CoordinatesView positions,
                        const FrequencyGradient& gradient, const GradientOptions& options) {
  detail::checked_frequency_gradient<pairing, std::remove_const_t<Y>, std::remove_const_t<G>>(
      y, gradient_y, positions, gradient, options);
}
template <detail::Differentiable Y, detail::Differentiable G>
void frequency_gradient(View<Y> y, View<G> gradient_y, CoordinatesView positions,
                        const FrequencyGradient& gradient, const PairingGradientOptions& options) {
  detail::with_pairing("rope::frequency_gradient", options.pairing, [&]<Pairing pairing>() {
    frequency_gradient<pairing>(y, gradient_y, positions, gradient,
                                detail::without_pairing(options));
  });
}

/// The same for one axis and whole positions, as rotate() takes them with a CosSinTable.
template <Pairing pairing, detail::Differentiable Y, detail::Differentiable G>
void frequency_gradient(View<Y> y, View<G> gradient_y, const Positions& positions,
                        const FrequencyGradient& gradient, const GradientOptions& options) {
  detail::checked_frequency_gradient<pairing, std::remove_const_t<Y>, std::remove_const_t<G>>(
      y, gradient_y, positions, gradient, options);
}
template <detail::Differentiable Y, detail::Differentiable G>
void frequency_gradient(View<Y> y, View<G> gradient_y, const Positions& positions,
                        const FrequencyGradient& gradient, const PairingGradientOptions& options) {
  detail::with_pairing("rope::frequency_gradient", options.pairing, [&]<Pairing pairing>() {
    frequency_gradient<pairing>(y, gradient_y, positions, gradient,
                                detail::without_pairing(options));
  });
}

/// The gradient with respect to positions, [batch or 1, tokens, axes]: for each axis p the sum over
/// heads and pairs of (g_b * y_a - g_a * y_b) * frequency[p, head, pair], and over the batch too
/// where its rows share the positions.
///
/// As frequency_gradient(); allocates nothing.
template <Pairing pairing, detail::Differentiable Y, detail::Differentiable G>
void position_gradient(View<Y> y, View<G> gradient_y, const Frequencies& frequencies,
                       const PositionGradient& gradient, const GradientOptions& options) {
  detail::checked_position_gradient<pairing, std::remove_const_t<Y>, std::remove_const_t<G>>(
      y, gradient_y, frequencies, gradient, options);
}
template <detail::Differentiable Y, detail::Differentiable G>
void position_gradient(View<Y> y, View<G> gradient_y, const Frequencies& frequencies,
                       const PositionGradient& gradient, const PairingGradientOptions& options) {
  detail::with_pairing("rope::position_gradient", options.pairing, [&]<Pairing pairing>() {
    position_gradient<pairing>(y, gradient_y, frequencies, gradient,
                               detail::without_pairing(options));
  });
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
