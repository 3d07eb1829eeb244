// SPDX-License-Identifier: BSL-1.0
//
// shared_watch: the threads of one process that sleep for one shared fence, and which of them watches for all.
//
// A wake-up from another process may never come: its thread was killed between the value and the wake, or a barrier was
// refused, or somebody writes nonsense. So one sleeper of each process, the watcher, wakes up once in an interval,
// looks at the value for all sleepers of its process, and wakes those that are due. Its list is private: nobody else
// can break it. A watcher that leaves hands over to another sleeper, and wakes it, so that it sets its own time limit.
//
// That wake-up may fail to come, too. A neighbour may write into the words on which threads sleep; or it lets the
// kernel move the sleepers to another word (FUTEX_REQUEUE), for which it only needs to read them. So each sleeper has a
// time limit. A sleeper that does not watch looks for all if nobody has done so for a long time, the patience.
//
// The lock protects the list, its least target, and changes of who watches. Whoever looks does so without it. While the
// value is below the least target, it does not go through the list, whose sleepers lie on as many stacks.
//
// A watcher's next look is at a whole multiple of the interval on the steady clock, so the watchers of different
// processes wake up together, and a processor that rests is woken less often.
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
/// returned. The thread must ask next_look() again then. Either it learns of the nudge by an acquire that pairs with a
/// release in the nudge, as with the slots of a shared_heap; or it asks again after a time in any case.
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
  /// \param patience  how long the others rely on it: longer than the interval, and short enough to be added to a time
  shared_watch(deadline::duration interval, deadline::duration patience) noexcept
      : interval_{interval}, patience_{patience} {}
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

  /// Returns when a sleeper that has entered must look for all, if nobody does so before.
  deadline next_look(const sleeper& asking) const noexcept {
    if (interval_ == (deadline::duration::max)()) return no_deadline;
    return watcher() == &asking ? next() : next() + patience_;
  }
  /// Returns whether that time has come. If so, the caller must look now, and call nudge_due(): this call has set the
  /// time of the next look.
  bool begin_look(const sleeper& asking, deadline now) noexcept {
    if (now < next_look(asking)) return false;
    // (SF26): relaxed alone: a sleeper that reads an older time looks once too often.
    next_.store(ticks_of(next_moment(now, interval_)), std::memory_order_relaxed);
    return true;
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

  sleeper* watcher() const noexcept {
    // (SF25): relaxed alone: whoever is handed the watch is nudged and asks again, see watched_sleeper. Nothing else is
    // read by it.
    return watcher_.load(std::memory_order_relaxed);
  }
  void watches(sleeper* next) noexcept {
    // (SF27): relaxed alone, like (SF25).
    watcher_.store(next, std::memory_order_relaxed);
  }

  static std::uint64_t ticks_of(deadline time) noexcept {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
  }
  deadline next() const noexcept {
    // (SF28): relaxed alone, like (SF26).
    const std::uint64_t ticks = next_.load(std::memory_order_relaxed);
    return deadline{deadline::duration{static_cast<deadline::rep>(ticks)}};
  }

  const deadline::duration interval_;
  const deadline::duration patience_;
  park_lock<Platform> lock_;
  sleeper* first_ = nullptr;
  sleeper* last_ = nullptr;
  std::uint64_t least_ = UINT64_MAX;  // no target is less; those that have left count until the next turn
  typename Platform::template atomic<sleeper*> watcher_{nullptr};
  typename Platform::template atomic<std::uint64_t> next_{0};  // the time of the next look
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_WATCH_HPP
