// SPDX-License-Identifier: BSL-1.0
//
// rewindable_target: one value of a rewindable fence, for waits that look at values: wait_any() and wait_all(), loops
// with their callables, coroutines and senders, and engines. They would miss a value that was set back before they
// look. So the target remembers: it registers with the fence when it is made, and once the fence has reached its value,
// it stays reached.
//
//   tidemark::rewindable_target opening{shown, 24};          from now on, frame 24 is not missed
//   wait_any({{opening, 1}, {cancelled, 1}});                also if the fence was set back meanwhile
//
// It is a timeline that calls hooks (hooked_timeline.hpp). Its value is 0 until the fence has reached the target, and 1
// from then on. So 1 is what to wait for. It is lost if the fence was poisoned before that.
//
//   waiting   the fence has a registration of it, as of a thread that waits
//   reached   for ever, whatever the fence does
//   lost      for ever
//
// Only the constructor, or the thread that releases the registration, writes what it has come to. That one does so with
// the lock of the fence held, and then calls the hooks, with that lock held as well. So a signal that is due takes
// O(log n) more for each hook.
//
// Lifetime: the fence outlives it, and it outlives the waits for it.
#ifndef TIDEMARK_FENCE_REWINDABLE_TARGET_HPP
#define TIDEMARK_FENCE_REWINDABLE_TARGET_HPP

#include <array>
#include <atomic>
#include <cstdint>

#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"
#include "awaited.hpp"
#include "hooked_timeline.hpp"
#include "rewindable_fence.hpp"
#include "tools/waker.hpp"
#include "wait.hpp"
#include "wait_many.hpp"

namespace tidemark {

/// One value of a rewindable fence, which stays reached. Any thread may call its functions. It has those of `waitable`
/// (wait.hpp), too. It can be neither copied nor moved.
template <platform Platform>
class basic_rewindable_target : public waitable<basic_rewindable_target<Platform>> {
 public:
  using platform = Platform;

  /// Registers with the fence. From now on, no value is missed. Throws and allocates nothing. Progress: takes the
  /// fence's lock if the value is too low at first, O(log n). Any thread may call it.
  /// \param target  a value of the fence
  basic_rewindable_target(const basic_rewindable_fence<Platform>& of, std::uint64_t target) noexcept
      : fence_{of}, released_{*this}, waits_{target} {
    auto end = fence_.look(target);
    if (!end) {
      waits_.told = &released_;
      is_registered_ = true;
      fence_.add(waits_);
      // Either a signal releases it, and settles it; or it is found to be over here, and then no signal will.
      end = fence_.leave_if_over(waits_);
    }
    if (end) settle(*end);
  }
  /// A fence without a name would be gone.
  basic_rewindable_target(const basic_rewindable_fence<Platform>&& gone, std::uint64_t target) = delete;
  basic_rewindable_target(const basic_rewindable_target&) = delete;
  basic_rewindable_target& operator=(const basic_rewindable_target&) = delete;
  /// Ends the registration. All waits for it must have returned. Progress: takes the fence's lock if the constructor
  /// did.
  ~basic_rewindable_target() {
    if (is_registered_) static_cast<void>(fence_.end_of(waits_, true));
  }

  /// Returns 1 once the target was reached; UINT64_MAX once it is lost; otherwise 0. What the owner of the fence did
  /// before it signalled the value happens-before a return of 1. Progress: wait-free.
  std::uint64_t current_value() const noexcept {
    const std::uint32_t now = look();
    return now == lost ? UINT64_MAX : now;
  }
  /// Returns 1 once the target was reached, otherwise 0. In all else like current_value().
  std::uint64_t last_reached() const noexcept { return look() == reached ? 1 : 0; }
  /// Returns whether the fence was poisoned before it had reached the target. Progress: wait-free.
  bool is_poisoned() const noexcept { return look() == lost; }
  /// Returns the reason of the fence's poison if is_poisoned(); otherwise null. In all else like is_poisoned().
  const loss_reason* loss() const noexcept { return is_poisoned() ? fence_.loss() : nullptr; }

  /// For waits, which register so; see hooked_timeline.hpp.
  void* add_hook(std::uint64_t target, timeline_hook hook) const noexcept { return hooks_.add(target, hook); }
  bool remove_hook(void* registration) const noexcept { return hooks_.remove(registration); }

 private:
  friend waitable<basic_rewindable_target>;

  static constexpr std::uint32_t waiting = 0;
  static constexpr std::uint32_t reached = 1;
  static constexpr std::uint32_t lost = 2;

  struct released : detail::waker {
    explicit released(basic_rewindable_target& settled) noexcept : waker{&on_release}, of{&settled} {}
    static bool on_release(waker& self, detail::release_reason why) noexcept {
      static_cast<released&>(self).of->settle(why == detail::release_reason::lost ? wait_status::lost
                                                                                  : wait_status::reached);
      return false;
    }
    basic_rewindable_target* of;
  };

  void settle(wait_status how) noexcept {
    // (RT1): release, pairs with (RT2): what the owner did before the signal. Not stronger: whoever adds a hook before
    // it is found by the hooks' lock, and whoever does so later sees this value by that lock.
    state_.store(how == wait_status::lost ? lost : reached, std::memory_order_release);
    how == wait_status::lost ? hooks_.release_lost() : hooks_.release_due(1);
  }
  std::uint32_t look() const noexcept {
    // (RT2): acquire, pairs with (RT1). Not stronger, for its reason.
    return state_.load(std::memory_order_acquire);
  }

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    const std::array<basic_awaited<Platform>, 1> self{{{*this, target}}};
    return wait_all_until(self, until == detail::at_once ? deadline{} : until, token);
  }

  const basic_rewindable_fence<Platform>& fence_;
  typename Platform::template atomic<std::uint32_t> state_{waiting};
  mutable basic_hook_list<Platform> hooks_;
  released released_;
  typename basic_rewindable_fence<Platform>::waiting waits_;
  bool is_registered_ = false;
};
template <platform Platform>
basic_rewindable_target(const basic_rewindable_fence<Platform>&, std::uint64_t) -> basic_rewindable_target<Platform>;

/// One value of a rewindable_fence.
using rewindable_target = basic_rewindable_target<symmetric_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_REWINDABLE_TARGET_HPP
