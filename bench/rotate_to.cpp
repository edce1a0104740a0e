// Rotating out of place, beside memcpy of the same bytes and the obvious loop.
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
void add_rotate_to(const Shape& shape, const std::string& limit) {
  add("rotate_to/" + std::string(name_of(pairing)) + "/" + shape.name(), limit,
      [in = view(input<float>(), shape), out = view(output<float>(), shape),
       &rows = table(shape.dim)] {
        rope::rotate_to<pairing>(in, out, rows, rope::from(first_position));
      });
}

template <Pairing pairing>
void check_rotate_to() {
  check(name_of(pairing), pairing, [](const float* in, float* out, const Shape& shape) {
    rope::rotate_to<pairing>(rope::thd(in, {shape.tokens, shape.heads, shape.dim}),
                             view(out, shape), table(shape.dim), rope::from(first_position));
  });
}

}  // namespace

int main(int argc, char** argv) {
  check_loops();
  check_rotate_to<Pairing::half_split>();
  check_rotate_to<Pairing::interleaved>();
  for (const Shape& shape : shapes()) {
    const std::string limit = add_memcpy(shape);
    add_rotate_to<Pairing::half_split>(shape, limit);
    add_rotate_to<Pairing::interleaved>(shape, limit);
    add("loop/half_split/" + shape.name(), limit,
        [=, in = input<float>(), out = output<float>(), r = rows(shape.dim)] {
          loop_half_split(in, out, shape, r);
        });
  }
  return run(argc, argv, "Rotating float out of place");
}
