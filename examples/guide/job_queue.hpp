// SPDX-License-Identifier: BSL-1.0
// A header of docs/guide-verify.md that uses the standard library, and is checked as it is.

#pragma once

// What the program has of the standard library, a check has of the checker.
#ifdef MYPROJECT_CHECKED
#include <tidemark/verify/sync.hpp>

namespace myproject {
namespace sync = tidemark::verify::sync;
template <class T>
using field = tidemark::verify::var<T>;
}  // namespace myproject
#else
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace myproject {
namespace sync = std;
template <class T>
using field = T;
}  // namespace myproject
#endif

namespace myproject {

/// Jobs are positive numbers. Whoever finds the queue full or empty sleeps.
template <unsigned Capacity>
class job_queue {
 public:
  /// Returns false if the queue is stopped.
  bool push(int job) {
    sync::unique_lock lock{mutex_};
    not_full_.wait(lock, [this] { return is_stopped() || count_ < Capacity; });
    if (is_stopped()) return false;
    add(job);
    not_empty_.notify_one();
    return true;
  }

  /// Returns 0 if the queue is stopped and empty.
  int pop() {
    sync::unique_lock lock{mutex_};
    not_empty_.wait(lock, [this] { return is_stopped() || count_ > 0; });
    if (count_ == 0) return 0;
    const int job = take();
    not_full_.notify_one();
    return job;
  }

  void stop() {
    {
      sync::lock_guard lock{mutex_};
      stopped_.store(true, sync::memory_order_release);
    }
    not_full_.notify_all();
    not_empty_.notify_all();
  }

  /// Takes no lock: for a thread that does long work in between.
  bool is_stopped() const { return stopped_.load(sync::memory_order_acquire); }

 protected:
  void add(int job) {
    jobs_[(first_ + count_) % Capacity] = job;
    count_ += 1;
  }
  int take() {
    const int job = jobs_[first_];
    first_ = (first_ + 1) % Capacity;
    count_ -= 1;
    return job;
  }

  sync::mutex mutex_;
  sync::condition_variable not_full_;
  sync::condition_variable not_empty_;
  sync::atomic<bool> stopped_ = false;
  field<unsigned> first_ = 0;
  field<unsigned> count_ = 0;
  field<int> jobs_[Capacity] = {};
};

}  // namespace myproject
