// SPDX-License-Identifier: BSL-1.0
//
// loop_runner: how threads run a loop that watches descriptors of the program's.
//
//   watch   [ watches | a thread that runs the loop sleeps outside : 1 ]
//
// While there is a watch, one of the threads that run the loop leaves it and sleeps outside (outside_sleep), where the
// descriptors wake it, too. The others sleep on the loop's word. Several threads outside would not do: the first one
// that comes back takes away what the wake-up of another one was.
//
// When the thread outside has woken up, and when the first watch begins, a thread that sleeps on the word is woken and
// takes that place.
#ifndef TIDEMARK_LOOP_DETAIL_LOOP_RUNNER_HPP
#define TIDEMARK_LOOP_DETAIL_LOOP_RUNNER_HPP

#include <atomic>
#include <cstdint>

#include "../../platform/assert.hpp"
#include "../../platform/tools/limits.hpp"
#include "../tools/loop_operation.hpp"

namespace tidemark::detail {

/// All functions must be called with the loop's lock.
/// \tparam Core  the loop's
template <class Core>
class loop_runner {
 public:
  using platform = typename Core::platform;
  using keeper = typename Core::keeper;

  explicit loop_runner(Core& of) noexcept : core_{of} {}

  /// A watch begins. The loop must have an outside sleep by then, which the descriptor wakes.
  void begin_watch() noexcept {
    change(one_watch);
    core_.wake_all();
  }
  void end_watch() noexcept { change(0U - one_watch); }
  /// Whether a thread that runs the loop sleeps outside.
  bool has_sleeper() const noexcept { return (look() & sleeper) != 0; }

  /// Runs what is ready, and then leaves the loop, even if a callable throws.
  template <class Token, class GoesOn>
  loop_end run_ready(const Token& token, keeper& kept, const GoesOn& goes_on) {
    call here(core_, kept);
    return may_run(here) ? run_ready(here, token, kept, goes_on) : loop_end::stopped;
  }

  /// Does what the core's run() does, and sleeps outside where that is needed.
  template <class Token, class GoesOn>
  loop_end run(deadline until, const Token& token, keeper& kept, const GoesOn& goes_on) {
    // Ends a sleep on the loop's word, too, if the place outside is free.
    struct stop_or_place {
      bool stop_requested() const noexcept { return token.stop_requested() || of.needs_sleeper(); }
      const Token& token;
      const loop_runner& of;
    };
    const auto is_late = [&] { return until != no_deadline && platform::now() >= until; };
    call here(core_, kept);
    if (!may_run(here)) return loop_end::stopped;
    for (;;) {
      if (!needs_sleeper()) {
        const loop_end end = core_.run(here, until, stop_or_place{token, *this}, kept, goes_on);
        if (end != loop_end::stopped || core_.is_stopped() || token.stop_requested()) return end;
        continue;
      }
      bool has_more = true;
      const loop_end end = run_ready(here, token, kept, [&] {
        has_more = goes_on();
        return has_more && (until == at_once || !is_late());
      });
      if (end == loop_end::ran) return has_more ? loop_end::timeout : end;
      // The token once more: a stop that comes after this thread has left the loop ends its sleep.
      if (end == loop_end::stopped || token.stop_requested()) return loop_end::stopped;
      if (is_late()) return loop_end::timeout;
      // Another thread may have taken the place while this one ran something.
      if (!has_sleeper()) sleep(until, kept);
    }
  }

 private:
  using call = typename Core::call;

  static constexpr std::uint32_t sleeper = 1;
  static constexpr std::uint32_t one_watch = 2;

  static bool may_run(const call& here) noexcept {
    TIDEMARK_ASSERT(!here.is_within_alone(), "a command of an engine-wide run ran the loop of the engine");
    return !here.is_within_alone();
  }
  template <class Token, class GoesOn>
  loop_end run_ready(call& here, const Token& token, keeper& kept, const GoesOn& goes_on) {
    struct leaving {
      ~leaving() { of.leave(); }
      Core& of;
    };
    // The thread that sleeps outside is the one to notify.
    if (has_sleeper()) return core_.run(here, at_once, token, kept, goes_on);
    core_.come_back();
    const leaving at_the_end{core_};
    return core_.run(here, at_once, token, kept, goes_on);
  }
  void sleep(deadline until, keeper& kept) noexcept {
    change(sleeper);
    {
      const typename keeper::without lock(kept);
      core_.outside()->sleep(until, platform::now());
    }
    change(0U - sleeper);
    core_.nudge();
  }

  std::uint32_t look() const noexcept {
    // (Y18): relaxed alone: the lock orders it. Only a thread that spins looks without the lock, and it looks again
    // with the lock before it sleeps.
    return watch_.load(std::memory_order_relaxed);
  }
  void change(std::uint32_t by) noexcept {
    // (Y19): relaxed alone, like (Y18).
    watch_.fetch_add(by, std::memory_order_relaxed);
  }
  bool needs_sleeper() const noexcept {
    const std::uint32_t now = look();
    return now >= one_watch && (now & sleeper) == 0;
  }

  Core& core_;
  typename platform::template atomic<std::uint32_t> watch_{0};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOOP_DETAIL_LOOP_RUNNER_HPP
