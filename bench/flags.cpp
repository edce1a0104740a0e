// The same calls compiled with other flags: in place, once with the plain ones and once with -O3
// -march=native, which must not make the library much faster.
//
// This file is in the program twice, under the two names that CMake gives to what it defines. What
// is timed is a closure without linkage, so that the two share none of it.
#include <string>

#include "rope/core.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

void add_plain();
void add_native();

namespace {

using namespace rope_bench;
using rope::Pairing;

template <Pairing pairing>
void add_rotate(const std::string& flags, const Shape& shape) {
  const std::string what = std::string(name_of(pairing)) + "/" + shape.name();
  add(flags + "/" + what, flags == "plain" ? std::string() : std::string("plain/") + what,
      [x = view(input<float>(), shape), &rows = table(shape.dim)] {
        rope::rotate<pairing>(x, rows, rope::from(first_position));
      });
}

}  // namespace

#ifdef ROPE_BENCH_NATIVE

void add_native() {
  for (const Shape& shape : shapes()) {
    add_rotate<Pairing::half_split>("native", shape);
    add_rotate<Pairing::interleaved>("native", shape);
  }
}

#else

void add_plain() {
  for (const Shape& shape : shapes()) {
    add_rotate<Pairing::half_split>("plain", shape);
    add_rotate<Pairing::interleaved>("plain", shape);
  }
}

int main(int argc, char** argv) {
  add_plain();
  add_native();
  return run(argc, argv, "Plain flags and -O3 -march=native");
}

#endif
