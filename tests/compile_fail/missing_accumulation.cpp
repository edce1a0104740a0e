// Whether a gradient is added or overwrites has no default: both wrong choices look almost right.
// expect: required<(rope::)?Accumulation>
#include "rope/gradient.hpp"

#ifdef ROPE_BAD
const rope::GradientOptions options{.first_dim = 2};
#else
const rope::GradientOptions options{.accumulation = rope::Accumulation::add, .first_dim = 2};
#endif
