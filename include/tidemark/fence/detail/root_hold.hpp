// SPDX-License-Identifier: BSL-1.0
//
// root_hold: whether the root of a waiter heap is held at 0, so that waiters need no heavy barrier.
//
//   word_   [ round : 45 bits | trial : 4 | left : 13 | state : 2 ]
//
//   state 0 is_off    the root is what the tree says; `left` releases are missing until the next waiter begins a hold
//         1 begun     that waiter has not issued its heavy barrier yet   } refreshes of the root write 0; `left` passes
//         2 holds     other waiters rely on the hold                     } in vain end the hold
//         3 never     there will be no hold any more
//
// While the root is held, each signal takes its slow path, whose full barrier (F4) pairs with that of a waiter (F59).
// That is the better bargain where waits are about as frequent as signals: nearly every signal has to wake somebody
// anyway. Passes in vain cost far less than a heavy barrier, and each release pays for some of them.
//
// Who writes what. A waiter that has registered begins a hold (H24), refreshes the root, issues its heavy barrier, and
// lets others rely on it (H25), or gives it up if the barrier was refused (H34). A thread that has made a pass counts
// it, and ends the hold when too many were in vain (H26); or it forbids all holds (H28). Whoever ends a hold refreshes
// the root. The end of a hold begins a new round, so a waiter that was delayed can't take a later hold for its own.
//
// Why no waiter is missed. A waiter R for target t registers (w1), finds that the root is held (H23), issues its full
// barrier (F59), and looks at the value (w3). A signal S stores v >= t (s1) and reads the root (s3). The word is a
// child of the root like any other, so the argument of min_tree.hpp holds for it: once the thread that has begun the
// hold has refreshed the root, each later write of the root is 0, or has seen the end of the hold.
//
//   - s3 comes before the heavy barrier of the thread that has begun the hold: then s1 does, too, so it is visible
//     behind (H25), which (H23) has read, and w3 finds v.
//   - s3 comes later, and finds 0, as it always does where S has pinned the root: S issues its full barrier and makes a
//     pass. There are full barriers between s1 and the pass, and between w1 and w3, so the pass finds R, or w3 finds v.
//   - s3 comes later, and finds more than 0: that was written by a refresh that has seen the end of the hold (H22). R,
//     too, has read the word by (H22), when the nodes below the root were low. The end came after that, because (H23)
//     still found the hold. The refresh reads the nodes after the word, so it has seen R: s3 finds at most t - 1, and S
//     makes a pass.
//
// So R must read the word after it has registered. A waiter that does not find `holds` issues its own heavy barrier.
// To such a waiter, holds do not matter: the root is at most t - 1 after w1, whether it is held or not.
//
// The word may lie in memory that processes share (shared_heap.hpp), with (SF24) for (F59) and (SF10) for (F4). There
// the thread that has begun a hold may be killed before it has refreshed the root, or before (H25). Nobody relies on
// the hold then. The next waiter that finds it begun does what that thread has left: it reads the word by (H22),
// refreshes the root, issues its heavy barrier, and confirms. The read comes after (H24) in the single total order, so
// the refresh stands for the one of the dead thread. Whoever ends a hold and is killed before the refresh leaves a root
// of 0: the next signal makes a pass, which refreshes it.
#ifndef TIDEMARK_FENCE_DETAIL_ROOT_HOLD_HPP
#define TIDEMARK_FENCE_DETAIL_ROOT_HOLD_HPP

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace tidemark::detail {

/// When a hold begins and ends. All numbers are below 2^13.
struct hold_terms {
  std::uint32_t least_releases = 4;    ///< How many signals must have released somebody before the first hold.
  std::uint32_t most_doublings = 10;   ///< How often that number doubles at most: once for each hold that ended.
  std::uint32_t first_credit = 16;     ///< How many passes in vain end a hold,
  std::uint32_t release_credit = 16;   ///< how many more each pass adds that has released somebody,
  std::uint32_t greatest_credit = 64;  ///< and up to which sum.
};

/// The terms of a platform, which may have its own, for model checks.
template <class Platform>
constexpr hold_terms hold_terms_of() noexcept {
  if constexpr (requires { Platform::terms_of_hold; }) {
    return Platform::terms_of_hold;
  } else {
    return hold_terms{};
  }
}

/// What a root_hold was when a thread looked at it.
class hold_state {
 public:
  explicit constexpr hold_state(std::uint64_t word) noexcept : word_{word} {}
  constexpr std::uint64_t word() const noexcept { return word_; }

  /// Whether waiters may rely on the hold.
  constexpr bool holds() const noexcept { return state() == is_holding; }
  constexpr bool keeps_root_low() const noexcept { return state() == has_begun || holds(); }
  constexpr bool is_forbidden() const noexcept { return state() == is_never; }
  /// Whether the next waiter is to begin a hold.
  constexpr bool is_to_begin() const noexcept { return state() == is_off && left() == 0; }
  /// Whether it is the hold that began with `begun`, and others do not rely on it yet.
  constexpr bool is_begun_as(hold_state begun) const noexcept {
    return state() == has_begun && word_ >> round_shift == begun.word_ >> round_shift;
  }

  static constexpr hold_state first(const hold_terms& terms) noexcept { return off(0, 0, terms); }
  static constexpr hold_state never() noexcept { return hold_state{is_never}; }
  constexpr hold_state begun(const hold_terms& terms) const noexcept {
    return with_left(terms.first_credit).with_state(has_begun);
  }
  constexpr hold_state confirmed() const noexcept { return with_state(is_holding); }
  constexpr hold_state ended(const hold_terms& terms) const noexcept {
    const std::uint64_t next = trial() + 1;
    return off((word_ >> round_shift) + 1, next < terms.most_doublings ? next : terms.most_doublings, terms);
  }
  /// As if many had ended.
  constexpr hold_state given_up(const hold_terms& terms) const noexcept {
    return off((word_ >> round_shift) + 1, terms.most_doublings, terms);
  }

  /// After a pass that has released somebody. A hold with the greatest credit has proved itself: the next one comes as
  /// soon as the second.
  constexpr hold_state after_release(const hold_terms& terms) const noexcept {
    if (state() == is_off) return left() == 0 ? *this : with_left(left() - 1);
    if (!keeps_root_low()) return *this;
    const std::uint64_t more = left() + terms.release_credit;
    if (more < terms.greatest_credit) return with_left(more);
    return with_left(terms.greatest_credit).with_trial(0);
  }
  /// After a pass in vain.
  constexpr hold_state after_vain_pass(const hold_terms& terms) const noexcept {
    if (!keeps_root_low()) return *this;
    return left() <= 1 ? ended(terms) : with_left(left() - 1);
  }

  friend constexpr bool operator==(hold_state, hold_state) noexcept = default;

 private:
  static constexpr std::uint64_t is_off = 0;
  static constexpr std::uint64_t has_begun = 1;
  static constexpr std::uint64_t is_holding = 2;
  static constexpr std::uint64_t is_never = 3;
  static constexpr unsigned left_shift = 2;
  static constexpr unsigned trial_shift = 15;
  static constexpr unsigned round_shift = 19;

  static constexpr hold_state off(std::uint64_t round, std::uint64_t trial, const hold_terms& terms) noexcept {
    const std::uint64_t releases = std::uint64_t{terms.least_releases} << trial;
    return hold_state{round << round_shift | trial << trial_shift | releases << left_shift | is_off};
  }
  constexpr std::uint64_t state() const noexcept { return word_ & 3; }
  constexpr std::uint64_t left() const noexcept { return word_ >> left_shift & 0x1fff; }
  constexpr std::uint64_t trial() const noexcept { return word_ >> trial_shift & 0xf; }
  constexpr hold_state with_state(std::uint64_t state) const noexcept {
    return hold_state{(word_ & ~std::uint64_t{3}) | state};
  }
  constexpr hold_state with_left(std::uint64_t left) const noexcept {
    return hold_state{(word_ & ~(std::uint64_t{0x1fff} << left_shift)) | left << left_shift};
  }
  constexpr hold_state with_trial(std::uint64_t trial) const noexcept {
    return hold_state{(word_ & ~(std::uint64_t{0xf} << trial_shift)) | trial << trial_shift};
  }

  std::uint64_t word_;
};

/// The word. Where a function says so, the root must be refreshed afterwards.
template <class Platform>
class root_hold {
 public:
  root_hold() noexcept : word_{hold_state::first(terms).word()} {}

  /// Makes a word whose bytes are 0 what the constructor makes of it. Others may do so at the same time; 0 is harmless,
  /// too, and lets the next waiter begin a hold. Progress: wait-free.
  void prepare() noexcept {
    std::uint64_t nothing = 0;
    // (H33): relaxed alone: whatever the word is, waiters are safe; see above.
    word_.compare_exchange_strong(nothing, hold_state::first(terms).word(), std::memory_order_relaxed,
                                  std::memory_order_relaxed);
  }

  /// For refreshes of the root. Progress: wait-free.
  bool keeps_root_low() const noexcept {
    // (H22): seq_cst like (H7). The changes are (H24), (H26), (H28) and (H34).
    return hold_state{word_.load(std::memory_order_seq_cst)}.keeps_root_low();
  }

  /// For a waiter, after it has registered. Progress: wait-free.
  hold_state look() const noexcept {
    // (H23): relaxed, because (F59) follows, which makes it an acquire for (F21) (H25). It is no older than what the
    // waiter's registration has read by (H22), so the end of the hold that it finds comes after that (H22) in the
    // single total order.
    return hold_state{word_.load(std::memory_order_relaxed)};
  }

  /// Begins a hold if one is due. Returns whether it did; `seen` is then the new state, and the root must be refreshed.
  /// Progress: wait-free.
  [[gnu::cold]] bool begin(hold_state& seen) noexcept {
    if (!seen.is_to_begin()) return false;
    std::uint64_t expected = seen.word();
    const hold_state begun = seen.begun(terms);
    // (H24): seq_cst, a change of a child of the root like (H2).
    if (!word_.compare_exchange_strong(expected, begun.word(), std::memory_order_seq_cst, std::memory_order_relaxed))
      return false;
    seen = begun;
    return true;
  }

  /// Lets waiters rely on the hold that this thread has begun, after its heavy barrier, unless the hold has ended. If
  /// the word changes all the time, nobody relies on it. Progress: wait-free.
  [[gnu::cold, gnu::noinline]] void confirm(hold_state begun) noexcept {
    std::uint64_t seen = begun.word();
    for (unsigned attempt = 0; attempt < most_attempts && hold_state{seen}.is_begun_as(begun); ++attempt) {
      // (H25): relaxed, because the heavy barrier (F21) (SF11) comes before it, which makes it a release for (H23)
      // with (F59) (SF24). Not stronger: refreshes of the root do not tell the two states apart.
      if (word_.compare_exchange_strong(seen, hold_state{seen}.confirmed().word(), std::memory_order_relaxed,
                                        std::memory_order_relaxed))
        return;
    }
  }

  /// Ends the hold that this thread has begun, because its heavy barrier was refused, unless the hold has ended; the
  /// next one comes as late as one does at most. Returns whether it has, so that the root must be refreshed. Progress:
  /// wait-free.
  [[gnu::cold, gnu::noinline]] bool give_up(hold_state begun) noexcept {
    std::uint64_t seen = begun.word();
    for (unsigned attempt = 0; attempt < most_attempts && hold_state{seen}.is_begun_as(begun); ++attempt) {
      // (H34): seq_cst, like (H24).
      if (word_.compare_exchange_strong(seen, hold_state{seen}.given_up(terms).word(), std::memory_order_seq_cst,
                                        std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  /// Counts a pass. Returns whether it has ended the hold, so that the root must be refreshed. Progress: wait-free.
  [[gnu::cold, gnu::noinline]] bool count_pass(bool has_released) noexcept {
    // (H27): relaxed alone; an older word makes (H26) fail, or leaves the pass uncounted.
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (unsigned attempt = 0; attempt < most_attempts; ++attempt) {
      const hold_state before{seen};
      const hold_state after = has_released ? before.after_release(terms) : before.after_vain_pass(terms);
      if (after == before) return false;
      // (H26): seq_cst, like (H24), where it ends the hold.
      if (word_.compare_exchange_strong(seen, after.word(), std::memory_order_seq_cst, std::memory_order_relaxed))
        return before.keeps_root_low() && !after.keeps_root_low();
    }
    return false;
  }

  /// Forbids holds from now on. Returns whether that has ended one, so that the root must be refreshed. Progress:
  /// wait-free.
  bool forbid() noexcept {
    // (H29): relaxed alone: without the mark, (H28) sets it again.
    if (hold_state{word_.load(std::memory_order_relaxed)}.is_forbidden()) return false;
    // (H28): seq_cst, like (H24).
    return hold_state{word_.exchange(hold_state::never().word(), std::memory_order_seq_cst)}.keeps_root_low();
  }

 private:
  /// In memory that processes share, one of them may change the word all the time. Whoever has tried so often leaves
  /// things to others: the next pass is counted, and many passes in vain end a hold that nobody has confirmed.
  static constexpr unsigned most_attempts = 16;
  static constexpr hold_terms terms = hold_terms_of<Platform>();
  static_assert(terms.most_doublings < 16 && terms.least_releases << terms.most_doublings < 1 << 13 &&
                    terms.first_credit < 1 << 13 && terms.greatest_credit < 1 << 13,
                "these numbers do not fit into the word of a hold");

  typename Platform::template atomic<std::uint64_t> word_;
};

/// Where waiters need no heavy barrier at all. Everything in it is known to the compiler.
struct no_hold {
  static constexpr void prepare() noexcept {}
  static constexpr bool keeps_root_low() noexcept { return false; }
  static constexpr hold_state look() noexcept { return hold_state::never(); }
  static constexpr bool begin(hold_state&) noexcept { return false; }
  static constexpr void confirm(hold_state) noexcept {}
  static constexpr bool give_up(hold_state) noexcept { return false; }
  static constexpr bool count_pass(bool) noexcept { return false; }
  static constexpr bool forbid() noexcept { return false; }
};

/// What a heap has on a platform.
template <class Platform>
using hold_of = std::conditional_t<Platform::asymmetric, root_hold<Platform>, no_hold>;

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_ROOT_HOLD_HPP
