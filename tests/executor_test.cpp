// Executors: who does the parts of a rotation.
#include "rope/executor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "rope/thread_pool.hpp"
#include "support/catch.hpp"
#include "support/errors.hpp"

namespace {

using rope::ExecutorRef;
using rope::TaskRef;
using rope::ThreadPool;
using rope_test::require_throws;

/// How often each index was done.
std::vector<int> counts_of(ExecutorRef executor, std::int64_t count) {
  std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
  executor(count, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
  return {done.begin(), done.end()};
}

bool all_once(const std::vector<int>& counts) {
  for (const int count : counts) {
    if (count != 1) return false;
  }
  return true;
}

int calls_of_function = 0;
void backwards(std::int64_t count, TaskRef body) {
  ++calls_of_function;
  while (count > 0) body(--count);
}

struct Counting {
  int calls = 0;
  std::int64_t threads() const { return 7; }
  template <class Body>
  void operator()(std::int64_t count, const Body& body) {
    ++calls;
    for (std::int64_t i = 0; i < count; ++i) body(i);
  }
};

TEST_CASE("anything that can be called so is an executor") {
  CHECK(ExecutorRef().is_serial());
  CHECK(rope::serial.is_serial());
  CHECK(rope::serial.threads() == 1);
  CHECK(all_once(counts_of({}, 100)));

  CHECK(all_once(counts_of(backwards, 100)));
  CHECK(calls_of_function == 1);
  CHECK(ExecutorRef(backwards).threads() == 0);

  Counting counting;
  CHECK(all_once(counts_of(counting, 5)));
  CHECK(counting.calls == 1);
  CHECK(ExecutorRef(counting).threads() == 7);
  CHECK(!ExecutorRef(counting).is_serial());

  const auto lambda = [](std::int64_t count, auto&& body) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
  };
  CHECK(all_once(counts_of(lambda, 3)));
  const ExecutorRef copy = ExecutorRef(lambda);
  CHECK(all_once(counts_of(copy, 3)));

  static_assert(!std::is_constructible_v<ExecutorRef, Counting>, "a temporary would be gone");
  static_assert(!std::is_constructible_v<ExecutorRef, const Counting>);
  static_assert(!std::is_constructible_v<ExecutorRef, int&>);
  static_assert(!std::is_copy_constructible_v<ThreadPool>);
}

TEST_CASE("what an executor throws passes through") {
  const auto broken = [](std::int64_t, const TaskRef&) { throw std::logic_error("no threads"); };
  CHECK_THROWS_AS(ExecutorRef(broken)(2, [](std::int64_t) {}), std::logic_error);
}

TEST_CASE("a pool does every part once") {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (const std::int64_t count : {0, 1, 2, 3, 64, 1000}) {
      for (int turn = 0; turn < 20; ++turn) CHECK(all_once(counts_of(pool, count)));
    }
  }
}

TEST_CASE("a pool's parts run at the same time") {
  // Each waits for the other: with one thread this would not end.
  ThreadPool pool(2);
  std::atomic<int> arrived = 0;
  pool(2, [&](std::int64_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  CHECK(arrived == 2);
}

TEST_CASE("a pool is called by many threads, and by its own parts") {
  ThreadPool pool(3);
  std::atomic<int> sum = 0;
  const auto nested = [&](std::int64_t) {
    pool(4, [&](std::int64_t) { pool(2, [&](std::int64_t i) { sum += static_cast<int>(i); }); });
  };
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int turn = 0; turn < 25; ++turn) pool(3, nested);
    });
  }
  callers.clear();
  CHECK(sum == 4 * 25 * 3 * 4);
}

TEST_CASE("pools that cannot be") {
  require_throws<rope::InvalidArgument>("rope::ThreadPool: threads must be at least 1, got 0",
                                        [] { ThreadPool pool(0); });
  require_throws<rope::InvalidArgument>("rope::ThreadPool: threads must be at least 1, got -3",
                                        [] { ThreadPool pool(-3); });
}

TEST_CASE("work is split into parts that are worth it") {
  using rope::detail::part_count;
  constexpr std::int64_t large = std::int64_t{1} << 40;
  Counting seven;
  ThreadPool one(1);
  CHECK(part_count({}, large) == 1);
  CHECK(part_count(one, large) == 1);
  CHECK(part_count(seven, large) == 28);
  CHECK(part_count(backwards, large) == 64);
  CHECK(part_count(seven, 16384) == 1);  // a token of 32 heads
  CHECK(part_count(seven, 3 << 17) == 3);
  CHECK(part_count(seven, 0) == 1);
}

}  // namespace
