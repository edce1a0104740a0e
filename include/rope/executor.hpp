#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "rope/detail/unit.hpp"

namespace rope {

class TaskRef;
class ExecutorRef;

namespace detail {

/// What `body(index)` can be made of.
template <class F>
concept TaskBody =
    !std::same_as<std::remove_cv_t<F>, TaskRef> && requires(const F& body, std::int64_t index) {
  body(index);
};

/// What an executor can be made of, other than a copy of one.
template <class E>
concept OtherExecutor = !std::same_as<std::remove_cv_t<E>, ExecutorRef> &&
                        requires(E & executor, std::int64_t count, const TaskRef& body) {
  executor(count, body);
};

/// An executor that says how many threads it has.
template <class E>
concept CountsThreads = requires(const E& executor) {
  { executor.threads() } -> std::convertible_to<std::int64_t>;
};

inline namespace ROPE_DETAIL_UNIT {

template <class F>
void run_task(const void* body, std::int64_t index) noexcept {
  (*static_cast<const F*>(body))(index);
}

}  // namespace ROPE_DETAIL_UNIT
}  // namespace detail

/// A part of some work, `body(index)`, as an executor gets it: a reference to what knows how to do
/// it, which must not outlive the executor's call. Does not throw. Two pointers; pass it by value.
class TaskRef {
 public:
  template <detail::TaskBody F>
  ROPE_DETAIL_FORWARD TaskRef(const F& body) noexcept
      : body_(__builtin_addressof(body)), run_(detail::run_task<F>) {}

  ROPE_DETAIL_FORWARD void operator()(std::int64_t index) const noexcept { run_(body_, index); }

 private:
  const void* body_;
  void (*run_)(const void*, std::int64_t) noexcept;
};

namespace detail::inline ROPE_DETAIL_UNIT {

template <class E>
void run_executor(void* executor, std::int64_t count, const TaskRef& body) {
  if constexpr (std::is_function_v<E>) {
    reinterpret_cast<E*>(executor)(count, body);
  } else {
    (*static_cast<E*>(executor))(count, body);
  }
}

template <class E>
void* executor_address(E& executor) noexcept {
  if constexpr (std::is_function_v<E>) {
    return reinterpret_cast<void*>(&executor);
  } else {
    return const_cast<void*>(static_cast<const volatile void*>(__builtin_addressof(executor)));
  }
}

template <class E>
std::int64_t thread_count(const E& executor) noexcept {
  if constexpr (CountsThreads<E>) {
    return static_cast<std::int64_t>(executor.threads());
  } else {
    return 0;
  }
}

}  // namespace detail::inline ROPE_DETAIL_UNIT

/// Who does the parts of a rotation, or of the building of a table: a reference to a callable
/// `executor(count, body)` that calls `body(0)` to `body(count - 1)`, once each, in any order and
/// on any threads, and returns when all are done.
///
/// Made implicitly of anything that can be called so and outlives the call that it is given to: a
/// ThreadPool, a function, an object around the caller's own threads. `count` is a std::int64_t,
/// `body` a TaskRef; body does not throw, and results never depend on who runs which part. A
/// default one is serial: everything happens in the calling thread. Where the executor has a member
/// threads(), the work is split into as many parts as keep these busy. If the executor throws, the
/// exception passes through, and the parts that were done are done.
class ExecutorRef {
 public:
  /// Serial.
  ROPE_DETAIL_FORWARD constexpr ExecutorRef() noexcept = default;

  template <detail::OtherExecutor E>
  ROPE_DETAIL_FORWARD ExecutorRef(E& executor) noexcept
      : executor_(detail::executor_address(executor)),
        run_(detail::run_executor<E>),
        threads_(detail::thread_count(executor)) {}

  /// Of a temporary, nothing would be left to refer to.
  template <detail::OtherExecutor E>
  ExecutorRef(const E&& executor) = delete;

  ROPE_DETAIL_FORWARD constexpr bool is_serial() const noexcept { return run_ == nullptr; }
  /// How many threads there are: 1 for a serial one, 0 if that is not known.
  ROPE_DETAIL_FORWARD constexpr std::int64_t threads() const noexcept { return threads_; }

  /// Calls body(0) to body(count - 1) and returns when all are done.
  ROPE_DETAIL_FORWARD void operator()(std::int64_t count, TaskRef body) const {
    if (run_ != nullptr) {
      run_(executor_, count, body);
    } else {
      for (std::int64_t index = 0; index < count; ++index) {
        body(index);
      }
    }
  }

 private:
  void* executor_ = nullptr;
  void (*run_)(void*, std::int64_t, const TaskRef&) = nullptr;
  std::int64_t threads_ = 1;
};

static_assert(std::is_trivially_copyable_v<ExecutorRef>);

inline namespace ROPE_DETAIL_UNIT {

/// Everything in the calling thread, one part after the other.
inline constexpr ExecutorRef serial;

}  // namespace ROPE_DETAIL_UNIT

namespace detail::inline ROPE_DETAIL_UNIT {

/// Into how many parts work that reads and writes `bytes` is worth splitting: 1 for work that is
/// done sooner than another thread has woken up.
///
/// Several parts a thread, so that one that is held up does not hold up the others.
inline std::int64_t part_count(const ExecutorRef& executor, std::int64_t bytes) noexcept {
  constexpr std::int64_t least_bytes = std::int64_t{1} << 17;  // about 10 us of memory traffic
  constexpr std::int64_t parts_per_thread = 4;
  constexpr std::int64_t most_parts = 64;  // where the number of threads is not known
  if (executor.is_serial()) {
    return 1;
  }
  const std::int64_t wanted =
      executor.threads() > 0 ? executor.threads() * parts_per_thread : most_parts;
  const std::int64_t worth = bytes / least_bytes;
  return worth <= 1 || executor.threads() == 1 ? 1 : worth < wanted ? worth : wanted;
}

}  // namespace detail::inline ROPE_DETAIL_UNIT
}  // namespace rope
