# SPDX-License-Identifier: BSL-1.0
#
# Compares the schedules that the soak prints.
#
#   cmake -D SOAK=... -D EMULATOR=... -P check_seeds.cmake
cmake_minimum_required(VERSION 3.23)

function(schedules result)
  execute_process(
    COMMAND ${EMULATOR} "${SOAK}" ${ARGN}
    OUTPUT_VARIABLE output
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "soak ${ARGN}: ${status}\n${output}")
  endif()
  string(REGEX MATCHALL "round [0-9]+, schedule [^\n]*" lines "${output}")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

function(must_be_equal what left right)
  if(left STREQUAL "" OR NOT left STREQUAL right)
    message(FATAL_ERROR "${what}:\n${left}\n${right}")
  endif()
endfunction()

schedules(planned 1 --seed 7 --rounds 2000 --hash-only)
list(LENGTH planned count)
if(NOT count EQUAL 2000)
  message(FATAL_ERROR "${count} schedules and not 2000")
endif()

schedules(run 1 --seed 7 --rounds 50 --hashes)
list(SUBLIST planned 0 50 first)
must_be_equal("a run has other schedules" "${first}" "${run}")

schedules(later 1 --seed 7 --from-round 40 --rounds 10 --hash-only)
list(SUBLIST planned 40 10 middle)
must_be_equal("another first round has other schedules" "${middle}" "${later}")

# Killed in the middle: what it had run until then is what the same seed gives again. On a slow machine it needs more
# time until its first round is over.
foreach(seconds IN ITEMS 1 10 100)
  execute_process(
    COMMAND ${EMULATOR} "${SOAK}" 10 --seed 7 --hashes
    OUTPUT_VARIABLE output
    TIMEOUT ${seconds}
    RESULT_VARIABLE status)
  if(status EQUAL 0)
    message(FATAL_ERROR "a soak of ten minutes has ended by itself")
  endif()
  string(REGEX MATCHALL "round [0-9]+, schedule [^\n]*\n" lines "${output}")
  if(lines)
    break()
  endif()
endforeach()
string(REPLACE "\n" "" killed "${lines}")
list(LENGTH killed count)
if(count GREATER 2000)
  set(count 2000)
endif()
if(count EQUAL 0)
  message(FATAL_ERROR "killed before its first round: ${output}")
endif()
list(SUBLIST killed 0 ${count} killed)
list(SUBLIST planned 0 ${count} first)
must_be_equal("a killed run had other schedules" "${first}" "${killed}")
message(STATUS "killed in round ${count}, and repeated")

schedules(other 1 --seed 8 --rounds 50 --hash-only)
foreach(line IN LISTS other)
  if(line IN_LIST planned)
    message(FATAL_ERROR "two seeds share a schedule: ${line}")
  endif()
endforeach()
