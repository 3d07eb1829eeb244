# SPDX-License-Identifier: BSL-1.0
#
# Compiles all public headers where the names of foreign_macros.table are macros that can't be compiled. The standard
# headers, and those of the system, come first, as they do in a program that has such macros.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... -D COMPILER=... -D "FLAGS=..." -P check_macros.cmake
cmake_minimum_required(VERSION 3.23)

set(table "${SOURCE_DIR}/tests/house/foreign_macros.table")
separate_arguments(FLAGS NATIVE_COMMAND "${FLAGS}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# ---- what is included, and what is defined ---------------------------------------------------------------------------

file(GLOB_RECURSE headers "${SOURCE_DIR}/include/tidemark/*.hpp")
list(FILTER headers EXCLUDE REGEX "/include/tidemark/verify/runner/") # those include Relacy
set(foreign "")
set(own "")
foreach(header IN LISTS headers)
  file(STRINGS "${header}" lines REGEX "^ *# *include <")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^<]*<([^>]*)>.*$" "\\1" name "${line}")
    list(APPEND foreign "${name}")
  endforeach()
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${SOURCE_DIR}/include" OUTPUT_VARIABLE name)
  if(name STREQUAL "tidemark/verify/check.hpp") # must come first
    string(PREPEND own "#include <${name}>\n")
  else()
    string(APPEND own "#include <${name}>\n")
  endif()
endforeach()
list(REMOVE_DUPLICATES foreign)
set(before "")
foreach(name IN LISTS foreign)
  string(APPEND before "#if __has_include(<${name}>)\n#include <${name}>\n#endif\n")
endforeach()

set(defines "")
set(names "")
file(STRINGS "${table}" lines REGEX "^[^#]")
foreach(line IN LISTS lines)
  string(REGEX MATCHALL "[^ ]+" words "${line}")
  foreach(word IN LISTS words)
    string(REGEX REPLACE "\\(\\)$" "" name "${word}")
    string(REPLACE "()" "(...)" macro "${word}")
    # No program can have this character, whatever is around it.
    string(APPEND defines "#undef ${name}\n#define ${macro} @\n")
    list(APPEND names "${word}")
  endforeach()
endforeach()
list(LENGTH names count)
if(count LESS 100)
  message(FATAL_ERROR "${table}: only ${count} names were read")
endif()

# ---- compiling -------------------------------------------------------------------------------------------------------

function(compile name how text)
  set(source "${WORK_DIR}/${name}.cpp")
  file(WRITE "${source}" "${text}")
  execute_process(
    COMMAND "${COMPILER}" ${FLAGS} -std=c++20 -w ${how} "-I${SOURCE_DIR}/include" "${source}"
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
    RESULT_VARIABLE status)
  set(status "${status}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# The check can fail: each name is replaced where it is used.
set(uses "")
foreach(name IN LISTS names)
  string(APPEND uses "use ${name}.\n")
endforeach()
compile(uses -E "${defines}${uses}")
string(REGEX MATCHALL "use @" replaced "${output}")
list(LENGTH replaced replaced)
if(NOT replaced EQUAL count)
  message(FATAL_ERROR "${replaced} of ${count} names are macros:\n${output}")
endif()

compile(headers -fsyntax-only "${before}${defines}${own}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "a header uses a name that is a macro elsewhere, see ${table}:\n${output}")
endif()
message(STATUS "no header uses one of ${count} names")
