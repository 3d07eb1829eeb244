// SPDX-License-Identifier: BSL-1.0
// What a mutex can do at best for many waiters with different targets: they are sorted by target, each sleeps on a
// condition variable of its own, and a signal wakes those that are due and nobody else. The usual fence, whose one
// variable wakes all of them, is not the only one that a table with many waiters should be compared with.

#pragma once

#include <tidemark/tidemark.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace pipeline {

class sorted_condvar_fence {
 public:
  void signal(std::uint64_t value) {
    bool more = true;
    for (bool first = true; more; first = false) {
      sleeper* due = nullptr;
      {
        const std::lock_guard lock(mutex_);
        if (first) value_ = value;
        due = take_due();
        more = !by_target_.empty() && by_target_.begin()->first <= value_;
      }
      if (due != nullptr) due->changed.notify_one();  // outside the lock: the woken thread needs it
    }
  }

  tidemark::wait_status wait(std::uint64_t target) {
    std::unique_lock lock(mutex_);
    if (value_ >= target) return tidemark::wait_status::reached;
    if (poisoned_) return tidemark::wait_status::lost;
    sleeper* const self = take_unused();
    by_target_.emplace(target, self);
    self->is_due = false;
    self->changed.wait(lock, [&] { return self->is_due; });
    unused_.push_back(self);
    return value_ >= target ? tidemark::wait_status::reached : tidemark::wait_status::lost;
  }

  void poison() {
    const std::lock_guard lock(mutex_);
    poisoned_ = true;
    for (const auto& [target, waiter] : by_target_) {
      waiter->is_due = true;
      waiter->changed.notify_one();
    }
    by_target_.clear();
  }

  [[nodiscard]] std::uint64_t current_value() const {
    const std::lock_guard lock(mutex_);
    return poisoned_ ? UINT64_MAX : value_;
  }

 private:
  struct sleeper {
    std::condition_variable changed;
    bool is_due = false;
  };

  sleeper* take_due() {
    if (by_target_.empty() || by_target_.begin()->first > value_) return nullptr;
    sleeper* const due = by_target_.begin()->second;
    by_target_.erase(by_target_.begin());
    due->is_due = true;
    return due;
  }

  sleeper* take_unused() {
    if (unused_.empty()) return &sleepers_.emplace_back();
    sleeper* const found = unused_.back();
    unused_.pop_back();
    return found;
  }

  mutable std::mutex mutex_;
  std::multimap<std::uint64_t, sleeper*> by_target_;
  std::deque<sleeper> sleepers_;  // kept until the end: a late notification then wakes a wrong thread at most, in vain
  std::vector<sleeper*> unused_;
  std::uint64_t value_ = 0;
  bool poisoned_ = false;
};

}  // namespace pipeline
