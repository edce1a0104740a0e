#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// Position interpolation: positions are compressed by L / L', so that a model trained on L
/// positions sees L' in the range it knows. Every frequency is divided by `factor` = L' / L.
///
/// Source: Chen et al., "Extending Context Window of Large Language Models via Positional
/// Interpolation" (2023), section 2.3; `rope_type` "linear" of Hugging Face, key `factor`.
struct Linear {
  /// Finite and above 0.
  required<Real> factor;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_scaling(const char* who, const Linear& scaling, std::int64_t) noexcept {
  return check_positive(who, "factor", scaling.factor.value());
}

inline auto frequency_rule(const Linear& scaling, const Ladder&) {
  return [factor = exactly(scaling.factor.value())](std::int64_t, DoubleDouble plain) {
    return plain / factor;
  };
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
