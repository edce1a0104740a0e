// Shards: which positions each rank of a context-parallel group holds.
#include "rope/shards.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "rope/rotate.hpp"
#include "rope/row_positions.hpp"
#include "rope/table.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::Shard;
using rope::Sharding;
using rope_test::require_throws;

using List = std::vector<std::int64_t>;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

Shard contiguous(std::int64_t tokens, std::int64_t rank, std::int64_t ranks) {
  return rope::shard(tokens, {.sharding = Sharding::contiguous, .rank = rank, .ranks = ranks});
}

Shard zig_zag(std::int64_t tokens, std::int64_t rank, std::int64_t ranks) {
  return rope::shard(tokens, {.sharding = Sharding::zig_zag, .rank = rank, .ranks = ranks});
}

}  // namespace

TEST_CASE("contiguous shards are one chunk each, the larger ones first") {
  CHECK(contiguous(10, 0, 4) == Shard{{{0, 3}, {3, 0}}});
  CHECK(contiguous(10, 1, 4) == Shard{{{3, 3}, {6, 0}}});
  CHECK(contiguous(10, 2, 4) == Shard{{{6, 2}, {8, 0}}});
  CHECK(contiguous(10, 3, 4) == Shard{{{8, 2}, {10, 0}}});
  CHECK(contiguous(7, 0, 1) == Shard{{{0, 7}, {7, 0}}});
}

TEST_CASE("zig-zag shards are chunks r and 2 * ranks - 1 - r") {
  // Ten tokens in four chunks: 0 1 2 | 3 4 5 | 6 7 | 8 9.
  CHECK(zig_zag(10, 0, 2) == Shard{{{0, 3}, {8, 2}}});
  CHECK(zig_zag(10, 1, 2) == Shard{{{3, 3}, {6, 2}}});
  CHECK(zig_zag(7, 0, 1) == Shard{{{0, 4}, {4, 3}}});
  CHECK(zig_zag(16, 2, 4) == Shard{{{4, 2}, {10, 2}}});
}

TEST_CASE("a sequence of fewer tokens than chunks leaves some empty") {
  CHECK(contiguous(2, 1, 4) == Shard{{{1, 1}, {2, 0}}});
  CHECK(contiguous(2, 3, 4) == Shard{{{2, 0}, {2, 0}}});
  CHECK(zig_zag(3, 0, 4) == Shard{{{0, 1}, {3, 0}}});
  CHECK(zig_zag(3, 3, 4) == Shard{{{3, 0}, {3, 0}}});
  CHECK(zig_zag(0, 1, 2).tokens() == 0);
}

TEST_CASE("positions are listed in the order in which the rank holds its tokens") {
  CHECK(rope::shard_positions(10, {.sharding = Sharding::contiguous, .rank = 2, .ranks = 4}) ==
        List{6, 7});
  CHECK(rope::shard_positions(10, {.sharding = Sharding::zig_zag, .rank = 1, .ranks = 2}) ==
        List{3, 4, 5, 6, 7});
  CHECK(rope::shard_positions(10, {.sharding = Sharding::zig_zag, .rank = 0, .ranks = 2}) ==
        List{0, 1, 2, 8, 9});
  CHECK(rope::shard_positions(1, {.sharding = Sharding::zig_zag, .rank = 1, .ranks = 2}).empty());
}

TEST_CASE("all ranks together hold every token once, in shares that differ by at most one") {
  for (const Sharding sharding : {Sharding::contiguous, Sharding::zig_zag}) {
    for (std::int64_t tokens = 0; tokens <= 70; ++tokens) {
      for (std::int64_t ranks = 1; ranks <= 9; ++ranks) {
        CAPTURE(static_cast<int>(sharding), tokens, ranks);
        List held;
        std::int64_t smallest = tokens;
        std::int64_t greatest = 0;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const List own =
              rope::shard_positions(tokens, {.sharding = sharding, .rank = rank, .ranks = ranks});
          const Shard shard =
              rope::shard(tokens, {.sharding = sharding, .rank = rank, .ranks = ranks});
          REQUIRE(std::is_sorted(own.begin(), own.end()));
          REQUIRE(shard.tokens() == static_cast<std::int64_t>(own.size()));
          smallest = (std::min)(smallest, shard.tokens());
          greatest = (std::max)(greatest, shard.tokens());
          held.insert(held.end(), own.begin(), own.end());
        }
        std::sort(held.begin(), held.end());
        REQUIRE(held.size() == static_cast<std::size_t>(tokens));
        for (std::int64_t i = 0; i < tokens; ++i) REQUIRE(held[static_cast<std::size_t>(i)] == i);
        REQUIRE(greatest - smallest <= 1);
      }
    }
  }
}

TEST_CASE("shards of the longest sequences and the most ranks do not overflow") {
  // 2^63 - 1 = 3 * 3074457345618258602 + 1
  CHECK(contiguous(largest, 2, 3) ==
        Shard{{{6148914691236517205, 3074457345618258602}, {largest, 0}}});
  // In six chunks of 1537228672809129301, the first one larger by one.
  CHECK(zig_zag(largest, 0, 3) ==
        Shard{{{0, 1537228672809129302}, {7686143364045646506, 1537228672809129301}}});
  const std::int64_t ranks = (std::int64_t{1} << 62) - 1;
  CHECK(zig_zag(5, ranks - 1, ranks) == Shard{{{5, 0}, {5, 0}}});
  CHECK(zig_zag(5, 4, ranks) == Shard{{{4, 1}, {5, 0}}});
}

TEST_CASE("shards rotated alone are, put together, the sequence rotated whole") {
  constexpr std::int64_t tokens = 13;
  constexpr std::int64_t dim = 6;
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim, .base = 100}), tokens);
  std::vector<float> whole(tokens * dim);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<float>(i % 7) - 3.0f;
  const std::vector<float> original = whole;
  rope::rotate<rope::Pairing::half_split>(rope::thd(whole, {tokens, 1, dim}), table, rope::from(0));

  for (const Sharding sharding : {Sharding::contiguous, Sharding::zig_zag}) {
    std::vector<float> together(tokens * dim);
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      const List ids =
          rope::shard_positions(tokens, {.sharding = sharding, .rank = rank, .ranks = 3});
      std::vector<float> own;
      for (const std::int64_t id : ids) {
        own.insert(own.end(), original.begin() + id * dim, original.begin() + (id + 1) * dim);
      }
      rope::rotate<rope::Pairing::half_split>(rope::thd(own, {ids.size(), 1, dim}), table,
                                              rope::at(ids, {ids.size()}));
      for (std::size_t t = 0; t < ids.size(); ++t) {
        std::copy_n(own.begin() + static_cast<std::int64_t>(t) * dim, dim,
                    together.begin() + ids[t] * dim);
      }
    }
    CHECK(together == whole);
  }
}

TEST_CASE("shards that cannot be are refused") {
  require_throws<rope::InvalidArgument>("rope::shard: tokens must not be negative, got -1",
                                        [] { contiguous(-1, 0, 1); });
  require_throws<rope::InvalidArgument>("rope::shard: ranks must be 1 to 2^62 - 1, got 0",
                                        [] { contiguous(8, 0, 0); });
  require_throws<rope::InvalidArgument>("rope::shard: ranks must be 1 to 2^62 - 1, got -2",
                                        [] { zig_zag(8, 0, -2); });
  require_throws<rope::InvalidArgument>(
      "rope::shard: ranks must be 1 to 2^62 - 1, got 4611686018427387904",
      [] { zig_zag(8, 0, std::int64_t{1} << 62); });
  require_throws<rope::OutOfRange>("rope::shard: rank 4 is not one of 4 ranks",
                                   [] { zig_zag(8, 4, 4); });
  require_throws<rope::OutOfRange>("rope::shard: rank -1 is not one of 4 ranks",
                                   [] { contiguous(8, -1, 4); });
  require_throws<rope::InvalidArgument>("rope::shard: sharding has no value 7", [] {
    static_cast<void>(
        rope::shard(8, {.sharding = static_cast<Sharding>(7), .rank = 0, .ranks = 1}));
  });
  require_throws<rope::OutOfRange>("rope::shard_positions: rank 2 is not one of 2 ranks", [] {
    static_cast<void>(
        rope::shard_positions(8, {.sharding = Sharding::zig_zag, .rank = 2, .ranks = 2}));
  });
}
