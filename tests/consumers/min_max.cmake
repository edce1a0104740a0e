# min and max as macros, as <windows.h> defines them.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

# The standard headers come first: they are not ours to protect.
file(GLOB_RECURSE headers "${SOURCE_DIR}/include/*.hpp" "${SOURCE_DIR}/include/*.inc")
list(APPEND headers "${consumers}/app/core.cpp")
set(standard "")
foreach(header IN LISTS headers)
  file(STRINGS "${header}" includes REGEX "^#include <[a-z_0-9]+>")
  list(APPEND standard ${includes})
endforeach()
list(REMOVE_DUPLICATES standard)
list(JOIN standard "\n" standard)
file(READ "${consumers}/app/core.cpp" program)
file(WRITE "${WORK_DIR}/program.cpp" "${standard}\n#define min(a, b) 0\n#define max(a, b) 0\n${program}")
run("${COMPILER}" -std=c++20 ${WARNINGS} -Werror -I "${SOURCE_DIR}/include" "${WORK_DIR}/program.cpp" -o
    "${WORK_DIR}/program")
run("${WORK_DIR}/program")
