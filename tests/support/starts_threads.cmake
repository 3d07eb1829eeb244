# SPDX-License-Identifier: BSL-1.0
#
# Which programs start threads. ThreadSanitizer's build leaves out those that start none. What this file says of a
# source is compared with its object file by a test of the house.

# tidemark_starts_threads(OUT SOURCE): sets OUT to whether the text of a test, or of a header of support/ that it
# includes, may start a thread or a process. The thread of a watchdog, which lies in watchdog.cpp, does not count.
function(tidemark_starts_threads out source)
  set(tests "${PROJECT_SOURCE_DIR}/tests")
  set(to_read "${source}")
  set(seen "")
  string(CONCAT starts "std::j?thread[ {(\n>]|pthread_create|std::async|[^a-z]fork\\(|engine/engine|basic_engine<|"
                "[^a-z_]engine([>:{(]| [a-z_]+[;{(])")
  set(${out} false PARENT_SCOPE)
  while(to_read)
    list(POP_FRONT to_read file)
    list(APPEND seen "${file}")
    file(READ "${file}" text)
    if(text MATCHES "${starts}")
      set(${out} true PARENT_SCOPE)
      return()
    endif()
    string(REGEX MATCHALL "#include \"[a-z_/]+[.]hpp\"" includes "${text}")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "#include \"(support/)?([a-z_/]+[.]hpp)\"" "${tests}/support/\\2" include "${include}")
      if(EXISTS "${include}" AND NOT include IN_LIST seen)
        list(APPEND to_read "${include}")
      endif()
    endforeach()
  endwhile()
endfunction()
