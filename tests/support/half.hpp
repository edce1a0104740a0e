// The two 16-bit formats, told from their definition: what a pattern is worth, and which pattern is
// nearest to a number. Slow, in double, and shares no code with the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace rope_test {

/// A sign, `exponent_bits` of exponent, and the rest of 16 bits of fraction.
struct HalfFormat {
  int exponent_bits;

  int fraction_bits() const { return 15 - exponent_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits());
  }
  bool is_nan(std::uint16_t pattern) const { return (pattern & 0x7fff) > infinity(); }

  /// What a pattern without sign is worth; that of infinity as if the exponents went on.
  double magnitude(int pattern) const {
    const int exponent = pattern >> fraction_bits();
    const int fraction = pattern & ((1 << fraction_bits()) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias() - fraction_bits());
    return std::ldexp(fraction + (1 << fraction_bits()), exponent - bias() - fraction_bits());
  }

  double value(std::uint16_t pattern) const {
    if (is_nan(pattern)) return std::numeric_limits<double>::quiet_NaN();
    const int unsigned_pattern = pattern & 0x7fff;
    const double size = unsigned_pattern == infinity() ? std::numeric_limits<double>::infinity()
                                                       : magnitude(unsigned_pattern);
    return pattern >= 0x8000 ? -size : size;
  }
};

inline constexpr HalfFormat binary16{5};
inline constexpr HalfFormat bfloat16{8};

/// Finds nearest patterns of a format.
class NearestHalf {
 public:
  explicit NearestHalf(HalfFormat format) : format_(format) {
    for (int pattern = 0; pattern <= format.infinity(); ++pattern) {
      magnitudes_.push_back(format.magnitude(pattern));
    }
  }

  /// The pattern nearest to `x`, the even one of two; x must not be NaN.
  std::uint16_t operator()(double x) const {
    const double size = std::fabs(x);
    // The first that is not smaller; beyond the last there is only infinity.
    const auto at = std::lower_bound(magnitudes_.begin(), magnitudes_.end(), size);
    auto pattern = static_cast<int>(at - magnitudes_.begin());
    if (at == magnitudes_.end()) {
      pattern = format_.infinity();
    } else if (pattern > 0) {
      const double above = *at - size;
      const double below = size - at[-1];
      if (below < above || (below == above && pattern % 2 != 0)) --pattern;
    }
    return static_cast<std::uint16_t>(pattern | (std::signbit(x) ? 0x8000 : 0));
  }

 private:
  HalfFormat format_;
  std::vector<double> magnitudes_;
};

inline float float_of_bits(std::uint32_t bits) {
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
inline std::uint32_t bits_of_float(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace rope_test
