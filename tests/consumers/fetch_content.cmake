include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

foreach(override IN ITEMS OFF ON)
  if(override)
    set(WITH_EIGEN OFF) # the same target as before: once is enough to compile Eigen
  endif()
  set_configure("${consumers}/fetch_content" "${WORK_DIR}/override_${override}")
  run(${configure} "-DROPE_SOURCE=${SOURCE_DIR}" -DOVERRIDE=${override} -DWITH_EIGEN=${WITH_EIGEN}
      -DFETCHCONTENT_FULLY_DISCONNECTED=ON)
  build_and_run("${WORK_DIR}/override_${override}")
  run_refused("rope::cor" ${configure} -DMISSPELT=ON)
endforeach()
