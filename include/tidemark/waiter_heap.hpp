// SPDX-License-Identifier: BSL-1.0
//
// waiter_heap: the set of awaited targets of one timeline, whose least tells a signaller in one load whether anybody is
// due.
//
//   line 0   [neighbor] [ root: least target - 1 | version ] [ lane: threads that share the overflow lane ]
//   then     leaves, one for each slot: [ target - 1, or no_waiter | version ], and the nodes between them and the root
//   then     which slots are taken, one wake count for each slot, the lane's wake count
//
// Who writes: a slot is taken and freed by the thread that waits; its leaf is armed by that thread and emptied by
// whoever wins the one exchange that does it (the waiter itself, or a thread that releases those who are due); nodes
// are rewritten by all; a wake count is advanced by those who release or nudge, and slept on by the waiter. Nobody but
// this class writes any of them.
//
// The invariant (A12, A16, A27): once add(t) has returned, and until that waiter is released or withdrawn,
// monitored_value() is at most t - 1. It is exact when no operation is in flight. A pass of release_due(v) that begins
// after add(t) has returned, with t <= v, leaves no such waiter behind; detail/min_tree.hpp says why. (With a
// lock-based double word it may return while another pass is still releasing one.)
//
// Using it against a value that others raise needs the handshake of fence.hpp: after add(), a StoreLoad barrier, and
// then one more look at the value. The heap alone does not know the value.
//
// More waiters than slots: the rest share the overflow lane. While the lane is occupied the least is 0, each
// release_due() wakes all of the lane, and they look for themselves: slower, never wrong, never refused.
//
// Not promised: any order among those who are released together; that a wake-up means release (look again, always);
// that monitored_value() is exact while others add, withdraw or release. Lifetime: the heap must outlive every call on
// it, release_due() too, which still touches it after its waiters may have left.
#ifndef TIDEMARK_WAITER_HEAP_HPP
#define TIDEMARK_WAITER_HEAP_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "detail/min_tree.hpp"
#include "platform.hpp"

namespace tidemark {

/// One waiter's registration. Made by waiter_heap::add(), ended by withdraw(), which must be called exactly once for
/// each.
class waiter_ticket {
 public:
  /// True when every slot was taken and the waiter shares the overflow lane.
  bool is_in_lane() const noexcept { return slot_ == lane; }

 private:
  template <std::size_t, class, std::size_t, class>
  friend class waiter_heap;
  static constexpr std::size_t lane = SIZE_MAX;

  waiter_ticket(std::size_t slot, versioned armed) noexcept : slot_{slot}, armed_{armed} {}

  std::size_t slot_;
  versioned armed_;
};

/// A lock-free set of up to `Capacity` awaited targets with slots of their own, and any number in the overflow lane.
/// \tparam Capacity  slots; a heap takes about 28 bytes for each.
/// \tparam Platform  see platform.hpp.
/// \tparam Arity     children per node; with 4, siblings fill one cache line.
/// \tparam Neighbor  an object to keep on the root's cache line, up to 16 bytes (fence.hpp puts its value there on
///                   request).
template <std::size_t Capacity, class Platform = native_platform, std::size_t Arity = 4,
          class Neighbor = detail::no_neighbor>
class waiter_heap {
 public:
  static_assert(Capacity > 0 && Capacity < (std::size_t{1} << 30), "the capacity counts slots");

  using ticket = waiter_ticket;
  using counter = typename Platform::template atomic<std::uint32_t>;

  template <class... Arguments>
  explicit waiter_heap(Arguments&&... neighbor) noexcept : tree_(std::forward<Arguments>(neighbor)...) {
    for (std::size_t word = 0; word < taken_.size(); ++word) {
      const std::size_t slots = Capacity - word * 64;
      // (W1): relaxed alone, since no other thread knows the heap yet. Bits beyond the capacity stay taken for ever.
      taken_[word].store(slots >= 64 ? 0 : ~std::uint64_t{0} << slots, std::memory_order_relaxed);
    }
  }
  waiter_heap(const waiter_heap&) = delete;
  waiter_heap& operator=(const waiter_heap&) = delete;

  /// The least awaited target minus 1; `no_waiter` when nobody waits; 0 while the overflow lane is occupied (A12, A15).
  /// Progress: wait-free, one load. Thread-safe.
  std::uint64_t monitored_value() const noexcept {
    // (W2): relaxed alone: a look from outside, which takes part in no handshake and brings nothing along; a signaller
    // uses monitored_word().
    return tree_.root().load_value(std::memory_order_relaxed);
  }

  /// The word whose value half is monitored_value(), for a signaller to load with the order that its handshake needs.
  const typename Platform::double_word& monitored_word() const noexcept { return tree_.root(); }

  /// Registers a waiter for `target`, which is at least 1 (a wait for 0 is over before it begins; trap 3). Never fails:
  /// without a free slot the waiter joins the overflow lane. Progress: wait-free, O(log n) plus O(Capacity / 64) to
  /// find a slot. Thread-safe. (A14, A32)
  [[nodiscard]] ticket add(std::uint64_t target) noexcept {
    TIDEMARK_ASSERT(target > 0, "every timeline has reached 0: nobody can wait for it");
    const std::size_t slot = take_slot();
    if (slot == lane_slot) {
      tree_.enter_lane();
      return ticket{lane_slot, versioned{}};
    }
    const std::uint64_t version = tree_.arm(slot, target - 1);
    tree_.refresh_path(slot);
    return ticket{slot, versioned{target - 1, version}};
  }

  /// Ends a registration. True when this call withdrew it, false when the waiter had been released before (in the lane:
  /// always true). The ticket is used up; a second call is asserted as long as nobody else has taken the slot. Progress:
  /// wait-free, O(log n). One thread for one ticket. (A14, trap 2)
  bool withdraw(const ticket& waiting) noexcept {
    if (waiting.is_in_lane()) {
      tree_.leave_lane();
      return true;
    }
    // Looked at first: an exchange that fails would take the leaf's cache line away from those who release.
    const bool withdrawn = !is_released(waiting) && tree_.clear(waiting.slot_, waiting.armed_);
    if (withdrawn) tree_.refresh_path(waiting.slot_);
    free_slot(waiting.slot_);
    return withdrawn;
  }

  /// Whether release_due() has released this waiter; never true in the lane. Progress: wait-free, one load.
  bool is_released(const ticket& waiting) const noexcept {
    return !waiting.is_in_lane() && !tree_.is_armed(waiting.slot_, waiting.armed_.version);
  }

  /// Releases and wakes every waiter whose target is at most the value that `current()` returns; wakes all of the lane.
  /// Returns how many slots it released. `current` is a callable without side effect; it is asked again for each
  /// waiter, so a value that rises meanwhile counts. Exactly one pass. Progress: wait-free but for the system calls
  /// that wake, O(k log n). Thread-safe. (A19, A20, A29)
  template <class CurrentValue>
  requires requires(const CurrentValue& current) { static_cast<std::uint64_t>(current()); }
  std::size_t release_due(const CurrentValue& current) noexcept {
    detail::slot_set<Capacity> released;
    tree_.clear_due(current, released);
    if (tree_.lane_has_members()) advance(lane_wakes_, all_threads);
    return released.for_each([this](std::size_t slot) { advance(wakes_[slot], 1); });
  }

  /// The same for a plain value.
  std::size_t release_due(std::uint64_t value) noexcept {
    return release_due([value] { return value; });
  }

  /// The count to hand to park(). Take it before the last look at whatever ends the wait. Progress: wait-free, one
  /// load.
  std::uint32_t wakes(const ticket& waiting) noexcept {
    // (W3): acquire, pairs with (W4), so that who sees the count of its release also sees the value that made it due.
    // Not stronger: a count that is too old only makes park() return at once.
    return wakes_of(waiting).load(std::memory_order_acquire);
  }

  /// Sleeps until the waiter is released, nudged or woken for no reason, if `seen` still is its count of wakes; until
  /// the deadline at most. False when the deadline has passed. Blocking. One thread for one ticket.
  bool park(const ticket& waiting, std::uint32_t seen, deadline until) noexcept {
    return Platform::park(wakes_of(waiting), seen, until);
  }

  /// The same for who sleeps on several tickets at once, also of other heaps: what Platform::park_any() takes.
  parking_place<counter> place(const ticket& waiting, std::uint32_t seen) noexcept {
    return {&wakes_of(waiting), seen};
  }

  /// Wakes the waiter of this ticket without releasing it, from any thread, before it withdraws. Progress: wait-free
  /// but for the system call.
  void nudge(const ticket& waiting) noexcept {
    waiting.is_in_lane() ? advance(lane_wakes_, all_threads) : advance(wakes_[waiting.slot_], 1);
  }

  /// Keeps monitored_value() at 0 for the life of the heap, so that every signal takes its slow path: for platforms
  /// whose heavy barrier was refused. Before the heap is shared.
  void pin() noexcept { tree_.pin(); }
  bool is_pinned() const noexcept { return tree_.is_pinned(); }

  Neighbor& neighbor() noexcept { return tree_.neighbor(); }
  const Neighbor& neighbor() const noexcept { return tree_.neighbor(); }

 private:
  static constexpr std::size_t lane_slot = ticket::lane;
  static constexpr std::uint32_t all_threads = UINT32_MAX;

  counter& wakes_of(const ticket& waiting) noexcept {
    return waiting.is_in_lane() ? lane_wakes_ : wakes_[waiting.slot_];
  }

  void advance(counter& wakes, std::uint32_t threads) noexcept {
    // (W4): release, pairs with (W3). A counter and not a state: a late one is a wake-up for no reason of the slot's
    // next owner.
    wakes.fetch_add(1, std::memory_order_release);
    Platform::unpark(wakes, threads);
  }

  /// Each bit is tried at most once, so another thread can't keep this one here.
  std::size_t take_slot() noexcept {
    for (std::size_t word = 0; word < taken_.size(); ++word) {
      // (W5): relaxed alone: a guess, which (W6) makes sure of.
      std::uint64_t free = ~taken_[word].load(std::memory_order_relaxed);
      while (free != 0) {
        const std::uint64_t bit = free & (~free + 1);
        // (W6): acquire, pairs with (W7), so that the new owner finds the leaf as the old one left it, see (H1). Not
        // stronger: the slot is nobody's business but its owner's.
        const std::uint64_t before = taken_[word].fetch_or(bit, std::memory_order_acquire);
        if ((before & bit) == 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(bit));
        free &= ~before & ~bit;
      }
    }
    return lane_slot;
  }

  void free_slot(std::size_t slot) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    // (W7): release, pairs with (W6). Relaxed would let the next owner arm the leaf on top of an old version.
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

#endif  // TIDEMARK_WAITER_HEAP_HPP
