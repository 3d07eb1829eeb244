# SPDX-License-Identifier: BSL-1.0
#
# Uses the library in three parts of one program: tests/packaging/libraries is an executable, a library that it is
# linked with, and a copy of that library that it opens. Each part has a copy of all that the headers define, and must
# work with the objects of the others. Otherwise the program hangs.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... -D COMPILERS=... -D FLAGS=... -D TIMEOUT=... [-D FORMS=...]
#         -P check_libraries.cmake
#
#   COMPILERS  a list. The first one builds all forms, the others only the first form
#   TIMEOUT    seconds after which a program hangs
#   FORMS      a list of these: hidden, default (visibility), condition_variables (hidden, and without futexes)
cmake_minimum_required(VERSION 3.23)

set(source "${SOURCE_DIR}/tests/packaging/libraries")
separate_arguments(FLAGS NATIVE_COMMAND "${FLAGS}")
if(NOT FORMS)
  set(FORMS hidden default condition_variables)
endif()
set(flags_of_hidden -fvisibility=hidden -fvisibility-inlines-hidden)
set(flags_of_default -fvisibility=default)
set(flags_of_condition_variables ${flags_of_hidden} -DTIDEMARK_FORCE_PORTABLE_PARKING)

function(run what)
  execute_process(${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
foreach(compiler IN LISTS COMPILERS)
  cmake_path(GET compiler FILENAME name)
  foreach(form IN LISTS FORMS)
    set(folder "${WORK_DIR}/${name}-${form}")
    file(MAKE_DIRECTORY "${folder}")
    set(compile "${compiler}" ${FLAGS} -std=c++20 -O0 -pthread ${flags_of_${form}} "-I${SOURCE_DIR}/include"
                "-I${SOURCE_DIR}/tests")
    set(library "${folder}/libpart.so")
    run("${name}, ${form}: the library" COMMAND ${compile} -fPIC -shared "${source}/part.cpp" -o "${library}")
    # Another file, so that it is another library.
    configure_file("${library}" "${folder}/plugin.so" COPYONLY)
    run("${name}, ${form}: the program" COMMAND ${compile} "${source}/main.cpp" "${library}" -ldl
        "-Wl,-rpath,${folder}" -o "${folder}/program")
    run("${name}, ${form}" COMMAND "${folder}/program" "${folder}/plugin.so" TIMEOUT "${TIMEOUT}")
    message(STATUS "${name}, ${form}: ok")
  endforeach()
  list(GET FORMS 0 FORMS)
endforeach()
