# SPDX-License-Identifier: BSL-1.0
#
# What examples/event_loop promises: every reply is right, however many clients there are, and a file that can't be read
# is a message.
#
#   cmake -DEVENT_LOOP=<the program> [-DEMULATOR=<what runs it>] -DSOURCE_DIR=<the repository>
#         -DWORK=<a folder of its own, emptied first> -P event_loop.cmake
cmake_minimum_required(VERSION 3.23)

include("${CMAKE_CURRENT_LIST_DIR}/example_test.cmake")
begin_tests(EVENT_LOOP SOURCE_DIR)
set(unfinished "")

begin(replies)
file(WRITE "${folder}/empty" "")
foreach(clients IN ITEMS 1 20)
  run(${EMULATOR} "${EVENT_LOOP}" "${SOURCE_DIR}/README.md" "${SOURCE_DIR}/LICENSE" empty --clients ${clients}
      --requests 25)
  expect_status(0)
  math(EXPR requests "${clients} * 25")
  expect_in(out "replies +${requests}, 0 wrong")
endforeach()

begin(failures)
run(${EMULATOR} "${EVENT_LOOP}" missing)
expect_status(1)
expect_in(err "cannot open 'missing'")

begin(command_line)
run(${EMULATOR} "${EVENT_LOOP}" --help)
expect_status(0)
expect_in(out "usage: event_loop" "--clients" "--requests")
expect_refused("${EVENT_LOOP}" event_loop "--nonsense" "--clients 0" "--requests x" "--clients")

end_tests()
