# SPDX-License-Identifier: BSL-1.0
#
# The libraries that our own parts need: those of the system where they are installed (Debian: doctest-dev, relacy-dev,
# libbenchmark-dev), otherwise pinned copies, fetched only for parts asked for by name (TIDEMARK_BUILD_...=ON).
include_guard()

# tidemark_find_headers(VARIABLE HEADER): the folder that has this header, or NOTFOUND.
macro(tidemark_find_headers variable header)
  find_path(${variable} ${header})
  mark_as_advanced(${variable})
endmacro()

# Turns each TIDEMARK_BUILD_<part> that is AUTO into ON, or into OFF where something is missing, for the calling folder
# and those below. Fetches nothing.
macro(tidemark_decide_parts)
  if(TIDEMARK_BUILD_TESTS STREQUAL "AUTO" AND NOT BUILD_TESTING)
    set(TIDEMARK_BUILD_TESTS OFF)
  endif()
  if(TIDEMARK_BUILD_MODEL STREQUAL "AUTO" AND NOT TIDEMARK_BUILD_TESTS)
    set(TIDEMARK_BUILD_MODEL OFF)
  endif()
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  foreach(part IN ITEMS TESTS MODEL BENCH EXAMPLES)
    if(NOT TIDEMARK_BUILD_${part} STREQUAL "AUTO")
      continue()
    endif()
    set(missing "")
    find_package(Threads)
    if(NOT Threads_FOUND)
      list(APPEND missing "a thread library")
    endif()
    if(part STREQUAL "TESTS")
      tidemark_find_headers(TIDEMARK_DOCTEST_INCLUDE_DIR doctest/doctest.h)
      if(NOT TIDEMARK_DOCTEST_INCLUDE_DIR)
        list(APPEND missing "doctest")
      endif()
    elseif(part STREQUAL "MODEL")
      tidemark_find_headers(TIDEMARK_RELACY_INCLUDE_DIR relacy/relacy.hpp)
      if(NOT TIDEMARK_RELACY_INCLUDE_DIR)
        list(APPEND missing "Relacy")
      endif()
    elseif(part STREQUAL "BENCH")
      find_package(benchmark QUIET)
      if(NOT benchmark_FOUND)
        list(APPEND missing "Google Benchmark")
      endif()
    endif()
    if(missing)
      list(JOIN missing ", " missing)
      message(STATUS "TIDEMARK_BUILD_${part} is AUTO and turned off, not installed: ${missing}")
      set(TIDEMARK_BUILD_${part} OFF)
    else()
      set(TIDEMARK_BUILD_${part} ON)
    endif()
  endforeach()
endmacro()

# A fetched library is only unpacked: naming a folder without a CMakeLists.txt keeps its own build out of ours.

# The include path for an installed library whose headers lie in <include_dir>/<name>. A cross compiler must not see the
# rest of that folder, which holds the C library of this machine, so it gets a folder with a link to this library alone.
function(tidemark_include_alone result include_dir name)
  if(CMAKE_CROSSCOMPILING)
    set(alone "${PROJECT_BINARY_DIR}/alone/${name}")
    file(MAKE_DIRECTORY "${alone}")
    file(CREATE_LINK "${include_dir}/${name}" "${alone}/${name}" SYMBOLIC)
    set(include_dir "${alone}")
  endif()
  set(${result} "${include_dir}" PARENT_SCOPE)
endfunction()

# Defines tidemark_doctest: <doctest/doctest.h>.
function(tidemark_need_doctest)
  if(TARGET tidemark_doctest)
    return()
  endif()
  tidemark_find_headers(TIDEMARK_DOCTEST_INCLUDE_DIR doctest/doctest.h)
  set(include_dir "${TIDEMARK_DOCTEST_INCLUDE_DIR}")
  if(NOT include_dir)
    message(STATUS "doctest is not installed: fetching version 2.4.9 (not needed with TIDEMARK_BUILD_TESTS=OFF)")
    include(FetchContent)
    FetchContent_Declare(
      tidemark_doctest_source
      URL https://github.com/doctest/doctest/archive/refs/tags/v2.4.9.tar.gz
      URL_HASH SHA256=19b2df757f2f3703a5e63cee553d85596875f06d91a3333acd80a969ef210856
      SOURCE_SUBDIR headers-only)
    FetchContent_MakeAvailable(tidemark_doctest_source)
    set(include_dir "${tidemark_doctest_source_SOURCE_DIR}")
  endif()
  tidemark_include_alone(include_dir "${include_dir}" doctest)
  add_library(tidemark_doctest INTERFACE)
  target_include_directories(tidemark_doctest SYSTEM INTERFACE "${include_dir}")
  # An exception out of an assertion's expression ends its test case instead of the assertion: a fifth less to compile.
  target_compile_definitions(tidemark_doctest INTERFACE DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
endfunction()

# Defines tidemark_relacy: <relacy/relacy.hpp>. Relacy replaces the global new and delete, so link it only into programs
# that are nothing but model checks. With OPTIONAL it is not fetched, and there may be no such target afterwards.
function(tidemark_need_relacy)
  cmake_parse_arguments(PARSE_ARGV 0 arg OPTIONAL "" "")
  if(TARGET tidemark_relacy)
    return()
  endif()
  tidemark_find_headers(TIDEMARK_RELACY_INCLUDE_DIR relacy/relacy.hpp)
  set(include_dir "${TIDEMARK_RELACY_INCLUDE_DIR}")
  if(NOT include_dir AND arg_OPTIONAL)
    return()
  endif()
  if(NOT include_dir)
    message(STATUS "Relacy is not installed: fetching commit acc09bb (not needed with TIDEMARK_BUILD_MODEL=OFF)")
    include(FetchContent)
    FetchContent_Declare(
      tidemark_relacy_source
      GIT_REPOSITORY https://github.com/dvyukov/relacy.git
      GIT_TAG acc09bb
      SOURCE_SUBDIR headers-only)
    FetchContent_MakeAvailable(tidemark_relacy_source)
    set(include_dir "${tidemark_relacy_source_SOURCE_DIR}")
  endif()
  tidemark_include_alone(include_dir "${include_dir}" relacy)
  add_library(tidemark_relacy INTERFACE)
  target_include_directories(tidemark_relacy SYSTEM INTERFACE "${include_dir}")
endfunction()
