#pragma once

#include <cstdint>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/scaling_check.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/scaling/yarn.hpp"

namespace rope {

/// The parameters of ggml's rotary operation under their own names; `n_dims` is rotary_dim and
/// `freq_base` is base.
///
/// A frequency is divided by its freq_factor, then multiplied by `freq_scale` (1 / the factor of
/// linear scaling). With an ext_factor, it is YaRN's blend of the two, whose ramp always begins and
/// ends at whole pairs, and the operation itself multiplies attn_factor by
/// 1 + 0.1 * ln(1 / freq_scale). llama.cpp divides that out of the attn_factor that it passes on.
///
/// ggml computes frequencies by repeated multiplication in float; these are exact, and so differ
/// from its own by a few float ulps, more at long positions.
///
/// Source: ggml, `ggml_rope_ext`.
struct Ggml {
  /// Finite and above 0.
  Real freq_scale = 1;
  /// 0: no YaRN; 1: YaRN. Between 0 and 1.
  Real ext_factor = 0;
  /// Finite and above 0.
  Real attn_factor = 1;
  /// As those of Yarn; not looked at while ext_factor is 0.
  Real beta_fast = 32;
  Real beta_slow = 1;
  /// The original context: at least 1 where ext_factor is not 0, not looked at otherwise.
  Extent n_ctx_orig = 0;
  /// Empty, or rotary_dim / 2 divisors, each finite and above 0.
  std::vector<double> freq_factors = {};
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_scaling(const char* who, const Ggml& scaling,
                            std::int64_t rotary_dim) noexcept {
  const double ext_factor = scaling.ext_factor;
  if (!is_finite(ext_factor) || ext_factor < 0 || ext_factor > 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: scaling.ext_factor must be between 0 and 1, got %g", who, ext_factor);
  }
  if (Status status =
          first_failure(check_positive(who, "freq_scale", scaling.freq_scale),
                        check_positive(who, "attn_factor", scaling.attn_factor),
                        scaling.freq_factors.empty()
                            ? Status()
                            : check_list(who, "freq_factors", scaling.freq_factors, rotary_dim));
      !status.ok() || ext_factor == 0) {
    return status;
  }
  return first_failure(check_length(who, "n_ctx_orig", scaling.n_ctx_orig),
                       check_betas(who, scaling.beta_fast, scaling.beta_slow));
}

inline auto frequency_rule(const Ggml& scaling, const Ladder& ladder) {
  const double ext_factor = scaling.ext_factor;
  YarnRange range = {};
  if (ext_factor != 0) {
    range = yarn_range(scaling.beta_fast, scaling.beta_slow, true, scaling.n_ctx_orig, ladder);
    // Unlike YaRN elsewhere, this also turns the ramp around where its end lies before its start.
    if (is_less(range.high - range.low, exactly(0.001))) range.high = range.low + 0.001;
  }
  return [ext_factor, range, freq_scale = static_cast<double>(scaling.freq_scale),
          divisors = scaling.freq_factors.empty() ? nullptr : scaling.freq_factors.data()](
             std::int64_t pair, DoubleDouble plain) {
    const DoubleDouble kept = divisors == nullptr ? plain : plain / exactly(divisors[pair]);
    const DoubleDouble interpolated = kept * freq_scale;
    if (ext_factor == 0) return interpolated;
    const DoubleDouble interpolated_share = ramp(double_double(pair), range.low, range.high);
    return blend(interpolated, kept, (exactly(1.0) - interpolated_share) * ext_factor);
  };
}

inline double scaling_magnitude(const Ggml& scaling, const Ladder&) {
  const double attn_factor = scaling.attn_factor;
  if (scaling.ext_factor == 0) return attn_factor;
  // Not yarn_mscale(): the logarithm counts for a freq_scale above 1 too.
  return rounded((log(scaling.freq_scale) * -yarn_slope + 1.0) * attn_factor);
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
