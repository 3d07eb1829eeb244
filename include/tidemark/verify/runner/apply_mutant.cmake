# SPDX-License-Identifier: BSL-1.0
#
# Makes a folder in which all files are symbolic links to those of another one, but for the one that a .mutant file
# names. That is a copy, changed as the file says (mutant.cmake). So a mutant that no longer fits the headers stops the
# build.
#
#   cmake -D MUTANT=<file> -D INCLUDE=<folder of the headers> -D OUTPUT=<folder> -P apply_mutant.cmake
cmake_minimum_required(VERSION 3.23)
include("${CMAKE_CURRENT_LIST_DIR}/mutant.cmake")

mutate("${MUTANT}" "${INCLUDE}" changed source)

# What did not change is not written again, so that nothing is compiled again.
file(GLOB_RECURSE headers RELATIVE "${INCLUDE}" "${INCLUDE}/*")
list(REMOVE_ITEM headers "${changed}")
file(GLOB_RECURSE links RELATIVE "${OUTPUT}" "${OUTPUT}/*")
foreach(link IN LISTS links)
  if(NOT link IN_LIST headers AND NOT link STREQUAL changed)
    file(REMOVE "${OUTPUT}/${link}")
  endif()
endforeach()
foreach(header IN LISTS headers)
  if(NOT IS_SYMLINK "${OUTPUT}/${header}")
    cmake_path(GET header PARENT_PATH folder)
    file(MAKE_DIRECTORY "${OUTPUT}/${folder}")
    file(REMOVE "${OUTPUT}/${header}")
    file(CREATE_LINK "${INCLUDE}/${header}" "${OUTPUT}/${header}" SYMBOLIC)
  endif()
endforeach()
cmake_path(GET changed PARENT_PATH folder)
file(MAKE_DIRECTORY "${OUTPUT}/${folder}")
if(IS_SYMLINK "${OUTPUT}/${changed}")
  file(REMOVE "${OUTPUT}/${changed}")
endif()
set(written "")
if(EXISTS "${OUTPUT}/${changed}")
  file(READ "${OUTPUT}/${changed}" written)
endif()
if(NOT "${source}" STREQUAL "${written}")
  file(WRITE "${OUTPUT}/${changed}" "${source}")
endif()
