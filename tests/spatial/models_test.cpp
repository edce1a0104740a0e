// The models of docs/spatial.md as parameter sets of the library. The expected angles are the
// formulas of the originals, written out here once more for each model; the originals' own numbers
// are compared by golden.nd and golden.llm.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "rope/coordinates.hpp"
#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/axis_map.hpp"
#include "rope/spatial/grid.hpp"
#include "rope/spatial/grid_axis.hpp"
#include "rope/spatial/ladders.hpp"
#include "rope/spatial/normalised_grid.hpp"
#include "rope/spatial/rotate_axes.hpp"
#include "rope/spatial/rotated_tokens.hpp"
#include "rope/spatial/shared_ladder.hpp"
#include "rope/spatial/split_heads.hpp"
#include "rope/spatial/token_lists.hpp"
#include "rope/spatial/vision_grid.hpp"
#include "rope/token_table.hpp"
#include "spatial/reference.hpp"
#include "support/catch.hpp"
#include "support/pairings.hpp"
#include "support/tensor.hpp"

namespace {

using rope::AxisOrder;
using rope::Pairing;
using rope_test::Tensor;
using rope_test::spatial::Turn;

constexpr auto interleaved = Pairing::interleaved;
constexpr auto half_split = Pairing::half_split;

/// The angle of a head's pair at a token, tokens counted from the first rotated one.
using Angle = std::function<long double(int token, int head, int pair)>;

/// base^(-2k / d)
long double rung(long double base, int k, int d) { return std::pow(base, -2.0L * k / d); }

struct Model {
  const char* name;
  Pairing pairing;
  rope::Frequencies frequencies;
  rope::Coordinates positions;
  int heads;
  int head_dim;
  Angle angle;
  rope::UnrotatedTokens unrotated = {};
  /// Where pairs are formed within each axis' part.
  std::vector<std::int64_t> axis_dims = {};
};

void check(const Model& model) {
  INFO(model.name);
  const std::int64_t first = model.unrotated.first;
  const std::int64_t tokens = first + model.positions.tokens() + model.unrotated.last;
  const auto before = Tensor<float>::random({2, tokens, model.heads, model.head_dim}, 71);
  auto after = before;
  const rope::TokenTable<float> table(model.frequencies, model.positions);
  const auto view = rope::rotated_tokens(after.view(), model.unrotated);
  if (model.axis_dims.empty()) {
    rope::rotate(view, table, {.pairing = model.pairing});
  } else {
    rope::rotate_axes(view, table, {.pairing = model.pairing, .axis_dims = model.axis_dims});
  }
  const auto pairs = static_cast<std::size_t>(model.frequencies.pairs());
  long double worst = 0;
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const bool is_rotated = t >= first && t < first + model.positions.tokens();
      for (std::int64_t h = 0; h < model.heads; ++h) {
        std::vector<Turn> turns;
        for (std::size_t j = 0; is_rotated && j < pairs; ++j) {
          const long double angle =
              model.angle(static_cast<int>(t - first), static_cast<int>(h), static_cast<int>(j));
          Turn turn = {2 * j, 2 * j + 1, angle};
          if (model.pairing == half_split) turn = {j, j + pairs, angle};
          if (!model.axis_dims.empty()) {  // two equal parts
            const std::size_t own = pairs / 2;
            turn = {j / own * 2 * own + j % own, j / own * 2 * own + j % own + own, angle};
          }
          turns.push_back(turn);
        }
        worst = std::max(worst, rope_test::spatial::worst_error(before.values(b, t, h),
                                                                after.values(b, t, h), turns));
      }
    }
  }
  CHECK(worst <= rope_test::rotation_tolerance<float>);
}

// Images of 3 rows and 5 columns, heads of 20 features: 5 pairs for each of two axes.
constexpr int rows = 3;
constexpr int columns = 5;

rope::Frequencies halves(double base) {
  return rope::axial_frequencies({.axis_dims = rope::equal_axis_dims(20, 2), .base = base});
}

rope::Coordinates patches(AxisOrder order, std::int64_t first = 0) {
  return rope::image_grid(rope::axis_steps(rows, {.first = first}),
                          rope::axis_steps(columns, {.first = first}), order)
      .coordinates();
}

/// Five pairs follow one coordinate, five the other, each with the ladder base^(-4k / 20).
Angle two_ladders(long double base, std::function<std::pair<long double, long double>(int)> at) {
  return [base, at = std::move(at)](int token, int, int pair) {
    const auto [one, other] = at(token);
    return (pair < 5 ? one : other) * rung(base, pair % 5, 10);
  };
}

}  // namespace

TEST_CASE("vision models with two ladders") {
  const auto x_y = [](int t) {
    return std::pair<long double, long double>(t % columns, t / columns);
  };
  const auto row_column = [](int t) {
    return std::pair<long double, long double>(t / columns, t % columns);
  };
  check({"naver rope-vit, axial",
         interleaved,
         halves(100),
         patches(AxisOrder::x_first),
         2,
         20,
         two_ladders(100, x_y),
         {.first = 1}});
  check({"SAM 2",
         interleaved,
         halves(10000),
         patches(AxisOrder::x_first),
         1,
         20,
         two_ladders(10000, x_y),
         {.last = 3}});
  check({"Llama 4, vision",
         interleaved,
         halves(10000),
         patches(AxisOrder::x_first, 1),
         2,
         20,
         two_ladders(10000,
                     [&](int t) {
                       return std::pair<long double, long double>(t % columns + 1, t / columns + 1);
                     }),
         {.last = 1}});
  check({"Gemma 4, vision",
         half_split,
         halves(100),
         patches(AxisOrder::x_first),
         2,
         20,
         two_ladders(100, x_y),
         {},
         {10, 10}});
  const auto finer = [](std::int64_t size) {
    return rope::axis_rescaled(rope::axis_steps(size), {.from = size, .to = 16});
  };
  check({"EVA-02",
         interleaved,
         halves(10000),
         rope::image_grid(finer(rows), finer(columns), AxisOrder::row_first).coordinates(),
         2,
         20,
         two_ladders(10000,
                     [&](int t) {
                       return std::pair<long double, long double>(16.0L * (t / columns) / rows,
                                                                  16.0L * (t % columns) / columns);
                     }),
         {.first = 1}});
  // Blocks of 2 x 2 patches, of an image of 4 x 6 in two frames.
  check({"Qwen-VL, vision", half_split, halves(10000),
         rope::merge_block_coordinates({.frames = 2, .height = 4, .width = 6}, 2), 2, 20,
         two_ladders(10000, [](int t) {
           const int block = t % 24 / 4;
           return std::pair<long double, long double>(block / 3 * 2 + t % 4 / 2,
                                                      block % 3 * 2 + t % 2);
         })});
  const rope::Frequencies ladder = rope::period_frequencies({.pairs = 5, .base = 100});
  check({"DINOv3",
         half_split,
         rope::axis_blocks({{0, ladder}, {1, ladder}}),
         rope::normalised_grid(
             rows, columns,
             {.normalise_by = rope::NormaliseBy::separate, .order = AxisOrder::row_first})
             .coordinates(),
         2,
         20,
         [](int t, int, int j) {
           const long double place = j < 5 ? (2.0L * (t / columns) + 1) / rows - 1
                                           : (2.0L * (t % columns) + 1) / columns - 1;
           return 2 * std::numbers::pi_v<long double> * place * rung(100, j % 5, 10);
         },
         {.first = 5}});
  check({"Pixtral", interleaved,
         rope::share_ladder(rope::frequencies({.rotary_dim = 20}), rope::even_odd_axes(10)),
         patches(AxisOrder::row_first), 2, 20, [&](int t, int, int j) {
           const auto [row, column] = row_column(t);
           return j < 5 ? row * rung(10000, 2 * j, 20) : column * rung(10000, 2 * (j - 5) + 1, 20);
         }});
}

TEST_CASE("video and image generators with three ladders and more") {
  const auto three = [](std::vector<int> dims, long double base,
                        std::function<long double(int token, int axis)> at) -> Angle {
    return [=](int token, int, int pair) {
      int axis = 0;
      while (pair >= dims[static_cast<std::size_t>(axis)] / 2) {
        pair -= dims[static_cast<std::size_t>(axis++)] / 2;
      }
      return at(token, axis) * rung(base, pair, dims[static_cast<std::size_t>(axis)]);
    };
  };
  // Two frames of 3 x 5.
  const auto place = [](int token, int axis) -> long double {
    return axis == 0 ? token / 15 : axis == 1 ? token / 5 % 3 : token % 5;
  };
  const rope::Coordinates video =
      rope::grid({rope::axis_steps(2), rope::axis_steps(3), rope::axis_steps(5)}).coordinates();
  check({"Wan 2.1",
         interleaved,
         rope::axial_frequencies({.axis_dims = {44, 42, 42}}),
         video,
         1,
         128,
         three({44, 42, 42}, 10000, place),
         {.last = 2}});
  check({"HunyuanVideo", interleaved,
         rope::axial_frequencies({.axis_dims = {16, 56, 56}, .base = 256}), video, 1, 128,
         three({16, 56, 56}, 256, place)});
  check({"V-JEPA 2, as documented", interleaved,
         rope::axial_frequencies({.axis_dims = {20, 20, 20}}), video, 1, 64,
         three({20, 20, 20}, 10000, place)});
  // A crop from row 1 to 7 and column 2 to 12.
  check({"CogVideoX",
         interleaved,
         rope::axial_frequencies({.axis_dims = {16, 24, 24}}),
         rope::grid({rope::axis_steps(2), rope::axis_end_points(3, {.low = 1, .high = 7.0 * 2 / 3}),
                     rope::axis_end_points(5, {.low = 2, .high = 12.0 * 4 / 5})})
             .coordinates(),
         1,
         64,
         three({16, 24, 24}, 10000,
               [&](int token, int axis) -> long double {
                 const long double i = place(token, axis);
                 return axis == 0   ? i
                        : axis == 1 ? 1 + (14.0L / 3 - 1) * i / 2
                                    : 2 + (9.6L - 2) * i / 4;
               }),
         {.first = 4}});
  check({"Qwen-Image", interleaved, rope::axial_frequencies({.axis_dims = {16, 56, 56}}),
         rope::grid({{0}, rope::axis_centred(3), rope::axis_centred(5)}).coordinates(), 1, 128,
         three({16, 56, 56}, 10000, [](int token, int axis) -> long double {
           return axis == 0 ? 0 : axis == 1 ? token / 5 - 2 : token % 5 - 3;
         })});
  check({"FLUX", interleaved, rope::axial_frequencies({.axis_dims = {16, 56, 56}}),
         rope::join_tokens(
             {rope::constant_coordinates(4, {0, 0, 0}),
              rope::grid({{0}, rope::axis_steps(3), rope::axis_steps(5)}).coordinates()}),
         1, 128, three({16, 56, 56}, 10000, [](int token, int axis) -> long double {
           return token < 4 || axis == 0 ? 0 : axis == 1 ? (token - 4) / 5 : (token - 4) % 5;
         })});
  // Text counts on the fourth axis.
  check({"FLUX.2", interleaved,
         rope::axial_frequencies({.axis_dims = {32, 32, 32, 32}, .base = 2000}),
         rope::join_tokens(
             {rope::grid({{0}, {0}, {0}, rope::axis_steps(4)}).coordinates(),
              rope::grid({{10}, rope::axis_steps(3), rope::axis_steps(5), {0}}).coordinates()}),
         1, 128, three({32, 32, 32, 32}, 2000, [](int token, int axis) -> long double {
           if (token < 4) return axis == 3 ? token : 0;
           return axis == 0 ? 10 : axis == 1 ? (token - 4) / 5 : axis == 2 ? (token - 4) % 5 : 0;
         })});
}

TEST_CASE("models that rotate before they split the heads") {
  // 2 heads of 14 features: 4 frequencies on three axes, behind two pairs that stay.
  const long double half_pi = std::numbers::pi_v<long double> / 2;
  check({"LTX-Video", interleaved,
         rope::split_heads(
             rope::share_ladder(
                 rope::geometric_frequencies({.pairs = 4,
                                              .min_frequency = std::numbers::pi / 2,
                                              .max_frequency = 10000 * (std::numbers::pi / 2)}),
                 rope::frequency_major_axes({.axes = 3, .frequencies = 4, .unrotated_pairs = 2})),
             2),
         rope::Coordinates(std::vector<double>{-1, 0.5, 0.25, 0.125, -0.75, 1}, {2, 3}), 2, 14,
         [=](int token, int head, int pair) {
           const long double at[] = {-1, 0.5L, 0.25L, 0.125L, -0.75L, 1};
           const int whole = 7 * head + pair - 2;
           if (whole < 0) return 0.0L;
           return at[3 * token + whole % 3] * half_pi * std::pow(10000.0L, (whole / 3) / 3.0L);
         }});
  check({"Lepard, 3D Diffuser Actor", interleaved,
         rope::split_heads(rope::axial_frequencies({.axis_dims = rope::equal_axis_dims(36, 3)}), 3),
         rope::Coordinates(std::vector<double>{0.5, -2, 3.25, 7, 1.5, -0.5}, {2, 3}), 3, 12,
         [](int token, int head, int pair) {
           const long double at[] = {0.5L, -2, 3.25L, 7, 1.5L, -0.5L};
           const int whole = 6 * head + pair;
           return at[3 * token + whole / 6] * rung(10000, whole % 6, 12);
         }});
}

TEST_CASE("language models with images: one ladder, and a map") {
  // Time, height and width of three tokens.
  const std::vector<double> ids = {4, 4, 4, /**/ 5, 5, 6, /**/ 7, 9, 8};
  const auto run = [&](const char* name, Pairing pairing, double base, const rope::AxisMap& map,
                       std::vector<int> axis_of_pair) {
    check({name, pairing,
           rope::share_ladder(rope::frequencies({.rotary_dim = 16, .base = base}), map),
           rope::Coordinates(ids, {3, 3}), 2, 20, [=](int token, int, int pair) {
             const int axis = axis_of_pair[static_cast<std::size_t>(pair)];
             return static_cast<long double>(ids[static_cast<std::size_t>(3 * token + axis)]) *
                    rung(static_cast<long double>(base), pair, 16);
           }});
  };
  run("Qwen2-VL and Qwen2.5-VL, text", half_split, 1e6, rope::contiguous_axes({2, 3, 3}),
      {0, 0, 1, 1, 1, 2, 2, 2});
  run("GLM-4V, text", interleaved, 10000, rope::contiguous_axes({2, 3, 3}),
      {0, 0, 1, 1, 1, 2, 2, 2});
  run("Qwen3-VL, text", half_split, 5e6,
      rope::interleaved_axes({.time = 4, .height = 2, .width = 2}), {0, 1, 2, 0, 1, 2, 0, 0});
  run("ERNIE 4.5 VL, text", interleaved, 5e5,
      rope::time_last_axes({.time = 2, .height = 3, .width = 3}), {1, 2, 1, 2, 1, 2, 0, 0});
  run("VideoRoPE", half_split, 1e6, rope::time_last_axes({.time = 4, .height = 2, .width = 2}),
      {1, 2, 1, 2, 0, 0, 0, 0});
}
