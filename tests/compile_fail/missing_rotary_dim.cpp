// rotary_dim has no default.
// expect: required<(rope::)?Extent>
#include "rope/parameters.hpp"

#ifdef ROPE_BAD
const rope::Parameters parameters{.base = 500000.0};
#else
const rope::Parameters parameters{.rotary_dim = 128, .base = 500000.0};
#endif
