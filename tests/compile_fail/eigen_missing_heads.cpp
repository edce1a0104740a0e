// How many heads a matrix has cannot be guessed.
// expect: cannot convert .*MatrixHeads
#include "rope/eigen.hpp"

float first(const Eigen::MatrixXf& q) {
#ifdef ROPE_BAD
  return rope::tokens_in_rows(q, {.batch = 2})(0, 0, 0, 0);
#else
  return rope::tokens_in_rows(q, {.heads = 2, .batch = 2})(0, 0, 0, 0);
#endif
}
