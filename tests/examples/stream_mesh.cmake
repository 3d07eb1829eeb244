# SPDX-License-Identifier: BSL-1.0
#
# What examples/stream_mesh promises: no stall with as many backings as needed, was-still-drawing with a small budget,
# and every frame drawn as it was written.
#
#   cmake -DSTREAM_MESH=<the program> [-DEMULATOR=<what runs it>] -DWORK=<a folder of its own, emptied first>
#         -P examples_stream_mesh.cmake
cmake_minimum_required(VERSION 3.23)

include("${CMAKE_CURRENT_LIST_DIR}/example_test.cmake")
begin_tests(STREAM_MESH)
set(unfinished "")

macro(expect_drawn frames)
  run(${EMULATOR} "${STREAM_MESH}" --frames ${frames} --vertices 2000 ${ARGN})
  expect_status(0)
  expect_in(out "frames +${frames} of 2000" "drawn +what was written, every frame")
endmacro()

begin(enough_backings)
foreach(behind IN ITEMS 1 2 5)
  expect_drawn(250 --behind ${behind})
  expect_in(out "stalls +0 " "renamed 249 times" "backings at most, [1-9][0-9]* given up" "reclaimed +[1-9]")
endforeach()

begin(budget)
expect_drawn(150 --budget 110K)
expect_in(out "stalls +[1-9]" " 2 backings at most")
expect_drawn(50 --budget=60K)
expect_in(out "stalls +49 " "renamed 0 times, 1 backings at most")

begin(too_small)
run(${EMULATOR} "${STREAM_MESH}" --budget 100)
expect_status(1)
expect_in(err "the budget has no room")

begin(command_line)
run(${EMULATOR} "${STREAM_MESH}" --help)
expect_status(0)
expect_in(out "usage: stream_mesh" "--frames" "--vertices" "--behind" "--budget")
expect_refused("${STREAM_MESH}" stream_mesh "--nonsense 1" "--frames 0" "--behind 17" "--vertices x" "file")
run(${EMULATOR} "${STREAM_MESH}" --frames)
expect_status(2)
expect_in(err "--frames: the value is missing")

end_tests()
