// One key cache, read by eight threads at once while shifts are pending; built with the thread
// sanitizer by contract.cache_threads.

#include <cstdint>
#include <thread>
#include <vector>

#include "expect.hpp"
#include "rope/core.hpp"
#include "rope/key_cache.hpp"

namespace {

constexpr std::int64_t tokens = 40;
constexpr std::int64_t heads = 2;
constexpr std::int64_t dim = 32;

using Result = std::vector<float>;

struct Cache {
  rope::CosSinTable<float> table{rope::frequencies({.rotary_dim = dim}), 64};
  rope::CacheIndex index{tokens};
  rope::KeyStore<rope::bf16> rotated{{tokens, heads, dim}, {.pairing = rope::Pairing::half_split}};
  rope::KeyStore<float> unrotated{
      {tokens, heads, dim},
      {.pairing = rope::Pairing::interleaved, .storage = rope::KeyStorage::unrotated}};
  rope::SequenceId sequence = index.add_sequence();
};

/// All that readers do: bookkeeping, keys rotated for where they are, and the store itself.
Result work(const Cache& cache) {
  Result all;
  for (int turn = 0; turn < 5; ++turn) {
    const std::int64_t count = cache.index.tokens(cache.sequence);
    Result keys(static_cast<std::size_t>(count * heads * dim));
    const auto view = rope::thd(keys, {count, heads, dim});
    cache.rotated.read(cache.index, cache.sequence, cache.table, view);
    all.insert(all.end(), keys.begin(), keys.end());
    cache.unrotated.read(cache.index, cache.sequence, cache.table, view);
    all.insert(all.end(), keys.begin(), keys.end());
    for (const rope::SlotRun& run : cache.index.runs(cache.sequence)) {
      const auto block = cache.rotated.keys().slice_tokens(run.first, run.count);
      for (std::int64_t t = 0; t < run.count; ++t) all.push_back(block(0, t, 1, 3));
    }
    for (const std::int64_t position : cache.index.positions(cache.sequence)) {
      all.push_back(static_cast<float>(position));
    }
  }
  return all;
}

}  // namespace

int main() {
  Cache cache;
  std::vector<float> keys(static_cast<std::size_t>(tokens * heads * dim));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(i % 17) - 8;
  const auto placed = cache.index.append(cache.sequence, tokens);
  const auto view = rope::thd(keys, {tokens, heads, dim});
  cache.rotated.write(view, cache.index, placed.slots, cache.table);
  cache.unrotated.write(view, cache.index, placed.slots, cache.table);
  const auto moves = cache.index.keep(cache.sequence, {.sinks = 4, .window = 20});
  CONTRACT_EXPECT(moves.empty());

  std::vector<Result> results(8);
  std::vector<std::thread> threads;
  for (Result& result : results) {
    threads.emplace_back([&] { result = work(cache); });
  }
  for (std::thread& thread : threads) thread.join();
  const Result alone = work(cache);
  CONTRACT_EXPECT(!alone.empty());
  for (const Result& result : results) CONTRACT_EXPECT(result == alone);
  return contract::failures == 0 ? 0 : 1;
}
