// A table that makes its rows on demand is addressed by position.
// expect: no matching function for call to 'rotate
#include "rope/compact_table.hpp"
#include "rope/rotate.hpp"

void turn(rope::View<float> x, const rope::CompactTable<float>& table) {
#ifdef ROPE_BAD
  rope::rotate<rope::Pairing::half_split>(x, table);
#else
  rope::rotate<rope::Pairing::half_split>(x, table, rope::from(0));
#endif
}
