#pragma once

#include <cstdint>
#include <optional>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// YaRN, "NTK by parts": pairs that turn often within the original context are kept, pairs that
/// turn less than about once are interpolated by `factor`, and a ramp over the pair index blends
/// between them. Cos and sin are multiplied by an attention factor, and so scores by its square.
///
/// The ramp goes from 0 to 1 between the pair indices lo and hi, where corr(r), r turns within
/// original_max_positions L, is d * ln(L / (2 pi r)) / (2 ln base), d = rotary_dim:
/// lo = max(floor(corr(beta_fast)), 0), hi = min(ceil(corr(beta_slow)), d - 1), hi + 0.001 if they
/// meet. A frequency w becomes w * (1 - ramp) + w / factor * ramp.
///
/// Source: Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models" (2023),
/// sections 3.2 and 3.4; `rope_type` "yarn" of Hugging Face. The fields have the names of its keys,
/// where not said otherwise. Hugging Face 4.x replaces `factor` by max_position_embeddings /
/// original_max_position_embeddings where the latter is given; 5.x does not.
struct Yarn {
  /// Finite and above 0.
  required<Real> factor;
  /// Key `original_max_position_embeddings`: the length before scaling, not the extended one. At
  /// least 1.
  required<Extent> original_max_positions;
  /// Turns within the original context above which a pair is kept. Finite, above 0, and not below
  /// beta_slow.
  Real beta_fast = 32;
  /// Turns within the original context below which a pair is interpolated. Finite and above 0.
  Real beta_slow = 1;
  /// Whether lo and hi are rounded to whole pairs. False for gpt-oss, for example.
  bool truncate = true;
  /// The magnitude of cos and sin, if it is given: finite and above 0. If it is not, see
  /// yarn_mscale().
  std::optional<Real> attention_factor = std::nullopt;
  /// DeepSeek's two: where both are given and not 0, the magnitude is yarn_mscale(factor, mscale) /
  /// yarn_mscale(factor, mscale_all_dim), else yarn_mscale(factor). Finite and not negative.
  /// mscale_all_dim also sets softmax_scale_multiplier().
  std::optional<Real> mscale = std::nullopt;
  std::optional<Real> mscale_all_dim = std::nullopt;
  /// vLLM's `extrapolation_factor`, `ext_factor` of ggml: the share of the kept part. 0
  /// interpolates all pairs; between 0 and 1.
  Real extrapolation_factor = 1;
};

namespace detail::inline ROPE_DETAIL_UNIT {

/// slope * mscale * ln(factor) + 1, and 1 up to a factor of 1.
inline DoubleDouble yarn_mscale(double factor, double mscale, double slope) {
  if (!(factor > 1)) return exactly(1.0);
  return log(factor) * two_product(slope, mscale) + 1.0;
}

inline constexpr double yarn_slope = 0.1;

/// Where the ramp of YaRN begins and ends, in pairs.
struct YarnRange {
  DoubleDouble low;
  DoubleDouble high;
};

/// The index, not rounded, of the pair that turns `turns` times within `positions`.
inline DoubleDouble yarn_pair_of_turns(double turns, std::int64_t positions, const Ladder& ladder) {
  const DoubleDouble ratio = double_double(positions) / (two_pi() * turns);
  return log(ratio) * double_double(ladder.rotary_dim) / (ladder.log_base * 2.0);
}

inline YarnRange yarn_range(double beta_fast, double beta_slow, bool truncate,
                            std::int64_t positions, const Ladder& ladder) {
  DoubleDouble low = yarn_pair_of_turns(beta_fast, positions, ladder);
  DoubleDouble high = yarn_pair_of_turns(beta_slow, positions, ladder);
  if (truncate) {
    low = floor(low);
    high = ceil(high);
  }
  // The limit is rotary_dim - 1, as in the authors' code, although there are half as many pairs.
  const DoubleDouble last = double_double(ladder.rotary_dim - 1);
  return {low.hi < 0 ? exactly(0.0) : low, is_less(last, high) ? last : high};
}

inline Status check_betas(const char* who, double beta_fast, double beta_slow) noexcept {
  if (Status status = first_failure(check_positive(who, "beta_fast", beta_fast),
                                    check_positive(who, "beta_slow", beta_slow));
      !status.ok()) [[unlikely]] {
    return status;
  }
  if (beta_fast < beta_slow) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scaling.beta_fast %g must not be below scaling.beta_slow %g", who,
                   beta_fast, beta_slow);
  }
  return {};
}

inline Status check_yarn_weights(const char* who, const Yarn& scaling) noexcept {
  const double extrapolation = scaling.extrapolation_factor;
  if (!is_finite(extrapolation) || extrapolation < 0 || extrapolation > 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scaling.extrapolation_factor must be between 0 and 1, got %g", who,
                   extrapolation);
  }
  return first_failure(
      check_positive_if_given(who, "attention_factor", scaling.attention_factor),
      check_not_negative(who, "mscale", scaling.mscale.value_or(0.0)),
      check_not_negative(who, "mscale_all_dim", scaling.mscale_all_dim.value_or(0.0)));
}

inline Status check_scaling(const char* who, const Yarn& scaling, std::int64_t) noexcept {
  return first_failure(
      check_positive(who, "factor", scaling.factor.value()),
      check_length(who, "original_max_positions", scaling.original_max_positions.value()),
      check_betas(who, scaling.beta_fast, scaling.beta_slow), check_yarn_weights(who, scaling));
}

inline auto frequency_rule(const Yarn& scaling, const Ladder& ladder) {
  YarnRange range = yarn_range(scaling.beta_fast, scaling.beta_slow, scaling.truncate,
                               scaling.original_max_positions.value(), ladder);
  if ((range.high - range.low).hi == 0) range.high = range.high + 0.001;
  return [range, factor = exactly(scaling.factor.value()),
          extrapolation = static_cast<double>(scaling.extrapolation_factor)](std::int64_t pair,
                                                                             DoubleDouble plain) {
    const DoubleDouble interpolated_share = ramp(double_double(pair), range.low, range.high);
    const DoubleDouble kept_share = (exactly(1.0) - interpolated_share) * extrapolation;
    return blend(plain / factor, plain, kept_share);
  };
}

inline double scaling_magnitude(const Yarn& scaling, const Ladder&) {
  if (scaling.attention_factor) return *scaling.attention_factor;
  const double factor = scaling.factor.value();
  const double mscale = scaling.mscale.value_or(0.0);
  const double mscale_all_dim = scaling.mscale_all_dim.value_or(0.0);
  if (mscale == 0 || mscale_all_dim == 0) return rounded(yarn_mscale(factor, 1.0, yarn_slope));
  return rounded(yarn_mscale(factor, mscale, yarn_slope) /
                 yarn_mscale(factor, mscale_all_dim, yarn_slope));
}

/// For a public function that takes a scheme and no rotary_dim.
inline double softmax_scale_multiplier(const Yarn& scaling) {
  constexpr const char* who = "rope::softmax_scale_multiplier";
  const double mscale_all_dim = scaling.mscale_all_dim.value_or(0.0);
  require(first_failure(check_positive(who, "factor", scaling.factor.value()),
                        check_not_negative(who, "mscale_all_dim", mscale_all_dim)));
  const DoubleDouble mscale = yarn_mscale(scaling.factor.value(), mscale_all_dim, yarn_slope);
  return rounded(mscale * mscale);
}

inline double checked_yarn_mscale(double factor, double mscale, double slope) {
  const char* const name = !is_finite(factor) || !(factor > 0) ? "factor"
                           : !is_finite(mscale) || mscale < 0  ? "mscale"
                           : !is_finite(slope) || slope < 0    ? "slope"
                                                               : nullptr;
  if (name != nullptr) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "rope::yarn_mscale: %s must be finite and %s, got factor %g, mscale %g, slope %g",
                  name, name[0] == 'f' ? "above 0" : "not negative", factor, mscale, slope));
  }
  return rounded(yarn_mscale(factor, mscale, slope));
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// YaRN's recommended magnitude, slope * mscale * ln(factor) + 1, and 1 for a factor up to 1.
///
/// For rules that Yarn does not have by itself, whose result goes into `attention_factor`: vLLM's
/// "deepseek_yarn", which counts an mscale without an mscale_all_dim, is yarn_mscale(factor,
/// mscale), and TeleChat3's is yarn_mscale(factor, 1, 0.07). Throws InvalidArgument for a factor
/// that is not finite and above 0, and a negative or not finite mscale or slope.
///
/// Source: Peng et al., "YaRN" (2023), section 3.4, equation 22; Hugging Face's `get_mscale`.
inline double yarn_mscale(Real factor, Real mscale = 1.0, Real slope = 0.1) {
  return detail::checked_yarn_mscale(factor, mscale, slope);
}

/// DeepSeek's correction of attention, which is not part of cos and sin: multiply the softmax
/// scale, 1 / sqrt(query head size), by this. It is yarn_mscale(factor, mscale_all_dim)^2, and 1
/// where mscale_all_dim is not given or 0.
///
/// Only for models that apply it: DeepSeek V2 and V3 and their descendants. Throws InvalidArgument
/// as frequencies() does for factor and mscale_all_dim.
///
/// Source: the modelling code published with DeepSeek-V2 (2024).
inline double softmax_scale_multiplier(const Yarn& scaling) {
  return detail::softmax_scale_multiplier(scaling);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
