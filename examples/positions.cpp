// Where tokens are: padded and packed batches, grids of patches, text beside images.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"

namespace {

void print(const char* name, const std::vector<std::int64_t>& positions) {
  std::printf("%-26s", name);
  for (const std::int64_t position : positions) {
    std::printf("%4lld", static_cast<long long>(position));
  }
  std::printf("\n");
}

void print(const char* name, const rope::Coordinates& coordinates) {
  std::printf("%-26s", name);
  for (std::int64_t t = 0; t < coordinates.tokens(); ++t) {
    for (std::int64_t a = 0; a < coordinates.axes(); ++a) {
      std::printf("%c%g", a == 0 ? ' ' : ',', coordinates(0, t, a));
    }
  }
  std::printf("\n");
}

void padded_batch() {
  // [padding]
  // Two prompts of 3 and 5 tokens, padded on the left. 1 is a token, 0 padding.
  const std::vector<int> mask = {0, 0, 1, 1, 1,  //
                                 1, 1, 1, 1, 1};
  const auto ids = rope::positions_from_mask(mask, {2, 5});        // for at(ids, {2, 5})
  const auto next = rope::next_positions_from_mask(mask, {2, 5});  // for from_each(next)
  // [padding]
  print("padded", ids);
  print("the next tokens", next);
}

void packed_batch() {
  // [ragged]
  // Three sequences packed into 6 tokens, the second of which already has 10 in the cache.
  const std::vector<std::int32_t> cu_seqlens = {0, 3, 5, 6};
  const std::vector<std::int64_t> starts = {0, 10, 0};
  const auto ids = rope::ragged_positions(cu_seqlens, starts);  // for at(ids, {6})
  // [ragged]
  print("packed", ids);
}

void shards() {
  // [shard]
  const auto ids =
      rope::shard_positions(10, {.sharding = rope::Sharding::zig_zag, .rank = 0, .ranks = 2});
  // [shard]
  print("rank 0 of 2, zig-zag", ids);
}

void grids() {
  // [grid]
  // Patches of 2 rows and 3 columns, row after row. Which coordinate comes first is said.
  const rope::Grid rows_first =
      rope::image_grid(rope::axis_steps(2), rope::axis_steps(3), rope::AxisOrder::row_first);
  const rope::Grid x_first =
      rope::image_grid(rope::axis_steps(2), rope::axis_steps(3), rope::AxisOrder::x_first);
  // A video: two frames, 4 positions apart.
  const rope::Grid video =
      rope::grid({rope::axis_steps(2, {.step = 4}), rope::axis_steps(1), rope::axis_steps(3)});
  // [grid]
  print("row first", rows_first.coordinates());
  print("x first", x_first.coordinates());
  print("video", video.coordinates());

  // [resolution]
  // The same model on 1 x 4 patches, trained on 1 x 2: go on counting, or cover the same range.
  const auto counted = rope::axis_steps(4);
  const auto stretched = rope::axis_rescaled(rope::axis_steps(4), {.from = 4, .to = 2});
  const auto centres = rope::axis_cell_centres(4, {.low = -1, .high = 1});
  const auto in_shape = rope::axis_end_points(4, rope::aspect_range(4, 1));
  // [resolution]
  print("counted", rope::grid({counted}).coordinates());
  print("stretched", rope::grid({stretched}).coordinates());
  print("cell centres", rope::grid({centres}).coordinates());
  print("aspect-preserving", rope::grid({in_shape}).coordinates());
}

void parts() {
  // [parts]
  // Qwen-Image: the patches lie around 0 behind one frame, the text goes on from the edge on.
  const rope::Grid image = rope::grid({{0}, rope::axis_centred(2), rope::axis_centred(3)});
  const rope::Coordinates all =
      rope::join_tokens({rope::text_coordinates(2, 3, 1), image.coordinates()});
  // V-JEPA 2: those patches alone that a mask leaves over.
  const rope::Coordinates kept = rope::select_tokens(image.coordinates(), {0, 4});
  // [parts]
  print("text and patches", all);
  print("two of the patches", kept);
}

}  // namespace

int main() {
  padded_batch();
  packed_batch();
  shards();
  grids();
  parts();
}
