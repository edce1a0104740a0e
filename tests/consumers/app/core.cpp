// A consumer of rope::core: rotates one query and checks it against hand arithmetic.
#include <cmath>
#include <cstdio>

#include "rope/core.hpp"

int main() {
  // d = 4, base = 100: the pairs turn by 3 and by 0.3.
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 4, .base = 100}), 8);
  float q[4] = {1, 2, 0, 1};
  rope::rotate<rope::Pairing::interleaved>(rope::bthd(q, {1, 1, 1, 4}), table, rope::from(3));
  const float expected[4] = {-1.2722f, -1.8389f, -0.2955f, 0.9553f};
  for (int i = 0; i < 4; ++i) {
    if (!(std::fabs(q[i] - expected[i]) < 1e-4f)) {
      std::printf("q[%d] is %g, expected %g\n", i, static_cast<double>(q[i]),
                  static_cast<double>(expected[i]));
      return 1;
    }
  }
  std::puts("rotated");
  return 0;
}
