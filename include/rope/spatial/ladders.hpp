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
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

// Ladders of frequencies for coordinates that are not token numbers. The usual one, base^(-2i/d),
// is frequencies(). Each is of one axis; axis_blocks() and share_ladder() make several axes of it.

namespace rope {

/// How a ladder gets from its first frequency to its last.
enum class Spacing : unsigned char {
  linear,       ///< equal differences
  logarithmic,  ///< equal ratios
};

/// What pixel_frequencies() is made of.
struct PixelFrequencies {
  /// At least 1.
  required<Extent> pairs;
  /// `max_freq` of lucidrains' library, `max_res` of timm. Finite and above 0.
  Real max_frequency = 10.0;
  /// timm: `linear_bands`.
  required<Spacing> spacing;
};

/// What geometric_frequencies() is made of.
struct GeometricFrequencies {
  /// All pairs, those of frequency 0 included; at least 1.
  required<Extent> pairs;
  /// Radians per unit of position, finite and above 0.
  required<Real> min_frequency;
  required<Real> max_frequency;
  /// So many of the first pairs have frequency 0; from 0 to pairs.
  Extent zero_pairs = 0;
};

/// What period_frequencies() is made of: either the base, or both ends.
struct PeriodFrequencies {
  /// At least 1.
  required<Extent> pairs;
  /// Period k is base^(k / pairs). Finite and above 0.
  std::optional<Real> base = std::nullopt;
  /// The first and the last period, in units of position. Finite and above 0.
  std::optional<Real> min_period = std::nullopt;
  std::optional<Real> max_period = std::nullopt;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_ladder_pairs(const char* who, std::int64_t pairs) noexcept {
  if (pairs < 1 || pairs > largest_rotary_dim / 2) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: pairs must be from 1 to 2^31, got %lld", who,
                   static_cast<long long>(pairs));
  }
  return {};
}

inline Status check_ladder_end(const char* who, const char* field, double value) noexcept {
  if (!is_finite(value) || !(value > 0)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s must be finite and above 0, got %g", who,
                   field, value);
  }
  return {};
}

/// How far rung `i` of `count` is on the way: 0 at the first, 1 at the last, 0 for a single one.
inline DoubleDouble way(std::int64_t i, std::int64_t count) {
  return count > 1 ? quotient(i, count - 1) : exactly(0.0);
}

/// A one-axis ladder; frequency i is rule(i), rounded to double once.
template <class Rule>
Frequencies ladder_of(std::int64_t pairs, Rule rule) {
  std::vector<double> values(static_cast<std::size_t>(pairs));
  for (std::int64_t i = 0; i < pairs; ++i) values[static_cast<std::size_t>(i)] = rounded(rule(i));
  return Frequencies(std::move(values), {1, 1, pairs});
}

inline Frequencies pixel_frequencies(const PixelFrequencies& ladder) {
  constexpr const char* who = "rope::pixel_frequencies";
  const std::int64_t pairs = ladder.pairs.value();
  const double highest = ladder.max_frequency;
  require(check_ladder_pairs(who, pairs));
  require(check_ladder_end(who, "max_frequency", highest));
  const DoubleDouble pi = two_pi() * 0.5;
  const DoubleDouble half = exactly(highest) * 0.5;
  switch (ladder.spacing.value()) {
    case Spacing::linear:
      return ladder_of(pairs, [&](std::int64_t i) {
        return pi * ((half - exactly(1.0)) * way(i, pairs) + 1.0);
      });
    case Spacing::logarithmic:
      return ladder_of(pairs, [&](std::int64_t i) { return pi * power(log(half), way(i, pairs)); });
  }
  raise(failure(ErrorKind::invalid_argument, "%s: spacing has the value %d, which names no spacing",
                who, static_cast<int>(ladder.spacing.value())));
}

inline Frequencies geometric_frequencies(const GeometricFrequencies& ladder) {
  constexpr const char* who = "rope::geometric_frequencies";
  const std::int64_t pairs = ladder.pairs.value();
  const std::int64_t zeros = ladder.zero_pairs;
  const double lowest = ladder.min_frequency.value();
  const double highest = ladder.max_frequency.value();
  require(check_ladder_pairs(who, pairs));
  require(check_ladder_end(who, "min_frequency", lowest));
  require(check_ladder_end(who, "max_frequency", highest));
  if (zeros < 0 || zeros > pairs) {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: zero_pairs must be from 0 to the %lld pairs, got %lld", who,
                  static_cast<long long>(pairs), static_cast<long long>(zeros)));
  }
  const DoubleDouble log_ratio = log(highest) - log(lowest);
  return ladder_of(pairs, [&](std::int64_t i) {
    return i < zeros ? exactly(0.0)
                     : power(log_ratio, way(i - zeros, pairs - zeros)) * exactly(lowest);
  });
}

inline Frequencies period_frequencies(const PeriodFrequencies& ladder) {
  constexpr const char* who = "rope::period_frequencies";
  const std::int64_t pairs = ladder.pairs.value();
  require(check_ladder_pairs(who, pairs));
  if (ladder.min_period.has_value() != ladder.max_period.has_value() ||
      ladder.base.has_value() == ladder.min_period.has_value()) {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: either base must be given, or both min_period and max_period", who));
  }
  if (ladder.base) {
    require(check_ladder_end(who, "base", *ladder.base));
    const DoubleDouble log_base = log(double{*ladder.base});
    return ladder_of(
        pairs, [&](std::int64_t i) { return two_pi() * power(log_base, quotient(-i, pairs)); });
  }
  const double shortest = *ladder.min_period;
  const double longest = *ladder.max_period;
  require(check_ladder_end(who, "min_period", shortest));
  require(check_ladder_end(who, "max_period", longest));
  const DoubleDouble log_ratio = log(longest) - log(shortest);
  return ladder_of(pairs, [&](std::int64_t i) {
    return two_pi() / exactly(shortest) * power(-log_ratio, way(i, pairs));
  });
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// For coordinates from -1 to 1: pi times 1 to max_frequency / 2, ends included, in equal steps or
/// equal ratios. A single pair has pi.
///
/// Throws InvalidArgument for pairs outside 1 .. 2^31 and a max_frequency that is not finite and
/// above 0. Each frequency is within 0.51 ulp of its formula, with the same bits everywhere.
///
/// Source: `freqs_for = "pixel"` of rotary-embedding-torch; `pixel_freq_bands` and, for equal
/// ratios, its logarithmic variant of timm.
inline Frequencies pixel_frequencies(const PixelFrequencies& ladder) {
  return detail::pixel_frequencies(ladder);
}

/// min_frequency to max_frequency, ends included, in equal ratios, behind the pairs of frequency 0.
/// A single pair has min_frequency.
///
/// Golden Gate RoPE's ladder; LTX-Video's is pi/2 to base * pi/2. Throws InvalidArgument for pairs
/// outside 1 .. 2^31, ends that are not finite and above 0, and zero_pairs outside 0 .. pairs.
/// Accuracy as pixel_frequencies().
inline Frequencies geometric_frequencies(const GeometricFrequencies& ladder) {
  return detail::geometric_frequencies(ladder);
}

/// 2 pi / period: the periods are base^(k / pairs), or go from min_period to max_period in equal
/// ratios, ends included. The first pair is the fastest. DINOv3, whose coordinates go from -1 to 1.
///
/// Throws InvalidArgument for pairs outside 1 .. 2^31, for both or neither of the two ways, and for
/// a base or periods that are not finite and above 0. Accuracy as pixel_frequencies().
///
/// Source: Simeoni et al., "DINOv3" (2025), and the code published with it.
inline Frequencies period_frequencies(const PeriodFrequencies& ladder) {
  return detail::period_frequencies(ladder);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
