// SPDX-License-Identifier: BSL-1.0
//
// fence and progress_fence: a 64-bit value that only rises, and threads that wait until it has reached theirs.
//
//   line 0   current_value    written by signallers, read by everybody
//   line 1   monitored_value  the root of the waiter heap: least awaited target - 1; written by waiters, read by signals
//            (fence_layout::one_line puts the value beside the root: better for many fences that are signalled cold)
//   then     the waiter heap; whether the timeline is poisoned; how long it pays to spin
//
// A signal is a store of the value and a load of the monitored value. Only if the new value is greater does it do more:
// then it releases, in one pass over the heap, every waiter that is due (A7, A17, A19).
//
// Why no wake-up is lost
// ----------------------
// Name the events of a waiter R for target t and of a signal S of a value v >= t:
//
//      S1  value := v                (F1)             R1  registered: the root is at most t - 1    (H2) (H8)
//      S2  StoreLoad                 (F22)            R2  StoreLoad                                (F21)
//      S3  monitored value is read   (F2)             R3  value is read again                      (F3)
//
// S2 and R2 are one ordering seen from two sides. In the symmetric form the four accesses are sequentially consistent,
// so that one total order holds them all; in the asymmetric form S2 only keeps the compiler from moving the load, and
// R2 makes every running core complete what it had begun. Either way, one of two things is true:
//
//   - S1 comes before R3: R3 finds a value of at least t, and R leaves without sleeping.
//   - R1 comes before S3: S3 finds at most t - 1, less than v, so S starts a pass, and the pass finds R, because every
//     node above R's leaf was low before S3 (detail/min_tree.hpp). S empties the leaf, then advances R's count of wakes
//     (W4), then unparks.
//
// R takes its count of wakes (W3) before R3 and sleeps only while the count is the same, so that a wake between the two
// is not missed. R leaves only when it has itself seen a value >= t (F3) (F5), the poison, its deadline or a stop, so
// that a wake-up for no reason does no harm (A18, A36). With acquire on that read, all that S did before S1 happens
// before R's return.
//
// The two kinds of signaller:
//   progress_fence   exactly one at a time, whose S1 is a plain store. It may be another thread later if the hand-over
//                    itself synchronizes. That the value does not fall is a precondition, asserted in debug builds.
//   fence            any thread, the maximum wins; S1 is one compare-exchange. A value not above the current one changes
//                    nothing, notifies nobody and hands nothing over; signal() then returns false.
//
// Where the heavy barrier is missing, the root stays at 0 for the fence's life, so that each signal takes the slow
// path, whose full barrier (F4) meets the waiter's own. If the system refuses it later, waiters look again every
// millisecond.
//
// poison() marks a lost device: a word of its own on the waiters' side, never the value, which a signaller's plain
// store could bring back. Everyone is released; a wait for a value that was reached still says so, others say `lost`
// (A120, trap 34). Later signals change nothing that a view shows and nothing in memory of the caller. Inside the fence the
// value still rises, because a test of the poison would double the loads of a signal; a wait for a value that is signalled
// after the poison therefore returns `reached`, and has what was done before that signal. In memory of the caller, a signal
// that runs beside poison() may be found by one waiter and not by a later one.
//
// Lifetime (trap 10). A wait may return while the signaller that released it is still inside signal(). Destroy a fence
// only after its signallers have returned, for example after joining them: `wait(n); delete fence;` alone is not
// enough. The same holds for poison(). Waiters must have returned too.
//
// fork(). The child has copies of all fences, as they were at that moment, and nothing that either process does later
// reaches the other. The copies signal and wait as ever, and the heavy barrier still works (the registration survives a
// fork; what the child executes registers anew). The other threads are not there, but those of them that waited still
// are registered: a signal that is due to one releases it in vain and once; its slot stays taken in the child, and if
// it shared the overflow lane, every signal of the child takes the slow path. A progress fence needs a signaller that
// knows how far the copy has come. Not for the child: a fence on the portable platform on which others slept, as is so
// for any condition variable; and where the double word is lock-based, one that other threads used during the fork,
// which may leave a lock taken for ever.
//
// Not promised: fairness; that every value can be observed (values may be jumped over, wait for >=); lock-freedom where
// the platform's double word has none, and then signal() is not for signal handlers.
#ifndef TIDEMARK_FENCE_HPP
#define TIDEMARK_FENCE_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "detail/fence_value.hpp"
#include "detail/waiting.hpp"
#include "platform.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

/// Where the value lies.
enum class fence_layout {
  two_lines,  ///< Away from the monitored value: best when threads poll the value (A21).
  one_line,   ///< Beside the monitored value: best when many cold fences are signalled.
};

/// Who provides the 8 bytes of the value.
enum class value_storage {
  own,  ///< The fence itself.
  caller,  ///< The caller: memory of a certain node, or that others read, too (A8). Waiters of other processes are not woken.
};

/// The compile-time choices of a fence.
struct fence_options {
  std::size_t capacity = 16;  ///< Waiters with a slot of their own; more share the overflow lane. About 28 bytes each.
  std::size_t arity = 4;      ///< Children per node of the heap.
  unsigned max_spins = 64;    ///< At most so many looks before a waiter registers; how many pays is learnt. 0: none.
  fence_layout layout = fence_layout::two_lines;
  value_storage storage = value_storage::own;
  bool statistics = false;  ///< Adds notify_count(), which costs nothing when nobody is due.
};

template <class Timeline>
class basic_fence_view;
template <class Platform>
class basic_awaited;  // wait_many.hpp

namespace detail {

/// What both fences share: the value, the waiters, everything but S1.
template <class Platform, fence_options Options>
class timeline : public waitable<timeline<Platform, Options>> {
 public:
  using platform = Platform;
  static constexpr fence_options options = Options;

  explicit timeline(std::uint64_t initial = 0) noexcept requires(Options.storage == value_storage::own)
      : timeline(std::in_place, initial) {}

  /// \param storage  8 bytes, aligned to 8 (asserted), which this constructor sets. They must outlive the fence, or, once
  ///                 poison() has returned, all signals that began before that.
  timeline(void* storage, std::uint64_t initial = 0) noexcept requires(Options.storage == value_storage::caller)
      : timeline(std::in_place, storage, initial) {}

  timeline(const timeline&) = delete;
  timeline& operator=(const timeline&) = delete;

  /// The value signalled so far; UINT64_MAX once poisoned. Progress: wait-free, two loads, no system call and no store.
  /// Thread-safe. What was done before that value was signalled is visible, unless it is the UINT64_MAX of a poisoned
  /// timeline. (A1, A9, A120)
  std::uint64_t current_value() const noexcept { return is_poisoned() ? UINT64_MAX : reached_value(); }

  /// The least awaited target minus 1; `no_waiter` when nobody waits; 0 while the overflow lane is occupied or the
  /// heavy barrier is missing. For looking only: it may have changed when it is returned. Progress: wait-free.
  /// Thread-safe. (A12, A13, A15)
  std::uint64_t monitored_value() const noexcept { return heap().monitored_value(); }

  /// Whether current_value() is at least `target`; so it is true for every target once the timeline is poisoned. Where
  /// that must not be taken for work done, use a wait and its status. Progress: wait-free. Thread-safe.
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }

  /// Declares the timeline lost: releases every waiter, now and later, for whom the value was not reached. Sticky. Signals
  /// that begin after the first call has returned leave the caller's storage alone. May be called by any thread, also
  /// beside signals, any number of times. Progress: lock-free but for the system calls that wake. (A120)
  void poison() noexcept {
    // (F6): seq_cst, S1 of the poison, with (F7) and (F3) (F9) in the one total order: a waiter that registers
    // meanwhile is found or finds the word. Nothing is stronger.
    const bool is_first = poisoned_.exchange(1, std::memory_order_seq_cst) == 0;
    if (is_first) holder().leave_storage();
    // (F7): seq_cst, S3 of the poison, as (F6). Every target is at most UINT64_MAX, so any waiter keeps the root below
    // it.
    const std::uint64_t least = heap().monitored_word().load_value(std::memory_order_seq_cst);
    if (least < UINT64_MAX) heap().release_due(UINT64_MAX);
  }

  /// Progress: wait-free, one load. Thread-safe.
  bool is_poisoned() const noexcept {
    // (F10): acquire alone: what the thread that called poison() did before is visible to who learns of it.
    return poisoned_.load(std::memory_order_acquire) != 0;
  }

  /// A handle that can look and wait but not signal (A10). The fence must outlive it.
  basic_fence_view<timeline> view() const noexcept { return basic_fence_view<timeline>{*this}; }

  // ---- a signal in parts, for who does something in between or serves notifications elsewhere (queue.hpp, hub.hpp):
  //      publish(v) is S1; is_due(v) is S2 and S3; if it says so, release_due() must follow, in any thread that knows of it

  /// Whether a waiter may be due after publish(value). Progress: wait-free, one load. By the signaller. (A17, A18)
  [[nodiscard]] bool is_due(std::uint64_t value) noexcept {
    // (F22): S2, the frequent side of (F21); natively (G1). Without it (F2) may be read before (F1) is written, by the
    // compiler's doing; stronger is what the asymmetric form exists to avoid.
    Platform::light_barrier();
    // (F2): S3; seq_cst in the symmetric form, where relaxed or acquire loses wake-ups; relaxed in the asymmetric one,
    // where (G1) and (G2) order it after (F1).
    return heap().monitored_word().is_below(value, monitor_order);
  }

  /// Releases who is due by the value of now; how many had a slot. One pass. Progress: wait-free but for the system
  /// calls that wake. Thread-safe. (A19, A20)
  std::size_t release_due() noexcept {
    // (F4): for a pinned fence, S2 of which this is; meets the waiter's own (G3). Costs nothing that matters beside a
    // wake-up.
    Platform::full_barrier();
    return release_due_after_barrier();
  }
  /// The same where the caller issued Platform::full_barrier() after it had learnt of the signal, for several fences
  /// (A64).
  std::size_t release_due_after_barrier() noexcept {
    return heap().release_due([this] {
      // (F8): relaxed; the signaller's (F1) or a later value. The waiter that is claimed by it sees it too, through
      // the release half of (H3) and the acquire of (W3) or (H3).
      return holder().get().load(std::memory_order_relaxed);
    });
  }
  /// And where a log says which value was reached: the timeline's own is not read (A112).
  std::size_t release_due_after_barrier(std::uint64_t reached) noexcept { return heap().release_due(reached); }

  /// How many signals took the slow path (A7). Progress: wait-free, one load. Thread-safe.
  std::uint64_t notify_count() const noexcept requires(Options.statistics) {
    // (F11): relaxed alone, a statistic.
    return notifies_.get().load(std::memory_order_relaxed);
  }

 protected:
  ~timeline() = default;

  /// S1 and S3 have these orders. Symmetric: all four accesses are in one total order. Asymmetric: the barriers order
  /// them, and release remains for what is handed over.
  static constexpr auto publish_order = Platform::asymmetric ? std::memory_order_release : std::memory_order_seq_cst;
  static constexpr auto monitor_order = Platform::asymmetric ? std::memory_order_relaxed : std::memory_order_seq_cst;

  using value_word = typename Platform::template atomic<std::uint64_t>;

  value_word& value() noexcept { return holder().get(); }

  static constexpr bool beside_root = Options.layout == fence_layout::one_line;
  using holder_type =
      std::conditional_t<Options.storage == value_storage::own, own_value<Platform>, placed_value<Platform>>;
  using neighbor = std::conditional_t<beside_root, holder_type, no_neighbor>;
  using heap_type = waiter_heap<Options.capacity, Platform, Options.arity, neighbor>;

  /// The registered waiters. For derived classes that register their own, such as those of a model check.
  heap_type& heap() const noexcept { return heap_; }

  /// S2 and S3, after S1 with `value`.
  void notify_if_due(std::uint64_t value) noexcept {
    if (is_due(value)) [[unlikely]]
      notify();
  }

 private:
  template <class>
  friend class tidemark::basic_fence_view;
  template <class>
  friend class tidemark::basic_awaited;
  friend waitable<timeline>;

  template <class... Arguments>
  explicit timeline(std::in_place_t, Arguments... initial) noexcept requires(beside_root)
      : heap_(initial...), poisoned_{0}, spins_{Options.max_spins} {
    if (!Platform::heavy_barrier_available()) heap_.pin();
  }
  template <class... Arguments>
  explicit timeline(std::in_place_t, Arguments... initial) noexcept requires(!beside_root)
      : holder_(initial...), poisoned_{0}, spins_{Options.max_spins} {
    if (!Platform::heavy_barrier_available()) heap_.pin();
  }

  holder_type& holder() const noexcept {
    if constexpr (beside_root) {
      return heap_.neighbor();
    } else {
      return holder_;
    }
  }
  std::uint64_t reached_value() const noexcept {
    // (F5): acquire, for the release half of (F1) (F16) (F19) (F20): what was done before the signal is visible. Not
    // stronger: it takes no part in the handshake.
    return holder().get().load(std::memory_order_acquire);
  }

  [[gnu::noinline]] void notify() noexcept {
    if constexpr (Options.statistics) {
      // (F12): relaxed alone, a statistic.
      notifies_.get().fetch_add(1, std::memory_order_relaxed);
    }
    release_due();
  }

  /// The whole of a wait; see the events R1 to R3 at the head.
  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, Token token) const noexcept {
    if (reached_value() >= target) return wait_status::reached;
    if (until == at_once || token.stop_requested() || is_poisoned()) return outcome(target, token);
    if (spin(target)) return wait_status::reached;
    if (until == forever || until > Platform::now()) sleep(target, until, token);
    return outcome(target, token);
  }

  /// One registration, from R1 to the end of the wait.
  template <class Token>
  void sleep(std::uint64_t target, deadline until, const Token& token) const noexcept {
    const auto ticket = heap().add(target);
    // (F21): R2, between (H2) (H8) and (F3); the waiter's side of (G1), or of (F4) when the fence is pinned.
    const bool ordered = Platform::heavy_barrier() || heap().is_pinned();
    const auto nudge = [this, &ticket] { heap().nudge(ticket); };
    {
      const typename stop_callback_for<Token, std::remove_const_t<decltype(nudge)>>::type stop_callback(token, nudge);
      for (;;) {
        const std::uint32_t seen = heap().wakes(ticket);
        if (is_over(target) || token.stop_requested()) break;
        // Where the barrier was refused, a signaller may have missed this waiter, so it looks again soon.
        const deadline limit = ordered ? until : look_again_before(until, Platform::now());
        if (!heap().park(ticket, seen, limit) && limit == until) break;
      }
    }
    heap().withdraw(ticket);
  }

  /// R3, for the value and for the poison.
  bool is_over(std::uint64_t target) const noexcept {
    // (F3): seq_cst, in one total order with (F2) and with (F1) (F16) (F20) in the symmetric form; the asymmetric form
    // needs only its acquire, for (F19), which is the same load on the machines that have that form.
    if (holder().get().load(std::memory_order_seq_cst) >= target) return true;
    // (F9): seq_cst, with (F6) and (F7).
    return poisoned_.load(std::memory_order_seq_cst) != 0;
  }

  /// Why a wait ends now. What was reached wins over poison, poison over a stop, a stop over the deadline.
  template <class Token>
  wait_status outcome(std::uint64_t target, const Token& token) const noexcept {
    if (reached_value() >= target) return wait_status::reached;
    if (is_poisoned()) return wait_status::lost;
    return token.stop_requested() ? wait_status::stopped : wait_status::timeout;
  }

  /// Looks for a while, at most as often as has lately been worth it.
  bool spin(std::uint64_t target) const noexcept {
    if constexpr (Options.max_spins == 0) {
      return false;
    } else {
      // (F13): relaxed alone, a guess that nothing depends on.
      const unsigned limit = spins_.load(std::memory_order_relaxed);
      for (unsigned looks = 1; looks <= limit; ++looks) {
        Platform::pause();
        if (reached_value() < target) continue;
        learn(limit, looks * 2);
        return true;
      }
      learn(limit, limit - limit / 4);
      return false;
    }
  }

  /// Success doubles what it took, failure takes a quarter; at least an eighth of the maximum stays, to notice better
  /// times.
  void learn(unsigned limit, unsigned better) const noexcept {
    constexpr unsigned least = Options.max_spins / 8 + 1;
    const unsigned bounded = better < least ? least : better > Options.max_spins ? Options.max_spins : better;
    // (F14): relaxed alone, as (F13); left out when nothing changes, so that the line stays shared.
    if (bounded != limit) spins_.store(bounded, std::memory_order_relaxed);
  }

  struct nothing {
    nothing() = default;
    explicit nothing(std::uint64_t) noexcept {}
  };
  struct alignas(cache_line) apart : holder_type {
    using holder_type::holder_type;
  };

  [[no_unique_address]] mutable std::conditional_t<beside_root, nothing, apart> holder_;
  mutable heap_type heap_;
  mutable typename Platform::template atomic<std::uint32_t> poisoned_;
  mutable typename Platform::template atomic<std::uint32_t> spins_;
  [[no_unique_address]] std::conditional_t<Options.statistics, own_value<Platform>, nothing> notifies_{
      std::uint64_t{0}};
};

}  // namespace detail

/// A timeline that any thread may signal; the greatest value wins.
/// \tparam Platform  symmetric_platform unless waiters are rare: its compare-exchange is a full barrier on x86-64
///                   anyway.
template <class Platform, fence_options Options = fence_options{}>
class basic_fence : public detail::timeline<Platform, Options> {
 public:
  using detail::timeline<Platform, Options>::timeline;

  /// Raises the value to `value` and releases every waiter that is due. False, and nothing is done or handed over, when
  /// the timeline had already come so far. Progress: lock-free, one read-modify-write when undisturbed and nobody is
  /// due. Thread-safe; async-signal-safe where the platform says so (`is_async_signal_safe`). Never throws, allocates
  /// or locks. (A3, A17, trap 13)
  bool signal(std::uint64_t value) noexcept {
    if (!publish(value)) return false;
    this->notify_if_due(value);
    return true;
  }

  /// The first part of signal(): see is_due(). False where there is nothing more to do.
  [[nodiscard]] bool publish(std::uint64_t value) noexcept {
    auto& word = this->value();
    // (F15): relaxed alone; a value that is too old only makes (F1) fail and look again.
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    do {
      if (value <= seen) return false;
      // (F1): S1; release half for (F3) and (F5), and seq_cst for the handshake with (F2) and (F3) in the symmetric
      // form.
    } while (!word.compare_exchange_weak(seen, value, this->publish_order, std::memory_order_relaxed));
    return true;
  }

  /// Advances the value by one and returns the new value. UINT64_MAX is the last one: one more is a programming error.
  /// Progress: lock-free, one fetch_add when nobody is due. Thread-safe; as signal() otherwise.
  std::uint64_t signal_next() noexcept {
    // (F16): S1 as (F1), pairs with (F3) and (F5).
    const std::uint64_t before = this->value().fetch_add(1, this->publish_order);
    TIDEMARK_ASSERT(before != UINT64_MAX, "signal_next() beyond the last value of a timeline");
    this->notify_if_due(before + 1);
    return before + 1;
  }
};

/// A timeline with exactly one signaller at a time, such as the progress of one in-order queue.
/// \tparam Platform  native_platform: signals cost a store and a load, the first sleepers pay a heavy barrier.
template <class Platform, fence_options Options = fence_options{}>
class basic_progress_fence : public detail::timeline<Platform, Options> {
 public:
  using detail::timeline<Platform, Options>::timeline;

  /// Sets the value to `value`, which must not be less than the current one, and releases every waiter that is due.
  /// Progress: wait-free when nobody is due: one store, one load, no read-modify-write, no fence instruction
  /// (asymmetric). One signaller at a time; async-signal-safe unless the handler interrupts its own signaller. Never
  /// throws, allocates or locks. (A3, A7, A17)
  void signal(std::uint64_t value) noexcept {
    publish(value);
    this->notify_if_due(value);
  }

  /// The first part of signal(): see is_due(). Always true, as there always is more to do.
  bool publish(std::uint64_t value) noexcept {
    auto& word = this->value();
    // (F17): relaxed alone; only the signaller writes the value.
    TIDEMARK_ASSERT(value >= word.load(std::memory_order_relaxed), "a progress fence was signalled backwards");
    store(word, value);
    return true;
  }

  /// Advances the value by one and returns the new value; otherwise as signal(). UINT64_MAX is the last one: one more
  /// is a programming error.
  std::uint64_t signal_next() noexcept {
    auto& word = this->value();
    // (F18): relaxed alone, as (F17).
    const std::uint64_t value = word.load(std::memory_order_relaxed) + 1;
    TIDEMARK_ASSERT(value != 0, "signal_next() beyond the last value of a timeline");
    store(word, value);
    this->notify_if_due(value);
    return value;
  }

 private:
  template <class Word>
  static void store(Word& word, std::uint64_t value) noexcept {
    if constexpr (Platform::asymmetric) {
      // (F19): S1; release for (F3) and (F5). Not stronger: (G1) and (G2) do the rest.
      word.store(value, std::memory_order_release);
    } else {
      // (F20): S1; seq_cst with (F2) and (F3). An exchange, which costs less than a store and a fence.
      word.exchange(value, std::memory_order_seq_cst);
    }
  }
};

using fence = basic_fence<symmetric_platform>;
using progress_fence = basic_progress_fence<native_platform>;

/// Looks and waits, and can't signal (A10). Copyable; as long-lived as its fence at most.
template <class Timeline>
class basic_fence_view : public detail::waitable<basic_fence_view<Timeline>> {
 public:
  using platform = typename Timeline::platform;

  explicit basic_fence_view(const Timeline& timeline) noexcept : timeline_{&timeline} {}

  std::uint64_t current_value() const noexcept { return timeline_->current_value(); }
  std::uint64_t monitored_value() const noexcept { return timeline_->monitored_value(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return timeline_->is_reached(target); }
  bool is_poisoned() const noexcept { return timeline_->is_poisoned(); }

 private:
  friend detail::waitable<basic_fence_view>;
  template <class>
  friend class basic_awaited;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, Token token) const noexcept {
    return timeline_->wait_with(target, until, std::move(token));
  }

  const Timeline* timeline_;
};

using fence_view = decltype(std::declval<const fence&>().view());
using progress_fence_view = decltype(std::declval<const progress_fence&>().view());

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_HPP
