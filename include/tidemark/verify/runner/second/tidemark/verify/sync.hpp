// SPDX-License-Identifier: BSL-1.0
//
// Stands for sync.hpp where a check is exported.
#error "a check of a header that uses sync.hpp can't be exported: compile it with the standard library behind the alias"
