// What ring attention costs, from the shards alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ring.hpp"
#include "rope/shards.hpp"
#include "shape.hpp"

namespace context_parallel {

/// How many pairs of a query and a key the mask lets through, between two ranges.
inline std::int64_t scores_between(Mask mask, const rope::PositionRange& queries,
                                   const rope::PositionRange& keys) {
  if (mask == Mask::none) return queries.count * keys.count;
  // The sum of clamp(x, 0, keys.count) for x from -infinity to `last`.
  const auto sum_to = [&keys](std::int64_t last) {
    const std::int64_t rising = (std::clamp)(last, std::int64_t{0}, keys.count);
    return rising * (rising + 1) / 2 + (last - rising > 0 ? (last - rising) * keys.count : 0);
  };
  const std::int64_t seen_by_first = queries.first - keys.first + 1;
  return sum_to(seen_by_first + queries.count - 1) - sum_to(seen_by_first - 1);
}

/// The same between the shards of two ranks.
inline std::int64_t scores_between(Mask mask, const rope::Shard& queries, const rope::Shard& keys) {
  std::int64_t scores = 0;
  for (const rope::PositionRange& query_range : queries.ranges) {
    for (const rope::PositionRange& key_range : keys.ranges) {
      scores += scores_between(mask, query_range, key_range);
    }
  }
  return scores;
}

/// The scores of one head over all ranks, and those that the ring waits for: at each step the ranks
/// pass on their blocks only when the one with the most work is done.
struct RingCost {
  std::int64_t all_scores = 0;
  std::int64_t waited_for = 0;

  /// How much longer than with evenly shared work.
  double slowdown(int ranks) const {
    return static_cast<double>(waited_for) * ranks / static_cast<double>(all_scores);
  }
};

inline RingCost ring_cost(const Sequence& sequence, Mask mask) {
  RingCost cost;
  for (int step = 0; step < sequence.ranks; ++step) {
    std::int64_t most = 0;
    for (int rank = 0; rank < sequence.ranks; ++rank) {
      const int source = (rank + sequence.ranks - step) % sequence.ranks;
      const std::int64_t scores =
          scores_between(mask, sequence.shard(rank), sequence.shard(source));
      cost.all_scores += scores;
      most = (std::max)(most, scores);
    }
    cost.waited_for += most;
  }
  return cost;
}

}  // namespace context_parallel
