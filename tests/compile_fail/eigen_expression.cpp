// A sum is not in memory; the sum stored in a matrix is.
// expect: no elements in memory that a view could refer to
#include "rope/eigen.hpp"

float first(const Eigen::MatrixXf& a, const Eigen::MatrixXf& b) {
#ifdef ROPE_BAD
  return rope::tokens_in_rows(a + b, {.heads = 2})(0, 0, 0, 0);
#else
  const Eigen::MatrixXf sum = a + b;
  return rope::tokens_in_rows(sum, {.heads = 2})(0, 0, 0, 0);
#endif
}
