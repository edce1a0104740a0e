// Rotations in several threads: with a pool, with threads that a program has already, and as parts.

#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "rope/core.hpp"
#include "rope/thread_pool.hpp"

namespace {

constexpr auto pairing = rope::Pairing::half_split;
constexpr std::int64_t tokens = 512;
constexpr std::int64_t heads = 8;
constexpr std::int64_t dim = 64;

void fill(std::vector<float>& q) {
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 13);
}

void print(const char* what, bool same) {
  std::printf("%-18s %s\n", what, same ? "same bits" : "different");
}

}  // namespace

int main() {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = dim}), 1024);
  std::vector<float> alone(tokens * heads * dim);
  fill(alone);
  rope::rotate<pairing>(rope::thd(alone, {tokens, heads, dim}), table, rope::from(0));

  std::vector<float> q(tokens * heads * dim);
  fill(q);
  auto view = rope::thd(q, {tokens, heads, dim});
  // [pool] The calling thread and three others.
  rope::ThreadPool pool(4);
  rope::rotate<pairing>(view, table, rope::from(0), {.executor = pool});
  // [pool]
  print("pool", q == alone);

  fill(q);
  // [executor] Anything that calls body(0) to body(count - 1), each once, and waits for them.
  const auto one_thread_each = [](std::int64_t count, rope::TaskRef body) {
    std::vector<std::jthread> threads;
    for (std::int64_t i = 0; i < count; ++i) threads.emplace_back([=] { body(i); });
  };
  rope::rotate<pairing>(view, table, rope::from(0), {.executor = one_thread_each});
  // [executor]
  print("own executor", q == alone);

  fill(q);
  // [parts] What each of an engine's threads does in a step that all of them enter.
  const auto step = [&](std::int64_t thread, std::int64_t threads) {
    rope::rotate_part<pairing>(view, table, rope::from(0), {thread, threads});
  };
  // [parts]
  {
    std::vector<std::jthread> engine;
    for (std::int64_t i = 0; i < 3; ++i) engine.emplace_back(step, i, 3);
  }
  print("parts", q == alone);

  fill(q);
  std::vector<float> k(tokens * 2 * dim, 1.0F);
  auto k_view = rope::thd(k, {tokens, 2, dim});
  // [qk-part] Every rotation takes the part as an option.
  for (std::int64_t i = 0; i < 3; ++i) {
    rope::rotate_qk<pairing>(view, k_view, table, rope::from(0), {.part = {i, 3}});
  }
  // [qk-part]
  print("parts of q and k", q == alone);
}
