# A program of its own: COMPILER, FLAGS (one string), SOURCE. Compiles it and runs it; it ends with 0 if all is well.
include("${CMAKE_CURRENT_LIST_DIR}/../consumers/common.cmake")
separate_arguments(FLAGS)

run("${COMPILER}" -std=c++20 ${WARNINGS} -Werror ${FLAGS} -I "${SOURCE_DIR}/include"
    "${CMAKE_CURRENT_LIST_DIR}/${SOURCE}" -o "${WORK_DIR}/program")
run("${WORK_DIR}/program")
