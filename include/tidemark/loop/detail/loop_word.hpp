// SPDX-License-Identifier: BSL-1.0
//
// loop_word: the word on which the threads of a loop sleep.
//
//   [ changes : 30 bits | a thread sleeps outside : 1 | threads sleep on the word : 1 ]
//
// Why nothing is lost
// -------------------
// Whoever pushes work for a thread that may go to sleep pushes it, and then counts a change (Y2). So does whoever stops
// a thread by its token. The thread marks the word (Y4), with the loop's lock, looks once more at all that may have
// come without the lock, and sleeps. If Y2 comes before Y4, this look finds what was pushed; or another thread has
// taken it, and has seen to it. If Y2 comes after Y4, the pusher finds the mark and wakes a thread; and a thread that
// does not sleep yet finds the word changed. A thread that was woken collects before it leaves the loop at its
// deadline. One that a stop ends may not, but each stop wakes all.
//
// The count wraps around. Only a thread between its last look and its sleep relies on it. It sleeps through a change if
// meanwhile exactly 2^30 of them were counted, or a multiple of that, and the next change wakes it. Each of them has
// found the mark and made a system call, so that takes minutes.
//
// A thread may also leave the loop and sleep elsewhere, as in poll() on the loop's descriptor. Its mark (Y15) takes the
// place of Y4. Whoever finds the mark removes it (Y16) and tells the thread, so it is told once for each time that it
// leaves.
#ifndef TIDEMARK_LOOP_DETAIL_LOOP_WORD_HPP
#define TIDEMARK_LOOP_DETAIL_LOOP_WORD_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// A sleep outside of a loop, of a thread that has left it and comes back when it is notified.
class outside_sleep {
 public:
  outside_sleep() = default;
  outside_sleep(const outside_sleep&) = delete;
  outside_sleep& operator=(const outside_sleep&) = delete;

  /// Ends the sleep, or the next one. Any thread may call it.
  virtual void wake() noexcept = 0;
  /// Ends the sleep at this time. The loop calls it with its lock.
  virtual void set(deadline at) noexcept = 0;
  /// Forgets the calls of wake() so far. The loop calls it with its lock, when the thread has come back.
  virtual void clear() noexcept = 0;
  /// Sleeps until wake() is called, until the time of set(), at most until `until`, or for no reason. Returns at once
  /// if wake() was called since clear(). A thread that runs the loop calls it, without the lock.
  /// \param now  of the loop's clock
  virtual void sleep(deadline until, deadline now) noexcept = 0;

 protected:
  ~outside_sleep() = default;
};

template <platform Platform>
class loop_word {
 public:
  // ---- whoever makes a change ----

  /// Counts a change, and tells the thread that sleeps outside. Returns whether threads sleep on the word.
  bool count() noexcept {
    // (Y2): release, pairs with (Y3) (Y4) (Y15): the thread finds what was changed. Not stronger: the order of (Y2) and
    // (Y4) is that of one word.
    return tell_outside(word_.fetch_add(one_change, std::memory_order_release));
  }
  /// Counts a change that concerns all threads.
  void count_for_all() noexcept {
    // (Y5): release, pairs with (Y3) (Y4) (Y15): the thread sees what was done before, such as a stop. Not stronger,
    // like (Y2).
    static_cast<void>(tell_outside(word_.fetch_add(one_change, std::memory_order_release)));
  }
  /// Wakes up to `most` threads that sleep on the word.
  void wake(std::uint32_t most) noexcept { Platform::unpark(word_, most); }

  // ---- a thread that sleeps, with the loop's lock but in sleep() ----

  /// What was changed before the changes that the word counts is found afterwards.
  void look() const noexcept {
    // (Y3): acquire, pairs with (Y2) (Y5): a thread that was woken finds what it was woken for, also if it leaves the
    // loop next. Not stronger: if another one misses a change by this, (Y4) or (Y15) finds it.
    static_cast<void>(word_.load(std::memory_order_acquire));
  }
  /// Marks that this thread sleeps, and returns what it may sleep on. It must look once more at all that is changed
  /// without the lock.
  std::uint32_t begin_sleep() noexcept {
    ++sleepers_;
    // (Y4): acquire, pairs with (Y2) (Y5): the look that follows finds what was changed before. Not stronger: the order
    // of (Y2) and (Y4) is that of one word.
    return word_.fetch_or(sleeping_mark, std::memory_order_acquire) | sleeping_mark;
  }
  /// Sleeps while the word is what begin_sleep() has returned. Returns false only if the deadline has passed.
  bool sleep(std::uint32_t now, deadline until) noexcept { return Platform::park(word_, now, until); }
  /// Must follow begin_sleep().
  void end_sleep() noexcept {
    const std::uint32_t kept = --sleepers_ == 0 ? ~sleeping_mark : UINT32_MAX;
    // (Y12): relaxed alone: (Y3) comes next. An exchange in any case, so that (Y3) finds the change for which this
    // thread was woken.
    word_.fetch_and(kept, std::memory_order_relaxed);
  }

  /// Sets what a thread sleeps in that leaves the loop. Only once.
  void set_outside(outside_sleep& told) noexcept { outside_.store(&told); }
  /// Marks that a thread sleeps outside. It must look once more, as after begin_sleep().
  void leave() noexcept {
    // (Y15): acq_rel. Release, pairs with (Y16): whoever notifies the thread finds the notification as it was set.
    // Acquire, pairs with (Y2) (Y5), like (Y4). Not stronger, like (Y4).
    word_.fetch_or(outside_mark, std::memory_order_acq_rel);
  }
  /// Removes the mark.
  void come_back() noexcept {
    // (Y17): relaxed alone: if the mark is gone, somebody tells the thread once too often, which does no harm.
    word_.fetch_and(~outside_mark, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t sleeping_mark = 1;
  static constexpr std::uint32_t outside_mark = 2;
  static constexpr std::uint32_t one_change = 4;

  /// \param before  the word before a change was counted
  bool tell_outside(std::uint32_t before) noexcept {
    // (Y16): acquire, pairs with (Y15). An exchange, so that one thread tells it. Not stronger: it relies on the word
    // alone.
    if ((before & outside_mark) != 0 &&
        (word_.fetch_and(~outside_mark, std::memory_order_acquire) & outside_mark) != 0) {
      outside_.load()->wake();
    }
    return (before & sleeping_mark) != 0;
  }

  typename Platform::park_word word_{0};
  std::size_t sleepers_ = 0;  // between begin_sleep() and end_sleep(); the loop's lock protects it
  typename Platform::template var<outside_sleep*> outside_{nullptr};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOOP_DETAIL_LOOP_WORD_HPP
