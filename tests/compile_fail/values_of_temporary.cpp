// The values of frequencies that nobody keeps would be gone before they are read.
//
// expect: deleted
#include "rope/core.hpp"

double sum() {
  double total = 0;
#ifdef ROPE_BAD
  for (const double value : rope::frequencies({.rotary_dim = 8}).values()) {
    total += value;
  }
#else
  const rope::Frequencies frequencies = rope::frequencies({.rotary_dim = 8});
  for (const double value : frequencies.values()) {
    total += value;
  }
#endif
  return total;
}
