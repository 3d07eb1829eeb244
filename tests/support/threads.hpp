// SPDX-License-Identifier: BSL-1.0
//
// Threads whose state a test can see: whether they sleep in park(), whether they have returned, and with what.
#ifndef TIDEMARK_TESTS_SUPPORT_THREADS_HPP
#define TIDEMARK_TESTS_SUPPORT_THREADS_HPP

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include <tidemark/fence/fence.hpp>

#include "asleep.hpp"
#include "counting_platform.hpp"
#include "watchdog.hpp"

namespace testing {

/// A thread that runs one function.
class background {
 public:
  template <class Body>
  explicit background(Body body)
      : thread_{[this, body = std::move(body)]() mutable {
          inside_park = &inside_;
          id_ = syscall(SYS_gettid);
          body();
          returned_ = true;
        }} {}
  background(const background&) = delete;
  background& operator=(const background&) = delete;
  ~background() { join(); }

  void join() {
    if (thread_.joinable()) thread_.join();
  }
  bool has_returned() const { return returned_; }

  /// Waits until the thread sleeps inside counting_platform::park(). Returns false if it has returned without a sleep.
  bool falls_asleep() const {
    await([this] { return returned_ || (inside_ && is_asleep(id_)); });
    return !returned_;
  }
  /// Waits until the thread sleeps anywhere. Returns false if it has returned without a sleep.
  bool blocks() const {
    await([this] { return returned_ || (id_ != 0 && is_asleep(id_)); });
    return !returned_;
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> returned_{false};
  std::atomic<long> id_{0};
  std::thread thread_;
};

/// A thread that waits, and how the wait ended.
class waiter {
 public:
  template <class Wait>
  explicit waiter(Wait wait) : thread_{[this, wait = std::move(wait)] { status_ = wait(); }} {}

  bool has_returned() const { return thread_.has_returned(); }
  bool falls_asleep() const { return thread_.falls_asleep(); }
  tidemark::wait_status status() {
    thread_.join();
    return status_;
  }

 private:
  tidemark::wait_status status_{};
  background thread_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_THREADS_HPP
