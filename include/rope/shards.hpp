#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"

namespace rope {

/// How the tokens of one sequence are dealt out to the ranks of a context-parallel group.
///
/// Both cut the sequence into chunks of consecutive tokens whose sizes differ by at most one, the
/// larger ones first.
enum class Sharding : unsigned char {
  contiguous,  ///< `ranks` chunks; rank r has chunk r
  zig_zag,     ///< 2 * ranks chunks; rank r has chunks r and 2 * ranks - 1 - r
};

/// Which of the shards: all fields are needed.
struct ShardOptions {
  required<Sharding> sharding;
  /// From 0 to ranks - 1.
  required<Extent> rank;
  required<Extent> ranks;
};

/// The positions first .. first + count - 1.
struct PositionRange {
  std::int64_t first;
  std::int64_t count;

  ROPE_DETAIL_FORWARD constexpr bool operator==(const PositionRange&) const noexcept = default;
};

/// The tokens of one rank: two ranges of positions, the first one before the second. The rank holds
/// them in this order, one after the other.
///
/// The second is empty for contiguous shards, either may be where tokens are few.
struct Shard {
  PositionRange ranges[2];

  /// How many tokens there are in both.
  ROPE_DETAIL_FORWARD constexpr std::int64_t tokens() const noexcept {
    return ranges[0].count + ranges[1].count;
  }
  ROPE_DETAIL_FORWARD constexpr bool operator==(const Shard&) const noexcept = default;
};

namespace detail::inline ROPE_DETAIL_UNIT {

inline Status check_shard(const char* who, std::int64_t tokens,
                          const ShardOptions& options) noexcept {
  const std::int64_t rank = options.rank.value();
  const std::int64_t ranks = options.ranks.value();
  const Sharding sharding = options.sharding;
  if (tokens < 0) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: tokens must not be negative, got %lld", who,
                   static_cast<long long>(tokens));
  }
  if (std::int64_t ignored; ranks < 1 || __builtin_mul_overflow(ranks, 2, &ignored)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: ranks must be 1 to 2^62 - 1, got %lld", who,
                   static_cast<long long>(ranks));
  }
  if (rank < 0 || rank >= ranks) [[unlikely]] {
    return failure(ErrorKind::out_of_range, "%s: rank %lld is not one of %lld ranks", who,
                   static_cast<long long>(rank), static_cast<long long>(ranks));
  }
  if (sharding != Sharding::contiguous && sharding != Sharding::zig_zag) [[unlikely]] {
    return failure(ErrorKind::invalid_argument, "%s: sharding has no value %d", who,
                   static_cast<int>(sharding));
  }
  return {};
}

/// One of `chunks` chunks of the sequence.
inline PositionRange shard_chunk(std::int64_t tokens, std::int64_t chunk,
                                 std::int64_t chunks) noexcept {
  const std::int64_t size = tokens / chunks;
  const std::int64_t larger = tokens % chunks;
  return {chunk * size + (chunk < larger ? chunk : larger), chunk < larger ? size + 1 : size};
}

inline Shard make_shard(const char* who, std::int64_t tokens, const ShardOptions& options) {
  require(check_shard(who, tokens, options));
  const std::int64_t rank = options.rank.value();
  const std::int64_t ranks = options.ranks.value();
  if (options.sharding == Sharding::contiguous) {
    const PositionRange chunk = shard_chunk(tokens, rank, ranks);
    return {{chunk, {chunk.first + chunk.count, 0}}};
  }
  return {
      {shard_chunk(tokens, rank, 2 * ranks), shard_chunk(tokens, 2 * ranks - 1 - rank, 2 * ranks)}};
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

inline namespace ROPE_DETAIL_UNIT {

/// The tokens of a sequence of `tokens` that a rank holds. All ranks together hold each token once,
/// and as many tokens as another rank or one more or less, whether or not the length can be
/// divided.
///
/// Under a causal mask later tokens attend to more keys than earlier ones: contiguous shards leave
/// the last rank with almost twice its even share of the work, zig-zag shards give each an early
/// and a late chunk, which together make an even share.
///
/// Throws InvalidArgument for negative tokens and for ranks outside 1 .. 2^62 - 1, OutOfRange for a
/// rank outside 0 .. ranks - 1. O(1), so that any rank can ask for the shard of any other instead
/// of being sent it.
inline Shard shard(Extent tokens, const ShardOptions& options) {
  return detail::make_shard("rope::shard", tokens, options);
}

/// The position of each token of that shard, in the order in which the rank holds them: for at().
///
/// Throws as shard() does. O(tokens / ranks).
inline std::vector<std::int64_t> shard_positions(Extent tokens, const ShardOptions& options) {
  const Shard own = detail::make_shard("rope::shard_positions", tokens, options);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(own.tokens()));
  const auto second = positions.begin() + own.ranges[0].count;
  std::iota(positions.begin(), second, own.ranges[0].first);
  std::iota(second, positions.end(), own.ranges[1].first);
  return positions;
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace rope
