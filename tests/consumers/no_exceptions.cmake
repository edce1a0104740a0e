# All headers without exceptions and run-time types: WITH_EIGEN, WITH_JSON. In both orders, so that what a header lacks is
# not there every time because of another.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

file(GLOB_RECURSE headers RELATIVE "${SOURCE_DIR}/include" "${SOURCE_DIR}/include/rope/*.hpp")
if(NOT WITH_EIGEN)
  list(FILTER headers EXCLUDE REGEX "^rope/(rope|eigen|eigen_[a-z_]+)\\.hpp$")
endif()
if(NOT WITH_JSON)
  list(FILTER headers EXCLUDE REGEX "^rope/huggingface")
endif()
list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"")
set(eigen "")
foreach(dir IN LISTS EIGEN_DIRS)
  list(APPEND eigen -isystem "${dir}")
endforeach()
foreach(order IN ITEMS forwards backwards)
  list(JOIN headers "\n" text)
  file(WRITE "${WORK_DIR}/${order}.cpp" "${text}\n")
  run("${COMPILER}" -std=c++20 ${WARNINGS} -Wundef -Werror -fno-exceptions -fno-rtti -I "${SOURCE_DIR}/include" ${eigen}
      -fsyntax-only "${WORK_DIR}/${order}.cpp")
  list(REVERSE headers)
endforeach()
