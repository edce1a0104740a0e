// Out of place, input and output are of one type.
// expect: no matching function for call to 'rotate_to
#include "rope/rotate.hpp"
#include "rope/table.hpp"

#ifdef ROPE_BAD
using In = float;
#else
using In = double;
#endif

void turn(rope::View<const In> in, rope::View<double> out, const rope::CosSinTable<double>& table) {
  rope::rotate_to<rope::Pairing::half_split>(in, out, table, rope::from(0));
}
