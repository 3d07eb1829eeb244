// SPDX-License-Identifier: BSL-1.0
//
// value_steps: what a signal does with the two words that it touches: the value of its fence, and the root of the heap
// of waiters. fence.hpp names the steps s1, s2 and s3, and says why no wake-up is lost.
#ifndef TIDEMARK_FENCE_DETAIL_VALUE_STEPS_HPP
#define TIDEMARK_FENCE_DETAIL_VALUE_STEPS_HPP

#include <atomic>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <class Platform>
struct value_steps {
  using word = typename Platform::template atomic<std::uint64_t>;
  using root = typename Platform::double_word;

  /// The orders of s1 and s3. In the symmetric form all four accesses are in a single total order. In the asymmetric
  /// form the barriers order them, and s1 is a release for what it hands over.
  static constexpr auto publish_order = Platform::asymmetric ? std::memory_order_release : std::memory_order_seq_cst;
  static constexpr auto monitor_order = Platform::asymmetric ? std::memory_order_relaxed : std::memory_order_seq_cst;

  /// Does s1 where any thread may signal: the greatest value wins. Returns false if the value is not above the current
  /// one.
  static bool raise(word& current, std::uint64_t value) noexcept {
    // (F15): relaxed alone; a value that is too old only makes (F1) fail, which reads it again.
    std::uint64_t seen = current.load(std::memory_order_relaxed);
    do {
      if (value <= seen) return false;
      // (F1): s1; release half for (F3) (F5), and, as (F19) and (F20), for (SF9) (SF12) (SL28) (SL50) of other fences;
      // in the symmetric form seq_cst, for the handshake with (F2) (SL8) and (F3) (SF12).
    } while (!current.compare_exchange_weak(seen, value, publish_order, std::memory_order_relaxed));
    return true;
  }
  /// Does s1 where any thread may signal, by one. Returns the value before.
  static std::uint64_t raise_by_one(word& current) noexcept {
    // (F16): s1 like (F1), pairs with (F3) and (F5).
    return current.fetch_add(1, publish_order);
  }
  /// Does s1 of the one signaller.
  static void store(word& current, std::uint64_t value) noexcept {
    if constexpr (Platform::asymmetric) {
      // (F19): s1; release for (F3) and (F5). Not stronger: (G1) and (G2) do the rest.
      current.store(value, std::memory_order_release);
    } else {
      // (F20): s1; seq_cst as (F1) and for the same. An exchange costs less than a store and a fence.
      current.exchange(value, std::memory_order_seq_cst);
    }
  }

  /// Does s2.
  static void keep_look_behind_value() noexcept {
    // (F22): the frequent side of (F21) (SF11); natively this is (G1). Without it, the compiler may move (F2), (F58),
    // (SH1) and (SL8) before (F1). A stronger barrier is what the asymmetric form exists to avoid.
    Platform::light_barrier();
  }
  /// Does s2 and s3, after s1 with `value`. Returns whether a waiter may be due.
  static bool has_due(const root& monitored, std::uint64_t value) noexcept {
    keep_look_behind_value();
    // (F2): s3; seq_cst in the symmetric form, where relaxed or acquire loses wake-ups; relaxed in the asymmetric form,
    // where (G1) and (G2) order it after (F1).
    return monitored.is_below(value, monitor_order);
  }
  /// Does s2 and s3 after s1 with `before` + 1. Returns whether a waiter may be due, or `before` was the last value.
  static bool is_next_due(const root& monitored, std::uint64_t before) noexcept {
    keep_look_behind_value();
    // (F58): s3, like (F2). Compared with `before`, which finds the end of the values, too, and costs a signal nothing.
    return monitored.is_at_most(before, monitor_order);
  }

  /// Returns what a pass over the heap asks for the value.
  static auto value_for_pass(const word& current) noexcept {
    return [&current] {
      // (F8): relaxed; it reads the signaller's (F1) or a later value. The waiter that is released because of it sees
      // it, too: (W4) and (W19) are releases for its (W2), and (SF3) is one for (SF4), as (H3) and (H15) are for its
      // (H3), (H4), (H14) and (H21).
      return current.load(std::memory_order_relaxed);
    };
  }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_VALUE_STEPS_HPP
