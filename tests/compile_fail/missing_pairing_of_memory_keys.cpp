// Options without the pairing do not stand for a pairing that is left out.
// expect: required<(rope::)?Pairing>|no matching function for call to 'rotate_memory_keys
#include "rope/spatial/memory_attention.hpp"
#include "rope/token_table.hpp"

void turn(rope::View<float> k, const rope::TokenTable<float>& table) {
#ifdef ROPE_BAD
  rope::rotate_memory_keys(k, table, {.unrotated_last = 4});
#else
  rope::rotate_memory_keys(k, table, {.pairing = rope::Pairing::interleaved, .unrotated_last = 4});
#endif
}
