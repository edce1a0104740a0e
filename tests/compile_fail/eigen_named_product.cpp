// A product stays an expression under the name that auto gives it.
// expect: no elements in memory that a view could refer to
#include "rope/eigen.hpp"

float first(const Eigen::MatrixXf& weights, const Eigen::MatrixXf& x) {
#ifdef ROPE_BAD
  const auto q = weights * x;
#else
  const auto q = (weights * x).eval();
#endif
  return rope::tokens_in_columns(q, {.heads = 2})(0, 0, 0, 0);
}
