// SPDX-License-Identifier: BSL-1.0
//
// A timeline that calls hooks, as a program would write it: an atomic value, whether it is lost, and a hook_list.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_TICKING_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_TICKING_HPP

#include "model_check.hpp"

#include <tidemark/fence/hooked_timeline.hpp>
#include <tidemark/fence/wait_many.hpp>

#include <atomic>
#include <cstdint>

namespace model {

/// \tparam LooksFirst  whether it looks for hooks before it changes its value, as it must not
template <tidemark::platform Platform, bool LooksFirst = false>
class ticking {
 public:
  std::uint64_t current_value() const noexcept {
    return lost_.load(std::memory_order_acquire) != 0 ? UINT64_MAX : last_reached();
  }
  std::uint64_t last_reached() const noexcept { return value_.load(std::memory_order_acquire); }
  tidemark::wait_status wait_until(std::uint64_t target, tidemark::deadline until) const noexcept {
    const tidemark::basic_awaited<Platform> self[] = {{*this, target}};
    return tidemark::wait_all_until(self, until);
  }
  void* add_hook(std::uint64_t target, tidemark::timeline_hook hook) const noexcept { return hooks_.add(target, hook); }
  bool remove_hook(void* registration) const noexcept { return hooks_.remove(registration); }

  void signal(std::uint64_t value) {
    if (LooksFirst) hooks_.release_due(value);
    value_.store(value, std::memory_order_release);
    if (!LooksFirst) hooks_.release_due(value);
  }
  void lose() {
    lost_.store(1, std::memory_order_release);
    hooks_.release_lost();
  }
  std::uint64_t monitored_value() const { return hooks_.monitored_value(); }

 private:
  typename Platform::template atomic<std::uint64_t> value_{0};
  typename Platform::template atomic<std::uint32_t> lost_{0};
  mutable tidemark::basic_hook_list<Platform> hooks_;
};

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_TICKING_HPP
