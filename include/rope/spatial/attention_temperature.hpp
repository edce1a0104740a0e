#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// A change of the number of tokens that attend to each other.
struct TokenCounts {
  /// In training; at least 2.
  required<Extent> trained;
  /// Now; at least 2.
  required<Extent> now;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline double attention_temperature(const TokenCounts& tokens) {
  const std::int64_t trained = tokens.trained.value();
  const std::int64_t now = tokens.now.value();
  if (trained < 2 || now < 2) {
    raise(failure(ErrorKind::invalid_argument,
                  "rope::attention_temperature: tokens.trained and tokens.now must be at least 2, "
                  "got %lld and %lld",
                  static_cast<long long>(trained), static_cast<long long>(now)));
  }
  return rounded(log(double_double(now)) / log(double_double(trained)));
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// What to multiply the attention logits (or the queries) by at another resolution than that of
/// training, so that attention over more tokens is as sharp as before: ln(now) / ln(trained).
///
/// Throws InvalidArgument for counts below 2. Within 0.51 ulp.
///
/// Source: Xiong, "On N-dimensional rotary positional embeddings" (2025); Chiang and Cholak (2022),
/// "Overcoming a Theoretical Limitation of Self-Attention", for the idea.
inline double attention_temperature(const TokenCounts& tokens) {
  return detail::attention_temperature(tokens);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
