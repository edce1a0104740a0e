// Directions of axial RoPE, Mixed RoPE and Golden Gate RoPE, and what one query of an image attends
// to with each of them. `golden_gate svg` prints the picture of docs/directions.md.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "rope/core.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/golden_gate.hpp"
#include "rope/spatial/grid.hpp"
#include "rope/spatial/grid_axis.hpp"
#include "rope/spatial/ladders.hpp"
#include "rope/spatial/mixed.hpp"
#include "rope/token_table.hpp"

namespace {

constexpr int side = 25;  // patches
constexpr int tokens = side * side;
constexpr int heads = 12;
constexpr int dim = 64;
constexpr int query_row = 9;
constexpr int query_column = 15;

struct Method {
  const char* name;
  rope::Frequencies frequencies;
  rope::Coordinates positions;
};

std::vector<Method> methods() {
  // [frequencies]
  const std::vector<double> unit = rope::axis_end_points(side, {.low = -1, .high = 1});
  const rope::Grid square = rope::image_grid(unit, unit, rope::AxisOrder::x_first);

  // Axial: half of the pairs follow x, half follow y.
  const rope::Frequencies ladder =
      rope::geometric_frequencies({.pairs = dim / 4, .min_frequency = 0.5, .max_frequency = 20});
  const rope::Frequencies axial = rope::axis_blocks({{0, ladder}, {1, ladder}});

  // Mixed, before training: the axes of each head turned by a random angle. In patches.
  std::mt19937_64 engine(1);
  const rope::Grid patches =
      rope::image_grid(rope::axis_steps(side), rope::axis_steps(side), rope::AxisOrder::x_first);
  const rope::LayerFrequencies mixed =
      rope::mixed_frequencies({.layers = 1, .heads = heads, .rotary_dim = dim}, engine);

  // Golden Gate: every pair of every head has a direction of its own.
  const rope::Frequencies golden_gate =
      rope::golden_gate_frequencies({.form = rope::GoldenGateForm::exact_2d,
                                     .axes = 2,
                                     .heads = heads,
                                     .rotary_dim = dim,
                                     .min_frequency = 0.5,
                                     .max_frequency = 20});
  // [frequencies]
  return {{"axial", axial, square.coordinates()},
          {"mixed", mixed[0], patches.coordinates()},
          {"Golden Gate", golden_gate, square.coordinates()}};
}

/// What the query attends to, the mean over the heads, if all patches have the same features: then
/// nothing but positions counts.
std::vector<double> attention(const Method& method) {
  std::vector<double> keys(std::size_t{tokens} * heads * dim, 1.0);
  const auto k = rope::thd(keys, {tokens, heads, dim});
  // [rotate]
  const rope::TokenTable<double> table(method.frequencies, method.positions);
  rope::rotate<rope::Pairing::half_split>(k, table);
  // [rotate]
  std::vector<double> mean(tokens);
  for (int h = 0; h < heads; ++h) {
    std::vector<double> weights;
    double sum = 0;
    for (int t = 0; t < tokens; ++t) {
      double score = 0;
      for (int i = 0; i < dim; ++i) {
        score += k(0, query_row * side + query_column, h, i) * k(0, t, h, i);
      }
      weights.push_back(std::exp(score / std::sqrt(double{dim})));
      sum += weights.back();
    }
    for (int t = 0; t < tokens; ++t) {
      mean[static_cast<std::size_t>(t)] += weights[static_cast<std::size_t>(t)] / sum / heads;
    }
  }
  return mean;
}

/// Shares of the attention within three patches of the query, and beyond them in its row or column.
void report(const char* name, const std::vector<double>& weights) {
  double near = 0;
  double cross = 0;
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column) {
      const double weight = weights[static_cast<std::size_t>(row * side + column)];
      const int down = row - query_row;
      const int right = column - query_column;
      if (down * down + right * right <= 9) {
        near += weight;
      } else if (down == 0 || right == 0) {
        cross += weight;
      }
    }
  }
  std::printf("%-12s %3.0f %%     %3.0f %%    %3.0f %%\n", name, 100 * near, 100 * cross,
              100 * (1 - near - cross));
}

/// One dot for each pair: the direction, and how fast on a logarithmic scale.
void draw_directions(const rope::Frequencies& f, double slowest, double fastest) {
  std::printf("<circle r=\"100\" fill=\"#f4f4f4\" stroke=\"#bbb\"/>");
  std::printf("<path d=\"M-100 0H100M0-100V100\" stroke=\"#ddd\"/>\n");
  for (std::int64_t h = 0; h < f.heads(); ++h) {
    std::printf("<path d=\"");
    for (std::int64_t j = 0; j < f.pairs(); ++j) {
      const double size = std::hypot(f(0, h, j), f(1, h, j));
      const double radius = 20 + 75 * std::log(size / slowest) / std::log(fastest / slowest);
      // u and -u are one direction: the dots are point-symmetric.
      for (const double sign : {radius / size, -radius / size}) {
        std::printf("M%.1f %.1fh0", sign * f(0, h, j), sign * f(1, h, j));
      }
    }
    std::printf("\" stroke=\"hsl(%d,70%%,45%%)\" stroke-width=\"3\" stroke-linecap=\"round\"/>\n",
                f.heads() == 1 ? 210 : static_cast<int>(30 * h));
  }
}

/// The image in shades, one path for each, darkest where the attention is greatest.
void draw_attention(const std::vector<double>& weights) {
  constexpr int shades = 16;
  double greatest = 0;
  for (const double weight : weights) greatest = std::fmax(greatest, weight);
  std::printf("<path d=\"M0 0h%dv%dh-%dz\" fill=\"#f7fbff\"/>\n", side, side, side);
  for (int shade = 1; shade <= shades; ++shade) {
    std::string path;
    for (int t = 0; t < tokens; ++t) {
      // The square root brings out the faint part.
      const double share = std::sqrt(weights[static_cast<std::size_t>(t)] / greatest);
      if (static_cast<int>(std::ceil(share * shades - 0.5)) != shade) continue;
      path += "M" + std::to_string(t % side) + " " + std::to_string(t / side) + "h1v1h-1z";
    }
    if (path.empty()) continue;
    const int light = 97 - 80 * shade / shades;
    std::printf("<path d=\"%s\" fill=\"hsl(215,65%%,%d%%)\"/>\n", path.c_str(), light);
  }
  std::printf("<path d=\"M0 0h%dv%dh-%dz\" fill=\"none\" stroke=\"#bbb\" stroke-width=\"0.1\"/>\n",
              side, side, side);
}

void draw(const std::vector<Method>& all) {
  std::printf(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 500\" "
      "font-family=\"sans-serif\" font-size=\"16\" text-anchor=\"middle\">\n"
      "<rect width=\"720\" height=\"500\" fill=\"white\"/>\n");
  const double ends[][2] = {{0.5, 20}, {std::pow(10.0, -15.0 / 16), 1}, {0.5, 20}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int middle = 120 + 240 * static_cast<int>(i);
    std::printf("<text x=\"%d\" y=\"24\">%s</text>\n<g transform=\"translate(%d 140)\">\n", middle,
                all[i].name, middle);
    draw_directions(all[i].frequencies, ends[i][0], ends[i][1]);
    std::printf("</g>\n<g transform=\"translate(%d 270) scale(8)\">\n", middle - 100);
    draw_attention(attention(all[i]));
    std::printf("</g>\n");
  }
  std::printf("</svg>\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Method> all = methods();
  if (argc > 1 && std::string_view(argv[1]) == "svg") {
    draw(all);
    return 0;
  }
  std::printf("attention     nearby  row+column  rest\n");
  for (const Method& method : all) report(method.name, attention(method));
}
