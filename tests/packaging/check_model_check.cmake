# SPDX-License-Identifier: BSL-1.0
#
# Checks a protocol as a stranger would: installs the library, then builds and plays the checks of
# tests/packaging/model_check with CMake and with one call of the compiler, breaks them, and does without Relacy.
#
#   cmake -D SOURCE_DIR=... -D BINARY_DIR=... -D WORK_DIR=... -D GENERATOR=... -D MAKE_PROGRAM=... -D COMPILER=...
#         -D "FLAGS=..." -D RELACY=... -P check_model_check.cmake
#
# RELACY is the folder that holds relacy/relacy.hpp.
cmake_minimum_required(VERSION 3.23)

# run(OUTPUT "WHAT" STATUS command...): STATUS is a number, or `fails`.
function(run output_out what expected)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if((expected STREQUAL "fails" AND status EQUAL 0) OR (NOT expected STREQUAL "fails" AND NOT status EQUAL expected))
    message(FATAL_ERROR "${what}: ${status}, expected ${expected}:\n${output}")
  endif()
  message(STATUS "${what}: ok")
  set(${output_out} "${output}" PARENT_SCOPE)
endfunction()

# require("WHAT" TEXT words...): each must stand in the text.
function(require what text)
  foreach(words IN LISTS ARGN)
    string(FIND "${text}" "${words}" position)
    if(position EQUAL -1)
      message(FATAL_ERROR "${what}: '${words}' is not in\n${text}")
    endif()
  endforeach()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run(output "install" 0 "${CMAKE_COMMAND}" --install "${BINARY_DIR}" --prefix "${WORK_DIR}/an installed copy")
file(COPY "${SOURCE_DIR}/tests/packaging/model_check" DESTINATION "${WORK_DIR}")
set(project "${WORK_DIR}/model_check")
set(configure
    "${CMAKE_COMMAND}" --no-warn-unused-cli -S "${project}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
    "-DCMAKE_PREFIX_PATH=${WORK_DIR}/an installed copy")

run(output "without Relacy" fails ${configure} -DTIDEMARK_RELACY_INCLUDE_DIR=TIDEMARK_RELACY_INCLUDE_DIR-NOTFOUND
    -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
require("without Relacy" "${output}" "apt install relacy-dev" "set TIDEMARK_RELACY_INCLUDE_DIR")

run(output "configure" 0 ${configure} "-DTIDEMARK_RELACY_INCLUDE_DIR=${RELACY}")
run(output "before it is built" fails ${CMAKE_CTEST_COMMAND} --test-dir "${WORK_DIR}/build")
run(output "build" 0 "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run(output "play" 0 ${CMAKE_CTEST_COMMAND} --test-dir "${WORK_DIR}/build")
require("play" "${output}" "check_box box " "check_box box, published without release " "tests failed out of 2")

# Its targets: all checks, and the audit, which goes on where it was.
run(output "check" 0 "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target check_box_check)
require("check" "${output}" "box: holds (" "box, published without release: DATA RACE")
run(output "audit by a target" fails "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target check_box_audit)
require("audit by a target" "${output}" "box.cpp: opened.store(true, std::memory_order_release); | release -> relaxed"
        "3 sites, 3 weakenings: 2 noticed, 1 not needed by any check")
file(READ "${WORK_DIR}/build/check_box_audit.json" json)
string(JSON not_needed GET "${json}" totals not_needed)
require("JSON" "${not_needed}" "1")
require("page" "${output}" "The audit is shown in ${WORK_DIR}/build/check_box_audit.html")
file(READ "${WORK_DIR}/build/check_box_audit.html" page)
require("page" "${page}" "<!DOCTYPE html>" "opened.store(true, std::memory_order_release)" "</html>")

# What is reviewed stays so when its line is moved.
file(WRITE "${project}/reviewed.txt" "box.cpp: opened.store(true, std::memory_order_release); | release -> relaxed\n"
     "  It is for people, who hand nothing over.\n")
foreach(form IN ITEMS symmetric portable)
  configure_file("${project}/reviewed.txt" "${project}/reviewed_${form}.txt" COPYONLY)
endforeach()
run(output "configure with lists" 0 ${configure} -DREVIEWED=reviewed.txt -DFORMS=ON)
run(output "audit with a list" 0 "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target check_box_audit)
require("audit with a list" "${output}" "goes on with 3 weakenings"
        "reviewed: It is for people, who hand nothing over.")
file(READ "${project}/box.cpp" text)
string(REPLACE "      opened.store(true, std" "\n\n      // Moved.\n\topened.store(true,   std" moved "${text}")
file(WRITE "${project}/box.cpp" "${moved}")
run(output "audit of moved lines" 0 "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target check_box_audit)
require("audit of moved lines" "${output}" "is of another program" "3 weakenings: 2 noticed, 0 not needed by any check"
        ", 1 reviewed; 0 sites never executed")
run(output "audit of two forms" 0 "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target forms_audit)
foreach(form IN ITEMS symmetric portable)
  file(READ "${WORK_DIR}/build/forms_${form}_audit.json" json)
  string(JSON reviewed GET "${json}" totals reviewed)
  require("JSON of ${form}" "${reviewed}" "1")
endforeach()
file(WRITE "${project}/box.cpp" "${text}")

# The protocol of the guide: all of its orders are executed, and each is needed or reviewed. Two that are needlessly
# strong are named, and one that is missing is shown.
set(guide "${SOURCE_DIR}/examples/guide")
file(READ "${guide}/verify.cpp" text)
file(READ "${guide}/verify_reviewed.txt" list)
string(REPLACE "verify.cpp: " "guide.cpp: " list "${list}")
file(WRITE "${project}/guide.cpp" "${text}")
file(WRITE "${project}/guide_reviewed.txt" "${list}")
run(output "configure with the guide" 0 ${configure} -DREVIEWED=reviewed.txt -DGUIDE=ON)
set(audit_guide "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target guide_audit)
run(output "audit of the guide" 0 ${audit_guide})
require("audit of the guide" "${output}" " 0 not needed by any check, 2 reviewed; 0 sites never executed")
string(REPLACE "(taken.load(memory_order_acquire)" "(taken.load(std::memory_order_seq_cst)" planted "${text}")
string(REPLACE "wait(0, memory_order_acquire)" "wait(0, std::memory_order_seq_cst)" planted "${planted}")
file(WRITE "${project}/guide.cpp" "${planted}")
run(output "audit of needless orders" fails ${audit_guide})
require("audit of needless orders" "${output}" "guide.cpp: while (taken.load(std::memory_order_seq_cst) < n - 2)"
        "guide.cpp: filled.wait(0, std::memory_order_seq_cst); | seq_cst -> acquire"
        " 2 not needed by any check, 2 reviewed; 0 sites never executed")
string(REPLACE "answered<memory_order_release>> step_4" "answered<memory_order_relaxed>> step_4" planted "${text}")
file(WRITE "${project}/guide.cpp" "${planted}")
run(output "audit with a missing order" fails ${audit_guide})
require("audit with a missing order" "${output}" "step 4 fails as it is: DATA RACE")
run(output "check with a missing order" fails "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target guide_check)
require("check with a missing order" "${output}" "step 4: DATA RACE" "taken = 1 (relaxed)" "RACE: frames[n % 2]")
file(REMOVE "${project}/guide.cpp")
run(output "configure without the guide" 0 ${configure} -DREVIEWED=reviewed.txt -DGUIDE=OFF)

# Tables say what is searched, and each changed header is a program. One that is not noticed is a failure.
run(output "configure with tables" 0 ${configure} -DREVIEWED=reviewed.txt -DTABLES=ON)
run(output "build with tables" 0 "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
set(play_letters ${CMAKE_CTEST_COMMAND} --test-dir "${WORK_DIR}/build" -R "letters")
run(output "play tables" 0 ${play_letters})
require("play tables" "${output}" "letters letter, bound 3 " "letters letter, random 1000 "
        "letters twin letter_box.hpp: full_.store(true, std::memory_order_release); | release -> relaxed (letter, "
        "letters mutant full_too_early " "0 tests failed out of 5")
file(APPEND "${project}/letters.checks" "letter: bound 2\n")
file(READ "${project}/mutants/full_too_early.mutant" mutant)
string(REGEX REPLACE "[+][+][+].*" "+++\n    content_.store(value);\n    full_.store(true);\n" harmless "${mutant}")
file(WRITE "${project}/mutants/harmless.mutant" "${harmless}")
run(output "build other tables" 0 "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run(output "play other tables" fails ${play_letters})
require("play other tables" "${output}" "letters letter, bound 2 " "letters mutant harmless "
        "1 tests failed out of 7")
file(WRITE "${project}/mutants/harmless.mutant" "Nothing.\nfile: post/letters.hpp\ncheck: letter: bound 2\n")
run(output "a header that is not there" fails "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
string(REGEX REPLACE "[ \n]+" " " output "${output}")
require("a header that is not there" "${output}" "harmless.mutant: there is no post/letters.hpp in ")
file(WRITE "${project}/mutants/harmless.mutant" "${mutant}")
string(REPLACE "check: " "check: letter: bound 1\ncheck: " twice "${mutant}")
file(WRITE "${project}/mutants/harmless.mutant" "${twice}")
run(output "a mutant with two checks" fails "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
require("a mutant with two checks" "${output}" "a head has one line that says what is wrong")
file(REMOVE "${project}/mutants/harmless.mutant")
file(APPEND "${project}/letters.checks" "post: bound 2\n")
run(output "a check that is not there" fails "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
require("a check that is not there" "${output}" "letters.checks:5: there is no check 'post'")
run(output "a table that is not there" fails ${configure} -DREVIEWED=reviewed.txt -DTABLES=no_such)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
require("a table that is not there" "${output}" "letters: there is no table ")
run(output "configure without tables" 0 ${configure} -DREVIEWED=reviewed.txt -DTABLES=OFF)

# The check notices that the code is broken, and shows how.
file(READ "${project}/box.cpp" text)
string(REPLACE "memory_order_release>> box{" "memory_order_relaxed>> box{" text "${text}")
file(WRITE "${project}/box.cpp" "${text}")
run(output "build what is broken" 0 "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run(output "play what is broken" fails ${CMAKE_CTEST_COMMAND} --test-dir "${WORK_DIR}/build" --output-on-failure)
require("play what is broken" "${output}" "box: DATA RACE (bound 0, 1 execution)" "RACE: content = 42 (plain)"
        "17: content.store(42)")

run(output "a page of what is broken" 1 "${WORK_DIR}/build/check_box" box --page "${WORK_DIR}/broken.html")
file(READ "${WORK_DIR}/broken.html" page)
require("a page of what is broken" "${page}" "<!DOCTYPE html>" "content = 42 (plain)" "\"race\":true" "</html>")

# Each of its orders but one is needed.
file(COPY "${SOURCE_DIR}/tests/packaging/model_check/box.cpp" DESTINATION "${WORK_DIR}")
separate_arguments(flags NATIVE_COMMAND "${FLAGS}")
file(GLOB runner "${WORK_DIR}/an installed copy/include/tidemark/verify/runner/*.cpp")
if(NOT RELACY STREQUAL "/usr/include") # which a compiler must not be told
  list(APPEND flags -isystem "${RELACY}")
endif()
run(output "one call of the compiler" 0 "${COMPILER}" ${flags} -std=c++20 "-I${WORK_DIR}/an installed copy/include"
    "${WORK_DIR}/box.cpp" ${runner} -o "${WORK_DIR}/box")
run(output "export" 0 "${CMAKE_COMMAND}" -D "SOURCE=${WORK_DIR}/box.cpp" -D CHECK=box -D "OUTPUT=${WORK_DIR}/exported"
    -P "${WORK_DIR}/an installed copy/include/tidemark/verify/runner/export.cmake")
run(output "build what is exported" 0 "${COMPILER}" ${flags} -std=c++20 -pthread
    "-I${WORK_DIR}/an installed copy/include/tidemark/verify/runner/second"
    "-I${WORK_DIR}/an installed copy/include" "${WORK_DIR}/exported/box.cpp" -o "${WORK_DIR}/exported/box")
run(output "play what is exported" 0 "${WORK_DIR}/exported/box" 100)
run(output "audit" 1 "${WORK_DIR}/box" --audit)
require("audit" "${output}" "box.cpp:18:" "release -> relaxed: " "needed: box, DATA RACE"
        "3 sites, 3 weakenings: 2 noticed, 1 not needed by any check")
run(output "audit with a list" 0 "${WORK_DIR}/box" --audit --reviewed "${project}/reviewed.txt")
