# SPDX-License-Identifier: BSL-1.0
#
# Toolchain of the preset `clang`: the oldest clang that is supported, or whichever there is.
find_program(TIDEMARK_CLANG NAMES clang++-14 clang++ REQUIRED)
mark_as_advanced(TIDEMARK_CLANG)
set(CMAKE_CXX_COMPILER "${TIDEMARK_CLANG}")
