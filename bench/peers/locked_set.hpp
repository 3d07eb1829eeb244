// SPDX-License-Identifier: BSL-1.0
//
// Peer of the waiter heap: the set of awaited targets that one would write first, an ordered multiset under a mutex
// that publishes its least element.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

namespace bench {

class locked_set {
 public:
  using ticket = std::multiset<std::uint64_t>::iterator;

  ticket add(std::uint64_t target) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const ticket added = targets_.insert(target);
    publish();
    return added;
  }

  void withdraw(ticket waiting) {
    const std::lock_guard<std::mutex> lock(mutex_);
    targets_.erase(waiting);
    publish();
  }

 private:
  void publish() noexcept {
    least_.store(targets_.empty() ? UINT64_MAX : *targets_.begin() - 1, std::memory_order_seq_cst);
  }

  alignas(64) std::mutex mutex_;
  std::multiset<std::uint64_t> targets_;
  std::atomic<std::uint64_t> least_{UINT64_MAX};
};

}  // namespace bench
