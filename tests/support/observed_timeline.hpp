// SPDX-License-Identifier: BSL-1.0
//
// A timeline of the program's own that a test can watch and lose: it counts its waits, so that a test knows that a
// thread waits.
#ifndef TIDEMARK_TESTS_SUPPORT_OBSERVED_TIMELINE_HPP
#define TIDEMARK_TESTS_SUPPORT_OBSERVED_TIMELINE_HPP

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include <tidemark/fence/timeline.hpp>

namespace testing {

class observed_timeline {
 public:
  std::uint64_t current_value() const {
    const std::lock_guard lock{guard_};
    return is_lost_ ? UINT64_MAX : value_;
  }
  tidemark::wait_status wait_until(std::uint64_t target, tidemark::deadline until) const {
    std::unique_lock lock{guard_};
    ++waits_;
    changed_.notify_all();
    const auto is_over = [&] { return value_ >= target || is_lost_; };
    if (until == tidemark::no_deadline) {
      changed_.wait(lock, is_over);
    } else if (!changed_.wait_until(lock, until, is_over)) {
      return tidemark::wait_status::timeout;
    }
    return value_ >= target ? tidemark::wait_status::reached : tidemark::wait_status::lost;
  }
  void signal(std::uint64_t value) {
    const std::lock_guard lock{guard_};
    value_ = value;
    changed_.notify_all();
  }
  /// From here on it shows UINT64_MAX, and its waits for what was not reached return `lost`.
  void lose() {
    const std::lock_guard lock{guard_};
    is_lost_ = true;
    changed_.notify_all();
  }

  /// Blocks until so many waits have begun.
  void await_waits(unsigned count) const {
    std::unique_lock lock{guard_};
    changed_.wait(lock, [&] { return waits_ >= count; });
  }
  unsigned waits() const {
    const std::lock_guard lock{guard_};
    return waits_;
  }

 private:
  mutable std::mutex guard_;
  mutable std::condition_variable changed_;
  mutable unsigned waits_ = 0;
  std::uint64_t value_ = 0;
  bool is_lost_ = false;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_OBSERVED_TIMELINE_HPP
