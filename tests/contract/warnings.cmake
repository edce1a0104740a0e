# Silence with all warnings: COMPILER, EIGEN_DIRS, CLANG. Users include rope by -I, and some after a <windows.h> that
# defines min and max.
include("${CMAKE_CURRENT_LIST_DIR}/../consumers/common.cmake")

set(all_warnings ${WARNINGS} -Wundef -Werror)
set(include -I "${SOURCE_DIR}/include")
set(everything "${CMAKE_CURRENT_LIST_DIR}/everything.cpp")

# What comes from outside is included first: min and max are not ours to protect there.
file(GLOB_RECURSE headers RELATIVE "${SOURCE_DIR}/include" "${SOURCE_DIR}/include/*.hpp")
set(outside "")
set(rope "")
foreach(header IN LISTS headers)
  file(STRINGS "${SOURCE_DIR}/include/${header}" lines REGEX "^#include <")
  list(APPEND outside ${lines})
  set(needs version)
  if(header MATCHES "^rope/(rope|eigen|eigen_[a-z_]+)\\.hpp$")
    set(needs Eigen/Core)
  elseif(header MATCHES "^rope/huggingface")
    set(needs nlohmann/json.hpp)
  endif()
  list(APPEND rope "#if __has_include(<${needs}>)\n#include \"${header}\"\n#endif")
endforeach()
list(REMOVE_DUPLICATES outside)
list(FILTER outside EXCLUDE REGEX "intrin|arm_neon") # of one machine only, and have no such names
list(TRANSFORM outside REPLACE "#include (.*)" "#if __has_include(\\1)\n#include \\1\n#endif")
set(standard ${outside})
list(FILTER standard INCLUDE REGEX "<[a-z_0-9]+>")
foreach(name IN ITEMS standard outside)
  list(JOIN ${name} "\n" text)
  file(WRITE "${WORK_DIR}/${name}.hpp" "${text}\n#define min(a, b) 0\n#define max(a, b) 0\n")
endforeach()
set(eigen "")
foreach(dir IN LISTS EIGEN_DIRS)
  list(APPEND eigen -isystem "${dir}")
endforeach()

# Everything instantiated. What GCC sees depends on how far it optimises: with -O2 and -O0 the units of contract.units are
# compiled, with all warnings too. clang's warnings do not depend on it.
set(mode -O3)
if(CLANG)
  set(mode -fsyntax-only)
endif()
run("${COMPILER}" -std=c++20 ${all_warnings} ${mode} -DROPE_CONTRACT_ALL ${include} -include
    "${WORK_DIR}/standard.hpp" -c "${everything}" -o "${WORK_DIR}/everything.o")

# All headers in one unit, in another order than usual; headers.* compile each alone.
list(REVERSE rope)
list(JOIN rope "\n" rope)
file(WRITE "${WORK_DIR}/all.cpp" "${rope}\n")
run("${COMPILER}" -std=c++20 ${all_warnings} -fsyntax-only ${include} ${eigen} -include
    "${WORK_DIR}/outside.hpp" "${WORK_DIR}/all.cpp")

# All that clang knows, without what contradicts the library's means or its style.
if(CLANG)
  set(unwanted
      -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-c++20-compat # this is C++20
      -Wno-padded # members stand in the order that reads best
      -Wno-weak-vtables # there is no source file to put one in
      -Wno-float-equal # exact zeros and ones are meant where they are compared
      -Wno-switch-enum # contradicts -Wcovered-switch-default
      -Wno-unsafe-buffer-usage # the library works on the caller's pointers
      -Wno-unknown-warning-option # the list is for several versions
  )
  run("${COMPILER}" -std=c++20 -Weverything ${unwanted} -Werror -fsyntax-only ${include} "${everything}")
endif()

# The user's own warnings work as before: nothing is switched off for what follows the headers.
file(
  WRITE "${WORK_DIR}/user.cpp"
  [[
#include "rope/core.hpp"
int user(int value, float number);
int user(int value, float number) {
  int unused;
  unsigned converted = value;
  for (int value = 0; value < 3; ++value) number += (float)converted;
  return number * 2.0 > 1.0;
}
]])
execute_process(
  COMMAND "${COMPILER}" -std=c++20 ${WARNINGS} -fsyntax-only ${include} "${WORK_DIR}/user.cpp"
  RESULT_VARIABLE status
  ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "only warnings were expected:\n${output}")
endif()
foreach(warning IN ITEMS unused-variable sign-conversion shadow old-style-cast double-promotion)
  if(NOT output MATCHES "\\[-W${warning}\\]")
    message(FATAL_ERROR "-W${warning} is silent after rope's headers:\n${output}")
  endif()
endforeach()
