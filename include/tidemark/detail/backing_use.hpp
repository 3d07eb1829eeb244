// SPDX-License-Identifier: BSL-1.0
//
// Who uses a backing of a rename ring, and until when:
//
//   word          a value: in use until then; `mapped`: one has discarded it, and has not retired yet; or it is being made,
//                 being trimmed, or not there
//   guests        how many have it mapped without having discarded it, and how many ever came
//   guest_until   the greatest value that one of these was retired with
//   owned         how often it was discarded, and retired by who had discarded it: odd while it is discarded
//   left          all guests with a smaller number had left when it was last taken
//
// `owned` and `left` tell the mappings of a discard, or of a guest, that have ended from those that have not. Both are written
// only by the thread that has taken the backing.
//
// Who discards or trims takes the word by one exchange, and gives it back by a store. It has the backing only if then there
// is no guest; a guest counts itself first and looks at the word then. So of the two one sees the other:
//
//      take   word := mapped, trimmed      (N3)            enter   guests += 1        (N5)
//             guests are looked at         (N7)                    word is looked at  (N2)
//
// All four are sequentially consistent.
#ifndef TIDEMARK_DETAIL_BACKING_USE_HPP
#define TIDEMARK_DETAIL_BACKING_USE_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tidemark::detail {

/// The words of a backing that are no values. To `mapped` a mark of who looked on is added, less than 2^32.
struct backing_word {
  static constexpr std::uint64_t mapped = UINT64_MAX - 0x2'0000'0000;
  static constexpr std::uint64_t trimmed = UINT64_MAX - 2;
  static constexpr std::uint64_t made = UINT64_MAX - 1;
  static constexpr std::uint64_t vacant = UINT64_MAX;

  static constexpr bool is_value(std::uint64_t word) noexcept { return word < mapped; }
  static constexpr bool is_mapped(std::uint64_t word) noexcept { return word - mapped <= UINT32_MAX; }
};

/// Who uses a backing; of several threads.
template <class Platform>
class shared_backing_use {
 public:
  std::uint64_t word() const noexcept {
    // (N1): acquire, pairs with (N3) and (N4): who finds a backing taken finds what the taker had done with others before.
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
  /// By the thread that has taken it for a discard. Returns the number of the discard, which is_owned() knows until disown().
  /// To look at the word instead would cost as much as the exchange, which a load of the same word waits for.
  std::uint64_t own() noexcept {
    // (N28): relaxed, (N3) has brought what the last owner stored.
    const std::uint64_t number = owned_.load(std::memory_order_relaxed) + 1;
    // (N26): relaxed alone, between one owner and itself, or the thread that it hands the mapping.
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
  /// Of one that is mapped; what it is then.
  std::uint64_t mark(std::uint64_t before, std::uint64_t as) noexcept {
    // (N9): relaxed alone, who retires stores over it; what (N1) acquired stays in the release sequence.
    return word_.compare_exchange_strong(before, as, std::memory_order_relaxed, std::memory_order_relaxed) ? as
                                                                                                           : before;
  }

  /// The number of guests in the low 16 bits, above it how many ever came.
  std::uint64_t guests() const noexcept {
    // (N7): seq_cst, after (N3), against (N5) and (N2); acquire in it, pairs with (N6): what guests wrote, and (N8).
    return guests_.load(std::memory_order_seq_cst);
  }
  /// Returns guests() as it was before.
  std::uint64_t enter() noexcept {
    // (N5): seq_cst, before (N2), against (N3) and (N7). Nothing is stronger.
    return guests_.fetch_add(arrival + 1, std::memory_order_seq_cst);
  }
  bool leave() noexcept {
    // (N10): relaxed, (N6) does the rest.
    std::uint64_t seen = guests_.load(std::memory_order_relaxed);
    do {
      if (seen % arrival == 0) return false;
      // (N6): release, pairs with (N7): of all guests, those that follow keep up the release sequence.
    } while (!guests_.compare_exchange_weak(seen, seen - 1, std::memory_order_release, std::memory_order_relaxed));
    return true;
  }
  /// By the thread that has taken it, and found no guest: `seen`, which is guests(), then.
  void all_left(std::uint64_t seen) noexcept {
    // (N30): relaxed alone. A guest that is here came after `seen`, so no value that it can find here is greater than its
    // number; one that has left is told so if this store happens before it asks.
    left_.store(seen / arrival, std::memory_order_relaxed);
  }
  /// Whether a guest with that number may be here: it came, and the backing was not taken since.
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
  /// So many that the threads which come too late, and leave again, do not overflow 16 bits.
  static constexpr std::uint64_t most_guests = arrival / 2;

 private:
  using atomic_word = typename Platform::template atomic<std::uint64_t>;
  atomic_word word_;
  atomic_word guests_;
  atomic_word guest_until_;
  atomic_word owned_;
  atomic_word left_;
};

/// The same, of one thread at a time.
template <class Platform>
class lone_backing_use {
 public:
  std::uint64_t word() const noexcept { return word_.load(); }
  std::uint64_t word_for_guest() const noexcept { return word(); }
  bool take(std::uint64_t, std::uint64_t as) noexcept {
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
  /// The number of the discard, if there is one.
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
  void extend(std::uint64_t until) noexcept { guest_until_.store(std::max(guest_until(), until)); }

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

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_BACKING_USE_HPP
