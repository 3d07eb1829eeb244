// SPDX-License-Identifier: BSL-1.0
//
// A watchdog: a test that hangs prints where it hangs and aborts; otherwise it would be killed without a message.
#ifndef TIDEMARK_TESTS_SUPPORT_WATCHDOG_HPP
#define TIDEMARK_TESTS_SUPPORT_WATCHDOG_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

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

  explicit watchdog(description describe, std::chrono::seconds limit = default_limit);
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog();

 private:
  class watcher;
  std::unique_ptr<watcher> watcher_;
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
