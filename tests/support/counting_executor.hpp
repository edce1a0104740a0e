// A pool of threads that counts its calls, for tests that work is divided at all.
#pragma once

#include <cstdint>

#include "rope/argument.hpp"
#include "rope/executor.hpp"
#include "rope/thread_pool.hpp"

namespace rope_test {

class CountingExecutor {
 public:
  explicit CountingExecutor(rope::Extent threads) : pool_(threads) {}

  void operator()(std::int64_t count, rope::TaskRef body) {
    ++calls;
    pool_(count, body);
  }

  std::int64_t calls = 0;

 private:
  rope::ThreadPool pool_;
};

}  // namespace rope_test
