// SPDX-License-Identifier: BSL-1.0
//
// Whether a test may start threads in the child of a process that had several.
#ifndef TIDEMARK_TESTS_SUPPORT_THREADS_AFTER_FORK_HPP
#define TIDEMARK_TESTS_SUPPORT_THREADS_AFTER_FORK_HPP

#include <tidemark/platform/detail/configuration.hpp>

namespace testing {

/// ThreadSanitizer and qemu end a child that starts one.
#if TIDEMARK_HAS_TSAN || defined(TIDEMARK_TEST_EMULATED)
inline constexpr bool may_start_threads_after_fork = false;
#else
inline constexpr bool may_start_threads_after_fork = true;
#endif

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_THREADS_AFTER_FORK_HPP
