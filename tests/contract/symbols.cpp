// symbols NM OBJDUMP plain-object object...
//
// Looks into object files that will be linked together but were compiled for different instruction
// sets or exception modes, and fails if they share a function of namespace rope: of functions with
// the same name the linker keeps the first, whatever instructions it has. Fails also if the
// first object, made for plain x86-64, has instructions or registers of AVX outside the kernels
// that are chosen at run time, and if rope has variables that can change.

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  char buffer[4096];
  while (pipe != nullptr) {
    const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe.get());
    if (size == 0) break;
    text.append(buffer, size);
  }
  if (text.empty()) {
    std::cerr << "no output from: " << command << '\n';
    std::exit(2);
  }
  return text;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

/// Names of what the object defines and the linker may merge with the same name elsewhere.
std::set<std::string> merged_symbols(const std::string& nm, const std::string& object) {
  std::istringstream lines(output_of(nm + " --defined-only " + object));
  std::set<std::string> names;
  std::string value;
  std::string type;
  std::string name;
  while (lines >> value >> type >> name) {
    if (type == "W" || type == "V" || type == "u") names.insert(name);
  }
  return names;
}

/// Functions and variables of namespace rope; not templates of the standard library that are
/// instantiated with a type of rope.
bool is_of_rope(const std::string& name) {
  for (const char* const start : {"_ZN4rope", "_ZNK4rope", "_ZNR4rope", "_ZNKR4rope", "_ZNO4rope",
                                  "_ZTVN4rope", "_ZTIN4rope", "_ZTSN4rope", "_ZGVN4rope"}) {
    if (name.starts_with(start)) return true;
  }
  const std::size_t offset_end = name.find("_N");
  return (name.starts_with("_ZTh") || name.starts_with("_ZTv")) && offset_end < 16 &&
         name.find("4rope", offset_end) <= offset_end + 3;
}

/// The one name of the unit, as rope/detail/unit.hpp makes it, that the object's symbols carry. In
/// a mangled name its length stands before it.
std::string unit_of(const std::string& object, const std::set<std::string>& names) {
  std::set<std::string> found;
  for (const std::string& name : names) {
    const std::size_t start = name.find("unit_");
    if (!is_of_rope(name) || start == std::string::npos || start < 2) continue;
    const std::size_t size = std::strtoul(name.c_str() + start - 2, nullptr, 10);
    found.insert(name.substr(start, size));
  }
  if (found.size() != 1) {
    std::cerr << object << " has functions of " << found.size() << " units, not of one\n";
    std::exit(1);
  }
  return *found.begin();
}

/// What cannot be told apart by unit. Exceptions must be the same type everywhere, so their tables,
/// and the functions in these, are: they have no arithmetic, and are never in the way of a
/// rotation. An aggregate may have a string or a vector, and then has an implicit destructor, which
/// only calls theirs.
bool may_be_shared(const std::string& name) {
  const std::string text = demangled(name);
  for (const char* const part :
       {"vtable for ", "typeinfo for ", "typeinfo name for ", "rope::detail::ErrorOf<",
        "rope::Error::", "rope::InvalidArgument::", "rope::OutOfRange::", "rope::ParseError::",
        "::~"}) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

/// Variables of rope that can be written. One is known: which instruction set was found.
std::set<std::string> changing_variables(const std::string& objdump, const std::string& object) {
  std::istringstream lines(output_of(objdump + " -t " + object));
  std::set<std::string> names;
  std::string line;
  while (std::getline(lines, line)) {
    // address flags section<tab>size name
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string section =
        line.substr(line.rfind(' ', tab) + 1, tab - line.rfind(' ', tab) - 1);
    const bool is_data = section.starts_with(".data") && !section.starts_with(".data.rel.ro");
    if (!is_data && !section.starts_with(".bss") && !section.starts_with(".tdata") &&
        !section.starts_with(".tbss")) {
      continue;
    }
    const std::string name = line.substr(line.rfind(' ') + 1);
    if (is_of_rope(name) && !name.ends_with("10isa_in_useE")) names.insert(demangled(name));
  }
  return names;
}

/// The first line of the disassembly that plain x86-64 cannot run, kernels for more apart.
std::string line_beyond_baseline(const std::string& objdump, const std::string& object) {
  std::istringstream lines(output_of(objdump + " -d --no-show-raw-insn " + object));
  std::string line;
  std::string function;
  bool is_kernel = false;
  while (std::getline(lines, line)) {
    if (line.ends_with(">:")) {
      function = line;
      const std::size_t unit = line.find("unit_");
      is_kernel = unit != std::string::npos && (line.find("4avx2", unit) != std::string::npos ||
                                                line.find("6avx512", unit) != std::string::npos);
    }
    if (is_kernel) continue;
    const std::size_t mnemonic = line.rfind('\t');
    if (line.find("%ymm") != std::string::npos || line.find("%zmm") != std::string::npos ||
        (mnemonic != std::string::npos && line.compare(mnemonic + 1, 1, "v") == 0)) {
      return function + '\n' + line;
    }
  }
  return {};
}

}  // namespace

int main(int argument_count, char* arguments[]) {
  if (argument_count < 5) {
    std::cerr << "usage: symbols NM OBJDUMP plain-object object...\n";
    return 2;
  }
  const std::string nm = arguments[1];
  const std::string objdump = arguments[2];

  int failures = 0;
  std::set<std::string> units;
  std::map<std::string, std::set<std::string>> units_with;
  for (int i = 3; i < argument_count; ++i) {
    const std::string object = arguments[i];
    const std::set<std::string> names = merged_symbols(nm, object);
    const std::string unit = unit_of(object, names);
    units.insert(unit);
    for (const std::string& name : names) {
      if (is_of_rope(name)) units_with[name].insert(unit);
    }
    for (const std::string& variable : changing_variables(objdump, object)) {
      std::cerr << object << " has the variable " << variable << '\n';
      ++failures;
    }
    if (i == 3) {
      const std::string line = line_beyond_baseline(objdump, object);
      if (!line.empty()) {
        std::cerr << object << " is for plain x86-64, but has\n" << line << '\n';
        ++failures;
      }
    }
  }
  if (units.size() < 2) {
    std::cerr << "nothing to compare: all objects are of one unit\n";
    return 1;
  }
  for (const auto& [name, sharing] : units_with) {
    if (sharing.size() < 2 || may_be_shared(name)) continue;
    std::cerr << "shared by " << sharing.size() << " units: " << demangled(name) << '\n';
    ++failures;
  }
  std::cout << units.size() << " units, " << units_with.size() << " symbols of rope\n";
  return failures == 0 ? 0 : 1;
}
