// What one writes with Eigen, beside this library: array expressions for half-split pairs, complex
// arrays for interleaved ones. In place, the rows of cos and sin given.
#include <Eigen/Core>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "rope/core.hpp"
#include "support/loops.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

namespace {

using namespace rope_bench;
using rope::Pairing;

void eigen_half_split(float* x, const Shape& shape, const Rows& rows) {
  const Eigen::Index half = shape.dim / 2;
  Eigen::ArrayXf turned(half);
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const Eigen::Map<const Eigen::ArrayXf> cos(rows.cos + token * rows.stride, half);
    const Eigen::Map<const Eigen::ArrayXf> sin(rows.sin + token * rows.stride, half);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      float* at = x + (token * shape.heads + head) * shape.dim;
      Eigen::Map<Eigen::ArrayXf> first(at, half);
      Eigen::Map<Eigen::ArrayXf> second(at + half, half);
      turned = first * cos - second * sin;
      second = second * cos + first * sin;
      first = turned;
    }
  }
}

/// cos + i sin, as is usual with complex arrays.
const std::complex<float>* complex_rows() {
  static const std::vector<std::complex<float>> made = [] {
    std::vector<std::complex<float>> all;
    const auto& real = table(128);
    for (std::int64_t row = first_position; row < real.rows(); ++row) {
      for (std::size_t i = 0; i < 64; ++i) all.emplace_back(real.cos(row)[i], real.sin(row)[i]);
    }
    return all;
  }();
  return made.data();
}

void eigen_interleaved(float* x, const Shape& shape, const std::complex<float>* rows) {
  const Eigen::Index half = shape.dim / 2;
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    const Eigen::Map<const Eigen::ArrayXcf> row(rows + token * half, half);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      float* at = x + (token * shape.heads + head) * shape.dim;
      Eigen::Map<Eigen::ArrayXcf>(reinterpret_cast<std::complex<float>*>(at), half) *= row;
    }
  }
}

template <Pairing pairing>
void add_rotate(const Shape& shape, const std::string& limit) {
  add("rope/" + std::string(name_of(pairing)) + "/" + shape.name(), limit,
      [x = view(input<float>(), shape), &rows = table(shape.dim)] {
        rope::rotate<pairing>(x, rows, rope::from(first_position));
      });
}

}  // namespace

int main(int argc, char** argv) {
  check_in_place("Eigen, half-split", Pairing::half_split,
                 [](float* x, const Shape& shape) { eigen_half_split(x, shape, rows(shape.dim)); });
  check_in_place("Eigen, interleaved", Pairing::interleaved,
                 [](float* x, const Shape& shape) { eigen_interleaved(x, shape, complex_rows()); });
  float* x = input<float>();
  for (const Shape& shape : shapes()) {
    const std::string limit = add_stream(shape);
    add_rotate<Pairing::half_split>(shape, limit);
    add_rotate<Pairing::interleaved>(shape, limit);
    add("Eigen/half_split/" + shape.name(), limit,
        [=, r = rows(shape.dim)] { eigen_half_split(x, shape, r); });
    add("Eigen/interleaved/" + shape.name(), limit,
        [=, r = complex_rows()] { eigen_interleaved(x, shape, r); });
  }
  return run(argc, argv, ROPE_BENCH_TITLE);
}
