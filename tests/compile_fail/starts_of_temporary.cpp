// Positions refer to the starts: a temporary list would dangle.
// expect: no matching function for call to 'from_each
#include <cstdint>
#include <vector>

#include "rope/row_positions.hpp"

std::vector<std::int32_t> made() { return {1, 2, 3}; }

std::int64_t last() {
#ifdef ROPE_BAD
  return rope::from_each(made()).position(2, 0);
#else
  const std::vector<std::int32_t> kept = made();
  return rope::from_each(kept).position(2, 0);
#endif
}
