// Positions in space: points with three coordinates, rotated by Golden Gate RoPE of three axes.
// Scores depend on the vector from point to point, and on nothing else.

#include <cmath>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"
#include "rope/gradient.hpp"
#include "rope/spatial/golden_gate.hpp"
#include "rope/token_table.hpp"

namespace {

constexpr int points = 6;
constexpr int heads = 8;
constexpr int dim = 48;

/// The mean score of each point with the first one, if all points have the same features.
std::vector<double> scores(const rope::Frequencies& frequencies, const std::vector<double>& xyz) {
  std::vector<float> features(points * heads * dim, 1.0F);
  // [rotate]
  const auto x = rope::thd(features, {points, heads, dim});
  const rope::TokenTable<float> table(frequencies, rope::coordinates(xyz, {points, 3}));
  rope::rotate<rope::Pairing::half_split>(x, table);
  // [rotate]
  std::vector<double> result(points);
  for (int t = 0; t < points; ++t) {
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < dim; ++i) {
        result[static_cast<std::size_t>(t)] +=
            static_cast<double>(x(0, 0, h, i)) * static_cast<double>(x(0, t, h, i)) / (heads * dim);
      }
    }
  }
  return result;
}

}  // namespace

int main() {
  // [frequencies]
  const rope::Frequencies frequencies =
      rope::golden_gate_frequencies({.form = rope::GoldenGateForm::exact_nd,
                                     .axes = 3,
                                     .heads = heads,
                                     .rotary_dim = dim,
                                     .min_frequency = 0.5,
                                     .max_frequency = 20});
  // [frequencies]

  // Five points at the distance 0.5 from the first or further, in several directions.
  const std::vector<double> cloud = {0.1, 0.2, -0.3, 0.6, 0.2,  -0.3, 0.1, 0.7, -0.3,
                                     0.1, 0.2, 0.2,  0.4, -0.2, -0.3, 0.9, 0.8, -0.9};
  std::vector<double> moved = cloud;
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += 0.25 * static_cast<double>(1 + i % 3);

  const std::vector<double> here = scores(frequencies, cloud);
  const std::vector<double> there = scores(frequencies, moved);
  std::printf("point              distance   score   after a common shift\n");
  for (std::size_t t = 0; t < points; ++t) {
    const double* const p = cloud.data() + 3 * t;
    const double distance = std::hypot(p[0] - cloud[0], p[1] - cloud[1], p[2] - cloud[2]);
    std::printf("(%4.1f,%4.1f,%4.1f)     %.2f    %6.3f   %6.3f\n", p[0], p[1], p[2], distance,
                here[t] + 0.0, there[t] + 0.0);
  }

  // Which way the second point must move for a higher score with the first.
  const rope::TokenTable<float> table(frequencies, rope::coordinates(cloud, {points, 3}));
  std::vector<float> features(points * heads * dim, 1.0F);
  const auto x = rope::thd(features, {points, heads, dim});
  rope::rotate<rope::Pairing::half_split>(x, table);
  // [gradient] The score of points 0 and 1 is q . k, so its gradient with respect to k is q.
  const auto q = x.slice_tokens(0, 1);
  const auto k = x.slice_tokens(1, 1);
  std::vector<double> slope(3);
  rope::position_gradient<rope::Pairing::half_split>(
      k, q, frequencies, {slope, {1, 3}}, {.accumulation = rope::Accumulation::overwrite});
  // [gradient]
  const double mean = heads * dim;
  std::printf("slope of point 1's score: (%.3f, %.3f, %.3f)\n", slope[0] / mean, slope[1] / mean,
              slope[2] / mean);
}
