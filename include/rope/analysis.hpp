#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/bits.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/frequencies.hpp"
#include "rope/pairing.hpp"

// What a set of frequencies does to angles and scores, to understand a model or to choose a base.
// Everything here is for frequencies of one axis that all heads share.

namespace rope {

/// What a pair of q and a pair of k give to their score at a distance: cos_factor * cos(distance *
/// frequency) + sin_factor * sin(distance * frequency). Made by score_terms().
struct ScoreTerm {
  double cos_factor;  ///< a: the product of the two pairs, their score at distance 0
  double sin_factor;  ///< b: their cross product, what distance first adds
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_one_ladder(const char* who, const Frequencies& frequencies) noexcept {
  if (frequencies.axes() != 1 || frequencies.heads() != 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: frequencies must have one axis and one set for all heads, but have axes "
                   "%lld and heads %lld",
                   who, static_cast<long long>(frequencies.axes()),
                   static_cast<long long>(frequencies.heads()));
  }
  return {};
}

/// Fails unless every angle can be reduced exactly.
inline Status check_angles(const char* who, const char* name, const Frequencies& frequencies,
                           double position) noexcept {
  if (Status status = check_one_ladder(who, frequencies); !status.ok()) [[unlikely]] {
    return status;
  }
  if (!is_finite(position)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %s is not finite", who, name);
  }
  for (const double frequency : frequencies.values()) {
    if (!(absolute(position) * absolute(frequency) <= max_angle)) [[unlikely]] {
      return failure(ErrorKind::invalid_argument,
                     "%s: %s %g times frequency %g is beyond 2^53 radians", who, name, position,
                     frequency);
    }
  }
  return {};
}

/// A value of every pair.
template <class Value>
std::vector<double> of_each_pair(const Frequencies& frequencies, const Value& value) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(frequencies.pairs()));
  for (const double frequency : frequencies.values()) {
    values.push_back(value(frequency));
  }
  return values;
}

/// cos and sin of position * frequency, the product taken exactly, rounded to double.
inline std::pair<double, double> exact_cos_sin(double position, double frequency) noexcept {
  const SinCos exact = sin_cos(two_product(position, frequency));
  return {keep(exact.cos.hi + exact.cos.lo), keep(exact.sin.hi + exact.sin.lo)};
}

/// The distance from `value` to its rounding to bf16, to nearest even: 8 significant bits, and
/// steps of 2^-133 below 2^-126. For |value| <= 2^100.
inline double bf16_error(double value) noexcept {
  const auto bits = bits_of(value);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  const int step_exponent = (exponent < -126 ? -126 : exponent) - 7;
  // A sum with 1.5 * 2^52 steps has no bits below a step.
  const double large = 1.5 * power_of_two(step_exponent + 52);
  const double rounded = keep(keep(value + large) - large);
  return absolute(keep(rounded - value));
}

inline Status check_score_sizes(const char* who, std::size_t q, std::size_t k) noexcept {
  if (q != k || q == 0 || q % 2 != 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: q and k must have the same even number of features above 0, but have %zu "
                   "and %zu",
                   who, q, k);
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// An angle in degrees.
constexpr double degrees(double radians) noexcept { return radians * (180 / std::numbers::pi); }

/// The wavelength of each pair, in positions: 2 pi / |frequency|, after how many tokens it has
/// turned once. Infinite for a pair that never turns.
///
/// Pairs whose wavelength is longer than the texts of training have never been seen at the angles
/// that lie beyond. Throws InvalidArgument for several axes or sets of heads, as all functions of
/// this header. O(pairs).
inline std::vector<double> wavelengths(const Frequencies& frequencies) {
  detail::require(detail::check_one_ladder("rope::wavelengths", frequencies));
  return detail::of_each_pair(frequencies, [](double frequency) {
    return frequency == 0 ? std::numeric_limits<double>::infinity()
                          : 2 * std::numbers::pi / detail::absolute(frequency);
  });
}

/// By how much each pair is turned at a position, in radians, whole turns included.
///
/// Throws InvalidArgument for a position that is not finite, and angles beyond 2^53 radians, as all
/// functions of this header that take a position or a distance. O(pairs).
inline std::vector<double> angles_radians(const Frequencies& frequencies, Real position) {
  const double at = position;
  detail::require(detail::check_angles("rope::angles_radians", "position", frequencies, at));
  return detail::of_each_pair(frequencies, [at](double frequency) { return at * frequency; });
}

/// The angle of the pair that turns least, in radians, without its sign: how much of a circle is
/// left to longer texts. O(pairs).
inline double slowest_angle_radians(const Frequencies& frequencies, Real position) {
  const double at = position;
  detail::require(detail::check_angles("rope::slowest_angle_radians", "position", frequencies, at));
  double slowest = (std::numeric_limits<double>::max)();
  for (const double frequency : frequencies.values()) {
    const double angle = detail::absolute(at * frequency);
    slowest = angle < slowest ? angle : slowest;
  }
  return slowest;
}

/// How far the angles of two schemes are apart at a position: for each pair that of `a` minus that
/// of `b`, in radians, whole turns included.
///
/// Also throws InvalidArgument if the numbers of pairs differ. O(pairs).
inline std::vector<double> angle_differences_radians(const Frequencies& a, const Frequencies& b,
                                                     Real position) {
  constexpr const char* who = "rope::angle_differences_radians";
  const double at = position;
  detail::require(detail::check_angles(who, "position", a, at));
  detail::require(detail::check_angles(who, "position", b, at));
  if (a.pairs() != b.pairs()) [[unlikely]] {
    detail::raise(
        detail::failure(ErrorKind::invalid_argument, "%s: a has %lld pairs, but b has %lld", who,
                        static_cast<long long>(a.pairs()), static_cast<long long>(b.pairs())));
  }
  std::vector<double> differences;
  differences.reserve(static_cast<std::size_t>(a.pairs()));
  for (std::int64_t i = 0; i < a.pairs(); ++i) {
    differences.push_back(at * (a(0, 0, i) - b(0, 0, i)));
  }
  return differences;
}

/// How wrong an angle is that is computed in float32, as much model code does: for each pair
/// float(float(position) * float(frequency)) minus position * frequency, in radians.
///
/// Half a unit in the last place of a large angle is a large phase: 0.03 radians at position
/// 999,999. The frequency is taken as the rounding of the exact one; code that computes it in
/// float32 too is a little further off. O(pairs).
inline std::vector<double> float32_angle_errors_radians(const Frequencies& frequencies,
                                                        Extent position) {
  const auto at = static_cast<double>(std::int64_t{position});
  detail::require(
      detail::check_angles("rope::float32_angle_errors_radians", "position", frequencies, at));
  return detail::of_each_pair(frequencies, [at](double frequency) {
    // A product of two floats is exact in double.
    const double product = static_cast<double>(static_cast<float>(at)) *
                           static_cast<double>(static_cast<float>(frequency));
    const auto angle = static_cast<double>(static_cast<float>(product));
    const detail::DoubleDouble error = -detail::two_product(at, frequency) + angle;
    return detail::keep(error.hi + error.lo);
  });
}

/// How wrong a table is whose entries are rounded to bf16: the largest error of cos or sin of any
/// pair at a position.
///
/// At most 2^-9 for magnitude 1, since bf16 has steps of 2^-8 below 1. O(pairs).
inline double bf16_table_error(const Frequencies& frequencies, Real position) {
  const double at = position;
  detail::require(detail::check_angles("rope::bf16_table_error", "position", frequencies, at));
  if (!(detail::absolute(frequencies.magnitude()) <= 0x1p100)) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "rope::bf16_table_error: magnitude %g is beyond 2^100",
                                  frequencies.magnitude()));
  }
  double largest = 0;
  for (const double frequency : frequencies.values()) {
    const auto [cos, sin] = detail::exact_cos_sin(at, frequency);
    for (const double entry : {cos, sin}) {
      const double error = detail::bf16_error(entry * frequencies.magnitude());
      largest = error > largest ? error : largest;
    }
  }
  return largest;
}

/// The decay bound of RoFormer at a distance: the mean of |S_j| for j = 1 .. pairs, where S_j is
/// the sum of exp(i * distance * frequency) over the first j pairs.
///
/// The score of any q and k at that distance is at most this times pairs times the largest jump
/// between the products of neighbouring pairs. It falls with the distance, but not steadily.
/// O(pairs).
///
/// Source: Su et al., "RoFormer" (2021), section 3.4.3.
inline double decay_bound(const Frequencies& frequencies, Real distance) {
  const double at = distance;
  detail::require(detail::check_angles("rope::decay_bound", "distance", frequencies, at));
  double sum_cos = 0;
  double sum_sin = 0;
  double sizes = 0;
  for (const double frequency : frequencies.values()) {
    const auto [cos, sin] = detail::exact_cos_sin(at, frequency);
    sum_cos += cos;
    sum_sin += sin;
    sizes += std::sqrt(sum_cos * sum_cos + sum_sin * sum_sin);
  }
  return sizes / static_cast<double>(frequencies.pairs());
}

/// The two factors of each pair of q and k, from which the score at any distance follows. q and k
/// are the rotated part of a head before its rotation.
///
/// Throws InvalidArgument if the sizes are not equal, even and above 0. O(pairs).
///
/// Source: Su et al., "RoFormer" (2021), section 3.4.2, multiplied out.
template <Pairing pairing, class T>
std::vector<ScoreTerm> score_terms(std::span<const T> q, std::span<const T> k) {
  static_assert(is_valid(pairing));
  detail::require(detail::check_score_sizes("rope::score_terms", q.size(), k.size()));
  const std::size_t pairs = q.size() / 2;
  constexpr bool halves = pairing == Pairing::half_split;
  std::vector<ScoreTerm> terms;
  terms.reserve(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::size_t first = halves ? i : 2 * i;
    const std::size_t second = halves ? i + pairs : 2 * i + 1;
    const auto q0 = static_cast<double>(q[first]);
    const auto q1 = static_cast<double>(q[second]);
    const auto k0 = static_cast<double>(k[first]);
    const auto k1 = static_cast<double>(k[second]);
    terms.push_back({q0 * k0 + q1 * k1, q0 * k1 - q1 * k0});
  }
  return terms;
}

/// What each pair gives to the score of a query at position m and a key at position m - distance,
/// before the scaling by 1/sqrt(dim).
///
/// With a magnitude, which multiplies q and k both, times its square. Also throws InvalidArgument
/// if there is not one term for each pair. O(pairs).
inline std::vector<double> pair_scores(std::span<const ScoreTerm> terms,
                                       const Frequencies& frequencies, Real distance) {
  constexpr const char* who = "rope::pair_scores";
  const double at = distance;
  detail::require(detail::check_angles(who, "distance", frequencies, at));
  if (!std::cmp_equal(terms.size(), frequencies.pairs())) [[unlikely]] {
    detail::raise(detail::failure(ErrorKind::invalid_argument,
                                  "%s: %zu terms, but the frequencies have %lld pairs", who,
                                  terms.size(), static_cast<long long>(frequencies.pairs())));
  }
  const double square = frequencies.magnitude() * frequencies.magnitude();
  auto term = terms.begin();
  return detail::of_each_pair(frequencies, [&](double frequency) {
    const auto [cos, sin] = detail::exact_cos_sin(at, frequency);
    const ScoreTerm& factors = *term++;
    return square * (factors.cos_factor * cos + factors.sin_factor * sin);
  });
}

/// The score at a distance: the sum of pair_scores(). O(pairs).
inline double score_at(std::span<const ScoreTerm> terms, const Frequencies& frequencies,
                       Real distance) {
  double sum = 0;
  for (const double score : pair_scores(terms, frequencies, distance)) {
    sum += score;
  }
  return sum;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
