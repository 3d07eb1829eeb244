// SPDX-License-Identifier: BSL-1.0
//
// shared_watch: the threads of one process that sleep for one shared fence, and which of them watches for all.
//
// A wake-up from another process may never come: its thread was killed between the value and the wake, or a barrier was
// refused, or somebody writes nonsense. So one sleeper of each process, the watcher, wakes up once in an interval,
// looks at the value for all sleepers of its process, and wakes those that are due. Its list is private: nobody else
// can break it. A watcher that leaves hands over to another sleeper, and wakes it, so that it sets its own time limit.
//
// The lock protects the list, who watches, and when the next look is due. The watcher looks without the lock. While the
// value is below the least target, it does not go through the list, whose sleepers lie on as many stacks.
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
  explicit shared_watch(deadline::duration interval) noexcept : interval_{interval} {}
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
    if (watcher_ == nullptr) watcher_ = &entering;
  }

  /// Removes it. If it was the watcher, another one is told to go on.
  void leave(sleeper& leaving) noexcept {
    const keeper kept(lock_);
    (leaving.previous != nullptr ? leaving.previous->next : first_) = leaving.next;
    (leaving.next != nullptr ? leaving.next->previous : last_) = leaving.previous;
    if (watcher_ != &leaving) return;
    watcher_ = first_;
    if (watcher_ != nullptr) watcher_->nudge();
  }

  /// Returns when a sleeper must look for all. If that is not after `now`, the caller must look now, and call
  /// nudge_if(): this call has set the time of the next look. Returns no_deadline for all sleepers but the watcher.
  deadline next_look(const sleeper& asking, deadline now) noexcept {
    const keeper kept(lock_);
    if (watcher_ != &asking || interval_ == (deadline::duration::max)()) return no_deadline;
    const deadline due = next_;
    if (due <= now) next_ = now + interval_;
    return due;
  }

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

  park_lock<Platform> lock_;
  sleeper* first_ = nullptr;
  sleeper* last_ = nullptr;
  sleeper* watcher_ = nullptr;
  std::uint64_t least_ = UINT64_MAX;  // no target is less; those that have left count until the next turn
  deadline next_{};
  const deadline::duration interval_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_WATCH_HPP
