# SPDX-License-Identifier: BSL-1.0
#
# Runs a program of JavaScript with node, or says "not tested: " where node or Chromium is missing.
#
#   cmake -D PROGRAM=... -D ARGUMENTS=... -P run_node.cmake
#
# ARGUMENTS: a list, in which BROWSER stands for Chromium.

cmake_minimum_required(VERSION 3.23)
set(oldest_node 18)

find_program(NODE NAMES node nodejs)
if(NOT NODE)
  message("not tested: there is no node (Debian: nodejs)")
  return()
endif()
execute_process(
  COMMAND "${NODE}" --version
  OUTPUT_VARIABLE version
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "^v" "" version "${version}")
if(version VERSION_LESS oldest_node)
  message("not tested: node is ${version}, but ${oldest_node} or newer is needed")
  return()
endif()

if("BROWSER" IN_LIST ARGUMENTS)
  find_program(BROWSER NAMES chromium chromium-browser google-chrome-stable google-chrome)
  if(NOT BROWSER)
    message("not tested: there is no Chromium (Debian: chromium)")
    return()
  endif()
  list(TRANSFORM ARGUMENTS REPLACE "^BROWSER$" "${BROWSER}")
endif()

execute_process(COMMAND "${NODE}" --check "${PROGRAM}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${NODE}" "${PROGRAM}" ${ARGUMENTS} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with status ${status}")
endif()
