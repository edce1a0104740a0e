// Rotating in place, beside a pass in place over the same bytes and the obvious loop.
#include <cstdint>
#include <string>

#include "rope/core.hpp"
#include "support/loops.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

template <Pairing pairing>
void add_rotate(const Shape& shape, const std::string& limit) {
  add("rotate/" + std::string(name_of(pairing)) + "/" + shape.name(), limit,
      [x = view(input<float>(), shape), &rows = table(shape.dim)] {
        rope::rotate<pairing>(x, rows, rope::from(first_position));
      });
}

template <Pairing pairing>
void check_rotate() {
  check_in_place(name_of(pairing), pairing, [](float* x, const Shape& shape) {
    rope::rotate<pairing>(view(x, shape), table(shape.dim), rope::from(first_position));
  });
}

}  // namespace

int main(int argc, char** argv) {
  check_loops();
  check_rotate<Pairing::half_split>();
  check_rotate<Pairing::interleaved>();
  for (const Shape& shape : shapes()) {
    const std::string limit = add_stream(shape);
    add_rotate<Pairing::half_split>(shape, limit);
    add_rotate<Pairing::interleaved>(shape, limit);
    add_loops(shape, limit);
  }
  for (const std::int64_t dim : {64, 80, 96, 256}) {
    for (const std::int64_t tokens : {1, 512, 4096}) {
      const Shape shape{tokens, 32, dim};
      const std::string limit = add_stream(shape);
      add_rotate<Pairing::half_split>(shape, limit);
      add_rotate<Pairing::interleaved>(shape, limit);
    }
  }
  return run(argc, argv, "Rotating float in place");
}
