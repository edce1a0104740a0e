#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "rope/argument.hpp"
#include "rope/detail/unit.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"

namespace rope {
namespace detail {

/// One call of a pool. It lies on the stack of the caller, so that a call allocates nothing.
struct PoolJob {
  TaskRef body;
  std::int64_t count;
  std::atomic<std::int64_t> next_index;
  // Guarded by the pool's mutex.
  std::int64_t helpers;  // workers that may still look at this job
  PoolJob* next_job;
};

/// What the threads of a pool share.
struct PoolState {
  std::mutex mutex;
  std::condition_variable_any job_added;
  std::condition_variable job_left;
  PoolJob* jobs = nullptr;  // those whose parts have not all been taken
  // Last, so that the threads are gone before what they use is.
  std::vector<std::jthread> workers;

  ROPE_DETAIL_FORWARD PoolState() = default;
  ROPE_DETAIL_FORWARD ~PoolState() = default;
};

inline namespace ROPE_DETAIL_UNIT {

/// Does parts of a job until none is left to take.
inline void work_on(PoolJob& job) noexcept {
  for (;;) {
    const std::int64_t index = job.next_index.fetch_add(1, std::memory_order_relaxed);
    if (index >= job.count) {
      return;
    }
    job.body(index);
  }
}

/// Takes a job off the list, if it still is there. Under the lock.
inline void remove_job(PoolState& pool, const PoolJob& job) noexcept {
  for (PoolJob** link = &pool.jobs; *link != nullptr; link = &(*link)->next_job) {
    if (*link == &job) {
      *link = job.next_job;
      return;
    }
  }
}

/// What a worker does all its life.
inline void serve(const std::stop_token& stop, PoolState& pool) {
  std::unique_lock<std::mutex> lock(pool.mutex);
  while (pool.job_added.wait(lock, stop, [&pool] { return pool.jobs != nullptr; })) {
    PoolJob& job = *pool.jobs;
    ++job.helpers;
    lock.unlock();
    work_on(job);
    lock.lock();
    remove_job(pool, job);
    --job.helpers;
    if (job.helpers == 0) {
      pool.job_left.notify_all();  // under the lock: afterwards the job may be gone
    }
  }
}

/// Starts all but one of `threads` threads; the calling thread is the last.
inline void start_pool(PoolState& pool, std::int64_t threads) {
  if (threads < 1) [[unlikely]] {
    raise(failure(ErrorKind::invalid_argument,
                  "rope::ThreadPool: threads must be at least 1, got %lld",
                  static_cast<long long>(threads)));
  }
  for (std::int64_t i = 1; i < threads; ++i) {
    pool.workers.emplace_back([&pool](const std::stop_token& stop) { serve(stop, pool); });
  }
}

inline void run_in_pool(PoolState& pool, std::int64_t count, TaskRef body) {
  if (count <= 1 || pool.workers.empty()) {
    for (std::int64_t index = 0; index < count; ++index) {
      body(index);
    }
    return;
  }
  PoolJob job{body, count, {0}, 0, nullptr};
  {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    job.next_job = pool.jobs;
    pool.jobs = &job;
  }
  // The caller does a part itself.
  if (count > static_cast<std::int64_t>(pool.workers.size())) {
    pool.job_added.notify_all();
  } else {
    for (std::int64_t i = 1; i < count; ++i) {
      pool.job_added.notify_one();
    }
  }
  work_on(job);
  std::unique_lock<std::mutex> lock(pool.mutex);
  remove_job(pool, job);
  pool.job_left.wait(lock, [&job] { return job.helpers == 0; });
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

/// A fixed number of threads, for those who have none of their own: an executor.
///
/// A call returns when all its parts are done, and allocates nothing. Any number of threads may
/// call at once, and a part may call again: the calling thread always takes parts too, so nothing
/// waits for a thread that is not free. Threads without work sleep. The pool must outlive its
/// calls.
class ThreadPool {
 public:
  /// `threads` counts the one that calls: 1 is serial, and 4 starts three.
  ///
  /// Throws InvalidArgument for fewer than 1, and std::system_error where the system has no more
  /// threads.
  ROPE_DETAIL_FORWARD explicit ThreadPool(Extent threads) { detail::start_pool(state_, threads); }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  /// Ends the threads and waits for them.
  ROPE_DETAIL_FORWARD ~ThreadPool() = default;

  ROPE_DETAIL_FORWARD std::int64_t threads() const noexcept {
    return static_cast<std::int64_t>(state_.workers.size()) + 1;
  }

  /// Calls body(0) to body(count - 1), once each, and returns when all are done; for a count of 0 or
  /// less, none. A body that throws ends the program.
  ROPE_DETAIL_FORWARD void operator()(std::int64_t count, TaskRef body) {
    detail::run_in_pool(state_, count, body);
  }

 private:
  detail::PoolState state_;
};

}  // namespace rope
