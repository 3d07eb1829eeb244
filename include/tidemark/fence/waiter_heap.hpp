// SPDX-License-Identifier: BSL-1.0
//
// waiter_heap: the set of awaited targets of one timeline. Its least target tells a signaller, in one load, whether any
// waiter is due.
//
//   line 0   [neighbor] [ root: least target - 1 | version ] [ lane: how many threads share the overflow lane ]
//   then     one leaf for each slot: [ target - 1, or no_waiter | version ], and the nodes between leaves and root
//   then     which slots are taken; a count of wakes for each slot, and one for the lane
//
// Only the functions of this class write these words. The waiting thread takes a slot, arms its leaf, and frees the
// slot. The waiter itself and threads in release_due() may try to empty the leaf, and the one whose exchange succeeds
// empties it. All of these threads rewrite nodes. A thread that releases or nudges a waiter advances the waiter's count
// of wakes, on which the waiter sleeps.
//
// The invariant [A12] [A16] [A27]: once add(t) has returned, and until that waiter is released or withdrawn,
// monitored_value() is at most t - 1. It is exact when no operation is in progress. If add(t) has given the waiter a
// slot before a call of release_due(v) begins, and t <= v, then the waiter has been released or withdrawn when that
// call returns. fence/detail/min_tree.hpp says why. (With a lock-based double word, the call may return while another
// thread's call is still releasing the waiter.)
//
// A user whose timeline's value rises meanwhile needs the handshake of fence.hpp: add(), then a StoreLoad barrier,
// then one more look at the value. The heap does not know the value.
//
// If there are more waiters than slots, the rest share the overflow lane. While a thread is in the lane,
// monitored_value() is 0, and each release_due() wakes all threads in the lane, which then look at the value
// themselves. That is slower, but never wrong, and no waiter is ever refused.
//
// Not promised: any order among waiters that are released together; that a wake-up means a release (a woken thread
// must look again); that monitored_value() is exact while other threads add, withdraw or release; wait-freedom and
// lock-freedom of add(), withdraw() and release_due() where the platform's double word is not lock-free.
//
// Lifetime: the heap must outlive every call on it, also release_due(), which still uses the heap after the waiters
// that it has released may have gone.
#ifndef TIDEMARK_FENCE_WAITER_HEAP_HPP
#define TIDEMARK_FENCE_WAITER_HEAP_HPP

#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../platform/platform.hpp"
#include "detail/min_tree.hpp"

namespace tidemark {

/// The monitored value of a timeline that no thread waits for [A15].
inline constexpr std::uint64_t no_waiter = detail::no_minimum;

namespace detail {

struct nothing_before_waking {
  void operator()() const noexcept {}
};

}  // namespace detail

/// The registration of one waiter. waiter_heap::add() makes it, and withdraw() ends it; withdraw() must be called
/// exactly once for each.
class waiter_ticket {
 public:
  /// Returns whether the waiter shares the overflow lane, because every slot was taken.
  bool is_in_lane() const noexcept { return slot_ == lane; }

 private:
  template <std::size_t, platform, std::size_t, class>
  friend class waiter_heap;
  static constexpr std::size_t lane = SIZE_MAX;

  waiter_ticket(std::size_t slot, versioned armed) noexcept : slot_{slot}, armed_{armed} {}

  std::size_t slot_;
  versioned armed_;
};

/// A lock-free set of awaited targets: up to `Capacity` with a slot of their own, and any number in the overflow lane.
/// \tparam Capacity  the number of slots; the heap takes about 28 bytes for each
/// \tparam Platform  see platform.hpp
/// \tparam Arity     the number of children of a node; with 4, siblings fill one cache line
/// \tparam Neighbor  an object of up to 16 bytes to keep on the root's cache line (fence.hpp can put its value there)
template <std::size_t Capacity, platform Platform = native_platform, std::size_t Arity = 4,
          class Neighbor = detail::no_neighbor>
class waiter_heap {
 public:
  static_assert(Capacity > 0 && Capacity < (std::size_t{1} << 30), "a waiter heap has 1 to 2^30 - 1 slots");

  using ticket = waiter_ticket;
  using counter = typename Platform::template atomic<std::uint32_t>;

  /// An empty heap. The arguments, if any, construct the neighbour.
  template <class... Arguments>
  explicit waiter_heap(Arguments&&... neighbor) noexcept : tree_(std::forward<Arguments>(neighbor)...) {
    for (std::size_t word = 0; word < taken_.size(); ++word) {
      const std::size_t slots = Capacity - word * 64;
      // (W1): relaxed alone, because no other thread knows the heap yet. Bits beyond the capacity stay taken for ever.
      taken_[word].store(slots >= 64 ? 0 : ~std::uint64_t{0} << slots, std::memory_order_relaxed);
    }
  }
  waiter_heap(const waiter_heap&) = delete;
  waiter_heap& operator=(const waiter_heap&) = delete;

  /// Returns the least awaited target minus 1; `no_waiter` if no thread waits; 0 while a thread is in the overflow
  /// lane, or the heap is pinned [A12] [A15]. Progress: wait-free, one load. Any thread may call it.
  std::uint64_t monitored_value() const noexcept {
    // (W2): relaxed alone: this look takes part in no handshake and synchronizes nothing. A signaller uses
    // monitored_word().
    return tree_.root().load_value(std::memory_order_relaxed);
  }

  /// Returns the word whose value half is monitored_value(). A signaller loads it with the order that its handshake
  /// needs. Any thread may call it.
  const typename Platform::double_word& monitored_word() const noexcept { return tree_.root(); }

  /// Registers a waiter for `target`, and returns its ticket. Never fails: if it finds no free slot, the waiter joins
  /// the overflow lane. Progress: wait-free, O(log n), plus O(Capacity / 64) to find a slot, or O(Capacity) if other
  /// threads take slots at the same time. Any thread may call it. [A14] [A32]
  /// \param target  at least 1 (asserted): a wait for 0 is over before it begins [trap 3]
  [[nodiscard]] ticket add(std::uint64_t target) noexcept {
    TIDEMARK_ASSERT(target > 0, "a waiter was added for 0, which every timeline has reached");
    const std::size_t slot = take_slot();
    if (slot == lane_slot) {
      tree_.enter_lane();
      return ticket{lane_slot, versioned{}};
    }
    const std::uint64_t version = tree_.arm(slot, target - 1);
    tree_.refresh_path(slot);
    return ticket{slot, versioned{target - 1, version}};
  }

  /// Ends a registration: frees its slot, or leaves the lane. Returns true if this call has withdrawn the waiter (in
  /// the lane always). Returns false if the waiter had been released before; what the releasing thread had seen is
  /// visible then. The ticket must not be used again. An assertion detects a second call with the same ticket only if
  /// the slot is still free, or the lane empty. Otherwise another waiter loses its place without notice. Progress:
  /// wait-free, O(log n). One thread for each ticket. [A14] [trap 2]
  bool withdraw(const ticket& waiting) noexcept {
    if (waiting.is_in_lane()) {
      tree_.leave_lane();
      return true;
    }
    // Look first: an exchange that fails would take the leaf's cache line away from the threads that release.
    const bool withdrawn = !is_released(waiting) && tree_.clear(waiting.slot_, waiting.armed_);
    if (withdrawn) tree_.refresh_path(waiting.slot_);
    free_slot(waiting.slot_);
    return withdrawn;
  }

  /// Returns whether release_due() has released this waiter; in the lane always false. If it returns true, what the
  /// releasing thread had seen is visible. Progress: wait-free, one load. Any thread may call it before withdraw().
  bool is_released(const ticket& waiting) const noexcept {
    return !waiting.is_in_lane() && !tree_.is_armed(waiting.slot_, waiting.armed_.version);
  }

  /// Releases and wakes every waiter whose target is at most the value that `current()` returns, and wakes all
  /// threads in the lane. Returns how many slots it released. Makes exactly one pass. Progress: wait-free except for
  /// the system calls that wake, O(k log n) for k released slots, plus O(Capacity / 64). Takes Capacity / 8 bytes of
  /// the stack. Any thread may call it. [A19] [A20] [A29]
  /// \param current  a callable that throws nothing and has no side effects. It is called at the beginning, and again
  ///                 for each leaf that the pass visits. If the value rises during the pass, the pass may miss waiters
  ///                 that only the new value makes due. The thread that raises the value must release those.
  /// \param before_waking  a callable that throws nothing. It is called once, before the first waiter is woken, and not
  ///                       at all if there is none to wake.
  template <class CurrentValue, std::invocable BeforeWaking = detail::nothing_before_waking>
    requires requires(const CurrentValue& current) { static_cast<std::uint64_t>(current()); }
  std::size_t release_due(const CurrentValue& current, const BeforeWaking& before_waking = {}) noexcept {
    detail::slot_set<Capacity> released;
    tree_.clear_due(current, released);
    const bool lane_is_occupied = tree_.lane_has_members();
    if (lane_is_occupied || !released.is_empty()) before_waking();
    if (lane_is_occupied) advance(lane_wakes_, all_threads);
    return released.for_each([this](std::size_t slot) { advance(wakes_[slot], 1); });
  }

  /// Does the same for a value that does not change.
  std::size_t release_due(std::uint64_t value) noexcept {
    return release_due([value] { return value; });
  }

  /// Returns the waiter's count of wakes, for park(). Take it before the last look at whatever ends the wait. Progress:
  /// wait-free, one load. One thread for each ticket.
  std::uint32_t wakes(const ticket& waiting) noexcept {
    // (W3): acquire, pairs with (W4): a waiter that sees the count of its release also sees the value that made it
    // due. Not stronger: a count that is too old only makes park() return at once.
    return wakes_of(waiting).load(std::memory_order_acquire);
  }

  /// Blocks while the waiter's count of wakes is `seen`, until the deadline at most. Returns false only if the deadline
  /// has passed. Returns true if the waiter was released or nudged, or for no reason. If it is woken at about the time
  /// of the deadline, it may return either. One thread for each ticket.
  bool park(const ticket& waiting, std::uint32_t seen, deadline until) noexcept {
    return Platform::park(wakes_of(waiting), seen, until);
  }

  /// Returns the waiter's place for Platform::park_any(), which can sleep on several tickets at once, also of other
  /// heaps. One thread for each ticket.
  parking_place<counter> place(const ticket& waiting, std::uint32_t seen) noexcept {
    return {&wakes_of(waiting), seen};
  }

  /// Wakes the waiter of this ticket without releasing it; in the lane it wakes all threads there. Any thread may
  /// call it, but only before the waiter withdraws. Progress: wait-free except for the system call.
  void nudge(const ticket& waiting) noexcept {
    waiting.is_in_lane() ? advance(lane_wakes_, all_threads) : advance(wakes_[waiting.slot_], 1);
  }

  /// Pins the heap: keeps monitored_value() at 0 for the life of the heap, so that every signal takes its slow path.
  /// For platforms whose heavy barrier was refused. Must be called before the heap is shared.
  void pin() noexcept { tree_.pin(); }
  /// Returns whether pin() was called. Progress: wait-free. Any thread may call it.
  bool is_pinned() const noexcept { return tree_.is_pinned(); }

  /// Returns the object on the root's cache line. Any thread may call it.
  Neighbor& neighbor() noexcept { return tree_.neighbor(); }
  const Neighbor& neighbor() const noexcept { return tree_.neighbor(); }

 private:
  static constexpr std::size_t lane_slot = ticket::lane;
  static constexpr std::uint32_t all_threads = UINT32_MAX;

  counter& wakes_of(const ticket& waiting) noexcept {
    return waiting.is_in_lane() ? lane_wakes_ : wakes_[waiting.slot_];
  }

  void advance(counter& wakes, std::uint32_t threads) noexcept {
    // (W4): release, pairs with (W3). This is a counter and not a state: if it comes late, it only wakes the slot's
    // next owner for no reason.
    wakes.fetch_add(1, std::memory_order_release);
    Platform::unpark(wakes, threads);
  }

  /// Takes a free slot and returns it, or lane_slot. Tries each bit at most once, so other threads can't delay this
  /// one.
  std::size_t take_slot() noexcept {
    for (std::size_t word = 0; word < taken_.size(); ++word) {
      // (W5): relaxed alone: a guess, which (W6) verifies.
      std::uint64_t free = ~taken_[word].load(std::memory_order_relaxed);
      while (free != 0) {
        const std::uint64_t bit = free & (~free + 1);
        // (W6): acquire, pairs with (W7): the new owner finds the leaf as the old one has left it, see (H1). Not
        // stronger: no other thread depends on who owns the slot.
        const std::uint64_t before = taken_[word].fetch_or(bit, std::memory_order_acquire);
        if ((before & bit) == 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(bit));
        free &= ~before & ~bit;
      }
    }
    return lane_slot;
  }

  void free_slot(std::size_t slot) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    // (W7): release, pairs with (W6). With relaxed, the next owner might arm the leaf on top of an old version.
    const std::uint64_t before = taken_[slot / 64].fetch_and(~bit, std::memory_order_release);
    TIDEMARK_ASSERT((before & bit) != 0, "a registration was withdrawn twice");
    static_cast<void>(before);
  }

  detail::min_tree<Capacity, Platform, Arity, Neighbor> tree_;
  std::array<typename Platform::template atomic<std::uint64_t>, (Capacity + 63) / 64> taken_;
  std::array<counter, Capacity> wakes_;
  counter lane_wakes_;
};

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_WAITER_HEAP_HPP
