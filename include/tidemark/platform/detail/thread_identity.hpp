// SPDX-License-Identifier: BSL-1.0
//
// By what a thread is told from others. It must come from the system: of a variable of these headers, such as a
// thread_local, each shared library may have a copy of its own, and so the thread another mark in each of them.
#ifndef TIDEMARK_PLATFORM_DETAIL_THREAD_IDENTITY_HPP
#define TIDEMARK_PLATFORM_DETAIL_THREAD_IDENTITY_HPP

#include <thread>

#if defined(_WIN32)
// As <windows.h> declares it, which defines too many macros. Of the standard library, too, each DLL may have a copy.
extern "C" __declspec(dllimport) unsigned long __stdcall GetCurrentThreadId();
#endif

namespace tidemark::detail {

#if defined(_WIN32)
using thread_identity = unsigned long;
inline thread_identity this_thread() noexcept { return ::GetCurrentThreadId(); }
#else
using thread_identity = std::thread::id;
inline thread_identity this_thread() noexcept { return std::this_thread::get_id(); }
#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_THREAD_IDENTITY_HPP
