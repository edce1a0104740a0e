#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/encoding_check.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/encodings/scores.hpp"
#include "rope/error.hpp"
#include "rope/view.hpp"

namespace rope {

/// How T5 sorts distances into buckets.
struct T5BucketOptions {
  /// True where keys lie on both sides of the query (an encoder): half of the buckets for each
  /// side. False where no key lies after it (a decoder).
  required<bool> bidirectional;
  /// `relative_attention_num_buckets` of Hugging Face. At least 2, and for both directions at least
  /// 4 and even.
  Extent buckets = 32;
  /// `relative_attention_max_distance`: from here on everything is in the last bucket. Above half
  /// of one direction's buckets, below 2^53.
  Extent max_distance = 128;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_t5_buckets(const T5BucketOptions& options) noexcept {
  constexpr const char* who = "rope::T5Buckets";
  const bool bidirectional = options.bidirectional.value();
  const std::int64_t buckets = options.buckets;
  const std::int64_t max_distance = options.max_distance;
  if (buckets < (bidirectional ? 4 : 2) || buckets > (1 << 20) ||
      (bidirectional && buckets % 2 != 0)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   bidirectional
                       ? "%s: buckets for both directions must be even, from 4 to 2^20, got %lld"
                       : "%s: buckets must be from 2 to 2^20, got %lld",
                   who, static_cast<long long>(buckets));
  }
  const std::int64_t exact = (bidirectional ? buckets / 2 : buckets) / 2;
  if (max_distance <= exact || max_distance >= (std::int64_t{1} << 53)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: max_distance must be above the %lld distances with a bucket of their own "
                   "and below 2^53, got %lld",
                   who, static_cast<long long>(exact), static_cast<long long>(max_distance));
  }
  return {};
}

/// The natural logarithm rounded to float, without the mathematics library.
inline float log_float(double x) noexcept {
  const DoubleDouble exact = log(x);
  return static_cast<float>(keep(exact.hi + exact.lo));
}

/// a / b of two floats, rounded once. The quotient in double has more than twice the bits of a
/// float, so rounding it again changes nothing.
inline float float_quotient(float a, float b) noexcept {
  return static_cast<float>(rounded_quotient(static_cast<double>(a), static_cast<double>(b)));
}

/// The logarithmic part of the original, step by step in float32 as there, for distance >= exact.
class T5Logarithm {
 public:
  T5Logarithm(std::int64_t buckets, std::int64_t max_distance) noexcept
      : exact_(buckets / 2),
        logarithmic_(buckets - exact_),
        reach_(static_cast<float>(
            log_ratio(static_cast<double>(max_distance), static_cast<double>(exact_)))) {}

  std::int64_t exact() const noexcept { return exact_; }

  std::int64_t bucket(std::int64_t distance) const noexcept {
    const float quotient = float_quotient(static_cast<float>(distance), static_cast<float>(exact_));
    const float share = float_quotient(log_float(static_cast<double>(quotient)), reach_);
    const auto scaled =
        static_cast<float>(keep(static_cast<double>(share) * static_cast<double>(logarithmic_)));
    const auto step = static_cast<std::int64_t>(scaled);
    return exact_ + (std::min)(step, logarithmic_ - 1);
  }

 private:
  static double log_ratio(double numerator, double denominator) noexcept {
    const DoubleDouble value = log(rounded_quotient(numerator, denominator));
    return keep(value.hi + value.lo);
  }

  std::int64_t exact_;
  std::int64_t logarithmic_;
  float reach_;
};

/// The least distance of each bucket of one direction; where a bucket is empty, that of the next.
inline std::vector<std::int64_t> t5_first_distances(const T5BucketOptions& options) {
  require(check_t5_buckets(options));
  const std::int64_t buckets =
      options.bidirectional.value() ? options.buckets / 2 : std::int64_t{options.buckets};
  const T5Logarithm logarithm(buckets, options.max_distance);
  std::vector<std::int64_t> first(static_cast<std::size_t>(buckets));
  for (std::int64_t bucket = 0; bucket < buckets; ++bucket) {
    std::int64_t lowest = bucket;
    if (bucket > logarithm.exact()) {
      // Buckets grow with the distance, and max_distance is in the last one.
      lowest = logarithm.exact();
      std::int64_t highest = options.max_distance;
      while (lowest < highest) {
        const std::int64_t middle = lowest + (highest - lowest) / 2;
        if (logarithm.bucket(middle) >= bucket) {
          highest = middle;
        } else {
          lowest = middle + 1;
        }
      }
    }
    first[static_cast<std::size_t>(bucket)] = lowest;
  }
  return first;
}

/// Neighbouring relative positions in one bucket, as far as they go upwards.
struct T5Run {
  std::int64_t bucket;
  std::int64_t last;  ///< the last relative position of the run
};

inline T5Run t5_run(std::span<const std::int64_t> first, bool bidirectional,
                    std::int64_t relative_position) noexcept {
  constexpr std::int64_t everything = (std::numeric_limits<std::int64_t>::max)();
  const bool after = relative_position > 0;
  if (after && !bidirectional) {
    return {0, everything};
  }
  // Bounded, since the least integer has no positive counterpart; no bucket starts so far away.
  constexpr std::int64_t far = std::int64_t{1} << 53;
  const std::int64_t bounded = (std::max)(-far, (std::min)(relative_position, far));
  const std::int64_t distance = after ? bounded : -bounded;
  // The last bucket that starts at or before the distance lies within low .. high - 1.
  std::size_t low = 0;
  std::size_t high = first.size();
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (first[middle] <= distance ? low : high) = middle;
  }
  const auto bucket = static_cast<std::int64_t>(low);
  if (!after) {
    return {bucket, -first[low]};
  }
  return {bucket + static_cast<std::int64_t>(first.size()),
          high == first.size() ? everything : first[high] - 1};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// The buckets of T5's relative position bias: bucket numbers for the distance from a query to a
/// key.
///
/// Of one direction's buckets (half of them if bidirectional), the first half hold one distance
/// each, and the rest split the distances up to max_distance evenly on a logarithmic scale; what
/// lies beyond is in the last. The logarithm is taken in float32 in the steps of the original, but
/// correctly rounded and without the mathematics library: the integers are those of the formula, on
/// every platform. Immutable.
///
/// Source: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
/// Transformer" (2020), section 2.1 and its published code.
class T5Buckets {
 public:
  /// Throws InvalidArgument for numbers of buckets and distances outside what the options say.
  /// O(buckets * log(max_distance)), about a microsecond a step.
  ROPE_DETAIL_FORWARD explicit T5Buckets(const T5BucketOptions& options)
      : first_distance_(detail::t5_first_distances(options)),
        bidirectional_(options.bidirectional.value()) {}

  /// How many buckets there are: the rows of the table of learned biases.
  std::int64_t buckets() const noexcept {
    return static_cast<std::int64_t>(first_distance_.size()) * (bidirectional_ ? 2 : 1);
  }
  bool bidirectional() const noexcept { return bidirectional_; }

  /// The bucket of `relative_position` = key position - query position, from 0 to buckets() - 1.
  ///
  /// Keys at or before the query have the lower half of the buckets, or all of them if there is one
  /// direction; keys after it then share bucket 0. O(log(buckets)).
  ROPE_DETAIL_FORWARD std::int64_t operator()(Extent relative_position) const {
    return detail::t5_run(first_distance_, bidirectional_, relative_position).bucket;
  }

  /// The least distance of each bucket of one direction; where a bucket is empty, that of the next.
  std::span<const std::int64_t> first_distances() const noexcept { return first_distance_; }

 private:
  std::vector<std::int64_t> first_distance_;
  bool bidirectional_;
};

namespace detail::inline ROPE_DETAIL_UNIT {

template <class T>
Status check_t5_bias(const char* who, const char* names, View<T> out, View<const T> weights,
                     const T5Buckets& buckets, const ScorePositions& positions) noexcept {
  return first_failure([&] { return check_matrix(who, "weights", weights.layout()); },
                       [&] {
                         return check_extent(who, "weights has rows", weights.tokens(),
                                             "there are buckets", buckets.buckets());
                       },
                       [&] {
                         return check_extent(who, "weights has columns", weights.dim(),
                                             "the scores have heads", out.heads());
                       },
                       [&] { return check_score_positions(who, out.layout(), positions); },
                       [&] { return check_output(who, out.layout()); },
                       [&] { return check_disjoint(who, names, out, weights); });
}

/// Calls apply(score, bias) for every score.
template <class T, class Apply>
void for_each_t5_bias(View<T> out, View<const T> weights, const T5Buckets& buckets,
                      const ScorePositions& positions, const Apply& apply) {
  const std::int64_t first = positions.first_key - positions.first_query.value();
  for (std::int64_t b = 0; b < out.batch(); ++b) {
    for (std::int64_t head = 0; head < out.heads(); ++head) {
      for (std::int64_t query = 0; query < out.tokens(); ++query) {
        for (std::int64_t key = 0; key < out.dim();) {
          const std::int64_t relative = first - query + key;
          const T5Run run = t5_run(buckets.first_distances(), buckets.bidirectional(), relative);
          const T bias = weights(0, run.bucket, 0, head);
          const std::int64_t left = out.dim() - key;
          const std::int64_t end =
              key + (run.last - relative < left ? run.last - relative + 1 : left);
          for (; key < end; ++key) {
            apply(out(b, query, head, key), bias);
          }
        }
      }
    }
  }
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Adds T5's bias weights[bucket, head] to scores [batch, heads, queries, keys] in place.
///
/// `weights` is a matrix [buckets, heads] (Hugging Face's `relative_attention_bias.weight`). T5
/// does not scale its scores by 1/sqrt(dim), and shares one table between all layers of a stack:
/// then make the bias once with write_t5_bias().
///
/// Throws InvalidArgument if weights do not have a row for each bucket and a column for each head,
/// or if elements of the scores coincide with each other or with weights; OutOfRange for negative
/// positions. Never allocates. O(scores). Costs buckets * heads parameters and a pass over the
/// scores, where RoPE has none and passes over q and k; relative as RoPE is, but distances past
/// max_distance are all alike.
template <detail::FloatOrDouble T, detail::ReadWith<T> In>
void add_t5_bias(View<T> scores, View<In> weights, const T5Buckets& buckets,
                 const ScorePositions& positions) {
  detail::require(detail::check_t5_bias<T>("rope::add_t5_bias", "scores and weights", scores,
                                           weights, buckets, positions));
  detail::for_each_t5_bias<T>(scores, weights, buckets, positions,
                              [](T& score, T bias) { score += bias; });
}

/// Writes T5's bias, [batch, heads, queries, keys], for add_bias(). As add_t5_bias().
template <detail::FloatOrDouble T, detail::ReadWith<T> In>
void write_t5_bias(View<T> bias, View<In> weights, const T5Buckets& buckets,
                   const ScorePositions& positions) {
  detail::require(detail::check_t5_bias<T>("rope::write_t5_bias", "bias and weights", bias, weights,
                                           buckets, positions));
  detail::for_each_t5_bias<T>(bias, weights, buckets, positions,
                              [](T& entry, T value) { entry = value; });
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
