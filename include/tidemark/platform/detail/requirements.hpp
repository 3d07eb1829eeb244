// SPDX-License-Identifier: BSL-1.0
//
// Says what is missing where the library can't be compiled. Otherwise the first of many errors would be about a line of
// the library.
#ifndef TIDEMARK_PLATFORM_DETAIL_REQUIREMENTS_HPP
#define TIDEMARK_PLATFORM_DETAIL_REQUIREMENTS_HPP

#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "tidemark needs C++20: compile with -std=c++20 or a later standard"
#else

#include <atomic>

#if ATOMIC_LLONG_LOCK_FREE != 2
#error "tidemark needs 64-bit atomics that are always lock-free, which this machine does not have"
#endif

// _GLIBCXX_HAS_GTHREADS is what libstdc++ makes its threads of.
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAS_GTHREADS)
#error "tidemark needs std::mutex, std::condition_variable and std::thread: take a MinGW with posix threads, not win32"
#endif

#endif

#endif  // TIDEMARK_PLATFORM_DETAIL_REQUIREMENTS_HPP
