#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// Proportional RoPE of Gemma 4's global layers: all pairs of the head are in the table, but only
/// the first part of them turns.
///
/// `rotary_dim` of the parameters is the size of the whole head, not of the part that turns: the
/// exponent is -2i / head_dim, and with half-split pairing feature i is paired with i + head_dim /
/// 2. The first floor(partial_rotary_factor * head_dim / 2) frequencies are base^(-2i / head_dim) /
/// factor, the others 0. This is the opposite of the usual partial RoPE, for which rotary_dim
/// itself is smaller than the head.
///
/// Source: `rope_type` "proportional" of Hugging Face. The fields have the names of its keys.
struct Proportional {
  /// Above 0 and at most 1.
  Real partial_rotary_factor = 1;
  /// Finite and above 0.
  Real factor = 1;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_scaling(const char* who, const Proportional& scaling, std::int64_t) noexcept {
  const double part = scaling.partial_rotary_factor;
  if (!is_finite(part) || !(part > 0) || part > 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scaling.partial_rotary_factor must be above 0 and at most 1, got %g", who,
                   part);
  }
  return check_positive(who, "factor", scaling.factor);
}

inline auto frequency_rule(const Proportional& scaling, const Ladder& ladder) {
  // Rounded to double before it is cut, so that 0.29 * 100 / 2 is 14 as it is for the model.
  const double part = scaling.partial_rotary_factor;
  const auto turning =
      static_cast<std::int64_t>(keep(part * static_cast<double>(ladder.rotary_dim)) / 2);
  return [turning, factor = exactly(scaling.factor)](std::int64_t pair, DoubleDouble plain) {
    return pair < turning ? plain / factor : exactly(0.0);
  };
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
