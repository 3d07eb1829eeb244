// SPDX-License-Identifier: BSL-1.0
//
// The thread of a watchdog. Apart from the header, so that a program which starts no thread of its own has no code that
// does: such a program is left out where it is only about races.
#include "watchdog.hpp"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace testing {

class watchdog::watcher {
 public:
  watcher(description describe, std::chrono::seconds limit)
      : describe_{std::move(describe)}, limit_{limit}, thread_{[this] { watch(); }} {
    // A thread that begins has locks of AddressSanitizer, which the child of a fork would find locked for ever.
    std::unique_lock lock{guard_};
    changed_.wait(lock, [this] { return is_watching_; });
  }
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;

  ~watcher() {
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
    is_watching_ = true;
    changed_.notify_one();
    if (changed_.wait_for(lock, limit_, [this] { return called_off_; })) return;
    std::fprintf(stderr, "watchdog: no end after %lld s: %s\n", static_cast<long long>(limit_.count()),
                 describe_().c_str());
    std::fflush(stderr);
    std::abort();
  }

  std::mutex guard_;
  std::condition_variable changed_;
  bool is_watching_ = false;
  bool called_off_ = false;
  description describe_;
  std::chrono::seconds limit_;
  std::thread thread_;
};

watchdog::watchdog(description describe, std::chrono::seconds limit)
    : watcher_{std::make_unique<watcher>(std::move(describe), limit)} {}
watchdog::~watchdog() = default;

}  // namespace testing
