// Rotating elements of 16 bits in place, beside a pass over the same bytes and the same of floats.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rope/core.hpp"
#include "support/loops.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

template <class T>
constexpr const char* type_name = "float";
template <>
constexpr const char* type_name<rope::f16> = "f16";
template <>
constexpr const char* type_name<rope::bf16> = "bf16";

template <class T, Pairing pairing>
void add_rotate(const Shape& shape, const std::string& limit) {
  add(std::string(type_name<T>) + "/" + name_of(pairing) + "/" + shape.name(), limit,
      [x = view(input<T>(), shape), &rows = table(shape.dim)] {
        rope::rotate<pairing>(x, rows, rope::from(first_position));
      });
}

/// Ends the program if a result is not within a rounding of the loop's.
template <class T, Pairing pairing>
void check_16_bit(float tolerance) {
  const Shape shape{3, 5, 128};
  const auto count = static_cast<std::size_t>(shape.elements());
  std::vector<T> x(count);
  std::vector<float> expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = T(static_cast<float>(i % 251) / 128.0F - 1.0F);
    expected[i] = float{x[i]};
  }
  rope::rotate<pairing>(view(x.data(), shape), table(shape.dim), rope::from(first_position));
  const auto loop = pairing == Pairing::interleaved ? loop_interleaved : loop_half_split;
  loop(expected.data(), expected.data(), shape, rows(shape.dim));
  for (std::size_t i = 0; i < count; ++i) {
    if (!(std::abs(float{x[i]} - expected[i]) <= tolerance)) {
      std::fprintf(stderr, "%s is wrong at %zu\n", type_name<T>, i);
      std::exit(1);
    }
  }
}

template <Pairing pairing>
void add_all(const Shape& shape, const std::string& limit) {
  add_rotate<rope::f16, pairing>(shape, limit);
  add_rotate<rope::bf16, pairing>(shape, limit);
}

}  // namespace

int main(int argc, char** argv) {
  check_loops();
  check_16_bit<rope::f16, Pairing::half_split>(1e-3F);
  check_16_bit<rope::f16, Pairing::interleaved>(1e-3F);
  check_16_bit<rope::bf16, Pairing::half_split>(8e-3F);
  check_16_bit<rope::bf16, Pairing::interleaved>(8e-3F);
  for (const Shape& shape : shapes()) {
    const std::string limit = add_stream("16-bit " + shape.name(), shape.elements() * 2);
    add_all<Pairing::half_split>(shape, limit);
    add_all<Pairing::interleaved>(shape, limit);
  }
  const Shape one = shapes().front();
  add_rotate<float, Pairing::half_split>(one, "");
  add_rotate<float, Pairing::interleaved>(one, "");
  return run(argc, argv, "Rotating f16 and bf16 in place");
}
