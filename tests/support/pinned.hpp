// SPDX-License-Identifier: BSL-1.0
//
// Keeps threads on different processors, so that two processors run a race at the same time. A busy machine might let
// one processor run the threads in turns.
#ifndef TIDEMARK_TESTS_SUPPORT_PINNED_HPP
#define TIDEMARK_TESTS_SUPPORT_PINNED_HPP

#include <sched.h>

#include <thread>

#include <tidemark/platform/platform.hpp>

namespace testing {

/// Returns the processors that this process could use when it started.
inline const cpu_set_t all_processors = [] {
  cpu_set_t all;
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof all, &all);
  return all;
}();

/// While it lives, the thread that constructed it stays on one processor: the first, the second, ... and the first
/// again.
class pinned {
 public:
  explicit pinned(unsigned index) {
    const auto count = static_cast<unsigned>(CPU_COUNT(&all_processors));
    if (count == 0) return;
    unsigned left = index % count;
    unsigned processor = 0;
    while (!CPU_ISSET(processor, &all_processors) || left-- != 0) ++processor;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  ~pinned() { sched_setaffinity(0, sizeof all_processors, &all_processors); }
};

/// Waits for an action of another processor at this moment: looks for some microseconds before it lets other threads
/// run.
template <class Condition>
void await_soon(const Condition& condition) {
  for (int looks = 0; !condition(); ++looks) {
    if (looks < 1000) {
      tidemark::native_platform::pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_PINNED_HPP
