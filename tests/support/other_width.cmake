# SPDX-License-Identifier: BSL-1.0
#
# A program for a test that a process with addresses of another width meets: TIDEMARK_OTHER_WIDTH_COMPILER builds it,
# for 32 bits where the tests have 64, and the other way round. There is one if the package of that compiler is
# installed; else the test says that it was not tested.
include_guard()

if(CMAKE_SIZEOF_VOID_P EQUAL 8 AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  find_program(TIDEMARK_OTHER_WIDTH_COMPILER i686-linux-gnu-g++)
elseif(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_PROCESSOR STREQUAL "i686")
  find_program(TIDEMARK_OTHER_WIDTH_COMPILER x86_64-linux-gnu-g++)
endif()
mark_as_advanced(TIDEMARK_OTHER_WIDTH_COMPILER)

# Builds `source` for that width, and tells the target `test` its path as TIDEMARK_OTHER_WIDTH_PEER.
function(tidemark_add_peer_of_other_width test source)
  if(NOT TIDEMARK_OTHER_WIDTH_COMPILER)
    return()
  endif()
  set(peer "${CMAKE_CURRENT_BINARY_DIR}/${test}_peer")
  add_custom_command(
    OUTPUT "${peer}"
    COMMAND "${TIDEMARK_OTHER_WIDTH_COMPILER}" -std=c++20 -O1 -static -pthread -I "${PROJECT_SOURCE_DIR}/include"
            "${source}" -o "${peer}" -MD -MF "${peer}.d" -MT "${peer}"
    DEPENDS "${source}"
    DEPFILE "${peer}.d"
    VERBATIM)
  add_custom_target(${test}_needs_peer DEPENDS "${peer}")
  add_dependencies(${test} ${test}_needs_peer)
  target_compile_definitions(${test} PRIVATE "TIDEMARK_OTHER_WIDTH_PEER=\"${peer}\"")
endfunction()
