// The kind of shards has no default: two ranks that took different ones would hold tokens twice.
// expect: required<(rope::)?Sharding>
#include "rope/shards.hpp"

#ifdef ROPE_BAD
const rope::ShardOptions options{.rank = 0, .ranks = 2};
#else
const rope::ShardOptions options{.sharding = rope::Sharding::zig_zag, .rank = 0, .ranks = 2};
#endif
