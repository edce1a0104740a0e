# What the text of headers must not have.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

file(GLOB_RECURSE headers RELATIVE "${SOURCE_DIR}/include" "${SOURCE_DIR}/include/*.hpp"
     "${SOURCE_DIR}/include/*.inc")
foreach(header IN LISTS headers)
  file(READ "${SOURCE_DIR}/include/${header}" text)
  # M_PI is missing where _USE_MATH_DEFINES comes too late: std::numbers::pi is not.
  if(text MATCHES "[^A-Z_]M_[A-Z0-9_]+")
    message(FATAL_ERROR "${header} uses${CMAKE_MATCH_0}")
  endif()
  # What a header offers must not depend on what happens to be installed.
  if(text MATCHES "__has_include")
    message(FATAL_ERROR "${header} uses __has_include")
  endif()
  # Own macros have the prefix.
  string(REGEX MATCHALL "#[ \t]*define[ \t]+[A-Za-z_0-9]+" macros "${text}")
  foreach(macro IN LISTS macros)
    if(NOT macro MATCHES "define[ \t]+ROPE_(DETAIL|VERSION)_")
      message(FATAL_ERROR "${header} leaks a macro: ${macro}")
    endif()
  endforeach()
  if(header MATCHES "\\.hpp$" AND NOT text MATCHES "#pragma once")
    message(FATAL_ERROR "${header} has no #pragma once")
  endif()
endforeach()
