// Options without the pairing do not stand for a call without options.
// expect: required<(rope::)?Pairing>|no matching function for call to 'rotate
#include "rope/rotate.hpp"
#include "rope/table.hpp"

void turn(rope::View<float> x, const rope::CosSinTable<float>& table) {
#ifdef ROPE_BAD
  rope::rotate(x, table, rope::from(0), {.first_dim = 2});
#else
  rope::rotate(x, table, rope::from(0), {.pairing = rope::Pairing::interleaved, .first_dim = 2});
#endif
}
