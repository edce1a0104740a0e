// Where 16-bit data is rounded is not guessed.
// expect: no matching function for call to 'rms_norm
#include <vector>

#include "rope/rms_norm.hpp"

double epsilon(const std::vector<float>& weights) {
#ifdef ROPE_BAD
  return rope::rms_norm(weights, {.epsilon = 1e-6, .weight = rope::NormWeight::times_w}).epsilon();
#else
  return rope::rms_norm(weights, {.epsilon = 1e-6,
                                  .weight = rope::NormWeight::times_w,
                                  .rounding = rope::NormRounding::none})
      .epsilon();
#endif
}
