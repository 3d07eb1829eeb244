# SPDX-License-Identifier: BSL-1.0
#
# What examples/command_processor promises: the archive that a single thread makes, whatever engine is lost and however
# little memory there is; the names of queues that wait for each other; or a clear message and nothing left behind.
#
#   cmake -DCOMMAND_PROCESSOR=<the program> [-DEMULATOR=<what runs it>] -DSOURCE_DIR=<the repository>
#         -DWORK=<a folder of its own, emptied first> -P command_processor.cmake
cmake_minimum_required(VERSION 3.23)

include("${CMAKE_CURRENT_LIST_DIR}/example_test.cmake")
begin_tests(COMMAND_PROCESSOR SOURCE_DIR)
set(unfinished "FOLDER/.tidemark-unfinished.*")
set(headers "${SOURCE_DIR}/include")
set(right "the same bytes as a straight run on one thread. unpacked again, the same files")

# Packs a folder with the options that follow.
macro(pack from)
  run(${EMULATOR} "${COMMAND_PROCESSOR}" "${from}" ${ARGN})
endmacro()
macro(expect_packed)
  expect_status(0)
  expect_in(out "folder " "archive " "${right}" ${ARGN})
endmacro()
# A run that must fail: a message with the texts, nothing on the standard output, and no archive.
macro(expect_failure expected)
  expect_status(${expected})
  expect_in(err "^command_processor: " ${ARGN})
  if(NOT "${out}" STREQUAL "")
    fail("nothing should be reported after a failure")
  endif()
  expect_absent("${folder}/new")
endmacro()

begin(an_engine_is_lost)
pack("${headers}" --out kept)
expect_packed("output buffers")
foreach(loss IN ITEMS copy:1 copy:9 compute:1 compute:9 present:1 present:9)
  pack("${headers}" --out new --lose ${loss})
  expect_packed("in its submission [19]" "recovered [0-9]+ command buffers were recorded again")
  expect_same("${folder}/kept" "${folder}/new")
  file(REMOVE "${folder}/new")
endforeach()
pack("${headers}" --block 1K --blocks 2 --out fine)
pack("${headers}" --block=1K --blocks=2 --out=new --lose=compute:500)
expect_packed("lost +the compute engine, in its submission 500")
expect_same("${folder}/fine" "${folder}/new")
file(REMOVE "${folder}/new")
pack("${headers}" --out new --lose compute:1000000)
expect_failure(1 "the compute engine was not lost: it had only [0-9]+ submissions")

# In each of these an engine is lost while the loss of another one is recovered from.
begin(several_are_lost)
pack("${headers}" --out kept)
foreach(second IN ITEMS copy present compute)
  foreach(number RANGE 9 13)
    pack("${headers}" --out new --lose compute:9 --lose ${second}:${number} --lose present:15)
    expect_packed("the compute engine, in its submission 9" "${second} engine" "recovered [1-9]")
    expect_same("${folder}/kept" "${folder}/new")
    file(REMOVE "${folder}/new")
  endforeach()
endforeach()

begin(little_memory)
pack("${headers}" --block 2K --blocks 1 --files 1 --upload 4K --backings 1)
expect_packed("4096 bytes for uploads, 1 output buffers")
pack("${headers}" --block 2K --blocks 3 --files 2 --upload 12K --backings 2 --lose compute:100)
expect_packed("12288 bytes for uploads, 2 output buffers" "recorded again")

if("${EMULATOR}" STREQUAL "")
  run(sh -c "ulimit -n 96 && exec \"$0\" \"$@\"" "${COMMAND_PROCESSOR}" "${headers}")
  expect_packed()
endif()

begin(all_sorts_of_files)
string(REPEAT "sixteen letters\n" 4096 text)
file(WRITE "${folder}/files/two blocks" "${text}")
file(WRITE "${folder}/files/deep/er/one and a half" "${text}and so on")
file(WRITE "${folder}/files/empty" "")
foreach(number RANGE 20)
  file(WRITE "${folder}/files/many/empty ${number}" "")
endforeach()
file(CREATE_LINK "nowhere" "${folder}/files/link" SYMBOLIC)
pack(files)
expect_packed("24 files, 131081 bytes")
pack(files --block 1M --upload 16M --lose present:2)
expect_packed("24 files" "recorded again")

begin(the_compilers_headers)
run(${EMULATOR} "${COMMAND_PROCESSOR}")
expect_packed()

begin(queues_that_wait_for_each_other)
pack("${headers}" --deadlock --out new)
expect_failure(
  3
  "queues wait for each other:"
  "'pack 1' waits for 1 of 'planted by pack 2', which is at 0; 'pack 2' has the signal"
  "'pack 2' waits for 1 of 'planted by pack 1', which is at 0; 'pack 1' has the signal")

begin(traces)
pack("${headers}" --trace page.html --trace events.json --lose compute:9)
expect_packed("page.html: 11 queues, [0-9]+ commands, no log entry lost" "events.json: ")
file(READ "${folder}/page.html" page)
expect_in(page "pack a block" "pack 4 #2" "compute")
file(READ "${folder}/events.json" events)
expect_in(events "read a block" "write a buffer" "present")

begin(what_can_not_be_done)
pack(/no/such/folder --out new)
expect_failure(1 "/no/such/folder")
file(MAKE_DIRECTORY "${folder}/nothing")
pack(nothing --out new)
expect_failure(1 "no files in 'nothing'")
pack("${headers}" --out /no/such/folder/new)
expect_failure(1 "/no/such/folder/new")
pack("${headers}" --out new --trace /no/such/folder/page.html)
expect_failure(1 "/no/such/folder/page.html")
if("${EMULATOR}" STREQUAL "")
  run(sh -c "ulimit -f 64 && exec \"$0\" \"$@\"" "${COMMAND_PROCESSOR}" "${headers}" --out new)
  expect_failure(1 "cannot write 'new'")
endif()

begin(command_line)
run(${EMULATOR} "${COMMAND_PROCESSOR}" --help)
expect_status(0)
expect_in(out "usage: command_processor" "--out" "--lose" "--deadlock" "--trace" "Exit status: 0 .* 3 ")
expect_refused(
  "${COMMAND_PROCESSOR}" command_processor "--nonsense 1" "one two" "--block 0" "--block 2M" "--blocks 65" "--files x"
  "--upload 1K" "--backings 0" "--backings 64 --files 16" "--lose compute" "--lose compute:0" "--lose compute:x"
  "--lose memory:5" "--lose :5"
  "--deadlock --lose copy:1" "--trace page" "--out=" "--lose" "--out /dev/null" "--out a.html --trace a.html")

end_tests()
