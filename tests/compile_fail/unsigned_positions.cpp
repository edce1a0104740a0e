// Ids are int32 or int64: unsigned ones would hide a -1.
// expect: no matching function for call to 'at
#include <cstdint>
#include <vector>

#include "rope/row_positions.hpp"

#ifdef ROPE_BAD
using Id = std::uint32_t;
#else
using Id = std::int32_t;
#endif

rope::Positions positions(const std::vector<Id>& ids) { return rope::at(ids, {3}); }
