// SPDX-License-Identifier: BSL-1.0
//
// learning_spin: how long the waiters of a timeline look at its value before they sleep. Each wait teaches the next.
//
// A sleep costs a waiter the time from its decision to sleep to the kernel's call, and the time from a signaller's
// wake-up call to the waiter's next instruction. Both are measured: the waiter reads the clock before it parks and
// when it wakes, and a signaller notes the time before it wakes waiters. The estimate follows the lower quartile, so
// that a busy machine does not make sleeping look more expensive than it is.
//
// The same note tells how long a wait would have lasted in a spin. So a waiter learns from its sleeps, too:
//
//   - The greatest budget is three times the cost of a sleep. If two threads hand a turn back and forth and both sleep,
//     then each waits for the other one's wake-up, and for its work. A spin that is to end this state must last longer
//     than the sleep of the other thread and its work, which may take as long as a sleep.
//   - If a wait slept, and would have ended within the greatest budget, the next one gets the greatest budget.
//   - If a wait was longer than that, the budget is halved. Below a microsecond it becomes 0. So long waits,
//     which a spin can't shorten, soon cost nothing more.
//   - After a spin that has met its value, the budget moves towards four times what was needed, but no lower than the
//     cost of a sleep. So an interruption of the signaller seldom ends a series of quick waits.
//   - After three spins in a row that have failed, however long the waits were, the next waits do not spin at all and
//     learn nothing: 64 waits at first, then one tries again; after each failure twice as many, up to 4,096. If the
//     waits were short, the signallers probably have no processor to run on.
//
// Only time depends on any of this. All words are guesses, which many threads write without any order.
#ifndef TIDEMARK_FENCE_TOOLS_LEARNING_SPIN_HPP
#define TIDEMARK_FENCE_TOOLS_LEARNING_SPIN_HPP

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// What the waits of a timeline have learnt. Times are in nanoseconds.
/// \tparam Word  an atomic word of 32 bits
template <class Word>
class spin_memory {
 public:
  explicit spin_memory(std::uint32_t most) noexcept
      : most_{most}, budget_{lesser(most, first_budget)}, cost_{first_cost}, rest_{0}, woken_at_{0} {}

  /// Whether the next wait is to sleep at once, and to learn nothing.
  bool is_resting() const noexcept { return resting{read(rest_)}.waits != 0; }
  /// How long the next wait may spin.
  std::uint32_t budget() const noexcept { return read(budget_); }

  /// A wait has slept at once.
  void rested() noexcept {
    const resting rest{read(rest_)};
    if (rest.waits != 0) write(rest_, rest.without_one().word());
  }

  /// A wait whose budget was `budget` has ended in its spin, after `needed` nanoseconds.
  void met(std::uint32_t budget, std::uint32_t needed) noexcept {
    const resting rest{read(rest_)};
    if (rest.failures != 0 || rest.rests != 0) write(rest_, rest.after_success().word());
    const std::uint32_t enough = greater(multiple(needed, 4), read(cost_));
    set_budget(budget, greater(enough, budget - budget / 8));
  }

  /// A wait whose budget was `budget` has slept. In a spin it would have lasted `lasted` nanoseconds.
  void slept(std::uint32_t budget, std::uint64_t lasted) noexcept {
    if (budget != 0) write(rest_, resting{read(rest_)}.after_failure().word());
    const std::uint32_t before = read(budget_);
    const std::uint32_t half = before / 2 < least_budget ? 0 : before / 2;
    set_budget(before, lasted <= greatest_budget() ? greatest_budget() : half);
  }

  /// Notes the cost of a sleep. The estimate is the lower quartile: it falls by three steps, or rises by one.
  void cost(std::uint64_t nanoseconds) noexcept {
    const std::uint32_t known = read(cost_);
    const std::uint32_t step = known / 32 + 1;
    const std::uint32_t better = nanoseconds < known ? known - lesser(known, 3 * step) : known + step;
    write(cost_, lesser(greater(better, least_cost), most_cost));
  }

  /// A signaller is about to wake waiters.
  void waking(std::uint32_t now) noexcept { write(woken_at_, now); }
  std::uint32_t woken_at() const noexcept { return read(woken_at_); }

 private:
  static constexpr std::uint32_t first_budget = 10'000;
  static constexpr std::uint32_t least_budget = 1'000;
  static constexpr std::uint32_t first_cost = 20'000;
  static constexpr std::uint32_t least_cost = 1'000;
  static constexpr std::uint32_t most_cost = 1'000'000;

  /// How many waits are still to pass without a spin, how many spins have failed in a row, and how many rests there
  /// have been: each is twice as long as the one before.
  struct resting {
    explicit resting(std::uint32_t word) noexcept
        : waits{word & 0xffff}, failures{word >> 16 & 0xff}, rests{word >> 24} {}
    std::uint32_t word() const noexcept { return waits | failures << 16 | rests << 24; }

    resting without_one() const noexcept {
      resting next = *this;
      --next.waits;
      return next;
    }
    resting after_failure() const noexcept {
      resting next = *this;
      if (++next.failures < enough_failures) return next;
      // One more failure begins the next rest.
      next.failures = enough_failures - 1;
      next.waits = 64U << next.rests;
      next.rests = lesser(next.rests + 1, most_rests);
      return next;
    }
    resting after_success() const noexcept {
      resting next = *this;
      next.failures = 0;
      if (next.rests != 0) --next.rests;
      return next;
    }

    static constexpr std::uint32_t enough_failures = 3;
    static constexpr std::uint32_t most_rests = 6;
    std::uint32_t waits;
    std::uint32_t failures;
    std::uint32_t rests;
  };

  // Without <algorithm>, which has more lines than all that this header needs.
  static constexpr std::uint32_t lesser(std::uint32_t a, std::uint32_t b) noexcept { return a < b ? a : b; }
  static constexpr std::uint32_t greater(std::uint32_t a, std::uint32_t b) noexcept { return a < b ? b : a; }
  static constexpr std::uint32_t multiple(std::uint32_t value, std::uint32_t by) noexcept {
    return value > UINT32_MAX / by ? UINT32_MAX : value * by;
  }

  std::uint32_t greatest_budget() const noexcept { return lesser(most_, multiple(read(cost_), 3)); }
  /// Left out if nothing changes, so that the line stays shared.
  void set_budget(std::uint32_t before, std::uint32_t better) noexcept {
    const std::uint32_t bounded = lesser(better, greatest_budget());
    if (bounded != before) write(budget_, bounded);
  }

  static std::uint32_t read(const Word& word) noexcept {
    // (F13): relaxed alone: a guess, on which nothing but time depends.
    return word.load(std::memory_order_relaxed);
  }
  static void write(Word& word, std::uint32_t value) noexcept {
    // (F14): relaxed alone, like (F13). What another thread writes at the same time may get lost.
    word.store(value, std::memory_order_relaxed);
  }

  std::uint32_t most_;
  Word budget_;
  Word cost_;
  Word rest_;
  Word woken_at_;
};

inline std::uint64_t nanoseconds_between(deadline from, deadline to) noexcept {
  const auto between = std::chrono::nanoseconds{to - from}.count();
  return between < 0 ? 0 : static_cast<std::uint64_t>(between);
}
/// The time in nanoseconds; it wraps around after 4.3 seconds.
inline std::uint32_t wrapping_nanoseconds(deadline time) noexcept {
  return static_cast<std::uint32_t>(std::chrono::nanoseconds{time.time_since_epoch()}.count());
}

/// One wait: it spins, and if that was in vain, it sleeps. Both teach the memory.
template <platform Platform>
class spinning_wait {
 public:
  using memory = spin_memory<typename Platform::template atomic<std::uint32_t>>;

  /// \param learnt  null for a wait that neither spins nor learns
  explicit spinning_wait(memory* learnt) noexcept
      : memory_{learnt != nullptr && !learnt->is_resting() ? learnt : nullptr}, resting_{learnt} {}

  /// Looks until the wait is over, until the budget is spent or the deadline has passed, or until `gives_up()`. Returns
  /// whether the wait is over.
  template <class Look, class GiveUp>
  bool spin(deadline until, const Look& is_over, const GiveUp& gives_up) noexcept {
    if (memory_ == nullptr) return false;
    budget_ = memory_->budget();
    if (budget_ == 0) return false;
    // Most hand-overs end here, without a look at the clock.
    for (unsigned looks = 0; looks < quick_looks(); ++looks) {
      Platform::pause();
      if (is_over()) return met(0);
    }
    if constexpr (has_running_clock) {
      began_ = Platform::now();
      const deadline spent = began_ + std::chrono::nanoseconds{budget_};
      const deadline end = until < spent ? until : spent;
      std::uint32_t paused = 0;
      // A pause takes a nanosecond at least. This bound is for a platform whose clock stands still.
      for (deadline now = began_; now < end && paused <= budget_ && !gives_up(); now = Platform::now()) {
        const std::uint32_t pauses = paused < part_of_wait ? 1 : std::bit_floor(paused / part_of_wait);
        for (std::uint32_t round = 0; round < pauses_per_time; round += pauses, paused += pauses) {
          for (std::uint32_t i = 0; i < pauses; ++i) Platform::pause();
          if (is_over()) return met(nanoseconds_between(began_, now));
        }
      }
    }
    return false;
  }

  /// The waiter has decided to sleep.
  void sleeps() noexcept {
    if (memory_ == nullptr) return;
    decided_ = Platform::now();
    if (budget_ == 0) began_ = decided_;
  }

  /// The waiter is about to park, for the first time or again.
  void parks() noexcept {
    if (memory_ == nullptr) return;
    parked_ = Platform::now();
    has_parked_ = true;
  }

  /// The waiter has slept, and its wait is over. `woken_at(now)` returns when a signaller last woke waiters.
  template <class WokenAt>
  void wakes(const WokenAt& woken_at) noexcept {
    if (memory_ == nullptr) {
      if (resting_ != nullptr) resting_->rested();
      return;
    }
    const deadline now = Platform::now();
    std::uint64_t lasted = nanoseconds_between(began_, now);
    // A note from before this waiter parked belongs to another wait. After a second, it may have wrapped around.
    if (has_parked_ && lasted < longest_measured) {
      const std::uint32_t this_moment = wrapping_nanoseconds(now);
      const std::uint32_t since_woken = this_moment - woken_at(this_moment);
      if (since_woken <= nanoseconds_between(parked_, now)) {
        memory_->cost(nanoseconds_between(decided_, parked_) + since_woken);
        lasted -= since_woken;
      }
    }
    memory_->slept(budget_, lasted);
  }
  void wakes() noexcept {
    wakes([this](std::uint32_t) { return memory_->woken_at(); });
  }

 private:
  /// Each look takes the line of the value away from the signaller. So the time between two looks grows with the wait:
  /// it is at most this part of it.
  static constexpr std::uint32_t part_of_wait = 16;
  static constexpr std::uint32_t pauses_per_time = 32;  // between two readings of the clock; also after each look
  static constexpr std::uint64_t longest_measured = 1'000'000'000;

  /// Under a model checker, whose clock stands still, the platform says how often a waiter looks.
  static constexpr bool has_running_clock = !requires { Platform::spin_looks(); };
  static unsigned quick_looks() noexcept {
    if constexpr (has_running_clock) {
      return 16;
    } else {
      return Platform::spin_looks();
    }
  }

  bool met(std::uint64_t needed) noexcept {
    memory_->met(budget_, needed < UINT32_MAX ? static_cast<std::uint32_t>(needed) : UINT32_MAX);
    return true;
  }

  memory* memory_;   // null if this wait learns nothing
  memory* resting_;  // null if no wait of its timeline does
  std::uint32_t budget_ = 0;
  bool has_parked_ = false;
  deadline began_{};
  deadline decided_{};
  deadline parked_{};
};

/// The spin of the waiters of one timeline.
/// \tparam Most  the greatest budget in nanoseconds; 0 for waiters that never spin
template <platform Platform, std::uint32_t Most>
class learning_spin {
 public:
  using wait = spinning_wait<Platform>;

  typename wait::memory* memory() noexcept { return &memory_; }
  /// A signaller is about to wake waiters.
  void waking() noexcept {
    if (!memory_.is_resting()) memory_.waking(wrapping_nanoseconds(Platform::now()));
  }

 private:
  typename wait::memory memory_{Most};
};

template <platform Platform>
class learning_spin<Platform, 0> {
 public:
  /// A spinning_wait without a memory, of which nothing remains in the code.
  struct wait {
    constexpr explicit wait(void*) noexcept {}
    template <class Look, class GiveUp>
    static constexpr bool spin(deadline, const Look&, const GiveUp&) noexcept {
      return false;
    }
    static constexpr void sleeps() noexcept {}
    static constexpr void parks() noexcept {}
    static constexpr void wakes() noexcept {}
  };

  static constexpr typename spinning_wait<Platform>::memory* memory() noexcept { return nullptr; }
  static constexpr void waking() noexcept {}
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_TOOLS_LEARNING_SPIN_HPP
