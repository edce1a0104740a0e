# Compiles SOURCE with and without ROPE_BAD; see CMakeLists.txt.
cmake_minimum_required(VERSION 3.24)

# Without the source line under each message, and below without the file's name: an expectation shall
# match the compiler's words, not ours.
if(COMPILER_ID STREQUAL "GNU")
  set(no_echo -fno-diagnostics-show-caret)
else()
  set(no_echo -fno-caret-diagnostics)
endif()
set(command "${COMPILER}" -std=c++20 -fsyntax-only ${no_echo} ${INCLUDES} "${SOURCE}")

set(ENV{LC_ALL} C) # the messages in plain English and ASCII

execute_process(COMMAND ${command} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message("${output}")
  message(FATAL_ERROR "the good half does not compile")
endif()

execute_process(COMMAND ${command} -DROPE_BAD RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "the bad half compiles")
endif()
string(REPLACE "${SOURCE}" "source.cpp" output "${output}")

# Line by line, and not by file(STRINGS), in which brackets and semicolons of C++ join lines.
file(READ "${SOURCE}" text)
set(expectations 0)
while(text MATCHES "// expect( [A-Za-z]+)?: ([^\n]+)\n(.*)")
  set(compiler "${CMAKE_MATCH_1}")
  set(regex "${CMAKE_MATCH_2}")
  set(text "${CMAKE_MATCH_3}")
  if(compiler STREQUAL "" OR compiler STREQUAL " ${COMPILER_ID}")
    math(EXPR expectations "${expectations} + 1")
    if(NOT output MATCHES "${regex}")
      message("${output}")
      message(FATAL_ERROR "the bad half does not compile, but not for \"${regex}\"")
    endif()
  endif()
endwhile()
if(expectations EQUAL 0)
  message(FATAL_ERROR "${SOURCE} has no line \"// expect: <regex>\" for ${COMPILER_ID}")
endif()
