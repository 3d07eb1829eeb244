# SPDX-License-Identifier: BSL-1.0
#
# The twin of the soak, told to make a mistake, finds it and says so.
#
#   cmake -D SOAK=... -D EMULATOR=... -D FAULT=... -D TEXT=<regular expression> -P check_fault.cmake

execute_process(
  COMMAND ${EMULATOR} "${SOAK}" 1 --seed 1 --limit 3 --fault "${FAULT}"
  OUTPUT_VARIABLE output
  ERROR_VARIABLE errors
  RESULT_VARIABLE status)
if(NOT status EQUAL 1)
  message(FATAL_ERROR "exit status ${status} and not 1\n${output}${errors}")
endif()
foreach(text IN ITEMS "FAILED, seed 1, round [0-9]+" "schedule .*thread 0, signaller" "state: current_value" "${TEXT}")
  if(NOT errors MATCHES "${text}")
    message(FATAL_ERROR "does not say '${text}'\n${output}${errors}")
  endif()
endforeach()
string(REGEX MATCH "soak: FAILED, seed[^\n]*\n[^\n]*" found "${errors}")
message(STATUS "${found}")
