# SPDX-License-Identifier: BSL-1.0
#
# Every mutant fits the shipped headers. A build finds that only of the mutants that it builds.
#
#   cmake -D MODEL=<folder> -D INCLUDE=<include folder> -P check_mutants.cmake
cmake_minimum_required(VERSION 3.23)
include("${INCLUDE}/tidemark/verify/runner/mutant.cmake")

file(GLOB mutants "${MODEL}/*/mutants/*.mutant")
list(LENGTH mutants count)
if(count LESS 100)
  message(FATAL_ERROR "only ${count} mutants are found in ${MODEL}")
endif()
foreach(mutant IN LISTS mutants)
  mutate("${mutant}" "${INCLUDE}/tidemark" changed source)
endforeach()
message(STATUS "${count} mutants fit the headers")
