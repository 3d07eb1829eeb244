// SPDX-License-Identifier: BSL-1.0
//
// shared_watch: the threads of one process that sleep for one shared fence, and which of them watches for all.
//
// A wake-up from another process may never come: its thread was killed between the value and the wake, or a barrier was
// refused, or somebody writes nonsense. So one sleeper of each process, the watcher, wakes up once in an interval,
// looks at the value for all sleepers of its process, and wakes those that are due. Its list is private: nobody else
// can break it. A watcher that leaves hands over to another sleeper, and wakes it, so that it sets its own time limit.
//
// The lock protects the list. The watcher looks without the lock, and when the next look is due is its own word, which
// it hands over with the watch. While the value is below the least target, it does not go through the list, whose
// sleepers lie on as many stacks. The watchers of all processes look at the same moments (next_moment()): ten of them
// took a third less of a processor's time than at moments of their own.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_WATCH_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_WATCH_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "../../platform/tools/limits.hpp"
#include "../../platform/tools/park_lock.hpp"

namespace tidemark::detail {

/// A thread that sleeps for a target. `Nudge` wakes it: a callable, which the watch may call until leave() has
/// returned.
template <class Nudge>
struct watched_sleeper {
  std::uint64_t target;
  Nudge nudge;
  watched_sleeper* next = nullptr;
  watched_sleeper* previous = nullptr;
};

template <platform Platform, class Nudge>
class shared_watch {
 public:
  using sleeper = watched_sleeper<Nudge>;

  /// \param interval  how often the watcher looks; the greatest duration for never
  explicit shared_watch(deadline::duration interval) noexcept
      : interval_{interval}, next_{interval == (deadline::duration::max)() ? no_deadline : deadline{}} {}
  shared_watch(const shared_watch&) = delete;
  shared_watch& operator=(const shared_watch&) = delete;

  /// Adds a thread that is about to sleep. The first one watches.
  void enter(sleeper& entering) noexcept {
    const keeper kept(lock_);
    // At the end: those that sleep for long come to the front, and get the watch.
    entering.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &entering;
    last_ = &entering;
    if (entering.target < least_) least_ = entering.target;
    if (watcher() == nullptr) watches(&entering);
  }

  /// Removes it. If it was the watcher, another one is told to go on.
  void leave(sleeper& leaving) noexcept {
    const keeper kept(lock_);
    (leaving.previous != nullptr ? leaving.previous->next : first_) = leaving.next;
    (leaving.next != nullptr ? leaving.next->previous : last_) = leaving.previous;
    if (watcher() != &leaving) return;
    watches(first_);
    if (first_ != nullptr) first_->nudge();
  }

  /// Returns when a sleeper that has entered must look for all: at no_deadline unless it is the watcher. It must ask
  /// again whenever it was nudged.
  deadline next_look(const sleeper& asking) const noexcept { return watcher() == &asking ? next_ : no_deadline; }
  /// Sets the time of the next look. The watcher calls it when that time has come, then looks, and calls nudge_due().
  void begin_look(deadline now) noexcept { next_ = next_moment(now, interval_); }

  /// Wakes all sleepers whose target is at most `value`, or all.
  void nudge_due(std::uint64_t value, bool all) noexcept {
    const keeper kept(lock_);
    if (!all && value < least_) return;
    least_ = UINT64_MAX;
    for (sleeper* one = first_; one != nullptr; one = one->next) {
      if (one->target < least_) least_ = one->target;
      if (all || one->target <= value) one->nudge();
    }
  }

 private:
  using keeper = lock_keeper<park_lock<Platform>>;

  sleeper* watcher() const noexcept {
    // (SF25): acquire, pairs with (SF26): the new watcher finds the time that the last one has set. If it has asked too
    // early, the nudge behind (SF26) wakes it, and it asks again.
    return watcher_.load(std::memory_order_acquire);
  }
  void watches(sleeper* next) noexcept {
    // (SF26): release, pairs with (SF25).
    watcher_.store(next, std::memory_order_release);
  }

  const deadline::duration interval_;
  park_lock<Platform> lock_;
  sleeper* first_ = nullptr;
  sleeper* last_ = nullptr;
  std::uint64_t least_ = UINT64_MAX;  // no target is less; those that have left count until the next turn
  typename Platform::template atomic<sleeper*> watcher_{nullptr};
  deadline next_;  // only the watcher uses it
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_WATCH_HPP
