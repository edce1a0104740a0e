// Rotation before the split into heads, and the temperature of more tokens.
#include "rope/spatial/split_heads.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/spatial/attention_temperature.hpp"
#include "rope/spatial/axial.hpp"
#include "rope/token_table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"
#include "support/tensor.hpp"

namespace {

using rope_test::require_throws;
using rope_test::Tensor;

}  // namespace

TEST_CASE("rotating one wide head and splitting it is rotating the heads, bit for bit") {
  const rope::Frequencies whole = rope::axial_frequencies({.axis_dims = {8, 8, 8}});
  const std::vector<double> places = {0.5, -1, 3, 4, 0, 2.25};
  const rope::TokenTable<float> wide(whole, rope::coordinates(places, {2, 3}));
  for (const std::int64_t heads : {1, 2, 3, 4, 12}) {
    const rope::Frequencies split = rope::split_heads(whole, heads);
    CHECK(split.heads() == heads);
    CHECK(split.axes() == 3);
    CHECK(split.pairs() == 12 / heads);
    const rope::TokenTable<float> by_head(split, rope::coordinates(places, {2, 3}));
    const auto before = Tensor<float>::random({1, 2, 1, 24}, 51);
    auto x = before;
    rope::rotate<rope::Pairing::interleaved>(x.view(), wide);
    // The same memory as [tokens, heads, dim].
    auto y = before;
    rope::rotate<rope::Pairing::interleaved>(
        rope::View<float>(y.view().data(), {1, 2, heads, 24 / heads}, {48, 24, 24 / heads, 1}),
        by_head);
    CHECK(x.same_values(y));
  }
}

TEST_CASE("pairs that do not divide into heads are refused") {
  const rope::Frequencies whole = rope::axial_frequencies({.axis_dims = {12, 12}});
  const char* const text =
      "rope::split_heads: 12 pairs do not divide into 5 heads of whole pairs; 4 heads would";
  require_throws<rope::InvalidArgument>(text,
                                        [&] { static_cast<void>(rope::split_heads(whole, 5)); });
  require_throws<rope::InvalidArgument>(
      "rope::split_heads: 12 pairs do not divide into 24 heads of whole pairs; 12 heads would",
      [&] { static_cast<void>(rope::split_heads(whole, 24)); });
  require_throws<rope::InvalidArgument>(
      "rope::split_heads: 12 pairs do not divide into 0 heads of whole pairs; 1 heads would",
      [&] { static_cast<void>(rope::split_heads(whole, 0)); });
  require_throws<rope::InvalidArgument>(
      "rope::split_heads: frequencies must have 1 head, which is split, got 2",
      [&] { static_cast<void>(rope::split_heads(rope::split_heads(whole, 2), 2)); });
}

TEST_CASE("the temperature of attention over more tokens") {
  CHECK(rope::attention_temperature({.trained = 196, .now = 196}) == 1);
  CHECK(rope::attention_temperature({.trained = 16, .now = 256}) == 2);
  CHECK(rope::attention_temperature({.trained = 256, .now = 16}) == 0.5);
  const double found = rope::attention_temperature({.trained = 196, .now = 1024});
  CHECK(std::abs(static_cast<long double>(found) - std::log(1024.0L) / std::log(196.0L)) <=
        0.51L * 0x1p-52L);
  require_throws<rope::InvalidArgument>(
      "rope::attention_temperature: tokens.trained and tokens.now must be at least 2, got 1 and 4",
      [] { static_cast<void>(rope::attention_temperature({.trained = 1, .now = 4})); });
  require_throws<rope::InvalidArgument>(
      "rope::attention_temperature: tokens.trained and tokens.now must be at least 2, got 4 and 0",
      [] { static_cast<void>(rope::attention_temperature({.trained = 4, .now = 0})); });
}
