// A consumer of rope::rope; links with eigen_key.cpp, so that two units include all of rope.
#include <cmath>
#include <cstdio>

#include "rope/rope.hpp"

Eigen::Vector4f rotated_key();

int main() {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 4, .base = 100}), 8);
  Eigen::Vector4f q(1, 2, 0, 1);
  rope::rotate<rope::Pairing::interleaved>(rope::bthd(q.data(), {1, 1, 1, 4}), table,
                                           rope::from(3));
  const float score = q.dot(rotated_key());
  if (!(std::fabs(score - 0.8584f) < 1e-4f)) {
    std::printf("the score is %g, expected 0.8584\n", static_cast<double>(score));
    return 1;
  }
  std::puts("rotated");
  return 0;
}
