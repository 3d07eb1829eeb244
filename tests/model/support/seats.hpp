// SPDX-License-Identifier: BSL-1.0
//
// The shapes of a fence's heap that its users have, for checks of what stands on one: one level and two, with the overflow
// lane occupied and not, and with a waiter that finds no slot.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_SEATS_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_SEATS_HPP

#include "model_check.hpp"

#include <tidemark/fence.hpp>

#include <cstdint>
#include <vector>

namespace model {

enum class shape {
  one_level,      ///< a slot and the lane below the root
  two_levels,     ///< three slots and the lane, in two pairs
  lane_occupied,  ///< the same, and somebody sits in the lane for ever, so that every signal is due
  all_taken,      ///< the same, all slots are taken for ever: who comes joins the lane
};

template <shape Shape>
inline constexpr tidemark::fence_options options_for{
    .capacity = Shape == shape::one_level ? 1 : 3, .arity = 2, .max_spins = 0};

/// What the specialization below is named by.
template <class Timeline>
struct seats_of {};

}  // namespace model

namespace tidemark {

/// Reaches the heap of a fence, whose friends the views are.
template <class Timeline>
class basic_fence_view<model::seats_of<Timeline>> {
 public:
  static waiter_ticket take(const Timeline& timeline, std::uint64_t target) { return timeline.heap().add(target); }
  static void leave(const Timeline& timeline, const waiter_ticket& ticket) { timeline.heap().withdraw(ticket); }
};

}  // namespace tidemark

namespace model {

/// Brings a new fence into its shape. Those who sit there wait for more than any check signals.
template <shape Shape, class Timeline>
void take_seats(const Timeline& timeline) {
  using seats = tidemark::basic_fence_view<seats_of<Timeline>>;
  if constexpr (Shape == shape::lane_occupied || Shape == shape::all_taken) {
    std::vector<tidemark::waiter_ticket> slots;
    for (;;) {
      const tidemark::waiter_ticket one = seats::take(timeline, 100);
      if (!one.is_in_lane()) {
        slots.push_back(one);
        continue;
      }
      if (Shape == shape::all_taken) return seats::leave(timeline, one);
      for (const auto& slot : slots) seats::leave(timeline, slot);
      return;
    }
  }
}

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_SEATS_HPP
