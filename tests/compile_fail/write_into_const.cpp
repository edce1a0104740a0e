// A view of const elements is never written.
// expect: no matching function for call to 'rotate
#include "rope/rotate.hpp"
#include "rope/table.hpp"

void turn(rope::View<const float> in, rope::View<float> out,
          const rope::CosSinTable<float>& table) {
#ifdef ROPE_BAD
  rope::rotate<rope::Pairing::half_split>(in, table, rope::from(0));
#else
  rope::rotate_to<rope::Pairing::half_split>(in, out, table, rope::from(0));
#endif
}
