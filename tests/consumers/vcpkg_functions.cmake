# The vcpkg functions that our portfile calls, cut down to what matters for it. They check their
# arguments, pass the flags that vcpkg passes, and move files as vcpkg does.

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS;OPTIONS_RELEASE;OPTIONS_DEBUG")
  if(NOT IS_DIRECTORY "${arg_SOURCE_PATH}" OR DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure: bad arguments ${ARGN}")
  endif()
  if(NOT VCPKG_BUILD_TYPE STREQUAL "release")
    message(FATAL_ERROR "a header-only port sets VCPKG_BUILD_TYPE to release")
  endif()
  # vcpkg's toolchain file puts the installed packages first; here the machine's Eigen stands for vcpkg's.
  run("${CMAKE_COMMAND}"
      -S "${arg_SOURCE_PATH}"
      -B "${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}-rel"
      -G "${GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${COMPILER}"
      -DCMAKE_BUILD_TYPE=Release
      "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}"
      -DFETCHCONTENT_FULLY_DISCONNECTED=ON
      -DBUILD_SHARED_LIBS=OFF
      -DCMAKE_EXPORT_NO_PACKAGE_REGISTRY=ON
      -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON
      -DCMAKE_FIND_PACKAGE_NO_SYSTEM_PACKAGE_REGISTRY=ON
      -DCMAKE_INSTALL_SYSTEM_RUNTIME_LIBS_SKIP=TRUE
      -DCMAKE_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION=ON
      -DCMAKE_VERBOSE_MAKEFILE=ON
      -DCMAKE_INSTALL_LIBDIR:STRING=lib
      -DCMAKE_INSTALL_BINDIR:STRING=bin
      -DVCPKG_TARGET_TRIPLET=${TARGET_TRIPLET}
      -DVCPKG_APPLOCAL_DEPS=OFF
      -DVCPKG_MANIFEST_INSTALL=OFF
      ${arg_OPTIONS}
      ${arg_OPTIONS_RELEASE})
  # vcpkg's own flags may go unused, the port's may not.
  foreach(option IN LISTS arg_OPTIONS arg_OPTIONS_RELEASE)
    string(REGEX REPLACE "^-D([A-Za-z_0-9]+).*" "\\1" name "${option}")
    if(output MATCHES "Manually-specified variables were not used.*[ \n]${name}\n")
      message(FATAL_ERROR "the port's option ${option} means nothing to rope")
    endif()
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --build "${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}-rel" --config Release --target install)
endfunction()

# Moves CONFIG_PATH to share/<package>, and makes paths in the files relative.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  if(NOT arg_PACKAGE_NAME)
    set(arg_PACKAGE_NAME ${PORT})
  endif()
  set(share "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}")
  if(arg_CONFIG_PATH AND NOT arg_CONFIG_PATH STREQUAL "share/${arg_PACKAGE_NAME}")
    if(NOT IS_DIRECTORY "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
      message(FATAL_ERROR "vcpkg_cmake_config_fixup: there is no ${arg_CONFIG_PATH}")
    endif()
    file(RENAME "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}" "${share}")
  endif()
  file(GLOB files "${share}/*.cmake")
  if(NOT files)
    message(FATAL_ERROR "vcpkg_cmake_config_fixup: no CMake files in share/${arg_PACKAGE_NAME}")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "COMMENT" "FILE_LIST")
  list(LENGTH arg_FILE_LIST count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "vcpkg_install_copyright: one file is expected, not \"${arg_FILE_LIST}\"")
  endif()
  file(READ "${arg_FILE_LIST}" licence)
  file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" "${licence}")
endfunction()
