# SPDX-License-Identifier: BSL-1.0
#
# What a plain `cmake -S . -B build` builds and fetches: nothing, and it looks for no library, so that `cmake --install`
# is all that is left. BUILD_TESTING=ON turns on tests and model checks, where their libraries are installed. What is
# asked for by name is fetched.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... -D GENERATOR=... -D MAKE_PROGRAM=... -D COMPILER=... -D FLAGS=...
#         -P check_configure.cmake
cmake_minimum_required(VERSION 3.23)

# Nothing can be fetched.
foreach(proxy IN ITEMS http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy)
  set(ENV{${proxy}} "http://127.0.0.1:9")
endforeach()
set(ENV{GIT_ALLOW_PROTOCOL} "none")
set(ENV{CC} "${WORK_DIR}/there is no C compiler")
foreach(variable IN ITEMS CMAKE_PREFIX_PATH CMAKE_INCLUDE_PATH BUILD_TESTING DESTDIR)
  unset(ENV{${variable}})
endforeach()

file(REMOVE_RECURSE "${WORK_DIR}")

# Empty headers in place of the libraries: configuring only looks whether they exist.
set(installed "${WORK_DIR}/installed")
file(WRITE "${installed}/doctest/doctest.h" "")
file(WRITE "${installed}/relacy/relacy.hpp" "")
set(nothing_installed "-DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON")
# The folders in which this machine has them.
set(hidden "")
foreach(header IN ITEMS doctest/doctest.h relacy/relacy.hpp)
  foreach(again RANGE 9)
    set(CMAKE_IGNORE_PATH "${hidden}")
    unset(found CACHE)
    find_path(found "${header}" PATHS /usr/include /usr/local/include)
    if(NOT found)
      break()
    endif()
    list(APPEND hidden "${found}")
  endforeach()
endforeach()
list(JOIN hidden "\;" hidden)
list(APPEND nothing_installed "-DCMAKE_IGNORE_PATH=${hidden}")
set(all_installed "-DTIDEMARK_DOCTEST_INCLUDE_DIR=${installed}" "-DTIDEMARK_RELACY_INCLUDE_DIR=${installed}")

# configure(FOLDER [OPTION]...): sets status and output.
function(configure folder)
  execute_process(
    COMMAND
      "${CMAKE_COMMAND}" --no-warn-unused-cli -S "${SOURCE_DIR}" -B "${WORK_DIR}/${folder}" -G "${GENERATOR}"
      "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
      -DFETCHCONTENT_QUIET=ON ${ARGN}
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
    RESULT_VARIABLE status)
  set(status "${status}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# expect_tests(FOLDER WHAT LABEL YES_OR_NO): whether ctest knows any with this label.
function(expect_tests folder what label expected)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what}: can't be configured (${status}):\n${output}")
  endif()
  execute_process(
    COMMAND "${CMAKE_CTEST_COMMAND}" --test-dir "${WORK_DIR}/${folder}" -N -L "${label}"
    OUTPUT_VARIABLE tests
    ERROR_VARIABLE tests)
  set(any NO)
  if(tests MATCHES "Total Tests: ([0-9]+)" AND CMAKE_MATCH_1 GREATER 0)
    set(any YES)
  endif()
  if(NOT any STREQUAL expected)
    message(FATAL_ERROR "${what}: there are ${CMAKE_MATCH_1} tests with the label ${label}:\n${output}")
  endif()
  message(STATUS "${what}: ${label}: ${expected}")
endfunction()

if(NOT CMAKE_CTEST_COMMAND)
  cmake_path(GET CMAKE_COMMAND PARENT_PATH bin)
  find_program(CMAKE_CTEST_COMMAND ctest HINTS "${bin}" REQUIRED)
endif()

# ---- a machine with a compiler and CMake -----------------------------------------------------------------------------

foreach(kind IN ITEMS nothing all)
  set(what "a plain configure with ${kind} installed")
  configure(plain_${kind} ${${kind}_installed})
  expect_tests(plain_${kind} "${what}" house NO)
  expect_tests(plain_${kind} "${what}" model NO)
  if(output MATCHES "doctest|[Rr]elacy|[Bb]enchmark|Threads|ccache|TIDEMARK_BUILD")
    message(FATAL_ERROR "${what}: must look for nothing:\n${output}")
  endif()
endforeach()

set(what "BUILD_TESTING with nothing installed")
configure(plain_nothing ${nothing_installed} -DBUILD_TESTING=ON -DTIDEMARK_BUILD_BENCH=AUTO)
expect_tests(plain_nothing "${what}" house NO)
expect_tests(plain_nothing "${what}" model NO)
foreach(missing IN ITEMS doctest Relacy "Google Benchmark")
  string(FIND "${output}" "turned off, not installed: ${missing}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${what}: must say that ${missing} is missing:\n${output}")
  endif()
endforeach()
execute_process(
  COMMAND "${CMAKE_COMMAND}" --install "${WORK_DIR}/plain_nothing" --prefix "${WORK_DIR}/prefix"
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
  RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT EXISTS "${WORK_DIR}/prefix/include/tidemark/tidemark.hpp")
  message(FATAL_ERROR "${what}: can't be installed (${status}):\n${output}")
endif()

# ---- folders of the installation -------------------------------------------------------------------------------------

# expect_include_path(PKGCONFIG_FOLDER INCLUDE_FOLDER EXPECTED)
function(expect_include_path what pc_file expected)
  file(STRINGS "${pc_file}" lines)
  cmake_path(GET pc_file PARENT_PATH pcfiledir)
  foreach(line IN LISTS lines)
    if(line MATCHES "^([a-z]+)=(.*)$")
      string(REPLACE "\${pcfiledir}" "${pcfiledir}" value "${CMAKE_MATCH_2}")
      string(REPLACE "\${prefix}" "${prefix}" value "${value}")
      set(${CMAKE_MATCH_1} "${value}")
    endif()
  endforeach()
  cmake_path(NORMAL_PATH includedir)
  if(NOT includedir STREQUAL expected)
    message(FATAL_ERROR "${what}: ${pc_file} names ${includedir}, not ${expected}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

set(what "folders of one's own, and DESTDIR")
configure(
  folders ${nothing_installed} -DCMAKE_INSTALL_PREFIX=/opt/some -DCMAKE_INSTALL_INCLUDEDIR=headers/tidemark-0.1
  -DCMAKE_INSTALL_DATADIR=data/of/all)
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env "DESTDIR=${WORK_DIR}/stage" "${CMAKE_COMMAND}" --install "${WORK_DIR}/folders"
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
  RESULT_VARIABLE status)
set(stage "${WORK_DIR}/stage/opt/some")
if(NOT status EQUAL 0
   OR NOT EXISTS "${stage}/headers/tidemark-0.1/tidemark/tidemark.hpp"
   OR NOT EXISTS "${stage}/data/of/all/cmake/tidemark/tidemarkConfig.cmake")
  message(FATAL_ERROR "${what}: not all is there (${status}):\n${output}")
endif()
expect_include_path("${what}" "${stage}/data/of/all/pkgconfig/tidemark.pc" "${stage}/headers/tidemark-0.1")

set(what "folders outside the prefix")
configure(
  outside ${nothing_installed} -DCMAKE_INSTALL_PREFIX=/opt/some -DCMAKE_INSTALL_INCLUDEDIR=/opt/other/include)
expect_include_path("${what}" "${WORK_DIR}/outside/tidemark.pc" /opt/other/include)

# ---- BUILD_TESTING ---------------------------------------------------------------------------------------------------

set(what "all installed, BUILD_TESTING turned on")
configure(testing ${all_installed} -DBUILD_TESTING=ON)
expect_tests(testing "${what}" house YES)
expect_tests(testing "${what}" model YES)

set(what "all installed, BUILD_TESTING turned off")
configure(testing -DBUILD_TESTING=OFF)
expect_tests(testing "${what}" house NO)
expect_tests(testing "${what}" model NO)

set(what "BUILD_TESTING is off, but the tests were asked for by name")
configure(by_name ${all_installed} -DBUILD_TESTING=OFF -DTIDEMARK_BUILD_TESTS=ON -DTIDEMARK_BUILD_MODEL=OFF)
expect_tests(by_name "${what}" house YES)
expect_tests(by_name "${what}" model NO)

# ---- what is asked for by name is fetched ----------------------------------------------------------------------------

set(what "asked for by name")
configure(
  fetched ${nothing_installed} -DTIDEMARK_BUILD_TESTS=ON -DTIDEMARK_BUILD_MODEL=ON
  "-DFETCHCONTENT_SOURCE_DIR_TIDEMARK_DOCTEST_SOURCE=${installed}"
  "-DFETCHCONTENT_SOURCE_DIR_TIDEMARK_RELACY_SOURCE=${installed}")
expect_tests(fetched "${what}" house YES)
expect_tests(fetched "${what}" model YES)
if(NOT output MATCHES "doctest is not installed: fetching" OR NOT output MATCHES "Relacy is not installed: fetching")
  message(FATAL_ERROR "${what}: must be fetched:\n${output}")
endif()
