// SPDX-License-Identifier: BSL-1.0
//
// Who uses a backing of a rename ring, and until when:
//
//   word          a value: in use until then; `mapped`: one has discarded it, and has not retired yet; or it is being made,
//                 being trimmed, or not there
//   guests        how many have it mapped without having discarded it, and how many ever came
//   guest_until   the greatest value that one of these was retired with
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
  /// By who has taken it, and gives it back: whether there is somebody. To look at the word would cost as much as the
  /// exchange, which a load of the same word waits for.
  void own(bool is_owned) noexcept {
    // (N26): relaxed alone, between one owner and himself, or whom he hands the mapping.
    owned_.store(is_owned ? 1 : 0, std::memory_order_relaxed);
  }
  bool is_owned() const noexcept {
    // (N27): relaxed alone, as (N26).
    return owned_.load(std::memory_order_relaxed) != 0;
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
  void enter() noexcept {
    // (N5): seq_cst, before (N2), against (N3) and (N7). Nothing is stronger.
    guests_.fetch_add(arrival + 1, std::memory_order_seq_cst);
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

 private:
  using atomic_word = typename Platform::template atomic<std::uint64_t>;
  atomic_word word_;
  atomic_word guests_;
  atomic_word guest_until_;
  typename Platform::template atomic<std::uint32_t> owned_;
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
  void own(bool) noexcept {}
  bool is_owned() const noexcept { return backing_word::is_mapped(word()); }
  std::uint64_t mark(std::uint64_t before, std::uint64_t) noexcept { return before; }

  std::uint64_t guests() const noexcept { return guests_.load(); }
  void enter() noexcept { guests_.store(guests() + arrival + 1); }
  bool leave() noexcept {
    if (guests() % arrival == 0) return false;
    guests_.store(guests() - 1);
    return true;
  }
  std::uint64_t guest_until() const noexcept { return guest_until_.load(); }
  void extend(std::uint64_t until) noexcept { guest_until_.store(std::max(guest_until(), until)); }

  static constexpr std::uint64_t arrival = 0x1'0000;

 private:
  using plain_word = typename Platform::template var<std::uint64_t>;
  plain_word word_;
  plain_word guests_;
  plain_word guest_until_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_BACKING_USE_HPP
