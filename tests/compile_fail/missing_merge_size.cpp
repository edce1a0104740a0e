// How many patches become one token has no default: positions of another size would look right.
// expect: required<(rope::)?Extent>
#include "rope/spatial/mrope_ids.hpp"

#ifdef ROPE_BAD
const rope::MropeOptions options{.rule = rope::Qwen3Vl{}};
#else
const rope::MropeOptions options{.rule = rope::Qwen3Vl{}, .merge_size = 2};
#endif
