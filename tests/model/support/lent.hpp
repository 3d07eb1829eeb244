// SPDX-License-Identifier: BSL-1.0
//
// Checks of threads that wait for what other threads have: the same for every block that lends memory. A subject is a
// block of which all pieces are lent when the threads begin:
//
//   lent::finished                    the timeline, with the heap of the check's shape
//   lent::give(which)                 writes a piece and gives it back; nothing else uses it
//   lent::retire(which, until)        gives it back, in use until that value
//   lent::ask(pieces, limits...)      maps so many pieces with a form that waits, writes them, and gives them back
//
// Each wait that gets its memory writes plain fields, so that a piece which comes without its synchronization is a
// race. A waiter that nobody wakes is a deadlock, which the checker reports.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_LENT_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_LENT_HPP

#include "progress.hpp"
#include "waiting.hpp"

#include <concepts>
#include <cstddef>

namespace model {

using tidemark::wait_status;

/// Returns how a wait for memory ended: `reached` if it got the memory.
template <class Result>
wait_status end_of(const Result& result) {
  using status = decltype(result.status);
  if (result) return wait_status::reached;
  if (result.status == status::timeout) return wait_status::timeout;
  if (result.status == status::stopped) return wait_status::stopped;
  MODEL_REQUIRE(result.status == status::lost);
  return wait_status::lost;
}

template <class... Limits>
inline constexpr bool has_deadline = (std::same_as<Limits, tidemark::deadline> || ...);

/// A piece comes back.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
struct given_back : suite<2>, Lent<1, Shape> {
  void thread(unsigned index) { index == 0 ? this->give(0) : MODEL_REQUIRE(this->ask(1) == wait_status::reached); }
  void after() { require_idle(this->finished); }
};

/// One piece comes back, and two threads wait for it. The second of them gets it from the first.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
struct given_to_two : suite<3>, Lent<1, Shape> {
  void thread(unsigned index) { index == 0 ? this->give(0) : MODEL_REQUIRE(this->ask(1) == wait_status::reached); }
  void after() { require_idle(this->finished); }
};

/// A piece comes back that the executor uses, and then another one, which nobody uses. The waiter gets that one,
/// although the executor never finishes.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
struct given_after_retire : suite<2>, Lent<2, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->retire(0, 1);
      this->give(1);
    } else {
      MODEL_REQUIRE(this->ask(1) == wait_status::reached);
    }
  }
  void after() {
    require_idle(this->finished);
    this->finished.signal(1);
  }
};

/// A waiter needs two pieces, which two threads give back.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
struct given_by_two : suite<3>, Lent<2, Shape> {
  void thread(unsigned index) { index < 2 ? this->give(index) : MODEL_REQUIRE(this->ask(2) == wait_status::reached); }
  void after() { require_idle(this->finished); }
};

/// A waiter needs two pieces and another one needs one. One piece comes back: the second waiter gets it, and the first
/// one waits until its deadline. Both have slots, because in the lane the checker's time would stand still.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
struct given_to_one_of_two : suite<3>, Lent<2, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->give(0);
    } else if (index == 1) {
      MODEL_REQUIRE(this->ask(2, some_time) == wait_status::timeout);
    } else {
      MODEL_REQUIRE(this->ask(1) == wait_status::reached);
    }
  }
  void after() { require_idle(this->finished); }
};

/// The deadline may pass before a piece comes back that is in use then.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
struct given_or_late : suite<2>, Lent<1, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->retire(0, 1);
      this->finished.signal(1);
    } else {
      const wait_status end = this->ask(1, some_time);
      MODEL_REQUIRE(end == wait_status::reached || end == wait_status::timeout);
    }
  }
  void after() {
    require_idle(this->finished);
    MODEL_REQUIRE(this->ask(1) == wait_status::reached);
  }
};

/// A stop ends the wait. What came back before the stop is found, though.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape, bool GivenBefore>
struct stopped_alone_or_after : suite<2>, Lent<1, Shape> {
  stop_source<platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      if (GivenBefore) this->give(0);
      source.request_stop();
    } else {
      const auto expected = GivenBefore ? wait_status::reached : wait_status::stopped;
      MODEL_REQUIRE(this->ask(1, typename stop_source<platform>::token{source}) == expected);
    }
  }
  void after() { require_idle(this->finished); }
};
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
using given_then_stopped = stopped_alone_or_after<Lent, Shape, true>;
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
using stopped_while_lent = stopped_alone_or_after<Lent, Shape, false>;

/// The loss of the timeline ends the wait, because nobody gives anything back.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
struct lost_while_lent : suite<2>, Lent<1, Shape> {
  void thread(unsigned index) {
    index == 0 ? this->finished.poison() : MODEL_REQUIRE(this->ask(1) == wait_status::lost);
  }
  void after() { require_idle_after_poison(this->finished); }
};

/// The piece comes back in use, and then the timeline is lost: so it is not in use.
template <template <std::size_t, heap_shape> class Lent, heap_shape Shape>
struct retired_then_lost : suite<2>, Lent<1, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->retire(0, 1);
      this->finished.poison();
    } else {
      MODEL_REQUIRE(this->ask(1) == wait_status::reached);
    }
  }
  void after() { require_idle_after_poison(this->finished); }
};

/// Adds the checks on each shape that make sense for every block.
template <template <std::size_t, heap_shape> class Lent>
struct lent_checks {
  template <heap_shape Shape>
  using given_back = model::given_back<Lent, Shape>;
  template <heap_shape Shape>
  using given_to_two = model::given_to_two<Lent, Shape>;
  template <heap_shape Shape>
  using given_or_late = model::given_or_late<Lent, Shape>;
  template <heap_shape Shape>
  using given_then_stopped = model::given_then_stopped<Lent, Shape>;
  template <heap_shape Shape>
  using stopped_while_lent = model::stopped_while_lent<Lent, Shape>;
  template <heap_shape Shape>
  using lost_while_lent = model::lost_while_lent<Lent, Shape>;
  template <heap_shape Shape>
  using retired_then_lost = model::retired_then_lost<Lent, Shape>;

  static void add(std::vector<check>& checks) {
    add_on_shapes<given_back, one_slot, "given_back">(checks);
    add_on_shapes<given_to_two, two_slots, "given_to_two">(checks);
    add_on_shapes<given_or_late, one_slot, "given_or_late">(checks);
    add_on_shapes<given_then_stopped, one_slot, "given_then_stopped">(checks);
    add_on_shapes<stopped_while_lent, one_slot, "stopped_while_lent">(checks);
    add_on_shapes<lost_while_lent, one_slot, "lost_while_lent">(checks);
    add_on_shapes<retired_then_lost, one_slot, "retired_then_lost">(checks);
  }
};

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_LENT_HPP
