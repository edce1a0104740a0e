// Ids are int32 or int64, not any integer.
// expect: no matching function for call to 'from_each
#include <cstdint>
#include <vector>

#include "rope/row_positions.hpp"

#ifdef ROPE_BAD
using Id = std::int16_t;
#else
using Id = std::int64_t;
#endif

rope::Positions positions(const std::vector<Id>& starts) { return rope::from_each(starts); }
