// A picked table refers to the table of its rows.
//
// expect GNU: use of deleted function
// expect Clang: call to deleted function 'mrope_table'
#include <cstdint>
#include <vector>

#include "rope/spatial/mrope_table.hpp"
#include "rope/table.hpp"

int main() {
  const std::vector<std::int64_t> ids = {0, 1};
  const rope::CosSinTable<float> table(rope::frequencies({.rotary_dim = 4}), 2);
  const rope::AxisMap map = rope::contiguous_axes({1, 1});
#if defined(ROPE_BAD)
  return static_cast<int>(
      rope::mrope_table(rope::CosSinTable<float>(table), map, ids, {2, 1}).tokens());
#else
  return static_cast<int>(rope::mrope_table(table, map, ids, {2, 1}).tokens());
#endif
}
