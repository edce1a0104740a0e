// One pool, used by several threads at once for rotations of all kinds, and by its own parts, and
// for everything else that takes an executor; built with the thread sanitizer by
// contract.thread_pool.

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

/// Tables of all kinds made by the executor, and what else takes one.
Result make(rope::ExecutorRef executor) {
  const auto frequencies = rope::frequencies({.rotary_dim = dim});
  const rope::CosSinTable<float> stored(frequencies, 3000, {.executor = executor});
  const rope::CosSinTable<float> longer = stored.grown(5000, executor);
  const rope::CompactTable<float> compact(frequencies, 5000, {.executor = executor});
  const rope::XposTable<float> xpos(
      frequencies, 2000, {.side = rope::XposSide::query, .center = 1000, .executor = executor});
  std::vector<double> places(2 * 32 * tokens);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<double>(i % 61) / 4;
  const auto where = rope::coordinates(&places[0], {32 * tokens, 1});
  const auto elsewhere = rope::coordinates(&places[7], {32 * tokens, 1});
  rope::TokenTable<float> listed(frequencies, where, {.executor = executor});
  listed.refill(elsewhere, executor);

  Result q(32 * tokens * dim);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 17) - 8;
  const auto view = rope::thd(q, {32 * tokens, 1, dim});
  std::vector<float> scales(32 * tokens);
  const std::vector<float> weights(dim, 0.5F);
  rope::token_scales(view, 1e-6, scales, executor);
  rope::normalize(view, rope::olmo2_norm(weights, scales), {.executor = executor});
  rope::rotate<Pairing::half_split>(view, longer, rope::from(1900), {.executor = executor});
  rope::rotate<Pairing::half_split>(view, compact, rope::from(0), {.executor = executor});
  rope::rotate<Pairing::half_split>(view.slice_tokens(0, 2000), xpos, rope::from(0),
                                    {.executor = executor});
  rope::rotate<Pairing::half_split>(view, listed, {.executor = executor});
  rope::rotate_axes<Pairing::half_split>(view, listed,
                                         {.axis_dims = {48, 80}, .executor = executor});
  rope::scale_queries(view, {.beta = 0.1, .period = 512}, rope::from(0), executor);
  return q;
}

}  // namespace

int main() {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim}), 128);
  const Result alone = work(table, rope::serial);
  const Result made_alone = make(rope::serial);
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
  CONTRACT_EXPECT(make(pool) == made_alone);
  return contract::failures == 0 ? 0 : 1;
}
