#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"

// From the gradient with respect to frequencies, [axes, heads, pairs], on to what they were made
// of. Each returns new values, for the caller to add up as needed.

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

/// Checks a list that must have the shape of the frequencies.
inline Status check_chain(const char* who, const char* name, std::size_t size,
                          const Frequencies& frequencies) noexcept {
  const std::int64_t wanted = frequencies.axes() * frequencies.heads() * frequencies.pairs();
  if (static_cast<std::int64_t>(size) != wanted ||
      static_cast<std::int64_t>(frequencies.values().size()) != wanted) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: %s has %zu values and frequencies %zu, but the shape [%lld, %lld, %lld] "
                   "(axes, heads, pairs) needs %lld",
                   who, name, size, frequencies.values().size(),
                   static_cast<long long>(frequencies.axes()),
                   static_cast<long long>(frequencies.heads()),
                   static_cast<long long>(frequencies.pairs()), static_cast<long long>(wanted));
  }
  return {};
}

/// The sum over the axes of gradient * factor, [heads, pairs]; both are [axes, heads, pairs].
inline std::vector<double> dot_over_axes(std::span<const double> gradient,
                                         std::span<const double> factor, std::int64_t axes) {
  const std::size_t count = gradient.size() / static_cast<std::size_t>(axes);
  std::vector<double> sums(count);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double& sum = sums[i % count];
    sum = keep(sum + keep(gradient[i] * factor[i]));
  }
  return sums;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The gradient with respect to ln |frequency| of each head and pair, [heads, pairs], for
/// directions that stay: the sum over the axes of gradient * frequency.
///
/// `gradient` is that of frequency_gradient(). A frequency of 0 has no logarithm, and gets 0.
/// Throws InvalidArgument for a wrong number of values. O(values), as the others.
inline std::vector<double> log_frequency_gradient(std::span<const double> gradient,
                                                  const Frequencies& frequencies) {
  detail::require(detail::check_chain("rope::log_frequency_gradient", "gradient", gradient.size(),
                                      frequencies));
  return detail::dot_over_axes(gradient, frequencies.values(), frequencies.axes());
}

/// The gradient with respect to the angle a of each direction (cos a, sin a) in the plane, [heads,
/// pairs]: frequency[0] * gradient[1] - frequency[1] * gradient[0].
///
/// Throws InvalidArgument for a wrong number of values, and frequencies of other than 2 axes.
inline std::vector<double> direction_angle_gradient(std::span<const double> gradient,
                                                    const Frequencies& frequencies) {
  constexpr const char* who = "rope::direction_angle_gradient";
  detail::require(detail::check_chain(who, "gradient", gradient.size(), frequencies));
  if (frequencies.axes() != 2) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "%s: frequencies must have 2 axes, got %lld", who,
                                  static_cast<long long>(frequencies.axes())));
  }
  const std::span<const double> values = frequencies.values();
  const std::size_t count = values.size() / 2;
  std::vector<double> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = detail::keep(detail::keep(values[i] * gradient[count + i]) -
                             detail::keep(values[count + i] * gradient[i]));
  }
  return result;
}

/// The gradient with respect to the length w of each frequency w * u, [heads, pairs]: the sum over
/// the axes of gradient * direction. Unlike that of the logarithm, it can move a frequency off 0.
///
/// `directions` are the unit vectors u, [axes, heads, pairs] as `frequencies`
/// (golden_gate_directions gives [heads, pairs, axes]). Throws InvalidArgument for a wrong number
/// of values.
inline std::vector<double> frequency_length_gradient(std::span<const double> gradient,
                                                     std::span<const double> directions,
                                                     const Frequencies& frequencies) {
  constexpr const char* who = "rope::frequency_length_gradient";
  detail::require(detail::check_chain(who, "gradient", gradient.size(), frequencies));
  detail::require(detail::check_chain(who, "directions", directions.size(), frequencies));
  return detail::dot_over_axes(gradient, directions, frequencies.axes());
}

/// The gradient with respect to the unit vectors u of frequencies w * u, [axes, heads, pairs],
/// along the sphere: w * (gradient - (gradient . u) u) with w = frequency . u. After a step the
/// vectors must be made unit vectors again.
///
/// Throws InvalidArgument for a wrong number of values.
inline std::vector<double> direction_gradient(std::span<const double> gradient,
                                              std::span<const double> directions,
                                              const Frequencies& frequencies) {
  constexpr const char* who = "rope::direction_gradient";
  detail::require(detail::check_chain(who, "gradient", gradient.size(), frequencies));
  detail::require(detail::check_chain(who, "directions", directions.size(), frequencies));
  const std::vector<double> along = detail::dot_over_axes(gradient, directions, frequencies.axes());
  const std::vector<double> lengths =
      detail::dot_over_axes(frequencies.values(), directions, frequencies.axes());
  std::vector<double> result(gradient.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t pair = i % along.size();
    result[i] = detail::keep(lengths[pair] *
                             detail::keep(gradient[i] - detail::keep(along[pair] * directions[i])));
  }
  return result;
}

/// Sets the gradient of every pair to 0 whose frequency is 0 on all axes, so that a step leaves
/// such pairs where they are. Without it they move, as their gradient is not 0.
///
/// Throws InvalidArgument for a wrong number of values; then nothing is written.
inline void keep_zero_frequencies(std::span<double> gradient, const Frequencies& frequencies) {
  detail::require(
      detail::check_chain("rope::keep_zero_frequencies", "gradient", gradient.size(), frequencies));
  const std::span<const double> values = frequencies.values();
  const std::size_t count = values.size() / static_cast<std::size_t>(frequencies.axes());
  for (std::size_t pair = 0; pair < count; ++pair) {
    bool is_zero = true;
    for (std::size_t i = pair; i < values.size(); i += count) is_zero = is_zero && values[i] == 0;
    for (std::size_t i = pair; is_zero && i < values.size(); i += count) gradient[i] = 0;
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
