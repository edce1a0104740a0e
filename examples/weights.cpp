// q and k weights of a model with interleaved pairs, made ready for code that splits halves.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rope/core.hpp"

namespace {

constexpr std::int64_t in = 3;
constexpr std::int64_t head_dim = 8;
constexpr std::int64_t q_heads = 2;
constexpr std::int64_t k_heads = 1;

std::vector<double> projected(const std::vector<double>& weight, const std::array<double, in>& x) {
  std::vector<double> y(weight.size() / in);
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (std::size_t i = 0; i < in; ++i) {
      y[row] += weight[row * in + i] * x[i];
    }
  }
  return y;
}

/// The score of each q head, at position 100, against the k head, at position 2.
std::vector<double> scores(const std::vector<double>& wq, const std::vector<double>& wk,
                           rope::Pairing pairing) {
  static const rope::CosSinTable<double> table(rope::frequencies({.rotary_dim = head_dim}), 128);
  auto q = projected(wq, {1, -2, 3});
  auto k = projected(wk, {2, 1, -1});
  const rope::PairingOptions options{.pairing = pairing};
  rope::rotate(rope::thd(q, {1, q_heads, head_dim}), table, rope::from(100), options);
  rope::rotate(rope::thd(k, {1, k_heads, head_dim}), table, rope::from(2), options);
  std::vector<double> result(q_heads);
  for (std::size_t i = 0; i < q.size(); ++i) {
    result[i / head_dim] += q[i] * k[i % head_dim];
  }
  return result;
}

void print(const char* what, const std::vector<double>& values) {
  std::printf("%-44s", what);
  for (const double value : values) {
    std::printf(" %8.4f", value);
  }
  std::printf("\n");
}

std::vector<double> made_up(std::size_t count, double step) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(std::sin(step * static_cast<double>(i + 1)));
  }
  return values;
}

}  // namespace

int main() {
  // [rows] The order of the rows of one head of 8.
  std::vector<int> rows = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<int> row_scratch(8);
  rope::to_interleaved(rope::bias(rows, {1, 8}), row_scratch, {.rotary_dim = 8});
  // [rows]
  std::printf("to_interleaved, head of 8, takes rows       ");
  for (const int row : rows) {
    std::printf(" %d", row);
  }
  std::printf("\n");

  std::vector<double> wq = made_up(q_heads * head_dim * in, 1.3);
  std::vector<double> wk = made_up(k_heads * head_dim * in, 0.7);
  print("interleaved weights, interleaved rotation", scores(wq, wk, rope::Pairing::interleaved));
  print("interleaved weights, half-split rotation", scores(wq, wk, rope::Pairing::half_split));

  // [weights] In place, each with its own number of heads.
  std::vector<double> scratch(head_dim * in);
  rope::to_half_split(rope::row_major_weight(wq, {q_heads, head_dim, in}), scratch,
                      {.rotary_dim = head_dim});
  rope::to_half_split(rope::row_major_weight(wk, {k_heads, head_dim, in}), scratch,
                      {.rotary_dim = head_dim});
  // [weights]
  print("half-split weights, half-split rotation", scores(wq, wk, rope::Pairing::half_split));
}
