// Of a temporary table there are no frequencies left to refer to.
// expect GNU: use of deleted function
// expect Clang: call to deleted member function
#include "rope/token_table.hpp"

rope::TokenTable<float> table();

void use() {
#ifdef ROPE_BAD
  const rope::Frequencies& frequencies = table().frequencies();
#else
  const rope::TokenTable<float> kept = table();
  const rope::Frequencies& frequencies = kept.frequencies();
#endif
  static_cast<void>(frequencies.pairs());
}
