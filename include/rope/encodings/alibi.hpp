#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/encoding_check.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/encodings/scores.hpp"
#include "rope/error.hpp"
#include "rope/view.hpp"

namespace rope {
namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_alibi_heads(std::int64_t heads) noexcept {
  constexpr const char* who = "rope::alibi_slopes";
  if (heads > (1 << 20)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: heads must be at most 2^20, got %lld", who,
                   static_cast<long long>(heads));
  }
  return check_at_least(who, "heads", heads, 1);
}

inline Status check_slopes(const char* who, std::span<const double> slopes,
                           std::int64_t heads) noexcept {
  if (!std::cmp_equal(slopes.size(), heads)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: %zu slopes, but the scores have heads %lld",
                   who, slopes.size(), static_cast<long long>(heads));
  }
  for (std::size_t head = 0; head < slopes.size(); ++head) {
    if (!is_finite(slopes[head])) [[unlikely]] {
      return failure(ErrorKind::invalid_argument, "%s: slopes[%zu] is not finite", who, head);
    }
  }
  return {};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The slopes of ALiBi, one for each head.
///
/// For n heads, n a power of two: 2^(-8 (h + 1) / n); 1/2, 1/4 .. 1/256 for 8. For other n, as the
/// authors' code: those of the largest power of two below n, then every second one of twice as many
/// heads, from the first on. Within 0.501 ulp, with the same bits on every platform. Throws
/// InvalidArgument for fewer than 1 head or more than 2^20. O(heads).
///
/// Source: Press, Smith and Lewis, "Train Short, Test Long: Attention with Linear Biases Enables
/// Input Length Extrapolation" (2021), section 3 and its published code.
inline std::vector<double> alibi_slopes(Extent heads) {
  const std::int64_t count = heads;
  detail::require(detail::check_alibi_heads(count));
  std::int64_t power_of_two = 1;
  while (power_of_two <= count / 2) {
    power_of_two *= 2;
  }
  std::vector<double> slopes;
  slopes.reserve(static_cast<std::size_t>(count));
  for (std::int64_t head = 0; head < power_of_two; ++head) {
    slopes.push_back(detail::power(2.0, -8 * (head + 1), power_of_two));
  }
  for (std::int64_t head = 0; head < count - power_of_two; ++head) {
    slopes.push_back(detail::power(2.0, -8 * (2 * head + 1), 2 * power_of_two));
  }
  return slopes;
}

/// Adds ALiBi's bias -slope[head] * |query position - key position| to scores [batch, heads,
/// queries, keys] in place.
///
/// Add it after the scaling by 1/sqrt(dim) and before the softmax; q and k get no other encoding.
/// `slopes` come from alibi_slopes(), or are any finite numbers, one for each head (a slice of the
/// slopes where heads are spread over machines). Keys after the query get the bias of the same
/// distance: right for an encoder, and hidden by the mask in a decoder.
///
/// Throws InvalidArgument if there is not one finite slope for each head, or if elements of the
/// scores coincide; OutOfRange for negative positions. Never allocates. O(scores): no parameters
/// and no memory, but a pass over every score, where RoPE passes over q and k.
template <detail::FloatOrDouble T>
void add_alibi(View<T> scores, std::span<const double> slopes, const ScorePositions& positions) {
  constexpr const char* who = "rope::add_alibi";
  detail::require(detail::first_failure(
      [&] { return detail::check_slopes(who, slopes, scores.heads()); },
      [&] { return detail::check_score_positions(who, scores.layout(), positions); },
      [&] { return detail::check_output(who, scores.layout()); }));
  const std::int64_t first_distance = positions.first_query.value() - positions.first_key;
  for (std::int64_t b = 0; b < scores.batch(); ++b) {
    for (std::int64_t head = 0; head < scores.heads(); ++head) {
      const double slope = slopes[static_cast<std::size_t>(head)];
      for (std::int64_t query = 0; query < scores.tokens(); ++query) {
        for (std::int64_t key = 0; key < scores.dim(); ++key) {
          const std::int64_t distance = first_distance + query - key;
          const auto size = static_cast<double>(distance < 0 ? -distance : distance);
          scores(b, query, head, key) -= static_cast<T>(slope * size);
        }
      }
    }
  }
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
