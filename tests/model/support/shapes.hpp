// SPDX-License-Identifier: BSL-1.0
//
// The heaps on which checks of waits run. A check proves no more than its shape: on a heap of one slot, a hub was
// proved that lost wake-ups on a heap of two levels. So each check of a heap runs on all of these shapes.
//
//   one_slot      one level, no other waiter
//   two_levels    an inner node between the leaves and the root
//   in_lane       two levels, and every slot is taken, so that the waiters of the check share the overflow lane
//   beside_lane   two levels, and another waiter stays in the overflow lane
//   grown         the only slot of the first block is taken, and the heap has grown by a block of two slots, which the
//                 waiters of the check take; if there are more, it grows again
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_SHAPES_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_SHAPES_HPP

#include "model_check.hpp"

#include <tidemark/fence/fence.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace model {

struct heap_shape {
  std::size_t capacity = 1;
  std::size_t arity = 2;
  std::size_t bystanders = 0;     ///< Slots of other waiters, for a value that is never signalled.
  bool lane_is_occupied = false;  ///< One such waiter is in the lane.
  tidemark::heap_growth growth = tidemark::heap_growth::forbidden;
  bool has_grown = false;  ///< By a block of twice as many slots.
};

inline constexpr heap_shape one_slot{};
inline constexpr heap_shape two_slots{.capacity = 2};
/// For checks with an arity of 4 on one level.
inline constexpr heap_shape three_slots{.capacity = 3, .arity = 4};
inline constexpr heap_shape two_levels{.capacity = 3};
inline constexpr heap_shape in_lane{.capacity = 3, .bystanders = 3};
inline constexpr heap_shape beside_lane{.capacity = 3, .lane_is_occupied = true};
inline constexpr heap_shape grown{.bystanders = 1, .growth = tidemark::heap_growth::allowed, .has_grown = true};
/// The heap grows when the first waiter of the check comes.
inline constexpr heap_shape growing{.bystanders = 1, .growth = tidemark::heap_growth::allowed};
/// Two levels with one free slot: of two waiters, one shares the lane.
inline constexpr heap_shape one_free{.capacity = 3, .bystanders = 2};

/// The target of the bystanders.
inline constexpr std::uint64_t never_signalled = 1000;

/// Whether waiters may spin. The platform says how often they look then.
enum class spins : std::uint32_t { never = 0, before_they_sleep = 1 };

/// A platform on which a spin looks as often as the checker decides, whatever was learnt.
template <class Platform>
struct any_looks : Platform {
  static unsigned spin_looks() { return tidemark::verify::engine::choose(4); }
};

/// The options of a fence of this shape.
constexpr tidemark::fence_options options_of(heap_shape shape, spins spin = spins::never, bool statistics = false) {
  return {.capacity = shape.capacity,
          .arity = shape.arity,
          .growth = shape.growth,
          .max_spin_ns = static_cast<std::uint32_t>(spin),
          .statistics = statistics};
}
/// The same for a fence whose signallers run callables.
constexpr tidemark::fence_options options_with_callbacks(heap_shape shape) {
  tidemark::fence_options options = options_of(shape);
  options.callbacks = true;
  return options;
}

/// Registers the bystanders of a shape.
template <heap_shape Shape, class Heap>
void register_bystanders(Heap& heap) {
  static_assert(Shape.bystanders == 0 || !Shape.lane_is_occupied);
  for (std::size_t i = 0; i < Shape.bystanders; ++i) static_cast<void>(heap.add(never_signalled));
  // Waiters that come and go leave a larger block behind.
  if (Shape.has_grown) {
    std::vector<tidemark::waiter_ticket> tickets;
    for (std::size_t i = Shape.bystanders; i <= Shape.capacity; ++i) tickets.push_back(heap.add(never_signalled));
    for (const tidemark::waiter_ticket& ticket : tickets) heap.withdraw(ticket);
  }
  if (!Shape.lane_is_occupied) return;
  // When all slots are taken, the next waiter shares the lane. Then the slots are freed.
  std::vector<tidemark::waiter_ticket> slots;
  for (std::size_t i = 0; i < Shape.capacity; ++i) slots.push_back(heap.add(never_signalled));
  static_cast<void>(heap.add(never_signalled));
  for (const tidemark::waiter_ticket& slot : slots) heap.withdraw(slot);
}

/// Returns the monitored value while only the bystanders of a shape wait.
constexpr std::uint64_t idle_value_of(heap_shape shape) {
  return shape.lane_is_occupied || shape.bystanders != 0 ? never_signalled - 1 : tidemark::no_waiter;
}

/// A fence in whose heap the bystanders of its shape are registered.
template <class Fence, heap_shape Shape>
struct shaped : Fence {
  shaped() { register_bystanders<Shape>(this->heap()); }

  static std::uint64_t idle_value() { return Fence::platform::heavy_barrier_available() ? idle_value_of(Shape) : 0; }

  /// Requires that the slots of all waiters of the check are free again, where the heap does not grow.
  void require_slots() {
    if constexpr (Shape.growth == tidemark::heap_growth::forbidden) {
      for (std::size_t i = Shape.bystanders; i < Shape.capacity; ++i) {
        MODEL_REQUIRE(!this->heap().add(never_signalled).is_in_lane());
      }
    }
  }
};

/// A heap alone, with the bystanders of its shape.
template <class Platform, heap_shape Shape>
struct shaped_heap
    : tidemark::waiter_heap<Shape.capacity, Platform, Shape.arity, tidemark::detail::no_neighbor, Shape.growth> {
  shaped_heap() { register_bystanders<Shape>(*this); }

  static constexpr std::uint64_t idle_value() { return idle_value_of(Shape); }
};

template <class Platform, heap_shape Shape, spins Spin = spins::never>
using shaped_progress_fence = shaped<tidemark::basic_progress_fence<Platform, options_of(Shape, Spin)>, Shape>;
template <class Platform, heap_shape Shape>
using shaped_fence = shaped<tidemark::basic_fence<Platform, options_of(Shape)>, Shape>;
template <class Platform, heap_shape Shape>
using shaped_callback_fence = shaped<tidemark::basic_fence<Platform, options_with_callbacks(Shape)>, Shape>;

/// Adds a check on each shape. `Least` is the smallest heap of one level on which the check makes sense.
template <template <heap_shape> class Suite, heap_shape Least, name Name>
void add_on_shapes(std::vector<check>& checks) {
  checks.push_back(make_check<Suite<Least>, Name>());
  checks.push_back(make_check<Suite<two_levels>, Name + ".two_levels">());
  checks.push_back(make_check<Suite<in_lane>, Name + ".in_lane">());
  checks.push_back(make_check<Suite<beside_lane>, Name + ".beside_lane">());
  checks.push_back(make_check<Suite<grown>, Name + ".grown">());
}

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_SHAPES_HPP
