// A norm refers to its weights.
// expect: no matching function for call to 'qwen3_norm
#include <vector>

#include "rope/rms_norm.hpp"

std::vector<float> made() { return std::vector<float>(8); }

double first() {
  const std::vector<float> kept = made();
#ifdef ROPE_BAD
  return rope::qwen3_norm(made(), 1e-6).epsilon();
#else
  return rope::qwen3_norm(kept, 1e-6).epsilon();
#endif
}
