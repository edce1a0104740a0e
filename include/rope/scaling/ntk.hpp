#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

// The schemes that raise the base by a fixed amount, whatever the length of the sequence. Engines
// use one name, NTK, for different formulas; here each has its own.

namespace rope {

/// NTK-aware interpolation: the base becomes base * factor^(d / (d - 2)), d = rotary_dim, so that
/// the slowest pair is interpolated by exactly `factor` and the fastest is kept.
///
/// Needs rotary_dim above 2.
///
/// Source: Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models" (2023),
/// section 3.1, definition 1 (first described by bloc97, 2023).
struct NtkBase {
  /// Finite and above 0.
  required<Real> factor;
};

/// The same formula as NtkBase, under the name that Hunyuan and Qwen give its number: the base
/// becomes base * alpha^(d / (d - 2)).
///
/// Source: key `alpha` beside `rope_type` "dynamic" or "xdrope" of Hugging Face and vLLM, which
/// takes precedence over `factor` there. For Qwen's rule that makes alpha follow the length, see
/// qwen_alpha().
struct NtkAlpha {
  /// Finite and above 0.
  required<Real> alpha;
};

/// The fixed variant of vLLM's "ntk": the base becomes base * factor, and every frequency is
/// divided by factor^(2 / d) besides. Pair i is divided by factor^(2(i + 1) / d): the fastest a
/// little, the slowest by exactly `factor`.
///
/// Source: vLLM, `rope_type` "ntk" without `mixed_b` (first described by Su Jianlin, 2023).
struct NtkFixed {
  /// Finite and above 0.
  required<Real> factor;
};

/// The mixed variant of vLLM's "ntk": pair i is divided by exp(a (i + 1)^b), b = `mixed_b`, with a
/// such that the slowest pair is divided by exactly `factor`.
///
/// Source: vLLM, `rope_type` "ntk" with `mixed_b` (first described by Su Jianlin, 2023).
struct NtkMixed {
  /// Finite and above 0.
  required<Real> factor;
  /// Finite and not negative; 0 divides all pairs alike.
  required<Real> mixed_b;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_scaling(const char* who, const NtkBase& scaling,
                            std::int64_t rotary_dim) noexcept {
  return first_failure(check_positive(who, "factor", scaling.factor.value()),
                       check_base_change(who, rotary_dim));
}

inline Status check_scaling(const char* who, const NtkAlpha& scaling,
                            std::int64_t rotary_dim) noexcept {
  return first_failure(check_positive(who, "alpha", scaling.alpha.value()),
                       check_base_change(who, rotary_dim));
}

inline Status check_scaling(const char* who, const NtkFixed& scaling, std::int64_t) noexcept {
  return check_positive(who, "factor", scaling.factor.value());
}

inline Status check_scaling(const char* who, const NtkMixed& scaling, std::int64_t) noexcept {
  return first_failure(check_positive(who, "factor", scaling.factor.value()),
                       check_not_negative(who, "mixed_b", scaling.mixed_b.value()));
}

/// For a base of base * alpha^(d / (d - 2)): pair i is divided by alpha^(2i / (d - 2)).
inline auto base_change_rule(DoubleDouble log_alpha, const Ladder& ladder) {
  return [log_alpha, rest = ladder.rotary_dim - 2](std::int64_t pair, DoubleDouble plain) {
    return plain * power(log_alpha, quotient(-2 * pair, rest));
  };
}

inline auto frequency_rule(const NtkBase& scaling, const Ladder& ladder) {
  return base_change_rule(log(scaling.factor.value()), ladder);
}

inline auto frequency_rule(const NtkAlpha& scaling, const Ladder& ladder) {
  return base_change_rule(log(scaling.alpha.value()), ladder);
}

inline auto frequency_rule(const NtkFixed& scaling, const Ladder& ladder) {
  return [log_factor = log(scaling.factor.value()), dim = ladder.rotary_dim](std::int64_t pair,
                                                                             DoubleDouble plain) {
    return plain * power(log_factor, quotient(-2 * (pair + 1), dim));
  };
}

inline auto frequency_rule(const NtkMixed& scaling, const Ladder& ladder) {
  return [log_factor = log(scaling.factor.value()), mixed_b = exactly(scaling.mixed_b.value()),
          pairs = ladder.pairs()](std::int64_t pair, DoubleDouble plain) {
    // ln factor * ((i + 1) / pairs)^b, in which a large b may be beyond what exp() takes.
    const DoubleDouble exponent = log(quotient(pair + 1, pairs)) * mixed_b;
    const DoubleDouble share = exponent.hi < -700 ? exactly(0.0) : exp(exponent);
    return plain * exp(-(log_factor * share));
  };
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
