# SPDX-License-Identifier: BSL-1.0
#
# On x86-64 a program may be compiled with -masm=intel, where the operands of an instruction stand in the other order.
# So each statement in assembler must be written in both dialects. Compiles the source in both, and expects the same
# machine code. The object files may differ in the order of their symbols, so their instructions are compared.
#
#   cmake -D SOURCE=... -D INCLUDE=... -D WORK_DIR=... -D COMPILER=... -D OBJDUMP=... -D FLAGS=...
#         -P check_dialects.cmake

separate_arguments(FLAGS NATIVE_COMMAND "${FLAGS}")
file(MAKE_DIRECTORY "${WORK_DIR}")
foreach(dialect IN ITEMS att intel)
  execute_process(
    COMMAND "${COMPILER}" ${FLAGS} -std=c++20 -O2 -g0 -DNDEBUG "-I${INCLUDE}" -masm=${dialect} -c -o
            "${WORK_DIR}/${dialect}.o" "${SOURCE}"
    RESULT_VARIABLE status ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "-masm=${dialect}: ${errors}")
  endif()
  # In the folder of the file, whose name it prints: that must be the same of both.
  file(MAKE_DIRECTORY "${WORK_DIR}/${dialect}")
  file(RENAME "${WORK_DIR}/${dialect}.o" "${WORK_DIR}/${dialect}/dialects.o")
  execute_process(
    COMMAND "${OBJDUMP}" -d -r dialects.o
    WORKING_DIRECTORY "${WORK_DIR}/${dialect}"
    OUTPUT_VARIABLE ${dialect} RESULT_VARIABLE status ERROR_VARIABLE errors)
  if(NOT status EQUAL 0 OR NOT ${dialect} MATCHES "ret")
    message(FATAL_ERROR "${OBJDUMP} reads no instructions: ${errors}")
  endif()
endforeach()
if(NOT att STREQUAL intel)
  message(FATAL_ERROR "${WORK_DIR}/att and intel differ: a statement in assembler is written in one dialect")
endif()
message(STATUS "both dialects give the same machine code")
