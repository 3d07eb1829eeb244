# SPDX-License-Identifier: BSL-1.0
#
# TIDEMARK_HAS_SHARED_FENCES: whether there are fences that processes share, which needs Linux and its futexes.
include_guard()

include(CheckCXXSourceCompiles)

function(tidemark_look_for_shared_fences)
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_REQUIRED_INCLUDES "${PROJECT_SOURCE_DIR}/include")
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles(
    "#include <tidemark/platform/platform.hpp>
     #if !defined(__linux__) || !TIDEMARK_HAS_FUTEX
     #error
     #endif
     int main() {}"
    TIDEMARK_HAS_SHARED_FENCES)
endfunction()

tidemark_look_for_shared_fences()
