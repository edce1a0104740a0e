#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/encoding_check.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/source.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/view.hpp"

// Attention scores, and what is added to them before the softmax. A View holds them as
//
//   batch, heads    as in q and k
//   tokens          the queries
//   dim             the keys
//
// so that every layout and every stride that q and k may have is open to them too.

namespace rope {

/// Where the queries and keys of a score matrix stand: query i at first_query + i, key j at
/// first_key + j.
///
/// {.first_query = 0} for a whole sequence; one token decoded with a cache of n keys before it is
/// {.first_query = n}. There is no default: a score matrix does not tell.
struct ScorePositions {
  required<Extent> first_query;
  Extent first_key = 0;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_score_shape(const char* who, std::int64_t heads, std::int64_t queries,
                                std::int64_t keys) noexcept {
  if (heads < 0 || queries < 0 || keys < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: the shape [%lld, %lld, %lld] (heads, queries, keys) has a negative extent",
                   who, static_cast<long long>(heads), static_cast<long long>(queries),
                   static_cast<long long>(keys));
  }
  return {};
}

/// Fails unless every position is from 0 on and fits in 62 bits, so that differences cannot
/// overflow.
inline Status check_score_positions(const char* who, const Layout& scores,
                                    const ScorePositions& positions) noexcept {
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  const std::int64_t first_query = positions.first_query.value();
  const std::int64_t first_key = positions.first_key;
  if (first_query < 0 || first_key < 0 || scores.extent[1] > limit || scores.extent[3] > limit ||
      first_query > limit - scores.extent[1] || first_key > limit - scores.extent[3]) [[unlikely]] {
    return failure(ErrorKind::out_of_range,
                   "%s: positions: %lld queries from %lld on and %lld keys from %lld on are not "
                   "all within 0 .. 2^62",
                   who, static_cast<long long>(scores.extent[1]),
                   static_cast<long long>(first_query), static_cast<long long>(scores.extent[3]),
                   static_cast<long long>(first_key));
  }
  return {};
}

/// Fails unless `name` has [heads, queries, keys] of the scores, and their batch or 1.
inline Status check_bias_shape(const char* who, const char* name, const Layout& bias,
                               const Layout& scores) noexcept {
  if (bias.extent[2] != scores.extent[2] || bias.extent[1] != scores.extent[1] ||
      bias.extent[3] != scores.extent[3] ||
      (bias.extent[0] != 1 && bias.extent[0] != scores.extent[0])) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: %s has the shape [%lld, %lld, %lld, %lld] (batch or 1, heads, queries, keys), but the "
        "scores have [%lld, %lld, %lld, %lld]",
        who, name, static_cast<long long>(bias.extent[0]), static_cast<long long>(bias.extent[2]),
        static_cast<long long>(bias.extent[1]), static_cast<long long>(bias.extent[3]),
        static_cast<long long>(scores.extent[0]), static_cast<long long>(scores.extent[2]),
        static_cast<long long>(scores.extent[1]), static_cast<long long>(scores.extent[3]));
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Packed scores or biases {heads, queries, keys} of one sequence: keys vary fastest.
///
/// As htd(), under the names of this shape; bhtd() makes those of a batch. Throws InvalidArgument
/// for a negative extent and for a `source` of another size. O(1).
template <detail::SourceOf S>
View<detail::source_element_t<S>> scores(S&& source, const Extents<3>& shape) {
  detail::require(detail::check_score_shape("rope::scores", shape[0], shape[1], shape[2]));
  return detail::packed_view<3>(source, "rope::scores", shape, {2, 1, 3});
}

/// Adds a bias [batch or 1, heads, queries, keys] to the scores in place.
///
/// For a bias that several layers share, as T5's, made once. Throws InvalidArgument if the shapes
/// do not match, or if the scores share elements with themselves or with the bias. O(scores).
template <detail::FloatOrDouble T, detail::ReadWith<T> In>
void add_bias(View<T> scores, View<In> bias) {
  constexpr const char* who = "rope::add_bias";
  detail::require(detail::first_failure(
      [&] { return detail::check_bias_shape(who, "bias", bias.layout(), scores.layout()); },
      [&] { return detail::check_output(who, scores.layout()); },
      [&] { return detail::check_disjoint(who, "scores and bias", scores, bias); }));
  const bool shared = bias.batch() == 1;
  for (std::int64_t b = 0; b < scores.batch(); ++b) {
    for (std::int64_t head = 0; head < scores.heads(); ++head) {
      for (std::int64_t query = 0; query < scores.tokens(); ++query) {
        for (std::int64_t key = 0; key < scores.dim(); ++key) {
          scores(b, query, head, key) += bias(shared ? 0 : b, query, head, key);
        }
      }
    }
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
