// Positions of sequences packed without padding.
#include "rope/ragged.hpp"

#include <array>
#include <cstdint>
#include <limits>
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

}  // namespace

TEST_CASE("each packed sequence counts from its own start") {
  const std::array<std::int32_t, 4> narrow = {0, 3, 3, 5};
  CHECK(rope::ragged_positions(narrow) == List{0, 1, 2, 0, 1});
  CHECK(rope::ragged_positions(List{0, 1, 2}) == List{0, 0});
  CHECK(rope::ragged_positions(List{0}).empty());
  CHECK(rope::ragged_positions(List{0, 0, 0}).empty());
  const List starts = {10, 7, 0};
  CHECK(rope::ragged_positions(narrow, starts) == List{10, 11, 12, 0, 1});
  CHECK(rope::ragged_positions(List{0, 2}, std::array<std::int32_t, 1>{-1}) == List{-1, 0});
}

TEST_CASE("a packed batch rotates as its sequences do alone") {
  const List cu_seqlens = {0, 4, 5, 9};
  const List starts = {0, 30, 2};
  const List ids = rope::ragged_positions(cu_seqlens, starts);
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 6}), 40);
  const auto packed = Tensor<float>::random({1, 9, 2, 6}, 7);
  auto together = packed;
  rope::rotate<rope::Pairing::interleaved>(together.view(), table, rope::at(ids, {ids.size()}));
  for (std::size_t s = 0; s < starts.size(); ++s) {
    auto alone = packed;
    const auto view = alone.view().slice_tokens(cu_seqlens[s], cu_seqlens[s + 1] - cu_seqlens[s]);
    rope::rotate<rope::Pairing::interleaved>(view, table, rope::from(starts[s]));
    for (std::int64_t t = cu_seqlens[s]; t < cu_seqlens[s + 1]; ++t) {
      for (std::int64_t i = 0; i < 6; ++i) {
        REQUIRE((alone[{0, t, 1, i}] == together[{0, t, 1, i}]));
      }
    }
  }
}

TEST_CASE("lengths that are none are refused") {
  require_throws<InvalidArgument>(
      "rope::ragged_positions: cu_seqlens has one entry more than there are sequences, got none",
      [] { (void)rope::ragged_positions(List{}); });
  require_throws<InvalidArgument>("rope::ragged_positions: cu_seqlens must begin with 0, got 1",
                                  [] {
                                    (void)rope::ragged_positions(List{1, 2});
                                  });
  require_throws<InvalidArgument>(
      "rope::ragged_positions: cu_seqlens must not fall, but entry 2 is 3 after 5", [] {
        (void)rope::ragged_positions(List{0, 5, 3});
      });
  require_throws<InvalidArgument>(
      "rope::ragged_positions: 1 starts for the 2 sequences of cu_seqlens", [] {
        (void)rope::ragged_positions(List{0, 5, 6}, List{0});
      });
  require_throws<InvalidArgument>(
      "rope::ragged_positions: sequence 0 from 9223372036854775807 on ends beyond 2^63", [] {
        (void)rope::ragged_positions(List{0, 1}, List{std::numeric_limits<std::int64_t>::max()});
      });
}
