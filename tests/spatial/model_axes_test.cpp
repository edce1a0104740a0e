// The axis map of a model's config.
#include <cstdint>
#include <vector>

#include "rope/huggingface/axis_map.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using List = std::vector<std::int64_t>;

rope::LayerRope layer(rope::SectionLayout layout, const List& sections) {
  return {.pairing = rope::Pairing::half_split,
          .output_order = rope::Pairing::half_split,
          .parameters = {.rotary_dim = 12},
          .sections = sections,
          .section_layout = layout};
}

}  // namespace

TEST_CASE("sections of a config as a map") {
  using enum rope::SectionLayout;
  CHECK(rope::axis_map(layer(none, {})).axis_of_pair == List{0, 0, 0, 0, 0, 0});
  CHECK(rope::axis_map(layer(none, {})).axes.value() == 1);
  CHECK(rope::axis_map(layer(blocks, {1, 2, 3})).axis_of_pair == List{0, 1, 1, 2, 2, 2});
  CHECK(rope::axis_map(layer(blocks, {1, 2, 2, 1})).axis_of_pair == List{0, 1, 1, 2, 2, 3});
  CHECK(rope::axis_map(layer(interleaved, {3, 1, 2})).axis_of_pair == List{0, 1, 2, 0, 0, 2});
  // Height, width, time in the config; time is axis 0 of the map.
  CHECK(rope::axis_map(layer(height_width_time, {2, 2, 2})).axis_of_pair == List{1, 2, 1, 2, 0, 0});
  rope_test::require_throws<rope::InvalidArgument>(
      "rope::axis_map: layer.sections have 5 pairs, but the layer rotates 6", [] {
        static_cast<void>(rope::axis_map(layer(blocks, {1, 2, 2})));
      });
  rope_test::require_throws<rope::InvalidArgument>(
      "rope::axis_map: layer.sections must have 3 values for its layout, got 2", [] {
        static_cast<void>(rope::axis_map(layer(interleaved, {4, 2})));
      });
  rope_test::require_throws<rope::InvalidArgument>(
      "rope::axis_map: sections[1] must be from 0 to 2^31, got -2", [] {
        static_cast<void>(rope::axis_map(layer(blocks, {8, -2})));
      });
}
