// SPDX-License-Identifier: BSL-1.0
// The usual timeline fence, made of a mutex and a condition variable: what the pipeline is compared with.
// It has those members of tidemark::progress_fence that the pipeline uses, so that both run the same code.
//
// It is as good as the usual fence gets: the lock is held for a store and no longer, waiters are notified after it was
// released, so that they do not run into it, and a wait whose value has been reached does not sleep. A notification
// without waiters makes no system call. All waiters share one variable, whatever their targets: a fence that wakes only
// those that are due is in sorted_condvar_fence.hpp.

#pragma once

#include <tidemark/tidemark.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace pipeline {

class condvar_fence {
 public:
  void signal(std::uint64_t value) {
    {
      const std::lock_guard lock(mutex_);
      value_ = value;
      ++notify_count_;
    }
    changed_.notify_all();  // waiters with different targets share the variable: all of them must look
  }

  tidemark::wait_status wait(std::uint64_t target) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return value_ >= target || poisoned_; });
    return value_ >= target ? tidemark::wait_status::reached : tidemark::wait_status::lost;
  }

  void poison() {
    {
      const std::lock_guard lock(mutex_);
      poisoned_ = true;
    }
    changed_.notify_all();
  }

  [[nodiscard]] std::uint64_t current_value() const {
    const std::lock_guard lock(mutex_);
    return poisoned_ ? UINT64_MAX : value_;
  }

  [[nodiscard]] std::uint64_t notify_count() const {
    const std::lock_guard lock(mutex_);
    return notify_count_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t value_ = 0;
  std::uint64_t notify_count_ = 0;
  bool poisoned_ = false;
};

}  // namespace pipeline
