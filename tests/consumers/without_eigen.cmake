# rope as top-level project on a machine without Eigen: it configures, says what is left out, and
# installs the same package as elsewhere.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

set_configure("${SOURCE_DIR}" "${WORK_DIR}/build")
list(APPEND configure -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON)
run(${configure})
if(NOT output MATCHES "Eigen3 not found, so there is no target rope::rope")
  message(FATAL_ERROR "nothing is said of the missing target:\n${output}")
endif()
if(output MATCHES "Warning")
  message(FATAL_ERROR "warnings:\n${output}")
endif()
run("${CMAKE_COMMAND}" --install "${WORK_DIR}/build" --prefix "${WORK_DIR}/prefix")
expect_same_headers("${WORK_DIR}/prefix/include")
if(NOT EXISTS "${WORK_DIR}/prefix/share/rope/rope-rope-targets.cmake")
  message(FATAL_ERROR "the package lacks rope::rope")
endif()

# A packager's configuration builds nothing and brings no tests.
run("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK_DIR}/build" -N)
if(NOT output MATCHES "Total Tests: 0")
  message(FATAL_ERROR "tests without asking for them:\n${output}")
endif()

run(${configure} -DROPE_EIGEN=OFF)
run_refused("Eigen3" ${configure} -DROPE_EIGEN=ON)
