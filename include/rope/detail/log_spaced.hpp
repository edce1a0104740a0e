#pragma once

#include <cstdint>

#include "rope/detail/double_double.hpp"
#include "rope/detail/elementary.hpp"
#include "rope/detail/finite.hpp"
#include "rope/detail/fused.hpp"
#include "rope/detail/ladder.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

// The frequencies of Golden Gate RoPE and of random directions: some zeros, then evenly spaced on a
// logarithmic scale, ends included.

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// first * (last / first)^(i / (count - 1)) for i = 0 .. count - 1, and just `first` for a count of
/// 1. Both are positive and finite.
class LogSpaced {
 public:
  LogSpaced(double first, double last, std::int64_t count)
      : first_(first),
        last_(last),
        count_(count),
        log_first_(log(first)),
        log_ratio_(log(last) - log_first_) {}

  DoubleDouble operator()(std::int64_t i) const {
    if (i == 0) return exactly(first_);
    if (i == count_ - 1) return exactly(last_);
    return exp(log_first_ + log_ratio_ * quotient(i, count_ - 1));
  }

 private:
  double first_;
  double last_;
  std::int64_t count_;
  DoubleDouble log_first_;
  DoubleDouble log_ratio_;
};

/// The same as float32 code has it: evenly spaced exponents from 0 to 1, counted from the nearer
/// end as torch.linspace does, and a rounding after each step.
class LogSpacedFloat {
 public:
  LogSpacedFloat(double first, double last, std::int64_t count)
      : first_(keep(static_cast<float>(first))),
        log_ratio_(
            log(static_cast<double>(keep(static_cast<float>(rounded_quotient(last, first)))))),
        count_(count),
        step_(count > 1 ? keep(1.0F / keep(static_cast<float>(count - 1))) : 0.0F) {}

  float operator()(std::int64_t i) const {
    const float exponent = i < count_ / 2 || count_ == 1
                               ? keep(step_ * static_cast<float>(i))
                               : keep(1.0F - keep(step_ * static_cast<float>(count_ - 1 - i)));
    const DoubleDouble power = exp(log_ratio_ * static_cast<double>(exponent));
    return keep(first_ * keep(static_cast<float>(rounded(power))));
  }

 private:
  float first_;
  DoubleDouble log_ratio_;
  std::int64_t count_;
  float step_;
};

/// `value` to the nearest whole number, halves to the even one, whatever the rounding mode; for
/// values from 0 to 2^52.
inline std::int64_t round_half_even(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  const double rest = keep(value - static_cast<double>(whole));
  return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 != 0) ? 1 : 0);
}

/// How many of the pairs have frequency 0, as Python's round() says: share * pairs, halves to even.
inline std::int64_t zero_pairs(double share, std::int64_t pairs) {
  return round_half_even(keep(share * static_cast<double>(pairs)));
}

/// Fails unless 0 < min <= max, both finite, also as float, and 0 <= zero_share <= 1.
inline Status check_log_spaced(const char* who, double min_frequency, double max_frequency,
                               double zero_share) noexcept {
  const auto usable = [](double value) {
    return is_finite(value) && static_cast<float>(value) > 0 &&
           is_finite(static_cast<double>(static_cast<float>(value)));
  };
  if (!usable(min_frequency) || !usable(max_frequency) || max_frequency < min_frequency)
      [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: min_frequency must be above 0 and max_frequency not below it, both within "
                   "the range of float, got %g and %g",
                   who, min_frequency, max_frequency);
  }
  if (!is_finite(zero_share) || zero_share < 0 || zero_share > 1) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: zero_share must be between 0 and 1, got %g",
                   who, zero_share);
  }
  return {};
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
