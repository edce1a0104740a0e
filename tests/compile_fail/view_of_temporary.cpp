// A view of a temporary container would dangle.
// expect: no matching function for call to 'bthd
// expect GNU: constraints not satisfied
#include <vector>

#include "rope/view.hpp"

std::vector<float> made() { return std::vector<float>(8); }

float first() {
#ifdef ROPE_BAD
  return rope::bthd(made(), {1, 1, 1, 8})(0, 0, 0, 0);
#else
  std::vector<float> kept = made();
  return rope::bthd(kept, {1, 1, 1, 8})(0, 0, 0, 0);
#endif
}
