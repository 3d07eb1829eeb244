// SPDX-License-Identifier: BSL-1.0
//
// signal_all: signals of several fences at once. It stores all values, and only then wakes those who wait for them.
//
//   tidemark::signal_all({{rows, 12}, {audio, 40}, {frames, 7}});
//
// What it is good for. A thread that waits for several of these fences wakes up once, and finds them all reached as a
// rule. And a full barrier, which the slow path of each signal issues where somebody is due, is issued once for all of
// them.
//
//   1  every value is stored, in the order of the list                                         (s1 of each fence)
//   2  every fence is asked whether a waiter may be due                                       (s2, s3 of each fence)
//   3  if one is: one full barrier, and then a pass over the heap of each fence that has said so
//   4  the callables in the signaller that these passes have released
//
// So it is signal() of each fence, with the steps in another order. Why no wake-up is lost is explained in fence.hpp:
// the steps of each fence come in the order that is needed there. A barrier that comes after the values of all fences
// and before all passes stands where the barrier of each signal would. If nobody is due, no barrier is issued, and it
// costs what the signals cost one by one.
//
// A batch on queues and hubs: a hub has one notification for several fences (hub.hpp); this is for signals without one.
//
// Order. Who sees the value of a fence of the list sees the values of all fences before it. Who is woken for one of
// them may look at another one, and find it reached; but a thread that looks meanwhile, or spins, may see the first
// values before the last. So it is no transaction.
//
// Callables. They run when all threads that are due have been woken, in lists of up to 64 fences. In longer ones, those
// of the first 64 fences run before the threads of the next 64 are woken, and so on.
//
// Not possible: fences that joins_signallers, which have no steps of a signal; fences that share a word, whose signal
// other fences must learn of; fence32 and rewindable_fence. Signal these one by one.
#ifndef TIDEMARK_FENCE_SIGNAL_ALL_HPP
#define TIDEMARK_FENCE_SIGNAL_ALL_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "awaited.hpp"
#include "fence.hpp"
#include "fence_options.hpp"
#include "tools/fence_operations.hpp"

namespace tidemark {

namespace detail {

/// A fence or a progress_fence whose signal has steps.
template <class Fence>
concept signalled_in_batch = requires(Fence& signalled, std::uint64_t value) {
  takes_fence(signalled);
  signalled.publish(value);
  requires Fence::options.storage != value_storage::shared;
};

/// The steps of a signal of a fence of any type.
struct batch_operations {
  bool (*publish)(void*, std::uint64_t value) noexcept;
  bool (*is_due)(void*, std::uint64_t value) noexcept;
  void (*full_barrier)() noexcept;
  void (*notify)(void*) noexcept;
  void (*run_calls)(void*) noexcept;

  template <class Fence>
  static constexpr batch_operations of() noexcept {
    return {.publish = [](void* self, std::uint64_t value) noexcept { return as<Fence>(self).publish(value); },
            .is_due = [](void* self, std::uint64_t value) noexcept { return as<Fence>(self).is_due(value); },
            .full_barrier = &barrier_of<typename Fence::platform>,
            .notify = [](void* self) noexcept { fence_access::notify_after_barrier(as<Fence>(self)); },
            .run_calls = [](void* self) noexcept { fence_access::run_calls(as<Fence>(self)); }};
  }

 private:
  template <class Fence>
  static Fence& as(void* self) noexcept {
    return *static_cast<Fence*>(self);
  }
  template <class Platform>
  static void barrier_of() noexcept {
    // (F70): s2 of all fences of a batch that are pinned or held, as (F4) is for one; pairs with (F59), or with the
    // (G3) in the waiter's (F21). It comes after all values and before all passes, so one is enough.
    Platform::full_barrier();
  }
};

template <class Fence>
inline constexpr batch_operations batch_operations_of = batch_operations::of<Fence>();

}  // namespace detail

/// A fence, and the value to signal. It is copyable, and the fence must outlive it.
class fence_signal {
 public:
  /// \param signalled  a fence or a progress_fence; see the head of this file for those that are not possible
  template <detail::signalled_in_batch Fence>
  fence_signal(Fence& signalled, std::uint64_t value) noexcept
      : fence_{&signalled}, operations_{&detail::batch_operations_of<Fence>}, value_{value} {}

 private:
  friend std::size_t signal_all(std::span<const fence_signal> batch) noexcept;

  bool publish() const noexcept { return operations_->publish(fence_, value_); }
  bool is_due() const noexcept { return operations_->is_due(fence_, value_); }

  void* fence_;
  const detail::batch_operations* operations_;
  std::uint64_t value_;
};

/// Signals all of them, as their own signal() does, and wakes those who wait only when all values are stored; see the
/// head of this file. A fence may be in the list several times, a progress_fence with values that do not fall. Returns
/// how many of the values were stored: of a fence, only one that is above the current value. Asserts what the signals
/// assert. Throws and allocates nothing. Threads: as for each fence; a progress_fence has one signaller at a time.
/// Progress: as the signals themselves, and O(n) calls through pointers.
inline std::size_t signal_all(std::span<const fence_signal> batch) noexcept {
  std::size_t stored = 0;
  for (const fence_signal& one : batch) {
    if (one.publish()) ++stored;
  }
  void (*issued)() noexcept = nullptr;
  while (!batch.empty()) {
    const std::span<const fence_signal> next = batch.first(batch.size() < 64 ? batch.size() : 64);
    batch = batch.subspan(next.size());
    std::uint64_t due = 0;
    for (std::size_t i = 0; i < next.size(); ++i) {
      // A fence that has not stored its value asks in vain at most.
      if (!next[i].is_due()) continue;
      due |= std::uint64_t{1} << i;
      const auto needed = next[i].operations_->full_barrier;
      if (issued != needed) needed();
      issued = needed;
    }
    const auto for_each_due = [&](auto call) {
      for (std::uint64_t rest = due; rest != 0; rest &= rest - 1) {
        const fence_signal& one = next[static_cast<std::size_t>(std::countr_zero(rest))];
        (one.operations_->*call)(one.fence_);
      }
    };
    for_each_due(&detail::batch_operations::notify);
    for_each_due(&detail::batch_operations::run_calls);
  }
  return stored;
}
/// The same for a list in braces.
inline std::size_t signal_all(std::initializer_list<fence_signal> batch) noexcept {
  return signal_all(std::span<const fence_signal>{batch.begin(), batch.size()});
}

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_SIGNAL_ALL_HPP
