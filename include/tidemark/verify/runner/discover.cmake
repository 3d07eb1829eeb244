# SPDX-License-Identifier: BSL-1.0
#
# Writes the tests that a program lists.
#
#   cmake -D PROGRAM=... -D NAME=... -D LABELS=... -D FOLDER=... -D OUTPUT=... -P discover.cmake [TABLE-OPTION...]
#
# A failing execution shows the sources, whose paths may be relative to FOLDER.
set(tables "")
set(is_of_program false)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(number RANGE ${last})
  if(is_of_program)
    list(APPEND tables "${CMAKE_ARGV${number}}")
  elseif(CMAKE_ARGV${number} MATCHES "discover\\.cmake$")
    set(is_of_program true)
  endif()
endforeach()
execute_process(COMMAND "${PROGRAM}" --list-tests ${tables} WORKING_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE listed
                ERROR_VARIABLE complaint RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  string(STRIP "${complaint}" complaint)
  message(FATAL_ERROR "${NAME} can't list its tests (${status}):\n ${complaint}") # with a blank it is kept on one line
endif()
# A line is a name and words, with a tab before each word. It may hold what would mean something in a list.
set(tests "")
while(NOT listed STREQUAL "")
  string(FIND "${listed}" "\n" end)
  string(SUBSTRING "${listed}" 0 ${end} line)
  math(EXPR end "${end} + 1")
  string(SUBSTRING "${listed}" ${end} -1 listed)
  string(FIND "${line}" "\t" end)
  string(SUBSTRING "${line}" 0 ${end} test)
  math(EXPR end "${end} + 1")
  string(SUBSTRING "${line}" ${end} -1 words)
  string(REPLACE "\t" "]==] [==[" words "${words}")
  string(APPEND tests "add_test([==[${NAME} ${test}]==] [==[${PROGRAM}]==] [==[${words}]==])\n")
  string(APPEND tests "set_tests_properties([==[${NAME} ${test}]==] PROPERTIES LABELS [==[${LABELS}]==]"
         " WORKING_DIRECTORY [==[${FOLDER}]==])\n")
endwhile()
file(WRITE "${OUTPUT}" "${tests}")
