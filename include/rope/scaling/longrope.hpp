#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// LongRoPE, "su" in older configs: each pair has a searched divisor, from one list up to the
/// original context and from another beyond it.
///
/// The length given to frequencies() decides, per sequence: the long list if it is above
/// original_max_positions, the short list up to that, and where no length is given. Keys that were
/// cached with the other list keep it until they are rotated again. (Engines differ: Hugging Face
/// switches the whole batch by its longest row; vLLM and llama.cpp decide once, by the configured
/// context.)
///
/// The magnitude of cos and sin, for both lists: `attention_factor` if given, else
/// sqrt(1 + ln(f) / ln(original_max_positions)) with f = `factor` if given, else max_positions /
/// original_max_positions; 1 where f is at most 1. `short_magnitude` and `long_magnitude` replace
/// it for their list.
///
/// Source: Ding et al., "LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens" (2024),
/// section 3.2, and the code published with Phi-3; `rope_type` "longrope" of Hugging Face.
struct LongRope {
  /// Keys `short_factor` and `long_factor`: a divisor for each pair, finite and above 0.
  std::vector<double> short_factors = {};
  std::vector<double> long_factors = {};
  /// Key `original_max_position_embeddings`. At least 2.
  required<Extent> original_max_positions;
  /// `max_position_embeddings` of the config. At least 1.
  std::optional<Extent> max_positions = std::nullopt;
  /// Finite and above 0. One of max_positions, factor, attention_factor and the pair of magnitudes
  /// must be given.
  std::optional<Real> factor = std::nullopt;
  /// Finite and above 0.
  std::optional<Real> attention_factor = std::nullopt;
  /// `short_mscale` and `long_mscale` of Phi-3.5-MoE and vLLM. Finite and above 0.
  std::optional<Real> short_magnitude = std::nullopt;
  std::optional<Real> long_magnitude = std::nullopt;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_longrope_magnitude(const char* who, const LongRope& scaling) noexcept {
  const bool is_given = scaling.max_positions || scaling.factor || scaling.attention_factor ||
                        (scaling.short_magnitude && scaling.long_magnitude);
  if (!is_given) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scaling needs max_positions, factor or attention_factor, or both "
                   "short_magnitude and long_magnitude, for the magnitude of LongRoPE",
                   who);
  }
  return first_failure(check_length(who, "max_positions", scaling.max_positions.value_or(1)),
                       check_positive_if_given(who, "factor", scaling.factor),
                       check_positive_if_given(who, "attention_factor", scaling.attention_factor),
                       check_positive_if_given(who, "short_magnitude", scaling.short_magnitude),
                       check_positive_if_given(who, "long_magnitude", scaling.long_magnitude));
}

inline Status check_scaling(const char* who, const LongRope& scaling,
                            std::int64_t rotary_dim) noexcept {
  return first_failure(
      check_list(who, "short_factors", scaling.short_factors, rotary_dim),
      check_list(who, "long_factors", scaling.long_factors, rotary_dim),
      // ln of it is divided by.
      check_length(who, "original_max_positions", scaling.original_max_positions.value(), 2),
      check_longrope_magnitude(who, scaling));
}

inline bool is_long(const LongRope& scaling, const Ladder& ladder) noexcept {
  return ladder.sequence_length.value_or(0) > scaling.original_max_positions.value();
}

inline auto frequency_rule(const LongRope& scaling, const Ladder& ladder) {
  const double* const factors =
      (is_long(scaling, ladder) ? scaling.long_factors : scaling.short_factors).data();
  return
      [factors](std::int64_t pair, DoubleDouble plain) { return plain / exactly(factors[pair]); };
}

inline double scaling_magnitude(const LongRope& scaling, const Ladder& ladder) {
  const std::optional<Real>& own =
      is_long(scaling, ladder) ? scaling.long_magnitude : scaling.short_magnitude;
  if (own) return *own;
  if (scaling.attention_factor) return *scaling.attention_factor;
  const std::int64_t original = scaling.original_max_positions.value();
  const DoubleDouble factor = scaling.factor          ? exactly(*scaling.factor)
                              : scaling.max_positions ? quotient(*scaling.max_positions, original)
                                                      : exactly(1.0);
  if (!is_less(exactly(1.0), factor)) return 1.0;
  // The root of 1 + ln f / ln L, as e to the power of half its logarithm.
  const DoubleDouble square = log(factor) / log(double_double(original)) + 1.0;
  return rounded(exp(log(square) * 0.5));
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
