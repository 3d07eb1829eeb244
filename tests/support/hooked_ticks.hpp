// SPDX-License-Identifier: BSL-1.0
//
// A timeline such as a program may write for itself, which calls hooks: a value, whether it is lost, and a hook_list.
#ifndef TIDEMARK_TESTS_SUPPORT_HOOKED_TICKS_HPP
#define TIDEMARK_TESTS_SUPPORT_HOOKED_TICKS_HPP

#include <atomic>
#include <cstdint>

#include <tidemark/fence/hooked_timeline.hpp>
#include <tidemark/fence/wait_many.hpp>

namespace testing {

/// \tparam Platform  of its own waits
template <class Platform>
class basic_hooked_ticks {
 public:
  using platform = Platform;

  std::uint64_t current_value() const noexcept { return is_lost_ ? UINT64_MAX : value_.load(); }
  std::uint64_t last_reached() const noexcept { return value_; }
  tidemark::wait_status wait_until(std::uint64_t target, tidemark::deadline until) const noexcept {
    const tidemark::basic_awaited<Platform> self[] = {{*this, target}};
    return tidemark::wait_all_until(self, until);
  }
  void* add_hook(std::uint64_t target, tidemark::timeline_hook hook) const noexcept {
    ++added_;
    return refuses ? nullptr : hooks_.add(target, hook);
  }
  bool remove_hook(void* registration) const noexcept {
    ++removed_;
    return hooks_.remove(registration);
  }

  void signal(std::uint64_t value) {
    value_ = value;
    hooks_.release_due(value);
  }
  void lose() {
    is_lost_ = true;
    hooks_.release_lost();
  }
  std::uint64_t monitored_value() const { return hooks_.monitored_value(); }
  std::uint64_t added() const { return added_; }
  std::uint64_t removed() const { return removed_; }

  std::atomic<bool> refuses{false};

 private:
  std::atomic<std::uint64_t> value_{0};
  std::atomic<bool> is_lost_{false};
  mutable std::atomic<std::uint64_t> added_{0};
  mutable std::atomic<std::uint64_t> removed_{0};
  mutable tidemark::hook_list hooks_;  // whose lock is not counted
};

using hooked_ticks = basic_hooked_ticks<tidemark::native_platform>;

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_HOOKED_TICKS_HPP
