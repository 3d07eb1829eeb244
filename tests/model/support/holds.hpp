// SPDX-License-Identifier: BSL-1.0
//
// What the checks of holds of the root (fence/detail/root_hold.hpp) have together: terms as small as a check needs
// them.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_HOLDS_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_HOLDS_HPP

#include "model_check.hpp"

#include <tidemark/fence/detail/root_hold.hpp>

#include <cstdint>

namespace model {

using tidemark::detail::hold_terms;

template <hold_terms Terms, class Base = tidemark::TIDEMARK_MODEL_PLATFORM>
struct holding : Base {
  static constexpr hold_terms terms_of_hold = Terms;
};

/// Each waiter that finds no hold begins one, and one pass in vain ends it.
constexpr hold_terms at_once{
    .least_releases = 0, .most_doublings = 0, .first_credit = 1, .release_credit = 1, .greatest_credit = 2};
/// The same, but no pass of a check ends it.
constexpr hold_terms at_once_and_for_long{
    .least_releases = 0, .most_doublings = 0, .first_credit = 9, .release_credit = 1, .greatest_credit = 9};
/// One pass in vain ends a hold, and one release must come before the next.
constexpr hold_terms after_one_release{
    .least_releases = 1, .most_doublings = 0, .first_credit = 1, .release_credit = 1, .greatest_credit = 2};

/// Begins a hold, as a waiter of an earlier time.
template <class Heap>
void begin_hold(Heap& heap) {
  if (!heap.hold().is_to_begin()) heap.count_pass(true);
  tidemark::detail::hold_state hold = heap.hold();
  if (heap.begin_hold(hold)) heap.finish_beginning(hold, true);
}

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_HOLDS_HPP
