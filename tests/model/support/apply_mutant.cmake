# SPDX-License-Identifier: BSL-1.0
#
# Makes a folder in which all headers are symbolic links to the shipped ones but for the one that a .mutant file names.
# That is a copy, changed as the file says: each text between `---` and `+++` must stand exactly once in the header, and
# is replaced by what follows. So a mutant that no longer fits the shipped headers stops the build.
#
#   cmake -D MUTANT=<file> -D HEADER=<path> -D INCLUDE=<include folder> -D LIST=<file> -D OUTPUT=<folder>
#         -P apply_mutant.cmake
#
# HEADER is the path of the changed header in the include folder. LIST has the paths of all headers, a line each.
cmake_minimum_required(VERSION 3.23)

file(READ "${MUTANT}" recipe)
file(READ "${INCLUDE}/${HEADER}" source)

set(changes 0)
string(FIND "\n${recipe}" "\n---\n" begin)
while(NOT begin EQUAL -1)
  math(EXPR begin "${begin} + 4")
  string(SUBSTRING "${recipe}" ${begin} -1 recipe)
  string(FIND "${recipe}" "\n+++\n" middle)
  if(middle EQUAL -1)
    message(FATAL_ERROR "${MUTANT}: a --- without its +++")
  endif()
  string(SUBSTRING "${recipe}" 0 ${middle} before)
  math(EXPR middle "${middle} + 5")
  string(SUBSTRING "${recipe}" ${middle} -1 recipe)
  string(FIND "\n${recipe}" "\n---\n" begin)
  string(SUBSTRING "${recipe}" 0 ${begin} after)
  string(REGEX REPLACE "\n$" "" after "${after}")

  string(FIND "${source}" "${before}" first)
  string(FIND "${source}" "${before}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "${MUTANT}: this text must stand exactly once in ${HEADER}:\n${before}")
  endif()
  string(LENGTH "${before}" length)
  math(EXPR rest "${first} + ${length}")
  string(SUBSTRING "${source}" 0 ${first} head)
  string(SUBSTRING "${source}" ${rest} -1 tail)
  set(source "${head}${after}${tail}")
  math(EXPR changes "${changes} + 1")
endwhile()
if(changes EQUAL 0)
  message(FATAL_ERROR "${MUTANT} changes nothing")
endif()

# What did not change is not written again, so that nothing is compiled again.
file(STRINGS "${LIST}" headers)
if(NOT HEADER IN_LIST headers)
  message(FATAL_ERROR "${MUTANT} changes ${HEADER}, which is no header")
endif()
list(REMOVE_ITEM headers "${HEADER}")
file(GLOB_RECURSE links RELATIVE "${OUTPUT}" "${OUTPUT}/tidemark/*.hpp")
foreach(link IN LISTS links)
  if(NOT link IN_LIST headers AND NOT link STREQUAL HEADER)
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
cmake_path(GET HEADER PARENT_PATH folder)
file(MAKE_DIRECTORY "${OUTPUT}/${folder}")
if(IS_SYMLINK "${OUTPUT}/${HEADER}")
  file(REMOVE "${OUTPUT}/${HEADER}")
endif()
set(written "")
if(EXISTS "${OUTPUT}/${HEADER}")
  file(READ "${OUTPUT}/${HEADER}" written)
endif()
if(NOT "${source}" STREQUAL "${written}")
  file(WRITE "${OUTPUT}/${HEADER}" "${source}")
endif()
