// Positions of padded batches, from an attention mask.
#include "rope/padding.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope::InvalidArgument;
using rope_test::require_throws;
using rope_test::Tensor;

using List = std::vector<std::int64_t>;

template <class T>
void check_type() {
  const std::array<T, 10> mask = {T(0), T(0), T(1), T(1), T(1), T(1), T(1), T(1), T(1), T(1)};
  CHECK(rope::positions_from_mask(mask, {2, 5}) == List{0, 0, 0, 1, 2, 0, 1, 2, 3, 4});
  CHECK(rope::next_positions_from_mask(mask, {2, 5}) == List{3, 5});
}

}  // namespace

TEST_CASE("positions count the real tokens of each row, whatever side the padding is on") {
  const std::vector<int> left = {0, 0, 1, 1, 1};
  const std::vector<int> right = {1, 1, 1, 0, 0};
  const std::vector<int> both = {0, 1, 0, 1, 0};
  CHECK(rope::positions_from_mask(left, {5}) == List{0, 0, 0, 1, 2});
  CHECK(rope::positions_from_mask(left, {5}, 1) == List{1, 1, 0, 1, 2});
  CHECK(rope::positions_from_mask(left, {1, 5}, -1) == List{-1, -1, 0, 1, 2});
  CHECK(rope::positions_from_mask(right, {5}, 7) == List{0, 1, 2, 7, 7});
  CHECK(rope::positions_from_mask(both, {5}, 9) == List{9, 0, 9, 1, 9});
  CHECK(rope::next_positions_from_mask(left, {5}) == List{3});
  CHECK(rope::next_positions_from_mask(both, {5}) == List{2});
}

TEST_CASE("a mask may be of any arithmetic type, in any contiguous place") {
  check_type<bool>();
  check_type<std::uint8_t>();
  check_type<std::int8_t>();
  check_type<std::int32_t>();
  check_type<std::int64_t>();
  check_type<std::uint64_t>();
  check_type<float>();
  check_type<double>();
  const bool array[] = {true, false};
  CHECK(rope::positions_from_mask(array, {2}, 5) == List{0, 5});
  CHECK(rope::positions_from_mask(&array[0], {2}, 5) == List{0, 5});
  CHECK(rope::positions_from_mask(std::span(array), {2}, 5) == List{0, 5});
  CHECK(rope::positions_from_mask(std::vector<float>{-0.0F, 1}, {2}, 5) == List{5, 0});
}

TEST_CASE("no rows, no tokens, nothing but padding") {
  const std::vector<int> none;
  CHECK(rope::positions_from_mask(none, {0, 3}).empty());
  CHECK(rope::positions_from_mask(none, {2, 0}).empty());
  CHECK(rope::next_positions_from_mask(none, {0, 3}).empty());
  CHECK(rope::next_positions_from_mask(none, {2, 0}) == List{0, 0});
  CHECK(rope::positions_from_mask(static_cast<const int*>(nullptr), {0}).empty());
  CHECK(rope::positions_from_mask(std::vector<int>{0, 0}, {2, 1}, 4) == List{4, 4});
  CHECK(rope::positions_from_mask(std::vector<int>{1, 1}, {2, 1}, 4) == List{0, 0});
}

TEST_CASE("a padded batch rotates as its rows do alone") {
  const std::vector<std::uint8_t> mask = {0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  const List ids = rope::positions_from_mask(mask, {2, 5}, 1);
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 6);
  auto padded = Tensor<float>::random({2, 5, 2, 8}, 5);
  Tensor<float> alone({1, 3, 2, 8});
  alone.for_each([&](const rope_test::Shape& at) {
    alone[at] = padded[{0, at[1] + 2, at[2], at[3]}];
  });
  rope::rotate<rope::Pairing::half_split>(padded.view(), table, rope::at(ids, {2, 5}));
  rope::rotate<rope::Pairing::half_split>(alone.view(), table, rope::from(0));
  alone.for_each([&](const rope_test::Shape& at) {
    REQUIRE(alone[at] == padded[{0, at[1] + 2, at[2], at[3]}]);
  });
}

TEST_CASE("what is not a mask of the shape is refused") {
  const std::vector<int> five = {0, 1, 1, 1, 1};
  require_throws<InvalidArgument>(
      "rope::positions_from_mask: 5 mask values, but the shape of batch 2 and tokens 3 needs 6",
      [&] {
        (void)rope::positions_from_mask(five, {2, 3});
      });
  require_throws<InvalidArgument>(
      "rope::next_positions_from_mask: 5 mask values, but the shape of batch 1 and tokens 4 needs "
      "4",
      [&] { (void)rope::next_positions_from_mask(five, {4}); });
  require_throws<InvalidArgument>("rope::positions_from_mask: the shape has batch -1 and tokens 5",
                                  [&] {
                                    (void)rope::positions_from_mask(five.data(), {-1, 5});
                                  });
  require_throws<InvalidArgument>(
      "rope::positions_from_mask: mask values are null, but 3 are needed",
      [&] { (void)rope::positions_from_mask(static_cast<const bool*>(nullptr), {3}); });
  require_throws<InvalidArgument>(
      "rope::positions_from_mask: a mask has 1 for tokens and 0 for padding, got 2 for token 1 of "
      "batch row 1",
      [&] {
        (void)rope::positions_from_mask(std::vector<int>{1, 1, 1, 1, 2, 1}, {2, 3});
      });
  require_throws<InvalidArgument>(
      "rope::positions_from_mask: a mask has 1 for tokens and 0 for padding, got -inf for token 1 "
      "of batch row 0",
      [&] {
        (void)rope::positions_from_mask(
            std::vector<float>{0, -std::numeric_limits<float>::infinity()}, {2});
      });
  require_throws<InvalidArgument>(
      "rope::next_positions_from_mask: a mask has 1 for tokens and 0 for padding, got nan for "
      "token 0 of batch row 0",
      [&] {
        (void)rope::next_positions_from_mask(
            std::vector<float>{std::numeric_limits<float>::quiet_NaN()}, {1});
      });
}
