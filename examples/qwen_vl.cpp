// Qwen2.5-VL: the positions of a prompt with an image and a video, and the rotation by them.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "rope/core.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/spatial/axis_map.hpp"
#include "rope/spatial/mrope_table.hpp"

namespace {

using Ids = std::vector<std::int64_t>;

// Token ids of the tokenizer; those of words are of no interest here.
constexpr std::int64_t word = 1, vision_start = 151652, vision_end = 151653;
constexpr std::int64_t image_pad = 151655, video_pad = 151656;

void append(Ids& prompt, std::int64_t id, std::size_t times) {
  prompt.insert(prompt.end(), times, id);
}

void print(const char* name, const std::vector<std::int64_t>& values) {
  std::printf("%-7s", name);
  for (const std::int64_t value : values) std::printf("%3lld", static_cast<long long>(value));
  std::printf("\n");
}

}  // namespace

int main() {
  // Two words, an image of 4 x 6 patches, a word, a video of 3 frames of 4 x 4 patches, a word.
  // The model merges 2 x 2 patches to one token.
  Ids prompt;
  append(prompt, word, 2);
  append(prompt, vision_start, 1);
  append(prompt, image_pad, 2 * 3);
  append(prompt, vision_end, 1);
  append(prompt, word, 1);
  append(prompt, vision_start, 1);
  append(prompt, video_pad, 3 * 2 * 2);
  append(prompt, vision_end, 1);
  append(prompt, word, 1);

  // [ids]
  // What kind each token is, and where it is on the axes of time, height and width. The video was
  // sampled at 4 frames a second, and two of them make one patch in time.
  const auto kinds = rope::token_kinds(prompt, {.image = image_pad, .video = video_pad});
  const rope::MropeIds ids = rope::mrope_ids(kinds, {prompt.size()},
                                             {.rule = rope::Qwen25Vl{.tokens_per_second = 2},
                                              .merge_size = 2,
                                              .images = {{.frames = 1, .height = 4, .width = 6}},
                                              .videos = {{.frames = 3, .height = 4, .width = 4}},
                                              .seconds_per_grid = {rope::seconds_per_grid(4, 2)}});
  // [ids]
  for (const auto& [axis, name] : {std::pair{0, "time"}, {1, "height"}, {2, "width"}}) {
    print(name, {ids.axis(axis).begin(), ids.axis(axis).end()});
  }
  std::printf("the answer begins at %lld on all axes, %lld from the number of tokens\n\n",
              static_cast<long long>(ids.next()[0]), static_cast<long long>(ids.deltas()[0]));

  // Queries whose features are all 1 before the rotation.
  constexpr std::int64_t head_dim = 128;
  const auto tokens = static_cast<std::int64_t>(prompt.size());
  std::vector<float> q(prompt.size() * head_dim, 1.0F);

  // [rotate]
  // One table for all axes: each pair of features takes the row of its axis' position.
  const auto ladder = rope::frequencies({.rotary_dim = head_dim, .base = 1000000.0});
  const rope::CosSinTable<float> table(ladder, 4096);
  const auto rows = rope::mrope_table(table, rope::contiguous_axes({16, 24, 24}), ids.values(),
                                      {ids.axes(), ids.batch(), ids.tokens()});
  rope::rotate<rope::Pairing::half_split>(rope::thd(q, {tokens, 1, head_dim}), rows);
  // [rotate]

  // How far apart two tokens are on each axis, measured in the fastest pair that follows it.
  const auto print_distance = [&](const char* what, const float* from, const float* to) {
    std::printf("%-36s", what);
    for (const std::int64_t pair : {0, 16, 16 + 24}) {
      const float x0 = from[pair], x1 = from[pair + head_dim / 2];
      const float y0 = to[pair], y1 = to[pair + head_dim / 2];
      const auto angle = static_cast<double>(std::atan2(x0 * y1 - x1 * y0, x0 * y0 + x1 * y1));
      std::printf("%4ld", std::lround(angle / ladder(0, 0, pair)));
    }
    std::printf("\n");
  };
  const auto at = [&](std::int64_t token) { return q.data() + token * head_dim; };
  std::printf("measured in the rotated queries      t   h   w\n");
  print_distance("from a patch to its right neighbour", at(3), at(4));
  print_distance("to the one below", at(3), at(6));
  print_distance("to the same patch a frame later", at(12), at(16));
  print_distance("from a word to the next", at(0), at(1));
  print_distance("from the last frame to the next word", at(20), at(24));

  // [decode]
  // The tokens of the answer have the same position on all axes: plain RoPE.
  std::vector<float> next(head_dim, 1.0F);
  rope::rotate<rope::Pairing::half_split>(rope::thd(next, {1, 1, head_dim}), table,
                                          rope::from_each(ids.next()));
  // [decode]
  print_distance("from the prompt to the answer", at(tokens - 1), next.data());
  std::printf("\n");

  // [tower]
  // The vision tower before it sees the patches of one merged token side by side.
  const rope::Coordinates patches = rope::merge_block_coordinates({1, 4, 6}, 2);
  const rope::TokenTable<float> tower(rope::axial_frequencies({.axis_dims = {40, 40}}), patches);
  // [tower]
  Ids row;
  Ids column;
  for (std::int64_t t = 0; t < tower.tokens(); ++t) {
    row.push_back(std::lround(patches(0, t, 0)));
    column.push_back(std::lround(patches(0, t, 1)));
  }
  print("row", row);
  print("column", column);
}
