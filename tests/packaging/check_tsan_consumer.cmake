# SPDX-License-Identifier: BSL-1.0
#
# Uses the library as a stranger would who checks a program with ThreadSanitizer: builds tests/packaging/tsan_consumer
# with -fsanitize=thread, and with nothing else that could help. Every hand-over of data must be silent. Built against a
# copy of the headers whose signals no longer hand anything over, every one must be reported as a data race.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... -D COMPILER=... -D FLAGS=... -D EMULATOR=... -P check_tsan_consumer.cmake
#
# "not tested:" in its output tells ctest that the test was skipped.
cmake_minimum_required(VERSION 3.23)

set(consumer "${SOURCE_DIR}/tests/packaging/tsan_consumer")
set(ENV{TSAN_OPTIONS} "")
separate_arguments(FLAGS NATIVE_COMMAND "${FLAGS}")

function(build program include)
  execute_process(
    COMMAND "${COMPILER}" ${FLAGS} -std=c++20 -O1 -g -fsanitize=thread -pthread "-I${include}" ${ARGN} -o "${program}"
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
    RESULT_VARIABLE status)
  set(status "${status}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Sets status, output and errors.
macro(run)
  execute_process(
    COMMAND ${fixed_layout} ${ARGN}
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE status)
endmacro()

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# ---- whether there is a ThreadSanitizer that works here --------------------------------------------------------------

if(EMULATOR)
  message("not tested: ThreadSanitizer's address space does not fit into an emulated program")
  return()
endif()

file(WRITE "${WORK_DIR}/nothing.cpp" "int main() {}\n")
build("${WORK_DIR}/nothing" "${WORK_DIR}" "${WORK_DIR}/nothing.cpp")
if(NOT status EQUAL 0)
  message("not tested: ${COMPILER} can't link with -fsanitize=thread:\n${output}")
  return()
endif()

# ThreadSanitizers that are older than the kernel can't work with its widely scattered address space ("unexpected memory
# mapping"), so the programs get one that is not scattered, where that is permitted.
cmake_host_system_information(RESULT machine QUERY OS_PLATFORM)
set(fixed_layout setarch "${machine}" -R)
run(true)
if(NOT status EQUAL 0)
  set(fixed_layout "")
endif()

# ---- the consumer ----------------------------------------------------------------------------------------------------

# expect(HEADERS VERDICT [FLAG]...): builds against these headers and runs every hand-over; each is silent, or is a
# race.
function(expect headers verdict)
  set(program "${WORK_DIR}/${verdict}")
  build("${program}" "${headers}" "${consumer}/main.cpp" ${ARGN})
  # Compilers warn of what ThreadSanitizer does not model.
  if(NOT status EQUAL 0 OR NOT output STREQUAL "")
    message(FATAL_ERROR "${verdict}: must be built without a word, ended with ${status}:\n${output}")
  endif()
  run("${program}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${verdict}: the hand-overs can't be listed (${status}):\n${errors}")
  endif()
  string(REGEX MATCHALL "[^\n]+" names "${output}")
  list(LENGTH names count)
  if(count EQUAL 0)
    message(FATAL_ERROR "${verdict}: there is no hand-over")
  endif()
  foreach(name IN LISTS names)
    run("${program}" "${name}")
    if(verdict STREQUAL "silent")
      if(NOT status EQUAL 0 OR NOT "${output}${errors}" STREQUAL "")
        message(FATAL_ERROR "${name}: must be silent, ended with ${status}:\n${output}${errors}")
      endif()
    elseif(status EQUAL 0 OR NOT errors MATCHES "WARNING: ThreadSanitizer: data race")
      message(FATAL_ERROR "${name}: the race was not reported, it ended with ${status}:\n${output}${errors}")
    endif()
  endforeach()
  message(STATUS "${verdict}: ${count} hand-overs")
endfunction()

expect("${SOURCE_DIR}/include" silent)

set(headers "${SOURCE_DIR}/include")
file(GLOB mutants "${consumer}/*.mutant")
foreach(mutant IN LISTS mutants)
  cmake_path(GET mutant STEM name)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -D "MUTANT=${mutant}" -D "INCLUDE=${headers}/tidemark" -D
            "OUTPUT=${WORK_DIR}/${name}/tidemark" -P
            "${SOURCE_DIR}/include/tidemark/verify/runner/apply_mutant.cmake"
    ERROR_VARIABLE errors
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the headers can't be changed:\n${errors}")
  endif()
  set(headers "${WORK_DIR}/${name}")
endforeach()
# Condition variables would hand over what the fence no longer does: their mutex is an order of its own.
expect("${headers}" racy -UTIDEMARK_FORCE_PORTABLE_PARKING)
