// Where pairs are formed within each axis' part, the pairing has no default either.
// expect: required<(rope::)?Pairing>|no matching function for call to 'rotate_axes
#include "rope/spatial/rotate_axes.hpp"
#include "rope/token_table.hpp"

void turn(rope::View<float> x, const rope::TokenTable<float>& table) {
#ifdef ROPE_BAD
  rope::rotate_axes(x, table, {.axis_dims = {8, 8}});
#else
  rope::rotate_axes(x, table, {.pairing = rope::Pairing::half_split, .axis_dims = {8, 8}});
#endif
}
