#pragma once

#include <cstdint>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// A divisor for each pair's frequency, as GGUF files have it in the tensor `rope_freqs.weight`
/// (Llama 3.1 and its kin; 1e30 for a pair that does not turn).
///
/// Not to be taken for frequencies, which would be given to Frequencies directly, nor for mlx's
/// `freqs`, which are the reciprocals of frequencies.
///
/// Source: `freq_factors` of ggml's `ggml_rope_ext`.
struct PairDivisors {
  /// rotary_dim / 2 of them, each finite and above 0.
  std::vector<double> divisors = {};
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_scaling(const char* who, const PairDivisors& scaling,
                            std::int64_t rotary_dim) noexcept {
  return check_list(who, "divisors", scaling.divisors, rotary_dim);
}

inline auto frequency_rule(const PairDivisors& scaling, const Ladder&) {
  return [divisors = scaling.divisors.data()](std::int64_t pair, DoubleDouble plain) {
    return plain / exactly(divisors[pair]);
  };
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
