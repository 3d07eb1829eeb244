// SPDX-License-Identifier: BSL-1.0
//
// loop_own_wakes: the wake-ups for what a thread's own signals release, while it runs a loop. It may put them off. One
// thread of a loop can do so at a time: another one takes its place, and then the first one wakes others again.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_OWN_WAKES_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_OWN_WAKES_HPP

#include <atomic>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform>
class loop_own_wakes {
 public:
  void put_off() noexcept {
    // (Y29): relaxed alone, like (Y30).
    who_.store(Platform::current_thread(), std::memory_order_relaxed);
  }
  void go_on() noexcept {
    // (Y31): relaxed alone, like (Y30).
    who_.store({}, std::memory_order_relaxed);
  }
  /// Whether the calling thread has put them off.
  bool are_put_off() const noexcept {
    // (Y30): relaxed alone: a thread compares with its own id, which only it stores, and no other data depends on it.
    return who_.load(std::memory_order_relaxed) == Platform::current_thread();
  }

 private:
  typename Platform::template atomic<decltype(Platform::current_thread())> who_{};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_OWN_WAKES_HPP
