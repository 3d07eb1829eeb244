// SPDX-License-Identifier: BSL-1.0
//
// backing_slot: one place in the circle of a rename ring. It holds a backing, the use of that backing
// (backing_use.hpp), and the next slot. A slot whose backing was trimmed stays in the circle, vacant, and is filled
// again.
//
// Who writes: `use` and `memory`, the thread that has taken the backing, and the mappings of the backing as backing_use
// says; `next`, any thread that inserts a slot behind this one.
#ifndef TIDEMARK_MEMORY_DETAIL_BACKING_SLOT_HPP
#define TIDEMARK_MEMORY_DETAIL_BACKING_SLOT_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "../../platform/platform.hpp"
#include "backing_use.hpp"

namespace tidemark::detail {

template <platform Platform, class Backing, writers Writers>
struct alignas(Writers == writers::several ? cache_line : alignof(std::max_align_t)) backing_slot {
  using use_type =
      std::conditional_t<Writers == writers::several, shared_backing_use<Platform>, lone_backing_use<Platform>>;

  /// What take_idle() returns of a backing that it did not take.
  static constexpr std::uint64_t not_idle = UINT64_MAX;

  use_type use;
  typename Platform::template var<Backing> memory;
  typename Platform::template atomic<backing_slot*> next;

  backing_slot* next_slot() const noexcept {
    // (N14): acquire, pairs with (N15): the slot, as it was made.
    return next.load(std::memory_order_acquire);
  }

  bool has_guests() const noexcept { return use.guests() % use_type::arrival != 0; }

  /// Returns until when the mappings that have ended use the backing.
  std::uint64_t in_use_until() const noexcept {
    const std::uint64_t word = use.word();
    return (std::max)(backing_word::is_value(word) ? word : 0, use.guest_until());
  }

  /// Takes the backing if it is idle now that the timeline has reached a value: its word is `as` then. Returns the word
  /// that it had before, or `not_idle`. Calls `gave_back()` if it has taken the backing from a guest, and given it
  /// back.
  template <class GaveBack>
  std::uint64_t take_idle(std::uint64_t reached, std::uint64_t as, const GaveBack& gave_back) noexcept {
    for (;;) {
      const std::uint64_t before = use.word();
      if (before > reached || !backing_word::is_value(before)) return not_idle;
      if (has_guests() || use.guest_until() > reached) return not_idle;
      if (!use.take(before, as)) continue;
      const std::uint64_t guests = use.guests();
      if (guests % use_type::arrival == 0 && use.guest_until() <= reached) {
        if (guests != 0) use.all_left(guests);  // a guest came, ever
        return before;
      }
      use.give(before);
      gave_back();
      return not_idle;
    }
  }

  /// Ends the discard with that number. Returns false where it has ended before.
  bool retire_owner(std::uint64_t number, std::uint64_t finished) noexcept {
    if (!use.is_owned(number)) return false;
    use.disown(number);
    use.give(finished);
    return true;
  }
  /// Ends the mapping of one guest. Returns false where there is none.
  bool retire_guest(std::uint64_t finished) noexcept {
    if (!has_guests()) return false;
    use.extend(finished);
    return use.leave();
  }

  /// Puts a backing into this slot if it is vacant. Then the caller has the backing as the owner.
  bool fill(const Backing& made) noexcept {
    if (!use.take(backing_word::vacant, backing_word::made)) return false;
    memory.store(made);
    use.give(backing_word::mapped);
    return true;
  }

  /// Makes a slot with this backing behind this one. The caller has the backing as the owner. Returns nullptr where
  /// there is no memory for a slot.
  backing_slot* insert(const Backing& made) noexcept {
    backing_slot* const added = new (std::nothrow) backing_slot;
    if (added == nullptr) return nullptr;
    added->memory.store(made);
    added->use.give(backing_word::mapped);
    // (N16): relaxed, (N15) does the rest.
    backing_slot* behind = next.load(std::memory_order_relaxed);
    do {
      // (N23): relaxed, (N15) is behind it.
      added->next.store(behind, std::memory_order_relaxed);
      // (N15): release, pairs with (N14); slots that were inserted here before keep their release. Slots stay as long
      // as the ring.
    } while (!next.compare_exchange_weak(behind, added, std::memory_order_release, std::memory_order_relaxed));
    return added;
  }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_BACKING_SLOT_HPP
