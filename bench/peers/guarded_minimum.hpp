// SPDX-License-Identifier: BSL-1.0
//
// The least of several values by hand: an array of words, whose membership a mutex protects, and a condition variable
// for those who wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace bench {

class guarded_minimum {
 public:
  using word = std::atomic<std::uint64_t>;

  void add(word& member) {
    const std::lock_guard lock(mutex_);
    members_.push_back(&member);
  }
  void remove(word& member) {
    {
      const std::lock_guard lock(mutex_);
      members_.erase(std::find(members_.begin(), members_.end(), &member));
    }
    risen_.notify_all();
  }

  std::uint64_t current_value() const {
    const std::lock_guard lock(mutex_);
    return least();
  }
  /// `member` must be one of the members. With the lock, so that no waiter misses it between its look and its sleep.
  void signal(word& member, std::uint64_t value) {
    {
      const std::lock_guard lock(mutex_);
      member.store(value, std::memory_order_release);
    }
    risen_.notify_all();
  }
  void wait(std::uint64_t target) const {
    std::unique_lock lock(mutex_);
    risen_.wait(lock, [&] { return least() >= target; });
  }

 private:
  std::uint64_t least() const {
    std::uint64_t found = UINT64_MAX;
    for (const word* each : members_) found = (std::min)(found, each->load(std::memory_order_acquire));
    return found;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable risen_;
  std::vector<word*> members_;
};

}  // namespace bench
