# SPDX-License-Identifier: BSL-1.0
#
# Copies the headers and changes the copy as a .mutant file says: each text between `---` and `+++` must stand exactly
# once in the named header, and is replaced by what follows. So a mutant that no longer fits the shipped headers stops
# the build.
#
#   cmake -D MUTANT=<file> -D HEADERS=<include folder> -D OUTPUT=<folder> -P apply_mutant.cmake
file(READ "${MUTANT}" recipe)
if(NOT recipe MATCHES "\nfile: ([^\n]+)\n")
  message(FATAL_ERROR "${MUTANT} names no file")
endif()
set(target "${OUTPUT}/tidemark/${CMAKE_MATCH_1}")

file(REMOVE_RECURSE "${OUTPUT}")
file(COPY "${HEADERS}/tidemark" DESTINATION "${OUTPUT}")
file(READ "${target}" source)

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
    message(FATAL_ERROR "${MUTANT}: this text must stand exactly once in ${target}:\n${before}")
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
file(WRITE "${target}" "${source}")
