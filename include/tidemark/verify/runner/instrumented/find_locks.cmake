# SPDX-License-Identifier: BSL-1.0
#
# Fails if objects that were compiled for the checker have an atomic instruction. Their atomic operations are calls, so
# it is inline assembler, which the checker does not see.
#
#   cmake -D OBJDUMP=... -D OBJECTS="a.o;b.o" -P find_locks.cmake
#
# Of x86 and of AArch64.
set(x86 "lock [a-z]+|xchg[bwlq]? +[^\n]*\\(|cmpxchg[a-z0-9]*|[ms]fence|lfence")
set(aarch64 "lda?xp?r?[bh]?|stl?xp?r?[bh]?|dmb|casp?a?l?[bh]?|swpa?l?[bh]?|ld(add|clr|set|eor)a?l?[bh]?")
set(instructions "${x86}|${aarch64}")
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND "${OBJDUMP}" -d --no-show-raw-insn "${object}" OUTPUT_VARIABLE code RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${object} can't be disassembled")
  endif()
  if(code MATCHES "\n[^\n]*\t((${instructions})[ \t\n][^\n]*)")
    message(FATAL_ERROR "${object}: inline assembler can't be followed, but there is '${CMAKE_MATCH_1}'")
  endif()
endforeach()
