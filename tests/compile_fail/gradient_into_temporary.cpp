// A gradient written to a vector that is gone would be lost.
// expect: FrequencyGradient
#include <vector>

#include "rope/gradient.hpp"

#ifdef ROPE_BAD
const rope::FrequencyGradient gradient(std::vector<double>(6), {1, 2, 3});
#else
std::vector<double> values(6);
const rope::FrequencyGradient gradient(values, {1, 2, 3});
#endif
