// A caller's table must say how many features it rotates.
// expect: required<(rope::)?Extent>|no matching function for call to 'table_view
#include <vector>

#include "rope/table_view.hpp"

std::int64_t pairs(const std::vector<float>& cos, const std::vector<float>& sin) {
#ifdef ROPE_BAD
  return rope::table_view(cos, sin, {8, 4}, {.row_stride = 4}).pairs();
#else
  return rope::table_view(cos, sin, {8, 4}, {.rotary_dim = 8, .row_stride = 4}).pairs();
#endif
}
