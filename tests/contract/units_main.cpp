// units_main [unit]: uses everything.cpp, compiled in many ways and linked into this program. Every
// unit that the machine can run must give the same bits, and handle a refused call in its own way.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "child.hpp"
#include "expect.hpp"
#include "rope/error.hpp"

// CONTRACT_UNIT(name, throws, machine can run it) for each; written by CMakeLists.txt.
#define CONTRACT_UNIT(name, throws, can_run) \
  namespace contract::name {                 \
  std::uint64_t digest();                    \
  void fail(int kind);                       \
  }
#include "units_list.inc"
#undef CONTRACT_UNIT

namespace {

struct Unit {
  const char* name;
  bool throws;
  bool can_run;
  std::uint64_t (*digest)();
  void (*fail)(int kind);
};

const Unit units[] = {
#define CONTRACT_UNIT(name, throws, can_run) \
  {#name, throws, static_cast<bool>(can_run), &contract::name::digest, &contract::name::fail},
#include "units_list.inc"
#undef CONTRACT_UNIT
};

bool throws_what_it_should(const Unit& unit) {
  bool out_of_range = false;
  bool invalid = false;
  try {
    unit.fail(0);
  } catch (const rope::OutOfRange& error) {
    out_of_range = std::strstr(error.what(), "12345") != nullptr;
  }
  try {
    unit.fail(1);
  } catch (const rope::Error& error) {
    invalid = dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
  }
  return out_of_range && invalid;
}

bool aborts(const Unit& unit) {
  const contract::Ended ended = contract::run_in_child([&] {
    try {
      unit.fail(0);
    } catch (...) {
    }
  });
  return ended.by_abort && ended.stderr_text.find("12345") != std::string::npos;
}

}  // namespace

int main(int argument_count, char* arguments[]) {
  const char* const only = argument_count > 1 ? arguments[1] : nullptr;
  std::uint64_t expected = 0;
  int runs = 0;
  for (const Unit& unit : units) {
    if (only != nullptr && std::strcmp(unit.name, only) != 0) continue;
    if (only == nullptr && !unit.can_run) {
      std::printf("%s: not on this machine\n", unit.name);
      continue;
    }
    std::fflush(stdout);
    const std::uint64_t digest = unit.digest();
    std::printf("%s: %016llx\n", unit.name, static_cast<unsigned long long>(digest));
    if (runs == 0) expected = digest;
    ++runs;
    contract::expect(digest == expected, "the same bits as the first unit");
    contract::expect(unit.throws ? throws_what_it_should(unit) : aborts(unit),
                     unit.throws ? "throws what it should" : "aborts with the message");
  }
  CONTRACT_EXPECT(runs > 0);
  return contract::failures == 0 ? 0 : 1;
}
