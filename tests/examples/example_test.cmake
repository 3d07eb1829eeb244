# SPDX-License-Identifier: BSL-1.0
#
# The vocabulary of the tests that run an example: cases, each with a folder of its own, and what is expected of a run.
#
#   include("${CMAKE_CURRENT_LIST_DIR}/example_test.cmake")
#   begin_tests(PROGRAM FOLDER)       the variables that must be given
#   set(unfinished "FOLDER/x*" ...)   patterns of what no run may leave behind; FOLDER is the case's
#   begin(name) run(command...) expect_status(0) expect_in(out "...") ... expect_refused(PROGRAM name "--wrong x" ...)
#   end_tests()

macro(begin_tests)
  foreach(variable IN ITEMS ${ARGN} WORK)
    if("${${variable}}" STREQUAL "")
      message(FATAL_ERROR "${variable} is not set")
    endif()
  endforeach()
  file(REMOVE_RECURSE "${WORK}")
  file(MAKE_DIRECTORY "${WORK}")
  set(failures 0)
endmacro()

macro(end_tests)
  if(failures GREATER 0)
    message(FATAL_ERROR "${failures} check(s) failed")
  endif()
  message(STATUS "everything as promised")
endmacro()

macro(fail text)
  math(EXPR failures "${failures} + 1")
  message(SEND_ERROR "${case}: ${text}\n  status ${status}\n  stdout: ${out}\n  stderr: ${err}")
endmacro()

macro(begin name)
  set(case "${name}")
  set(folder "${WORK}/${name}")
  file(MAKE_DIRECTORY "${folder}")
  message(STATUS "${name}")
endmacro()

# Runs a command in the folder; sets status, out and err. Nothing that matches `unfinished` may remain.
macro(run)
  execute_process(
    COMMAND ${ARGN}
    WORKING_DIRECTORY "${folder}"
    TIMEOUT 600
    RESULT_VARIABLE status
    OUTPUT_VARIABLE out
    ERROR_VARIABLE err)
  list(TRANSFORM unfinished REPLACE "^FOLDER" "${folder}" OUTPUT_VARIABLE patterns)
  file(GLOB remains ${patterns})
  if(remains)
    fail("left behind: ${remains}")
    file(REMOVE_RECURSE ${remains})
  endif()
endmacro()

macro(expect_status expected)
  if(NOT "${status}" STREQUAL "${expected}")
    fail("the exit status should be ${expected}")
  endif()
endmacro()

# The stream, out or err, is searched with regular expressions.
macro(expect_in stream)
  foreach(expected IN ITEMS ${ARGN})
    if(NOT ${stream} MATCHES "${expected}")
      fail("'${expected}' should be said")
    endif()
  endforeach()
endmacro()

macro(expect_absent path)
  if(EXISTS "${path}" OR IS_SYMLINK "${path}")
    fail("'${path}' should not exist")
  endif()
endmacro()

# Each is a command line that the program refuses, by its name and with the hint to its help.
macro(expect_refused program name)
  foreach(wrong IN ITEMS ${ARGN})
    separate_arguments(arguments UNIX_COMMAND "${wrong}")
    run(${EMULATOR} "${program}" ${arguments})
    expect_status(2)
    expect_in(err "^${name}: " "--help")
  endforeach()
endmacro()

# Files, or whole folders.
macro(expect_same one other)
  execute_process(
    COMMAND diff -r --no-dereference "${one}" "${other}"
    RESULT_VARIABLE differ
    OUTPUT_VARIABLE difference)
  if(differ)
    fail("'${other}' should be the same as '${one}': ${difference}")
  endif()
endmacro()
