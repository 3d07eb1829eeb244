# SPDX-License-Identifier: BSL-1.0
#
# The two header-only libraries that the tests need: those of the system where they are installed (Debian: doctest-dev,
# relacy-dev), otherwise pinned copies, fetched only when this file is asked for them.
include_guard()
include(FetchContent)

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
  find_path(TIDEMARK_DOCTEST_INCLUDE_DIR doctest/doctest.h)
  mark_as_advanced(TIDEMARK_DOCTEST_INCLUDE_DIR)
  set(include_dir "${TIDEMARK_DOCTEST_INCLUDE_DIR}")
  if(NOT include_dir)
    message(STATUS "doctest is not installed: fetching version 2.4.9 (not needed with TIDEMARK_BUILD_TESTS=OFF)")
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
  find_path(TIDEMARK_RELACY_INCLUDE_DIR relacy/relacy.hpp)
  mark_as_advanced(TIDEMARK_RELACY_INCLUDE_DIR)
  set(include_dir "${TIDEMARK_RELACY_INCLUDE_DIR}")
  if(NOT include_dir AND arg_OPTIONAL)
    return()
  endif()
  if(NOT include_dir)
    message(STATUS "Relacy is not installed: fetching commit acc09bb (not needed with TIDEMARK_BUILD_MODEL=OFF)")
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
