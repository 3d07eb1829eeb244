// SPDX-License-Identifier: BSL-1.0
//
// Operations on a fence of any type, by function pointers. A hub, which serves the notifications of a fence, and a
// wait for several timelines use the same table.
#ifndef TIDEMARK_FENCE_DETAIL_FENCE_OPERATIONS_HPP
#define TIDEMARK_FENCE_DETAIL_FENCE_OPERATIONS_HPP

#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "learning_spin.hpp"
#include "waker.hpp"

namespace tidemark::detail {

/// What a fence has come to.
struct fence_state {
  bool has_reached(std::uint64_t target) const noexcept { return value >= target; }
  bool is_over(std::uint64_t target) const noexcept { return is_poisoned || has_reached(target); }

  std::uint64_t value;
  bool is_poisoned;
};

/// Gives access to parts of a fence that are not public.
struct fence_access {
  template <class Fence>
  static auto& heap(const Fence& fence) noexcept {
    return fence.heap();
  }
  /// Returns the value that was signalled, also of a poisoned fence.
  template <class Fence>
  static std::uint64_t reached_value(const Fence& fence) noexcept {
    return fence.reached_value();
  }
  template <class Fence>
  static bool has_reached(const Fence& fence, std::uint64_t target) noexcept {
    return reached_value(fence) >= target;
  }
  template <class Fence>
  static fence_state look(const Fence& fence) noexcept {
    // In this order, so that a value is seen that was reached before the poison.
    const bool is_poisoned = fence.is_poisoned();
    return fence_state{fence.reached_value(), is_poisoned};
  }
  template <class Fence>
  static bool is_over(const Fence& fence, std::uint64_t target) noexcept {
    return fence.is_over(target);
  }
  template <class Fence>
  static auto add(const Fence& fence, std::uint64_t target, waker* woken) noexcept {
    return fence.add(target, woken);
  }
  template <class Fence>
  static auto* learnt(const Fence& fence) noexcept {
    return fence.spin_.memory();
  }
  template <class Fence>
  static auto& calls(const Fence& fence) noexcept {
    return fence.calls_;
  }
  /// Releases those who are due. If callables are among them, calls `before_calls()` before the first one runs.
  template <class Fence>
  static void release_due(Fence& fence, const auto& before_calls) noexcept {
    fence.release_due_and_tell(before_calls);
  }
  /// Returns what names the timeline: the same address for all fences that share one value.
  template <class Fence>
  static const void* timeline(const Fence& fence) noexcept {
    if constexpr (Fence::options.storage == decltype(Fence::options.storage)::shared) {
      return &fence.holder().get();
    } else {
      return &fence;
    }
  }
  /// Returns what a view looks at.
  template <class View>
  static const auto& followed(const View& view) noexcept {
    return *view.timeline_;
  }
};

/// The table. The first parameter of each function is the fence.
/// \tparam Word    the word on which a waiter of the fence's platform sleeps
/// \tparam Ticket  a registration in the fence's heap
template <class Word, class Ticket>
struct fence_operations {
  using memory_type = spin_memory<Word>;

  // For signals. `release` releases the waiters that are due by the fence's value, `release_by` those due by the
  // given value.
  bool (*publish)(void*, std::uint64_t) noexcept = nullptr;
  bool (*is_due)(void*, std::uint64_t) noexcept = nullptr;
  std::size_t (*release)(void*) noexcept = nullptr;
  std::size_t (*release_by)(void*, std::uint64_t) noexcept = nullptr;

  // For waits; fence.hpp explains the steps.
  bool is_asymmetric = false;
  bool (*has_reached)(const void*, std::uint64_t target) noexcept = nullptr;
  fence_state (*look)(const void*) noexcept = nullptr;
  const void* (*timeline)(const void*) noexcept = nullptr;
  bool (*is_over)(const void*, std::uint64_t target) noexcept = nullptr;
  bool (*is_pinned)(const void*) noexcept = nullptr;
  Ticket (*add)(const void*, std::uint64_t target, waker* woken) noexcept = nullptr;
  bool (*withdraw)(const void*, const Ticket&) noexcept = nullptr;
  memory_type* (*learnt)(const void*) noexcept = nullptr;  // for a spin; returns null if waiters never spin

  template <class Fence>
  constexpr fence_operations& with_signals_of() noexcept {
    publish = [](void* self, std::uint64_t value) noexcept { return static_cast<Fence*>(self)->publish(value); };
    is_due = [](void* self, std::uint64_t value) noexcept { return static_cast<Fence*>(self)->is_due(value); };
    release = [](void* self) noexcept { return static_cast<Fence*>(self)->release_due_after_barrier(); };
    release_by = [](void* self, std::uint64_t value) noexcept {
      return static_cast<Fence*>(self)->release_due_after_barrier(value);
    };
    return *this;
  }

  template <class Fence>
  constexpr fence_operations& with_waits_of() noexcept {
    is_asymmetric = Fence::platform::asymmetric;
    has_reached = [](const void* self, std::uint64_t target) noexcept {
      return fence_access::has_reached(as<Fence>(self), target);
    };
    look = [](const void* self) noexcept { return fence_access::look(as<Fence>(self)); };
    timeline = [](const void* self) noexcept { return fence_access::timeline(as<Fence>(self)); };
    is_over = [](const void* self, std::uint64_t target) noexcept {
      return fence_access::is_over(as<Fence>(self), target);
    };
    is_pinned = [](const void* self) noexcept { return fence_access::heap(as<Fence>(self)).is_pinned(); };
    add = [](const void* self, std::uint64_t target, waker* woken) noexcept {
      return fence_access::add(as<Fence>(self), target, woken);
    };
    withdraw = [](const void* self, const Ticket& ticket) noexcept {
      return fence_access::heap(as<Fence>(self)).withdraw(ticket);
    };
    learnt = [](const void* self) noexcept -> memory_type* { return fence_access::learnt(as<Fence>(self)); };
    return *this;
  }

 private:
  template <class Fence>
  static const Fence& as(const void* self) noexcept {
    return *static_cast<const Fence*>(self);
  }
};

/// A fence of any type, and the value to wait for.
template <class Operations>
struct awaited_target {
  bool is_reached() const noexcept { return operations->has_reached(fence, target); }
  bool is_lost() const noexcept {
    const fence_state now = look();
    return now.is_poisoned && !now.has_reached(target);
  }
  fence_state look() const noexcept { return operations->look(fence); }
  /// As a step of the handshake of a registration.
  bool is_over() const noexcept { return operations->is_over(fence, target); }
  auto add(waker* woken) const noexcept { return operations->add(fence, target, woken); }
  bool withdraw(const auto& ticket) const noexcept { return operations->withdraw(fence, ticket); }
  /// Whether a registration relies on the heavy barrier, so that it may be missed if the barrier was refused.
  bool needs_barrier() const noexcept { return operations->is_asymmetric && !operations->is_pinned(fence); }
  auto* learnt() const noexcept { return operations->learnt(fence); }

  const void* fence;
  const Operations* operations;
  std::uint64_t target;
};

/// The table with the entries that a hub needs.
template <class Operations, class Fence>
inline constexpr Operations signal_operations_of = Operations{}.template with_signals_of<Fence>();

/// The table with the entries that a wait for several timelines needs.
template <class Operations, class Fence>
inline constexpr Operations wait_operations_of = Operations{}.template with_waits_of<Fence>();

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_FENCE_OPERATIONS_HPP
