// SPDX-License-Identifier: BSL-1.0
//
// loop_registrations: what a loop awaits, and which of that is registered with fences. It looks at the values of the
// timelines that are watched, and on request registers the least wait of each with its fence. The signaller to which
// that one is due releases it: it pushes it on a stack, and then wakes the loop (loop_core.hpp).
//
// The loop's lock protects all but push_released() and has_released().
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_REGISTRATIONS_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_REGISTRATIONS_HPP

#include <cstdint>

#include "../../platform/platform.hpp"
#include "fence_operations.hpp"
#include "loop_timelines.hpp"
#include "push_stack.hpp"

namespace tidemark::detail {

/// The functions that find waits to be over call `on_over` with the least wait of each timeline for which that is so.
/// That one and all to which `links.later` leads are over, and have been removed. `on_over` may remove other waits.
/// \tparam Wait  a loop_wait
template <platform Platform, class Wait>
class loop_registrations {
 public:
  void insert(Wait& added) noexcept {
    timelines_.insert(added, [this](Wait& least) { disarm(least); });
  }
  void remove(Wait& removed) noexcept {
    timelines_.remove(removed, [this](Wait& least) { disarm(least); });
  }
  /// Removes all, and calls `act` for each, which must not add or remove any.
  template <class Act>
  void clear(const Act& act) noexcept {
    while (Wait* const least = timelines_.armed().first()) {
      end_registration(*least);
      timelines_.move(*least, timelines_.watched());
    }
    take_released();
    timelines_.clear(act);
  }

  /// For the signaller that releases the wait.
  void push_released(Wait& released) noexcept { released_.push(released, released.next_released); }
  /// Whether something was released, perhaps by this thread, that nobody has taken. Needs no lock.
  bool has_released() const noexcept { return !released_.is_empty(); }
  /// Ends the registrations that were released, and watches their timelines.
  void take_released() noexcept {
    Wait* rest = released_.take();
    while (rest != nullptr) {
      Wait* const next = rest->next_released.load();
      // It may have been withdrawn since.
      if (rest->ticket) {
        end_registration(*rest);
        timelines_.move(*rest, timelines_.watched());
      }
      rest = next;
    }
  }

  /// Looks at the value of each timeline that is not registered.
  template <class OnOver>
  void look(const OnOver& on_over) noexcept {
    list over;
    list stale;
    look_at(timelines_.watched(), over, &stale);
    look_at(timelines_.refused(), over, nullptr);
    if (!stale.is_empty()) arm_all(stale, on_over);
    while (Wait* const least = over.take()) on_over(*least);
  }
  /// Registers the least wait of each timeline that is not registered.
  template <class OnOver>
  void arm(const OnOver& on_over) noexcept {
    while (Wait* const least = timelines_.refused().first()) timelines_.move(*least, timelines_.watched());
    // What was over may have been the least wait of its timeline. Then that is watched again.
    while (!timelines_.watched().is_empty()) arm_all(timelines_.watched(), on_over);
  }
  /// Whether there is a timeline that is not registered.
  bool has_unregistered() noexcept { return !timelines_.watched().is_empty() || !timelines_.refused().is_empty(); }
  /// Returns whether a fence has refused a registration, so that the loop must look at its value again soon.
  bool must_look_again() noexcept { return !timelines_.refused().is_empty(); }

 private:
  using list = typename loop_timelines<Wait>::list;

  /// A loop that is never idle looks again and again. After this number of looks, a registration costs less than they
  /// did.
  static constexpr std::uint32_t most_looks = 4096;

  /// Ends the registration of a wait. Returns whether it was withdrawn before it was released.
  static bool end_registration(Wait& least) noexcept {
    const bool is_withdrawn = least.to.withdraw(*least.ticket);
    least.ticket.reset();
    return is_withdrawn;
  }
  /// Does the same, and takes the wait off the stack on which its signaller has put it. Its owner may destroy it then.
  void disarm(Wait& least) noexcept {
    if (!end_registration(least)) take_released();
  }

  /// \param stale  gets the timelines that were looked at too often, if it is not null
  void look_at(list& those, list& over, list* stale) noexcept {
    for (Wait* least = those.first(); least != nullptr;) {
      Wait* const next = least->next;
      const fence_state now = least->to.look();
      if (now.is_over(least->to.target)) {
        over.push(timelines_.take_over(*least, now));
      } else if (stale != nullptr && ++least->looks >= most_looks) {
        timelines_.move(*least, *stale);
      }
      least = next;
    }
  }
  template <class OnOver>
  void take_over(Wait& least, const OnOver& on_over) noexcept {
    on_over(timelines_.take_over(least, least.to.look()));
  }

  template <class OnOver>
  void arm_all(list& those, const OnOver& on_over) noexcept {
    list added;
    bool is_asymmetric = false;
    while (Wait* const least = those.first()) {
      // A target of 0 can't be registered.
      if (least->to.is_over()) {
        take_over(*least, on_over);
        continue;
      }
      auto ticket = least->to.add(least);
      // The lane would not call the waker.
      if (ticket.is_in_lane()) {
        static_cast<void>(least->to.withdraw(ticket));
        timelines_.move(*least, timelines_.refused());
        continue;
      }
      least->ticket = ticket;
      is_asymmetric = is_asymmetric || least->to.operations->is_asymmetric;
      timelines_.move(*least, added);
    }
    if (added.is_empty()) return;
    // (Y10): w2 of all these timelines at once. For each of them it is what (F21) is for one: between (H2) (H8) and
    // (F3), against (F22). If it is refused, a signaller may miss the registrations that rely on it.
    const bool is_ordered = !is_asymmetric || Platform::heavy_barrier();
    while (Wait* const least = added.first()) {
      timelines_.move(*least, timelines_.armed());
      const bool is_over = least->to.is_over();
      if (!is_over && (is_ordered || !least->to.needs_barrier())) continue;
      disarm(*least);
      timelines_.move(*least, is_over ? timelines_.watched() : timelines_.refused());
      if (is_over) take_over(*least, on_over);
    }
  }

  loop_timelines<Wait> timelines_;
  push_stack<Platform, Wait> released_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_REGISTRATIONS_HPP
