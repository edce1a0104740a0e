// Positions: which position each token gets, and which lists are refused.
#include "rope/row_positions.hpp"

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
using rope::OutOfRange;
using rope::Pairing;
using rope::Positions;
using rope_test::require_throws;
using rope_test::Tensor;

constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

/// The positions that rotate() really gave the tokens: one pair of frequency 0.001 tells them.
std::vector<std::int64_t> positions_seen(std::int64_t batch, std::int64_t tokens,
                                         const Positions& positions) {
  const rope::CosSinTable<double> table(rope::Frequencies({0.001}, {1, 1, 1}), 3000);
  Tensor<double> x({batch, tokens, 1, 2});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) x[{b, t, 0, 0}] = 1;
  }
  rope::rotate<Pairing::interleaved>(x.view(), table, positions);
  std::vector<std::int64_t> seen;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const double angle = std::atan2(x[{b, t, 0, 1}], x[{b, t, 0, 0}]);
      seen.push_back(std::llround(angle * 1000));
    }
  }
  return seen;
}

using List = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("from() counts on from one start in every row of the batch") {
  CHECK(positions_seen(2, 3, rope::from(0)) == List{0, 1, 2, 0, 1, 2});
  CHECK(positions_seen(1, 4, rope::from(7)) == List{7, 8, 9, 10});
  CHECK(positions_seen(2, 1, rope::from(std::size_t{2999})) == List{2999, 2999});
}

TEST_CASE("from_each() counts on from a start for each row of the batch") {
  const std::vector<std::int32_t> narrow = {5, 0, 100};
  const std::array<std::int64_t, 2> wide = {2000, 3};
  CHECK(positions_seen(3, 2, rope::from_each(narrow)) == List{5, 6, 0, 1, 100, 101});
  CHECK(positions_seen(2, 2, rope::from_each(wide)) == List{2000, 2001, 3, 4});
  CHECK(positions_seen(2, 1, rope::from_each(narrow.data())) == List{5, 0});
  CHECK(positions_seen(2, 1, rope::from_each(std::span(narrow).last(2))) == List{0, 100});
}

TEST_CASE("at() gives each token its own position") {
  const std::vector<std::int32_t> narrow = {4, 4, 0, 1, 17, 2};
  const std::int64_t wide[] = {3, 2, 1};
  CHECK(positions_seen(1, 6, rope::at(narrow, {6})) == List{4, 4, 0, 1, 17, 2});
  CHECK(positions_seen(2, 3, rope::at(narrow, {2, 3})) == List{4, 4, 0, 1, 17, 2});
  CHECK(positions_seen(3, 2, rope::at(narrow.data(), {3, 2})) == List{4, 4, 0, 1, 17, 2});
  // Without a batch in the shape, all rows of the batch share the ids.
  CHECK(positions_seen(2, 3, rope::at(wide, {3})) == List{3, 2, 1, 3, 2, 1});
  CHECK(positions_seen(1, 3, rope::at(wide, {1, 3})) == List{3, 2, 1});
}

TEST_CASE("the shape, not the size, says what a list means") {
  // batch == tokens: [2] and [2, 2] differ although either fits the view.
  const std::vector<std::int64_t> ids = {10, 20, 30, 40};
  CHECK(positions_seen(2, 2, rope::at(ids, {2, 2})) == List{10, 20, 30, 40});
  CHECK(positions_seen(2, 2, rope::at(std::span(ids).first(2), {2})) == List{10, 20, 10, 20});
  CHECK(positions_seen(2, 2, rope::from_each(std::span(ids).first(2))) == List{10, 11, 20, 21});
}

TEST_CASE("positions of padded rows come from the mask") {
  // Masks [0,0,1,1,1] and [1,1,1,1,1]: the real tokens are at 0, 1, 2 and 0 .. 4; the next step is
  // at 3 and 5. The padding may have any position that exists.
  const std::vector<std::int64_t> ids = {0, 0, 0, 1, 2, 0, 1, 2, 3, 4};
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 8}), 6);
  auto padded = Tensor<float>::random({2, 5, 2, 8}, 5);
  Tensor<float> alone({1, 3, 2, 8});
  alone.for_each([&](const rope_test::Shape& at) {
    alone[at] = padded[{0, at[1] + 2, at[2], at[3]}];
  });
  rope::rotate<Pairing::half_split>(padded.view(), table, rope::at(ids, {2, 5}));
  rope::rotate<Pairing::half_split>(alone.view(), table, rope::from(0));
  alone.for_each([&](const rope_test::Shape& at) {
    REQUIRE(alone[at] == padded[{0, at[1] + 2, at[2], at[3]}]);
  });
  const std::vector<std::int64_t> next = {3, 5};
  CHECK(positions_seen(2, 1, rope::at(next, {2, 1})) == List{3, 5});
  CHECK(positions_seen(2, 1, rope::from_each(next)) == List{3, 5});
}

TEST_CASE("a list whose size is not that of its shape is refused") {
  const std::vector<std::int64_t> ids(15);
  require_throws<InvalidArgument>("rope::at: 15 ids, but the shape of batch 1 and tokens 5 needs 5",
                                  [&] { (void)rope::at(ids, {5}); });
  require_throws<InvalidArgument>(
      "rope::at: 15 ids, but the shape of batch 3 and tokens 4 needs 12", [&] {
        (void)rope::at(ids, {3, 4});
      });
  require_throws<InvalidArgument>("rope::at: the shape has batch -3 and tokens 5", [&] {
    (void)rope::at(ids, {-3, 5});
  });
  require_throws<InvalidArgument>("rope::at: the shape has batch 1 and tokens -1",
                                  [&] { (void)rope::at(ids.data(), {-1}); });
  require_throws<InvalidArgument>("rope::at: the shape has batch 4294967296 and tokens 4294967296",
                                  [&] {
                                    (void)rope::at(ids.data(), {1LL << 32, 1LL << 32});
                                  });
  // The least integer is no secret way to say "no batch".
  require_throws<InvalidArgument>(
      "rope::at: the shape has batch -9223372036854775808 and tokens 15", [&] {
        (void)rope::at(ids, {smallest, 15});
      });
}

TEST_CASE("null ids are refused unless none are needed") {
  const std::int32_t* const null = nullptr;
  require_throws<InvalidArgument>("rope::at: ids are null, but 3 are needed",
                                  [&] { (void)rope::at(null, {3}); });
  require_throws<InvalidArgument>("rope::from_each: starts are null",
                                  [&] { (void)rope::from_each(null); });
  const std::vector<std::int32_t> none;
  CHECK(positions_seen(0, 3, rope::at(none, {0, 3})).empty());
  CHECK(positions_seen(2, 0, rope::at(none, {0})).empty());
  CHECK(positions_seen(0, 3, rope::from_each(none)).empty());
}
