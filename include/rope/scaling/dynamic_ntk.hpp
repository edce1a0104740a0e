#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/scaling/ntk.hpp"

namespace rope {

/// Dynamic NTK: the base grows with the sequence once that is longer than `max_positions`, M. With
/// s the larger of M and the length given to frequencies(), it becomes
/// base * (factor * s / M - (factor - 1))^(d / (d - 2)), d = rotary_dim.
///
/// Without a length, or with one up to M, the frequencies are the plain ones. A factor of 1 grows
/// too. Keys that were cached at another length keep their old frequencies: see next_length() for
/// how Hugging Face goes on between calls. Needs rotary_dim above 2.
///
/// Source: Peng et al., "YaRN" (2023), appendix B; `rope_type` "dynamic" of Hugging Face without
/// `alpha`, keys `factor` and, outside the scheme, `max_position_embeddings`.
struct DynamicNtk {
  /// Finite and above 0.
  required<Real> factor;
  /// At least 1. The length that the model was trained for, not the longest to be used.
  required<Extent> max_positions;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_scaling(const char* who, const DynamicNtk& scaling,
                            std::int64_t rotary_dim) noexcept {
  return first_failure(check_positive(who, "factor", scaling.factor.value()),
                       check_length(who, "max_positions", scaling.max_positions.value()),
                       check_base_change(who, rotary_dim));
}

/// How much the base grows, to the power of d / (d - 2): 1 up to max_positions.
inline DoubleDouble dynamic_ntk_alpha(const DynamicNtk& scaling, const Ladder& ladder) {
  const std::int64_t max_positions = scaling.max_positions.value();
  const std::int64_t length = ladder.sequence_length.value_or(max_positions);
  if (length <= max_positions) return exactly(1.0);
  // Written as 1 + factor * (s - M) / M, in which nothing cancels.
  return quotient(length - max_positions, max_positions) * scaling.factor.value() + 1.0;
}

inline auto frequency_rule(const DynamicNtk& scaling, const Ladder& ladder) {
  return base_change_rule(log(dynamic_ntk_alpha(scaling, ladder)), ladder);
}

/// 2 to the power of ceil(log2(sequence_length / max_positions) + 1), minus 1, and at least 1.
inline double qwen_alpha(std::int64_t sequence_length, std::int64_t max_positions) {
  require(first_failure(
      check_argument_length("rope::qwen_alpha", "max_positions", max_positions),
      check_argument_length("rope::qwen_alpha", "sequence_length", sequence_length, 0)));
  double power = 2.0;
  // Unsigned, because the last doubling may reach 2^63.
  for (auto reach = static_cast<std::uint64_t>(max_positions);
       reach < static_cast<std::uint64_t>(sequence_length); reach *= 2) {
    power *= 2.0;
  }
  return power - 1.0;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// Qwen's dynamic NTK: the alpha of NtkAlpha for a sequence of this length. It is 1 up to
/// `max_positions` (Qwen's `seq_length`), 3 up to twice that, 7 up to four times, and so on:
/// 2^ceil(log2(s / M) + 1) - 1.
///
/// Throws InvalidArgument for max_positions below 1 and a negative sequence_length.
///
/// Source: the modelling code published with Qwen-7B (2023), `use_dynamic_ntk`.
inline double qwen_alpha(Extent sequence_length, Extent max_positions) {
  return detail::qwen_alpha(sequence_length, max_positions);
}

/// The length that a Hugging Face model of dynamic NTK uses for its frequencies after a call, from
/// the length that it used so far (at first `max_positions`) and that of the call: it grows with
/// the longest call, and goes back to `max_positions` at a call that is shorter than that.
///
/// Give the result to frequencies(). `call_length` is the largest position of the whole batch + 1.
/// Throws InvalidArgument for max_positions below 1 and negative lengths.
///
/// Source: Hugging Face transformers 5, `dynamic_rope_update`.
inline std::int64_t next_length(Extent kept_length, Extent call_length, Extent max_positions) {
  constexpr const char* who = "rope::next_length";
  detail::require(
      detail::first_failure(detail::check_argument_length(who, "max_positions", max_positions),
                            detail::check_argument_length(who, "kept_length", kept_length, 0),
                            detail::check_argument_length(who, "call_length", call_length, 0)));
  if (call_length > kept_length) return call_length;
  return call_length < max_positions && kept_length > max_positions ? max_positions : kept_length;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
