// A layout of three letters is for tensors of rank 3.
// expect: as many dimensions as the layout's name has letters
#include "rope/eigen_tensor.hpp"

float first(const Eigen::Tensor<float, 4>& q) {
#ifdef ROPE_BAD
  return rope::thd(q)(0, 0, 0, 0);
#else
  return rope::bthd(q)(0, 0, 0, 0);
#endif
}
