// A const or moved-from matrix is a temporary, too, as is an array of fixed size.
// expect: a view of this temporary would dangle
#include <utility>

#include "rope/eigen.hpp"

float first(const Eigen::Array<float, 4, 3>& given) {
#ifdef ROPE_BAD
  return rope::tokens_in_columns(std::move(given), {.heads = 2})(0, 0, 0, 0);
#else
  return rope::tokens_in_columns(given, {.heads = 2})(0, 0, 0, 0);
#endif
}
