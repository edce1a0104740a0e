// A table addressed by position does not go without positions.
// expect: no matching function for call to 'rotate
#include <vector>

#include "rope/rotate.hpp"
#include "rope/table_view.hpp"

void turn(rope::View<float> x, const std::vector<float>& cos, const std::vector<float>& sin) {
  const auto table = rope::table_view(cos, sin, {8, 4}, {.rotary_dim = 8});
#ifdef ROPE_BAD
  rope::rotate<rope::Pairing::half_split>(x, table);
#else
  rope::rotate<rope::Pairing::half_split>(x, table, rope::from(0));
#endif
}
