#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "rope/argument.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/detail/work_split.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/view.hpp"

namespace rope {

/// The temperature of long contexts: a query at position p is multiplied by
/// 1 + beta * ln(1 + floor((p + offset) / period)), whether or not its layer rotates.
///
/// * Llama 4: beta `attn_scale` (0.1), period `floor_scale` (8192), offset 1; only in the layers
///   without RoPE, and only if `attn_temperature_tuning` is set.
/// * Ministral 3 and Mistral 4: beta `llama_4_scaling_beta`, period
///   `original_max_position_embeddings`, offset 0; in all layers.
///
/// Source: the code published with Llama 4 (2025); Hugging Face transformers 5 for the two Mistral
/// models. llama.cpp has the three numbers as `attention.temperature_scale`, `_length` and an
/// offset.
struct QueryScale {
  /// Finite and not negative.
  required<Real> beta;
  /// In positions; at least 1.
  required<Extent> period;
  /// Added to the position; not negative.
  Extent offset = 0;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_query_scale(const char* who, const QueryScale& scale) noexcept {
  const double beta = scale.beta.value();
  if (!is_finite(beta) || beta < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scale.beta must be finite and not negative, got %g", who, beta);
  }
  const std::int64_t period = scale.period.value();
  const std::int64_t offset = scale.offset;
  if (period < 1 || offset < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scale.period must be at least 1 and scale.offset not negative, got %lld "
                   "and %lld",
                   who, static_cast<long long>(period), static_cast<long long>(offset));
  }
  return {};
}

/// How many positions there are whose sum with the offset can be counted.
inline std::int64_t countable_positions(const QueryScale& scale) noexcept {
  return (std::numeric_limits<std::int64_t>::max)() - scale.offset;
}

/// For whole periods, (position + offset) / period.
inline double query_scale_of_periods(double beta, std::int64_t periods) {
  return rounded(log(double_double(periods) + 1.0) * beta + 1.0);
}

inline Status check_query_position(const char* who, const QueryScale& scale,
                                   std::int64_t position) noexcept {
  if (position < 0 || position >= countable_positions(scale)) [[unlikely]] {
    return failure(ErrorKind::out_of_range,
                   "%s: position must not be negative, nor reach 2^63 with the offset %lld, got "
                   "%lld",
                   who, static_cast<long long>(scale.offset), static_cast<long long>(position));
  }
  return {};
}

inline double query_scale(const QueryScale& scale, std::int64_t position) {
  constexpr const char* who = "rope::query_scale";
  require(check_query_scale(who, scale));
  require(check_query_position(who, scale, position));
  return query_scale_of_periods(scale.beta.value(),
                                (position + scale.offset) / scale.period.value());
}

inline Status check_scale_queries(const QueryScale& scale, const Positions& positions,
                                  const Layout& layout) noexcept {
  constexpr const char* who = "rope::scale_queries";
  if (Status status = check_query_scale(who, scale); !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_positions(who, positions, layout, countable_positions(scale));
      !status.ok()) [[unlikely]] {
    return status.kind() != ErrorKind::out_of_range
               ? status
               : failure(ErrorKind::out_of_range,
                         "%s: positions must not be negative, nor reach 2^63 with the offset %lld",
                         who, static_cast<long long>(scale.offset));
  }
  return check_output(who, layout);
}

/// The tokens number `first` to `end` - 1, counted over the batch.
template <class T>
void scale_tokens(View<T> q, const QueryScale& scale, const Positions& positions,
                  std::int64_t first, std::int64_t end) {
  const std::int64_t period = scale.period.value();
  std::int64_t periods = -1;
  compute_type_t<T> factor = 1;
  for (std::int64_t n = first; n < end; ++n) {
    const std::int64_t batch = n / q.tokens();
    const std::int64_t token = n % q.tokens();
    const std::int64_t own = (positions.position(batch, token) + scale.offset) / period;
    if (own != periods) {
      periods = own;
      factor = static_cast<compute_type_t<T>>(query_scale_of_periods(scale.beta.value(), own));
    }
    for (std::int64_t head = 0; head < q.heads(); ++head) {
      for (std::int64_t i = 0; i < q.dim(); ++i) {
        T& element = q(batch, token, head, i);
        element = static_cast<T>(static_cast<compute_type_t<T>>(element) * factor);
      }
    }
  }
}

template <class T>
void scale_queries(View<T> q, const QueryScale& scale, const Positions& positions,
                   const ExecutorRef& executor) {
  require(check_scale_queries(scale, positions, q.layout()));
  if (q.empty()) return;
  const std::int64_t tokens = q.batch() * q.tokens();
  const std::int64_t parts =
      part_count(executor, 2 * tokens * q.heads() * q.dim() * static_cast<std::int64_t>(sizeof(T)));
  if (parts == 1) return scale_tokens(q, scale, positions, 0, tokens);
  executor(parts, [&](std::int64_t index) {
    const HeadRange part = part_of({0, tokens}, 1, index, parts);
    scale_tokens(q, scale, positions, part.begin, part.end);
  });
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// What a query at `position` is multiplied by.
///
/// Throws InvalidArgument for what QueryScale's fields forbid, OutOfRange for a negative position.
inline double query_scale(const QueryScale& scale, Extent position) {
  return detail::query_scale(scale, position);
}

/// Multiplies every feature of q, [batch, tokens, heads, dim], in place by the factor of its
/// token's position. The order with rotate() does not matter, up to rounding.
///
/// Everything is checked before the first write: throws InvalidArgument for what QueryScale's
/// fields forbid, a shape of the positions that is not that of q, and two indices of q that lead to
/// the same element; OutOfRange for a negative position. The same bits for any executor. O(batch *
/// tokens * heads * dim).
template <Element T>
requires(!std::is_const_v<T>) void scale_queries(View<T> q, const QueryScale& scale,
                                                 const Positions& positions,
                                                 ExecutorRef executor = {}) {
  detail::scale_queries(q, scale, positions, executor);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
