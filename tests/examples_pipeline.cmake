# SPDX-License-Identifier: BSL-1.0
#
# What examples/pipeline promises: a copy that is identical, or a clear message, a failing exit status and nothing left.
#
#   cmake -DPIPELINE=<the program> -DWORK=<a folder of its own, emptied first> -P examples_pipeline.cmake
cmake_minimum_required(VERSION 3.23)

foreach(variable IN ITEMS PIPELINE WORK)
  if("${${variable}}" STREQUAL "")
    message(FATAL_ERROR "${variable} is not set")
  endif()
endforeach()

set(temporary_pattern ".tidemark-pipeline.*")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/tmp")
set(ENV{TMPDIR} "${WORK}/tmp")
set(failures 0)

# ---- vocabulary ------------------------------------------------------------------------------------------------------

macro(fail text)
  math(EXPR failures "${failures} + 1")
  message(SEND_ERROR "${case}: ${text}\n  status ${status}\n  stdout: ${out}\n  stderr: ${err}")
endmacro()

# Begins a case: a new folder, where no temporary file may remain when the case has run.
macro(begin name)
  set(case "${name}")
  set(folder "${WORK}/${name}")
  file(MAKE_DIRECTORY "${folder}")
  message(STATUS "${name}")
endmacro()

# Runs a command in the folder; sets status, out and err.
macro(run)
  execute_process(
    COMMAND ${ARGN}
    WORKING_DIRECTORY "${folder}"
    TIMEOUT 60
    RESULT_VARIABLE status
    OUTPUT_VARIABLE out
    ERROR_VARIABLE err)
  file(GLOB remains "${folder}/${temporary_pattern}" "${WORK}/tmp/*" "${WORK}/tmp/${temporary_pattern}")
  if(remains)
    fail("left behind: ${remains}")
    file(REMOVE ${remains})
  endif()
endmacro()

macro(expect_status expected)
  if(NOT "${status}" STREQUAL "${expected}")
    fail("the exit status should be ${expected}")
  endif()
endmacro()

# Both streams are searched with regular expressions.
macro(expect_out)
  foreach(expected IN ITEMS ${ARGN})
    if(NOT out MATCHES "${expected}")
      fail("the output should say '${expected}'")
    endif()
  endforeach()
endmacro()

macro(expect_err)
  foreach(expected IN ITEMS ${ARGN})
    if(NOT err MATCHES "${expected}")
      fail("the message should say '${expected}'")
    endif()
  endforeach()
endmacro()

macro(expect_same one other)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E compare_files "${one}" "${other}" RESULT_VARIABLE differ)
  if(differ)
    fail("'${other}' should be the same as '${one}'")
  endif()
endmacro()

macro(expect_absent path)
  if(EXISTS "${path}" OR IS_SYMLINK "${path}")
    fail("'${path}' should not exist")
  endif()
endmacro()

# A run that works: copies `input` with the options that follow.
macro(expect_copy input)
  run("${PIPELINE}" "${input}" --out "${folder}/copy" --rounds 2 ${ARGN})
  expect_status(0)
  expect_out("identical to the input" "MB/s" "notifications" "needed none" "mutex and condvar")
  expect_same("${input}" "${folder}/copy")
endmacro()

# A run that must fail: status 1, each of the two texts in the message, nothing on the standard output.
macro(expect_failure text reason)
  expect_status(1)
  expect_err("${text}" "${reason}")
  if(NOT "${out}" STREQUAL "")
    fail("nothing should be reported after a failure")
  endif()
endmacro()

# ---- what works ------------------------------------------------------------------------------------------------------

string(REPEAT "0123456789abcdef" 256 four_kibibytes)
file(WRITE "${WORK}/4096" "${four_kibibytes}")
file(WRITE "${WORK}/4097" "${four_kibibytes}+")
file(WRITE "${WORK}/empty" "")
file(WRITE "${WORK}/a" "a")
file(WRITE "${WORK}/foobar" "foobar")
file(WRITE "${WORK}/precious" "what was there before\n")

begin(real_file)
expect_copy("${PIPELINE}")
expect_copy("${PIPELINE}" --block 64K --ring 3)
expect_copy("${PIPELINE}" --block=777 --ring=2)

begin(temporary_output)
run("${PIPELINE}" "${WORK}/4097" --rounds 1)
expect_status(0)
expect_out("temporary file in ${WORK}/tmp" "4097 bytes" "4 copies, each identical")
file(GLOB remains "${folder}/*")
if(remains)
  fail("left behind: ${remains}")
endif()

begin(empty_file)
expect_copy("${WORK}/empty")
expect_out(" 0 bytes" "cbf29ce484222325")

begin(one_byte)
expect_copy("${WORK}/a")
expect_out(" 1 bytes" "af63dc4c8601ec8c")

begin(known_checksum)
expect_copy("${WORK}/foobar" --block 4)
expect_out("85944171f73967e8")

begin(multiple_of_the_block)
expect_copy("${WORK}/4096" --block 1K)
expect_copy("${WORK}/4096" --block 4096)
expect_copy("${WORK}/4097" --block 4096)
expect_copy("${WORK}/4096" --block 1)

begin(ring_of_one)
expect_copy("${WORK}/4097" --ring 1 --block 64)
expect_copy("${PIPELINE}" --ring 1)

begin(ring_longer_than_the_file)
expect_copy("${WORK}/4097" --ring 1000 --block 64)

begin(existing_output_is_replaced)
file(COPY_FILE "${WORK}/precious" "${folder}/copy")
expect_copy("${WORK}/4097")

begin(output_beside_the_working_directory)
run("${PIPELINE}" "${WORK}/4097" --out plain --rounds 1)
expect_status(0)
expect_same("${WORK}/4097" "${folder}/plain")

begin(output_is_the_input)
file(COPY_FILE "${WORK}/4097" "${folder}/same")
run("${PIPELINE}" same --out same --rounds 1)
expect_status(0)
expect_same("${WORK}/4097" "${folder}/same")

begin(output_through_a_link)
file(COPY_FILE "${WORK}/precious" "${folder}/target")
file(CREATE_LINK target "${folder}/link" SYMBOLIC)
run("${PIPELINE}" "${WORK}/4097" --out link --rounds 1)
expect_status(0)
expect_same("${WORK}/4097" "${folder}/target")
if(NOT IS_SYMLINK "${folder}/link")
  fail("the link should still be one")
endif()

begin(name_with_a_dash)
file(COPY_FILE "${WORK}/4097" "${folder}/-x")
run("${PIPELINE}" --out copy --rounds 1 -- -x)
expect_status(0)
expect_same("${WORK}/4097" "${folder}/copy")

begin(output_is_a_pipe)
run(sh -c "mkfifo pipe && { cat pipe > got & } && \"$1\" \"$2\" --out pipe && wait" sh "${PIPELINE}" "${WORK}/4097")
expect_status(0)
expect_out("written to once")
expect_same("${WORK}/4097" "${folder}/got")

begin(output_is_a_device)
run("${PIPELINE}" "${WORK}/4097" --out /dev/null)
expect_status(0)
expect_out("written to once")

# ---- what fails ------------------------------------------------------------------------------------------------------

begin(missing_file)
file(COPY_FILE "${WORK}/precious" "${folder}/copy")
run("${PIPELINE}" "${folder}/no-such-file" --out copy)
expect_failure("${folder}/no-such-file" "No such file or directory")
expect_same("${WORK}/precious" "${folder}/copy")
run("${PIPELINE}" "${folder}/no-such-file" --out new)
expect_failure("${folder}/no-such-file" "No such file or directory")
expect_absent("${folder}/new")

begin(input_is_a_directory)
run("${PIPELINE}" "${WORK}" --out new)
expect_failure("'${WORK}'" "Is a directory")
expect_absent("${folder}/new")

begin(input_is_no_regular_file)
run("${PIPELINE}" /dev/zero --out new)
expect_failure("'/dev/zero'" "not a regular file")
expect_absent("${folder}/new")
run(sh -c "mkfifo pipe && \"$1\" pipe --out new" sh "${PIPELINE}")
expect_failure("'pipe'" "not a regular file")
expect_absent("${folder}/new")

begin(unreadable_file)
execute_process(COMMAND id -u OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
if(user STREQUAL "0")
  message(STATUS "  skipped: root may read and write everything")
else()
  file(COPY_FILE "${WORK}/precious" "${folder}/locked")
  run(chmod 200 locked)
  run("${PIPELINE}" locked --out new)
  expect_failure("'locked'" "Permission denied")
  expect_absent("${folder}/new")

  run(chmod 400 locked)
  run("${PIPELINE}" "${WORK}/4097" --out locked)
  expect_failure("'locked'" "Permission denied")
  expect_same("${WORK}/precious" "${folder}/locked")

  file(MAKE_DIRECTORY "${folder}/closed")
  run(chmod 500 closed)
  run("${PIPELINE}" "${WORK}/4097" --out closed/new)
  expect_failure("'closed/new'" "Permission denied")
  expect_absent("${folder}/closed/new")
endif()

begin(read_error)
if(EXISTS /proc/self/mem)
  file(COPY_FILE "${WORK}/precious" "${folder}/copy")
  foreach(ring IN ITEMS 1 2 64)
    run("${PIPELINE}" /proc/self/mem --out copy --ring ${ring})
    expect_failure("cannot read '/proc/self/mem'" "Input/output error")
    expect_same("${WORK}/precious" "${folder}/copy")
    run("${PIPELINE}" /proc/self/mem --out new --ring ${ring})
    expect_failure("cannot read '/proc/self/mem'" "Input/output error")
    expect_absent("${folder}/new")
  endforeach()
endif()

begin(full_disk)
if(EXISTS /dev/full)
  foreach(ring IN ITEMS 1 2 64)
    run("${PIPELINE}" "${PIPELINE}" --out /dev/full --block 512 --ring ${ring})
    expect_failure("cannot write '/dev/full'" "No space left on device")
  endforeach()
  run(test -c /dev/full)  # still the device
  expect_status(0)
  run(sh -c "\"$1\" \"$2\" --out copy --rounds 1 > /dev/full" sh "${PIPELINE}" "${WORK}/4097")
  expect_failure("cannot print the report" "No space left on device")
endif()

begin(file_grows_too_large)
file(COPY_FILE "${WORK}/precious" "${folder}/copy")
foreach(name IN ITEMS copy new)
  run(sh -c "ulimit -f 8 && exec \"$1\" \"$1\" --out ${name} --block 1000" sh "${PIPELINE}")
  expect_failure("cannot write '${name}'" "File too large")
endforeach()
run(sh -c "ulimit -f 8 && exec \"$1\" \"$1\"" sh "${PIPELINE}")
expect_failure("cannot write" "File too large")
expect_same("${WORK}/precious" "${folder}/copy")
expect_absent("${folder}/new")

begin(pipe_is_closed)
run(sh -c "mkfifo pipe && { head -c 1 pipe > got & } && \"$1\" \"$1\" --out pipe" sh "${PIPELINE}")
expect_failure("cannot write 'pipe'" "Broken pipe")

begin(output_folder_is_missing)
run("${PIPELINE}" "${WORK}/4097" --out nowhere/copy)
expect_failure("'nowhere/copy'" "No such file or directory")
run("${PIPELINE}" "${WORK}/4097" --out "${WORK}/4096/copy")
expect_failure("'${WORK}/4096/copy'" "Not a directory")

begin(output_is_a_directory)
run("${PIPELINE}" "${WORK}/4097" --out "${WORK}")
expect_failure("'${WORK}'" "Is a directory")
run("${PIPELINE}" "${WORK}/4097" --out new/)
expect_failure("'new/'" "Is a directory")

begin(temporary_folder_is_missing)
set(ENV{TMPDIR} "${folder}/nowhere")
run("${PIPELINE}" "${WORK}/4097")
set(ENV{TMPDIR} "${WORK}/tmp")
expect_failure("${folder}/nowhere" "No such file or directory")

begin(interrupted)
file(COPY_FILE "${WORK}/precious" "${folder}/copy")
foreach(signal IN ITEMS TERM HUP)
  run(sh -c "{ \"$1\" \"$1\" --out copy --block 64 --rounds 1000 & } && sleep 0.3 && kill -${signal} $! && wait $!" sh
      "${PIPELINE}")
  if(status STREQUAL "0")
    fail("the run should have been interrupted")
  endif()
  expect_same("${WORK}/precious" "${folder}/copy")
endforeach()

# ---- the command line ------------------------------------------------------------------------------------------------

begin(help)
run("${PIPELINE}" --help)
expect_status(0)
expect_out("usage: pipeline" "--out" "--block" "--ring" "--rounds")

begin(invalid_options)
macro(expect_usage_error text)
  run("${PIPELINE}" ${ARGN})
  expect_status(2)
  expect_err("^pipeline: " "${text}" "--help")
  expect_absent("${folder}/new")
endmacro()
set(input "${WORK}/4097")
expect_usage_error("unknown option '--nonsense'" --nonsense "${input}")
expect_usage_error("unknown option '-x'" -x "${input}")
expect_usage_error("more than one input" "${input}" "${input}" --out new)
foreach(option IN ITEMS --block --ring --rounds)
  expect_usage_error("${option}: the value is missing" "${input}" --out new ${option})
  expect_usage_error("${option}: '0' is not between 1 and" "${input}" --out new ${option} 0)
  expect_usage_error("${option}: '-1' is not a whole number" "${input}" --out new ${option} -1)
  expect_usage_error("${option}: '12x' is not a whole number" "${input}" --out new ${option} 12x)
  expect_usage_error("${option}: '1.5' is not a whole number" "${input}" --out new ${option}=1.5)
  expect_usage_error("${option}: '' is not a whole number" "${input}" --out new ${option}=)
  expect_usage_error("${option}: '99999999999999999999' is not between" "${input}" --out new ${option}
                     99999999999999999999)
endforeach()
expect_usage_error("--block: '17592186044416M' is not between" "${input}" --out new --block 17592186044416M)
expect_usage_error("--ring: '4K' is not a whole number" "${input}" --out new --ring 4K)
expect_usage_error("a ring of 2000 buffers" "${input}" --out new --ring 2000 --block 1M)
expect_usage_error("--out: the value is missing" "${input}" --out)
expect_usage_error("--out: the path is empty" "${input}" --out=)

if(failures GREATER 0)
  message(FATAL_ERROR "${failures} check(s) failed")
endif()
message(STATUS "everything as promised")
