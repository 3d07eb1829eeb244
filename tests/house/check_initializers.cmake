# SPDX-License-Identifier: BSL-1.0
#
# What the headers initialize while a program starts, for x86-64: only the registration of the barrier, which is asked
# for at its first use, too. Anything else would be wrong in what is made earlier.
#
#   cmake -D INCLUDE=... -D WORK_DIR=... -D COMPILER=... -D FLAGS=... -P check_initializers.cmake

separate_arguments(FLAGS NATIVE_COMMAND "${FLAGS}")
file(MAKE_DIRECTORY "${WORK_DIR}")
file(WRITE "${WORK_DIR}/all.cpp" "#include <tidemark/tidemark.hpp>\n")
execute_process(
  COMMAND "${COMPILER}" ${FLAGS} -std=c++20 -O0 -g0 -masm=att "-I${INCLUDE}" -S -o "${WORK_DIR}/all.s"
          "${WORK_DIR}/all.cpp"
  RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${errors}")
endif()

# Each initializer is a function of its own with clang, and all are one function with g++. Each calls something.
file(STRINGS "${WORK_DIR}/all.s" lines REGEX "^[_A-Za-z][^ ]*:|^\tcall|^\t.size")
set(calls "")
set(is_inside FALSE)
foreach(line IN LISTS lines)
  if(line MATCHES "^[^\t]*(__static_initialization_and_destruction|__cxx_global_var_init)[^:]*:")
    set(is_inside TRUE)
  elseif(line MATCHES "^\t.size")
    set(is_inside FALSE)
  elseif(is_inside AND NOT line MATCHES "__cxa_guard_" AND line MATCHES "^\tcallq?\t([^ \t]+)")
    list(APPEND calls "${CMAKE_MATCH_1}")
  endif()
endforeach()
if(NOT calls MATCHES "^_ZN8tidemark6detail13linux_machine13can_interruptEv(@PLT)?$")
  message(FATAL_ERROR "the headers initialize while a program starts: '${calls}'")
endif()
message(STATUS "the headers initialize only: ${calls}")
