# SPDX-License-Identifier: BSL-1.0
#
# What examples/parallel_record promises: the picture that a single thread draws, however many threads record it; where
# the memory for one recording fails, that picture without the tiles of one list; or a clear message and nothing left
# behind.
#
#   cmake -DPARALLEL_RECORD=<the program> [-DEMULATOR=<what runs it>] -DWORK=<a folder of its own, emptied first>
#         -P parallel_record.cmake
cmake_minimum_required(VERSION 3.23)

include("${CMAKE_CURRENT_LIST_DIR}/example_test.cmake")
begin_tests(PARALLEL_RECORD)
set(unfinished "FOLDER/.tidemark-unfinished.*")

# Draws with the options that follow.
macro(draw)
  run(${EMULATOR} "${PARALLEL_RECORD}" ${ARGN})
endmacro()
macro(expect_drawn)
  expect_status(0)
  expect_in(out "picture " "verified  all tiles have the same bytes as one thread draws straight on" ${ARGN})
endmacro()
# A run in which one recording lost its memory: the names of the tiles that are missing, with a blank before each.
macro(expect_without names)
  expect_status(0)
  expect_in(
    out "failed    context 1 got no memory for its record [1-9]" "missing  ${names}\n"
    "verified  all other tiles have the same bytes as one thread draws straight on" ${ARGN})
endmacro()
# A run that must fail: a message with the texts, nothing on the standard output, and no picture.
macro(expect_failure expected)
  expect_status(${expected})
  expect_in(err "^parallel_record: " ${ARGN})
  if(NOT "${out}" STREQUAL "")
    fail("nothing should be reported after a failure")
  endif()
  expect_absent("${folder}/new.png")
endmacro()

begin(threads)
draw(--size 256 --tile 32 --threads 1 --out one.png)
expect_drawn("one.png: 256 x 256 pixels" "tiles     64 of 64\n" "lists     16, recorded by 1 thread\n")
foreach(threads IN ITEMS 2 3 4 7 16 64)
  draw(--size=256 --tile=32 --threads=${threads} --out=many.png)
  expect_drawn("lists     16, recorded by ${threads} threads\n")
  expect_same("${folder}/one.png" "${folder}/many.png")
endforeach()
foreach(tiles IN ITEMS 1 5 64)
  draw(--size 256 --tile 32 --threads 3 --list ${tiles} --out many.png)
  expect_drawn("tiles     64 of 64\n")
  expect_same("${folder}/one.png" "${folder}/many.png")
endforeach()

begin(sizes_that_are_no_multiple_of_a_tile)
foreach(size IN ITEMS 1 1x40 333x77 77x333 129 257x255)
  draw(--size ${size} --tile 64 --threads 1 --out one.png)
  expect_drawn("lists     [0-9]+, recorded by 1 thread\n")
  draw(--size ${size} --tile 64 --threads 4 --out many.png)
  expect_drawn()
  expect_same("${folder}/one.png" "${folder}/many.png")
endforeach()
draw(--size 640x24 --tile 16 --list 7 --threads 3)
expect_drawn("tiles     80 of 80\n" "lists     12,")
draw(--size 300 --tile 512 --list 64 --threads 2)
expect_drawn("tiles     1 of 1\n" "lists     1,")

begin(state_that_contexts_know)
draw(--size 256 --tile 128 --list 4 --threads 2)
expect_drawn("commands  [0-9]+. [1-9][0-9]* that change no state were left out" "renames   [0-9]+, in [0-9]+ backings")

# The first list, or a later one, of the first thread. What is removed is one list: the tiles before and after it are
# there.
begin(a_recording_is_removed)
draw(--size 256 --tile 32 --threads 2 --fail-after 0 --out zero.png)
expect_without(" A1 B1 C1 D1" "tiles     60 of 64\n" "lists     15, recorded by 2 threads\n" "for its record 1,")
foreach(records IN ITEMS 1 5 10 20 35)
  foreach(threads IN ITEMS 1 2 5)
    draw(--size 256 --tile 32 --threads ${threads} --fail-after ${records} --out new.png)
    expect_without(" [A-H][1-8] [A-H][1-8] [A-H][1-8] [A-H][1-8]" "tiles     60 of 64\n")
    string(REGEX MATCH "for its record ([0-9]+)" failed_at "${out}")
    if(NOT CMAKE_MATCH_1 GREATER records)
      fail("the memory should last for ${records} records")
    endif()
    file(REMOVE "${folder}/new.png")
  endforeach()
endforeach()
draw(--size 256 --tile 32 --threads 4 --fail-after 50 --list 1)
expect_without(" [A-H][1-8]" "tiles     63 of 64\n")
draw(--size 256 --tile 32 --threads 3 --fail-after 0 --no-compare)
expect_status(0)
expect_in(out "missing   A1 B1 C1 D1\n" "time      [0-9.]+ s\n")
draw(--size 256 --tile 32 --threads 2 --list 64 --fail-after 500 --out new.png)
expect_without(" A1 .* H8" "tiles     0 of 64\n" "lists     0,")
file(REMOVE "${folder}/new.png")
draw(--size 256 --tile 32 --threads 2 --fail-after 1000000 --out new.png)
expect_failure(1 "the memory of context 1 did not fail: it has [0-9]+ records")

begin(no_comparison)
draw(--size 256 --tile 64 --threads 2 --no-compare --out one.png)
expect_status(0)
expect_in(out "picture   one.png" "time      [0-9.]+ s\n")
draw(--size 256 --tile 64 --threads 2 --out many.png)
expect_drawn()
expect_same("${folder}/one.png" "${folder}/many.png")

begin(what_can_not_be_done)
draw(--size 64 --out /no/such/folder/new.png)
expect_failure(1 "/no/such/folder/new.png")
file(MAKE_DIRECTORY "${folder}/in the way")
draw(--size 64 --out "in the way")
expect_failure(1 "in the way")
if("${EMULATOR}" STREQUAL "")
  run(sh -c "ulimit -f 8 && exec \"$0\" \"$@\"" "${PARALLEL_RECORD}" --size 256 --out new.png)
  expect_failure(1 "cannot write 'new.png'")
endif()

begin(command_line)
run(${EMULATOR} "${PARALLEL_RECORD}" --help)
expect_status(0)
expect_in(out "usage: parallel_record" "--out" "--threads" "--fail-after" "--no-compare" "Exit status: 0 .* 2 ")
expect_refused(
  "${PARALLEL_RECORD}" parallel_record "--nonsense 1" "picture.png" "--size 0" "--size 8193" "--size 20x" "--size x20"
  "--size 1x2x3" "--tile 15" "--tile 513" "--list 0" "--list 65" "--threads 0" "--threads 65" "--threads two"
  "--fail-after -1" "--fail-after" "--no-compare=1" "--out=" "--out /dev/null")

end_tests()
