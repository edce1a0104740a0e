// A shape with an extent too few is not filled up with anything.
// expect: Extent
#include "rope/view.hpp"

rope::View<float> view(float* data) {
#ifdef ROPE_BAD
  return rope::bthd(data, {2, 3, 4});
#else
  return rope::bthd(data, {2, 3, 4, 5});
#endif
}
