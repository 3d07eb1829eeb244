# SPDX-License-Identifier: BSL-1.0
#
# Every file below include/ opens with the SPDX line, as a comment of its language, and has at most 1,200 lines; a
# header has at most 60 before its include guard. And no header names errno, but for platform/detail/native_parts.hpp,
# which says why, and for verify/, whose programs have no coroutines of users.
#
#   cmake -D SOURCE_DIR=... -P check_headers.cmake

set(max_lines 1200)
set(max_head_lines 60)

file(GLOB_RECURSE files "${SOURCE_DIR}/include/*")
list(LENGTH files count)
if(count EQUAL 0)
  message(FATAL_ERROR "there is no file below ${SOURCE_DIR}/include")
endif()
set(complaints "")
foreach(file IN LISTS files)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE name)
  file(READ "${file}" text)
  set(spdx "// SPDX-License-Identifier: BSL-1.0\n")
  if(file MATCHES "[.](cmake|py)$")
    string(REPLACE "//" "#" spdx "${spdx}")
  endif()
  string(FIND "${text}" "${spdx}" position)
  if(NOT position EQUAL 0)
    string(APPEND complaints "${name}:1: the first line must be: ${spdx}")
  endif()
  string(REGEX REPLACE "[^\n]" "" newlines "${text}")
  string(LENGTH "${newlines}" lines)
  if(lines GREATER max_lines)
    string(APPEND complaints "${name}:${lines}: more than ${max_lines} lines\n")
  endif()
  string(FIND "${text}" "\n#ifndef" guard)
  if(file MATCHES "[.]hpp$" AND guard GREATER 0)
    string(SUBSTRING "${text}" 0 ${guard} head)
    string(REGEX REPLACE "[^\n]" "" head "${head}\n")
    string(LENGTH "${head}" head_lines)
    if(head_lines GREATER max_head_lines)
      string(APPEND complaints "${name}:${head_lines}: more than ${max_head_lines} lines before the include guard\n")
    endif()
  endif()
  string(REGEX REPLACE "//[^\n]*" "" code "${text}")
  if(file MATCHES "[.]hpp$"
     AND NOT name MATCHES "/verify/|platform/detail/native_parts[.]hpp$"
     AND code MATCHES "[^a-zA-Z0-9_<]errno[^a-zA-Z0-9_]")
    string(APPEND complaints "${name}: names errno, and must call detail::thread_errno()\n")
  endif()
endforeach()
if(NOT complaints STREQUAL "")
  message(FATAL_ERROR "${complaints}")
endif()
message(STATUS "${count} files open with the SPDX line, none is longer than ${max_lines} lines, no head than "
               "${max_head_lines}")
