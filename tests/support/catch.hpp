// Catch2, version 2 or 3, as the tests use it. Include this and no header of Catch2.
#pragma once

#include <string>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#else
#include <catch2/catch.hpp>
#endif

namespace rope_test {

#if __has_include(<catch2/catch_test_macros.hpp>)
using Catch::Approx;
#else
using Catch::Detail::Approx;
#endif

/// Matcher for REQUIRE_THROWS_WITH and REQUIRE_THAT: the text contains `part`.
inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_test_macros.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

/// Prints "skipped: reason" and makes the program end with the status that ctest shows as skipped,
/// unless something fails. Defined in support/main.cpp.
void note_skip(const std::string& reason);

}  // namespace rope_test

/// Leaves the test case, aloud. For missing data only: never for something that is broken.
#define ROPE_TEST_SKIP(reason)      \
  do {                              \
    ::rope_test::note_skip(reason); \
    SUCCEED("skipped");             \
    return;                         \
  } while (false)
