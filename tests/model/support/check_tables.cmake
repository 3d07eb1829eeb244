# SPDX-License-Identifier: BSL-1.0
#
# Shows that a wrong line in a table of the model checks stops CMake with its file and its number, and that a right one
# stands for the checks that it should.
#
#   cmake -D WORK=<folder> -P check_tables.cmake
#
# With KIND and TABLE it only reads that table, as the build does.
cmake_minimum_required(VERSION 3.23)
include("${CMAKE_CURRENT_LIST_DIR}/tables.cmake")

function(print_check)
  message(STATUS "row: ${program}; ${checks}; ${shapes}; ${bound}; ${rows}; ${forms}; ${when}; ${first}")
endfunction()

function(print_twin)
  message(STATUS "row: ${what}; ${program}; ${form}; ${check}; ${weakening}; ${tag}; ${how}; ${amount}")
endfunction()

if(DEFINED KIND)
  cmake_path(GET TABLE PARENT_PATH room)
  cmake_path(GET room PARENT_PATH folder)
  if(KIND STREQUAL "programs")
    read_programs("${TABLE}")
    return()
  endif()
  read_programs("${folder}/programs.table")
  if(KIND STREQUAL "missing_forms")
    read_missing_forms("${TABLE}")
  elseif(KIND STREQUAL "checks")
    read_checks("${TABLE}" fence print_check)
  elseif(KIND STREQUAL "twins")
    read_twins("${TABLE}" fence print_twin)
  else()
    read_mutant("${TABLE}" fence)
    message(STATUS "row: ${program}; ${form}; ${check}; ${bound}")
  endif()
  return()
endif()

# ---- the test --------------------------------------------------------------------------------------------------------

file(REMOVE_RECURSE "${WORK}")
file(WRITE "${WORK}/programs.table" "heap | fence | symmetric asymmetric portable | symmetric\n"
                                    "hub | queue | both | symmetric\n")
file(WRITE "${WORK}/fence/heap.cpp" "")
file(WRITE "${WORK}/queue/hub.cpp" "")

# read(KIND FILE LINES...): reads a table that has a comment on its first line and the lines below.
function(read kind file)
  set(text "# A comment; it has [ and ; and \\\n")
  foreach(line IN LISTS ARGN)
    string(APPEND text "${line}\n")
  endforeach()
  file(WRITE "${WORK}/${file}" "${text}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -D "KIND=${kind}" -D "TABLE=${WORK}/${file}" -P "${CMAKE_CURRENT_LIST_FILE}"
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE result)
  string(REGEX REPLACE "[ \n]+" " " errors "${errors}") # messages are wrapped
  set(output "${output}" PARENT_SCOPE)
  set(errors "${errors}" PARENT_SCOPE)
  set(result "${result}" PARENT_SCOPE)
endfunction()

# refuses(KIND LINE "WHAT IS SAID"): the line stands on line 3, behind a right one or an empty one.
function(refuses kind line said)
  set(good "")
  if(kind STREQUAL "checks")
    set(good "heap | sorted.* | 2 | [A17] [trap 2] | both | shapes | 1")
  endif()
  set(file "fence/${kind}.table")
  if(kind STREQUAL "programs")
    set(file other.table)
  endif()
  read(${kind} "${file}" "${good}" "${line}")
  string(FIND "${errors}" "${WORK}/${file}:3: " place)
  string(FIND "${errors}" "${said}" found)
  if(result EQUAL 0 OR place EQUAL -1 OR found EQUAL -1)
    message(SEND_ERROR "expected '${file}:3: ... ${said}' for this line:\n${line}\nand got:\n${errors}")
  endif()
endfunction()

# stands_for(KIND LINE "ROW"): the line is right and means this.
function(stands_for kind line row)
  read(${kind} "fence/${kind}.table" "${line}")
  string(FIND "${output}" "row: ${row}\n" found)
  if(NOT result EQUAL 0 OR found EQUAL -1)
    message(SEND_ERROR "expected '${row}' for this line:\n${line}\nand got:\n${output}${errors}")
  endif()
endfunction()

# Semicolons separate the variables here; so a list shows as several.
stands_for(checks "heap | sorted | 2 | - | portable | quick | -" "heap; sorted; ; 2; ; portable; quick; -")
stands_for(checks "heap | {a,b}.x{,.y} | 3 | [A17] [trap 2] | both | random | 1"
           "heap; a.x;a.x.y;b.x;b.x.y; ; 3; [A17] [trap 2]; symmetric;asymmetric; random; 1")
stands_for(checks "heap | a.* | 2 | [B3] | unpinned | three_shapes | 2 / random 20000"
           "heap; a; smallest;two_levels;in_lane;beside_lane;grown; 2; [B3]; symmetric;asymmetric;portable; \
three_shapes; 2 / random 20000")
stands_for(twins "an order, too weak | heap | symmetric | a.b | H12=failure:relaxed | bound 3"
           "an order, too weak; heap; symmetric; a.b; H12=failure:relaxed; H12; bound; 3")
stands_for(twins "a check that fails | heap | portable | a | - | random 1000"
           "a check that fails; heap; portable; a; ; ; random; 1000")

refuses(checks "heap | sorted | 2 | [A17] | both | quick"
        "a line has 7 columns, program | check | bound | rows | forms | when | first")
refuses(checks "heap | sorted | 2 | [A17] | both | quick | 1 | 1" "and this one has 8")
refuses(checks "heap | sorted | 2 | | both | quick | 1" "the column 'rows' is empty")
refuses(checks "heep | sorted | 2 | - | both | quick | 1" "there is no program 'heep'")
refuses(checks "hub | sorted | 2 | - | both | quick | 1" "hub belongs to the room queue")
refuses(checks "heap | sorted | 2 | - | pinned | quick | 1" "heap is not built in the form pinned")
refuses(checks "heap | sorted | 2 | - | boht | quick | 1" "no set of forms 'boht'")
refuses(checks "heap | sorted{,.x | 2 | - | both | quick | 1" "is no name of a check")
refuses(checks "heap | Sorted | 2 | - | both | quick | 1" "'Sorted' is no name of a check")
refuses(checks "heap | sorted | - | - | both | quick | random 5" "all searches are random ones")
refuses(checks "heap | sorted | - | - | both | random | 1" "all searches are random ones")
refuses(checks "heap | sorted | two | - | both | quick | 1" "'two' is no bound")
refuses(checks "heap | sorted | 2 | A17 | both | quick | 1" "'A17' is no rows")
refuses(checks "heap | sorted | 2 | [A17 | both | quick | 1" "'[A17' is no rows")
refuses(checks "heap | sorted | 2 | - | both | shapes | 1" "where the check does not end in .*")
refuses(checks "heap | sorted.* | 2 | - | both | extra | -" "'extra' is no when")
refuses(checks "heap | sorted | 2 | - | both | quick | 3" "a greater bound")
refuses(checks "heap | sorted.* | 2 | - | both | shapes | 1 / 3" "a greater bound")
refuses(checks "heap | sorted | 2 | - | both | quick | 2 / 1" "one search where the check does not end in .*")
refuses(checks "heap | sorted | 2 | - | both | quick | many" "'many' is no first")
refuses(checks "heap | sorted | 2 | - | both | extra | 1" "an extra search is not the first one")
refuses(checks "heap | sorted \\ | 2 | - | both | quick | 1" "must not hold")
refuses(twins "what | heap | both | a | H1=relaxed | bound 3" "heap is not built in the form both")
refuses(twins "what | heap | symmetric | a.{b,c} | H1=relaxed | bound 3" "'a.{b,c}' is no check")
refuses(twins "what | heap | symmetric | a | H1 | bound 3" "'H1' is no weakening")
refuses(twins "what | heap | symmetric | a | H1=relaxed | 3" "'3' is no search")
refuses(programs "none | fence | both | symmetric" "there is no fence/none.cpp")
refuses(programs "heap | fence | both | pinned" "is not built in the form pinned")

# forms(SAID LINES...): what is said of lines that name the missing forms; nothing if they are right.
function(forms said)
  read(missing_forms fence/forms.table ${ARGN})
  if("${said}" STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "a good table of missing forms is refused: ${errors}")
  elseif(NOT "${said}" STREQUAL "" AND (result EQUAL 0 OR NOT errors MATCHES "${said}"))
    message(SEND_ERROR "missing forms: '${said}' is not said, but: ${errors}")
  endif()
endfunction()
forms("" "heap hub | pinned unfenced | a reason" "hub | portable | another")
forms("no line says why hub is not built in the form portable" "heap hub | pinned unfenced | a reason")
forms("forms.table:2: heap is built in the form portable" "heap hub | portable | a reason")
forms("forms.table:3: another line names heap in the form pinned" "heap | pinned | a reason" "heap | pinned | again")
forms("forms.table:2: there is no program 'heep'" "heep | pinned | a reason")
forms("forms.table:2: the column 'why' is empty" "heap | pinned | ")

read(mutant fence/good.mutant "file: a/b.hpp" "program: heap symmetric" "check: a.b: bound 2" "---")
if(NOT result EQUAL 0 OR NOT output MATCHES "row: heap; symmetric; a[.]b; 2\n")
  message(SEND_ERROR "a good mutant is not read: ${output}${errors}")
endif()
read(mutant fence/bad.mutant "file: a/b.hpp" "program: heap" "check: a.b: bound 2" "---")
if(result EQUAL 0 OR NOT errors MATCHES "/fence/bad.mutant:1: ")
  message(SEND_ERROR "a mutant that names no form is not refused: ${errors}")
endif()
read(mutant fence/bad.mutant "program: heap symmetric" "check: a.b: bound 2" "---")
if(result EQUAL 0 OR NOT errors MATCHES "/fence/bad.mutant:1: .*file: HEADER")
  message(SEND_ERROR "a mutant that names no header is not refused: ${errors}")
endif()
