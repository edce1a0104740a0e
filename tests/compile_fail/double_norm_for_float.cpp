// Weights are of the type that the elements are computed with.
// expect: no matching function for call to 'rotate
#include <vector>

#include "rope/rotate_normed.hpp"
#include "rope/table.hpp"

void turn(rope::View<float> x, const rope::CosSinTable<float>& table,
          const std::vector<double>& wide, const std::vector<float>& weights) {
#ifdef ROPE_BAD
  rope::rotate<rope::Pairing::half_split>(x, table, rope::from(0),
                                          {.norm = rope::qwen3_norm(wide, 1e-6)});
#else
  rope::rotate<rope::Pairing::half_split>(x, table, rope::from(0),
                                          {.norm = rope::qwen3_norm(weights, 1e-6)});
#endif
  (void)wide.size();
  (void)weights.size();
}
