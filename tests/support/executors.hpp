// SPDX-License-Identifier: BSL-1.0
//
// Executors of our own, for loops that executors run.
#ifndef TIDEMARK_TESTS_SUPPORT_EXECUTORS_HPP
#define TIDEMARK_TESTS_SUPPORT_EXECUTORS_HPP

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace testing {

/// Keeps what it is given until the test calls it.
class manual_executor {
 public:
  using time = std::chrono::steady_clock::time_point;

  void execute(std::function<void()> call) { ready.push_back(std::move(call)); }
  void execute_at(time at, std::function<void()> call) { timed.emplace(at, std::move(call)); }

  /// Calls what is ready, also what becomes ready meanwhile, and returns how many calls that were.
  std::size_t run() {
    std::size_t calls = 0;
    for (; !ready.empty(); ++calls) {
      const std::function<void()> next = std::move(ready.front());
      ready.pop_front();
      next();
    }
    return calls;
  }
  /// Calls the first of what waits for a time, as if that had come.
  void run_timed() {
    const auto next = timed.extract(timed.begin());
    next.mapped()();
  }

  std::deque<std::function<void()>> ready;
  std::multimap<time, std::function<void()>> timed;
};

/// Threads that call what they are given.
class thread_pool {
 public:
  using time = std::chrono::steady_clock::time_point;

  explicit thread_pool(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() {
    {
      const std::lock_guard lock{guard_};
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  void execute(std::function<void()> call) { execute_at(time::min(), std::move(call)); }
  void execute_at(time at, std::function<void()> call) {
    {
      const std::lock_guard lock{guard_};
      calls_.emplace(at, std::move(call));
    }
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock{guard_};
    while (!is_over_) {
      if (calls_.empty()) {
        changed_.wait(lock);
      } else if (const time first = calls_.begin()->first; first > std::chrono::steady_clock::now()) {
        changed_.wait_until(lock, first);
      } else {
        const auto next = calls_.extract(calls_.begin());
        lock.unlock();
        next.mapped()();
        lock.lock();
      }
    }
  }

  std::mutex guard_;
  std::condition_variable changed_;
  std::multimap<time, std::function<void()>> calls_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_EXECUTORS_HPP
