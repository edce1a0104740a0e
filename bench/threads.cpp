// Rotating in place with two threads, beside the same pass over the same bytes with two threads.
#include <cstdint>
#include <string>

#include "rope/core.hpp"
#include "rope/thread_pool.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

constexpr std::int64_t threads = 2;

rope::ThreadPool& pool() {
  static rope::ThreadPool made(threads);
  return made;
}

std::string add_stream_of_two(const Shape& shape) {
  const std::string name = "stream/" + shape.name();
  add(name, "", [x = input<float>(), count = shape.elements()] {
    // In as many parts as the library makes, for the same chance to even out.
    constexpr std::int64_t parts = 4 * threads;
    pool()(parts, [&](std::int64_t part) {
      widest().stream(x + part * (count / parts), count / parts, 1.0F);
    });
  })->UseRealTime();
  return name;
}

template <Pairing pairing>
void add_rotate(const Shape& shape, const std::string& limit) {
  add("rotate/" + std::string(name_of(pairing)) + "/" + shape.name(), limit,
      [x = view(input<float>(), shape), &rows = table(shape.dim)] {
        rope::rotate<pairing>(x, rows, rope::from(first_position), {.executor = pool()});
      })
      ->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& shape : {Shape{512, 32, 128}, Shape{4096, 32, 128}}) {
    const std::string limit = add_stream_of_two(shape);
    add_rotate<Pairing::half_split>(shape, limit);
    add_rotate<Pairing::interleaved>(shape, limit);
  }
  return run(argc, argv, "Two threads");
}
