// A temporary Ref<const ...> may be the owner of a copy, here of a row-major matrix; one with a
// name is fine.

// expect: a view of this temporary would dangle
#include "rope/eigen.hpp"

using ConstRef = Eigen::Ref<const Eigen::MatrixXf>;
using RowMajorMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

float first(const RowMajorMatrix& matrix) {
#ifdef ROPE_BAD
  return rope::tokens_in_rows(ConstRef(matrix), {.heads = 2})(0, 0, 0, 0);
#else
  const ConstRef& kept = matrix;
  return rope::tokens_in_rows(kept, {.heads = 2})(0, 0, 0, 0);
#endif
}
