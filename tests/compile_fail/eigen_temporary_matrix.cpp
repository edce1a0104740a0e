// A view of a temporary matrix would dangle.
// expect: a view of this temporary would dangle
#include "rope/eigen.hpp"

Eigen::MatrixXf made() { return Eigen::MatrixXf::Zero(2, 8); }

float first() {
#ifdef ROPE_BAD
  return rope::tokens_in_rows(made(), {.heads = 2})(0, 0, 0, 0);
#else
  Eigen::MatrixXf kept = made();
  return rope::tokens_in_rows(kept, {.heads = 2})(0, 0, 0, 0);
#endif
}
