// SPDX-License-Identifier: BSL-1.0
//
// event_count: threads try something, and sleep while it fails, until another thread says that it may succeed now, or
// until a timeline has reached a value, whichever comes first.
//
//   tidemark::event_count given_back;
//   pool.put(buffer);                                   in any thread: change what others wait for,
//   given_back.notify();                                and then say so: one load, if nobody waits
//
//   given_back.wait([&] { return pool.take(mine); });   in any other one: true ends the wait
//
//   auto attempt = [&]() -> tidemark::attempt_result {  a timeline may help as well:
//     if (pool.take(mine)) return true;
//     return tidemark::attempt_result::again_at(pool.next_free_at());
//   };
//   given_back.wait(device_progress, attempt);          the same, also tried again when the device has come that far
//
//   waiting   how many threads wait; the highest bit is set for ever if the system has no heavy barrier (platform.hpp)
//   changes   counts notifications that found a waiter, stops and releases; the waiters sleep on it
//
// Waiters write the first word. Where a platform has no fences, notify() writes it, too, but keeps its value. The
// second word is written by notifications that find a waiter, by stops, and by timelines that release a waiter.
//
// Why no wake-up is lost
// ----------------------
// These are the events of a waiter, and of a thread that notifies; (T2) and so on are comments at the code:
//
//      g1  what was changed is stored                 v1  waiting + 1              (T3)
//      g2  StoreLoad           (T5) (T6) (T12)        v2  StoreLoad                (T4) (T11)
//      g3  waiting is read          (T7) (T13)        v3  changes is read (T10), then the waiter tries
//
// g2 and v2 are the two sides of one barrier, so one of two things is true. Either g1 comes before v3: then the attempt
// finds what was changed. Or v1 comes before g3: then the notification finds the waiter, advances `changes` and wakes
// all waiters. A waiter sleeps only while `changes` is what it read at v3. So it misses what comes in between only if
// these are exactly 2^32 changes, or a multiple of that.
//
// A notification promises no happens-before: for what is stored at g1 and read after v3, the program itself must use
// the memory orders that it needs. g2 is a compiler barrier in the asymmetric form, where v2 is the heavy barrier; and
// a fence in the symmetric form. Where a platform has no fences, g2 and g3 are one read-modify-write, which comes
// before v1 or after it. Where the heavy barrier is missing, the highest bit of `waiting` sends every notification the
// slow way, and g2 and v2 are full barriers.
//
// With a timeline, a waiter sleeps on one word for both: it registers with the heap of the fence, and its release
// advances `changes`. In the terms of fence.hpp, the registration is w1, and a look at the value before each sleep is
// w3. One barrier serves as w2 and as v2.
//
// A waiter calls its attempt again every millisecond where it can't register: the fence is full and must not grow,
// there is no memory, or the timeline is a type of the program's own. So does a waiter whose barrier was refused. For a
// value of the program's own timeline it sleeps in the timeline's wait_until(): a signal wakes it at once, and a
// notification or a stop is found within a millisecond.
//
// Not promised: fairness; that a waiter which is woken succeeds. All waiters are woken each time, and try again.
#ifndef TIDEMARK_FENCE_EVENT_COUNT_HPP
#define TIDEMARK_FENCE_EVENT_COUNT_HPP

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/registering_process.hpp"
#include "awaited.hpp"
#include "fence.hpp"
#include "timeline.hpp"
#include "tools/fence_operations.hpp"
#include "tools/learning_spin.hpp"
#include "tools/waker.hpp"
#include "wait.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

/// What an attempt has come to: success, or what may help it.
class [[nodiscard]] attempt_result {
 public:
  /// \param has_succeeded  true ends the wait. False is again()
  constexpr attempt_result(std::same_as<bool> auto has_succeeded) noexcept
      : what_{has_succeeded ? kind::done : kind::again} {}

  /// It has failed, and may succeed after a notification. The timeline does not matter, not even its loss.
  static constexpr attempt_result again() noexcept { return false; }
  /// It has failed, and may succeed after a notification, or when the timeline has reached `value`. If the timeline has
  /// reached it by the time the attempt returns, the wait tries again without a sleep. With UINT64_MAX no value of the
  /// timeline helps, and only its loss matters. Only for waits with a timeline.
  static constexpr attempt_result again_at(std::uint64_t value) noexcept { return {kind::again_at, value}; }

  constexpr bool has_succeeded() const noexcept { return what_ == kind::done; }
  /// Returns what again_at() was called with; nothing for other results.
  constexpr std::optional<std::uint64_t> value() const noexcept {
    return what_ == kind::again_at ? std::optional{value_} : std::nullopt;
  }

 private:
  enum class kind : std::uint8_t { done, again, again_at };
  constexpr attempt_result(kind what, std::uint64_t value) noexcept : value_{value}, what_{what} {}

  std::uint64_t value_ = 0;
  kind what_;
};

/// A callable that a wait without a timeline calls again and again until it returns true: a bool, and no other type.
/// It throws nothing.
template <class F>
concept plain_attempt = requires(const F& attempt) {
  { attempt() } -> std::same_as<bool>;
};
/// A callable that a wait with a timeline calls again and again until it has succeeded: it returns a bool or an
/// attempt_result. It throws nothing.
template <class F>
concept timeline_attempt = requires(const F& attempt) {
  { attempt() } -> std::convertible_to<attempt_result>;
};

template <platform Platform>
class basic_event_count;

namespace detail {

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

/// The timeline of a wait without one.
struct no_timeline {
  static constexpr std::uint64_t current_value() noexcept { return 0; }
};

/// One wait.
template <platform Platform, class Timeline, class Attempt>
class event_wait {
 public:
  using events = basic_event_count<Platform>;

  event_wait(events& of, const Timeline& followed, const Attempt& attempt) noexcept
      : events_{of}, followed_{followed}, attempt_{attempt} {}

  template <class Token>
  wait_status operator()(deadline until, const Token& token) noexcept {
    for (;;) {
      // Before the attempt, so that it finds what was changed before the stop, or before the deadline.
      const bool is_stopped = token.stop_requested();
      const bool is_late = has_passed(until);
      if (try_once() || is_stopped || is_late) return end(is_stopped);
      if constexpr (has_heap) {
        const std::uint64_t target = result_.value().value_or(UINT64_MAX);
        spinning_wait<Platform> spinning{target == UINT64_MAX ? nullptr : fence_access::learnt(fence())};
        const auto is_reached = [&] { return fence_access::has_reached(fence(), target); };
        if (spinning.spin(until, is_reached, [&] { return token.stop_requested(); })) continue;
        spinning.sleeps();
        const wait_status ended = sleep(until, token, spinning);
        spinning.wakes();
        return ended;
      } else if constexpr (has_timeline) {
        return doze(until, token);
      } else {
        spinning_wait<Platform> never{nullptr};
        return sleep(until, token, never);
      }
    }
  }

 private:
  static constexpr bool has_timeline = !std::same_as<Timeline, no_timeline>;
  static constexpr bool has_heap = !std::is_null_pointer_v<decltype(fence_behind(std::declval<const Timeline&>()))>;
  static_assert(!has_heap || can_wait_for<Platform, typename platform_of_timeline<Timeline>::type>,
                "an event count must be asymmetric if its timeline is, and park as the timeline does");
  using waiter = typename events::waiter;

  const auto& fence() const noexcept { return *fence_behind(followed_); }
  static bool has_passed(deadline until) noexcept { return until != no_deadline && until <= Platform::now(); }

  /// Returns whether the wait is over.
  bool try_once() noexcept {
    for (;;) {
      result_ = attempt_();
      if (result_.has_succeeded()) return true;
      if (!result_.value() || followed_.current_value() != UINT64_MAX) return false;
      if (std::exchange(is_at_end_, true)) return is_lost_ = true;
      // Only an attempt that began after the loss shows that something is missing besides.
    }
  }

  /// Returns why the wait ends.
  wait_status end(bool is_stopped) const noexcept {
    if (result_.has_succeeded()) return wait_status::reached;
    if (is_lost_) return wait_status::lost;
    return is_stopped ? wait_status::stopped : wait_status::timeout;
  }

  /// The registration of the waiter with the fence, if the wait has one: from w1 on, until it is destroyed.
  class registration {
   public:
    registration(const event_wait& of, waiter& woken) noexcept : of_{of}, target_{of.result_.value()} {
      if constexpr (has_heap) {
        if (!target_ || *target_ == 0) return;
        ticket_ = fence_access::add(of_.fence(), *target_, &woken);
        // The lane would not wake this thread.
        if (ticket_->is_in_lane()) withdraw();
      }
    }
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    ~registration() { withdraw(); }

    /// Returns whether the fence wakes the waiter when it must.
    bool is_complete() const noexcept { return ticket_ || !target_; }
    /// Returns whether the fence relies on the heavy barrier to find the waiter.
    bool needs_barrier() const noexcept {
      if constexpr (has_heap) {
        const auto& fence = of_.fence();
        return ticket_ && timeline_platform<Timeline>::asymmetric && !fence_access::heap(fence).is_pinned();
      } else {
        return false;
      }
    }
    /// Returns the value for which it was made, if there is one.
    std::optional<std::uint64_t> target() const noexcept { return target_; }
    /// w3.
    bool is_over() const noexcept {
      if constexpr (has_heap) {
        return target_ && fence_access::is_over(of_.fence(), *target_);
      } else {
        return false;
      }
    }
    void withdraw() noexcept {
      if constexpr (has_heap) {
        if (ticket_) fence_access::heap(of_.fence()).withdraw(*ticket_);
        ticket_.reset();
      }
    }

   private:
    const event_wait& of_;
    const std::optional<std::uint64_t> target_;
    std::optional<waiter_ticket> ticket_;
  };

  /// Waits, from v1 to the end of the wait.
  template <class Token>
  wait_status sleep(deadline until, const Token& token, spinning_wait<Platform>& spinning) noexcept {
    waiter counted{events_};
    const auto nudge = [this] { events_.wake_all(); };
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
        is_late = has_passed(until);
        if (result_.value() != registered.target()) break;
        if (registered.is_over()) continue;
        const deadline limit = wakes_in_time ? until : look_again_before(until, Platform::now());
        spinning.parks();
        if (!counted.park(seen, limit)) is_late = limit == until;
      } while (true);
    }
  }

  /// Waits for a timeline of the program's own, where a waiter can't register.
  template <class Token>
  wait_status doze(deadline until, const Token& token) noexcept {
    waiter counted{events_};
    // So that it seldom misses a notification. Where the barrier is refused, it looks again soon anyway.
    static_cast<void>(counted.order(false));
    for (bool is_late = false;;) {
      const std::uint32_t seen = counted.changes();
      const bool is_stopped = token.stop_requested();
      if (try_once() || is_stopped || is_late) return end(is_stopped);
      const deadline limit = look_again_before(until, Platform::now());
      const std::uint64_t target = result_.value().value_or(UINT64_MAX);
      const bool is_in_time = target == UINT64_MAX
                                  ? counted.park(seen, limit)
                                  : wait_on<Platform>(followed_, target, limit, never_stops{}) != wait_status::timeout;
      is_late = is_in_time ? has_passed(until) : limit == until;
    }
  }

  events& events_;
  const Timeline& followed_;
  const Attempt& attempt_;
  attempt_result result_{false};
  bool is_at_end_ = false;  // the timeline is lost
  bool is_lost_ = false;    // and the attempt failed after that
};

}  // namespace detail

/// What threads sleep on that try something which other threads, or a timeline, make possible. It must outlive all
/// calls of its functions.
///
/// The wait functions have the form that waits have everywhere (wait.hpp): wait(), wait_for() and wait_until(), each
/// with an optional stop token last. They call the attempt at least once, on the calling thread, and hold no lock
/// meanwhile; it may be called any number of times. It should be short: if the fence releases a waiter during its
/// attempt, other waiters of the fence may not be woken before that attempt has ended. If it fails, it must not notify
/// this object: then the wait would never sleep. They return `reached` if the attempt has succeeded; `timeout` or
/// `stopped` if it has failed once more after the deadline or the stop; and `lost` if the timeline is lost, or has
/// reached UINT64_MAX, and an attempt that began after that has returned again_at(). They throw nothing, and allocate
/// nothing unless a waiter finds no free slot in the heap of the timeline, and the fence may grow.
/// \tparam Platform  the platform of the waits. It must be asymmetric if the timelines are, and park as they do
template <platform Platform>
class basic_event_count {
 public:
  using platform = Platform;

  basic_event_count() noexcept {
    // (T1): relaxed alone, nobody else knows the object yet.
    if (!Platform::heavy_barrier_available()) waiting_.store(pinned, std::memory_order_relaxed);
  }
  basic_event_count(const basic_event_count&) = delete;
  basic_event_count& operator=(const basic_event_count&) = delete;
  /// Asserts that nobody waits; but not in the child of a fork, whose copy may have waits of threads that it
  /// does not have. No other call may be under way.
  ~basic_event_count() {
    TIDEMARK_ASSERT(!has_waits() || !detail::registering_process::is_this<Platform>(),
                    "an event count was destroyed before the waits for it had ended");
  }

  /// Says that the calling thread has just changed something: all waiters try again. A waiter that still spins for the
  /// value of a fence tries again when its spin is over, fence_options::max_spin_ns later at most. Progress: wait-free,
  /// except for the system call that wakes. While nobody waits, it is one load in the asymmetric form. In the symmetric
  /// form it is a memory fence and a load, or one read-modify-write where the platform has no memory fences. Where the
  /// heavy barrier is missing, there is a full barrier besides. Any thread may call it.
  void notify() noexcept {
    if (may_be_needed()) [[unlikely]]
      notify_waiters();
  }

  // ---- Waits: any thread. They block. -------------------------------------------------------------------------------

  /// Waits until `attempt()` returns true. Returns `reached`; or `stopped` if `token` is triggered first.
  template <plain_attempt Attempt, stop_token_like Token = never_stops>
  wait_status wait(const Attempt& attempt, Token token = {}) noexcept {
    return wait_within(detail::no_timeline{}, attempt, std::move(token));
  }
  /// The same for the duration `timeout` at most, and then returns `timeout`.
  template <plain_attempt Attempt, class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(const Attempt& attempt, const std::chrono::duration<Rep, Period>& timeout,
                       Token token = {}) noexcept {
    return wait_within(detail::no_timeline{}, attempt, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <plain_attempt Attempt, class Clock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_until(const Attempt& attempt, const std::chrono::time_point<Clock, Duration>& at,
                         Token token = {}) noexcept {
    return wait_within(detail::no_timeline{}, attempt, at, std::move(token));
  }

  /// Waits until `attempt()` has succeeded. Returns `reached`; `lost`; or `stopped` if `token` is triggered first.
  /// \param followed  a fence, a view of one, or a timeline of the program's own. Each result again_at(value) names a
  ///                  value of it
  template <timeline Timeline, timeline_attempt Attempt, stop_token_like Token = never_stops>
  wait_status wait(const Timeline& followed, const Attempt& attempt, Token token = {}) noexcept {
    return wait_within(followed, attempt, std::move(token));
  }
  /// The same for the duration `timeout` at most, and then returns `timeout`.
  template <timeline Timeline, timeline_attempt Attempt, class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(const Timeline& followed, const Attempt& attempt,
                       const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return wait_within(followed, attempt, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <timeline Timeline, timeline_attempt Attempt, class Clock, class Duration,
            stop_token_like Token = never_stops>
  wait_status wait_until(const Timeline& followed, const Attempt& attempt,
                         const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    return wait_within(followed, attempt, at, std::move(token));
  }

 private:
  template <tidemark::platform, class, class>
  friend class detail::event_wait;

  static constexpr std::uint32_t pinned = std::uint32_t{1} << 31;
  /// Whether memory fences are the barriers of both sides.
  static constexpr bool has_fences = !Platform::asymmetric && Platform::has_thread_fences;

  template <class Timeline, class Attempt, class... Limits>
  wait_status wait_within(const Timeline& followed, const Attempt& attempt, const Limits&... limits) noexcept {
    detail::event_wait<Platform, Timeline, Attempt> wait{*this, followed, attempt};
    return detail::within<Platform>([&](deadline until, const auto& token) { return wait(until, token); }, limits...);
  }

  bool has_waits() const noexcept {
    // (T14): relaxed alone: whoever destroys the object knows that all waits have returned.
    return (waiting_.load(std::memory_order_relaxed) & ~pinned) != 0;
  }

  /// One thread that waits, from v1 on. It must be destroyed when the wait ends.
  class waiter : public detail::waker {
   public:
    explicit waiter(basic_event_count& of) noexcept : waker{&on_release}, of_{of} {
      TIDEMARK_ASSERT(detail::registering_process::note(), "the destructor knows which process has registered waiters");
      // (T3): v1; acquire, pairs with (T2). The barriers do the rest on platforms that have fences.
      is_pinned_ = (of_.waiting_.fetch_add(1, std::memory_order_acquire) & pinned) != 0;
    }
    ~waiter() {
      // (T8): relaxed alone: a notification that still finds the old count only makes a wake-up call that wakes nobody.
      of_.waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Does v2, for everything that this thread waits for: also for its registration with a timeline. Returns false if
    /// others may miss the waiter, so that it must look again soon: the barrier was refused, and the object or the
    /// timeline relies on it. Each of the two notes for itself whether it relies on the barrier: they may have been
    /// made in different shared libraries, and only one of these may have been refused the barrier.
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
    // Wakes all waiters of the object, so true may mean that only others were asleep. Then this one is awake. It
    // withdraws by itself, but only after its attempt.
    static bool on_release(detail::waker& self, detail::release_reason) noexcept {
      return static_cast<waiter&>(self).of_.wake_all();
    }

    basic_event_count& of_;
    bool is_pinned_;
  };

  /// Does g2 and g3. Returns false only if nobody waits.
  bool may_be_needed() noexcept {
    if constexpr (!Platform::asymmetric && !has_fences) {
      // (T2): g2 and g3 in one; release, pairs with (T3): a waiter that comes later sees what was changed. Not
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

  [[gnu::noinline]] void notify_waiters() noexcept {
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

  /// Returns whether somebody was asleep.
  bool wake_all() noexcept {
    // (T9): release, pairs with (T10): a waiter that sees the count sees what its waker saw, such as a value that was
    // reached, or a stop.
    changes_.fetch_add(1, std::memory_order_release);
    return Platform::unpark(changes_, UINT32_MAX);
  }

  typename Platform::template atomic<std::uint32_t> waiting_;
  typename Platform::park_word changes_;
};

/// An event count for fences and progress fences of the default platforms.
using event_count = basic_event_count<native_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_EVENT_COUNT_HPP
