include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

# The parent's CMakeLists.txt checks what add_subdirectory() changes.
set_configure("${consumers}/add_subdirectory" "${WORK_DIR}/build")
run(${configure} "-DROPE_SOURCE=${SOURCE_DIR}" -DWITH_EIGEN=${WITH_EIGEN})
build_and_run("${WORK_DIR}/build")

run("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK_DIR}/build" -N)
if(NOT output MATCHES "Total Tests: 0")
  message(FATAL_ERROR "rope adds tests to its parent:\n${output}")
endif()

file(READ "${WORK_DIR}/build/compile_commands.json" commands)
if(commands MATCHES " -[WOfmg][^ ]*")
  message(FATAL_ERROR "rope adds the flag${CMAKE_MATCH_0}:\n${commands}")
endif()

run("${CMAKE_COMMAND}" --install "${WORK_DIR}/build" --prefix "${WORK_DIR}/unasked")
expect_only("${WORK_DIR}/unasked")

# Only where the parent asks for it is rope installed with it. Developers' options have no effect.
run(${configure} -DROPE_INSTALL=ON -DROPE_BUILD_TESTS=ON -DROPE_BUILD_EXAMPLES=ON -DROPE_BUILD_BENCH=ON)
run("${CMAKE_COMMAND}" --install "${WORK_DIR}/build" --prefix "${WORK_DIR}/asked")
expect_same_headers("${WORK_DIR}/asked/include")

run_refused("rope::cor" ${configure} -DMISSPELT=ON)
