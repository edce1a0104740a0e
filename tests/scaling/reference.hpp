// The schemes' frequencies once more, in long double and with the mathematics library, written the
// way Hugging Face, vLLM and ggml do (wavelengths, changed bases) rather than as the library does.
// Shares no code with it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rope_test::scaling {

using Real = long double;

/// A parameter: any arithmetic type becomes a long double without a warning.
struct Number {
  template <class T>
  constexpr Number(T number) : value(static_cast<Real>(number)) {}
  Real value;
};

using Ladder = std::vector<Real>;

inline constexpr Real pi = 3.14159265358979323846264338327950288L;

inline Ladder plain(std::int64_t d, Number base) {
  Ladder w;
  for (std::int64_t i = 0; i < d; i += 2) {
    w.push_back(std::pow(base.value, -static_cast<Real>(i) / static_cast<Real>(d)));
  }
  return w;
}

inline Ladder base_changed(std::int64_t d, Number base, Number alpha) {
  const Real dim = static_cast<Real>(d);
  return plain(d, base.value * std::pow(alpha.value, dim / (dim - 2)));
}

inline Ladder divided(const Ladder& w, const std::vector<double>& divisors) {
  Ladder scaled;
  for (std::size_t i = 0; i < w.size(); ++i) {
    scaled.push_back(w[i] / static_cast<Real>(divisors[i]));
  }
  return scaled;
}

inline Ladder ntk_fixed(std::int64_t d, Number base, Number factor) {
  Ladder w = plain(d, base.value * factor.value);
  for (Real& value : w) value /= std::pow(factor.value, 2 / static_cast<Real>(d));
  return w;
}

inline Ladder ntk_mixed(std::int64_t d, Number base, Number factor, Number b) {
  Ladder w = plain(d, base);
  const Real a = std::log(factor.value) / std::pow(static_cast<Real>(d) / 2, b.value);
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i] /= std::exp(a * std::pow(static_cast<Real>(i + 1), b.value));
  }
  return w;
}

inline Ladder dynamic_ntk(std::int64_t d, Number base, Number factor, Number max_positions,
                          Number length) {
  const Real s = std::fmax(length.value, max_positions.value);
  return base_changed(d, base, factor.value * s / max_positions.value - (factor.value - 1));
}

struct YarnNumbers {
  Number factor;
  Number original;
  Number beta_fast = 32;
  Number beta_slow = 1;
  bool truncate = true;
};

inline Ladder yarn(std::int64_t d, Number base, const YarnNumbers& yarn) {
  const Real dim = static_cast<Real>(d);
  const auto corrected = [&](Real turns) {
    return dim * std::log(yarn.original.value / (turns * 2 * pi)) / (2 * std::log(base.value));
  };
  Real low = corrected(yarn.beta_fast.value);
  Real high = corrected(yarn.beta_slow.value);
  if (yarn.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::fmax(low, 0.0L);
  high = std::fmin(high, dim - 1);
  if (low == high) high += 0.001L;
  Ladder w = plain(d, base);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Real ramp = std::fmin(std::fmax((static_cast<Real>(i) - low) / (high - low), 0.0L), 1.0L);
    w[i] = w[i] / yarn.factor.value * ramp + w[i] * (1 - ramp);
  }
  return w;
}

inline Ladder llama3(std::int64_t d, Number base, Number factor, Number low, Number high,
                     Number original) {
  Ladder w = plain(d, base);
  for (Real& value : w) {
    const Real wavelength = 2 * pi / value;
    if (wavelength < original.value / high.value) continue;
    if (wavelength > original.value / low.value) {
      value /= factor.value;
      continue;
    }
    const Real smooth = (original.value / wavelength - low.value) / (high.value - low.value);
    value = (1 - smooth) * value / factor.value + smooth * value;
  }
  return w;
}

inline Real longrope_magnitude(Number original, Number factor) {
  return factor.value <= 1 ? 1 : std::sqrt(1 + std::log(factor.value) / std::log(original.value));
}

inline Real yarn_magnitude(Number factor) { return 0.1L * std::log(factor.value) + 1; }

}  // namespace rope_test::scaling
