// SPDX-License-Identifier: BSL-1.0
//
// shared_heap: the set of awaited targets of a fence that several processes share. It lies in memory that all of them
// have mapped, each at its own address, so there is no address in it, and nothing that only a living process can undo.
//
//   root      {least - 1, version}   waiters and passes write it, signals read it
//   pins      one bit for each attachment whose signals all take the slow path; while a bit is set, the root is 0
//   hold      whether the root is 0 for a time, so that waiters need no heavy barrier, see root_hold.hpp
//   tree      one leaf for each slot, see min_tree.hpp
//   owners    one word for each slot: 0 if it is free, otherwise the number of its owner, an attachment
//   wakes     one word for each slot, on which the owner's thread sleeps; it only ever counts up
//
// A thread may end between any two of its operations, because its process was killed. What it leaves behind:
//   - A slot is taken by one exchange that carries the owner. So whose it was is known from the first moment.
//   - A slot is given back in this order: its leaf is empty, the nodes above it are refreshed, the owner becomes 0.
//     Only the owner does so, or clean() for an owner that is dead. So a free slot has an empty leaf.
//   - Nodes that a dead thread has not refreshed are too low, or they hide its own leaf and no other one, because the
//     refresh of each living thread stands by itself. If they are too low, the next signal above them makes a pass in
//     vain, which puts them right.
//   - A hold that it has begun and not confirmed keeps the root at 0, and nobody relies on it. The next waiter confirms
//     it, or passes in vain end it. If it has ended one without a refresh, the root stays at 0 until the next pass.
//   - Threads that it has released and not woken sleep on. They must look at the value from time to time, or one thread
//     of their process must do it for all (shared_watch.hpp).
//
// Whoever has mapped the memory for writing may write nonsense. Therefore no word of it is used as an address, an index
// or a count of rounds: all loops end after one turn over the slots, and nothing is asserted. The worst that nonsense
// brings is a wake-up for no reason, and one that does not come. Zero is harmless: a root of 0 is a pin, a leaf of 0
// belongs to a waiter for 1, and an owner of 0 to nobody. So the heap is made of bytes of 0 (prepare()).
//
// The heap does not grow and has no overflow lane. A waiter that finds no slot is not registered, and must look at the
// value from time to time.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_HEAP_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_HEAP_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "min_tree.hpp"
#include "root_hold.hpp"

namespace tidemark::detail {

/// Where the words of a shared heap lie.
template <class Platform, std::size_t Arity>
struct shared_heap_words {
  tree_word<Platform>* root;
  typename Platform::template atomic<std::uint64_t>* pins;
  hold_of<Platform>* hold;
  siblings<Platform, Arity>* tree;                            // as many as the shape has groups
  typename Platform::template atomic<std::uint32_t>* owners;  // one for each slot
  typename Platform::park_word* wakes;                        // likewise
};

/// The registration of one waiter in a shared heap.
struct shared_ticket {
  static constexpr std::size_t no_slot = SIZE_MAX;

  /// Whether a signal wakes the waiter. If not, it must look at the value from time to time.
  bool is_registered() const noexcept { return slot != no_slot; }

  std::size_t slot = no_slot;
  versioned armed{};
};

/// One process's access to the heap. The words and the shape must outlive it.
template <class Platform, std::size_t Arity>
class shared_heap {
 public:
  using shape_type = tree_shape<Arity>;
  using words_type = shared_heap_words<Platform, Arity>;
  using owner_number = std::uint32_t;

  static constexpr std::size_t most_slots = 4096;

  /// \param shape  of this process's own choice or copy, 1 to `most_slots` leaves
  shared_heap(const shape_type& shape, const words_type& words) noexcept : tree_{shape, words.tree}, words_{words} {}

  std::size_t slot_count() const noexcept { return tree_.shape().leaves(); }
  /// Returns the root, which a signaller compares with its value.
  const typename Platform::double_word& monitored_word() const noexcept { return *words_.root; }

  /// Makes a heap of memory whose bytes are 0, unless that was done. Each process must call it before all other
  /// functions, but may be killed meanwhile. Progress: wait-free, O(n log n) the first time.
  void prepare() noexcept {
    // (SF15): acquire, pairs with (H8) of the root, which comes last here.
    if (words_.root->load_version(std::memory_order_acquire) != 0) return;
    tree_.fill_zeros();
    for (std::size_t slot = 0; slot < slot_count(); slot += Arity) tree_.refresh_path(slot);
    words_.hold->prepare();
    refresh_root();
  }

  /// Returns the root's value, which may be outdated. A hold does not show: the value is then the least of the root's
  /// children. It only reads.
  std::uint64_t monitored_value() const noexcept {
    // (SF19): relaxed alone: it synchronizes nothing.
    const std::uint64_t least = words_.root->load_value(std::memory_order_relaxed);
    return Platform::asymmetric && least == 0 && !is_pinned() ? tree_.least_below_top() : least;
  }

  /// Registers a waiter for `target`, at least 1. Progress: wait-free, O(log n) plus O(n) to find a slot.
  /// \param owner  the attachment's number, at least 1
  /// \param first  the slot where to begin; any number
  shared_ticket add(owner_number owner, std::size_t first, std::uint64_t target) noexcept {
    const std::size_t count = slot_count();
    std::size_t slot = first % count;
    for (std::size_t seen = 0; seen < count; ++seen, slot = slot + 1 == count ? 0 : slot + 1) {
      if (!take(slot, owner)) continue;
      shared_ticket made{slot, {target - 1, 0}};
      if (tree_.try_arm(slot, made.armed)) {
        refresh(slot);
        return made;
      }
      // Somebody writes leaves that are not his.
      give_back(slot, owner);
    }
    return {};
  }

  /// Ends a registration. Returns whether the waiter had not been released. Progress: wait-free, O(log n).
  bool withdraw(const shared_ticket& ticket, owner_number owner) noexcept {
    if (!ticket.is_registered()) return true;
    // Look first: an exchange that fails would take the leaf's cache line away from the threads that release.
    const bool is_withdrawn =
        tree_.is_armed(ticket.slot, ticket.armed.version) && tree_.clear(ticket.slot, ticket.armed);
    if (is_withdrawn) refresh(ticket.slot);
    give_back(ticket.slot, owner);
    return is_withdrawn;
  }

  /// Makes one pass: releases and wakes every waiter that is due. Returns how many there were. Progress: wait-free
  /// except for the system calls, O(k log n).
  /// \param current  returns the value
  /// \param before_waking  is called before the first waiter is woken
  template <class CurrentValue, class BeforeWaking>
  std::size_t release_due(const CurrentValue& current, const BeforeWaking& before_waking) noexcept {
    // One bit for each slot that this thread has released. Nobody else is asked to wake them: he might be dead.
    std::array<std::uint64_t, most_slots / 64> released;
    const std::size_t sets = tree_.shape().sets();
    for (std::size_t i = 0; i < sets; ++i) released[i] = 0;
    std::size_t count = 0;
    tree_.clear_due(current(), current, [&](std::size_t slot) {
      released[slot / 64] |= std::uint64_t{1} << slot % 64;
      ++count;
    });
    refresh_root();
    if (count == 0) return 0;
    before_waking();
    for (std::size_t i = 0; i < sets; ++i) {
      for (std::uint64_t rest = released[i]; rest != 0; rest &= rest - 1)
        wake(i * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
    }
    return count;
  }

  /// Returns the count of wakes of a slot, for park(). Take it before the last look at whatever ends the wait.
  std::uint32_t wakes(std::size_t slot) const noexcept {
    // (SF4): acquire, pairs with (SF3): a waiter that sees the count also sees what it was woken for: the value that
    // made it due, a stop, a loss or the watch. Not stronger: a count that is too old only makes park() return at once.
    return words_.wakes[slot].load(std::memory_order_acquire);
  }
  /// Sleeps while the count is `seen`. Returns false only if the deadline has passed.
  bool park(std::size_t slot, std::uint32_t seen, deadline until) noexcept {
    return Platform::park(words_.wakes[slot], seen, until);
  }
  /// Lets the thread that sleeps on the slot's word look again.
  void wake(std::size_t slot) noexcept {
    // (SF3): release, pairs with (SF4). With relaxed, the waiter might sleep on with the new count and the old value. A
    // late one only makes the slot's next owner look once more.
    words_.wakes[slot].fetch_add(1, std::memory_order_release);
    // All: where somebody has given the slot to two threads, the wrong one might be woken.
    Platform::unpark(words_.wakes[slot], UINT32_MAX);
  }
  /// Does so for all slots that have an owner.
  void wake_all() noexcept {
    for (std::size_t slot = 0; slot < slot_count(); ++slot) {
      if (owner_of(slot) != 0) wake(slot);
    }
  }

  /// Gives back what a dead owner has left. The caller must know that it is dead, and exclude all others who clean for
  /// it and whoever takes over its number, until the call has returned. If the caller ends within the call, the next
  /// one must call it again. Returns how many slots it has given back. Progress: wait-free, O(n).
  std::size_t clean(owner_number dead) noexcept {
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < slot_count(); ++slot) {
      if (owner_of(slot) != dead) continue;
      // A pass may empty the leaf between load and exchange, and then the second try finds it empty.
      if (!tree_.clear_any(slot)) static_cast<void>(tree_.clear_any(slot));
      // Also if it was empty: its owner may have ended before it refreshed.
      refresh(slot);
      give_back(slot, dead);
      ++count;
    }
    return count;
  }

  /// Keeps the root at 0 while an attachment of this number, less than 64, may signal without being reached by the
  /// heavy barriers of others. Its first signal must come after the return. Progress: wait-free.
  void pin(unsigned attachment) noexcept {
    // (SF5): seq_cst, a change of a child of the root like (H2); (SF7) reads it.
    words_.pins->fetch_or(std::uint64_t{1} << attachment, std::memory_order_seq_cst);
    refresh_root();
  }
  /// Ends that: after its last signal, or after its death. Progress: wait-free.
  void unpin(unsigned attachment) noexcept {
    // (SF6): release, pairs with (SF7): a root without the pin comes after the attachment's last look at it, (F2). With
    // relaxed, that look might find it, and miss a waiter whose barrier does not reach the attachment. Not stronger: a
    // refresh that misses it leaves the root too low, like a stale node.
    words_.pins->fetch_and(~(std::uint64_t{1} << attachment), std::memory_order_release);
    refresh_root();
  }

  // ---- The hold: for a time, the root is kept at 0 as if it were pinned (root_hold.hpp).

  /// Returns the state of the hold, for a waiter that has registered; see waiter_heap::hold().
  hold_state hold() const noexcept { return words_.hold->look(); }
  /// Begins a hold if one is due; or goes on with one that another thread has begun, and that nobody relies on yet,
  /// because that thread may be dead. Returns whether it has. Then the caller must issue its heavy barrier, and call
  /// finish_beginning(). Progress: wait-free.
  /// \param seen  what hold() has returned, and that does not hold
  [[gnu::cold, gnu::noinline]] bool begin_hold(hold_state& seen) noexcept {
    // (H22) again, and not only (H23): its (H24) must come before the refresh in the single total order. No check can
    // show that, because the checker executes its operations in such an order.
    if (seen.keeps_root_low() ? !words_.hold->keeps_root_low() : !words_.hold->begin(seen)) return false;
    refresh_root();
    return true;
  }
  /// Ends what begin_hold() has begun. If `is_ordered`, other waiters may rely on the hold from now on. Otherwise the
  /// barrier was refused to this process: the hold ends, and the next one comes late. Progress: wait-free.
  [[gnu::cold, gnu::noinline]] void finish_beginning(hold_state begun, bool is_ordered) noexcept {
    if (is_ordered) return words_.hold->confirm(begun);
    if (words_.hold->give_up(begun)) refresh_root();
  }
  /// Counts a pass, after it was made. Too many in vain end a hold. Progress: wait-free.
  void count_pass(bool has_released) noexcept {
    if (words_.hold->count_pass(has_released)) refresh_root();
  }

  bool is_pinned() const noexcept {
    // (SF7): seq_cst like (H6): a refresh of the root does not miss (SF5). Its acquire half is for (SF6).
    return words_.pins->load(std::memory_order_seq_cst) != 0;
  }

  // ---- For audits. Nobody may use the heap meanwhile.

  owner_number owner_of(std::size_t slot) const noexcept {
    // (SF8): relaxed alone: who cleans has the dead owner's words by the lock that says that it is dead.
    return words_.owners[slot].load(std::memory_order_relaxed);
  }
  bool is_empty(std::size_t slot) const noexcept { return tree_.value_of(slot) == no_minimum; }

 private:
  bool take(std::size_t slot, owner_number owner) noexcept {
    if (owner_of(slot) != 0) return false;
    owner_number nobody = 0;
    // (SF1): acquire, pairs with (SF2): the new owner finds the leaf as the last one has left it, see (H1).
    return words_.owners[slot].compare_exchange_strong(nobody, owner, std::memory_order_acquire,
                                                       std::memory_order_relaxed);
  }
  void give_back(std::size_t slot, owner_number owner) noexcept {
    // (SF2): release, pairs with (SF1). An exchange and not a store, so that this gives back no slot of somebody else.
    words_.owners[slot].compare_exchange_strong(owner, 0, std::memory_order_release, std::memory_order_relaxed);
  }

  void refresh(std::size_t slot) noexcept {
    tree_.refresh_path(slot);
    refresh_root();
  }
  void refresh_root() noexcept {
    refresh_node(*words_.root, [this] {
      // The hold first: a waiter that registers must have read it, also where the root is pinned (root_hold.hpp).
      return words_.hold->keeps_root_low() || is_pinned() ? std::uint64_t{0} : tree_.least_below_top();
    });
  }

  min_tree<Platform, Arity> tree_;
  words_type words_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_HEAP_HPP
