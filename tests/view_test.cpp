// Views: layouts, slices, conversions, and what they refuse.
#include "rope/view.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::InvalidArgument;
using rope::OutOfRange;
using rope::View;
using rope_test::require_throws;

constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

static_assert(std::is_convertible_v<View<float>, View<const float>>);
static_assert(!std::is_convertible_v<View<const float>, View<float>>);
static_assert(!std::is_convertible_v<View<float>, View<double>>);
static_assert(std::is_trivially_copyable_v<View<double>>);

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

}  // namespace

TEST_CASE("each named layout puts an element where its name says") {
  // Offsets worked out by hand for batch 2, tokens 3, heads 4, dim 5.
  std::vector<float> values = counted(120);
  const View<float> bthd = rope::bthd(values, {2, 3, 4, 5});
  CHECK(bthd(1, 2, 3, 4) == 119.0F);
  CHECK(bthd(1, 0, 2, 3) == 73.0F);
  CHECK(bthd(0, 1, 0, 0) == 20.0F);
  CHECK(bthd.batch() == 2);
  CHECK(bthd.tokens() == 3);
  CHECK(bthd.heads() == 4);
  CHECK(bthd.dim() == 5);

  const View<float> bhtd = rope::bhtd(values, {2, 4, 3, 5});
  CHECK(bhtd(1, 2, 3, 4) == 119.0F);
  CHECK(bhtd(1, 0, 2, 3) == 93.0F);
  CHECK(bhtd(0, 1, 0, 0) == 5.0F);
  CHECK(bhtd.tokens() == 3);
  CHECK(bhtd.heads() == 4);

  const View<float> thd = rope::thd(std::span(values).first(60), {3, 4, 5});
  CHECK(thd.batch() == 1);
  CHECK(thd(0, 1, 2, 3) == 33.0F);
  CHECK(thd.tokens() == 3);

  const View<float> htd = rope::htd(values.data(), {4, 3, 5});
  CHECK(htd.batch() == 1);
  CHECK(htd(0, 1, 2, 3) == 38.0F);
  CHECK(htd.heads() == 4);
}

TEST_CASE("equal extents do not confuse the layouts") {
  std::vector<float> values = counted(4 * 4 * 2);
  CHECK(rope::thd(values, {4, 4, 2})(0, 1, 2, 0) == 12.0F);
  CHECK(rope::htd(values, {4, 4, 2})(0, 1, 2, 0) == 18.0F);
}

TEST_CASE("pointers, arrays, containers and spans are taken, const or not") {
  float array[] = {1, 2, 3, 4};
  const std::array<double, 4> constant = {5, 6, 7, 8};
  const std::vector<float> vector = {1, 2};
  CHECK(rope::bthd(array, {1, 1, 1, 4})(0, 0, 0, 3) == 4.0F);
  CHECK(rope::bthd(constant, {1, 2, 1, 2})(0, 1, 0, 0) == 7.0);
  static_assert(std::is_same_v<decltype(rope::bthd(constant, {1, 1, 1, 4})), View<const double>>);
  static_assert(std::is_same_v<decltype(rope::bthd(vector, {1, 1, 1, 2})), View<const float>>);
  static_assert(std::is_same_v<decltype(rope::thd(std::span(array), {1, 1, 4})), View<float>>);
}

TEST_CASE("extents of any integer type are taken") {
  std::vector<float> values = counted(24);
  const std::size_t tokens = 3;
  const short heads = 2;
  const unsigned char dim = 4;
  CHECK(rope::thd(values, {tokens, heads, dim})(0, 2, 1, 3) == 23.0F);
}

TEST_CASE("a view takes any strides") {
  std::vector<float> values = counted(24);
  // Tokens backwards, dims three apart.
  const View<float> view(values.data() + 12, {1, 2, 1, 4}, {0, -12, 7, 3});
  CHECK(view(0, 0, 0, 0) == 12.0F);
  CHECK(view(0, 1, 0, 3) == 9.0F);
  CHECK(view.token_stride() == -12);
  CHECK(view.head_stride() == 7);
  CHECK(view.dim_stride() == 3);
  CHECK(view.batch_stride() == 0);
}

TEST_CASE("slices are views of the same memory") {
  std::vector<float> values = counted(120);
  const View<float> view = rope::bthd(values, {2, 3, 4, 5});
  CHECK(view.slice_batch(1, 1)(0, 0, 0, 0) == 60.0F);
  CHECK(view.slice_tokens(1, 2)(1, 1, 0, 0) == 100.0F);
  CHECK(view.slice_heads(3, 1)(0, 0, 0, 1) == 16.0F);
  const View<float> dims = view.slice_dims(2, 3);
  CHECK(dims.dim() == 3);
  CHECK(dims(0, 0, 1, 0) == 7.0F);
  dims(0, 0, 0, 0) = -1.0F;
  CHECK(values[2] == -1.0F);
  CHECK(view.slice_tokens(3, 0).empty());
  CHECK(view.slice_tokens(0, 3).tokens() == 3);
}

TEST_CASE("a slice of an empty view does no arithmetic on its pointer") {
  // With the undefined behaviour sanitizer, an offset to null or far outside would be reported.
  const View<float> nothing = rope::bthd(static_cast<float*>(nullptr), {4, 0, 2, 8});
  CHECK(nothing.slice_batch(2, 2).data() == nullptr);
  CHECK(nothing.slice_heads(1, 1).data() == nullptr);
  CHECK(nothing.slice_dims(4, 4).empty());
}

TEST_CASE("an empty view may have no memory") {
  const std::vector<float> none;
  CHECK(rope::bthd(none, {0, 3, 4, 5}).empty());
  CHECK(rope::bthd(none, {2, 3, 4, 0}).empty());
  CHECK(View<float>(nullptr, {2, 0, 4, 5}, {1, 1, 1, 1}).empty());
  CHECK_FALSE(rope::bthd(counted(1).data(), {1, 1, 1, 1}).empty());
}

TEST_CASE("slices outside the view are refused") {
  std::vector<float> values = counted(120);
  const View<float> view = rope::bthd(values, {2, 3, 4, 5});
  require_throws<OutOfRange>(
      "rope::View::slice_batch: 2 from 1 on is not within the view's batch of 2",
      [&] { (void)view.slice_batch(1, 2); });
  require_throws<OutOfRange>(
      "rope::View::slice_tokens: 1 from -1 on is not within the view's tokens of 3",
      [&] { (void)view.slice_tokens(-1, 1); });
  require_throws<OutOfRange>(
      "rope::View::slice_heads: -1 from 2 on is not within the view's heads of 4",
      [&] { (void)view.slice_heads(2, -1); });
  require_throws<OutOfRange>(
      "rope::View::slice_dims: 9223372036854775807 from 1 on is not within the view's dim of 5",
      [&] { (void)view.slice_dims(1, std::numeric_limits<std::int64_t>::max()); });
}

TEST_CASE("shapes that cannot be are refused") {
  std::vector<float> values = counted(24);
  require_throws<InvalidArgument>("rope::bthd: tokens must not be negative, got -3", [&] {
    (void)rope::bthd(values.data(), {1, -3, 2, 4});
  });
  require_throws<InvalidArgument>("rope::View: heads must not be negative, got -1", [&] {
    (void)View<float>(values.data(), {1, 1, -1, 4}, {1, 1, 1, 1});
  });
  require_throws<InvalidArgument>(
      "rope::thd: data is null, but the shape [1, 3, 2, 4] is not empty", [&] {
        (void)rope::thd(static_cast<const float*>(nullptr), {3, 2, 4});
      });
  require_throws<InvalidArgument>(
      "rope::bhtd: data has 24 elements, but the shape [1, 3, 2, 8] (batch, tokens, heads, dim) "
      "needs 48",
      [&] {
        (void)rope::bhtd(values, {1, 2, 3, 8});
      });
  require_throws<InvalidArgument>(
      "rope::htd: data has 24 elements, but the shape [1, 3, 2, 3] (batch, tokens, heads, dim) "
      "needs 18",
      [&] {
        (void)rope::htd(values, {2, 3, 3});
      });
  require_throws<InvalidArgument>(
      "rope::bthd: data has 24 elements, but the shape [1, 0, 2, 3] (batch, tokens, heads, dim) "
      "needs 0",
      [&] {
        (void)rope::bthd(values, {1, 0, 2, 3});
      });
}

TEST_CASE("sizes whose product overflows are refused") {
  float one = 0;
  require_throws<InvalidArgument>(
      "rope::bthd: the shape [4294967296, 4294967296, 1, 1] (batch, tokens, heads, dim) has more "
      "than 2^63 - 1 elements",
      [&] {
        (void)rope::bthd(&one, {1LL << 32, 1LL << 32, 1, 1});
      });
  // 2^62 elements can be counted, but not their bytes.
  require_throws<InvalidArgument>(
      "rope::bthd: a span of 4611686018427387904 elements of 4 bytes overflows a 64-bit offset",
      [&] {
        (void)rope::bthd(&one, {1LL << 31, 1LL << 31, 1, 1});
      });
  require_throws<InvalidArgument>(
      "rope::View: tokens 3 with stride 4611686018427387904 overflows a 64-bit offset", [&] {
        (void)View<float>(&one, {1, 3, 1, 1}, {0, 1LL << 62, 0, 0});
      });
  require_throws<InvalidArgument>(
      "rope::View: dim 2 with stride -9223372036854775808 overflows a 64-bit offset", [&] {
        (void)View<float>(&one, {1, 1, 1, 2}, {0, 0, 0, smallest});
      });
  require_throws<InvalidArgument>(
      "rope::View: tokens 2 with stride -4611686018427387904 overflows a 64-bit offset", [&] {
        (void)View<float>(&one, {2, 2, 1, 1}, {1LL << 62, -(1LL << 62), 0, 0});
      });
  // An empty one needs no memory, whatever its other extents.
  CHECK(rope::bthd(static_cast<float*>(nullptr), {1LL << 32, 1LL << 32, 1, 0}).empty());
}

TEST_CASE("extents beyond 64 signed bits are refused") {
  require_throws<OutOfRange>(
      "rope::Extent: a value of 2^63 or more does not fit in 64 signed bits", [] {
        (void)rope::bthd(static_cast<float*>(nullptr), {0, 1ULL << 63, 1, 1});
      });
}

TEST_CASE("offsets of large tensors are counted in 64 bits") {
  // 233019 tokens of 72 heads of 128: the last one starts beyond 2^31 - 1. Nothing is read.
  float one = 0;
  const View<float> x = rope::thd(&one, {233019, 72, 128});
  CHECK(x.token_stride() * 233018 == 2147493888);
  CHECK(x.token_stride() * 233018 > std::numeric_limits<std::int32_t>::max());
  const View<float> last = x.slice_tokens(233018, 1);
  const auto bytes =
      reinterpret_cast<std::uintptr_t>(last.data()) - reinterpret_cast<std::uintptr_t>(&one);
  CHECK(bytes == std::uintptr_t{2147493888} * sizeof(float));
}
