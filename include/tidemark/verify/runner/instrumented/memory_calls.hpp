// SPDX-License-Identifier: BSL-1.0
//
// Comes first in sources that are compiled for the checker: the runner must see what these functions do with memory.
#ifndef TIDEMARK_VERIFY_RUNNER_MEMORY_CALLS_HPP
#define TIDEMARK_VERIFY_RUNNER_MEMORY_CALLS_HPP

#include <stddef.h>

extern "C" {
void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) noexcept __asm__("__tsan_memcpy");
void* memmove(void* to, const void* from, size_t bytes) noexcept __asm__("__tsan_memmove");
void* memset(void* to, int byte, size_t bytes) noexcept __asm__("__tsan_memset");
void* malloc(size_t bytes) noexcept __asm__("tidemark_malloc");
void* calloc(size_t count, size_t bytes) noexcept __asm__("tidemark_calloc");
void* realloc(void* memory, size_t bytes) noexcept __asm__("tidemark_realloc");
void free(void* memory) noexcept __asm__("tidemark_free");
}

#if !defined(__clang__)
// g++ writes for itself what std::fill asks for by this name, behind all that it tells of memory.
#define __builtin_memset memset
#endif

#endif  // TIDEMARK_VERIFY_RUNNER_MEMORY_CALLS_HPP
