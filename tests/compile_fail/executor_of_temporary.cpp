// Options that are kept would refer to an executor that is gone.
// expect GNU: use of deleted function .*ExecutorRef
// expect Clang: invokes a deleted function
#include "rope/rotate_options.hpp"
#include "rope/thread_pool.hpp"

rope::RotateOptions kept(rope::ThreadPool& pool) {
#ifdef ROPE_BAD
  return {.executor = rope::ThreadPool(static_cast<int>(pool.threads()))};
#else
  return {.executor = pool};
#endif
}
