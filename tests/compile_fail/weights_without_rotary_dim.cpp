// Which rows of a weight belong to rotated features has no default.
// expect: required<(rope::)?Extent>
#include "rope/weights.hpp"

#ifdef ROPE_BAD
const rope::RotatedPart part{.first_dim = 0};
#else
const rope::RotatedPart part{.rotary_dim = 128};
#endif
