# One header alone: HEADER, as one includes it.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

set(eigen "")
if(HEADER MATCHES "^rope/(rope|eigen|eigen_[a-z_]+)\\.hpp$")
  foreach(dir IN LISTS EIGEN_DIRS)
    list(APPEND eigen -isystem "${dir}")
  endforeach()
endif()
# Twice: it must also guard itself.
file(WRITE "${WORK_DIR}/alone.cpp" "#include \"${HEADER}\"\n#include \"${HEADER}\"\n")
foreach(mode IN ITEMS "" "-fno-exceptions;-fno-rtti")
  run("${COMPILER}" -std=c++20 ${WARNINGS} -Wundef -Werror ${mode} -I "${SOURCE_DIR}/include" ${eigen} -fsyntax-only
      "${WORK_DIR}/alone.cpp")
endforeach()
