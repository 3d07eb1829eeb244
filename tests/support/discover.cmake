# SPDX-License-Identifier: BSL-1.0
#
# Run after a doctest program has been linked: asks it for its test cases and writes a file for ctest with one test for
# each, named `<stem>: <name of the test case>`. Names may hold commas, brackets, semicolons, quotes and asterisks.
#
#   cmake -D PROGRAM=... -D EMULATOR=... -D STEM=... -D OUTPUT=... -D TIMEOUT=... -D LABEL=... -P discover.cmake
#
# EMULATOR: the command that runs the program, where this machine can't (empty otherwise).

execute_process(
  COMMAND ${EMULATOR} "${PROGRAM}" --list-test-cases --no-colors=true
  OUTPUT_VARIABLE listing
  ERROR_VARIABLE errors
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} can't list its test cases (${status}):\n${listing}${errors}")
endif()

# CMake's lists would break at semicolons and brackets, so the text is walked line by line.
set(rule "===============================================================================")
set(command "")
foreach(word IN LISTS EMULATOR PROGRAM)
  string(APPEND command " [==[${word}]==]")
endforeach()
set(script "")
set(seen "\n")
while(NOT listing STREQUAL "")
  string(FIND "${listing}" "\n" end)
  if(end EQUAL -1)
    string(APPEND listing "\n")
    continue()
  endif()
  string(SUBSTRING "${listing}" 0 ${end} name)
  math(EXPR next "${end} + 1")
  string(SUBSTRING "${listing}" ${next} -1 listing)
  string(FIND "${name}" "[doctest] " banner)
  if(name STREQUAL "" OR name STREQUAL rule OR banner EQUAL 0)
    continue()
  endif()

  string(FIND "${seen}" "\n${name}\n" duplicate)
  if(NOT duplicate EQUAL -1)
    message(FATAL_ERROR "${STEM} has two test cases of the name: ${name}")
  endif()
  string(APPEND seen "${name}\n")

  # In a filter, doctest takes a comma for a separator unless a backslash stands before it. An asterisk is a wildcard
  # that also matches itself.
  string(REPLACE "\\" "\\\\" filter "${name}")
  string(REPLACE "," "\\," filter "${filter}")
  set(test "[==[${STEM}: ${name}]==]")
  string(
    APPEND script "add_test(${test}${command} [==[--test-case=${filter}]==] --case-sensitive=true)\n"
    "set_tests_properties(${test} PROPERTIES TIMEOUT ${TIMEOUT} LABELS [==[${LABEL}]==]")
  # Measures time or counts wake-ups: wants the machine for itself.
  string(FIND "${name}" "[serial]" serial)
  if(NOT serial EQUAL -1)
    string(APPEND script " RUN_SERIAL TRUE")
  endif()
  string(APPEND script ")\n")
endwhile()

if(script STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} has no test case")
endif()
file(WRITE "${OUTPUT}" "${script}")
