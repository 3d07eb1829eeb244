// SPDX-License-Identifier: BSL-1.0
//
// What waits need of a fence beside its public functions, and the same by function pointers, for a fence of any type.
// awaited.hpp makes such a table for timelines of the program's, too.
#ifndef TIDEMARK_FENCE_TOOLS_FENCE_OPERATIONS_HPP
#define TIDEMARK_FENCE_TOOLS_FENCE_OPERATIONS_HPP

#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "learning_spin.hpp"
#include "waker.hpp"

namespace tidemark::detail {

/// What a fence has come to.
struct fence_state {
  /// Returns whether the value is at least `target`.
  [[nodiscard]] bool has_reached(std::uint64_t target) const noexcept { return value >= target; }
  /// Returns whether a wait for `target` ends now: it is reached, or the fence is poisoned.
  [[nodiscard]] bool is_over(std::uint64_t target) const noexcept { return is_poisoned || has_reached(target); }

  std::uint64_t value;  ///< The value signalled so far, also of a poisoned fence.
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
  static bool is_over(const Fence& fence, std::uint64_t target) noexcept {
    return fence.is_over(target);
  }
  template <class Fence>
  static auto add(const Fence& fence, std::uint64_t target, waker* woken) noexcept {
    return fence.add(target, woken);
  }
  /// The barrier between add() and is_over(). Returns false if it was refused: a signaller may miss the registration.
  template <class Fence>
  static bool order(const Fence& fence) noexcept {
    return fence.order_registration();
  }
  /// For a signal by steps, behind the caller's barrier. run_calls() must follow.
  template <class Fence>
  static void notify_after_barrier(Fence& fence) noexcept {
    fence.notify_after_barrier();
  }
  template <class Fence>
  static void run_calls(Fence& fence) noexcept {
    fence.run_calls();
  }
  /// Lets a fence serve another word. Nobody else may use it meanwhile.
  template <class Fence, class Word>
  static void bind(Fence& fence, Word& shared) noexcept {
    fence.bind(shared);
  }
  template <class Fence>
  static auto* learnt(const Fence& fence) noexcept {
    return fence.spin_.memory();
  }
  template <class Fence>
  static auto& calls(const Fence& fence) noexcept {
    return fence.calls_;
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
  /// Returns the fence that keeps the waiters of an object which is none itself.
  template <class Holder>
  static auto fence_in(const Holder& holder) noexcept -> decltype((holder.fence_inside())) {
    return holder.fence_inside();
  }
  /// Returns the timeline whose values another one shows: a view, for one.
  template <class Outer>
  static auto shown_by(const Outer& outer) noexcept -> decltype((outer.shown())) {
    return outer.shown();
  }
  /// Returns what a view looks at.
  template <class View>
  static const auto& followed(const View& view) noexcept {
    return *view.timeline_;
  }
};

/// The table; fence.hpp explains the steps. The first parameter of each function is the fence.
/// \tparam Word    the word on which a waiter of the fence's platform sleeps
/// \tparam Ticket  a registration in the fence's heap
template <class Word, class Ticket>
struct fence_operations {
  using memory_type = spin_memory<Word>;

  bool is_asymmetric;
  bool (*has_reached)(const void*, std::uint64_t target) noexcept;
  fence_state (*look)(const void*) noexcept;
  const void* (*timeline)(const void*) noexcept;
  bool (*is_over)(const void*, std::uint64_t target) noexcept;
  bool (*is_pinned)(const void*) noexcept;
  Ticket (*add)(const void*, std::uint64_t target, waker* woken) noexcept;
  bool (*withdraw)(const void*, const Ticket&) noexcept;
  memory_type* (*learnt)(const void*) noexcept;  // for a spin; returns null if waiters never spin
  // After what time a thread must look again that add() has not registered.
  deadline::duration (*look_interval)(const void*) noexcept;
  bool is_of_program;  // not a fence

  template <class Fence>
  static constexpr fence_operations of() noexcept {
    return {
        .is_asymmetric = Fence::platform::asymmetric,
        .has_reached = [](const void* self,
                          std::uint64_t target) noexcept { return fence_access::has_reached(as<Fence>(self), target); },
        .look = [](const void* self) noexcept { return as<Fence>(self).state(); },
        .timeline = [](const void* self) noexcept { return fence_access::timeline(as<Fence>(self)); },
        .is_over = [](const void* self,
                      std::uint64_t target) noexcept { return fence_access::is_over(as<Fence>(self), target); },
        .is_pinned = [](const void* self) noexcept { return fence_access::heap(as<Fence>(self)).is_pinned(); },
        .add = [](const void* self, std::uint64_t target,
                  waker* woken) noexcept { return fence_access::add(as<Fence>(self), target, woken); },
        .withdraw = [](const void* self,
                       const Ticket& ticket) noexcept { return fence_access::heap(as<Fence>(self)).withdraw(ticket); },
        .learnt = [](const void* self) noexcept -> memory_type* { return fence_access::learnt(as<Fence>(self)); },
        .look_interval = [](const void*) noexcept { return detail::look_interval; },
        .is_of_program = false};
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
  auto look_interval() const noexcept { return operations->look_interval(fence); }
  /// Whether both are of one timeline. A timeline of the program's may begin with another one, which has its address.
  /// A fence may have a table in each shared library.
  bool is_of_same(const awaited_target& other) const noexcept {
    return fence == other.fence &&
           (operations == other.operations || (!operations->is_of_program && !other.operations->is_of_program));
  }

  const void* fence;
  const Operations* operations;
  std::uint64_t target;
};

/// The table of a type of fences.
template <class Operations, class Fence>
inline constexpr Operations wait_operations_of = Operations::template of<Fence>();

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_TOOLS_FENCE_OPERATIONS_HPP
