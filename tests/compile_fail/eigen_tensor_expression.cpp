// A sum of tensors is not in memory; the sum stored in a tensor is.
// expect: no elements in memory that a view could refer to
#include "rope/eigen_tensor.hpp"

using Tensor = Eigen::Tensor<float, 3>;

float first(const Tensor& a, const Tensor& b) {
#ifdef ROPE_BAD
  return rope::htd(a + b)(0, 0, 0, 0);
#else
  const Tensor sum = a + b;
  return rope::htd(sum)(0, 0, 0, 0);
#endif
}
