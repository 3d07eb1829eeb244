# SPDX-License-Identifier: BSL-1.0
#
# Uses an installed copy as a project does that is built with Meson: tests/packaging/consumer/meson.build finds it by
# pkg-config and by CMake's package, and runs a program of each. The copy is moved after it was installed.
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
