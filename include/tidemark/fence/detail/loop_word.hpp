// SPDX-License-Identifier: BSL-1.0
//
// loop_word: the word on which the threads of a loop sleep.
//
//   [ changes : 20 bits | a thread sleeps outside : 1 | sleeping threads : 11 ]
//
// Why nothing is lost
// -------------------
// Whoever pushes work for a thread that may go to sleep pushes it, and then counts a change (Y2). The thread reads the
// count (Y3), takes the work, and counts itself as sleeping (Y4). If Y3 reads the change, the thread finds what was
// pushed. If not, but Y2 comes before Y4, the thread finds the count changed and begins again. If Y2 comes after Y4,
// the pusher finds a sleeping thread and wakes one; and a thread that does not sleep yet finds the word changed. The
// count only rises, so another thread that takes what was pushed can't hide the change. A thread that was woken
// collects before it leaves the loop at its deadline. One that a stop ends may not, but each stop wakes all.
//
// A thread may also leave the loop and sleep elsewhere, as in poll() on the loop's descriptor. Its mark (Y15) takes the
// place of Y4. Whoever finds the mark removes it (Y16) and tells the thread, so it is told once for each time that it
// leaves.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_WORD_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_WORD_HPP

#include <atomic>
#include <cstdint>
#include <optional>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// A sleep outside of a loop, of a thread that has left it and comes back when it is told.
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
    // (Y2): release, pairs with (Y3): the thread finds what was changed. Not stronger: the order of (Y2) and (Y4) is
    // that of one word.
    return tell_outside(word_.fetch_add(one_change, std::memory_order_release));
  }
  /// Counts a change of which all threads are told.
  void count_for_all() noexcept {
    // (Y5): release, pairs with (Y3): the thread sees what was done before, such as a stop. Not stronger, like (Y2).
    static_cast<void>(tell_outside(word_.fetch_add(one_change, std::memory_order_release)));
  }
  /// Wakes up to so many threads that sleep on the word.
  void wake(std::uint32_t most) noexcept { Platform::unpark(word_, most); }

  // ---- a thread that sleeps ----

  /// Returns the word. What was changed before the changes that it counts is found afterwards.
  std::uint32_t look() const noexcept {
    // (Y3): acquire, pairs with (Y2) (Y5). Not stronger: if this misses a change, (Y4) or (Y15) finds it.
    return word_.load(std::memory_order_acquire);
  }
  /// Counts this thread as sleeping, and returns what it may sleep on; nothing if something was changed since look().
  std::optional<std::uint32_t> begin_sleep(std::uint32_t seen) noexcept {
    // (Y4): relaxed alone: only whether the count is still the same matters, and if it is not, (Y3) reads it again.
    const std::uint32_t now = word_.fetch_add(one_sleeper, std::memory_order_relaxed) + one_sleeper;
    if (now / one_change != seen / one_change) return std::nullopt;
    return now;
  }
  /// Sleeps while the word is what begin_sleep() has returned. Returns false only if the deadline has passed.
  bool sleep(std::uint32_t now, deadline until) noexcept { return Platform::park(word_, now, until); }
  /// Must follow begin_sleep(), whatever that has returned.
  void end_sleep() noexcept {
    // (Y12): relaxed alone: only a count, which tells nobody anything of other data.
    word_.fetch_sub(one_sleeper, std::memory_order_relaxed);
  }

  /// Sets what a thread sleeps in that leaves the loop. Only once.
  void set_outside(outside_sleep& told) noexcept { outside_.store(&told); }
  /// Marks that a thread sleeps outside. Returns false if something was changed since look().
  bool leave(std::uint32_t seen) noexcept {
    // (Y15): release, pairs with (Y16): whoever tells the thread finds what it is told by, as it was set. Not stronger,
    // like (Y4).
    return word_.fetch_or(outside_mark, std::memory_order_release) / one_change == seen / one_change;
  }
  /// Removes the mark.
  void come_back() noexcept {
    // (Y17): relaxed alone: if the mark is gone, somebody tells the thread once too often, which does no harm.
    word_.fetch_and(~outside_mark, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t one_sleeper = 1;
  static constexpr std::uint32_t outside_mark = std::uint32_t{1} << 11;
  static constexpr std::uint32_t one_change = std::uint32_t{1} << 12;

  /// \param before  the word before a change was counted
  bool tell_outside(std::uint32_t before) noexcept {
    // (Y16): acquire, pairs with (Y15). An exchange, so that one thread tells it. Not stronger: it relies on the word
    // alone.
    if ((before & outside_mark) != 0 &&
        (word_.fetch_and(~outside_mark, std::memory_order_acquire) & outside_mark) != 0) {
      outside_.load()->wake();
    }
    return before % outside_mark != 0;
  }

  typename Platform::park_word word_{0};
  typename Platform::template var<outside_sleep*> outside_{nullptr};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_WORD_HPP
