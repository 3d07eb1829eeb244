// SPDX-License-Identifier: BSL-1.0
//
// What the platforms of this file of a program are made of, and the namespace that is named after it.
//
//   TIDEMARK_HAS_TSAN        1 under ThreadSanitizer: only what it models is used
//   TIDEMARK_HAS_WIDE_CAS    1 if 16 bytes are exchanged by the processor; 0 if under a lock
//   TIDEMARK_HAS_FUTEX       1 if threads sleep on futexes; 0 if on condition variables
//   TIDEMARK_HAS_MEMBARRIER  1 if native_platform is asymmetric, by membarrier(2)
//   TIDEMARK_CONFIGURATION   an inline namespace whose name says all of this, such as wide_futex_membarrier
//
// Each is 0 or 1, and each follows from the compiler, its flags, the system's headers, and the two macros
// TIDEMARK_FORCE_LOCKED_DOUBLE_WORD and TIDEMARK_FORCE_PORTABLE_PARKING. Whatever else a program is compiled with, such
// as the optimization, NDEBUG or instructions of a newer processor, may differ between its files. Some files may be
// compiled without exceptions, too, if nothing is thrown through the library: a function that was compiled so does not
// clean up, and the linker keeps one copy of each.
//
// Why files of a program must not differ in these
// -----------------------------------------------
// One side would exchange 16 bytes under a lock, the other without it; or one would sleep on a futex and the other wake
// a condition variable. Such a program would hang, rarely and without a word. So it does not link, for two reasons:
//
//   - All types and functions that depend on the configuration lie in the inline namespace. So the symbols of all that
//     is made of a platform, such as a function that takes a fence, differ.
//   - Symbols of the program's own types do not. So each file also defines the marks at the end of this header. A mark
//     is a variable of each thread in one configuration and a plain variable in the other, which linkers refuse. They
//     print the mark's name, which says what differs. Where linkers do not look (lld before version 19, between a
//     program and its shared libraries, systems without ELF), only the first reason is left.
#ifndef TIDEMARK_PLATFORM_DETAIL_CONFIGURATION_HPP
#define TIDEMARK_PLATFORM_DETAIL_CONFIGURATION_HPP

#include "requirements.hpp"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define TIDEMARK_HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TIDEMARK_HAS_TSAN 1
#endif
#endif
#ifndef TIDEMARK_HAS_TSAN
#define TIDEMARK_HAS_TSAN 0
#endif

#if !TIDEMARK_HAS_TSAN && !defined(TIDEMARK_FORCE_LOCKED_DOUBLE_WORD) && defined(__GNUC__) && \
    (defined(__x86_64__) || defined(__aarch64__))
#define TIDEMARK_HAS_WIDE_CAS 1
#else
#define TIDEMARK_HAS_WIDE_CAS 0
#endif

#if defined(__linux__) && !defined(TIDEMARK_FORCE_PORTABLE_PARKING) && (defined(SYS_futex) || defined(SYS_futex_time64))
#define TIDEMARK_HAS_FUTEX 1
#else
#define TIDEMARK_HAS_FUTEX 0
#endif

#if defined(__linux__) && defined(SYS_membarrier) && !TIDEMARK_HAS_TSAN
#define TIDEMARK_HAS_MEMBARRIER 1
#else
#define TIDEMARK_HAS_MEMBARRIER 0
#endif

#if TIDEMARK_HAS_TSAN && TIDEMARK_HAS_FUTEX
#define TIDEMARK_CONFIGURATION thread_sanitizer_futex
#elif TIDEMARK_HAS_TSAN
#define TIDEMARK_CONFIGURATION thread_sanitizer_portable
#elif TIDEMARK_HAS_WIDE_CAS && TIDEMARK_HAS_FUTEX && TIDEMARK_HAS_MEMBARRIER
#define TIDEMARK_CONFIGURATION wide_futex_membarrier
#elif TIDEMARK_HAS_WIDE_CAS && TIDEMARK_HAS_FUTEX
#define TIDEMARK_CONFIGURATION wide_futex_symmetric
#elif TIDEMARK_HAS_WIDE_CAS && TIDEMARK_HAS_MEMBARRIER
#define TIDEMARK_CONFIGURATION wide_portable_membarrier
#elif TIDEMARK_HAS_WIDE_CAS
#define TIDEMARK_CONFIGURATION wide_portable_symmetric
#elif TIDEMARK_HAS_FUTEX && TIDEMARK_HAS_MEMBARRIER
#define TIDEMARK_CONFIGURATION locked_futex_membarrier
#elif TIDEMARK_HAS_FUTEX
#define TIDEMARK_CONFIGURATION locked_futex_symmetric
#elif TIDEMARK_HAS_MEMBARRIER
#define TIDEMARK_CONFIGURATION locked_portable_membarrier
#else
#define TIDEMARK_CONFIGURATION locked_portable_symmetric
#endif

#if defined(__ELF__)

// A mark is a plain variable in the usual configuration of Linux, so that this costs no memory of a thread there. Under
// ThreadSanitizer the marks of what follows from it stay plain, too, so that a linker names the cause.
namespace tidemark::detail::all_files_of_a_program_must_agree_on {

#if TIDEMARK_HAS_TSAN
[[gnu::used]] inline constinit thread_local unsigned char thread_sanitizer = 1;
#else
[[gnu::used]] inline constexpr unsigned char thread_sanitizer = 0;
#endif

#if TIDEMARK_HAS_TSAN || TIDEMARK_HAS_WIDE_CAS
[[gnu::used]] inline constexpr unsigned char force_locked_double_word = 0;
#else
[[gnu::used]] inline constinit thread_local unsigned char force_locked_double_word = 1;
#endif

#if TIDEMARK_HAS_FUTEX
[[gnu::used]] inline constexpr unsigned char force_portable_parking = 0;
#else
[[gnu::used]] inline constinit thread_local unsigned char force_portable_parking = 1;
#endif

#if TIDEMARK_HAS_TSAN || TIDEMARK_HAS_MEMBARRIER
[[gnu::used]] inline constexpr unsigned char membarrier = 0;
#else
[[gnu::used]] inline constinit thread_local unsigned char membarrier = 1;
#endif

#if TIDEMARK_HAS_TSAN || !TIDEMARK_HAS_WIDE_CAS || !TIDEMARK_HAS_FUTEX || !TIDEMARK_HAS_MEMBARRIER
inline namespace TIDEMARK_CONFIGURATION {
#if defined(__has_cpp_attribute) && __has_cpp_attribute(gnu::retain)
#define TIDEMARK_KEPT gnu::used, gnu::retain
#else
#define TIDEMARK_KEPT gnu::used
#endif
/// Is never called. lld looks only at marks that are used, and with --gc-sections only if this is kept.
[[TIDEMARK_KEPT]] inline int sum() noexcept {
  return thread_sanitizer + force_locked_double_word + force_portable_parking + membarrier;
}
#undef TIDEMARK_KEPT
}  // namespace TIDEMARK_CONFIGURATION
#endif

}  // namespace tidemark::detail::all_files_of_a_program_must_agree_on

#endif

#endif  // TIDEMARK_PLATFORM_DETAIL_CONFIGURATION_HPP
