// The main function of every test program.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <iostream>
#include <string>

namespace {
constexpr int skipped_status = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt
bool skipped_something = false;
}  // namespace

namespace rope_test {
void note_skip(const std::string& reason);
void note_skip(const std::string& reason) {
  skipped_something = true;
  std::cout << "skipped: " << reason << std::endl;
}
}  // namespace rope_test

int main(int argument_count, char* arguments[]) {
  const int status = Catch::Session().run(argument_count, arguments);
  return status == 0 && skipped_something ? skipped_status : status;
}
