// A size is an integer: head_dim * 0.4 must be rounded by the caller, knowingly.
// expect: required<(rope::)?Extent>
#include "rope/parameters.hpp"

rope::Parameters made(double fraction) {
#ifdef ROPE_BAD
  const rope::Parameters parameters{.rotary_dim = 80 * fraction};
#else
  const rope::Parameters parameters{.rotary_dim = static_cast<int>(80 * fraction)};
#endif
  return parameters;
}
