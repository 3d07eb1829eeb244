# SPDX-License-Identifier: BSL-1.0
#
# Where the library can't be compiled, the first error says what is missing: below C++20, without lock-free atomics of
# 64 bits, and without the threads of C++. The last two are tried with such compilers where they are installed (Debian:
# g++-arm-linux-gnueabi, g++-mipsel-linux-gnu, g++-mingw-w64-x86-64-win32). This compiler, too, is told that its machine
# has no such atomics.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... -D COMPILER=... -D FLAGS=... -P check_refusals.cmake
cmake_minimum_required(VERSION 3.23)

separate_arguments(FLAGS NATIVE_COMMAND "${FLAGS}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# refuse(WORDS COMPILER FLAG...): the first error has these words, whichever header comes first.
function(refuse words compiler)
  foreach(header IN ITEMS tidemark fence/fence queue/queue memory/rename_ring)
    file(WRITE "${WORK_DIR}/source.cpp" "#include <tidemark/${header}.hpp>\n")
    execute_process(
      COMMAND "${compiler}" ${ARGN} "-I${SOURCE_DIR}/include" -fsyntax-only "${WORK_DIR}/source.cpp"
      OUTPUT_VARIABLE output
      ERROR_VARIABLE output
      RESULT_VARIABLE status)
    if(status EQUAL 0)
      message(FATAL_ERROR "${compiler} ${ARGN} compiles ${header}.hpp, though there are no ${words}")
    endif()
    string(FIND "${output}" "error: " first)
    string(SUBSTRING "${output}" ${first} 120 first)
    string(FIND "${first}" "tidemark needs ${words}" place)
    if(place EQUAL -1)
      message(FATAL_ERROR "${compiler} ${ARGN}: the first error in ${header}.hpp is not of ${words}:\n${first}")
    endif()
  endforeach()
  message(STATUS "${compiler} ${ARGN}: ${words}")
endfunction()

refuse("C++20" "${COMPILER}" ${FLAGS} -std=c++17)
# libc++ looks at Clang's word for it, where there is one.
refuse(
  "64-bit atomics"
  "${COMPILER}"
  ${FLAGS}
  -std=c++20
  -w
  -U__GCC_ATOMIC_LLONG_LOCK_FREE
  -D__GCC_ATOMIC_LLONG_LOCK_FREE=1
  -U__CLANG_ATOMIC_LLONG_LOCK_FREE
  -D__CLANG_ATOMIC_LLONG_LOCK_FREE=1)
foreach(
  compiler_and_words IN
  ITEMS "arm-linux-gnueabi-g++:64-bit atomics" "mipsel-linux-gnu-g++:64-bit atomics"
        "x86_64-w64-mingw32-g++-win32:std::mutex")
  string(REGEX MATCH "^([^:]+):(.+)$" matched "${compiler_and_words}")
  set(words "${CMAKE_MATCH_2}")
  find_program(found_${CMAKE_MATCH_1} ${CMAKE_MATCH_1})
  if(found_${CMAKE_MATCH_1})
    refuse("${words}" "${found_${CMAKE_MATCH_1}}" -std=c++20)
  endif()
endforeach()
