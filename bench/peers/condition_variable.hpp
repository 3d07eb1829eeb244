// SPDX-License-Identifier: BSL-1.0
//
// Peer: the fence that most programs have, a value under a mutex and a condition variable. The notification is made
// after the mutex is released, so that a woken thread does not run straight into it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace bench {

class condition_variable_fence {
 public:
  void signal(std::uint64_t value) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      current_ = value;
    }
    changed_.notify_all();
  }

  void wait(std::uint64_t target) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return current_ >= target; });
  }

  bool wait_until(std::uint64_t target, std::chrono::steady_clock::time_point deadline) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_until(lock, deadline, [&] { return current_ >= target; });
  }

  std::uint64_t current_value() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return current_;
  }

 private:
  alignas(64) std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t current_ = 0;
};

}  // namespace bench
