# SPDX-License-Identifier: BSL-1.0
#
# Compiles the two files of tests/packaging/mixed_program with different flags. Where the platforms would be made of
# different parts, they must not link, and the linker must say what differs. Otherwise they must link and run.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... -D COMPILER=... -D FLAGS=... -P check_mixed_program.cmake
cmake_minimum_required(VERSION 3.23)

set(program "${SOURCE_DIR}/tests/packaging/mixed_program")
separate_arguments(FLAGS NATIVE_COMMAND "${FLAGS}")
# Some builds force the fallbacks for all files.
list(APPEND FLAGS -UTIDEMARK_FORCE_LOCKED_DOUBLE_WORD -UTIDEMARK_FORCE_PORTABLE_PARKING -pthread)
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# compile(NAME SOURCE [FLAG]...)
function(compile name source)
  execute_process(
    COMMAND "${COMPILER}" ${FLAGS} -std=c++20 "-I${SOURCE_DIR}/include" ${ARGN} -c -o "${WORK_DIR}/${name}.o"
            "${program}/${source}.cpp"
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${name}.o can't be compiled:\n${output}")
  endif()
endfunction()

# Sets status and output. The arguments are flags of the linker.
macro(link first second)
  execute_process(
    COMMAND "${COMPILER}" ${FLAGS} ${ARGN} "${WORK_DIR}/${first}.o" "${WORK_DIR}/${second}.o" -o "${WORK_DIR}/program"
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
    RESULT_VARIABLE status)
endmacro()

# refuse(FIRST SECOND WORDS [LINKER-FLAG]...): the two don't link, and the linker prints the words.
function(refuse first second words)
  link(${first} ${second} ${ARGN})
  if(status EQUAL 0)
    message(FATAL_ERROR "${first}.o and ${second}.o must not link")
  endif()
  if(NOT output MATCHES "${words}")
    message(FATAL_ERROR "the linker does not say '${words}' of ${first}.o and ${second}.o:\n${output}")
  endif()
  message(STATUS "${first}.o and ${second}.o do not link: ${words}")
endfunction()

compile(main main)

# ---- what may differ -------------------------------------------------------------------------------------------------

set(newer "")
if(EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo features REGEX "^flags.* avx2( |$)" LIMIT_COUNT 1)
  if(features)
    set(newer -mavx2)
  endif()
endif()
compile(optimized other -O3 ${newer})
compile(bare other -O1 -DNDEBUG -fno-exceptions -fno-rtti -fvisibility=hidden -fPIC)
foreach(other IN ITEMS optimized bare)
  link(main ${other})
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "main.o and ${other}.o must link:\n${output}")
  endif()
  execute_process(COMMAND "${WORK_DIR}/program" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the program of main.o and ${other}.o ended with ${status}")
  endif()
  message(STATUS "main.o and ${other}.o link and run")
endforeach()

# ---- what must not ---------------------------------------------------------------------------------------------------

set(reason "must_agree_on(::|[0-9]+)")
set(macros "")
cmake_host_system_information(RESULT machine QUERY OS_PLATFORM)
if(machine MATCHES "^(x86_64|AMD64|aarch64)$") # elsewhere the double word is always locked
  list(APPEND macros LOCKED_DOUBLE_WORD)
endif()
list(APPEND macros PORTABLE_PARKING)
# Where the compiler finds this linker, which keeps only what is used, or marked.
set(with_lld "")
execute_process(COMMAND "${COMPILER}" -fuse-ld=lld -Wl,--version OUTPUT_VARIABLE linker ERROR_QUIET)
if(linker MATCHES "LLD ([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 19)
  set(with_lld -fuse-ld=lld -Wl,--gc-sections)
endif()
foreach(macro IN LISTS macros)
  string(TOLOWER "force_${macro}" name)
  compile(${name} other -DTIDEMARK_FORCE_${macro})
  refuse(main ${name} "${reason}${name}")
  refuse(${name} main "${reason}${name}")
  if(with_lld)
    refuse(main ${name} "${name}" ${with_lld})
    refuse(${name} main "${name}" ${with_lld})
  endif()
endforeach()

file(WRITE "${WORK_DIR}/nothing.cpp" "int main() {}\n")
execute_process(
  COMMAND "${COMPILER}" ${FLAGS} -fsanitize=thread -o "${WORK_DIR}/nothing" "${WORK_DIR}/nothing.cpp"
  RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
  compile(thread_sanitizer other -fsanitize=thread)
  refuse(main thread_sanitizer "${reason}thread_sanitizer" -fsanitize=thread)
  refuse(thread_sanitizer main "${reason}thread_sanitizer" -fsanitize=thread)
else()
  message(STATUS "${COMPILER} can't link with -fsanitize=thread")
endif()

# Without the marks, the symbols of what names a fence still differ.
compile(main_without_marks main -U__ELF__ -DNAMES_THE_FENCE)
compile(portable_without_marks other -U__ELF__ -DNAMES_THE_FENCE -DTIDEMARK_FORCE_PORTABLE_PARKING)
refuse(main_without_marks portable_without_marks
       "undefined (reference|symbol).*finish.*tidemark::[a-z]+_futex_[a-z]+::native_platform")
