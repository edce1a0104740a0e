// That what the quick look at a rotation in place lets pass is what the whole check lets pass, and
// what is right: counted address by address.
#include "rope/detail/rotate_check.hpp"

#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "rope/frequencies.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"
#include "support/tensor.hpp"

namespace {

using rope::View;
using rope::detail::Layout;
using rope_test::Random;

constexpr std::int64_t rows = 7;

const rope::CosSinTable<float>& table(std::int64_t rotary_dim) {
  static const rope::CosSinTable<float> two(rope::frequencies({.rotary_dim = 2}), rows);
  static const rope::CosSinTable<float> four(rope::frequencies({.rotary_dim = 4}), rows);
  return rotary_dim == 2 ? two : four;
}

/// Whether two indices lead to the same element.
bool counted_self_overlap(const Layout& layout) {
  std::set<std::int64_t> seen;
  for (std::int64_t b = 0; b < layout.extent[0]; ++b) {
    for (std::int64_t t = 0; t < layout.extent[1]; ++t) {
      for (std::int64_t h = 0; h < layout.extent[2]; ++h) {
        for (std::int64_t i = 0; i < layout.extent[3]; ++i) {
          const std::int64_t at = b * layout.stride[0] + t * layout.stride[1] +
                                  h * layout.stride[2] + i * layout.stride[3];
          if (!seen.insert(at).second) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("what is plainly fine is fine") {
  Random random(91);
  const auto below = [&](std::int64_t end) { return random.integer(0, end - 1); };
  std::vector<float> memory(4096);
  int plain = 0;
  int refused = 0;
  for (int n = 0; n < 100000; ++n) {
    Layout layout = {};
    // Nested strides, of which one is often changed.
    std::int64_t stride = 1;
    for (int axis = 3; axis >= 0; --axis) {
      layout.extent[axis] = axis == 3 ? 2 + below(5) : below(4);
      layout.stride[axis] = stride + below(2);
      stride = layout.stride[axis] * (layout.extent[axis] > 0 ? layout.extent[axis] : 1);
    }
    if (below(2) == 0) layout.stride[below(4)] = below(12) - 4;
    const View<float> view(memory.data() + 2048, layout, "test");
    const std::int64_t rotary_dim = 2 + 2 * below(2);
    const rope::Positions positions = rope::from(below(rows + 3) - 1);
    const std::int64_t first_dim = below(4) - 1;
    const rope::Status status =
        rope::detail::check_rotation("test", view, view, table(rotary_dim), &positions, first_dim);
    if (rope::detail::is_plainly_fine(view, table(rotary_dim), &positions, first_dim)) {
      ++plain;
      REQUIRE(status.ok());
      REQUIRE(!counted_self_overlap(layout));
      REQUIRE(first_dim >= 0);
      REQUIRE(first_dim + rotary_dim <= layout.extent[3]);
      REQUIRE(positions.start() >= 0);
      REQUIRE(positions.start() + layout.extent[1] <= rows);
    } else if (!status.ok()) {
      ++refused;
    }
  }
  CHECK(plain > 5000);
  CHECK(refused > 5000);
}

TEST_CASE("an empty view of huge extents is no reason to overflow") {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (int empty = 0; empty < 4; ++empty) {
    Layout layout = {{1, 1, huge, huge}, {huge, huge, huge, huge}};
    layout.extent[empty] = 0;
    const View<float> view(nullptr, layout, "test");
    const rope::Positions positions = rope::from(0);
    CHECK(!rope::detail::is_plainly_fine(view, table(2), &positions, 0));
    if (layout.extent[3] > 0) {
      CHECK_NOTHROW(rope::rotate<rope::Pairing::half_split>(view, table(2), positions));
    }
  }
}
