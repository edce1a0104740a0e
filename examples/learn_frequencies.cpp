// Learns the frequencies of a rotation from examples: the gradient of a loss with respect to the
// frequencies, and steps against it, until they are those that made the examples.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "rope/core.hpp"
#include "rope/gradient.hpp"
#include "rope/gradient_chain.hpp"
#include "rope/spatial/golden_gate.hpp"
#include "rope/spatial/learned.hpp"
#include "rope/token_table.hpp"

namespace {

constexpr int tokens = 200;
constexpr int heads = 2;
constexpr int dim = 8;

/// Numbers from -1 to 1 that are the same on every platform.
std::vector<double> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<double>(engine()) / 2147483648.0 - 1);
  }
  return numbers;
}

/// x rotated in the plane.
std::vector<double> rotated(std::vector<double> x, const rope::Frequencies& frequencies,
                            const rope::Coordinates& points) {
  rope::rotate<rope::Pairing::half_split>(rope::thd(x, {tokens, heads, dim}),
                                          rope::TokenTable<double>(frequencies, points));
  return x;
}

}  // namespace

int main() {
  const rope::Coordinates points(random_numbers(2 * tokens, 1), {tokens, 2});
  const std::vector<double> x = random_numbers(std::size_t{tokens} * heads * dim, 2);

  // What is to be found, with a frequency of 0 in each head, and a start that is wrong by up to 0.4
  // everywhere but in these: they are to stay.
  const rope::Frequencies truth =
      rope::golden_gate_frequencies({.form = rope::GoldenGateForm::exact_2d,
                                     .axes = 2,
                                     .heads = heads,
                                     .rotary_dim = dim,
                                     .min_frequency = 0.5,
                                     .max_frequency = 4,
                                     .zero_share = 0.25});
  const std::vector<double> target = rotated(x, truth, points);
  std::vector<double> values(truth.values().begin(), truth.values().end());
  const std::vector<double> errors = random_numbers(values.size(), 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) values[i] += 0.4 * errors[i];
  }

  std::printf("step      loss  largest error\n");
  for (int step = 0; step <= 60; ++step) {
    // [step]
    const rope::Frequencies frequencies(values, {2, heads, dim / 2});
    const std::vector<double> y = rotated(x, frequencies, points);

    // The loss is the mean square of what is wrong; this is its gradient with respect to y.
    std::vector<double> gradient_y(y.size());
    double loss = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double wrong = y[i] - target[i];
      loss += wrong * wrong / tokens;
      gradient_y[i] = 2 * wrong / tokens;
    }

    std::vector<double> gradient(values.size());
    rope::frequency_gradient<rope::Pairing::half_split>(
        rope::thd(y, {tokens, heads, dim}), rope::thd(gradient_y, {tokens, heads, dim}), points,
        {gradient, {2, heads, dim / 2}}, {.accumulation = rope::Accumulation::overwrite});
    rope::keep_zero_frequencies(gradient, frequencies);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.5 * gradient[i];
    // [step]

    if (step % 10 == 0) {
      double largest = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        largest = std::max(largest, std::abs(frequencies.values()[i] - truth.values()[i]));
      }
      std::printf("%4d  %.6f       %.6f\n", step, loss, largest);
    }
  }
  std::printf("pair 3 of head 1: (%.4f, %.4f), and was made with (%.4f, %.4f)\n", values[7],
              values[15], truth(0, 1, 3), truth(1, 1, 3));
  // [checkpoint] The way into a model's parameter, here of one layer, and out of it.
  const rope::Learned parameter = {.layout = rope::LearnedLayout::axes_layers_heads_pairs,
                                   .axes = 2,
                                   .heads = heads,
                                   .pairs = dim / 2};
  std::vector<float> checkpoint(values.size());
  rope::store_learned(values, checkpoint, parameter, rope::Accumulation::overwrite);
  const rope::Frequencies loaded = rope::learned_frequencies(checkpoint, parameter);
  // [checkpoint]
  std::printf("the same from a checkpoint: (%.4f, %.4f)\n", loaded(0, 1, 3), loaded(1, 1, 3));
  std::printf("pair 0 of head 1 stayed at (%g, %g)\n", values[4], values[12]);
}
