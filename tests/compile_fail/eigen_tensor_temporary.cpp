// A view of a temporary tensor would dangle.
// expect: a view of this temporary tensor would dangle
#include "rope/eigen_tensor.hpp"

using Tensor = Eigen::Tensor<float, 4>;

Tensor made() { return Tensor(1, 2, 2, 4); }

float first() {
#ifdef ROPE_BAD
  return rope::bthd(made())(0, 0, 0, 0);
#else
  Tensor kept = made();
  return rope::bthd(kept)(0, 0, 0, 0);
#endif
}
