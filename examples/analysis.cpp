// What a choice of frequencies means: wavelengths, the slowest pair, decay, scores, and what
// rounding does to angles and tables.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "rope/analysis.hpp"
#include "rope/core.hpp"

int main() {
  std::printf(
      "wavelengths of d = 64, in tokens\n  base   pair 0     8      16       24        31\n");
  for (const double base : {1e4, 5e5, 1e6}) {
    // [wavelengths]
    const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 64, .base = base});
    const std::vector<double> lengths = rope::wavelengths(frequencies);
    // [wavelengths]
    std::printf("%7.0f  %5.1f %7.1f %7.0f %8.0f %9.0f\n", base, lengths[0], lengths[8], lengths[16],
                lengths[24], lengths[31]);
  }

  std::printf("\ndegrees of the slowest pair at\n  base      512    4096    8192   32768\n");
  for (const double base : {1e4, 5e5, 1e6}) {
    const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 64, .base = base});
    std::printf("%7.0f", base);
    for (const int position : {512, 4096, 8192, 32768}) {
      // [slowest]
      const double angle = rope::degrees(rope::slowest_angle_radians(frequencies, position));
      // [slowest]
      std::printf(" %7.3f", angle);
    }
    std::printf("\n");
  }

  const rope::Frequencies plain = rope::frequencies({.rotary_dim = 128});
  std::printf("\ndecay bound of d = 128, base 10000\n");
  for (const int distance : {0, 1, 5, 10, 50, 100, 200, 250, 300, 1000}) {
    // [decay]
    const double bound = rope::decay_bound(plain, distance);
    // [decay]
    std::printf("  %4d %5.1f\n", distance, bound);
  }

  // [score] The score of q and k as a function of their distance.
  const std::vector<float> q = {1, 2, 0, 1};
  const std::vector<float> k = {0, 1, 1, 1};
  const rope::Frequencies two = rope::frequencies({.rotary_dim = 4, .base = 100});
  const auto terms = rope::score_terms<rope::Pairing::interleaved, float>(q, k);
  for (const rope::ScoreTerm& term : terms) {
    std::printf("\npair: %g cos + %g sin", term.cos_factor, term.sin_factor);
  }
  std::printf("\nscores at distance 0, 2, -2: %.4f %.4f %.4f\n", rope::score_at(terms, two, 0),
              rope::score_at(terms, two, 2), rope::score_at(terms, two, -2));
  // [score]

  // [schemes] How far interpolation by 4 moves the angles at position 1000.
  const rope::Frequencies interpolated =
      rope::frequencies({.rotary_dim = 128, .scaling = rope::Linear{.factor = 4}});
  const std::vector<double> apart = rope::angle_differences_radians(plain, interpolated, 1000);
  std::printf("\napart at position 1000: pair 0 by %.1f radians, pair 63 by %.4f\n", apart.front(),
              apart.back());
  // [schemes]

  std::printf("\nlargest error of an angle in float32, and of an entry in bf16, at\n");
  for (const int position : {100, 4095, 131071, 999999}) {
    // [errors]
    const std::vector<double> errors = rope::float32_angle_errors_radians(plain, position);
    const auto [least, greatest] = std::minmax_element(errors.begin(), errors.end());
    const double of_angle = std::max(-*least, *greatest);
    const double of_entry = rope::bf16_table_error(plain, position);
    // [errors]
    std::printf("  %6d  %.1e radians  %.5f\n", position, of_angle, of_entry);
  }
}
