// SPDX-License-Identifier: BSL-1.0
//
// Stand-ins for fences in a hub: what a hub asks of a fence, and nothing else.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_WATCHED_FENCE_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_WATCHED_FENCE_HPP

#include "model_check.hpp"

#include <cstddef>
#include <cstdint>

namespace model {

/// A fence with a value that a notifier sets, and with a note of whether a pass of the hub has seen that value.
template <class Platform>
struct watched_fence {
  using platform = Platform;

  /// Sets the value. The notification follows.
  void tell() {
    value_.store(1);
    told_.store(1, std::memory_order_release);
  }
  bool is_seen() const { return seen_.load(std::memory_order_relaxed) == 1; }

  // What the hub calls.
  bool publish(std::uint64_t) noexcept { return true; }
  bool is_due(std::uint64_t) noexcept { return true; }
  std::size_t release_due_after_barrier() noexcept {
    const int found = told_.load(std::memory_order_acquire) == 0 ? 0 : value_.load();
    seen_.store(found, std::memory_order_relaxed);
    return 0;
  }
  std::size_t release_due_after_barrier(std::uint64_t) noexcept { return release_due_after_barrier(); }

 private:
  typename Platform::template var<int> value_;
  typename Platform::template atomic<int> told_;
  typename Platform::template atomic<int> seen_;
};

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_WATCHED_FENCE_HPP
