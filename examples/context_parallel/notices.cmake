# Runs PROGRAM with ARGUMENTS, which make it go wrong on purpose: it must say so and end with status 1.
cmake_minimum_required(VERSION 3.24)

execute_process(
  COMMAND "${PROGRAM}" ${ARGUMENTS}
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE errors)
if(NOT status EQUAL 1 OR NOT output MATCHES "causal  contiguous [^\n]* NO\n" OR output MATCHES " yes\n")
  message("${output}${errors}")
  message(FATAL_ERROR "${PROGRAM} ended with ${status} and did not find all four results wrong")
endif()
