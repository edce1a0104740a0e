// Building tables, beside memset of as many bytes.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rope/core.hpp"
#include "rope/spatial/axial.hpp"
#include "support/image.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;

constexpr std::int64_t dim = 128;
constexpr std::int64_t rows = 32768;
constexpr std::int64_t side = 64;

std::string add_memset(std::int64_t bytes) {
  const std::string name = "memset/" + std::to_string(bytes / 1048576) + " MiB";
  add(name, "",
      [to = output<float>(), bytes] { std::memset(to, 1, static_cast<std::size_t>(bytes)); });
  return name;
}

/// The obvious way, in double.
void loop(float* to) {
  std::vector<double> frequencies(dim / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(10000.0, -static_cast<double>(i) / (dim / 2));
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    float* cos = to + row * dim;
    float* sin = cos + dim / 2;
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const double angle = static_cast<double>(row) * frequencies[i];
      cos[i] = static_cast<float>(std::cos(angle));
      sin[i] = static_cast<float>(std::sin(angle));
    }
  }
}

/// The table of an image, made anew in memory that it has already.
void add_image(const std::string& name, const std::string& limit,
               const rope::Frequencies& frequencies, const rope::Coordinates& patches) {
  const auto made = std::make_shared<rope::TokenTable<float>>(frequencies, patches);
  add(name, limit, [=] { made->refill(patches); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text_limit = add_memset(rows * dim * 4);
  const auto build = [frequencies = rope::frequencies({.rotary_dim = dim})] {
    const rope::CosSinTable<float> made(frequencies, rows);
    benchmark::DoNotOptimize(made.rows());
  };
  // The first ones cost the system new pages, as the first memset of new memory would.
  for (int i = 0; i < 4; ++i) build();
  add("CosSinTable/32768x64", text_limit, build);
  add("std::sin and std::cos/32768x64", text_limit, [to = output<float>()] { loop(to); });

  const rope::Coordinates patches = patches_of(side);
  add_image("TokenTable, axial/64x64x64", add_memset(side * side * dim * 4),
            rope::axial_frequencies({.axis_dims = {dim / 2, dim / 2}}), patches);
  add_image("TokenTable, 16 heads/64x64x16x64", add_memset(side * side * 16 * dim * 4),
            golden_gate(16, dim), patches);
  return run(argc, argv, "Building tables");
}
