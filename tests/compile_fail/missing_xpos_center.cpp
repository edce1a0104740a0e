// Queries and keys must have the same center, so it is never guessed.
//
// expect: required<(rope::)?Real>
#include "rope/spatial/xpos.hpp"

int main() {
#if defined(ROPE_BAD)
  const rope::Xpos xpos = {.side = rope::XposSide::query};
#else
  const rope::Xpos xpos = {.side = rope::XposSide::query, .center = 4};
#endif
  return static_cast<int>(double{xpos.scale_base}) - 512;
}
