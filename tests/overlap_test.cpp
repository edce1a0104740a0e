// Whether strided views share elements, against counting every address.
#include "rope/detail/overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "rope/detail/layout.hpp"
#include "support/catch.hpp"
#include "support/tensor.hpp"

namespace {

using rope::detail::Layout;
using rope::detail::overlaps_itself;
using rope_test::Random;

/// The offset of every element, in elements.
std::vector<std::int64_t> offsets(const Layout& layout) {
  std::vector<std::int64_t> all = {0};
  for (int axis = 0; axis < 4; ++axis) {
    std::vector<std::int64_t> more;
    for (const std::int64_t offset : all) {
      for (std::int64_t i = 0; i < layout.extent[axis]; ++i) {
        more.push_back(offset + i * layout.stride[axis]);
      }
    }
    all = more;
  }
  return all;
}

bool counted_self_overlap(const Layout& layout) {
  const std::vector<std::int64_t> all = offsets(layout);
  return std::set<std::int64_t>(all.begin(), all.end()).size() != all.size();
}

/// Whether two views share a byte, the second starting `distance` bytes after the first.
bool counted_sharing(const Layout& a, const Layout& b, std::int64_t distance, std::int64_t a_bytes,
                     std::int64_t b_bytes) {
  const std::vector<std::int64_t> from_a = offsets(a);
  const std::vector<std::int64_t> from_b = offsets(b);
  for (const std::int64_t i : from_a) {
    for (const std::int64_t j : from_b) {
      const std::int64_t a_first = i * a_bytes;
      const std::int64_t b_first = j * b_bytes + distance;
      if (a_first < b_first + b_bytes && b_first < a_first + a_bytes) return true;
    }
  }
  return false;
}

bool share(const Layout& a, const Layout& b, std::int64_t distance, std::int64_t a_bytes,
           std::int64_t b_bytes) {
  constexpr std::uintptr_t base = 1 << 20;
  return rope::detail::share_memory({base, a, a_bytes},
                                    {base + static_cast<std::uintptr_t>(distance), b, b_bytes});
}

Layout random_layout(Random& random) {
  Layout layout{};
  const std::int64_t reach = random.integer(1, 4) * 6;
  for (int axis = 0; axis < 4; ++axis) {
    layout.extent[axis] = random.integer(1, 4);
    layout.stride[axis] = random.integer(-reach, reach);
  }
  return layout;
}

/// A packed array in a random order of its axes, sliced at random: what real views look like.
Layout sliced_layout(Random& random) {
  Layout layout{};
  int order[] = {0, 1, 2, 3};
  for (int i = 3; i > 0; --i) std::swap(order[i], order[random.integer(0, i)]);
  std::int64_t stride = 1;
  for (const int axis : order) {
    const std::int64_t whole = random.integer(1, 5);
    layout.extent[axis] = random.integer(1, whole);
    layout.stride[axis] = random.integer(0, 1) == 0 ? stride : -stride;
    stride *= whole;
  }
  return layout;
}

}  // namespace

TEST_CASE("self-overlap agrees with counting") {
  Random random(1);
  int overlapping = 0;
  constexpr int cases = 20000;
  for (int i = 0; i < cases; ++i) {
    const Layout layout = i % 4 == 0 ? sliced_layout(random) : random_layout(random);
    const bool expected = counted_self_overlap(layout);
    overlapping += expected ? 1 : 0;
    REQUIRE(overlaps_itself(layout) == expected);
  }
  CHECK(overlapping > cases / 10);
  CHECK(overlapping < cases * 9 / 10);
}

TEST_CASE("sharing agrees with counting, at any distance in bytes") {
  Random random(2);
  int sharing = 0;
  constexpr int cases = 20000;
  for (int i = 0; i < cases; ++i) {
    const Layout a = i % 2 == 0 ? sliced_layout(random) : random_layout(random);
    const Layout b = i % 3 == 0 ? sliced_layout(random) : random_layout(random);
    // Of one type, or of two when a rotation converts.
    const std::int64_t a_bytes = std::int64_t{2} << random.integer(0, 2);
    const std::int64_t b_bytes = i % 2 == 0 ? a_bytes : std::int64_t{2} << random.integer(0, 2);
    // Mostly whole elements; sometimes misaligned.
    const std::int64_t distance =
        i % 5 == 0 ? random.integer(-200, 200) : b_bytes * random.integer(-60, 60);
    const bool expected = counted_sharing(a, b, distance, a_bytes, b_bytes);
    sharing += expected ? 1 : 0;
    REQUIRE(share(a, b, distance, a_bytes, b_bytes) == expected);
    REQUIRE(share(b, a, -distance, b_bytes, a_bytes) == expected);
  }
  CHECK(sharing > cases / 10);
  CHECK(sharing < cases * 9 / 10);
}

TEST_CASE("slices of a packed qkv share nothing, whatever their sizes") {
  for (const std::int64_t tokens : {1, 7, 4096, 1 << 20}) {
    for (const std::int64_t dim : {2, 64, 128, 192}) {
      const std::int64_t q_heads = 32;
      const std::int64_t k_heads = 4;
      const std::int64_t token = (q_heads + 2 * k_heads) * dim;
      const Layout q{{8, tokens, q_heads, dim}, {tokens * token, token, dim, 1}};
      const Layout k{{8, tokens, k_heads, dim}, {tokens * token, token, dim, 1}};
      const std::int64_t k_at = q_heads * dim * 4;
      CHECK_FALSE(overlaps_itself(q));
      CHECK_FALSE(share(q, k, k_at, 4, 4));
      CHECK_FALSE(share(k, k, k_heads * dim * 4, 4, 4));
      CHECK(share(q, k, k_at - 4, 4, 4));
      CHECK(share(q, k, k_at - 1, 4, 4));
    }
  }
}

TEST_CASE("transposed and strided layouts of any size do not overlap themselves") {
  // [batch, heads, tokens, dim], a cache with room for more tokens, dims outermost, dim by twos.
  CHECK_FALSE(overlaps_itself({{8, 4096, 32, 128}, {32LL << 19, 128, 1 << 19, 1}}));
  CHECK_FALSE(overlaps_itself({{8, 100, 32, 128}, {32LL << 19, 128, 1 << 19, 1}}));
  CHECK_FALSE(overlaps_itself({{8, 1000, 32, 128}, {32000, 32, 1, 256000}}));
  CHECK_FALSE(overlaps_itself({{8, 1000, 32, 64}, {1000 * 4096, 4096, 128, 2}}));
  CHECK_FALSE(overlaps_itself({{8, 1000, 32, 64}, {-1000 * 4096, 4096, -128, 2}}));
  // Strides that are not nested, and yet never meet: 3 i + 4 j for i < 4, j < 3.
  CHECK_FALSE(overlaps_itself({{1, 1, 3, 4}, {0, 0, 4, 3}}));
  CHECK(overlaps_itself({{1, 1, 4, 5}, {0, 0, 4, 3}}));
}

TEST_CASE("an extent of 1 makes its stride irrelevant") {
  CHECK_FALSE(overlaps_itself({{1, 3, 1, 4}, {0, 4, 0, 1}}));
  CHECK_FALSE(overlaps_itself({{1, 1, 1, 1}, {0, 0, 0, 0}}));
  CHECK(share({{1, 1, 1, 1}, {0, 0, 0, 0}}, {{1, 1, 1, 1}, {5, 6, 7, 8}}, 0, 4, 4));
  CHECK_FALSE(share({{1, 1, 1, 1}, {0, 0, 0, 0}}, {{1, 1, 1, 1}, {5, 6, 7, 8}}, 4, 4, 4));
}

TEST_CASE("spans near the largest do not overflow") {
  const std::int64_t far = std::numeric_limits<std::int64_t>::max() / 8 / 4;
  const Layout wide{{2, 2, 2, 2}, {far, -far + 4, 8, 1}};
  CHECK_FALSE(overlaps_itself(wide));
  CHECK(share(wide, wide, 0, 4, 4));
  CHECK(share(wide, wide, far * 4, 4, 4));
  CHECK(share(wide, wide, 16, 4, 4));  // far + (-far + 4)
  CHECK_FALSE(share(wide, wide, 8, 4, 4));
}

TEST_CASE("coprime strides of long axes are answered in bounded time") {
  // The search may give up, and then says yes: a rotation is refused rather than wrong.
  constexpr std::int64_t many = 1 << 20;
  const Layout a{{many, many, many, 1}, {1000003, 1000033, 1000037, 1}};
  CHECK(overlaps_itself(a));  // 17 * 1000033 = 15 * 1000037 + 2 * 1000003
  CHECK(share(a, a, 4 * (1000033 - 1000003), 4, 4));
  CHECK(share(a, a, 4 * 12345678901, 4, 4));
  // What the common divisor rules out needs no search.
  const Layout even{{many, many, many, 2}, {2000006, 2000066, 2000074, 2}};
  CHECK_FALSE(share(even, even, 4, 4, 4));
}
