// A const matrix cannot be rotated in place.
// expect: no matching function for call to 'rotate
#include "rope/eigen.hpp"
#include "rope/rotate.hpp"
#include "rope/table.hpp"

#ifdef ROPE_BAD
using Matrix = const Eigen::MatrixXf;
#else
using Matrix = Eigen::MatrixXf;
#endif

void turn(Matrix& q, const rope::CosSinTable<float>& table) {
  rope::rotate<rope::Pairing::half_split>(rope::tokens_in_rows(q, {.heads = 2}), table,
                                          rope::from(0));
}
