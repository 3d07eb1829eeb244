// SPDX-License-Identifier: BSL-1.0
//
// rewindable_fence: a value that its owner raises by signals, and may set back. It is a type of its own, because the
// rest of the library relies on values that only rise: completed values are cached, tickets and serials are compared
// with them. So a rewindable fence is no `timeline`. No block follows it, it is no `awaited` of wait_any() and
// wait_all(), and no loop, callable or sender waits for it; none of these compiles. Threads block until it has reached
// a value.
//
//   value_       the owner writes it, all threads read it
//   monitored_   the least awaited target - 1, or no_waiter: the owner reads it; whoever changes waits_ writes it
//   loss_        why the value is lost, as poison() was told; null if it is not
//   waits_       the waits in the order of their targets, each on the stack of its thread; the lock protects them
//
// What a wait means
// -----------------
// A wait for t returns `reached` if the value is at least t when the wait begins, or at any moment until it ends. It
// stays so when the value is set back afterwards: even if the owner signals 8 and goes back to 0 while the thread that
// waits for 5 still sleeps, that thread returns `reached`. A wait that begins after rewind() has returned knows nothing
// of earlier values. No value that a wait needs is missed, and each wait ends once. A wait begins with the look at the
// value that follows its registration. monitored_value() may show it a moment earlier, and a value that is set back in
// that moment does not count for it.
//
// A thread must not decide by the value that it finds when it wakes up, because the value may be low again. The
// signaller decides. These are the events of a wait R for target t, and of a signal S of a value v >= t, which a rewind
// B may follow:
//
//   s1  value := v                      (F41)       w1  R is among the waits: monitored is at most t - 1   (F44)
//   s2  monitored value is read         (F42)       w2  value is read                                      (F45)
//   s3  S takes the lock, marks R `reached`,
//       and wakes R
//   b1  value := lower, after s3        (F43)
//
// s1, s2, w1 and w2 have a single total order. If s2 comes before w1, R has begun after S: w2 finds the value of S or a
// later one, such as that of B. Otherwise s2 finds at most t - 1, because every thread that stores monitored_ has the
// lock and counts R in. So S takes the lock and marks R, unless R has left before.
//
// R leaves with the lock. It looks whether it was marked, and then at the value. Say it finds neither the mark nor a
// value of at least t. Then no signal S has come since w1: S would have left a value of at least t, or the mark if B
// has set that value back, because B comes after s3. So R may leave: every such signal comes later.
//
// On every platform this handshake is symmetric: all four accesses are sequentially consistent, and no barrier of the
// system is needed. The system may refuse such a barrier; then waiters would have to look again later, and might find
// the value set back. A signal is therefore an exchange and a load if nobody is due, and a wait makes no system call
// but for the sleep, and for the lock if another thread wants it.
//
// A signal that is due wakes the threads with the lock held, because their waits are on their stacks: each thread takes
// the lock before it returns. Nothing of the user's runs with the lock held, except for the execute() of an executor
// whose loop awaits a rewindable_target (rewindable_target.hpp); it must not use the fence.
//
// poison() works as for other fences: a wait for a value that is reached returns `reached`, others return `lost`.
//
// Lifetime: as for other fences, the owner's calls and poison() must have returned before the fence is destroyed, and
// all waits, too.
//
// Not promised: fairness; a spin before the sleep; lock-freedom of waits, of a signal for which a waiter is due, and of
// poison() while threads wait. They take the lock, so a signal handler must not call them.
#ifndef TIDEMARK_FENCE_REWINDABLE_FENCE_HPP
#define TIDEMARK_FENCE_REWINDABLE_FENCE_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/intrusive_lists.hpp"
#include "../platform/tools/limits.hpp"
#include "../platform/tools/park_lock.hpp"
#include "../platform/tools/registering_process.hpp"
#include "tools/waker.hpp"
#include "wait.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

template <platform Platform>
class basic_rewindable_target;  // rewindable_target.hpp

/// A value that one owner at a time raises and sets back. Another thread may become the owner if the hand-over itself
/// synchronizes. A `const` rewindable fence can look and wait, and can't change the value.
template <platform Platform>
class basic_rewindable_fence {
 public:
  using platform = Platform;

  /// A fence that begins at `initial`.
  explicit basic_rewindable_fence(std::uint64_t initial = 0) noexcept
      : value_{initial}, monitored_{no_waiter}, loss_{nullptr} {}
  basic_rewindable_fence(const basic_rewindable_fence&) = delete;
  basic_rewindable_fence& operator=(const basic_rewindable_fence&) = delete;
  /// Asserts that nobody waits, neither a thread nor a rewindable_target; but not in the child of a fork, whose copy
  /// may have waits of threads that it does not have. No other call may be under way.
  ~basic_rewindable_fence() {
    // In the child of a fork, the lock may stay taken for ever.
    TIDEMARK_ASSERT(!detail::registering_process::is_this<Platform>() || !has_waits(),
                    "a timeline was destroyed before the waits for it had ended");
  }

  /// Sets the value to `value`, and releases every waiter that is due. Asserts that the value does not fall; with
  /// NDEBUG a lower value sets it back. Throws and allocates nothing. Progress: wait-free if no waiter is due, one
  /// exchange and one load; otherwise it takes the lock, and O(k log n) for k of n waiters. Only the owner may call it.
  void signal(std::uint64_t value) noexcept {
    // (F40): relaxed alone; only the owner writes the value.
    TIDEMARK_ASSERT(value >= value_.load(std::memory_order_relaxed),
                    "to set a value back, call rewind(), not signal()");
    // (F41): s1; seq_cst with (F42) (F44) (F45); its release half hands over what was done before.
    value_.exchange(value, std::memory_order_seq_cst);
    // (F42): s2; seq_cst with (F41) (F44) (F45): acquire would lose wake-ups.
    if (monitored_.load(std::memory_order_seq_cst) < value) [[unlikely]]
      release_due(value);
  }

  /// Raises the value by one, releases every waiter that is due, and returns the new value. Asserts that the value was
  /// below UINT64_MAX. Otherwise it stays there, and the call returns it. In all else like signal(), with one more
  /// load.
  std::uint64_t signal_next() noexcept {
    // (F46): relaxed alone, like (F40).
    const std::uint64_t before = value_.load(std::memory_order_relaxed);
    TIDEMARK_ASSERT(before != UINT64_MAX, "signal_next() beyond the greatest value of a fence");
    if (before == UINT64_MAX) return before;
    signal(before + 1);
    return before + 1;
  }

  /// Sets the value back to `value`. Waits that the value had reached before have ended as `reached`, or will. Waits
  /// that begin later find this value. Asserts that the value does not rise; with NDEBUG a higher value is signalled.
  /// Progress: wait-free, one load and one store. Only the owner may call it.
  void rewind(std::uint64_t value) noexcept {
    // (F47): relaxed alone, like (F40).
    const std::uint64_t before = value_.load(std::memory_order_relaxed);
    TIDEMARK_ASSERT(value <= before, "to raise a value, call signal(), not rewind()");
    if (value > before) return signal(value);
    // (F43): release for (F45) (F48): a thread that finds this value has reached the targets up to it, too. Not
    // stronger: no waiter is due because of it.
    value_.store(value, std::memory_order_release);
  }

  /// Declares the value lost, for ever: a wait for a value that is not reached returns `lost`, now and later. The owner
  /// may still signal and set back, which last_value() does not show. Any thread may call it, any number of times. The
  /// reason of the first call stays. Progress: wait-free if no thread waits; otherwise it takes a lock.
  /// \param why  an object of static lifetime
  void poison(const loss_reason& why = unnamed_loss) noexcept {
    const loss_reason* none = nullptr;
    // (F49): seq_cst, the s1 of the poison, with (F50) (F44) (F51): a thread that registers meanwhile is found, or
    // finds the word. A failure is relaxed: whom this call may miss, the first one finds.
    loss_.compare_exchange_strong(none, &why, std::memory_order_seq_cst, std::memory_order_relaxed);
    // (F50): seq_cst, the s2 of the poison, like (F42).
    if (monitored_.load(std::memory_order_seq_cst) == no_waiter) return;
    const keeper kept(lock_);
    // A thread that registers later finds the poison. A value that was signalled just now still counts.
    while (waiting* const next = waits_.least()) release(*next, look(next->target).value_or(wait_status::lost));
    publish_least();
  }
  void poison(const loss_reason&&) = delete;  // a reason has static lifetime

  /// Returns whether poison() was called; if so, what the first caller did before happens-before the return. Progress:
  /// wait-free. Any thread may call it.
  bool is_poisoned() const noexcept { return loss() != nullptr; }
  /// Returns the reason of the first poison(); null if there was none. In all else like is_poisoned().
  const loss_reason* loss() const noexcept {
    // (F52): acquire, for the release half of (F49). Not stronger, because it takes no part in the handshake.
    return loss_.load(std::memory_order_acquire);
  }

  /// Returns the value of the last signal() or rewind(); UINT64_MAX once the fence is poisoned. It may be lower at the
  /// next call. What was done before the value was signalled happens-before the return. Progress: wait-free. Any thread
  /// may call it.
  std::uint64_t last_value() const noexcept { return is_poisoned() ? UINT64_MAX : last_reached(); }
  /// Returns the value of the last signal() or rewind(), also once the fence is poisoned. In all else like
  /// last_value().
  std::uint64_t last_reached() const noexcept {
    // (F48): acquire, for the release half of (F41), and for (F43). Not stronger, like (F52).
    return value_.load(std::memory_order_acquire);
  }

  /// Returns the least target of all threads that wait, minus 1; `no_waiter` if no thread waits. It may be outdated
  /// when it is returned. Progress: wait-free. Any thread may call it.
  std::uint64_t monitored_value() const noexcept {
    // (F53): relaxed alone: this look synchronizes nothing.
    return monitored_.load(std::memory_order_relaxed);
  }

  /// Blocks until the value is at least `target`, or was so at any moment since the wait began. Returns `reached`;
  /// `stopped` if `token` is triggered first; `lost` if the fence is poisoned first. If several outcomes are possible
  /// when the wait ends, `reached` wins over `lost`, `lost` over `stopped`, and `stopped` over `timeout`. A wait that
  /// poison() has ended returns `lost`, even if a signal reaches the target before the thread returns. What the owner
  /// did before it signalled that value happens-before a return with `reached`. Throws and allocates nothing. Progress:
  /// it takes the lock if the value is too low at first. Any thread may call it.
  template <stop_token_like Token = never_stops>
  wait_status wait(std::uint64_t target, Token token = {}) const noexcept {
    return wait_within(target, std::move(token));
  }
  /// Waits like wait(), but for the duration `timeout` at most, and returns `timeout` then. With zero or less it
  /// registers, looks and leaves, and blocks only for the lock.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(std::uint64_t target, const std::chrono::duration<Rep, Period>& timeout,
                       Token token = {}) const noexcept {
    return wait_within(target, timeout, std::move(token));
  }
  /// Waits like wait(), but until `at` at most, a point of the steady or the system clock, and returns `timeout` then.
  /// With a point in the past it blocks only for the lock. A change of the system clock has the same effect as with
  /// waitable::wait_until().
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_until(std::uint64_t target, const std::chrono::time_point<Clock, Duration>& at,
                         Token token = {}) const noexcept {
    return wait_within(target, at, std::move(token));
  }

 private:
  friend basic_rewindable_target<Platform>;
  using keeper = detail::lock_keeper<detail::park_lock<Platform>>;

  /// One wait. The lock protects all but the count of wakes.
  struct waiting {
    struct order {
      static detail::wait_links<waiting>& links(waiting& of) noexcept { return of.links; }
      static bool comes_before(const waiting& a, const waiting& b) noexcept {
        return a.target != b.target ? a.target < b.target : a.number < b.number;
      }
    };

    static constexpr int not_released = -1;

    const std::uint64_t target;
    std::uint64_t number = 0;  // in the order of registration
    detail::wait_links<waiting> links{};
    /// How the wait has ended, once a signal or the poison has released it: a wait_status.
    typename Platform::template var<int> released{not_released};
    typename Platform::park_word wakes{0};
    detail::waker* told = nullptr;  // in place of a thread that sleeps
  };

  template <class... Limits>
  wait_status wait_within(std::uint64_t target, const Limits&... limits) const noexcept {
    if (const auto end = look(target)) return *end;
    waiting self{target};
    add(self);
    // One registration for all rounds of a wait by the system clock: between two of them a value might be missed.
    const wait_status status = detail::within<Platform>(
        [&](deadline until, const auto& token) { return sleep(self, until, token); }, limits...);
    if (status == wait_status::reached || status == wait_status::lost) return status;
    return end_of(self, true).value_or(status);
  }

  /// Sleeps until the wait is over. Where it returns `reached` or `lost`, the wait has been removed.
  template <class Token>
  wait_status sleep(waiting& self, deadline until, const Token& token) const noexcept {
    const auto nudge = [&self] {
      // (F54): release, pairs with (F55): a thread that sees this count sees the stop, too.
      self.wakes.fetch_add(1, std::memory_order_release);
      Platform::unpark(self.wakes, 1);
    };
    const typename detail::stop_callback_for<Token, std::remove_const_t<decltype(nudge)>>::type stop_callback(token,
                                                                                                              nudge);
    for (;;) {
      // (F55): acquire, pairs with (F54). A release is not missed either: it advances the count with the lock held, and
      // comes before the look that follows, or changes the count that park() compares.
      const std::uint32_t seen = self.wakes.load(std::memory_order_acquire);
      const bool is_stopped = token.stop_requested();
      if (const auto end = end_of(self, false)) return *end;
      if (is_stopped || until == detail::at_once || !Platform::park(self.wakes, seen, until)) break;
    }
    return token.stop_requested() ? wait_status::stopped : wait_status::timeout;
  }

  bool has_waits() const noexcept {
    const keeper kept(lock_);
    return waits_.least() != nullptr;
  }

  /// w1
  void add(waiting& self) const noexcept {
    TIDEMARK_ASSERT(detail::registering_process::note(), "the destructor knows which process has registered waiters");
    const keeper kept(lock_);
    self.number = next_number_++;
    waits_.insert(self);
    publish_least();
  }
  /// Returns how the wait has ended, if it has. A wait that has ended is no longer among the waits; with `leaves`, no
  /// wait is.
  std::optional<wait_status> end_of(waiting& self, bool leaves) const noexcept {
    const keeper kept(lock_);
    // The value may have been set back since.
    if (const int how = self.released.load(); how != waiting::not_released) return static_cast<wait_status>(how);
    const auto end = look(self.target);
    if (end || leaves) {
      waits_.remove(self);
      publish_least();
    }
    return end;
  }

  /// Returns how a wait ends that has a waker, if it is over and the waker was not called, and never will be.
  std::optional<wait_status> leave_if_over(waiting& self) const noexcept {
    const keeper kept(lock_);
    if (self.released.load() != waiting::not_released) return {};
    const auto end = look(self.target);
    if (end) {
      waits_.remove(self);
      publish_least();
      self.released.store(static_cast<int>(*end));
    }
    return end;
  }

  /// Returns whether the target is reached or lost now. (w2)
  std::optional<wait_status> look(std::uint64_t target) const noexcept {
    // In this order, so that a value is seen that was reached before the poison.
    // (F51): seq_cst with (F44) (F49) (F50): a thread that registers finds the poison, or poison() finds the thread.
    const bool is_lost = loss_.load(std::memory_order_seq_cst) != nullptr;
    // (F45): seq_cst with (F41) (F42) (F44); its acquire half is for (F41) and (F43).
    if (value_.load(std::memory_order_seq_cst) >= target) return wait_status::reached;
    if (is_lost) return wait_status::lost;
    return {};
  }

  /// s3. Not inline, because a signal seldom gets here.
  [[gnu::noinline]] void release_due(std::uint64_t value) noexcept {
    const keeper kept(lock_);
    for (waiting* next = waits_.least(); next != nullptr && next->target <= value; next = waits_.least())
      release(*next, wait_status::reached);
    publish_least();
  }

  // ---- with the lock held ----

  void release(waiting& of, wait_status how) noexcept {
    waits_.remove(of);
    of.released.store(static_cast<int>(how));
    if (of.told != nullptr) {
      of.told->wake(how == wait_status::lost ? detail::release_reason::lost : detail::release_reason::due);
      return;
    }
    // (F56): relaxed alone: the lock orders it. See (F55).
    of.wakes.fetch_add(1, std::memory_order_relaxed);
    Platform::unpark(of.wakes, 1);
  }
  void publish_least() const noexcept {
    const waiting* const least = waits_.least();
    // (F44): w1; seq_cst with (F41) (F42) (F45), and with (F49) (F50) (F51). Where a wait has ended, relaxed would be
    // enough.
    monitored_.store(least == nullptr ? no_waiter : least->target - 1, std::memory_order_seq_cst);
  }

  typename Platform::template atomic<std::uint64_t> value_;
  mutable typename Platform::template atomic<std::uint64_t> monitored_;
  typename Platform::template atomic<const loss_reason*> loss_;
  mutable detail::park_lock<Platform> lock_;
  mutable detail::ordered_waits<waiting, typename waiting::order> waits_;
  mutable std::uint64_t next_number_ = 0;
};

/// A fence whose owner may set it back.
using rewindable_fence = basic_rewindable_fence<symmetric_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_REWINDABLE_FENCE_HPP
