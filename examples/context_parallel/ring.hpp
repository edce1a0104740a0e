// Attention over the ranks of a communicator: keys and values go around, queries stay.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "online_softmax.hpp"
#include "rope/shards.hpp"
#include "rope/view.hpp"
#include "shape.hpp"

namespace context_parallel {

/// Which tokens each rank has.
struct Sequence {
  std::int64_t tokens;
  rope::Sharding sharding;
  int ranks;

  rope::Shard shard(int rank) const {
    return rope::shard(tokens, {.sharding = sharding, .rank = rank, .ranks = ranks});
  }
};

/// Keys and values of a shard as they travel, [tokens, 2, kv_heads, dim]: a token's keys, then its
/// values, so that one message has both.
using KvBlock = std::vector<float>;

/// Both parts of a block, [1, tokens, kv_heads, dim] each.
struct KvViews {
  rope::View<float> keys;
  rope::View<float> values;
};

inline KvViews views_of(KvBlock& block, const LayerShape& shape) {
  const auto tokens = static_cast<std::int64_t>(block.size()) / shape.kv_elements();
  // [views] The keys are rotated where they are: no copy is needed.
  const auto both = rope::bthd(block, {1, tokens, 2 * shape.kv_heads, shape.dim});
  return {.keys = both.slice_heads(0, shape.kv_heads),
          .values = both.slice_heads(shape.kv_heads, shape.kv_heads)};
  // [views]
}

/// A datatype of `elements` floats, so that a count of tokens, and not of floats, has to fit into
/// an int.
class TokenType {
 public:
  explicit TokenType(std::int64_t elements) {
    MPI_Type_contiguous(static_cast<int>(elements), MPI_FLOAT, &type_);
    MPI_Type_commit(&type_);
  }
  ~TokenType() { MPI_Type_free(&type_); }
  TokenType(const TokenType&) = delete;
  TokenType& operator=(const TokenType&) = delete;

  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// A block on its way to the next rank, and another one coming from the rank before.
class Exchange {
 public:
  struct Ends {
    int next;
    int previous;
  };

  Exchange(const float* sent, std::int64_t sent_tokens, float* received,
           std::int64_t received_tokens, const Ends& ends, const TokenType& type, MPI_Comm ranks) {
    MPI_Irecv(received, static_cast<int>(received_tokens), type.get(), ends.previous, 0, ranks,
              &requests_[0]);
    MPI_Isend(sent, static_cast<int>(sent_tokens), type.get(), ends.next, 0, ranks, &requests_[1]);
  }
  ~Exchange() { MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Many implementations move large messages only within calls.
  void progress() {
    int done = 0;
    MPI_Testall(2, requests_, &done, MPI_STATUSES_IGNORE);
  }

 private:
  MPI_Request requests_[2];
};

/// What one rank did.
struct RingWork {
  std::vector<std::int64_t> scores;  // unmasked query-key pairs at each step, for one head
  std::int64_t bytes_sent = 0;
};

/// All queries of this rank against one block of keys and values.
template <class Progress>
std::int64_t attend(OnlineSoftmax& softmax, const Rows& queries, const rope::Shard& own,
                    const float* block, const rope::Shard& source, const LayerShape& shape,
                    Mask mask, Progress progress) {
  constexpr std::int64_t tile = 32;  // queries; small, so that few masked scores are computed
  std::int64_t scores = 0;
  std::int64_t first_query = 0;
  for (const rope::PositionRange& query_range : own.ranges) {
    for (std::int64_t done = 0; done < query_range.count; done += tile) {
      const std::int64_t count = (std::min)(tile, query_range.count - done);
      std::int64_t first_key = 0;
      for (const rope::PositionRange& key_range : source.ranges) {
        for (std::int64_t head = 0; head < shape.heads; ++head) {
          const std::int64_t kv_head = head / (shape.heads / shape.kv_heads);
          const float* keys = block + first_key * shape.kv_elements() + kv_head * shape.dim;
          const float* values = keys + shape.kv_heads * shape.dim;
          const Eigen::OuterStride<> stride(shape.kv_elements());
          const std::int64_t seen =
              softmax.add(queries.block(first_query + done, head * shape.dim, count, shape.dim),
                          head, first_query + done, query_range.first + done, mask, key_range,
                          {.keys = {keys, key_range.count, shape.dim, stride},
                           .values = {values, key_range.count, shape.dim, stride}});
          if (head == 0) scores += seen;
        }
        first_key += key_range.count;
      }
      progress();
    }
    first_query += query_range.count;
  }
  return scores;
}

/// The attention of this rank's queries, [tokens, heads * dim] and already rotated, to the keys of
/// all ranks, each rank giving its own keys, rotated, and values. Collective.
///
/// At step s the rank holds the block of the rank s places before it; while it works on it, the
/// block goes on to the next rank (Liu, Zaharia and Abbeel, "Ring Attention with Blockwise
/// Transformers for Near-Infinite Context", 2023). Needs memory for two foreign blocks.
inline Rows ring_attention(const Rows& queries, const KvBlock& own_block, const Sequence& sequence,
                           const LayerShape& shape, Mask mask, MPI_Comm ranks, RingWork& work) {
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  const int size = sequence.ranks;
  const TokenType kv_type(shape.kv_elements());
  const Exchange::Ends ends = {.next = (rank + 1) % size, .previous = (rank + size - 1) % size};
  const rope::Shard own = sequence.shard(rank);

  OnlineSoftmax softmax(queries.rows(), shape);
  const float* held = own_block.data();
  KvBlock arriving;
  KvBlock leaving;
  work = {};
  for (int step = 0; step < size; ++step) {
    // [ring] Where a block comes from tells the positions of its keys: they are not sent.
    const rope::Shard source = sequence.shard((rank + size - step) % size);
    if (step == size - 1) {
      work.scores.push_back(attend(softmax, queries, own, held, source, shape, mask, [] {}));
      break;
    }
    const rope::Shard next = sequence.shard((rank + size - step - 1) % size);
    arriving.resize(static_cast<std::size_t>(next.tokens() * shape.kv_elements()));
    {
      Exchange exchange(held, source.tokens(), arriving.data(), next.tokens(), ends, kv_type,
                        ranks);
      work.scores.push_back(attend(softmax, queries, own, held, source, shape, mask,
                                   [&exchange] { exchange.progress(); }));
    }
    // [ring]
    work.bytes_sent += source.tokens() * shape.kv_elements() * std::int64_t{sizeof(float)};
    std::swap(arriving, leaving);
    held = leaving.data();
  }
  return softmax.result();
}

}  // namespace context_parallel
