# Looks for MPI: MPI_CXX_FOUND and the target MPI::MPI_CXX, as FindMPI gives them.
#
# Where the compiler wrapper is installed without the headers, as Debian's openmpi-bin without
# libopenmpi-dev, FindMPI does not say "not found" but stops the configuration. So the wrapper is
# asked for the header first.
find_program(rope_mpi_wrapper NAMES mpicxx mpic++ NO_CACHE)
set(rope_mpi_status 1)
if(rope_mpi_wrapper)
  execute_process(
    COMMAND "${rope_mpi_wrapper}" -E -x c++ -include mpi.h /dev/null
    RESULT_VARIABLE rope_mpi_status
    OUTPUT_QUIET ERROR_QUIET)
endif()
if(rope_mpi_status EQUAL 0)
  find_package(MPI QUIET COMPONENTS CXX)
endif()
