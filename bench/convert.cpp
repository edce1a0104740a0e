// Rotating float into bf16, as when a key cache is written, beside a rotation in place and then a
// conversion.
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

template <Pairing pairing>
void convert(const float* in, rope::bf16* out, const Shape& shape) {
  rope::rotate_to<pairing>(rope::thd(in, {shape.tokens, shape.heads, shape.dim}), view(out, shape),
                           table(shape.dim), rope::from(first_position));
}

template <Pairing pairing>
void rotate_then_convert(float* x, rope::bf16* out, const Shape& shape) {
  rope::rotate<pairing>(view(x, shape), table(shape.dim), rope::from(first_position));
  widest().to_bf16(x, &out->bits, shape.elements());
}

template <Pairing pairing>
void check_same() {
  const Shape shape{3, 5, 128};
  std::vector<float> in(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 251) / 128.0F - 1.0F;
  // Whole vectors, so aligned as the conversion needs it.
  const Buffer<float> x(shape.elements());
  const Buffer<rope::bf16> both(shape.elements());
  std::vector<rope::bf16> fused(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) x.data()[i] = in[i];
  convert<pairing>(in.data(), fused.data(), shape);
  rotate_then_convert<pairing>(x.data(), both.data(), shape);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (fused[i].bits != both.data()[i].bits) {
      std::fprintf(stderr, "the fused conversion differs at %zu\n", i);
      std::exit(1);
    }
  }
}

template <Pairing pairing>
void add_both(const Shape& shape) {
  const std::string what = std::string(name_of(pairing)) + "/" + shape.name();
  const std::string apart = "rotate, then convert/" + what;
  add(apart, "", [=, x = input<float>(), out = output<rope::bf16>()] {
    rotate_then_convert<pairing>(x, out, shape);
  });
  add("rotate_to bf16/" + what, apart,
      [=, x = input<float>(), out = output<rope::bf16>()] { convert<pairing>(x, out, shape); });
}

}  // namespace

int main(int argc, char** argv) {
  check_same<Pairing::half_split>();
  check_same<Pairing::interleaved>();
  for (const Shape& shape : shapes()) {
    add_both<Pairing::half_split>(shape);
    add_both<Pairing::interleaved>(shape);
  }
  return run(argc, argv, "Rotating float into bf16");
}
