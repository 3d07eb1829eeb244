# SPDX-License-Identifier: BSL-1.0
#
# Compiles each file of slips/ with each compiler that is here. It must not compile. The compiler must print fewer than
# 20 lines, not counting the source lines that it shows. The first error must name the concept, or say the word, that
# the second line of the file names: in the line of the error, or in the notes that belong to it.
#
#   cmake -D SOURCE_DIR=... -D COMPILER=... -P check_slips.cmake

set(most_lines 20)

set(compilers "${COMPILER}")
foreach(name g++ clang++-14 clang++-19)
  find_program(found_${name} ${name})
  if(found_${name})
    list(APPEND compilers "${found_${name}}")
  endif()
endforeach()
list(REMOVE_DUPLICATES compilers)

file(GLOB slips "${SOURCE_DIR}/tests/house/slips/*.cpp")
list(LENGTH slips count)
if(count EQUAL 0)
  message(FATAL_ERROR "there is no slip below ${SOURCE_DIR}/tests/house/slips")
endif()

set(complaints "")
foreach(slip IN LISTS slips)
  cmake_path(GET slip STEM name)
  file(STRINGS "${slip}" head LIMIT_COUNT 2)
  list(GET head 1 head)
  if(NOT head MATCHES "^// concept: ([a-z_]+)$")
    message(FATAL_ERROR "${slip}: the second line must be '// concept: NAME'")
  endif()
  set(concept "${CMAKE_MATCH_1}")
  foreach(compiler IN LISTS compilers)
    set(plain -fno-diagnostics-show-caret)
    if(compiler MATCHES clang)
      set(plain -fno-caret-diagnostics)
    endif()
    execute_process(
      COMMAND "${compiler}" -std=c++20 -fsyntax-only ${plain} "-I${SOURCE_DIR}/include" "${slip}"
      OUTPUT_VARIABLE output
      ERROR_VARIABLE output
      RESULT_VARIABLE status)
    if(status EQUAL 0)
      string(APPEND complaints "${name}: ${compiler} accepts it\n")
      continue()
    endif()
    string(REGEX REPLACE "[^\n]" "" newlines "${output}")
    string(LENGTH "${newlines}" lines)
    if(lines GREATER_EQUAL most_lines)
      string(APPEND complaints "${name}: ${compiler} prints ${lines} lines\n${output}\n")
    endif()
    # The first error, with its notes: up to the second error.
    string(FIND "${output}" "error: " first)
    string(SUBSTRING "${output}" ${first} -1 message)
    string(SUBSTRING "${message}" 7 -1 rest)
    string(FIND "${rest}" "error: " second)
    if(NOT second EQUAL -1)
      string(SUBSTRING "${message}" 0 ${second} message)
    endif()
    if(NOT message MATCHES "[^a-z_]${concept}[^a-z_]")
      string(APPEND complaints "${name}: the first error of ${compiler} does not name ${concept}\n${output}\n")
    endif()
  endforeach()
endforeach()
if(NOT complaints STREQUAL "")
  message(FATAL_ERROR "${complaints}")
endif()
message(STATUS "${count} slips, with ${compilers}: fewer than ${most_lines} lines each, and the concept first")
