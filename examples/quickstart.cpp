// The score of a query and a key depends on how far apart they are, not on where they are.
#include <cmath>
#include <cstdio>
#include <numeric>
#include <rope/core.hpp>
#include <utility>

#include "quickstart_data.hpp"  // q and k, each a std::array<float, 64>

int main() {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 64, .base = 10000}), 1024);

  auto rotated = [&](auto x, int position) {
    rope::rotate<rope::Pairing::interleaved>(rope::thd(x, {1, 1, 64}), table, rope::from(position));
    return x;
  };
  auto dot = [](auto x, auto y) { return std::inner_product(x.begin(), x.end(), y.begin(), 0.0); };

  for (auto [m, n] : {std::pair{5, 2}, {105, 102}, {5, 4}})
    std::printf("q at %3d, k at %3d: score %8.4f\n", m, n, dot(rotated(q, m), rotated(k, n)));
  std::printf("|q| = %.4f, rotated %.4f\n", std::sqrt(dot(q, q)),
              std::sqrt(dot(rotated(q, 5), rotated(q, 5))));
}
