# SPDX-License-Identifier: BSL-1.0
#
# Uses the library as a stranger would: installs it, then configures, builds and runs tests/packaging/consumer against
# the installed copy (find_package, also by the rules of CMake 3.22) and against the source tree (add_subdirectory).
# None may need, or build, anything of our tests.
#
#   cmake -D SOURCE_DIR=... -D BINARY_DIR=... -D WORK_DIR=... -D GENERATOR=... -D MAKE_PROGRAM=... -D COMPILER=...
#         -D FLAGS=... -D EMULATOR=... -D VERSION=... [-D OLD_CMAKE=...] -P check_consumer.cmake
#
# OLD_CMAKE is a CMake that is older than 3.23, and uses the installed copy, too.

function(run what)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

set(cmake "${CMAKE_COMMAND}")
function(build_and_run how)
  set(build_dir "${WORK_DIR}/${how}")
  run("${how}: configure"
      "${cmake}" --no-warn-unused-cli -S "${SOURCE_DIR}/tests/packaging/consumer" -B "${build_dir}" -G "${GENERATOR}"
      "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
      "-DTIDEMARK_EXPECTED_VERSION=${VERSION}"
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_DISABLE_FIND_PACKAGE_doctest=ON -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON
      -DFETCHCONTENT_FULLY_DISCONNECTED=ON ${ARGN})
  run("${how}: build" "${cmake}" --build "${build_dir}")
  run("${how}: run" ${EMULATOR} "${build_dir}/consumer")
  if(EXISTS "${build_dir}/compiled_consumer")
    run("${how}: run with tidemark::compiled" ${EMULATOR} "${build_dir}/compiled_consumer")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run("install" "${CMAKE_COMMAND}" --install "${BINARY_DIR}" --prefix "${WORK_DIR}/prefix")

# The installed tree has to stand on its own: no path of this build may be left in it.
file(GLOB_RECURSE installed "${WORK_DIR}/prefix/*")
foreach(file IN LISTS installed)
  file(READ "${file}" text)
  foreach(path IN ITEMS "${SOURCE_DIR}" "${BINARY_DIR}")
    string(FIND "${text}" "${path}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} names ${path}")
    endif()
  endforeach()
endforeach()

# It may be moved, too.
file(RENAME "${WORK_DIR}/prefix" "${WORK_DIR}/moved here")
set(find "-DCMAKE_PREFIX_PATH=${WORK_DIR}/moved here")

build_and_run(find_package "${find}")

# A file that uses the library has little more than the calls; with clang before version 16 the library is empty.
execute_process(COMMAND "${COMPILER}" -dM -E -x c++ /dev/null OUTPUT_VARIABLE macros COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE in_the_library "${WORK_DIR}/find_package/CMakeFiles/fences_in_the_library.dir/*.o")
file(GLOB_RECURSE in_the_file "${WORK_DIR}/find_package/CMakeFiles/fences_in_the_file.dir/*.o")
file(SIZE "${in_the_library}" small)
file(SIZE "${in_the_file}" large)
math(EXPR three_times "${small} * 3")
if(large LESS three_times AND NOT macros MATCHES "__clang_major__ ([0-9]|1[0-5])\n")
  message(FATAL_ERROR "one signal and one wait: ${large} bytes of object file, and ${small} with tidemark::compiled")
endif()
message(STATUS "object file of one signal and one wait: ${large} bytes; with tidemark::compiled ${small}: ok")
build_and_run(find_package_as_3.22 "${find}" -DTIDEMARK_READ_AS=3.22.1)
build_and_run(add_subdirectory "-DTIDEMARK_SOURCE_DIR=${SOURCE_DIR}")
build_and_run(add_subdirectory_exclude_from_all "-DTIDEMARK_SOURCE_DIR=${SOURCE_DIR}" -DTIDEMARK_HOW=EXCLUDE_FROM_ALL)
build_and_run(exporting "-DTIDEMARK_SOURCE_DIR=${SOURCE_DIR}" -DTIDEMARK_INSTALL=ON -DTIDEMARK_EXPORTS=ON)
run("exporting: install" "${cmake}" --install "${WORK_DIR}/exporting" --prefix "${WORK_DIR}/exported")
build_and_run(exported "-DTIDEMARK_EXPORTED_BY=${WORK_DIR}/exporting")
if(OLD_CMAKE)
  set(cmake "${OLD_CMAKE}")
  build_and_run(find_package_by_old_cmake "${find}")
endif()
