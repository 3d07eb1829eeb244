// SPDX-License-Identifier: BSL-1.0
//
// sleeping_wait: how a thread waits for a fence that has not reached its target. It spins, registers, sleeps, looks
// again when it is woken, and withdraws. fence.hpp names the steps and says why no wake-up is lost.
//
// The fence has these members, which may be private if sleeping_wait is its friend:
//
//   platform, spinning_wait   types; the second one spins, see tools/learning_spin.hpp
//   learnt()                  what the spin has learnt
//   reached_value(), is_poisoned()   looks that take no part in the handshake of a registration
//   is_over(target)           the look behind a registration
//   sleeper                   a type: the registration of the calling thread. It is made of the fence and the target
//                             (the steps w1 and w2), and its destructor withdraws. It has wakes(), park() and nudge()
//                             as a waiter heap has them, and
//                               is_early()     whether it was released and may not be due, so that it must register
//                                              again; asked before a look at the value
//                               limit(until)   until when it may sleep before it looks again, `until` at most
#ifndef TIDEMARK_FENCE_DETAIL_SLEEPING_WAIT_HPP
#define TIDEMARK_FENCE_DETAIL_SLEEPING_WAIT_HPP

#include <cstdint>
#include <type_traits>

#include "../../platform/platform.hpp"
#include "../../platform/tools/limits.hpp"

namespace tidemark::detail {

struct sleeping_wait {
  /// Waits until the target is reached, the fence is lost, the deadline has passed or the token is triggered. Returns
  /// true if it knows that the target is reached; otherwise the caller must look.
  template <class Fence, class Token>
  static bool run(const Fence& fence, std::uint64_t target, deadline until, const Token& token) noexcept {
    using platform = typename Fence::platform;
    typename Fence::spinning_wait spinning{fence.learnt()};
    const auto is_reached = [&] { return fence.reached_value() >= target; };
    if (spinning.spin(until, is_reached, [&] { return token.stop_requested() || fence.is_poisoned(); })) return true;
    if (until == no_deadline || until > platform::now()) {
      spinning.sleeps();
      // A waiter that was released before it is due registers again.
      while (register_and_sleep(fence, target, until, token, spinning) &&
             (until == no_deadline || until > platform::now())) {
      }
      spinning.wakes();
    }
    return false;
  }

  /// Returns why a wait ends now. A reached value wins over a loss, a loss over a stop, and a stop over the deadline.
  /// So it looks in the opposite order: after a stop or a loss it sees what was reached before.
  template <class Outcome, class Fence, class Token>
  static Outcome outcome(const Fence& fence, std::uint64_t target, const Token& token) noexcept {
    const bool is_stopped = token.stop_requested();
    for (bool is_lost = fence.is_poisoned();; is_lost = true) {
      if (fence.reached_value() >= target) return Outcome::reached;
      if (is_lost) return Outcome::lost;
      if (!fence.is_poisoned()) return is_stopped ? Outcome::stopped : Outcome::timeout;
    }
  }

 private:
  /// Registers, sleeps and withdraws: from w1 on. Returns whether it must be done again, because the waiter was
  /// released before the wait was over.
  template <class Fence, class Token>
  [[gnu::cold, gnu::noinline]] static bool register_and_sleep(const Fence& fence, std::uint64_t target, deadline until,
                                                              const Token& token,
                                                              typename Fence::spinning_wait& spinning) noexcept {
    typename Fence::sleeper asleep{fence, target};
    const auto nudge = [&asleep] { asleep.nudge(); };
    const typename stop_callback_for<Token, std::remove_const_t<decltype(nudge)>>::type stop_callback(token, nudge);
    for (;;) {
      const std::uint32_t seen = asleep.wakes();
      // Before the look: a waiter that was released because it is due finds the value then.
      const bool is_early = asleep.is_early();
      if (fence.is_over(target) || token.stop_requested()) return false;
      if (is_early) return true;
      const deadline limit = asleep.limit(until);
      spinning.parks();
      if (!asleep.park(seen, limit) && limit == until) return false;
    }
  }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SLEEPING_WAIT_HPP
