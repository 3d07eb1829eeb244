# SPDX-License-Identifier: BSL-1.0
#
# The target tidemark::compiled: a static library with the default fences and their waits, which is built in the project
# that links it, and only if one does. It needs C++ among the languages of the project.
get_property(tidemark_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("CXX" IN_LIST tidemark_languages AND NOT TARGET tidemark_compiled)
  add_library(tidemark_compiled STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/tidemark.cpp")
  add_library(tidemark::compiled ALIAS tidemark_compiled)
  target_link_libraries(tidemark_compiled PUBLIC tidemark::tidemark)
  target_compile_definitions(tidemark_compiled PUBLIC TIDEMARK_COMPILED)
endif()
unset(tidemark_languages)
