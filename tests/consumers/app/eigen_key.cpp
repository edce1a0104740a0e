#include "rope/rope.hpp"

Eigen::Vector4f rotated_key();

Eigen::Vector4f rotated_key() {
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 4, .base = 100}), 8);
  Eigen::Vector4f k(0, 1, 1, 1);
  rope::rotate<rope::Pairing::interleaved>(rope::bthd(k.data(), {1, 1, 1, 4}), table,
                                           rope::from(1));
  return k;
}
