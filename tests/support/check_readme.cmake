# SPDX-License-Identifier: BSL-1.0
#
# The README's first code is examples/quickstart.cpp, letter for letter: the fenced block behind the marker must equal
# the file.
#
#   cmake -D SOURCE_DIR=... -P check_readme.cmake

set(marker "<!-- quoted from examples/quickstart.cpp -->")
set(fence "```cpp\n")

if(NOT EXISTS "${SOURCE_DIR}/README.md")
  message(FATAL_ERROR "README.md is missing")
endif()
file(READ "${SOURCE_DIR}/README.md" readme)
file(READ "${SOURCE_DIR}/examples/quickstart.cpp" example)

string(FIND "${readme}" "${marker}" start)
if(start EQUAL -1)
  message(FATAL_ERROR "README.md has no line ${marker}")
endif()
string(LENGTH "${marker}" skip)
math(EXPR start "${start} + ${skip}")
string(SUBSTRING "${readme}" ${start} -1 readme)
string(STRIP "${readme}" readme)

string(FIND "${readme}" "${fence}" start)
if(NOT start EQUAL 0)
  message(FATAL_ERROR "README.md: a block that opens with ```cpp must follow the marker at once")
endif()
string(LENGTH "${fence}" skip)
string(SUBSTRING "${readme}" ${skip} -1 readme)
string(FIND "${readme}" "\n```" end)
if(end EQUAL -1)
  message(FATAL_ERROR "README.md: the block behind the marker is not closed")
endif()
string(SUBSTRING "${readme}" 0 ${end} quoted)

if(NOT "${quoted}\n" STREQUAL "${example}")
  message(FATAL_ERROR "README.md quotes another text than examples/quickstart.cpp holds; it quotes:\n${quoted}")
endif()
message(STATUS "README.md quotes examples/quickstart.cpp")
