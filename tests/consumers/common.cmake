# What the consumer tests share. Each is a script: cmake -D... -P <test>.cmake, with
#   SOURCE_DIR    the checkout         WORK_DIR   a folder of its own, emptied at the start
#   GENERATOR, COMPILER                EIGEN_DIRS Eigen's include folders, empty if not on the machine
cmake_minimum_required(VERSION 3.24)

set(consumers "${SOURCE_DIR}/tests/consumers")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# A consumer's flags are its own affair: not those of the build that runs the tests.
foreach(variable IN ITEMS CXXFLAGS CPPFLAGS LDFLAGS DESTDIR)
  unset(ENV{${variable}})
endforeach()

# run(command...): stops the test if it fails. Its output is in `output`.
macro(run)
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message("${output}")
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endmacro()

# run_refused(regex command...): the command must fail and say why.
macro(run_refused regex)
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(status EQUAL 0)
    message("${output}")
    message(FATAL_ERROR "should have been refused: ${ARGN}")
  endif()
  # CMake breaks its messages into lines.
  string(REGEX REPLACE "[ \n]+" " " unbroken "${output}")
  if(NOT unbroken MATCHES "${regex}")
    message("${output}")
    message(FATAL_ERROR "refused, but not for \"${regex}\": ${ARGN}")
  endif()
endmacro()

# set_configure(source build): the command line that configures a consumer, in `configure`.
macro(set_configure source build)
  set(configure
      "${CMAKE_COMMAND}"
      -S
      "${source}"
      -B
      "${build}"
      -G
      "${GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${COMPILER}")
endmacro()

# build_and_run(build): builds a configured consumer and runs its programs.
macro(build_and_run build)
  run("${CMAKE_COMMAND}" --build "${build}")
  run("${build}/app_core")
  if(WITH_EIGEN)
    run("${build}/app_eigen")
  endif()
endmacro()

# copy_source(destination): what the library consists of, without tests and the like.
macro(copy_source destination)
  file(COPY "${SOURCE_DIR}/CMakeLists.txt" "${SOURCE_DIR}/LICENSE" "${SOURCE_DIR}/include" "${SOURCE_DIR}/cmake"
            "${SOURCE_DIR}/ports" DESTINATION "${destination}")
endmacro()

# expect_only(folder regex...): every file below is matched by one of them.
function(expect_only folder)
  file(GLOB_RECURSE files RELATIVE "${folder}" "${folder}/*")
  foreach(file IN LISTS files)
    set(known FALSE)
    foreach(regex IN LISTS ARGN)
      if(file MATCHES "${regex}")
        set(known TRUE)
      endif()
    endforeach()
    if(NOT known)
      message(FATAL_ERROR "unexpected file: ${file}")
    endif()
  endforeach()
endfunction()

# expect_same_headers(folder): all headers of the checkout, and no others.
function(expect_same_headers folder)
  file(GLOB_RECURSE wanted RELATIVE "${SOURCE_DIR}/include" "${SOURCE_DIR}/include/*")
  file(GLOB_RECURSE found RELATIVE "${folder}" "${folder}/*")
  list(SORT wanted)
  list(SORT found)
  if(NOT wanted STREQUAL found)
    message(FATAL_ERROR "headers installed:\n${found}\nheaders there are:\n${wanted}")
  endif()
endfunction()

# expect_no_path(folder path...): none of the paths is mentioned in a text file below.
function(expect_no_path folder)
  file(GLOB_RECURSE files "${folder}/*.cmake" "${folder}/*.hpp" "${folder}/*.inc" "${folder}/*.pc")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    foreach(path IN LISTS ARGN)
      string(FIND "${text}" "${path}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${file} contains the path ${path}")
      endif()
    endforeach()
  endforeach()
endfunction()
