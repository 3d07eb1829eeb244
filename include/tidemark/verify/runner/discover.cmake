# SPDX-License-Identifier: BSL-1.0
#
# Writes a test for each check that a program lists.
#
#   cmake -D PROGRAM=... -D NAME=... -D LABELS=... -D FOLDER=... -D OUTPUT=... -P discover.cmake
#
# A failing execution shows the sources, whose paths may be relative to FOLDER.
execute_process(COMMAND "${PROGRAM}" --list OUTPUT_VARIABLE checks ERROR_VARIABLE complaint RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NAME} --list: ${status}\n${complaint}")
endif()
# A name may hold what means something to CMake.
string(REPLACE ";" "\\;" checks "${checks}")
string(REPLACE "\n" ";" checks "${checks}")
set(tests "")
foreach(check IN LISTS checks)
  if(NOT check STREQUAL "")
    string(APPEND tests "add_test([==[${NAME} ${check}]==] [==[${PROGRAM}]==] [==[${check}]==])\n")
    string(APPEND tests "set_tests_properties([==[${NAME} ${check}]==] PROPERTIES LABELS [==[${LABELS}]==]"
           " WORKING_DIRECTORY [==[${FOLDER}]==])\n")
  endif()
endforeach()
file(WRITE "${OUTPUT}" "${tests}")
