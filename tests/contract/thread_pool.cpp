// One pool, used by several threads at once for rotations of all kinds, and by its own parts; built
// with the thread sanitizer by contract.thread_pool.

#include <cstdint>
#include <thread>
#include <vector>

#include "expect.hpp"
#include "rope/core.hpp"
#include "rope/thread_pool.hpp"

namespace {

using rope::Pairing;

constexpr std::int64_t tokens = 96;
constexpr std::int64_t heads = 16;
constexpr std::int64_t dim = 128;  // 768 KB of float: worth dividing

using Result = std::vector<float>;

Result work(const rope::CosSinTable<float>& table, rope::ExecutorRef executor) {
  Result q(tokens * heads * dim);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 17) - 8;
  Result k = q;
  std::vector<rope::bf16> narrow(q.size());
  const std::vector<float> weights(dim, 1.5F);
  const auto norm = rope::qwen3_norm(weights, 1e-6);
  const auto q_view = rope::thd(q, {tokens, heads, dim});
  const auto k_view = rope::thd(k, {tokens, heads, dim});
  const auto narrow_view = rope::thd(narrow, {tokens, heads, dim});
  for (int turn = 0; turn < 3; ++turn) {
    rope::rotate<Pairing::half_split>(q_view, table, rope::from(turn), {.executor = executor});
    rope::rotate_qk<Pairing::half_split>(q_view, k_view, table, rope::from(0),
                                         {.q_norm = norm, .k_norm = norm, .executor = executor});
    rope::rotate_to(k_view, narrow_view, table, rope::from(1),
                    {.pairing = Pairing::interleaved, .executor = executor});
    rope::rotate_inverse_to<Pairing::interleaved>(narrow_view, k_view, table, rope::from(1),
                                                  {.executor = executor});
  }
  q.insert(q.end(), k.begin(), k.end());
  return q;
}

}  // namespace

int main() {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim}), 128);
  const Result alone = work(table, rope::serial);
  rope::ThreadPool pool(4);
  std::vector<Result> results(3);
  {
    std::vector<std::jthread> threads;
    for (Result& result : results) {
      threads.emplace_back([&] { result = work(table, pool); });
    }
  }
  for (const Result& result : results) CONTRACT_EXPECT(result == alone);

  // Rotations within the parts of another call.
  std::vector<Result> nested(6);
  pool(6, [&](std::int64_t i) { nested[static_cast<std::size_t>(i)] = work(table, pool); });
  for (const Result& result : nested) CONTRACT_EXPECT(result == alone);
  return contract::failures == 0 ? 0 : 1;
}
