# SPDX-License-Identifier: BSL-1.0
#
# Uses the library as a project does that is built with Meson. tests/packaging/consumer/meson.build finds an installed
# copy by pkg-config and by CMake's package, and runs a program of each. The copy is moved after it was installed.
# tests/packaging/meson_parent/meson.build has the source tree as a subproject. At last Meson installs it.
#
#   cmake -D SOURCE_DIR=... -D BINARY_DIR=... -D WORK_DIR=... -D MESON=... -D COMPILER=... -D FLAGS=...
#         -D VERSION=... -P check_meson.cmake
#
# "not tested:" in its output tells ctest that the test was skipped.
cmake_minimum_required(VERSION 3.23)

find_program(PKG_CONFIG NAMES pkg-config pkgconf)
find_program(NINJA NAMES ninja ninja-build)
foreach(tool IN ITEMS MESON PKG_CONFIG NINJA)
  if(NOT ${tool})
    message("not tested: ${tool} is not installed (Debian: meson, pkg-config, ninja-build)")
    return()
  endif()
endforeach()

function(run what)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run("install" "${CMAKE_COMMAND}" --install "${BINARY_DIR}" --prefix "${WORK_DIR}/at first")
set(prefix "${WORK_DIR}/moved here")
file(RENAME "${WORK_DIR}/at first" "${prefix}")
file(GLOB_RECURSE pc_file "${prefix}/tidemark.pc")
cmake_path(GET pc_file PARENT_PATH pc_dir)

set(ENV{CXX} "${COMPILER}")
set(ENV{CXXFLAGS} "${FLAGS}")
set(ENV{NINJA} "${NINJA}")
set(ENV{PKG_CONFIG} "${PKG_CONFIG}")
set(ENV{PKG_CONFIG_LIBDIR} "${pc_dir}") # nothing else
set(ENV{PKG_CONFIG_PATH} "")
cmake_path(GET CMAKE_COMMAND PARENT_PATH cmake_dir)
set(ENV{PATH} "${cmake_dir}:$ENV{PATH}")

run("pkg-config" "${PKG_CONFIG}" --exact-version=${VERSION} tidemark)
execute_process(COMMAND "${PKG_CONFIG}" --libs tidemark OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT libraries STREQUAL "")
  message(FATAL_ERROR "there is no library to link, but pkg-config names one: ${libraries}")
endif()
run("setup" "${MESON}" setup "-Dcmake_prefix_path=${prefix}" "${WORK_DIR}/build"
    "${SOURCE_DIR}/tests/packaging/consumer")
run("build" "${MESON}" compile -C "${WORK_DIR}/build")
run("run" "${MESON}" test -C "${WORK_DIR}/build")

# ---- as a subproject -------------------------------------------------------------------------------------------------

set(parent "${WORK_DIR}/parent")
file(MAKE_DIRECTORY "${parent}/subprojects")
file(COPY "${SOURCE_DIR}/tests/packaging/meson_parent/meson.build" "${SOURCE_DIR}/tests/packaging/consumer/main.cpp"
     DESTINATION "${parent}")
foreach(name IN ITEMS tidemark tidemark_by_cmake)
  file(CREATE_LINK "${SOURCE_DIR}" "${parent}/subprojects/${name}" SYMBOLIC)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} "${WORK_DIR}/nothing is installed")
run("setup as a subproject" "${MESON}" setup "${WORK_DIR}/build_parent" "${parent}")
run("build as a subproject" "${MESON}" compile -C "${WORK_DIR}/build_parent")
run("run as a subproject" "${MESON}" test -C "${WORK_DIR}/build_parent")

# ---- installed by Meson ----------------------------------------------------------------------------------------------

run("setup alone" "${MESON}" setup "--prefix=${WORK_DIR}/by_meson" "${WORK_DIR}/build_alone" "${SOURCE_DIR}")
run("install by Meson" "${MESON}" install -C "${WORK_DIR}/build_alone")
file(GLOB_RECURSE pc_file "${WORK_DIR}/by_meson/*/tidemark.pc")
cmake_path(GET pc_file PARENT_PATH pc_dir)
set(ENV{PKG_CONFIG_LIBDIR} "${pc_dir}")
run("the version is that of CMake" "${PKG_CONFIG}" --exact-version=${VERSION} tidemark)
execute_process(COMMAND "${PKG_CONFIG}" --variable=includedir tidemark OUTPUT_VARIABLE include_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT EXISTS "${include_dir}/tidemark/tidemark.hpp")
  message(FATAL_ERROR "Meson has installed no headers where its file for pkg-config says: ${include_dir}")
endif()
