// SPDX-License-Identifier: BSL-1.0
//
// The overflow lane of a waiter heap: waiters that found no slot share one leaf, which is a child of the root.
//
//   word_   [ least target - 1 of its members, or no_minimum | claims: 32 bits, members: 32 bits ]
//
// A pass claims the lane like a leaf, as soon as one of its members may be due: the lane is empty then, and all who
// were its members wake up. Those that are not due must join again. The least target falls when a member joins, and
// rises only when the last one leaves or the lane is claimed; so it may be lower than it need be.
//
// The word is a function of who has joined, left and claimed, so the same word twice is the same state. Unlike in the
// tree the version may fall here, so an exchange that expects a torn load may succeed, but only if the word is in just
// that state then; and each new word depends on the expected one alone. The number of claims tells members of different
// rounds apart.
//
// Not promised: wait-freedom; an exchange is tried again while others succeed.
#ifndef TIDEMARK_FENCE_DETAIL_OVERFLOW_LANE_HPP
#define TIDEMARK_FENCE_DETAIL_OVERFLOW_LANE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "min_tree.hpp"

namespace tidemark::detail {

template <class Platform>
class overflow_lane {
 public:
  using counter = typename Platform::park_word;

  /// Adds a member. Returns the number of claims, which tells its membership from others. The root must be refreshed
  /// afterwards. Progress: lock-free.
  std::uint64_t join(std::uint64_t value) noexcept {
    for (;;) {
      // (H10): relaxed; an older word only makes (H11) fail.
      versioned seen = word_.load(std::memory_order_relaxed);
      const versioned joined{seen.value < value ? seen.value : value, seen.version + 1};
      // (H11): seq_cst, a change of a child of the root like (H2). (H7) and (H12) read it.
      if (word_.compare_exchange_strong(seen, joined, std::memory_order_seq_cst, std::memory_order_relaxed))
        return claims(seen);
    }
  }

  /// Removes a member. Returns false if the lane was claimed since it joined. The root must be refreshed afterwards.
  /// Progress: lock-free.
  bool leave(std::uint64_t joined_at) noexcept {
    for (;;) {
      // (H14): acquire: a member whose lane was claimed sees what the claiming thread saw, like the failure of (H3).
      versioned seen = word_.load(std::memory_order_acquire);
      if (claims(seen) != joined_at) return false;
      TIDEMARK_ASSERT(members(seen) != 0, "a registration was withdrawn twice");
      const versioned left{members(seen) == 1 ? no_minimum : seen.value, seen.version - 1};
      // (H13): seq_cst, like (H11).
      if (word_.compare_exchange_strong(seen, left, std::memory_order_seq_cst, std::memory_order_relaxed)) return true;
    }
  }

  /// Returns whether the lane was claimed since a member joined. Progress: wait-free.
  bool is_claimed(std::uint64_t joined_at) const noexcept {
    // (H21): acquire, like (H4): pairs with the release half of (H15).
    return word_.load_version(std::memory_order_acquire) / one_claim != joined_at;
  }

  /// Returns the least target of the members, minus 1. Progress: wait-free.
  std::uint64_t least() const noexcept {
    // (H7): seq_cst like (H6). The lane's changes are (H11), (H13) and (H15).
    return word_.load_value(std::memory_order_seq_cst);
  }

  /// Empties the lane if a member may be due. Returns how many members it had then, which wake_all() must wake; 0 if it
  /// was not emptied. Progress: lock-free.
  template <class CurrentValue>
  std::size_t claim_if_due(const CurrentValue& current) noexcept {
    for (;;) {
      // (H12): seq_cst, like (H16).
      versioned seen = word_.load(std::memory_order_seq_cst);
      if (seen.value >= current()) return 0;
      const versioned empty{no_minimum, (claims(seen) + 1) * one_claim};
      // (H15): seq_cst, like (H3).
      if (word_.compare_exchange_strong(seen, empty, std::memory_order_seq_cst, std::memory_order_relaxed))
        return as_integer<std::size_t>(members(seen));
    }
  }

  /// Returns the count of wakes, on which all members sleep.
  counter& wakes() noexcept { return wakes_; }
  /// Wakes all threads in the lane.
  void wake_all() noexcept {
    // (W19): release, pairs with (W2), like (W3).
    wakes_.fetch_add(1, std::memory_order_release);
    Platform::unpark(wakes_, UINT32_MAX);
  }

 private:
  static constexpr std::uint64_t one_claim = std::uint64_t{1} << 32;
  static std::uint64_t claims(versioned word) noexcept { return word.version / one_claim; }
  static std::uint64_t members(versioned word) noexcept { return word.version % one_claim; }

  tree_word<Platform> word_;
  counter wakes_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_OVERFLOW_LANE_HPP
