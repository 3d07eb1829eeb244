// SPDX-License-Identifier: BSL-1.0
//
// A watchdog: a test that hangs prints where it hangs and aborts; otherwise it would be killed without a message.
#ifndef TIDEMARK_TESTS_SUPPORT_WATCHDOG_HPP
#define TIDEMARK_TESTS_SUPPORT_WATCHDOG_HPP

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace testing {

/// Returns the state of a fence, or of a view of one, in words.
template <class Fence>
std::string state_of(const Fence& fence) {
  const auto monitored = fence.monitored_value();
  return "current_value " + std::to_string(fence.current_value()) + ", monitored_value " +
         (monitored == UINT64_MAX ? "no_waiter" : std::to_string(monitored)) +
         (fence.is_poisoned() ? ", poisoned" : "");
}

/// Aborts the program if it lives longer than its limit. The limit is far above what any test needs, because it
/// measures no speed.
class watchdog {
 public:
  using description = std::function<std::string()>;
  static constexpr std::chrono::seconds default_limit{90};

  explicit watchdog(description describe, std::chrono::seconds limit = default_limit)
      : describe_{std::move(describe)}, limit_{limit}, thread_{[this] { watch(); }} {}
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  ~watchdog() {
    {
      const std::lock_guard lock{guard_};
      called_off_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock{guard_};
    if (changed_.wait_for(lock, limit_, [this] { return called_off_; })) return;
    std::fprintf(stderr, "watchdog: no end after %lld s: %s\n", static_cast<long long>(limit_.count()),
                 describe_().c_str());
    std::fflush(stderr);
    std::abort();
  }

  std::mutex guard_;
  std::condition_variable changed_;
  bool called_off_ = false;
  description describe_;
  std::chrono::seconds limit_;
  std::thread thread_;
};

/// A watchdog that prints the state of one fence. The fence must outlive it.
template <class Fence>
watchdog watch(const Fence& fence) {
  return watchdog{[&fence] { return state_of(fence); }};
}

/// Lets other threads run until the condition holds. A watchdog limits the time.
template <class Condition>
void await(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_WATCHDOG_HPP
