// Table entries are of the type that the data is computed in.
// expect: the table's entries must be of the element's compute type
#include "rope/rotate.hpp"
#include "rope/table.hpp"

#ifdef ROPE_BAD
using Entry = double;
#else
using Entry = float;
#endif

void turn(rope::View<float> x, const rope::CosSinTable<Entry>& table) {
  rope::rotate<rope::Pairing::half_split>(x, table, rope::from(0));
}
