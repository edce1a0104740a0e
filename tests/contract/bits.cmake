# The same bits everywhere: COMPILER, FLAGS (one string), RUNNER (a list, may be empty), NORMAL_ONLY. Compiles bits.cpp, runs
# it, and compares what it prints with bits.expected.
include("${CMAKE_CURRENT_LIST_DIR}/../consumers/common.cmake")
separate_arguments(FLAGS)

run("${COMPILER}" -std=c++20 ${FLAGS} -I "${SOURCE_DIR}/include" "${CMAKE_CURRENT_LIST_DIR}/bits.cpp" -o
    "${WORK_DIR}/bits")
run(${RUNNER} "${WORK_DIR}/bits")
file(WRITE "${WORK_DIR}/output" "${output}")

if(NORMAL_ONLY)
  set(wanted "^normal ")
else()
  set(wanted "^(normal|extreme) ")
endif()
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/bits.expected" expected REGEX "${wanted}")
file(STRINGS "${WORK_DIR}/output" found REGEX "${wanted}")
if(expected STREQUAL "")
  message(FATAL_ERROR "nothing to compare")
endif()
if(NOT found STREQUAL expected)
  list(JOIN expected "\n" expected)
  list(JOIN found "\n" found)
  message(FATAL_ERROR "expected\n${expected}\nbut got\n${found}")
endif()
