# SPDX-License-Identifier: BSL-1.0
#
# What examples/shared_timeline promises: whatever process is killed, the others go on, say so, and take nothing that
# was not published; a monitor shows who lives and who has died; and one page has the waits of all of them.
#
#   cmake -DSHARED_TIMELINE=<the program> [-DEMULATOR=<what runs it>] -DWORK=<a folder of its own, emptied first>
#         -P shared_timeline.cmake
cmake_minimum_required(VERSION 3.23)

include("${CMAKE_CURRENT_LIST_DIR}/example_test.cmake")
begin_tests(SHARED_TIMELINE)
set(unfinished "")

# Each of them is killed once, and a producer dies within an item and before its signal.
begin(kills)
run(${EMULATOR} "${SHARED_TIMELINE}" --rounds 7)
expect_status(0)
expect_in(out "consumer [123]: ends behind entry [1-9][0-9]*: [1-9][0-9]* items, 0 wrong" "everything as promised")
if(NOT out MATCHES "nothing is killed")
  expect_in(out "producer: consumer [123] has died behind entry [1-9]"
            "consumer [123]: the producer has died behind entry [1-9]" "consumer [123]: there is a producer again"
            "producer: goes on behind entry [1-9]")
endif()

begin(kills_at_full_speed)
run(${EMULATOR} "${SHARED_TIMELINE}" --rounds 14 --rate 0)
expect_status(0)
expect_in(out "everything as promised")

begin(one_page)
file(MAKE_DIRECTORY "${folder}/traces")
run(${EMULATOR} "${SHARED_TIMELINE}" --rounds 2 --trace traces --page page.html)
expect_status(0)
expect_in(out "monitor: nobody is attached any more"
          "monitor: page.html has the waits and signals of [4-9] processes, and [1-9][0-9]* arrows")
file(GLOB traces "${folder}/traces/*.tidemark")
list(LENGTH traces count)
if(count LESS 4)
  fail("each process should have a trace")
endif()
file(READ "${folder}/page.html" page)
foreach(text IN ITEMS "producer (" "consumer 1 (" "consumer 2 (" "consumer 3 (" "consumed 3")
  string(FIND "${page}" "${text}" found)
  if(found EQUAL -1)
    fail("'${text}' should be on the page")
  endif()
endforeach()

# A producer that nobody reads, and a monitor that finds nobody any more, each by its own command line.
begin(a_producer_alone)
string(RANDOM LENGTH 12 suffix)
set(name "shared_timeline-alone-${suffix}")
run(${EMULATOR} "${SHARED_TIMELINE}" producer ${name} --items 300 --rate 0)
expect_status(0)
expect_in(out "producer: begins, as process [1-9]" "producer: ends behind entry 301")
file(GLOB left "/dev/shm/${name}.*")
if(left)
  fail("nothing should be left: ${left}")
endif()
run(${EMULATOR} "${SHARED_TIMELINE}" monitor ${name} --once)
expect_status(1)
expect_in(err "nobody is attached to '${name}'")

begin(command_line)
run(${EMULATOR} "${SHARED_TIMELINE}" --help)
expect_status(0)
expect_in(out "usage: shared_timeline" "--rounds" "--page")
expect_refused("${SHARED_TIMELINE}" shared_timeline "--nonsense 1" "--rate x" "actor a" "producer" "consumer a"
               "consumer a 4" "producer a b" "producer a/b" "monitor a --page p" "producer a --die twice")

end_tests()
