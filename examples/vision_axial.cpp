// Axial RoPE in a vision transformer: a grid of patches behind a class token, then the same model
// at a higher resolution.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"

namespace {

constexpr std::int64_t heads = 2;
constexpr std::int64_t head_dim = 64;

/// Tokens that all have the same contents, so that scores differ by position alone.
std::vector<float> equal_tokens(std::int64_t tokens) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < tokens * heads * head_dim; ++i) {
    x.push_back(std::sin(0.7f * static_cast<float>(i % (heads * head_dim))));
  }
  return x;
}

double score(const rope::View<float>& q, std::int64_t token_q, const rope::View<float>& k,
             std::int64_t token_k) {
  double sum = 0;
  for (std::int64_t i = 0; i < head_dim; ++i) {
    sum += static_cast<double>(q(0, token_q, 0, i)) * static_cast<double>(k(0, token_k, 0, i));
  }
  return sum;
}

}  // namespace

int main() {
  // [frequencies]
  // One half of each head follows x, the other y, each with the ladder 100^(-2i/32).
  const rope::Frequencies frequencies =
      rope::axial_frequencies({.axis_dims = rope::equal_axis_dims(head_dim, 2), .base = 100});
  // Patches row by row; axis 0 is x, the column, as this model wants it.
  const rope::Grid grid =
      rope::image_grid(rope::axis_steps(14), rope::axis_steps(14), rope::AxisOrder::x_first);
  const rope::TokenTable<float> table(frequencies, grid.coordinates());
  // [frequencies]

  // [rotate]
  // Token 0 is the class token: it has no place in the image, and is not rotated.
  std::vector<float> q_data = equal_tokens(1 + grid.tokens());
  std::vector<float> k_data = equal_tokens(1 + grid.tokens());
  const auto q = rope::thd(q_data, {1 + grid.tokens(), heads, head_dim});
  const auto k = rope::thd(k_data, {1 + grid.tokens(), heads, head_dim});
  rope::rotate_qk<rope::Pairing::interleaved>(rope::rotated_tokens(q, {.first = 1}),
                                              rope::rotated_tokens(k, {.first = 1}), table);
  // [rotate]
  const auto patch = [](std::int64_t row, std::int64_t column) { return 1 + row * 14 + column; };
  std::printf("two rows down, one column left: %.4f at the top, %.4f at the bottom\n",
              score(q, patch(2, 3), k, patch(4, 2)), score(q, patch(11, 12), k, patch(13, 11)));
  std::printf("one row down, two columns left: %.4f\n", score(q, patch(2, 3), k, patch(3, 1)));
  std::printf("the class token with itself:    %.4f\n", score(q, 0, k, 0));

  // [resolution]
  // An image of 20 x 28 patches. Either positions go on beyond those of training ...
  const rope::Grid extrapolated =
      rope::image_grid(rope::axis_steps(20), rope::axis_steps(28), rope::AxisOrder::x_first);
  // ... or the finer grid covers what the 14 x 14 one covered.
  const rope::Grid interpolated = rope::image_grid(
      rope::axis_rescaled(rope::axis_steps(20), {.from = 20, .to = 14}),
      rope::axis_rescaled(rope::axis_steps(28), {.from = 28, .to = 14}), rope::AxisOrder::x_first);
  const rope::TokenTable<float> finer(frequencies, interpolated.coordinates());
  // More tokens share the attention: multiply the scores so that it stays as sharp.
  const double temperature =
      rope::attention_temperature({.trained = grid.tokens(), .now = interpolated.tokens()});
  // [resolution]
  const auto last = [](const rope::Grid& of) {
    const rope::Coordinates places = of.coordinates();
    std::printf("x %.1f, y %.1f\n", places(0, of.tokens() - 1, 0), places(0, of.tokens() - 1, 1));
  };
  std::printf("\n%lld patches become %lld; the last patch stands at\n",
              static_cast<long long>(grid.tokens()), static_cast<long long>(interpolated.tokens()));
  std::printf("  in training:   ");
  last(grid);
  std::printf("  extrapolated:  ");
  last(extrapolated);
  std::printf("  interpolated:  ");
  last(interpolated);
  std::printf("temperature %.4f, rows for %lld tokens\n", temperature,
              static_cast<long long>(finer.tokens()));

  // [dinov3]
  // DINOv3: coordinates from -1 to 1 at any resolution, periods from 1 to 100, rows first,
  // half-split.
  const rope::Frequencies ladder = rope::period_frequencies({.pairs = head_dim / 4, .base = 100});
  const rope::Frequencies dino = rope::axis_blocks({{0, ladder}, {1, ladder}});
  const rope::Grid cells = rope::normalised_grid(
      20, 28, {.normalise_by = rope::NormaliseBy::separate, .order = rope::AxisOrder::row_first});
  const rope::TokenTable<float> dino_table(dino, cells.coordinates());
  // [dinov3]
  std::printf(
      "\nDINOv3, first patch: cos %.4f %.4f ... of the row, %.4f %.4f ... of the column\n",
      static_cast<double>(dino_table.cos(0, 0)[0]), static_cast<double>(dino_table.cos(0, 0)[1]),
      static_cast<double>(dino_table.cos(0, 0)[16]), static_cast<double>(dino_table.cos(0, 0)[17]));
}
