# SPDX-License-Identifier: BSL-1.0
#
# What the tests that ThreadSanitizer's build leaves out really call: they start neither threads nor processes. That
# build has chosen them by their text (tests/support/starts_threads.cmake).
#
#   cmake -D OBJECTS=<file> -D NM=<program> -P check_single_threaded.cmake
#
# OBJECTS has the path of an object file in each line.
cmake_minimum_required(VERSION 3.23)

file(STRINGS "${OBJECTS}" objects)
list(LENGTH objects count)
if(count LESS 20)
  message(FATAL_ERROR "only ${count} object files are listed")
endif()
foreach(object IN LISTS objects)
  execute_process(COMMAND "${NM}" --undefined-only "${object}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  if(symbols MATCHES " U ([^\n]*(_M_start_thread|pthread_create|thrd_create|v?fork))(@[^\n]*)?\n")
    message(SEND_ERROR "${object} calls ${CMAKE_MATCH_1}")
  endif()
endforeach()
message(STATUS "${count} object files start no thread")
