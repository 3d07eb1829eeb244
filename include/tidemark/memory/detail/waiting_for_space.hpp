// SPDX-License-Identifier: BSL-1.0
//
// waiting_for_space: threads that wait until another thread gives back a part of a block's memory, or until the
// timeline has reached a value.
#ifndef TIDEMARK_MEMORY_DETAIL_WAITING_FOR_SPACE_HPP
#define TIDEMARK_MEMORY_DETAIL_WAITING_FOR_SPACE_HPP

#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "../../fence/detail/fence_operations.hpp"
#include "../../fence/detail/learning_spin.hpp"
#include "../../fence/detail/waker.hpp"
#include "../../fence/fence.hpp"
#include "../../fence/timeline.hpp"
#include "../../fence/wait.hpp"
#include "../../fence/waiter_heap.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

// How a block of one writer waits for its memory: it tries; while the memory is in use it sleeps until the timeline has
// reached the value that helps first; then it tries again. Blocks of several writers use wait_for_space(), below.

/// The result of an attempt in the form that within() needs: it can be compared with a wait_status.
template <class Result>
struct attempted {
  Result result;
  friend bool operator==(const attempted& made, wait_status) noexcept {
    return made.result.status == decltype(made.result.status)::timeout;
  }
};

/// Calls `attempt(target)` until the status of its result is not `busy`. A busy attempt must have set `target`, for
/// which this function then waits with `followed.wait(target, deadline, token)`. Returns the result of the last
/// attempt; its status is `timeout` or `stopped` where the wait has ended in that way. A timeline that is lost shows
/// UINT64_MAX, so that nothing is in use any more: the next attempt finds that.
/// \tparam Platform  tells the time
template <class Platform, class Followed, class Attempt, class... Limits>
auto retry_while_busy(const Followed& followed, const Attempt& attempt, const Limits&... limits) noexcept {
  using outcome = attempted<decltype(attempt(std::declval<std::uint64_t&>()))>;
  using status = decltype(outcome{}.result.status);
  const auto wait = [&](deadline until, const auto& token) noexcept -> outcome {
    for (;;) {
      std::uint64_t target = 0;
      outcome made{attempt(target)};
      if (made.result.status != status::busy) return made;
      switch (followed.wait(target, until, token)) {
        case wait_status::stopped:
          made.result.status = status::stopped;
          return made;
        case wait_status::timeout:
          made.result.status = status::timeout;
          return made;
        default:  // reached, lost
          break;
      }
    }
  };
  return within<Platform>(wait, limits...).result;
}

/// space_waiters: the threads that wait until another thread gives back a part of a block's memory. The block owns one.
///
///   waiting   how many threads wait; the highest bit is set for ever where the heavy barrier is missing
///   changes   counts what was given back while somebody waited; the waiters sleep on it
///
/// Waiters write the first word, and givers do so without changing it where a platform has no fences. Threads that give
/// something back, stops, and releases of waiters by the timeline write the second one. Why no wake-up is lost: these
/// are the events of a waiter, and of a thread that gives something back.
///
///      g1  what was given back is stored              v1  waiting + 1              (T3)
///      g2  StoreLoad           (T5) (T6) (T12)        v2  StoreLoad                (T4) (T11)
///      g3  waiting is read          (T7) (T13)        v3  changes is read (T10), then the waiter looks for memory
///
/// g2 and v2 are the two sides of one barrier, so one of two things is true. Either g1 comes before v3: then the waiter
/// finds what was given back. Or v1 comes before g3: then the giver finds the waiter, advances `changes` and wakes all
/// waiters. A waiter sleeps only while `changes` is what it read at v3, so it does not miss a wake-up in between.
///
/// What the block itself stores at g1, and reads at v3, keeps the order that it needs to hand memory over. g2 is a
/// compiler barrier in the asymmetric form, where v2 is the heavy barrier; and a fence in the symmetric form. Where a
/// platform has no fences, g2 and g3 are one read-modify-write, which comes before v1 or after it. Where the heavy
/// barrier is missing, the highest bit of `waiting` sends every giver to notify(), and g2 and v2 are full barriers.
///
/// Not promised: that a waiter which is woken finds memory. All waiters are woken each time, and look again.
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

// How a block of several writers waits for memory that another thread has, or that the executor still uses. It tries.
// While it gets nothing, it sleeps until another thread gives something back (space_waiters), or until the timeline has
// reached the value that helps first. Then it tries again.
//
// A waiter sleeps on one word for both: it registers with the heap of the fence that the block follows, and its release
// advances the word of the space_waiters. The registration is fence.hpp's w1; the barrier is w2 and v2 at once; and the
// value is looked at once more before each sleep, which is w3. Where no value helps, the waiter registers for the
// greatest one, so that the loss of the timeline wakes it.
//
// A waiter that can't register looks again every millisecond: where the fence is full and does not grow (it must not,
// or there is no memory), and where the block follows a timeline of the program's own. So does a waiter whose barrier
// was refused. For a value of the program's own timeline it sleeps in the timeline's wait_until(), so that a signal
// wakes it at once, and what other threads give back is found within a millisecond.

template <platform Platform, fence_options Options>
const fence_core<Platform, Options>* as_fence(const fence_core<Platform, Options>& followed) noexcept {
  return &followed;
}

/// Returns the fence behind a timeline, with whose heap a waiter can register; null if there is none.
template <class Timeline>
auto fence_behind(const Timeline& followed) noexcept {
  if constexpr (requires { as_fence(followed); }) {
    return as_fence(followed);
  } else {
    return nullptr;
  }
}
template <class Timeline>
auto fence_behind(const timeline_view<Timeline>& view) noexcept {
  return fence_behind(fence_access::followed(view));
}

/// No value of the timeline helps, only what another thread gives back.
inline constexpr std::uint64_t no_value_helps = UINT64_MAX;

template <platform Platform, timeline Timeline, class Attempt>
class space_wait {
  using result = std::invoke_result_t<const Attempt&, std::uint64_t&, bool>;
  using status = decltype(result::status);

 public:
  space_wait(space_waiters<Platform>& waiters, const follower<Timeline>& followed, const Attempt& attempt) noexcept
      : waiters_{waiters}, followed_{followed}, attempt_{attempt} {}

  template <class Token>
  attempted<result> operator()(deadline until, const Token& token) noexcept {
    for (;;) {
      // Before the attempt, so that it finds what was given back before the stop.
      const bool is_stopped = token.stop_requested();
      if (try_once() || is_stopped) return end(is_stopped);
      if (until == at_once || (until != no_deadline && until <= Platform::now())) return end(false);
      if constexpr (has_heap) {
        spinning_wait<Platform> spinning{target_ == no_value_helps ? nullptr : fence_access::learnt(fence())};
        const auto is_reached = [this] { return fence_access::has_reached(fence(), target_); };
        if (spinning.spin(until, is_reached, [&] { return token.stop_requested(); })) continue;
        spinning.sleeps();
        const auto ended = sleep(until, token, spinning);
        spinning.wakes();
        return ended;
      } else {
        return doze(until, token);
      }
    }
  }

 private:
  static constexpr bool has_heap = !std::is_null_pointer_v<decltype(fence_behind(std::declval<const Timeline&>()))>;
  using waiter = typename space_waiters<Platform>::waiter;

  const auto& fence() const noexcept { return *fence_behind(followed_.get()); }

  /// Returns whether the wait is over.
  bool try_once() noexcept {
    for (;;) {
      target_ = no_value_helps;
      made_ = attempt_(target_, is_again_);
      is_again_ = true;
      if (made_.status != status::busy && made_.status != status::no_space) return true;
      if (target_ != no_value_helps || followed_.current_value() != UINT64_MAX) return false;
      if (std::exchange(is_at_end_, true)) break;
      // Only an attempt that began after the loss shows that something is missing besides.
    }
    if (made_.status == status::busy) return false;
    made_.status = status::lost;
    return true;
  }

  /// Returns the result of the last attempt, or why the wait ends without memory.
  attempted<result> end(bool is_stopped) noexcept {
    if (made_.status == status::busy || made_.status == status::no_space)
      made_.status = is_stopped ? status::stopped : status::timeout;
    return {made_};
  }

  /// The registration of the waiter with the fence: from w1 on, until it is destroyed.
  class registration {
   public:
    registration(const space_wait& of, waiter& woken) noexcept : of_{of}, target_{of.awaited_value()} {
      if (!target_ || *target_ == 0) return;
      ticket_ = fence_access::add(of_.fence(), *target_, &woken);
      // The lane would not wake this thread.
      if (ticket_->is_in_lane()) withdraw();
    }
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    ~registration() { withdraw(); }

    /// Returns whether the fence wakes the waiter when it must.
    bool is_complete() const noexcept { return ticket_ || !target_; }
    /// Returns whether the fence may miss the waiter if the heavy barrier was refused.
    bool needs_barrier() const noexcept {
      if (!ticket_) return false;
      const auto& fence = of_.fence();
      return std::remove_cvref_t<decltype(fence)>::platform::asymmetric && !fence_access::heap(fence).is_pinned();
    }
    std::optional<std::uint64_t> target() const noexcept { return target_; }
    /// w3.
    bool is_over() const noexcept { return target_ && fence_access::is_over(of_.fence(), *target_); }
    void withdraw() noexcept {
      if (ticket_) fence_access::heap(of_.fence()).withdraw(*ticket_);
      ticket_.reset();
    }

   private:
    const space_wait& of_;
    const std::optional<std::uint64_t> target_;
    std::optional<waiter_ticket> ticket_;
  };

  /// Returns for which value of the timeline the waiter waits now: for the greatest one if only the loss of the
  /// timeline matters, and for nothing after that.
  std::optional<std::uint64_t> awaited_value() const noexcept {
    if (is_at_end_) return std::nullopt;
    return target_;
  }

  /// Waits, from v1 to the end of the wait.
  template <class Token>
  attempted<result> sleep(deadline until, const Token& token, spinning_wait<Platform>& spinning) noexcept {
    waiter counted{waiters_};
    const auto nudge = [this] { waiters_.wake_all(); };
    const typename stop_callback_for<Token, std::remove_const_t<decltype(nudge)>>::type stop_callback(token, nudge);
    for (bool is_late = false;;) {
      registration registered{*this, counted};
      const bool wakes_in_time = counted.order(registered.needs_barrier()) && registered.is_complete();
      do {
        const std::uint32_t seen = counted.changes();
        const bool is_stopped = token.stop_requested();
        // Before the attempt, which may take long: a waiter that was released must withdraw without delay.
        if (registered.is_over()) registered.withdraw();
        if (try_once() || is_stopped || is_late) return end(is_stopped);
        if (awaited_value() != registered.target()) break;
        if (registered.is_over()) continue;
        const deadline limit = wakes_in_time ? until : look_again_before(until, Platform::now());
        spinning.parks();
        is_late = !counted.park(seen, limit) && limit == until;
      } while (true);
    }
  }

  /// Waits where the waiter can't register.
  template <class Token>
  attempted<result> doze(deadline until, const Token& token) noexcept {
    waiter counted{waiters_};
    // So that it seldom misses what is given back. Where the barrier is refused, it looks again soon anyway.
    static_cast<void>(counted.order(false));
    for (bool is_late = false;;) {
      const std::uint32_t seen = counted.changes();
      const bool is_stopped = token.stop_requested();
      if (try_once() || is_stopped || is_late) return end(is_stopped);
      const deadline limit = look_again_before(until, Platform::now());
      const bool is_in_time = target_ == no_value_helps ? counted.park(seen, limit)
                                                        : followed_.wait(target_, limit) != wait_status::timeout;
      is_late = !is_in_time && limit == until;
    }
  }

  space_waiters<Platform>& waiters_;
  const follower<Timeline>& followed_;
  const Attempt& attempt_;
  result made_{};
  std::uint64_t target_ = no_value_helps;
  bool is_again_ = false;
  bool is_at_end_ = false;  // the timeline is lost
};

/// Calls `attempt(target, is_again)` until the status of its result is neither `busy` nor `no_space`, and sleeps in
/// between. Such an attempt sets `target` to the value of the timeline that helps first, or leaves it as it is if no
/// value does. `is_again` is false the first time. Returns the result of the last attempt. Its status is `timeout` or
/// `stopped` where the wait has ended in that way; and `lost` if the timeline is lost, and the status was `no_space`.
template <platform Platform, timeline Timeline, class Attempt, class... Limits>
auto wait_for_space(space_waiters<Platform>& waiters, const follower<Timeline>& followed, const Attempt& attempt,
                    const Limits&... limits) noexcept {
  space_wait<Platform, Timeline, Attempt> wait{waiters, followed, attempt};
  return within<Platform>([&](deadline until, const auto& token) { return wait(until, token); }, limits...).result;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_WAITING_FOR_SPACE_HPP
