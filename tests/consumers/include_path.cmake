# The compiler alone, no CMake package: -I include, and Eigen's folder for rope/rope.hpp.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

set(compile "${COMPILER}" -std=c++20 -I "${SOURCE_DIR}/include")
set(app "${consumers}/app")
set(program "${WORK_DIR}/program")

if(WITH_EIGEN)
  # Eigen's own warnings are its own affair, rope's are not: -isystem for the one, -I for the other.
  set(eigen "")
  foreach(dir IN LISTS EIGEN_DIRS)
    list(APPEND eigen -isystem "${dir}")
  endforeach()
  run(${compile} ${WARNINGS} -Werror ${eigen} "${app}/eigen.cpp" "${app}/eigen_key.cpp" -o "${program}")
  run("${program}")
  return()
endif()

run(${compile} ${WARNINGS} -Werror "${app}/core.cpp" -o "${program}")
run("${program}")

# core.hpp reads no file of Eigen's.
run(${compile} -M "${app}/core.cpp")
if(output MATCHES "[Ee]igen")
  message(FATAL_ERROR "rope/core.hpp includes Eigen:\n${output}")
endif()

run(${compile} ${WARNINGS} -Werror -fno-exceptions -fno-rtti "${app}/core.cpp" -o "${program}")
run("${program}")

# The user's own code still gets the warnings that the user asked for.
file(WRITE "${WORK_DIR}/shadow.cpp" [[
#include "rope/core.hpp"
int twice(int x);
int twice(int x) {
  for (int i = 0; i < 1; ++i) { int x = i; (void)x; }
  return x + x;
}
]])
run_refused("shadow" ${compile} ${WARNINGS} -Werror -fsyntax-only "${WORK_DIR}/shadow.cpp")
