# SPDX-License-Identifier: BSL-1.0
#
# What a fence must not bring from the standard library where threads sleep on futexes: <mutex> and
# <condition_variable>, a tenth of all lines. libstdc++ only, because headers of other libraries include each other.
#
#   cmake -D INCLUDE=... -D WORK_DIR=... -D COMPILER=... -D FLAGS=... -P check_light_headers.cmake

separate_arguments(FLAGS NATIVE_COMMAND "${FLAGS}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# Sets `out` to the headers of the standard library that the header brings.
function(list_headers header out)
  file(WRITE "${WORK_DIR}/one.cpp" "#include <tidemark/${header}>\n")
  execute_process(
    COMMAND "${COMPILER}" ${FLAGS} -std=c++20 "-I${INCLUDE}" -M -MF "${WORK_DIR}/one.d" "${WORK_DIR}/one.cpp"
    RESULT_VARIABLE status ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${errors}")
  endif()
  file(READ "${WORK_DIR}/one.d" found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The search finds them where they are.
list_headers(platform/portable_platform.hpp portable)
foreach(name mutex condition_variable)
  if(NOT portable MATCHES "/${name}[ \n]")
    message(FATAL_ERROR "<${name}> was not found in what portable_platform.hpp brings")
  endif()
endforeach()

foreach(header fence/fence.hpp core.hpp)
  list_headers(${header} light)
  foreach(name mutex condition_variable)
    if(light MATCHES "/${name}[ \n]")
      message(FATAL_ERROR "${header} brings <${name}>")
    endif()
  endforeach()
endforeach()
