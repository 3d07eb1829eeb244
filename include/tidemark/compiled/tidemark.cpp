// SPDX-License-Identifier: BSL-1.0
//
// The one source file of the library tidemark::compiled: the default fences and their waits. docs/guide-build.md says
// who wants it. Compile it with TIDEMARK_COMPILED, which all files that use the library define, too.
#if !defined(TIDEMARK_COMPILED)
#error "tidemark: compile this file, and all that use it, with TIDEMARK_COMPILED defined"
#endif
#define TIDEMARK_COMPILES

#include "../fence/fence.hpp"
