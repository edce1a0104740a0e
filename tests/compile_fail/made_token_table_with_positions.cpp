// A table made for listed tokens takes no positions.
// expect: no matching function for call to 'rotate
#include "rope/rotate.hpp"
#include "rope/token_table.hpp"

void turn(rope::View<float> x, const rope::TokenTable<float>& table) {
#ifdef ROPE_BAD
  rope::rotate<rope::Pairing::half_split>(x, table, rope::from(0));
#else
  rope::rotate<rope::Pairing::half_split>(x, table);
#endif
}
