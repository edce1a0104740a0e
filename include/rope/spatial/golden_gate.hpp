#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/golden_directions.hpp"
#include "rope/detail/log_spaced.hpp"
#include "rope/detail/spread.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

namespace rope {

/// Golden Gate RoPE (first published as "uniform RoPE"): every pair of every head looks in a
/// direction of its own, spread evenly, and the frequencies of a head are spaced evenly on a
/// logarithmic scale. Frequency j of head h is w_j * u_k with the direction u_k, k = h * pairs + j.
///
/// For coordinates in [-1, 1] the author recommends a min_frequency of 0.2 to 1 and a max_frequency
/// of 20 to 100, their ratio smaller for more axes; the published image models pair half_split.
///
/// Source: Xiong, "On N-dimensional rotary positional embeddings" (2025), and the author's code.
struct GoldenGate {
  /// Which of the published sets of directions; they do not replace each other.
  required<GoldenGateForm> form;
  /// 2 for exact_2d, blog_2d and experiment.
  required<Extent> axes;
  required<Extent> heads;
  /// The rotated features of a head: even and above 0.
  required<Extent> rotary_dim;
  /// The ends of the ladder, both included, in radians per unit of position: 0 < min_frequency <=
  /// max_frequency. Where only one pair is left, it gets min_frequency.
  required<Real> min_frequency;
  required<Real> max_frequency;
  /// The share of the pairs that have frequency 0, from 0 to 1: the first zero_share * pairs of
  /// each head, halves rounded to the even number. To have just n of them, say n / pairs. (bnnp
  /// rounds the number of the others.) Their directions are counted, but not used.
  Real zero_share = 0;
  /// Radians from one direction to the next, for exact_2d, blog_2d and experiment: if not given,
  /// golden_gate_spacing (exactly pi / golden ratio for exact_2d), and its negative for experiment.
  /// The reported runs of the experiments had -2 * golden_gate_spacing; pi / 2 is nearly axial.
  std::optional<Real> direction_spacing = std::nullopt;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_golden_gate(const GoldenGate& options) noexcept {
  constexpr const char* who = "rope::golden_gate_frequencies";
  if (Status status = check_spread(who, options.axes.value(), options.heads.value(),
                                   options.rotary_dim.value());
      !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_log_spaced(who, options.min_frequency.value(),
                                       options.max_frequency.value(), options.zero_share);
      !status.ok()) [[unlikely]] {
    return status;
  }
  return check_golden_directions(
      who, options.form.value(), options.axes.value(),
      options.heads.value() * (options.rotary_dim.value() / 2),
      options.direction_spacing
          ? std::optional<double>(static_cast<double>(*options.direction_spacing))
          : std::nullopt);
}

inline std::int64_t golden_zero_pairs(GoldenGateForm form, double share, std::int64_t pairs) {
  if (form != GoldenGateForm::bnnp) return zero_pairs(share, pairs);
  return pairs - round_half_even(keep(static_cast<double>(pairs) * keep(1.0 - share)));
}

inline Frequencies golden_gate_frequencies(const GoldenGate& options) {
  require(check_golden_gate(options));
  const GoldenGateForm form = options.form.value();
  const std::int64_t axes = options.axes.value();
  const std::int64_t heads = options.heads.value();
  const std::int64_t pairs = options.rotary_dim.value() / 2;
  const std::int64_t zeros = golden_zero_pairs(form, options.zero_share, pairs);
  const double first = options.min_frequency.value();
  const double last = options.max_frequency.value();
  std::optional<double> spacing;
  if (options.direction_spacing) spacing = static_cast<double>(*options.direction_spacing);
  const GoldenDirections directions(form, axes, spacing);

  SpreadValues values(axes, heads, pairs);
  std::vector<DoubleDouble> direction(static_cast<std::size_t>(axes));
  const auto fill = [&](auto ladder, auto times) {
    for (std::int64_t j = zeros; j < pairs; ++j) {
      const auto size = ladder(j - zeros);
      for (std::int64_t h = 0; h < heads; ++h) {
        directions.write(h * pairs + j, direction);
        for (std::int64_t a = 0; a < axes; ++a) {
          values(a, h, j) = times(size, direction[static_cast<std::size_t>(a)]);
        }
      }
    }
  };
  if (is_exact(form)) {
    fill(LogSpaced(first, last, pairs - zeros),
         [](DoubleDouble size, DoubleDouble part) { return rounded(size * part); });
  } else {
    fill(LogSpacedFloat(first, last, pairs - zeros), [](float size, DoubleDouble part) {
      return static_cast<double>(keep(size * static_cast<float>(part.hi)));
    });
  }
  return std::move(values).frequencies();
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The frequencies of Golden Gate RoPE, [axes, heads, rotary_dim / 2], for a TokenTable of
/// positions with these axes.
///
/// The exact forms give values within 0.51 ulp of the formula, the published ones the float32
/// values of the original code (a sine or cosine may be the float beside it). The same bits on
/// every platform. Throws InvalidArgument for a rotary_dim that is not even and above 0, for what
/// the fields say, and for more values than can be held. About 5 microseconds for each value with
/// more than two axes, less than one with two.
inline Frequencies golden_gate_frequencies(const GoldenGate& options) {
  return detail::golden_gate_frequencies(options);
}

/// The first `count` directions of a form, unit vectors [count, axes] with components along the
/// axes: for drawing, and for training them by direction_gradient().
///
/// The published forms are rounded to float as in the original code. Throws InvalidArgument for
/// axes that the form does not have, and a negative count.
inline std::vector<double> golden_gate_directions(GoldenGateForm form, Extent axes, Extent count) {
  return detail::golden_gate_directions(form, axes, count);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
