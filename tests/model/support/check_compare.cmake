# SPDX-License-Identifier: BSL-1.0
#
# Shows that a program of the model checks names a check of its own that no line of the tables has, and a line whose
# check it does not have.
#
#   cmake -D PROGRAM=<model_planted_asymmetric> -D WORK=<folder> -P check_compare.cmake
cmake_minimum_required(VERSION 3.23)

# compare(RESULT OUTPUT lines...): what the program says of these lines.
function(compare result output)
  list(JOIN ARGN "\n" lines)
  file(WRITE "${WORK}/test.txt" "${lines}\n")
  execute_process(COMMAND "${PROGRAM}" --compare "${WORK}/test.txt" asymmetric
                  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  set(${result} "${status}" PARENT_SCOPE)
  set(${output} "${said}" PARENT_SCOPE)
endfunction()

# expect(STATUS PATTERN lines...)
function(expect status pattern)
  compare(result said ${ARGN})
  if(NOT result EQUAL status OR NOT said MATCHES "^${pattern}$")
    message(SEND_ERROR "expected ${status} and '${pattern}', and got ${result} and '${said}' for:\n${ARGN}")
  endif()
endfunction()

set(all "asymmetric hand_over a:1" "asymmetric rendezvous a:2")
expect(0 "each of 3 checks has a line\n" ${all} "asymmetric missing_order a:3")
# A line of another form is enough, because it lets the check run.
expect(0 "each of 3 checks has a line\n" ${all} "symmetric missing_order a:3")
expect(1 "[a-z_]+ has the check 'missing_order', but no line of the tables names it: it never runs\n" ${all})
expect(1 "b:7: [a-z_]+ has no check 'missing_ordre'\n" ${all} "asymmetric missing_order a:3"
       "asymmetric missing_ordre b:7")
# Of this one the program of the other form must know.
expect(0 "each of 3 checks has a line\n" ${all} "asymmetric missing_order a:3" "symmetric missing_ordre b:7")
