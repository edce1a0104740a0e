#pragma once

#include <algorithm>
#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/encoding_check.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/encodings/scores.hpp"
#include "rope/error.hpp"
#include "rope/view.hpp"

// Shaw's relative rows: a table [2 k + 1, heads or 1, dim], whose row k + r belongs to keys r
// places after the query, for -k <= r <= k; r beyond is clipped to the nearest of these.

namespace rope {

/// What add_shaw_scores() is told beside its views.
struct ShawScoreOptions {
  /// The factor of the products: 1 / sqrt(dim), as a rule, where the scores have it already, and 1
  /// where they are scaled afterwards.
  required<Real> scale;
  ScorePositions positions;  // has no default either
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// Fails unless `rows` is a table of relative rows for vectors [batch, tokens, heads, dim].
inline Status check_relative_rows(const char* who, const Layout& rows, const char* vectors_name,
                                  const Layout& vectors) noexcept {
  if (rows.extent[0] != 1 || rows.extent[1] % 2 == 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: relative rows must have batch 1 and an odd number 2 k + 1 of rows, but "
                   "have batch %lld and rows %lld",
                   who, static_cast<long long>(rows.extent[0]),
                   static_cast<long long>(rows.extent[1]));
  }
  if ((rows.extent[2] != 1 && rows.extent[2] != vectors.extent[2]) ||
      rows.extent[3] != vectors.extent[3]) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: relative rows have heads %lld and dim %lld, but %s has heads %lld and dim "
                   "%lld",
                   who, static_cast<long long>(rows.extent[2]),
                   static_cast<long long>(rows.extent[3]), vectors_name,
                   static_cast<long long>(vectors.extent[2]),
                   static_cast<long long>(vectors.extent[3]));
  }
  return {};
}

/// Fails unless scores or attention weights have the batch, heads and queries of `vectors`.
inline Status check_scores_of(const char* who, const char* scores_name, const Layout& scores,
                              const char* vectors_name, const Layout& vectors) noexcept {
  if (scores.extent[0] != vectors.extent[0] || scores.extent[1] != vectors.extent[1] ||
      scores.extent[2] != vectors.extent[2]) [[unlikely]] {
    return failure(
        ErrorKind::invalid_argument,
        "%s: %s has [%lld, %lld, %lld] (batch, heads, queries), but %s has [%lld, %lld, %lld]", who,
        scores_name, static_cast<long long>(scores.extent[0]),
        static_cast<long long>(scores.extent[2]), static_cast<long long>(scores.extent[1]),
        vectors_name, static_cast<long long>(vectors.extent[0]),
        static_cast<long long>(vectors.extent[2]), static_cast<long long>(vectors.extent[1]));
  }
  return {};
}

/// Calls run(row, first key, end of keys) for each relative row that the keys of a query use: one
/// run for all keys clipped on a side, one for each key between.
template <class Run>
void for_each_relative_run(std::int64_t relative_of_first_key, std::int64_t keys,
                           std::int64_t max_distance, const Run& run) {
  for (std::int64_t key = 0; key < keys;) {
    const std::int64_t relative = relative_of_first_key + key;
    std::int64_t end = key + 1;
    if (relative <= -max_distance) {
      end = (std::min)(keys, key + (-max_distance - relative) + 1);
    } else if (relative >= max_distance) {
      end = keys;
    }
    run((std::max)(-max_distance, (std::min)(relative, max_distance)) + max_distance, key, end);
    key = end;
  }
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The row of a table of 2 * max_distance + 1 relative rows for relative_position = key position -
/// query position: clipped to -max_distance .. max_distance, plus max_distance.
///
/// Throws InvalidArgument for a negative max_distance, or one of 2^62 and more.
inline std::int64_t shaw_row(Extent relative_position, Extent max_distance) {
  const std::int64_t limit = max_distance;
  if (limit < 0 || limit >= (std::int64_t{1} << 62)) [[unlikely]] {
    detail::raise(
        detail::failure(ErrorKind::invalid_argument,
                        "rope::shaw_row: max_distance must be from 0 to below 2^62, got %lld",
                        static_cast<long long>(limit)));
  }
  const std::int64_t relative = relative_position;
  return (std::max)(-limit, (std::min)(relative, limit)) + limit;
}

/// Adds the relative keys of Shaw et al. to scores [batch, heads, queries, keys] in place: scale *
/// q[query] . relative_keys[clip(key position - query position)].
///
/// q is [batch, queries, heads, dim], relative_keys [1, 2 k + 1, heads or 1, dim].
///
/// Throws InvalidArgument if the shapes do not match or the number of rows is even, if scale is not
/// finite, or if elements of the scores coincide with each other or with an input; OutOfRange for
/// negative positions. Never allocates. O(queries * (dim * min(keys, 2 k + 1) + keys) * heads).
/// Costs (2 k + 1) * dim parameters a layer and product work that grows with q; relative as RoPE
/// is, but blind to distances past k.
///
/// Source: Shaw, Uszkoreit and Vaswani, "Self-Attention with Relative Position Representations"
/// (2018), sections 3.1 to 3.3, equations 2 and 4.
template <detail::FloatOrDouble T, detail::ReadWith<T> Q, detail::ReadWith<T> R>
void add_shaw_scores(View<T> scores, View<Q> q, View<R> relative_keys,
                     const ShawScoreOptions& options) {
  constexpr const char* who = "rope::add_shaw_scores";
  const double factor = options.scale.value();
  const ScorePositions& positions = options.positions;
  detail::require(detail::first_failure(
      [&] { return detail::check_scores_of(who, "scores", scores.layout(), "q", q.layout()); },
      [&] { return detail::check_relative_rows(who, relative_keys.layout(), "q", q.layout()); },
      [&] {
        return detail::is_finite(factor)
                   ? Status()
                   : detail::failure(ErrorKind::invalid_argument, "%s: scale is not finite", who);
      },
      [&] { return detail::check_score_positions(who, scores.layout(), positions); },
      [&] { return detail::check_output(who, scores.layout()); },
      [&] { return detail::check_disjoint(who, "scores and q", scores, q); },
      [&] {
        return detail::check_disjoint(who, "scores and relative_keys", scores, relative_keys);
      }));
  const std::int64_t max_distance = relative_keys.tokens() / 2;
  const std::int64_t first = positions.first_key - positions.first_query.value();
  for (std::int64_t b = 0; b < scores.batch(); ++b) {
    for (std::int64_t head = 0; head < scores.heads(); ++head) {
      const std::int64_t row_head = relative_keys.heads() == 1 ? 0 : head;
      for (std::int64_t query = 0; query < scores.tokens(); ++query) {
        const auto add = [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
          T product = 0;
          for (std::int64_t i = 0; i < q.dim(); ++i) {
            product += q(b, query, head, i) * relative_keys(0, row, row_head, i);
          }
          product *= static_cast<T>(factor);
          for (std::int64_t key = begin; key < end; ++key) {
            scores(b, query, head, key) += product;
          }
        };
        detail::for_each_relative_run(first - query, scores.dim(), max_distance, add);
      }
    }
  }
}

/// Adds the relative values of Shaw et al. to attention outputs [batch, queries, heads, dim] in
/// place: the sum over keys of weights[query, key] * relative_values[clip(key position - query
/// position)].
///
/// `weights` is [batch, heads, queries, keys], the scores after the softmax; relative_values [1,
/// 2 k + 1, heads or 1, dim]. Throws as add_shaw_scores(). Never allocates. O(queries * (dim *
/// min(keys, 2 k + 1) + keys) * heads).
///
/// Source: Shaw, Uszkoreit and Vaswani (2018), section 3.1, equation 3.
template <detail::FloatOrDouble T, detail::ReadWith<T> W, detail::ReadWith<T> R>
void add_shaw_values(View<T> out, View<W> weights, View<R> relative_values,
                     const ScorePositions& positions) {
  constexpr const char* who = "rope::add_shaw_values";
  detail::require(detail::first_failure(
      [&] {
        return detail::check_scores_of(who, "weights", weights.layout(), "out", out.layout());
      },
      [&] {
        return detail::check_relative_rows(who, relative_values.layout(), "out", out.layout());
      },
      [&] { return detail::check_score_positions(who, weights.layout(), positions); },
      [&] { return detail::check_output(who, out.layout()); },
      [&] { return detail::check_disjoint(who, "out and weights", out, weights); },
      [&] {
        return detail::check_disjoint(who, "out and relative_values", out, relative_values);
      }));
  const std::int64_t max_distance = relative_values.tokens() / 2;
  const std::int64_t first = positions.first_key - positions.first_query.value();
  for (std::int64_t b = 0; b < out.batch(); ++b) {
    for (std::int64_t head = 0; head < out.heads(); ++head) {
      const std::int64_t row_head = relative_values.heads() == 1 ? 0 : head;
      for (std::int64_t query = 0; query < out.tokens(); ++query) {
        const auto add = [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
          T weight = 0;
          for (std::int64_t key = begin; key < end; ++key) {
            weight += weights(b, query, head, key);
          }
          for (std::int64_t i = 0; i < out.dim(); ++i) {
            out(b, query, head, i) += weight * relative_values(0, row, row_head, i);
          }
        };
        detail::for_each_relative_run(first - query, weights.dim(), max_distance, add);
      }
    }
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
