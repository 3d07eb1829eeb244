// SPDX-License-Identifier: BSL-1.0
//
// fence and progress_fence: timelines. A fence has a 64-bit value that only rises, and threads wait for it.
//
//   tidemark::progress_fence ready;
//   ready.signal(7);                              one store and one load, if nobody is due
//   if (ready.wait(7) == wait_status::reached)    in another thread; sleeps only if it must
//     ...                                         what was done before the signal is seen here
//
//   line 0   current_value    signallers write it, all threads read it
//   line 1   monitored_value  the root of the waiter heap: least awaited target - 1; waiters and passes write it,
//            signals read it (fence_layout::one_line puts the value beside the root: better for many fences whose
//            lines are not in the cache when they are signalled)
//   then     the rest of the waiter heap; whether the fence is poisoned; how long a waiter spins
//
// Processors fetch lines in pairs. Lines 0 and 1 are one pair, so no write to another object slows down a hand-over.
//
// A signal stores the value and loads the monitored value. Only if the new value is greater does it do more: it makes
// one pass over the heap and releases every waiter that is due.
//
// Why no wake-up is lost
// ----------------------
// These are the events of a waiter R for target t, and of a signal S of a value v >= t, with the tags in the code:
//
//      s1  value := v   (F1) (F16) (F19) (F20)        w1  registered: root at most t - 1   (H2) (H11) (H8)
//      s2  StoreLoad                 (F22)            w2  StoreLoad                          (F21) (F59)
//      s3  monitored value is read   (F2) (F58)       w3  value is read again                      (F3)
//
// s2 and w2 are the two sides of one barrier. In the symmetric form the four accesses are sequentially consistent, so a
// single total order contains them all. In the asymmetric form s2 only keeps the compiler from moving the load, and w2
// makes every running core complete the accesses it had begun. (A root that is pinned or held: below.) In both forms:
//   - s1 comes before w3: w3 finds a value of at least t, and R leaves without sleeping.
//   - w1 comes before s3: s3 finds at most t - 1, which is less than v. So S makes a pass, and the pass finds R,
//     because every node above R's leaf was low before s3 (fence/detail/min_tree.hpp). S empties the leaf. Then S, or
//     a waiter that wakes up because of S, advances R's count of wakes (W4) and unparks R; waiter_heap.hpp says why
//     none of many is forgotten. If R found no slot, S empties the overflow lane (H15), and wakes its members (W19).
//
// R takes its count of wakes (W2) before w3, and sleeps only while the count is the same, so it does not miss a wake
// between the two. R leaves only when it has itself seen a value >= t (F3) (F5), the poison, its deadline or a stop, so
// a wake-up for no reason does no harm. That read is an acquire: what S did before s1 happens-before R's return.
//
// The two kinds of fence:
//   progress_fence   has exactly one signaller at a time; s1 is a plain store, in the symmetric form an exchange.
//                    Another thread may take over if the hand-over synchronizes. The value must not fall (asserted).
//   fence            any thread may signal, and the greatest value wins; s1 is a compare-exchange, or a fetch_add. If
//                    the value is not above the current one, signal() returns false and has done nothing else.
//
// If the heavy barrier is missing from the start, or the value is shared, the root stays at 0 for the fence's life (the
// fence is pinned). So each signal takes its slow path, whose full barrier (F4) pairs with the waiter's own. If the
// system refuses the barrier later, waiters look again every millisecond. Where signals often release somebody, waiters
// hold the root at 0 for a time, and need no heavy barrier (detail/root_hold.hpp). The price: for each signal that
// releases somebody, at most about 16 others take the slow path in vain. A call of release_due(), such as that of a
// signal by steps, forbids holds for the rest of the fence's life.
//
// Lifetime. A wait may return while its signaller is still inside signal() or poison(). So `wait(n); delete fence;` is
// legal only with fence_options::joins_signallers; otherwise join the signallers first. All waits must have returned.
//
// Not promised: fairness; that every value can be observed (a signal may jump over values; wait for >=); lock-freedom
// where the platform's double word is not lock-free, and there a signal handler must not call signal().
#ifndef TIDEMARK_FENCE_FENCE_HPP
#define TIDEMARK_FENCE_FENCE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "detail/calls_inside.hpp"
#include "detail/sleeping_wait.hpp"
#include "detail/value_steps.hpp"
#include "fence_options.hpp"
#include "timeline.hpp"
#include "tools/fence_operations.hpp"
#include "tools/learning_spin.hpp"
#include "tools/waker.hpp"
#include "wait.hpp"
#include "waiter_heap.hpp"

namespace tidemark::detail {

// Holds the 8 bytes of a fence's value: inside the fence, in memory of the caller, or in a word that several fences
// share.
//
// A poisoned fence does not touch the caller's memory any more. For that poison() moves the value into the fence, by a
// change of the one word that says where the value lies. Signals read that word anyway, so this costs them nothing.

template <class Platform>
using value_word = typename Platform::template atomic<std::uint64_t>;

/// Holds the value inside the fence.
template <class Platform>
class own_value {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  explicit own_value(std::uint64_t initial) noexcept : word_{initial} {}
  word& get() const noexcept { return word_; }
  void leave_storage() noexcept {}

 private:
  mutable word word_;
};

/// What a fence counts.
template <class Platform>
struct fence_counts {
  own_value<Platform> notifies{0};
  own_value<Platform> overflows{0};
};

/// Holds the value in the caller's memory until leave_storage(). That memory must outlive all signals, looks and waits
/// that begin before leave_storage() returns.
template <class Platform>
class placed_value {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  placed_value(void* storage, std::uint64_t initial) noexcept : at_{place(storage, initial)}, own_{initial} {}

  word& get() const noexcept {
    // (F23): acquire, pairs with (F24): a thread that finds the value inside the fence finds at least the value that
    // was moved. Not stronger: a signal that still finds the caller's memory counts as before the poison, and no
    // thread can tell the difference.
    return *at_.load(std::memory_order_acquire);
  }

  /// Moves the value into the fence. Called once, by the thread that poisons. The value of a signal that runs at the
  /// same time may be left behind.
  void leave_storage() noexcept {
    // (F25): acquire, pairs with the release half of (F1) (F16) (F19) (F20): (F24) hands on what was done before that
    // value was signalled. Not stronger: a later value may be left behind.
    const std::uint64_t value = get().load(std::memory_order_acquire);
    // (F26): relaxed, because (F24) comes after it.
    own_.store(value, std::memory_order_relaxed);
    // (F24): release, pairs with (F23): hands over the value, and what was done before it was signalled.
    at_.store(&own_, std::memory_order_release);
  }

 private:
  static word* place(void* storage, std::uint64_t initial) noexcept {
    TIDEMARK_ASSERT(storage != nullptr && reinterpret_cast<std::uintptr_t>(storage) % alignof(word) == 0,
                    "the storage of a fence's value must be 8 bytes, aligned to 8");
    return ::new (storage) word{initial};
  }

  typename Platform::template atomic<word*> at_;
  word own_;  // the value after a poison
};

/// Holds the value in a word that several fences have. It stays there when one of them is poisoned.
template <class Platform>
class shared_value {
 public:
  using word = value_word<Platform>;
  explicit shared_value(word& at) noexcept : at_{at} {}
  word& get() const noexcept { return at_; }
  void leave_storage() noexcept {}

 private:
  word& at_;
};

/// The same for a fence that serves one word after another.
template <class Platform>
class bound_value {
 public:
  using word = value_word<Platform>;
  explicit bound_value(word& at) noexcept { bind(at); }
  word& get() const noexcept { return *at_.load(); }
  void leave_storage() noexcept {}
  void bind(word& at) noexcept { at_.store(&at); }

 private:
  mutable typename Platform::template var<word*> at_;
};

/// \tparam Storage  a value_storage (fence_options.hpp)
/// \tparam IsBound  whether a shared word may be replaced by another one
template <class Platform, auto Storage, bool IsBound, class Choice = decltype(Storage)>
using value_holder =
    std::conditional_t<Storage == Choice::own, own_value<Platform>,
                       std::conditional_t<Storage == Choice::caller, placed_value<Platform>,
                                          std::conditional_t<IsBound, bound_value<Platform>, shared_value<Platform>>>>;

/// The value of a fence beside the root of its heap, and who is inside the fence.
template <class Holder, class Inside>
struct value_and_calls : Holder {
  using Holder::Holder;
  Inside inside;
};

/// The callables that signallers run. Complete only where signaller_callback.hpp is included; a fence with the option
/// `callbacks` needs that header.
template <platform Platform, class Ticket>
class signaller_calls;
/// A fence without any.
struct no_signaller_calls {};

/// What both kinds of fence share: the value, the waiters, everything but s1.
///
/// The wait functions, which block, are those of `waitable` in wait.hpp: wait(target), wait_for(target, duration) and
/// wait_until(target, time_point), each with an optional stop token last. They return `reached`, `timeout`, `stopped`
/// or `lost`.
///
/// fork(). The child has a copy of each fence as it was at that moment, and neither process sees what the other one
/// does later. The copies signal and wait as before, and the heavy barrier still works (the registration survives a
/// fork; a program that the child executes registers anew). The parent's other threads do not exist in the child, but
/// those that waited are still registered in the copy. A signal that reaches the target of such a thread releases it
/// once, in vain. The thread's slot stays taken in the child, which may destroy the copy all the same. A progress fence
/// needs a signaller that knows which value the copy has. Six kinds of fences must not be used in the child:
///   - fences with a lock-based double word or with `callbacks` that other threads used during the fork: a lock may
///     stay taken for ever
///   - shadowed fences (engine/shadowed_fence.hpp)
///   - timeline groups, and fences in them, that other threads used during the fork: a look may stay counted for ever
///   - fences that join their signallers, if other threads signalled them during the fork: a destructor in the child
///     would wait for ever
///   - fences for which other threads waited by wait_all() or wait_any(), at an event count, or in a class that waits
///     for memory (such as a rename_ring): a release uses their stacks
///   - fences that sleep on condition variables (on the portable platform, or where there are no futexes), if other
///     threads slept in, or woke others in, any object of this library that sleeps in this way, because all of them
///     share the condition variables
template <tidemark::platform Platform, fence_options Options>
class fence_core : public waitable<fence_core<Platform, Options>> {
 public:
  using platform = Platform;
  static constexpr fence_options options = Options;
  /// Whether current_value() stays when the fence is poisoned. Such a fence is no `timeline` (timeline.hpp).
  static constexpr bool keeps_value_on_loss = Options.keeps_value_on_loss;

  /// A fence that holds its value itself, which begins at `initial`.
  explicit fence_core(std::uint64_t initial = 0) noexcept
    requires(Options.storage == value_storage::own)
      : fence_core(std::in_place, initial) {}

  /// A fence whose value lies in memory of the caller, and begins at `initial`.
  /// \param storage  8 bytes, aligned to 8 (asserted), which this constructor sets. They must outlive the fence. There
  ///                 is one exception: after the first call of poison() has returned, they may go as soon as all
  ///                 calls that began before then (signals, waits, looks) have returned, too.
  fence_core(void* storage, std::uint64_t initial = 0) noexcept
    requires(Options.storage == value_storage::caller)
      : fence_core(std::in_place, storage, initial) {}

  /// A fence that shares the word of its value, which must outlive it. It is pinned: each signal notifies. One that
  /// reports registrations is not: whoever signals the word looks at the copy instead (report_registrations()).
  explicit fence_core(value_word<Platform>& shared) noexcept
    requires(Options.storage == value_storage::shared)
      : fence_core(std::in_place, shared) {}

  fence_core(const fence_core&) = delete;
  fence_core& operator=(const fence_core&) = delete;

  /// Returns the value signalled so far; UINT64_MAX once the fence is poisoned, unless it keeps_value_on_loss. What was
  /// done before the value was signalled happens-before the return (for the UINT64_MAX of a poisoned fence, only what
  /// was done before poison()). Progress: wait-free, two loads (three if the value lies in memory of the caller), no
  /// system call and no store. Any thread may call it.
  std::uint64_t current_value() const noexcept {
    if constexpr (keeps_value_on_loss) {
      return reached_value();
    } else {
      // In this order: a value that a poison has moved, and that may be less than the last one, is not shown.
      const std::uint64_t value = reached_value();
      return is_poisoned() ? UINT64_MAX : value;
    }
  }

  /// Returns the value signalled so far, also once the fence is poisoned. In all else like current_value(), with one
  /// load less. If is_poisoned() was true before, the value includes what was signalled before poison().
  std::uint64_t last_reached() const noexcept { return reached_value(); }

  /// Returns the least awaited target minus 1; `no_waiter` if no thread waits; 0 if the fence is pinned (head of this
  /// file). While threads are in the overflow lane, it may be less than that, but not more. It may be outdated when it
  /// is returned. Progress: wait-free, one load; while the root is held, a few more. Any thread may call it.
  std::uint64_t monitored_value() const noexcept { return heap().monitored_value(); }

  /// Returns the address of the monitored value, 8 bytes, for a device or a program that signals from outside, by
  /// memory alone. It stores a value in the caller's storage, with release order, issues a full barrier, and reads this
  /// word. If what it has stored is greater than this word, a thread of this program must call release_due(). While it
  /// may signal, nobody else may, and its values must not fall. The fence must outlive all that. Any thread may call
  /// this function. Not for asymmetric platforms, whose heavy barrier does not reach a device.
  const void* monitored_address() const noexcept
    requires(!Platform::asymmetric && Options.storage == value_storage::caller && !Options.joins_signallers)
  {
    return heap().monitored_word().value_address();
  }

  /// Lets each registration call `to.registered`, on the thread that registers, before the waiter looks at the value
  /// once more. There a driver stores a copy of monitored_value() for a signaller that can't read this fence. Must be
  /// called before the first wait. Withdrawals are not reported.
  ///
  /// A signaller that stores the value, issues Platform::light_barrier() and reads the copy misses no waiter, if the
  /// copy begins as monitored_value(), and each later copy reads that anew and is stored with one lock held. If the
  /// platform is not asymmetric, the signaller's store and read and the copy must be sequentially consistent; a device
  /// needs such a platform. If the fence is pinned the copy stays 0: then each signal has release_due() called.
  void report_registrations(const registration_report& to) noexcept
    requires(Options.reports_registrations)
  {
    reported_to_ = to;
  }

  /// Returns whether current_value() is at least `target`; so it returns true for every target once the fence is
  /// poisoned, unless it keeps_value_on_loss. Where that must not be mistaken for finished work, use a wait and its
  /// status. Progress: wait-free. Any thread may call it.
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }

  /// Declares the timeline lost, for ever, as of a lost device: releases every waiter. A wait for a value that was
  /// reached still returns `reached`. Others return `lost`, now and later, unless their value is signalled after all
  /// (see below). Calls that begin after the first call of poison() has returned do not touch the caller's storage. If
  /// several threads call poison() at the same time, any of their calls may be the first, so all of them must have
  /// returned. The reason of the first call stays. Any thread may call it, any number of times, also while others
  /// signal. Progress: lock-free except for the system calls that wake; with `callbacks` it may also take their lock
  /// and run them.
  /// \param why  an object of static lifetime; loss() returns its address
  ///
  /// Later signals change nothing that current_value() of this fence shows, and nothing in the storage of
  /// value_storage::caller. The value inside the fence still rises, because a test of the poison would double the loads
  /// of a signal. A shared value rises, too, and the other fences of its word show it. So signal() and signal_next()
  /// return and assert what they would without the poison. A wait for a value that is signalled afterwards returns
  /// `reached`, and sees what was done before that signal. There is one exception: if the value lies in memory of the
  /// caller, a signal that runs at the same time as poison() may get lost. Then one waiter may see its value and return
  /// `reached`, and a later one may not see it and return `lost`; signal_next() may return the same value twice.
  void poison(const loss_reason& why = unnamed_loss) noexcept {
    [[maybe_unused]] const any_call inside{this->inside()};
    const loss_reason* none = nullptr;
    // A word of its own on the waiters' side and not a value, which a plain store of a signaller could overwrite.
    // (F6): seq_cst, s1 of the poison, in the single total order with (F7) and (F3) (F9): a waiter that registers
    // meanwhile is found, or finds the word. A failure is relaxed: whom this pass may miss, the first one's finds.
    if (loss_.compare_exchange_strong(none, &why, std::memory_order_seq_cst, std::memory_order_relaxed))
      holder().leave_storage();
    // (F7): seq_cst, s3 of the poison, like (F6). Every target is at most UINT64_MAX: any waiter keeps the root below.
    const std::uint64_t least = heap().monitored_word().load_value(std::memory_order_seq_cst);
    if (least < UINT64_MAX) heap().release_lost(last_of_pass(does_nothing{}));
  }
  void poison(const loss_reason&&) = delete;  // a reason has static lifetime

  /// Returns whether poison() was called; if so, what the first caller did before happens-before the return. Progress:
  /// wait-free, one load. Any thread may call it.
  bool is_poisoned() const noexcept { return loss() != nullptr; }
  /// Returns the reason of the first poison(); null if there was none. In all else like is_poisoned().
  const loss_reason* loss() const noexcept {
    // (F10): acquire alone: whoever sees the poison sees what the thread that called poison() did before.
    return loss_.load(std::memory_order_acquire);
  }

  /// Returns the value signalled so far, which current_value() hides once the fence is poisoned, and whether it is
  /// poisoned. If it is poisoned, the value includes what was signalled before poison(). Progress: wait-free. Any
  /// thread may call it.
  [[nodiscard]] detail::fence_state state() const noexcept {
    const bool is_poisoned_now = is_poisoned();  // first, so that a value is seen that was reached before
    const std::uint64_t value = reached_value();
    if constexpr (Options.storage == value_storage::caller) {
      // Once more, because a poison may have moved the value, and left a greater one behind.
      if (!is_poisoned_now && is_poisoned()) return {reached_value(), true};
    }
    return {value, is_poisoned_now};
  }

  /// Returns a view, which can look and wait, but not signal. The fence must outlive it. Any thread may call it.
  auto view() const noexcept { return timeline_view<fence_core>{*this}; }

  // ---- Steps of signal(), for callers that act between publish and notify (queue.hpp, hub.hpp): publish(v) is s1, and
  //      is_due(v) is s2 and s3. If is_due() returns true, release_due() must follow, in any thread that learns of it.
  //      A fence that joins_signallers does not have them, because its destructor could not wait for release_due().

  /// Returns whether a waiter may be due after publish(value). Only the signaller may call it, after publish().
  /// Progress: wait-free, one load.
  [[nodiscard]] bool is_due(std::uint64_t value) noexcept
    requires(!Options.joins_signallers)
  {
    return has_due(value);
  }

  /// Releases and wakes every waiter whose target is at most the current value. Returns how many it released. Makes one
  /// pass. Progress: as waiter_heap::release_due(). Any thread may call it.
  std::size_t release_due() noexcept
    requires(!Options.joins_signallers)
  {
    return release_due(does_nothing{});
  }
  /// The same. If it has released callables, it calls `before_calls()` once, before it runs any itself.
  std::size_t release_due(const auto& before_calls) noexcept
    requires(!Options.joins_signallers)
  {
    // A signal by steps tells a queue or a hub, which would be told in vain while the root is held.
    heap().forbid_hold();
    return release_behind_barrier(before_calls);
  }
  /// Does what release_due() does, but issues no barrier: the caller must have issued Platform::full_barrier() after it
  /// learnt of the signal. One barrier is enough for several fences.
  std::size_t release_due_after_barrier() noexcept
    requires(!Options.joins_signallers)
  {
    heap().forbid_hold();
    return release_by_own_value(does_nothing{});
  }
  /// Does the same for the value `reached`, which the caller has from a log. It does not read the fence's own value.
  /// \param reached  must have been signalled, and publish(reached) must happen-before this call. Otherwise a waiter
  ///                 may be released that does not see its value: it sleeps on, and no later signal wakes it
  std::size_t release_due_after_barrier(std::uint64_t reached) noexcept
    requires(!Options.joins_signallers)
  {
    heap().forbid_hold();
    return release([reached] { return reached; }, does_nothing{});
  }

  /// Returns how many calls of signal() and signal_next(), and signals of this fence by signal_all(), took the slow
  /// path. Signals by steps, such as those of a queue or a hub, are not counted, and neither is poison(). Progress:
  /// wait-free, one load. Any thread may call it.
  std::uint64_t notify_count() const noexcept
    requires(Options.statistics)
  {
    // (F11): relaxed alone, a statistic.
    return counts_.notifies.get().load(std::memory_order_relaxed);
  }

  /// Returns how many registrations found no slot: the heap must not grow, or there was no memory. A wait counts again
  /// each time that it registers again. The registrations of wait_all(), of wait_any(), and of waits of event counts
  /// and memory blocks are counted, too, although they do not stay in the overflow lane. Progress: wait-free, one load.
  /// Any thread may call it.
  std::uint64_t overflow_count() const noexcept
    requires(Options.statistics)
  {
    // (F28): relaxed alone, a statistic.
    return counts_.overflows.get().load(std::memory_order_relaxed);
  }

 protected:
  /// The heap asserts that no thread waits, and that no callable, coroutine or link is registered. Waits that have
  /// returned leave nothing behind, once the signals that have released them have ended.
  ~fence_core() {
    if constexpr (Options.callbacks)
      TIDEMARK_ASSERT(!calls_.runs_in_this_thread(), "a fence was destroyed by code that its own signal runs");
    if constexpr (Options.joins_signallers) inside().await_end();
  }

  using steps = value_steps<Platform>;

  value_word<Platform>& value() noexcept { return holder().get(); }

  /// What a call that signals has for as long as it is inside the fence. It does nothing unless the fence
  /// joins_signallers. A callable of the one signaller may signal again, so with `callbacks` such calls are counted.
  using inside_type = std::conditional_t<Options.joins_signallers, calls_inside<Platform>, no_calls_inside>;
  using any_call = typename inside_type::any_call;
  using one_call = std::conditional_t<Options.callbacks, any_call, typename inside_type::one_call>;
  inside_type& inside() noexcept {
    if constexpr (joins_beside_root) {
      return heap_.neighbor().inside;
    } else {
      return calls_inside_;
    }
  }

  static constexpr bool beside_root = Options.layout == fence_layout::one_line;
  static constexpr bool joins_beside_root = beside_root && Options.joins_signallers;
  static constexpr bool is_bound = Options.storage == value_storage::shared && Options.reports_registrations;
  using holder_type = value_holder<Platform, Options.storage, is_bound>;
  using neighbor = std::conditional_t<joins_beside_root, value_and_calls<holder_type, inside_type>,
                                      std::conditional_t<beside_root, holder_type, no_neighbor>>;
  using heap_type = waiter_heap<Options.capacity, Platform, Options.arity, neighbor, Options.growth>;

  /// Returns the registered waiters, for derived classes that register others, such as those of a model check.
  heap_type& heap() const noexcept { return heap_; }

  /// Does s2 and s3, after s1 with `value`. Returns whether a waiter may be due.
  bool has_due(std::uint64_t value) noexcept { return steps::has_due(heap().monitored_word(), value); }
  /// Does the same, and notifies if a waiter is due.
  void notify_if_due(std::uint64_t value) noexcept {
    if (has_due(value)) [[unlikely]]
      notify();
  }
  /// Does s2 and s3 after s1 with `before` + 1. Returns whether a waiter may be due, or `before` was the last value.
  bool is_next_due(std::uint64_t before) noexcept { return steps::is_next_due(heap().monitored_word(), before); }
  /// Goes on where is_next_due() has returned true, and returns the new value.
  /// \param owner  the fence itself: after an overflow, its put() makes the value UINT64_MAX again
  template <class Owner>
  [[gnu::noinline]] static std::uint64_t finish_next(Owner& owner, std::uint64_t before) noexcept {
    auto& core = static_cast<fence_core&>(owner);
    if (before == UINT64_MAX) {
      if (owner.put(UINT64_MAX)) core.notify_if_due(UINT64_MAX);
      return UINT64_MAX;
    }
    core.notify();
    return before + 1;
  }

 private:
  friend fence_access;
  friend sleeping_wait;
  friend waitable<fence_core>;

  template <class... Arguments>
  explicit fence_core(std::in_place_t, Arguments&&... initial) noexcept
    requires(beside_root)
      : heap_(initial...), loss_{nullptr} {
    prepare_heap();
  }
  template <class... Arguments>
  explicit fence_core(std::in_place_t, Arguments&&... initial) noexcept
    requires(!beside_root)
      : holder_(initial...), loss_{nullptr} {
    prepare_heap();
  }

  void prepare_heap() noexcept {
    if ((Options.storage == value_storage::shared && !is_bound) || !Platform::heavy_barrier_available()) {
      heap_.pin();
    } else if constexpr (Options.reports_registrations) {
      // While the root is held, waiters rely on a full barrier of each signal. One that reads another word has none.
      heap_.forbid_hold();
    }
  }

  /// Serves another word from now on, and is not lost. Nobody else may use the fence meanwhile, and nobody may wait.
  void bind(value_word<Platform>& shared) noexcept
    requires(is_bound)
  {
    holder().bind(shared);
    // (F71): relaxed alone: nobody else uses the fence, and who does next gets it by what hands it over.
    loss_.store(nullptr, std::memory_order_relaxed);
    heap().forget_loss();
  }

  using spin = learning_spin<Platform, Options.max_spin_ns>;
  using spinning_wait = typename spin::wait;

  holder_type& holder() const noexcept {
    if constexpr (beside_root) {
      return heap_.neighbor();
    } else {
      return holder_;
    }
  }
  std::uint64_t reached_value() const noexcept {
    // (F5): acquire, for the release half of (F1) (F16) (F19) (F20): what was done before the signal is visible. Not
    // stronger: this load takes no part in the handshake.
    return holder().get().load(std::memory_order_acquire);
  }

  std::size_t release_behind_barrier(const auto& before_calls) noexcept {
    // (F4): this is s2 for a fence that is pinned or held; pairs with (F59), or with the (G3) in the waiter's (F21). A
    // wake-up costs far more.
    Platform::full_barrier();
    return release_by_own_value(before_calls);
  }
  std::size_t release_by_own_value(const auto& before_calls) noexcept { return release(current(), before_calls); }
  /// Returns what a pass asks for the value.
  auto current() const noexcept { return steps::value_for_pass(holder().get()); }
  std::size_t release(const auto& current, const auto& before_calls) noexcept {
    return heap().release_due(current, [this] { spin_.waking(); }, last_of_pass(before_calls));
  }
  /// Returns what a pass over the heap calls last.
  auto last_of_pass(const auto& before_calls) noexcept {
    if constexpr (Options.callbacks) {
      return [this, &before_calls] {
        before_calls();
        calls_.run(heap());
      };
    } else {
      return does_nothing{};
    }
  }

  [[gnu::cold, gnu::noinline]] void notify() noexcept {
    count_notify();
    heap().count_pass(release_behind_barrier(does_nothing{}) != 0);
  }
  /// Does what notify() does after its barrier, which the caller has issued. It leaves the callables that it releases
  /// to run_calls(), which must follow.
  [[gnu::cold, gnu::noinline]] void notify_after_barrier() noexcept {
    count_notify();
    const auto leaves_calls = [] {};
    const auto at_the_end = [&] {
      if constexpr (Options.callbacks) {
        return leaves_calls;
      } else {
        return does_nothing{};
      }
    }();
    heap().count_pass(heap().release_due(current(), [this] { spin_.waking(); }, at_the_end) != 0);
  }
  void run_calls() noexcept {
    if constexpr (Options.callbacks) calls_.run(heap());
  }
  void count_notify() noexcept {
    if constexpr (Options.statistics) {
      // (F12): relaxed alone, a statistic.
      counts_.notifies.get().fetch_add(1, std::memory_order_relaxed);
    }
  }

  /// Waits; the head of this file explains the events w1 to w3.
  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, Token token) const noexcept {
    if (reached_value() >= target) return wait_status::reached;
    return wait_longer(target, until, token);
  }

  /// Goes on with a wait for a value that is not reached yet. Out of line, so that a program has it once.
  template <class Token>
  [[gnu::noinline]] wait_status wait_longer(std::uint64_t target, deadline until, const Token& token) const noexcept {
    if (until == at_once || token.stop_requested() || is_poisoned()) return outcome(target, token);
    if (sleeping_wait::run(*this, target, until, token)) return wait_status::reached;
    return outcome(target, token);
  }

  auto* learnt() const noexcept { return spin_.memory(); }

  /// The registration of a thread that sleeps.
  class sleeper {
   public:
    sleeper(const fence_core& of, std::uint64_t target) noexcept
        : of_{of}, ticket_{of.add(target, nullptr)}, is_ordered_{of.order_registration()} {}
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;
    ~sleeper() { of_.heap().withdraw(ticket_); }

    std::uint32_t wakes() const noexcept { return of_.heap().wakes(ticket_); }
    /// A waiter that shares the overflow lane may be released before it is due.
    bool is_early() const noexcept { return ticket_.is_in_lane() && of_.heap().is_released(ticket_); }
    deadline limit(deadline until) const noexcept {
      // If the barrier was refused, a signaller may have missed this waiter, so it looks again soon.
      return is_ordered_ ? until : look_again_before(until, Platform::now());
    }
    bool park(std::uint32_t seen, deadline until) const noexcept { return of_.heap().park(ticket_, seen, until); }
    void nudge() const noexcept { of_.heap().nudge(ticket_); }

   private:
    const fence_core& of_;
    const waiter_ticket ticket_;
    const bool is_ordered_;
  };

  /// Does w2, between (H2) (H8) and (F3). Returns false if the barrier was refused: a signaller may have missed the
  /// waiter then.
  bool order_registration() const noexcept {
    hold_state hold = heap().hold();
    if (hold.holds()) {
      // (F59): w2 while the root is held; pairs with (F4) (F70).
      Platform::full_barrier();
      return true;
    }
    const bool begins_hold = hold.is_to_begin() && heap().begin_hold(hold);
    // (F21): w2; natively (G2). It pairs with (F22), or with (F4) (F70) if the fence is pinned.
    const bool is_ordered = Platform::heavy_barrier() || heap().is_pinned();
    if (begins_hold) heap().finish_beginning(hold, is_ordered);
    return is_ordered;
  }

  /// Registers a waiter. (w1)
  waiter_ticket add(std::uint64_t target, waker* woken) const noexcept {
    const auto ticket = heap().add(target, woken);
    if constexpr (Options.reports_registrations) {
      if (reported_to_.registered != nullptr) reported_to_.registered(reported_to_.context);
    }
    if constexpr (Options.statistics) {
      // (F27): relaxed alone, a statistic.
      if (ticket.is_in_lane()) counts_.overflows.get().fetch_add(1, std::memory_order_relaxed);
    }
    return ticket;
  }

  /// Does w3, for the value and for the poison.
  bool is_over(std::uint64_t target) const noexcept {
    // (F3): seq_cst, in the symmetric form in a single total order with (F2) (SH1) (SH2) and with (F1) (F16) (F20). The
    // asymmetric form needs only the acquire half, for (F19); on its machines that is the same instruction.
    if (holder().get().load(std::memory_order_seq_cst) >= target) return true;
    // (F9): seq_cst, in a single total order with (F6) and (F7).
    return loss_.load(std::memory_order_seq_cst) != nullptr;
  }

  template <class Token>
  wait_status outcome(std::uint64_t target, const Token& token) const noexcept {
    return sleeping_wait::outcome<wait_status>(*this, target, token);
  }

  struct alignas(polled_alignment) apart : holder_type {
    using holder_type::holder_type;
  };

  [[no_unique_address]] mutable std::conditional_t<beside_root, does_nothing, apart> holder_;
  // Beside the value, which signals write anyway. Beside the root, too, if the value is there.
  [[no_unique_address]] std::conditional_t<joins_beside_root, no_calls_inside, inside_type> calls_inside_;
  [[no_unique_address]] mutable heap_type heap_;  // the members that follow can use the bytes that pad it
  mutable typename Platform::template atomic<const loss_reason*> loss_;
  [[no_unique_address]] mutable spin spin_;
  static_assert(
      !Options.callbacks || requires { sizeof(signaller_calls<Platform, waiter_ticket>); },
      "fence_options::callbacks needs <tidemark/fence/signaller_callback.hpp>");
  using calls = std::conditional_t<Options.callbacks, signaller_calls<Platform, waiter_ticket>, no_signaller_calls>;
  [[no_unique_address]] mutable calls calls_;
  [[no_unique_address]] mutable std::conditional_t<Options.statistics, fence_counts<Platform>, does_nothing> counts_;
  struct no_report {};
  [[no_unique_address]] std::conditional_t<Options.reports_registrations, registration_report, no_report> reported_to_;
};

}  // namespace tidemark::detail

namespace tidemark {

/// A timeline that any thread may signal; the greatest value wins.
/// \tparam Platform  symmetric_platform as a rule, since on x86-64 a compare-exchange is a full barrier anyway; another
///                   one pays only if waiters are rare
template <platform Platform, fence_options Options = fence_options{}>
class basic_fence : public detail::fence_core<Platform, Options> {
 public:
  using detail::fence_core<Platform, Options>::fence_core;

  /// Raises the value to `value`, releases every waiter that is due, and returns true. Returns false if the value is
  /// not above the current one; nothing is changed, released or synchronized then. Throws and allocates nothing.
  /// Progress: lock-free; one read-modify-write if no other thread interferes, no waiter is due, the fence is not
  /// pinned, and its root is not held (more with `joins_signallers`: fence_options.hpp). Any thread may call it. If the
  /// platform's `is_async_signal_safe` is true and the options have no `callbacks`, it takes no lock, and a signal
  /// handler may call it. Once the fence is poisoned, its own current_value() does not show what is raised: the value
  /// inside the fence, or a word that it shares with other fences.
  bool signal(std::uint64_t value) noexcept {
    [[maybe_unused]] const typename core::any_call inside{this->inside()};
    if (!put(value)) return false;
    this->notify_if_due(value);
    return true;
  }

  /// The first step of signal(); see is_due(). Returns false if the value is not above the current one; no further
  /// step is needed then. Progress: lock-free. Any thread may call it.
  [[nodiscard]] bool publish(std::uint64_t value) noexcept
    requires(!Options.joins_signallers)
  {
    return put(value);
  }

  /// Raises the value by one, releases every waiter that is due, and returns the new value. Asserts that the value was
  /// below UINT64_MAX. Otherwise the call returns UINT64_MAX, and the value is UINT64_MAX again; threads that look
  /// meanwhile may find a small one. Progress: lock-free; one fetch_add if no waiter is due (more with
  /// `joins_signallers`). In all else like signal().
  std::uint64_t signal_next() noexcept {
    [[maybe_unused]] const typename core::any_call inside{this->inside()};
    const std::uint64_t before = core::steps::raise_by_one(this->value());
    TIDEMARK_ASSERT(before != UINT64_MAX, "signal_next() beyond the last value of a timeline");
    if (this->is_next_due(before)) [[unlikely]]
      return this->finish_next(*this, before);
    return before + 1;
  }

 private:
  using core = detail::fence_core<Platform, Options>;
  friend core;

  /// Does s1. Returns false if the value is not above the current one.
  bool put(std::uint64_t value) noexcept { return core::steps::raise(this->value(), value); }
};

/// A timeline with exactly one signaller at a time, such as the progress of one in-order queue.
/// \tparam Platform  native_platform: a signal costs a store and a load, and a sleeping waiter a heavy barrier
template <platform Platform, fence_options Options = fence_options{}>
class basic_progress_fence : public detail::fence_core<Platform, Options> {
 public:
  using detail::fence_core<Platform, Options>::fence_core;

  /// Sets the value to `value`, which must not be less than the current one (asserted), and releases every waiter that
  /// is due. Throws and allocates nothing. Progress: wait-free if no waiter is due, the fence is not pinned, and its
  /// root is not held (head of this file): one store, one load (two if the value lies in memory of the caller), and in
  /// the asymmetric form no read-modify-write and no fence instruction (more with `joins_signallers`:
  /// fence_options.hpp). One signaller at a time. If the platform's `is_async_signal_safe` is true and the options have
  /// no `callbacks`, it takes no lock. A signal handler may call it then, but not in the middle of another call.
  void signal(std::uint64_t value) noexcept {
    [[maybe_unused]] const typename core::one_call inside{this->inside()};
    put(value);
    this->notify_if_due(value);
  }

  /// The first step of signal(); see is_due(). Always returns true: further steps must always follow. The value must
  /// not fall (asserted). Progress: wait-free. One signaller at a time.
  bool publish(std::uint64_t value) noexcept
    requires(!Options.joins_signallers)
  {
    return put(value);
  }

  /// Raises the value by one, releases every waiter that is due, and returns the new value. Asserts that the value was
  /// below UINT64_MAX; see basic_fence::signal_next(). In all else like signal(), with one more load.
  std::uint64_t signal_next() noexcept {
    [[maybe_unused]] const typename core::one_call inside{this->inside()};
    auto& word = this->value();
    // (F18): relaxed alone, like (F17).
    const std::uint64_t before = word.load(std::memory_order_relaxed);
    TIDEMARK_ASSERT(before != UINT64_MAX, "signal_next() beyond the last value of a timeline");
    core::steps::store(word, before + 1);
    if (this->is_next_due(before)) [[unlikely]]
      return this->finish_next(*this, before);
    return before + 1;
  }

 private:
  using core = detail::fence_core<Platform, Options>;
  friend core;

  /// Does s1. Always returns true.
  bool put(std::uint64_t value) noexcept {
    auto& word = this->value();
    // (F17): relaxed alone; only the signaller writes the value.
    TIDEMARK_ASSERT(value >= word.load(std::memory_order_relaxed), "a progress fence was signalled backwards");
    core::steps::store(word, value);
    return true;
  }
};

/// What a fence has come to: its value, and whether it is poisoned. state() returns it.
using fence_state = detail::fence_state;

/// A fence that any thread may signal; the greatest value wins.
using fence = basic_fence<symmetric_platform>;
/// A fence with exactly one signaller at a time.
using progress_fence = basic_progress_fence<native_platform>;

/// What fence::view() and progress_fence::view() return.
using fence_view = decltype(std::declval<const fence&>().view());
using progress_fence_view = decltype(std::declval<const progress_fence&>().view());

}  // namespace tidemark

// The default fences and their waits lie in a library where tidemark::compiled is linked (docs/guide-build.md). The one
// file of that library defines TIDEMARK_COMPILES. It is empty with clang before version 16, which instantiates members
// whose constraints are not met.
#if defined(TIDEMARK_COMPILED) && !(defined(__clang__) && __clang_major__ < 16)
#if defined(TIDEMARK_COMPILES)
#define TIDEMARK_TEMPLATE template
#else
#define TIDEMARK_TEMPLATE extern template
#endif
namespace tidemark::detail {

TIDEMARK_TEMPLATE class fence_core<native_platform, fence_options{}>;
TIDEMARK_TEMPLATE class fence_core<symmetric_platform, fence_options{}>;
TIDEMARK_TEMPLATE wait_status
fence_core<native_platform, fence_options{}>::wait_longer(std::uint64_t, deadline, const never_stops&) const noexcept;
TIDEMARK_TEMPLATE wait_status fence_core<symmetric_platform, fence_options{}>::wait_longer(
    std::uint64_t, deadline, const never_stops&) const noexcept;
#if defined(__cpp_lib_jthread)
TIDEMARK_TEMPLATE wait_status fence_core<native_platform, fence_options{}>::wait_longer(
    std::uint64_t, deadline, const std::stop_token&) const noexcept;
TIDEMARK_TEMPLATE wait_status fence_core<symmetric_platform, fence_options{}>::wait_longer(
    std::uint64_t, deadline, const std::stop_token&) const noexcept;
#endif

}  // namespace tidemark::detail
#undef TIDEMARK_TEMPLATE
#endif

#endif  // TIDEMARK_FENCE_FENCE_HPP
