#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// The scheme of Llama 3.1: pairs that turn more than `high_freq_factor` times within the original
/// context are kept, pairs that turn less than `low_freq_factor` times are divided by `factor`, and
/// between the two the frequency is a blend that is linear in the number of turns.
///
/// Where the two bounds are equal, nothing is blended: pairs above are kept, the others divided (as
/// vLLM does; Hugging Face divides by zero).
///
/// Source: "The Llama 3 Herd of Models" (2024), section 3.4.2, and the code published with Llama
/// 3.1; `rope_type` "llama3" of Hugging Face, where all four keys are mandatory and
/// original_max_positions is `original_max_position_embeddings`. GGUF files store it as
/// PairDivisors.
struct Llama3 {
  /// Finite and above 0; 8 for Llama 3.1, 32 for Llama 3.2.
  required<Real> factor;
  /// Finite and above 0.
  Real low_freq_factor = 1;
  /// Finite and not below low_freq_factor.
  Real high_freq_factor = 4;
  /// At least 1; 8192 for Llama 3.1 and 3.2.
  required<Extent> original_max_positions;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_scaling(const char* who, const Llama3& scaling, std::int64_t) noexcept {
  const double low = scaling.low_freq_factor;
  const double high = scaling.high_freq_factor;
  if (Status status = first_failure(
          check_positive(who, "factor", scaling.factor.value()),
          check_positive(who, "low_freq_factor", low),
          check_positive(who, "high_freq_factor", high),
          check_length(who, "original_max_positions", scaling.original_max_positions.value()));
      !status.ok()) [[unlikely]] {
    return status;
  }
  if (high < low) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scaling.high_freq_factor %g must not be below scaling.low_freq_factor %g",
                   who, high, low);
  }
  return {};
}

inline auto frequency_rule(const Llama3& scaling, const Ladder&) {
  return [factor = exactly(scaling.factor.value()), low = exactly(scaling.low_freq_factor),
          high = exactly(scaling.high_freq_factor),
          positions = double_double(scaling.original_max_positions.value())](std::int64_t,
                                                                             DoubleDouble plain) {
    const DoubleDouble turns = plain * positions / two_pi();
    if (is_less(high, turns)) return plain;
    const DoubleDouble divided = plain / factor;
    return is_less(low, turns) ? blend(divided, plain, ramp(turns, low, high)) : divided;
  };
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
