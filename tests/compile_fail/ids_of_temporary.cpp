// Positions refer to the ids: a temporary list would dangle.
// expect: no matching function for call to 'at
#include <cstdint>
#include <vector>

#include "rope/row_positions.hpp"

std::vector<std::int64_t> made() { return {1, 2, 3}; }

std::int64_t last() {
#ifdef ROPE_BAD
  return rope::at(made(), {3}).position(0, 2);
#else
  const std::vector<std::int64_t> kept = made();
  return rope::at(kept, {3}).position(0, 2);
#endif
}
