// Which axis each pair follows: the published maps, written out by hand.
#include "rope/spatial/axis_map.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope_test::require_throws;
using List = std::vector<std::int64_t>;
constexpr std::int64_t none = rope::AxisMap::no_axis;

}  // namespace

TEST_CASE("sections one after another") {
  const rope::AxisMap map = rope::contiguous_axes({2, 3, 1});
  CHECK(map.axes.value() == 3);
  CHECK(map.axis_of_pair == List{0, 0, 1, 1, 1, 2});
  CHECK(map.rung_of_pair.empty());
  // An axis may have no pairs, and there may be one axis, or four.
  CHECK(rope::contiguous_axes({0, 2}).axis_of_pair == List{1, 1});
  CHECK(rope::contiguous_axes({0, 2}).axes.value() == 2);
  CHECK(rope::contiguous_axes({1}).axis_of_pair == List{0});
  CHECK(rope::contiguous_axes({1, 1, 1, 1}).axis_of_pair == List{0, 1, 2, 3});
  require_throws<rope::InvalidArgument>(
      "rope::contiguous_axes: sections[1] must be from 0 to 2^31, got -1", [] {
        static_cast<void>(rope::contiguous_axes({2, -1}));
      });
  require_throws<rope::InvalidArgument>("rope::contiguous_axes: the sections have no pairs",
                                        [] { static_cast<void>(rope::contiguous_axes({})); });
  require_throws<rope::InvalidArgument>("rope::contiguous_axes: the sections have no pairs", [] {
    static_cast<void>(rope::contiguous_axes({0, 0}));
  });
  require_throws<rope::InvalidArgument>(
      "rope::contiguous_axes: the sections have more than 2^31 pairs", [] {
        static_cast<void>(rope::contiguous_axes({std::int64_t{1} << 31, 1}));
      });
}

TEST_CASE("time, height and width in turns") {
  CHECK(rope::interleaved_axes({.time = 4, .height = 2, .width = 2}).axis_of_pair ==
        List{0, 1, 2, 0, 1, 2, 0, 0});
  // Height and width that ask for more turns than there are pairs get what there is (timm's case).
  CHECK(rope::interleaved_axes({.time = 1, .height = 3, .width = 3}).axis_of_pair ==
        List{0, 1, 2, 0, 1, 2, 0});
  // Qwen3-VL: height at 1, 4, ... 58, width at 2, 5, ... 59, time elsewhere, 60 to 63 among it.
  const List qwen3 = rope::interleaved_axes({.time = 24, .height = 20, .width = 20}).axis_of_pair;
  REQUIRE(qwen3.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(qwen3[i] == (i >= 60 ? 0 : static_cast<std::int64_t>(i % 3)));
  }
  CHECK(rope::interleaved_axes({.time = 2, .height = 0, .width = 1}).axis_of_pair == List{0, 0, 2});
  CHECK(rope::interleaved_axes({.time = 1, .height = 0, .width = 0}).axis_of_pair == List{0});
  require_throws<rope::InvalidArgument>(
      "rope::interleaved_axes: sections[2] must be from 0 to 2^31, got -3",
      [] { static_cast<void>(rope::interleaved_axes({.time = 1, .height = 1, .width = -3})); });
}

TEST_CASE("ggml's turns leave the rest to a fourth axis") {
  const rope::AxisMap map = rope::ggml_interleaved_axes({.time = 4, .height = 2, .width = 2});
  CHECK(map.axes.value() == 4);
  CHECK(map.axis_of_pair == List{0, 1, 2, 0, 1, 2, 0, 3});
  CHECK(rope::ggml_interleaved_axes({.time = 1, .height = 1, .width = 1}, 2).axis_of_pair ==
        List{0, 1, 2, 3, 3});
  require_throws<rope::InvalidArgument>(
      "rope::ggml_interleaved_axes: sections[3] must be from 0 to 2^31, got -1", [] {
        static_cast<void>(rope::ggml_interleaved_axes({.time = 1, .height = 1, .width = 1}, -1));
      });
}

TEST_CASE("height and width in turns, then time") {
  CHECK(rope::time_last_axes({.time = 2, .height = 2, .width = 2}).axis_of_pair ==
        List{1, 2, 1, 2, 0, 0});
  // Also where the two are not alike: the pair's number decides.
  CHECK(rope::time_last_axes({.time = 1, .height = 1, .width = 2}).axis_of_pair ==
        List{1, 2, 1, 0});
  require_throws<rope::InvalidArgument>("rope::time_last_axes: the sections have no pairs", [] {
    static_cast<void>(rope::time_last_axes({.time = 0, .height = 0, .width = 0}));
  });
}

TEST_CASE("axes spread by their counts") {
  CHECK(rope::balanced_axes({4, 2, 2}).axis_of_pair == List{0, 1, 2, 0, 1, 2, 0, 0});
  CHECK(rope::balanced_axes({1}).axis_of_pair == List{0});
  CHECK(rope::balanced_axes({1, 3}).axis_of_pair == List{1, 1, 1, 0});
  CHECK(rope::balanced_axes({11, 11, 10}).axis_of_pair == List{0, 1, 2, 1, 0, 2, 1, 0, 2, 1, 0,
                                                               2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1,
                                                               0, 2, 1, 0, 2, 1, 0, 2, 1, 0});
  require_throws<rope::InvalidArgument>(
      "rope::balanced_axes: sections[0] must be above 0, as the last pair follows it", [] {
        static_cast<void>(rope::balanced_axes({0, 2}));
      });
}

TEST_CASE("even and odd frequencies") {
  const rope::AxisMap map = rope::even_odd_axes(4);
  CHECK(map.axis_of_pair == List{0, 0, 1, 1});
  CHECK(map.rung_of_pair == List{0, 2, 1, 3});
  const rope::AxisMap odd = rope::even_odd_axes(5);
  CHECK(odd.axis_of_pair == List{0, 0, 0, 1, 1});
  CHECK(odd.rung_of_pair == List{0, 2, 4, 1, 3});
  require_throws<rope::InvalidArgument>(
      "rope::even_odd_axes: pairs must be from 2 to 2^31, one for each axis at least, got 1",
      [] { static_cast<void>(rope::even_odd_axes(1)); });
}

TEST_CASE("every frequency on every axis") {
  const rope::AxisMap map =
      rope::frequency_major_axes({.axes = 3, .frequencies = 2, .unrotated_pairs = 1});
  CHECK(map.axes.value() == 3);
  CHECK(map.axis_of_pair == List{none, 0, 1, 2, 0, 1, 2});
  CHECK(map.rung_of_pair == List{0, 0, 0, 0, 1, 1, 1});
  const char* const text =
      "rope::frequency_major_axes: axes and frequencies must be at least 1, unrotated_pairs not "
      "negative, and none beyond 2^31, got ";
  require_throws<rope::InvalidArgument>(std::string(text) + "0, 2 and 0", [] {
    static_cast<void>(rope::frequency_major_axes({.axes = 0, .frequencies = 2}));
  });
  require_throws<rope::InvalidArgument>(std::string(text) + "3, 0 and 0", [] {
    static_cast<void>(rope::frequency_major_axes({.axes = 3, .frequencies = 0}));
  });
  require_throws<rope::InvalidArgument>(std::string(text) + "3, 2 and -1", [] {
    static_cast<void>(
        rope::frequency_major_axes({.axes = 3, .frequencies = 2, .unrotated_pairs = -1}));
  });
  require_throws<rope::InvalidArgument>(std::string(text) + "4611686018427387904, 4 and 0", [] {
    static_cast<void>(
        rope::frequency_major_axes({.axes = std::int64_t{1} << 62, .frequencies = 4}));
  });
}
