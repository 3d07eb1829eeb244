# SPDX-License-Identifier: BSL-1.0
#
# What examples/coroutines promises: copies that are identical, on any number of threads, or a clear message, a failing
# exit status and nothing left.
#
#   cmake -DCOROUTINES=<the program> [-DEMULATOR=<what runs it>] -DWORK=<a folder of its own, emptied first>
#         -P coroutines.cmake
cmake_minimum_required(VERSION 3.23)

include("${CMAKE_CURRENT_LIST_DIR}/example_test.cmake")
begin_tests(COROUTINES)
file(MAKE_DIRECTORY "${WORK}/tmp")
set(ENV{TMPDIR} "${WORK}/tmp")
set(unfinished "FOLDER/.tidemark-unfinished.*" "${WORK}/tmp/*")

string(REPEAT "0123456789abcdef" 4096 text)
file(WRITE "${WORK}/text" "${text}+")
file(WRITE "${WORK}/empty" "")

begin(copies)
foreach(threads IN ITEMS 1 2 5)
  run(${EMULATOR} "${COROUTINES}" "${WORK}/text" --out "${folder}/copy" --rounds 1 --threads ${threads} --block 100
      --ring ${threads}0 --trace "${folder}/page.html" --trace "${folder}/events.json")
  expect_status(0)
  expect_in(out "65537 bytes" "7 copies, each identical to the input" "coroutines, 2 threads +[0-9.]+ MB/s"
            "page.html: 3 queues, [1-9][0-9]* commands")
  expect_same("${WORK}/text" "${folder}/copy")
endforeach()
run(${EMULATOR} "${COROUTINES}" "${WORK}/empty" --out "${folder}/copy" --rounds=1)
expect_status(0)
expect_same("${WORK}/empty" "${folder}/copy")

begin(failures)
run(${EMULATOR} "${COROUTINES}" "${WORK}/missing" --out "${folder}/copy")
expect_status(1)
expect_in(err "cannot open")
expect_absent("${folder}/copy")
# The reader fails, and the other engines end.
run(${EMULATOR} "${COROUTINES}" "${WORK}" --out "${folder}/copy")
expect_status(1)
expect_in(err "^coroutines: ")
expect_absent("${folder}/copy")

begin(command_line)
run(${EMULATOR} "${COROUTINES}" --help)
expect_status(0)
expect_in(out "usage: coroutines" "--threads" "--trace")
expect_refused("${COROUTINES}" coroutines "--nonsense 1" "--threads 0" "--ring 1" "--block x" "--trace page.txt" "a b"
               "--ring 65536 --block 64M")

end_tests()
