// SPDX-License-Identifier: BSL-1.0
//
// shadowed_fence: a fence whose signals are filtered twice, as on many devices with memory of their own. An engine of
// the device compares the value with a copy of the monitored value in the device's memory, the shadow. Only if it is
// greater does it ring a co-processor. That one compares with the monitored value itself, and only then interrupts the
// processor. So most signals end in the device, and the processor is interrupted only if a waiter may be due.
//
//   tidemark::shadowed_fence ready{coprocessor.loop(), interrupts.loop()};
//   copies.signal(ready, 7);                      an engine_queue, or ready.signal(7) in a thread
//   ready.wait(7);                                every form of wait that a fence has
//
//   engine              value := v, barrier, is v > shadow?          no: nothing more
//     | rings
//   co-processor        shadow := monitored value; is the value > monitored value?        no: nothing more
//     | interrupts
//   processor           releases the waiters that are due; shadow := monitored value
//
// The co-processor is a loop, and so is what handles interrupts; both may be one. Rings that come before the
// co-processor has looked count as one, and so do interrupts.
//
// Why no wake-up is lost: a waiter registers, which lowers the monitored value, and copies it to the shadow. Then it
// issues its barrier, and looks at the value once more. So the shadow takes the place of the monitored value in the
// handshake of fence.hpp: a signal whose value the waiter does not see finds the shadow below that value. Copies are
// made with a lock, and each reads the monitored value anew. So none puts back an old one: while a waiter is
// registered, whoever copies after it finds its target. Rings and interrupts are posted after the value was stored.
//
// The shadow may be less than the monitored value, after a registration has ended in another way than by an interrupt,
// for example at a deadline. Then signals ring until the co-processor has looked, which interrupts nobody and brings
// the shadow up to date. If the fence is pinned (fence.hpp), the shadow stays 0, and each signal rings and interrupts.
//
// Lifetime: both loops outlive the fence, and all waits, signals and calls of poison() must have returned. Threads must
// run the loops: otherwise signals release nobody. After a fork the child must not use the fence.
#ifndef TIDEMARK_ENGINE_SHADOWED_FENCE_HPP
#define TIDEMARK_ENGINE_SHADOWED_FENCE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../fence/fence.hpp"
#include "../fence/fence_options.hpp"
#include "../loop/loop_task.hpp"
#include "../loop/wait_loop.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/park_lock.hpp"

namespace tidemark {

/// What the signals of a shadowed_fence have led to.
struct shadow_counts {
  std::uint64_t rings = 0;       ///< How often a signal was above the shadow.
  std::uint64_t looks = 0;       ///< How often the co-processor has looked because of that.
  std::uint64_t interrupts = 0;  ///< How often it has interrupted the processor.
};

namespace detail {

/// The options of the fence that has the waiters.
constexpr fence_options with_reports(fence_options options) {
  options.reports_registrations = true;
  return options;
}

}  // namespace detail

/// A fence that any thread or engine signals; the greatest value wins. See the head of this file. All its functions are
/// those of a fence, but for the steps of a signal, signal_next(), and those below. So hubs and signal_all() don't take
/// it. Each registration of a waiter takes the lock of the shadow for a moment. poison() releases the waiters itself.
/// It can be neither copied nor moved.
/// \tparam Options  its value lies in the fence, it does not join its signallers, and it has no callbacks
template <platform Platform, fence_options Options = fence_options{}>
class basic_shadowed_fence : public basic_fence<Platform, detail::with_reports(Options)> {
  using base = basic_fence<Platform, detail::with_reports(Options)>;
  static_assert(Options.storage == value_storage::own && !Options.joins_signallers && !Options.callbacks);

 public:
  using loop_type = basic_loop<Platform>;

  /// \param coprocessor  looks at the monitored value when a signal rings
  /// \param processor    releases the waiters when the co-processor interrupts
  /// \param initial      the value at which the fence begins
  basic_shadowed_fence(loop_type& coprocessor, loop_type& processor, std::uint64_t initial = 0)
      : base(initial),
        shadow_{this->monitored_value()},
        interrupt_(processor, handling{this}),
        ring_(coprocessor, deciding{this}) {
    base::report_registrations(
        {.registered = [](void* self) noexcept { as_self(self).copy_monitored_value(); }, .context = this});
  }

  /// Raises the value to `value`, and returns true; rings the co-processor if the value is above the shadow. Returns
  /// false if it is not above the current one; nothing is changed then. Progress: lock-free; a system call if the loop
  /// of the co-processor sleeps, or a call of the executor that runs it. Any thread may call it.
  bool signal(std::uint64_t value) noexcept {
    if (!base::publish(value)) return false;
    base::steps::keep_look_behind_value();
    // (SH1): s3 of fence.hpp, with the order of (F2) and for its reason. Pairs with (SH2).
    if (shadow_.load(base::steps::monitor_order) < value) ring();
    return true;
  }
  std::uint64_t signal_next() = delete;
  bool publish(std::uint64_t value) = delete;
  bool is_due(std::uint64_t value) = delete;
  std::size_t release_due() = delete;
  std::size_t release_due_after_barrier() = delete;
  void report_registrations(const registration_report& to) = delete;  // the shadow depends on them

  /// Returns the shadow of the monitored value. Progress: wait-free, one load. Any thread may call it.
  std::uint64_t shadow() const noexcept {
    // (SH3): relaxed alone: this look takes part in no handshake.
    return shadow_.load(std::memory_order_relaxed);
  }
  /// Returns what the signals have led to so far. Any thread may call it. Progress: takes the lock of the shadow.
  shadow_counts counts() const noexcept {
    const detail::lock_keeper kept(lock_);
    // (SH4): relaxed alone, a statistic.
    return {rings_.load(std::memory_order_relaxed), looks_, interrupts_};
  }

 private:
  struct deciding {
    void operator()() const noexcept { of->decide(); }
    basic_shadowed_fence* of;
  };
  struct handling {
    void operator()() const noexcept { of->handle_interrupt(); }
    basic_shadowed_fence* of;
  };

  static basic_shadowed_fence& as_self(void* self) noexcept { return *static_cast<basic_shadowed_fence*>(self); }

  [[gnu::cold, gnu::noinline]] void ring() noexcept {
    // (SH5): relaxed alone, a statistic.
    rings_.fetch_add(1, std::memory_order_relaxed);
    static_cast<void>(ring_.post());
  }
  void copy_monitored_value() noexcept {
    const detail::lock_keeper kept(lock_);
    copy_with_lock();
  }
  /// Returns what was copied.
  std::uint64_t copy_with_lock() noexcept {
    const std::uint64_t monitored = this->monitored_value();
    // (SH2): with the order of s3, pairs with (SH1): in the symmetric form seq_cst, in a single total order with (F1),
    // (SH1) and (F3), so that either the signal finds this value or the waiter finds that of the signal; otherwise
    // (F21) orders it before (F3). Nobody reads other data because of it, so it is no release.
    shadow_.store(monitored, base::steps::monitor_order);
    return monitored;
  }
  /// The co-processor: looks at the monitored value.
  void decide() noexcept {
    bool interrupts;
    {
      const detail::lock_keeper kept(lock_);
      interrupts = this->last_reached() > copy_with_lock();
      ++looks_;
      interrupts_ += interrupts ? 1 : 0;
    }
    if (interrupts) static_cast<void>(interrupt_.post());
  }
  /// The processor: releases the waiters that are due.
  void handle_interrupt() noexcept {
    base::release_due();
    copy_monitored_value();
  }

  alignas(cache_line) typename Platform::template atomic<std::uint64_t> shadow_;
  alignas(cache_line) mutable detail::park_lock<Platform> lock_;
  std::uint64_t looks_ = 0;
  std::uint64_t interrupts_ = 0;
  typename Platform::template atomic<std::uint64_t> rings_{0};
  basic_loop_task<Platform, handling> interrupt_;
  basic_loop_task<Platform, deciding> ring_;  // posts interrupts, so it is destroyed first
};

using shadowed_fence = basic_shadowed_fence<native_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_SHADOWED_FENCE_HPP
