# Installs the headers to include/ and the CMake package to share/rope/, nothing else: the layout
# that distributions and package managers ask of a header-only library.

include(CMakePackageConfigHelpers)

# Where GNUInstallDirs would put them, but without its cache entries, which a parent has not asked for.
set(rope_include_dir include)
if(CMAKE_INSTALL_INCLUDEDIR)
  set(rope_include_dir "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(rope_package_dir share/rope)
if(CMAKE_INSTALL_DATADIR)
  set(rope_package_dir "${CMAKE_INSTALL_DATADIR}/rope")
elseif(CMAKE_INSTALL_DATAROOTDIR)
  set(rope_package_dir "${CMAKE_INSTALL_DATAROOTDIR}/rope")
endif()

# One export file per target, so that the package can leave out the one whose dependency is missing.
install(
  TARGETS rope_core
  EXPORT rope-core
  FILE_SET HEADERS DESTINATION "${rope_include_dir}"
  FILE_SET bodies DESTINATION "${rope_include_dir}")
install(EXPORT rope-core NAMESPACE rope:: FILE rope-core-targets.cmake DESTINATION "${rope_package_dir}")

if(TARGET rope)
  install(TARGETS rope EXPORT rope-rope FILE_SET HEADERS DESTINATION "${rope_include_dir}")
  install(EXPORT rope-rope NAMESPACE rope:: FILE rope-rope-targets.cmake DESTINATION "${rope_package_dir}")
endif()

if(TARGET rope_huggingface)
  install(TARGETS rope_huggingface EXPORT rope-huggingface FILE_SET HEADERS DESTINATION "${rope_include_dir}")
  install(EXPORT rope-huggingface NAMESPACE rope:: FILE rope-huggingface-targets.cmake
          DESTINATION "${rope_package_dir}")
endif()

# Below 1.0 the minor version is the one that may break users. Independent of the architecture:
# headers serve every pointer size.
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/rope-config-version.cmake"
  VERSION ${PROJECT_VERSION}
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/rope-config.cmake"
              "${PROJECT_BINARY_DIR}/rope-config-version.cmake"
        DESTINATION "${rope_package_dir}")
