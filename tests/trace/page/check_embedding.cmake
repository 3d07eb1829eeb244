# SPDX-License-Identifier: BSL-1.0
#
# The header trace/detail/trace_page.hpp is what tools/embed_trace_page.py makes of tools/trace_page/. Then in a copy:
# every kind of change is found, and mended by running the program; what it can't handle it refuses.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... -P check_embedding.cmake

cmake_minimum_required(VERSION 3.23)
set(program "${SOURCE_DIR}/tools/embed_trace_page.py")
set(header include/tidemark/trace/detail/trace_page.hpp)

find_program(PYTHON3 python3)
if(NOT PYTHON3)
  message("not tested: there is no python3")
  return()
endif()

# run(<expected exit status> <words that it must say> argument...)
function(run expected words)
  execute_process(
    COMMAND "${PYTHON3}" "${program}" ${ARGN}
    OUTPUT_VARIABLE said
    ERROR_VARIABLE said
    RESULT_VARIABLE status)
  string(FIND "${said}" "${words}" found)
  if(NOT status EQUAL expected OR found EQUAL -1)
    message(FATAL_ERROR "embed_trace_page.py ${ARGN} ended with ${status} instead of ${expected}, or did not say "
                        "\"${words}\":\n${said}")
  endif()
endfunction()

function(begin_copy)
  file(REMOVE_RECURSE "${WORK_DIR}")
  file(COPY "${SOURCE_DIR}/tools/trace_page" DESTINATION "${WORK_DIR}/tools")
  file(COPY "${SOURCE_DIR}/${header}" DESTINATION "${WORK_DIR}/include/tidemark/trace/detail")
endfunction()

run(0 "is what" --check)

begin_copy()
run(0 "is what" --check --root "${WORK_DIR}")

# A change of a file changes the header, and is mended by running the program.
foreach(file IN ITEMS view.mjs page.css page.html)
  begin_copy()
  file(READ "${WORK_DIR}/tools/trace_page/${file}" text)
  string(REPLACE "view" "View" text "${text}")
  string(REPLACE "13px" "14px" text "${text}")
  file(WRITE "${WORK_DIR}/tools/trace_page/${file}" "${text}")
  run(1 "${header} is not what" --check --root "${WORK_DIR}")
  run(0 "wrote ${header}" --root "${WORK_DIR}")
  run(0 "is what" --check --root "${WORK_DIR}")
endforeach()

# So is a change of the header, and a missing one.
begin_copy()
file(APPEND "${WORK_DIR}/${header}" "\n")
run(1 "${header} is not what" --check --root "${WORK_DIR}")
begin_copy()
file(REMOVE "${WORK_DIR}/${header}")
run(1 "${header} is not what" --check --root "${WORK_DIR}")
run(0 "wrote ${header}" --root "${WORK_DIR}")
run(0 "is what" --check --root "${WORK_DIR}")

# expect_refusal(<file> <appended text> <words>)
function(expect_refusal file addition words)
  begin_copy()
  file(APPEND "${WORK_DIR}/tools/trace_page/${file}" "${addition}")
  run(2 "${words}" --root "${WORK_DIR}")
endfunction()
expect_refusal(text.mjs "export default 1;\n" "this form of import or export is not understood")
expect_refusal(text.mjs "import * as view from './view.mjs';\n" "this form of import or export is not understood")
expect_refusal(text.mjs "const AXIS = 1;\n" "both declare AXIS")
expect_refusal(text.mjs "function makeModel() {}\n" "both declare makeModel")
expect_refusal(series.mjs "import {View} from './view.mjs';\n" "imports itself")
expect_refusal(text.mjs "//\t\n" "must not hold")
expect_refusal(page.html "<script type=\"application/json\" id=\"data\">\n</script>\n" "one block of data")
expect_refusal(alone.mjs "// nobody imports this\n" "does not import alone.mjs")
string(REPEAT "// a long line\n" 1200 long)
expect_refusal(text.mjs "${long}" "split the file")
file(REMOVE_RECURSE "${WORK_DIR}")
message(STATUS "the header is what the files make")
