# One header alone: HEADER, as one includes it. Without exceptions only where the header asks for them: for all others,
# what they include is the same then, and headers.no_exceptions compiles them in few units.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

set(eigen "")
if(HEADER MATCHES "^rope/(rope|eigen|eigen_[a-z_]+)\\.hpp$")
  foreach(dir IN LISTS EIGEN_DIRS)
    list(APPEND eigen -isystem "${dir}")
  endforeach()
endif()
# Twice: it must also guard itself.
file(WRITE "${WORK_DIR}/alone.cpp" "#include \"${HEADER}\"\n#include \"${HEADER}\"\n")
set(compile "${COMPILER}" -std=c++20 ${WARNINGS} -Wundef -Werror -I "${SOURCE_DIR}/include" ${eigen} -fsyntax-only)
run(${compile} "${WORK_DIR}/alone.cpp")
file(READ "${SOURCE_DIR}/include/${HEADER}" text)
if(text MATCHES "__cpp_exceptions|__cpp_rtti")
  run(${compile} -fno-exceptions -fno-rtti "${WORK_DIR}/alone.cpp")
endif()
