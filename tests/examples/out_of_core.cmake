# SPDX-License-Identifier: BSL-1.0
#
# What examples/out_of_core promises: with every budget the same result as with everything mapped, and a clear refusal
# of a budget that is too small.
#
#   cmake -DOUT_OF_CORE=<the program> [-DEMULATOR=<what runs it>] -DSOURCE_DIR=<the repository>
#         -DWORK=<a folder of its own, emptied first> -P examples_out_of_core.cmake
cmake_minimum_required(VERSION 3.23)

include("${CMAKE_CURRENT_LIST_DIR}/example_test.cmake")
begin_tests(OUT_OF_CORE SOURCE_DIR)
set(unfinished "")

# Writes 24 files of 1 to 23 KiB, which begin alike. Any two of them fit into 80 KiB, also where the one that must keep
# its place lies in the middle.
function(write_files)
  set(text "")
  foreach(line RANGE 2000)
    math(EXPR square "${line} * ${line}")
    string(APPEND text "${line} times itself is ${square}\n")
  endforeach()
  foreach(number RANGE 1 24)
    math(EXPR size "(${number} * 7 % 23 + 1) * 1024")
    string(SUBSTRING "${text}" 0 ${size} beginning)
    file(WRITE "${folder}/files/${number}" "${beginning}")
  endforeach()
endfunction()

begin(three_budgets)
write_files()
foreach(budget IN ITEMS 80K 100K 200K)
  run(${EMULATOR} "${OUT_OF_CORE}" files --region 32K --files 24 --budget ${budget})
  expect_status(0)
  expect_in(out "files +24, " "budget +[0-9]+ bytes: [1-9][0-9]+ parts" "an LRU cache of that size: [1-9]"
            "kept +[1-9][0-9]* bytes in place over [1-9]" "alike +[1-9]" "the same as with everything mapped")
endforeach()

# Nine units are enough for any two files, unless the file that must keep its place lies in the middle. A unit is a
# whole number of pages on every machine.
begin(what_must_stay_is_in_the_way)
set(number 0)
foreach(units IN ITEMS 2 4 5 2 3)
  math(EXPR number "${number} + 1")
  math(EXPR sixteens "${units} * 4096")
  string(REPEAT "sixteen letters\n" ${sixteens} text)
  file(WRITE "${folder}/files/${number}" "${text}")
endforeach()
run(${EMULATOR} "${OUT_OF_CORE}" files --region 512K --budget 576K)
expect_status(1)
expect_in(err "step [0-9]+ can't be done within 589824 bytes: slot 1 needs files/. beside the rest")
run(${EMULATOR} "${OUT_OF_CORE}" files --region 512K --budget 576K --rebind)
expect_status(0)
expect_in(out "cuts, [1-9][0-9]* moved" "the same as with everything mapped")

begin(everything_fits)
run(${EMULATOR} "${OUT_OF_CORE}" "${SOURCE_DIR}/include" --files=24 --budget=64M)
expect_status(0)
expect_in(out "bytes: 1 parts" "kept +0 bytes in place over 0 cuts" "the same as with everything mapped")

begin(the_compilers_headers)
run(${EMULATOR} "${OUT_OF_CORE}" --files 16)
expect_status(0)
expect_in(out "files +16, " "the same as with everything mapped")

begin(too_small)
write_files()
run(${EMULATOR} "${OUT_OF_CORE}" files --region 32K --files 24 --budget 20K)
expect_status(1)
expect_in(err "step [0-9]+ can't be done within 20480 bytes: slot [01] needs files/[0-9]+ beside the rest")

begin(nothing_to_compare)
file(WRITE "${folder}/files/alone" "alone")
file(WRITE "${folder}/files/empty" "")
run(${EMULATOR} "${OUT_OF_CORE}" files)
expect_status(1)
expect_in(err "no two files to compare in 'files'")
run(${EMULATOR} "${OUT_OF_CORE}" /no/such/folder)
expect_status(1)
expect_in(err "/no/such/folder")

begin(command_line)
run(${EMULATOR} "${OUT_OF_CORE}" --help)
expect_status(0)
expect_in(out "usage: out_of_core" "--budget" "--region" "--files")
expect_refused("${OUT_OF_CORE}" out_of_core "--nonsense 1" "--files 1" "--budget 0" "--region x" "one two")
run(${EMULATOR} "${OUT_OF_CORE}" --budget)
expect_status(2)
expect_in(err "--budget: the value is missing")

end_tests()
