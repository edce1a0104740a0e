#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/log_spaced.hpp"
#include "rope/detail/quantile.hpp"
#include "rope/detail/spread.hpp"
#include "rope/detail/uniform.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

namespace rope {

/// A random direction for each head and pair, all equally likely, with the frequencies of Golden
/// Gate RoPE. It is what the article on Golden Gate RoPE calls mixed, and is not the published
/// start of Mixed RoPE, which turns a whole head.
///
/// Source: Xiong, "On N-dimensional rotary positional embeddings" (2025), code of the experiments
/// (there axis 0 is y, axis 1 is x).
struct RandomDirections {
  required<Extent> axes;
  required<Extent> heads;
  /// The rotated features of a head: even and above 0.
  required<Extent> rotary_dim;
  /// See GoldenGate for these three.
  required<Real> min_frequency;
  required<Real> max_frequency;
  Real zero_share = 0;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_random_directions(const RandomDirections& options) noexcept {
  constexpr const char* who = "rope::random_direction_frequencies";
  if (Status status = check_spread(who, options.axes.value(), options.heads.value(),
                                   options.rotary_dim.value());
      !status.ok()) [[unlikely]] {
    return status;
  }
  return check_log_spaced(who, options.min_frequency.value(), options.max_frequency.value(),
                          options.zero_share);
}

/// A unit vector made of draws of 53 bits.
template <class Draw>
void random_direction(std::vector<DoubleDouble>& direction, const InverseErrorFunction& inverse,
                      Draw draw) {
  if (direction.size() == 1) {
    direction[0] = exactly(1.0);
    return;
  }
  if (direction.size() == 2) {
    const SinCos turned = sin_cos(two_pi() * keep(static_cast<double>(draw()) * 0x1p-53));
    direction[0] = turned.cos;
    direction[1] = turned.sin;
    return;
  }
  DoubleDouble square = exactly(0.0);
  for (DoubleDouble& part : direction) {
    // The middle of each of 2^53 steps from -1 to 1, so neither end and not 0: quantiles are finite
    // and no vector is too short.
    const DoubleDouble place = two_sum(keep(static_cast<double>(draw()) * 0x1p-52), 0x1p-53) - 1.0;
    part = inverse(place);
    square = square + part * part;
  }
  const DoubleDouble length = square_root(square);
  for (DoubleDouble& part : direction) part = part / length;
}

template <class Draw>
Frequencies random_direction_frequencies(const RandomDirections& options, Draw draw) {
  const std::int64_t axes = options.axes.value();
  const std::int64_t heads = options.heads.value();
  const std::int64_t pairs = options.rotary_dim.value() / 2;
  const std::int64_t zeros = zero_pairs(options.zero_share, pairs);
  const LogSpaced ladder(options.min_frequency.value(), options.max_frequency.value(),
                         pairs - zeros);
  const InverseErrorFunction inverse;
  SpreadValues values(axes, heads, pairs);
  std::vector<DoubleDouble> direction(static_cast<std::size_t>(axes));
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t j = 0; j < pairs; ++j) {
      random_direction(direction, inverse, draw);
      if (j < zeros) continue;
      const DoubleDouble size = ladder(j - zeros);
      for (std::int64_t a = 0; a < axes; ++a) {
        values(a, h, j) = rounded(size * direction[static_cast<std::size_t>(a)]);
      }
    }
  }
  return std::move(values).frequencies();
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Frequencies in random directions, [axes, heads, rotary_dim / 2].
///
/// Directions are drawn head by head, within a head pair by pair, also those of frequency 0. Two
/// axes take one draw, an angle as in mixed_frequencies(); more take one draw an axis, whose normal
/// quantiles make the direction; one axis takes none, and its direction is 1. The result depends on
/// the engine alone. Throws InvalidArgument for a rotary_dim that is not even and above 0, fewer
/// than one axis or head, frequencies that are not 0 < min <= max, and a zero_share outside 0 to 1.
template <detail::RandomBits Engine>
Frequencies random_direction_frequencies(const RandomDirections& options, Engine& engine) {
  detail::require(detail::check_random_directions(options));
  return detail::random_direction_frequencies(options,
                                              [&] { return detail::uniform_53_bits(engine); });
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
