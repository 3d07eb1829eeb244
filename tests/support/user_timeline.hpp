// SPDX-License-Identifier: BSL-1.0
//
// A timeline such as a program may write for itself: a mutex and a condition variable. Blocks must accept it like a
// fence.
#ifndef TIDEMARK_TESTS_SUPPORT_USER_TIMELINE_HPP
#define TIDEMARK_TESTS_SUPPORT_USER_TIMELINE_HPP

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include <tidemark/fence/timeline.hpp>

namespace testing {

class user_timeline {
 public:
  std::uint64_t current_value() const {
    const std::lock_guard lock{guard_};
    return value_;
  }
  tidemark::wait_status wait_until(std::uint64_t target, tidemark::deadline until) const {
    std::unique_lock lock{guard_};
    const auto is_reached = [&] { return value_ >= target; };
    if (until != tidemark::no_deadline) {
      return changed_.wait_until(lock, until, is_reached) ? tidemark::wait_status::reached
                                                          : tidemark::wait_status::timeout;
    }
    changed_.wait(lock, is_reached);
    return tidemark::wait_status::reached;
  }
  void signal(std::uint64_t value) {
    const std::lock_guard lock{guard_};
    value_ = value;
    changed_.notify_all();
  }

 private:
  mutable std::mutex guard_;
  mutable std::condition_variable changed_;
  std::uint64_t value_ = 0;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_USER_TIMELINE_HPP
