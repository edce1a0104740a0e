// Samples with several coordinates that are no integers: weather stations that report when they
// like, from where they are.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "rope/core.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/ladders.hpp"

namespace {

constexpr std::int64_t batch = 2, samples = 4, head_dim = 32;
constexpr double two_pi = 6.283185307179586;

/// The score of two samples whose features were all 1 before they were rotated: it tells how they
/// lie to one another, and nothing else.
double score(const std::vector<float>& q, std::int64_t row, std::int64_t a, std::int64_t b) {
  const float* const first = q.data() + (row * samples + a) * head_dim;
  const float* const second = q.data() + (row * samples + b) * head_dim;
  return std::inner_product(first, first + head_dim, second, 0.0) / head_dim;
}

}  // namespace

int main() {
  // [frequencies]
  // Time in hours, from a period of 1 hour to one of 30 days, and each direction in kilometres,
  // from 2 km to 1000 km: 8, 4 and 4 pairs of a head.
  const auto periods = [](std::int64_t pairs, double shortest, double longest) {
    return rope::geometric_frequencies(
        {.pairs = pairs, .min_frequency = two_pi / longest, .max_frequency = two_pi / shortest});
  };
  const rope::Frequencies frequencies = rope::axis_blocks(
      {{0, periods(8, 1, 720)}, {1, periods(4, 2, 1000)}, {2, periods(4, 2, 1000)}});
  // [frequencies]

  // [table]
  // (hours, east, north) of four samples in each of two series: [batch, samples, 3].
  std::vector<double> readings = {
      0.00, 12.5,  -3.0, 0.25, 12.5,  -3.0, 0.25, 14.0,  -1.5, 6.10, 12.5,  -3.0,  //
      9.50, -40.0, 7.25, 9.75, -40.0, 7.25, 9.75, -38.5, 8.75, 15.6, -40.0, 7.25};
  const rope::CoordinatesView where = rope::coordinates(readings, {batch, samples, 3});
  rope::TokenTable<float> table(frequencies, where);

  std::vector<float> q(batch * samples * head_dim, 1.0F);
  const auto view = rope::bthd(q, {batch, samples, 1, head_dim});
  rope::rotate<rope::Pairing::interleaved>(view, table);
  // [table]
  const auto print = [&](const char* title) {
    std::printf("%s\n", title);
    for (std::int64_t row = 0; row < batch; ++row) {
      std::printf("  series %d: 15 minutes apart %.4f, 2 km apart %.4f, 6 hours apart %.4f\n",
                  static_cast<int>(row), score(q, row, 0, 1), score(q, row, 1, 2),
                  score(q, row, 0, 3));
    }
  };
  print("different places and times, the same distances: the same scores");

  // [refill]
  // The next window of the series, a month later and elsewhere. No memory is allocated.
  for (std::size_t i = 0; i < readings.size(); i += 3) {
    readings[i] += 24 * 30.5;
    readings[i + 1] -= 250.75;
  }
  table.refill(where);
  q.assign(q.size(), 1.0F);
  rope::rotate<rope::Pairing::interleaved>(view, table);
  // [refill]
  print("moved by a month and by 250.75 km: the same scores again");
}
