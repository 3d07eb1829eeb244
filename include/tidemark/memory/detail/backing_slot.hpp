// SPDX-License-Identifier: BSL-1.0
//
// backing_slot: the backings of a rename ring, and who uses them.
#ifndef TIDEMARK_MEMORY_DETAIL_BACKING_SLOT_HPP
#define TIDEMARK_MEMORY_DETAIL_BACKING_SLOT_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

// backing_use: which mappings use one backing of a rename ring, and until when. The owner is the thread that has
// discarded the backing; a guest is a thread that has mapped it otherwise.
//
//   word          a value: the backing is in use until then; `mapped`: it has an owner; or it is being made, is being
//                 trimmed, or is vacant
//   guests        how many guests it has (low 16 bits), and how many ever came (the other bits)
//   guest_until   the greatest value with which a guest was retired
//   owned         counts its discards and their ends: odd while it has an owner
//   left          when the backing was last taken, all guests with a smaller number had left
//
// `owned` and `left` tell mappings that have ended from those that have not. Only the thread that has taken the backing
// writes them.
//
// A thread that discards or trims the backing takes the word by one exchange, and gives it back by a store. It has the
// backing only if it finds no guest after the exchange. A guest counts itself first and looks at the word afterwards.
// So at least one of the two sees the other:
//
//      take   word := mapped, trimmed      (N3)            enter   guests += 1        (N5)
//             guests are looked at         (N7)                    word is looked at  (N2)
//
// All four accesses are sequentially consistent.

/// The words of a backing that are no values. A thread that searches adds its mark, less than 2^32, to `mapped`.
struct backing_word {
  static constexpr std::uint64_t mapped = UINT64_MAX - 0x2'0000'0000;
  static constexpr std::uint64_t trimmed = UINT64_MAX - 2;
  static constexpr std::uint64_t made = UINT64_MAX - 1;
  static constexpr std::uint64_t vacant = UINT64_MAX;

  static constexpr bool is_value(std::uint64_t word) noexcept { return word < mapped; }
};

/// The use of a backing by several threads.
template <platform Platform>
class shared_backing_use {
 public:
  std::uint64_t word() const noexcept {
    // (N1): acquire, pairs with (N3) and (N4): a thread that finds a backing taken also finds what the taker had done
    // with other backings before.
    return word_.load(std::memory_order_acquire);
  }
  std::uint64_t word_for_guest() const noexcept {
    // (N2): seq_cst, after (N5), against (N3) and (N7); acquire in it, pairs with (N4): the memory itself.
    return word_.load(std::memory_order_seq_cst);
  }
  bool take(std::uint64_t before, std::uint64_t as) noexcept {
    // (N3): seq_cst, before (N7), against (N5) and (N2); acquire in it, pairs with (N4): the last mapper's writes, the
    // memory itself, and which backing was current then; release in it for (N1).
    return word_.compare_exchange_strong(before, as, std::memory_order_seq_cst, std::memory_order_relaxed);
  }
  void give(std::uint64_t value) noexcept {
    // (N4): release, pairs with (N1), (N2) and (N3).
    word_.store(value, std::memory_order_release);
  }
  /// Begins the ownership of the thread that has taken the backing for a discard. Returns the number of the discard,
  /// which is_owned() knows until disown(). Looking at the word instead would cost as much as the exchange, for which a
  /// load of the same word waits.
  std::uint64_t own() noexcept {
    // (N28): relaxed, (N3) has brought what the last owner stored.
    const std::uint64_t number = owned_.load(std::memory_order_relaxed) + 1;
    // (N26): relaxed alone, between an owner and itself, or the thread to which it hands the mapping.
    owned_.store(number, std::memory_order_relaxed);
    return number;
  }
  bool is_owned(std::uint64_t number) const noexcept {
    // (N27): relaxed alone, as (N26). Nobody else stores this number.
    return owned_.load(std::memory_order_relaxed) == number;
  }
  void disown(std::uint64_t number) noexcept {
    // (N29): relaxed, (N4) is behind it.
    owned_.store(number + 1, std::memory_order_relaxed);
  }
  /// Adds a mark to the word of a backing that has an owner. Returns the word after that.
  std::uint64_t mark(std::uint64_t before, std::uint64_t as) noexcept {
    // (N9): relaxed alone, the owner's retire() stores over it; what (N1) acquired stays in the release sequence.
    return word_.compare_exchange_strong(before, as, std::memory_order_relaxed, std::memory_order_relaxed) ? as
                                                                                                           : before;
  }

  /// Returns the number of guests in the low 16 bits, and in the other bits how many ever came.
  std::uint64_t guests() const noexcept {
    // (N7): seq_cst, after (N3), against (N5) and (N2); acquire in it, pairs with (N6): what guests wrote, and (N8).
    return guests_.load(std::memory_order_seq_cst);
  }
  /// Returns guests() as it was before.
  std::uint64_t enter() noexcept {
    // (N5): seq_cst, before (N2), against (N3) and (N7).
    return guests_.fetch_add(arrival + 1, std::memory_order_seq_cst);
  }
  /// Returns false where there is no guest.
  bool leave() noexcept {
    // (N10): relaxed, (N6) does the rest.
    std::uint64_t seen = guests_.load(std::memory_order_relaxed);
    do {
      if (seen % arrival == 0) return false;
      // (N6): release, pairs with (N7): of all guests, those that follow keep up the release sequence.
    } while (!guests_.compare_exchange_weak(seen, seen - 1, std::memory_order_release, std::memory_order_relaxed));
    return true;
  }
  /// Notes that all guests have left. Only the thread that has taken the backing, and found no guest, may call it.
  /// \param seen  what guests() returned then
  void all_left(std::uint64_t seen) noexcept {
    // (N30): relaxed alone. A guest that is here came after `seen`, so no value that it can find here is greater than
    // its number. A guest that has left sees this if the store happens before its may_be_here().
    left_.store(seen / arrival, std::memory_order_relaxed);
  }
  /// Returns whether a guest with that number may still be here: the backing was not taken since it came.
  bool may_be_here(std::uint64_t number) const noexcept {
    // (N31): relaxed alone, as (N30).
    return number >= left_.load(std::memory_order_relaxed);
  }

  std::uint64_t guest_until() const noexcept {
    // (N8): relaxed, behind (N7).
    return guest_until_.load(std::memory_order_relaxed);
  }
  void extend(std::uint64_t until) noexcept {
    std::uint64_t seen = guest_until();
    while (seen < until) {
      // (N11): relaxed, (N6) is behind it.
      if (guest_until_.compare_exchange_weak(seen, until, std::memory_order_relaxed, std::memory_order_relaxed)) return;
    }
  }

  static constexpr std::uint64_t arrival = 0x1'0000;
  /// More guests are refused. Threads that come too late are counted until they leave again: for them the other half of
  /// the 16 bits is left.
  static constexpr std::uint64_t most_guests = arrival / 2;

 private:
  using atomic_word = typename Platform::template atomic<std::uint64_t>;
  atomic_word word_;
  atomic_word guests_;
  atomic_word guest_until_;
  atomic_word owned_;
  atomic_word left_;
};

/// The use of a backing by one thread at a time.
template <platform Platform>
class lone_backing_use {
 public:
  std::uint64_t word() const noexcept { return word_.load(); }
  std::uint64_t word_for_guest() const noexcept { return word(); }
  bool take(std::uint64_t before, std::uint64_t as) noexcept {
    // Only a source that calls the ring may have changed it (backing_source.hpp).
    if (word() != before) return false;
    give(as);
    return true;
  }
  void give(std::uint64_t value) noexcept { word_.store(value); }
  std::uint64_t own() noexcept {
    const std::uint64_t number = owned_.load() + 1;
    owned_.store(number);
    return number;
  }
  bool is_owned(std::uint64_t number) const noexcept { return owned_.load() == number; }
  void disown(std::uint64_t number) noexcept { owned_.store(number + 1); }
  /// Returns the number of the current discard, if there is one.
  std::uint64_t owner() const noexcept { return owned_.load() | 1; }
  std::uint64_t mark(std::uint64_t before, std::uint64_t) noexcept { return before; }

  std::uint64_t guests() const noexcept { return guests_.load(); }
  std::uint64_t enter() noexcept {
    const std::uint64_t before = guests();
    guests_.store(before + arrival + 1);
    return before;
  }
  bool leave() noexcept {
    if (guests() % arrival == 0) return false;
    guests_.store(guests() - 1);
    return true;
  }
  void all_left(std::uint64_t seen) noexcept { left_.store(seen / arrival); }
  bool may_be_here(std::uint64_t number) const noexcept { return number >= left_.load(); }
  std::uint64_t guest_until() const noexcept { return guest_until_.load(); }
  void extend(std::uint64_t until) noexcept { guest_until_.store((std::max)(guest_until(), until)); }

  static constexpr std::uint64_t arrival = 0x1'0000;
  static constexpr std::uint64_t most_guests = arrival / 2;

 private:
  using plain_word = typename Platform::template var<std::uint64_t>;
  plain_word word_;
  plain_word guests_;
  plain_word guest_until_;
  plain_word owned_;
  plain_word left_;
};

/// backing_slot: one place in the circle of a rename ring. It holds a backing, the use of that backing
/// (backing_use), and the next slot. A slot whose backing was trimmed stays in the circle, vacant, and is filled
/// again.
///
/// Who writes: `use` and `memory`, the thread that has taken the backing, and the mappings of the backing as
/// backing_use says; `next`, any thread that inserts a slot behind this one.
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
