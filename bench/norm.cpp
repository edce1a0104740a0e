// Normalising each head and rotating it in one pass, beside the rotation alone and both apart.
#include <cstdint>
#include <string>
#include <vector>

#include "rope/core.hpp"
#include "rope/normalize.hpp"
#include "rope/rms_norm.hpp"
#include "rope/rotate_normed.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

const std::vector<float>& weights() {
  static const std::vector<float> made(128, 1.0F);
  return made;
}

template <class T>
constexpr const char* type_name = "float";
template <>
constexpr const char* type_name<rope::bf16> = "bf16";

template <class T, Pairing pairing>
void add_all(const Shape& shape) {
  const std::string what = std::string(type_name<T>) + "/" + name_of(pairing) + "/" + shape.name();
  const auto norm = rope::qwen3_norm(weights(), 1e-6);
  const auto x = view(input<T>(), shape);
  const std::string alone = "rotate/" + what;
  add(alone, "",
      [=, &rows = table(128)] { rope::rotate<pairing>(x, rows, rope::from(first_position)); });
  add("norm, then rotate/" + what, alone, [=, &rows = table(128)] {
    rope::normalize(x, norm);
    rope::rotate<pairing>(x, rows, rope::from(first_position));
  });
  add("norm and rotate/" + what, alone, [=, &rows = table(128)] {
    rope::rotate<pairing>(x, rows, rope::from(first_position), {.norm = norm});
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& shape : {Shape{1, 32, 128}, Shape{512, 32, 128}, Shape{4096, 32, 128}}) {
    add_all<float, Pairing::half_split>(shape);
    add_all<float, Pairing::interleaved>(shape);
    add_all<rope::bf16, Pairing::half_split>(shape);
  }
  return run(argc, argv, "RMS norm and rotation");
}
