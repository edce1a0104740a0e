// The pairing has no default, neither as a template argument nor among the options.
// expect: no matching function for call to 'rotate
#include "rope/rotate.hpp"
#include "rope/table.hpp"

void turn(rope::View<float> x, const rope::CosSinTable<float>& table) {
#ifdef ROPE_BAD
  rope::rotate(x, table, rope::from(0));
#else
  rope::rotate<rope::Pairing::half_split>(x, table, rope::from(0));
#endif
}
