# Shared by tests, examples and benchmarks; never read by users of the library.

if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14))
  message(FATAL_ERROR "rope: GCC 12 or clang 14 or newer is needed; this is "
                      "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
endif()

# Where the larger data lies that is not in the repository. Tests that need it are skipped aloud
# where it is missing.
set(ROPE_SHARED_DIR "" CACHE PATH "Folder with data/ and golden/; if empty, ../shared")
set(rope_shared_dir "${ROPE_SHARED_DIR}")
if(NOT rope_shared_dir)
  cmake_path(GET PROJECT_SOURCE_DIR PARENT_PATH rope_shared_dir)
  cmake_path(APPEND rope_shared_dir "shared")
endif()

set(rope_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wconversion
    -Wsign-conversion
    -Wshadow
    -Wold-style-cast
    -Wdouble-promotion)

# Warnings for a target of our own. rope's headers come in by -I, so they are held to them as well.
function(rope_development_target target)
  target_compile_options(${target} PRIVATE ${rope_warnings})
  if(ROPE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
