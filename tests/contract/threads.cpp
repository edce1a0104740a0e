// One table, used by eight threads at once, each on its own vectors; built with the thread
// sanitizer by contract.threads.

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "expect.hpp"
#include "rope/core.hpp"

namespace {

constexpr std::int64_t tokens = 5;
constexpr std::int64_t heads = 3;
constexpr std::int64_t dim = 32;

using Result = std::vector<float>;

Result work(const rope::CosSinTable<float>& table, const rope::Positions& positions) {
  Result q(tokens * heads * dim);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 17) - 8;
  const auto view = rope::thd(q, {tokens, heads, dim});
  for (int turn = 0; turn < 20; ++turn) {
    if (!rope::check_rotate(view, table, positions)) return {};
    rope::rotate<rope::Pairing::half_split>(view, table, positions);
    rope::rotate<rope::Pairing::interleaved>(view, table, rope::from(turn));
    rope::rotate_transpose(view, table, positions, {.pairing = rope::Pairing::half_split});
    rope::rotate_inverse<rope::Pairing::interleaved>(view, table, rope::from(turn));
  }
  rope::rotate<rope::Pairing::interleaved>(view, table, positions);
  return q;
}

}  // namespace

int main() {
  // The very first use is by all at once: what is found out at the first call is found out here.
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim}), 64);
  const std::int32_t ids[tokens] = {0, 63, 7, 8, 9};
  const rope::Positions positions = rope::at(ids, {tokens});
  std::vector<Result> results(8);
  std::vector<std::thread> threads;
  for (Result& result : results) {
    threads.emplace_back([&] { result = work(table, positions); });
  }
  for (std::thread& thread : threads) thread.join();
  const Result alone = work(table, positions);
  CONTRACT_EXPECT(!alone.empty());
  for (const Result& result : results) CONTRACT_EXPECT(result == alone);
  return contract::failures == 0 ? 0 : 1;
}
