// The output of an out-of-place rotation is not a view of const elements.
// expect: no matching function for call to 'rotate_to
#include "rope/rotate.hpp"
#include "rope/table.hpp"

void turn(rope::View<const float> in, rope::View<float> out,
          const rope::CosSinTable<float>& table) {
#ifdef ROPE_BAD
  rope::rotate_to<rope::Pairing::half_split>(out, in, table, rope::from(0));
#else
  rope::rotate_to<rope::Pairing::half_split>(in, out, table, rope::from(0));
#endif
}
