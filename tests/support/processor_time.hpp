// SPDX-License-Identifier: BSL-1.0
//
// What a wait costs while it lasts.
#ifndef TIDEMARK_TESTS_SUPPORT_PROCESSOR_TIME_HPP
#define TIDEMARK_TESTS_SUPPORT_PROCESSOR_TIME_HPP

#include <time.h>

#include <chrono>

namespace testing {

/// Returns the processor time that the calling thread has used. It stands still while the thread sleeps, or waits for a
/// processor.
inline std::chrono::nanoseconds processor_time() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_PROCESSOR_TIME_HPP
