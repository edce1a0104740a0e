// The ids of an axis are a span into MropeIds: of a temporary it would dangle.
// expect: deleted
#include <cstdint>

#include "rope/spatial/mrope_ids.hpp"

rope::MropeIds made();

std::int64_t first() {
#ifdef ROPE_BAD
  return made().axis(0)[0];
#else
  const rope::MropeIds kept = made();
  return kept.axis(0)[0];
#endif
}
