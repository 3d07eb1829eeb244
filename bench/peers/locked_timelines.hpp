// SPDX-License-Identifier: BSL-1.0
//
// Peer: several timelines under one mutex and one condition variable, which is how most programs wait for any or for
// all of them. The notification is made after the mutex is released.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace bench {

class locked_timelines {
 public:
  explicit locked_timelines(std::size_t count) : values_(count) {}

  void signal(std::size_t which, std::uint64_t value) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      values_[which] = value;
    }
    changed_.notify_all();
  }

  /// Waits until the first `count` timelines have reached the target.
  void wait_all(std::size_t count, std::uint64_t target) {
    std::unique_lock<std::mutex> lock(mutex_);
    // Where it stopped last time is where the next look begins.
    std::size_t reached = 0;
    changed_.wait(lock, [&] {
      while (reached < count && values_[reached] >= target) ++reached;
      return reached == count;
    });
  }
  /// Waits until any of the first `count` timelines has reached the target.
  void wait_any(std::size_t count, std::uint64_t target) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return is_any_reached(count, target); });
  }
  /// All that a wait does before it sleeps.
  bool look(std::size_t count, std::uint64_t target) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return is_any_reached(count, target);
  }
  /// Waits for one of them.
  void wait(std::size_t which, std::uint64_t target) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return values_[which] >= target; });
  }

 private:
  bool is_any_reached(std::size_t count, std::uint64_t target) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (values_[i] >= target) return true;
    }
    return false;
  }

  alignas(64) std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> values_;
};

}  // namespace bench
