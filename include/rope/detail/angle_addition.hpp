#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rope/detail/elementary.hpp"
#include "rope/detail/kernels.hpp"
#include "rope/detail/rotor.hpp"
#include "rope/detail/unit.hpp"
#include "rope/frequencies.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

/// Whether every angle position * frequency, 0 <= position < rows, is one that sin_cos() reduces
/// exactly.
inline bool has_exact_angles(double frequency, std::int64_t rows) noexcept {
  const double reach = (frequency < 0 ? -frequency : frequency) * static_cast<double>(rows);
  return reach <= max_angle;
}

/// The two factors of every table row: with position = 1024 * a + b,
///
///   magnitude * exp(i * position * frequency) = [magnitude * exp(i * 1024 * a * frequency)] *
///   exp(i * b * frequency),
///
/// both exact to double, so that an entry costs one complex product instead of a sine and a cosine,
/// and is still the correct rounding to float in all but about one case in a hundred thousand. The
/// step is fixed: how many rows there are never changes the bits of a row.
class AngleFactors {
 public:
  static constexpr std::int64_t coarse_step = 1024;

  /// Factors for the positions 0 .. rows - 1 of one-axis frequencies. O((rows / 1024 + 1024) *
  /// heads * pairs).
  AngleFactors(const Frequencies& frequencies, std::int64_t rows)
      : heads_(frequencies.heads()),
        pairs_(frequencies.pairs()),
        fine_(multiples(frequencies, 1, rows < coarse_step ? rows : coarse_step, 1.0)),
        coarse_(multiples(frequencies, coarse_step, (rows + coarse_step - 1) / coarse_step,
                          frequencies.magnitude())) {}

  /// Writes cos and sin of all pairs of a row.
  template <class T>
  void write_row(std::int64_t row, std::int64_t head, T* cos, T* sin) const noexcept {
    const double* coarse = coarse_.data() + (row / coarse_step * heads_ + head) * 2 * pairs_;
    const double* fine = fine_.data() + (row % coarse_step * heads_ + head) * 2 * pairs_;
    add_angles(coarse, coarse + pairs_, fine, fine + pairs_, cos, sin, pairs_);
  }

 private:
  /// magnitude * exp(i * j * step * frequency) for j = 0 .. count - 1, [count, heads, 2, pairs].
  static std::vector<double> multiples(const Frequencies& frequencies, std::int64_t step,
                                       std::int64_t count, double magnitude) {
    const std::int64_t heads = frequencies.heads();
    const std::int64_t pairs = frequencies.pairs();
    std::vector<double> rotors(static_cast<std::size_t>(count * heads * 2 * pairs));
    if (count == 0) {
      return rotors;
    }
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        double* cos = rotors.data() + head * 2 * pairs + pair;
        rotor_multiples(frequencies(0, head, pair), step, count, magnitude, cos, cos + pairs,
                        heads * 2 * pairs);
      }
    }
    return rotors;
  }

  std::int64_t heads_;
  std::int64_t pairs_;
  std::vector<double> fine_;
  std::vector<double> coarse_;
};

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
