#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "rope/argument.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/spread.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline Frequencies polar_frequencies(std::span<const double> log_frequencies,
                                     std::span<const double> angles, std::int64_t heads,
                                     std::int64_t pairs) {
  constexpr const char* who = "rope::polar_frequencies";
  std::int64_t count = 0;
  if (heads < 1 || pairs < 1 || __builtin_mul_overflow(heads, pairs, &count) ||
      static_cast<std::int64_t>(log_frequencies.size()) != count ||
      static_cast<std::int64_t>(angles.size()) != count) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "%s: log_frequencies and angles must have the shape [%lld, %lld] (heads, pairs), "
                  "but have %zu and %zu values",
                  who, static_cast<long long>(heads), static_cast<long long>(pairs),
                  log_frequencies.size(), angles.size()));
  }
  SpreadValues values(2, heads, pairs);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t j = 0; j < pairs; ++j) {
      const auto i = static_cast<std::size_t>(h * pairs + j);
      // Beyond these the exponential is no number that a frequency could be.
      if (!is_finite(log_frequencies[i]) || !(absolute(log_frequencies[i]) <= 700) ||
          !is_finite(angles[i]) || !(absolute(angles[i]) <= max_angle)) [[unlikely]] {
        raise(failure(ErrorKind::invalid_argument,
                      "%s: log_frequencies must be within 700 and angles within 2^53 of 0, got %g "
                      "and %g for head %lld, pair %lld",
                      who, log_frequencies[i], angles[i], static_cast<long long>(h),
                      static_cast<long long>(j)));
      }
      const DoubleDouble size = exp(exactly(log_frequencies[i]));
      const SinCos turned = sin_cos(exactly(angles[i]));
      values(0, h, j) = rounded(size * turned.cos);
      values(1, h, j) = rounded(size * turned.sin);
    }
  }
  return std::move(values).frequencies();
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Frequencies in the plane from their logarithms and directions, e^l * (cos a, sin a) along axes 0
/// and 1: a way to train them that keeps sizes and directions apart. Both are [heads, pairs], and
/// `shape` is {heads, pairs}; the gradients are log_frequency_gradient() and
/// direction_angle_gradient() of rope/gradient_chain.hpp.
///
/// Within 0.51 ulp, the same bits on every platform. Throws InvalidArgument for extents below 1, a
/// wrong number of values, a logarithm beyond 700 and an angle beyond 2^53. O(heads * pairs).
inline Frequencies polar_frequencies(std::span<const double> log_frequencies,
                                     std::span<const double> angles, const Extents<2>& shape) {
  return detail::polar_frequencies(log_frequencies, angles, shape[0], shape[1]);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
