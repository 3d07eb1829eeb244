// SPDX-License-Identifier: BSL-1.0
//
// space_waiters: the threads that wait until another thread gives back a part of a block's memory. The block owns one.
//
//   waiting   how many threads wait; the highest bit is set for ever where the heavy barrier is missing
//   changes   counts what was given back while somebody waited; the waiters sleep on it
//
// Waiters write the first word, and givers do so without changing it where a platform has no fences. Threads that give
// something back, stops, and releases of waiters by the timeline write the second one. Why no wake-up is lost: these
// are the events of a waiter, and of a thread that gives something back.
//
//      g1  what was given back is stored              v1  waiting + 1              (T3)
//      g2  StoreLoad           (T5) (T6) (T12)        v2  StoreLoad                (T4) (T11)
//      g3  waiting is read          (T7) (T13)        v3  changes is read (T10), then the waiter looks for memory
//
// g2 and v2 are the two sides of one barrier, so one of two things is true. Either g1 comes before v3: then the waiter
// finds what was given back. Or v1 comes before g3: then the giver finds the waiter, advances `changes` and wakes all
// waiters. A waiter sleeps only while `changes` is what it read at v3, so it does not miss a wake-up in between.
//
// What the block itself stores at g1, and reads at v3, keeps the order that it needs to hand memory over. g2 is a
// compiler barrier in the asymmetric form, where v2 is the heavy barrier; and a fence in the symmetric form. Where a
// platform has no fences, g2 and g3 are one read-modify-write, which comes before v1 or after it. Where the heavy
// barrier is missing, the highest bit of `waiting` sends every giver to notify(), and g2 and v2 are full barriers.
//
// Not promised: that a waiter which is woken finds memory. All waiters are woken each time, and look again.
#ifndef TIDEMARK_MEMORY_DETAIL_SPACE_WAITERS_HPP
#define TIDEMARK_MEMORY_DETAIL_SPACE_WAITERS_HPP

#include <atomic>
#include <cstdint>

#include "../../fence/detail/waker.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform>
class space_waiters {
 public:
  space_waiters() noexcept {
    // (T1): relaxed alone, nobody else knows the block yet.
    if (!Platform::heavy_barrier_available()) waiting_.store(pinned, std::memory_order_relaxed);
  }
  space_waiters(const space_waiters&) = delete;
  space_waiters& operator=(const space_waiters&) = delete;

  /// The calling thread has just given something back: wakes those who wait. Progress: wait-free, except for the system
  /// call that wakes. While nobody waits it is one load; in the symmetric form a fence besides, or a read-modify-write
  /// instead; and a full barrier besides where the heavy barrier is missing. Any thread may call it.
  void given_back() noexcept {
    if (may_be_needed()) [[unlikely]]
      notify();
  }

  /// Wakes everybody who waits. Returns whether somebody was asleep. Progress: wait-free, except for the system call.
  /// Any thread may call it.
  bool wake_all() noexcept {
    // (T9): release, pairs with (T10): a waiter that sees the count sees what its waker saw, such as a value that was
    // reached, or a stop.
    changes_.fetch_add(1, std::memory_order_release);
    return Platform::unpark(changes_, UINT32_MAX);
  }

  /// One thread that waits, from v1 on. It must be destroyed when the wait ends.
  class waiter : public waker {
   public:
    explicit waiter(space_waiters& of) noexcept : waker{&on_release}, of_{of} {
      // (T3): v1; acquire, pairs with (T2). The barriers do the rest on platforms that have fences.
      is_pinned_ = (of_.waiting_.fetch_add(1, std::memory_order_acquire) & pinned) != 0;
    }
    ~waiter() {
      // (T8): relaxed alone: a giver that still finds the old count only makes a wake-up call that wakes nobody.
      of_.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Does v2, for everything that this thread waits for: also for its registration with a timeline. Returns false if
    /// others may miss the waiter, so that it must look again soon: the barrier was refused, and the block or the
    /// timeline relies on it. Each of them says so itself, because what the system refuses now may have been there when
    /// they were made, by another shared library.
    /// \param needs_barrier  whether the registration relies on the heavy barrier
    bool order(bool needs_barrier) noexcept {
      if constexpr (has_fences) {
        // (T4): v2 in the symmetric form; seq_cst, pairs with (T5). Nothing weaker keeps the looks of v3 behind (T3).
        Platform::thread_fence(std::memory_order_seq_cst);
      }
      // (T11): v2 in the asymmetric form, pairs with (T6), and w2 of fence.hpp, as (F21) is.
      return Platform::heavy_barrier() || (is_pinned_ && !needs_barrier);
    }
    /// Begins v3. Returns what park() needs.
    std::uint32_t changes() const noexcept {
      // (T10): acquire, pairs with (T9). Not stronger: a count that is too old only makes park() return at once.
      return of_.changes_.load(std::memory_order_acquire);
    }
    /// Sleeps while the count of changes is `seen`. Returns false only if the deadline has passed.
    bool park(std::uint32_t seen, deadline until) noexcept { return Platform::park(of_.changes_, seen, until); }

   private:
    // The thread that was woken may be another waiter of the block. Then this one is awake, and withdraws by itself.
    static bool on_release(waker& self, release_reason) noexcept { return static_cast<waiter&>(self).of_.wake_all(); }

    space_waiters& of_;
    bool is_pinned_;
  };

 private:
  static constexpr std::uint32_t pinned = std::uint32_t{1} << 31;
  /// Whether fences are the barriers of both sides.
  static constexpr bool has_fences = !Platform::asymmetric && Platform::has_thread_fences;

  /// Does g2 and g3. Returns false only if nobody waits.
  bool may_be_needed() noexcept {
    if constexpr (!Platform::asymmetric && !has_fences) {
      // (T2): g2 and g3 in one; release, pairs with (T3): a waiter that comes later sees what was given back. Not
      // stronger: if the waiter came before, this read-modify-write finds it.
      return waiting_.fetch_add(0, std::memory_order_release) != 0;
    } else {
      if constexpr (has_fences) {
        // (T5): g2 in the symmetric form; seq_cst, pairs with (T4).
        Platform::thread_fence(std::memory_order_seq_cst);
      }
      // (T6): g2 in the asymmetric form; natively this is (G1). It pairs with (T11).
      Platform::light_barrier();
      // (T7): g3; relaxed alone, behind (T5) or (T6).
      return waiting_.load(std::memory_order_relaxed) != 0;
    }
  }

  [[gnu::noinline]] void notify() noexcept {
    if constexpr (Platform::asymmetric) {
      if (!Platform::heavy_barrier_available()) {
        // (T12): g2 where the heavy barrier is missing; pairs with the waiter's own (G3) in (T11).
        Platform::full_barrier();
        // (T13): g3; relaxed alone, behind (T12).
        if (waiting_.load(std::memory_order_relaxed) == pinned) return;
      }
    }
    wake_all();
  }

  typename Platform::template atomic<std::uint32_t> waiting_;
  typename Platform::park_word changes_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_SPACE_WAITERS_HPP
