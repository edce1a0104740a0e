# find_package(rope): target rope::core, and rope::rope where Eigen is found.
# find_package(rope COMPONENTS core): only rope::core; Eigen is not looked for.
# find_package(rope COMPONENTS rope): also rope::rope; without Eigen rope is not found.

include("${CMAKE_CURRENT_LIST_DIR}/rope-core-targets.cmake")
set(rope_core_FOUND TRUE)

if(NOT rope_FIND_COMPONENTS OR "rope" IN_LIST rope_FIND_COMPONENTS)
  if(NOT EXISTS "${CMAKE_CURRENT_LIST_DIR}/rope-rope-targets.cmake")
    set(rope_rope_FOUND FALSE)
    set(rope_NOT_FOUND_MESSAGE "this rope was installed without its Eigen part")
  else()
    if("rope" IN_LIST rope_FIND_COMPONENTS AND rope_FIND_REQUIRED_rope)
      include(CMakeFindDependencyMacro)
      find_dependency(Eigen3)
    elseif(NOT TARGET Eigen3::Eigen)
      find_package(Eigen3 QUIET)
    endif()
    if(TARGET Eigen3::Eigen)
      include("${CMAKE_CURRENT_LIST_DIR}/rope-rope-targets.cmake")
      set(rope_rope_FOUND TRUE)
    else()
      set(rope_rope_FOUND FALSE)
      if(NOT rope_FIND_QUIETLY)
        message(STATUS "rope: Eigen3 not found, so there is no target rope::rope; "
                       "rope::core needs only the standard library")
      endif()
    endif()
  endif()
endif()

foreach(component IN LISTS rope_FIND_COMPONENTS)
  if(rope_FIND_REQUIRED_${component} AND NOT rope_${component}_FOUND)
    set(rope_FOUND FALSE)
    if(NOT rope_NOT_FOUND_MESSAGE)
      set(rope_NOT_FOUND_MESSAGE "rope has no component \"${component}\"; there are: core, rope")
    endif()
  endif()
endforeach()
