// For the programs of this folder that cannot use Catch2, because they are built without exceptions
// or by another compiler than Catch2 was.
#pragma once

#include <cstdio>

namespace contract {

inline int failures = 0;

inline void expect(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    ++failures;
  }
}

}  // namespace contract

#define CONTRACT_EXPECT(condition) ::contract::expect((condition), #condition)
