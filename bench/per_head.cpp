// Rotating with a row of its own for every head, beside a pass over the same bytes that also reads
// as many as the table has.
#include <algorithm>
#include <cstdint>
#include <list>
#include <string>

#include "rope/core.hpp"
#include "support/image.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

constexpr std::int64_t heads = 16;
constexpr std::int64_t dim = 128;

template <Pairing pairing>
void add_rotate(const Shape& shape, const rope::TokenTable<float>& rows, const std::string& limit) {
  add("rotate/" + std::string(name_of(pairing)) + "/" + shape.name(), limit,
      [x = view(input<float>(), shape), &rows] { rope::rotate<pairing>(x, rows); });
}

}  // namespace

int main(int argc, char** argv) {
  std::list<rope::TokenTable<float>> tables;
  for (const std::int64_t side : {16, 64}) {
    tables.emplace_back(golden_gate(heads, dim), patches_of(side));
    const Shape shape{side * side, heads, dim};
    const std::string limit = "product/" + shape.name();
    // Of factors of 1, so that x stays what it is.
    static const Buffer<float> ones = [] {
      Buffer<float> made(64 * 64 * heads * dim);
      std::fill_n(made.data(), 64 * 64 * heads * dim, 1.0F);
      return made;
    }();
    add(limit, "", [x = input<float>(), by = ones.data(), count = shape.elements()] {
      widest().product(x, by, count);
    });
    add_rotate<Pairing::half_split>(shape, tables.back(), limit);
    add_rotate<Pairing::interleaved>(shape, tables.back(), limit);
  }
  return run(argc, argv, "Rows per head");
}
