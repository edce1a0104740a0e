# Runs PROGRAM with ARGUMENTS; it must succeed and print what is in the file EXPECTED, byte for byte.
cmake_minimum_required(VERSION 3.24)

# What it reads may be data that is not in the repository.
foreach(file IN LISTS EXPECTED ARGUMENTS)
  if(IS_ABSOLUTE "${file}" AND NOT EXISTS "${file}")
    message(NOTICE "skipped: there is no ${file}")
    return()
  endif()
endforeach()

execute_process(
  COMMAND "${PROGRAM}" ${ARGUMENTS}
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message("${output}${errors}")
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
endif()
file(READ "${EXPECTED}" expected)
if(NOT output STREQUAL expected)
  message("printed:\n${output}\nexpected:\n${expected}")
  message(FATAL_ERROR "the output of ${PROGRAM} is not what ${EXPECTED} has")
endif()
