// The portable kernel, which machines without known vectors get, beside the obvious loop.
#include <cstdint>
#include <string>

#include "rope/core.hpp"
#include "rope/detail/isa.hpp"
#include "support/loops.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

template <Pairing pairing>
void add_both(const Shape& shape) {
  const std::string what = std::string(name_of(pairing)) + "/" + shape.name();
  const std::string loop = "loop/" + what;
  const auto obvious = pairing == Pairing::interleaved ? loop_interleaved : loop_half_split;
  float* x = input<float>();
  add(loop, "", [=, r = rows(shape.dim)] { obvious(x, x, shape, r); });
  add("portable/" + what, loop, [x = view(x, shape), &rows = table(shape.dim)] {
    rope::rotate<pairing>(x, rows, rope::from(first_position));
  });
}

}  // namespace

int main(int argc, char** argv) {
  rope::detail::isa_in_use.store(rope::detail::Isa::portable);
  check_in_place("the portable kernel", Pairing::half_split, [](float* x, const Shape& shape) {
    rope::rotate<Pairing::half_split>(view(x, shape), table(shape.dim), rope::from(first_position));
  });
  for (const Shape& shape : {Shape{1, 32, 128}, Shape{512, 32, 128}}) {
    add_both<Pairing::half_split>(shape);
    add_both<Pairing::interleaved>(shape);
  }
  return run(argc, argv, "The portable kernel");
}
