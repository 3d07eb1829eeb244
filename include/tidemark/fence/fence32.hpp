// SPDX-License-Identifier: BSL-1.0
//
// fence32: a timeline for executors that know only 32-bit values. Signals and waits take 32-bit serials, which wrap
// around. Inside is a fence, whose 64-bit value does not:
//
//   serial            0xFFFFFFFE   0xFFFFFFFF             0             1
//   value inside      0xFFFFFFFE   0xFFFFFFFF   0x100000000   0x100000001
//
// A serial stands for the value nearest to the current one that has these low 32 bits. A serial that is ahead of the
// current value by 1 to UINT32_MAX / 2 is not reached yet. One that is equal to it, or behind it by UINT32_MAX / 2 at
// most, is reached. One that would lie below value 0 counts as value 0, which is reached.
//
// The window: a call with a serial reads the current value once, at its beginning, to extend the serial to 64 bits. At
// that moment the value must be within UINT32_MAX / 2 of the serial. So signallers must not get more than UINT32_MAX /
// 2 ahead of the serial for which a thread is about to wait. From then on it does not matter how far the value rises: a
// thread that sleeps waits for a 64-bit value. Once the timeline is poisoned, the value that counts here is
// last_reached().
//
// A serial at exactly half of the range, 2^31 away, is neither ahead nor behind. A call asserts that its serial is not
// such a one; with NDEBUG the serial counts as behind. A serial further away looks like the one in the window that has
// the same 32 bits, and is taken for that one. If signal() takes a serial for one behind, it does what the fence inside
// does with a lower value: a fence returns false, and a progress fence asserts.
//
// Waits for several timelines, loops, senders and queues of engines take it with a serial, which is extended when the
// call is made. Other blocks follow view(), which is a 64-bit timeline, and take extended() serials:
//
//   tidemark::fence32 copied;
//   tidemark::rename_ring ring{copied.view(), {.bytes = 4096}};
//   ring.retire(mapped, copied.extended(serial));
//   wait_any({{copied, serial}, {compute, 40}});
//
// Not promised: anything after 2^32 wraps, where the value inside would end. For everything else, such as the lifetime
// and what happens in a signal, see fence.hpp.
#ifndef TIDEMARK_FENCE_FENCE32_HPP
#define TIDEMARK_FENCE_FENCE32_HPP

#include <chrono>
#include <concepts>
#include <cstdint>
#include <utility>

#include "../platform/platform.hpp"
#include "fence.hpp"
#include "tools/fence_operations.hpp"
#include "wait.hpp"

namespace tidemark {

/// A timeline of 32-bit serials.
/// \tparam Fence  the fence inside: a basic_fence, so that any thread may signal, or a basic_progress_fence, for one
///                signaller at a time. Its value must lie in the fence itself, not in memory of the program's
template <class Fence>
  requires std::derived_from<Fence, detail::fence_core<typename Fence::platform, Fence::options>>
class basic_fence32 {
 public:
  using platform = typename Fence::platform;

  /// A timeline that begins at `initial`.
  explicit basic_fence32(std::uint32_t initial = 0) noexcept : timeline_{initial} {}

  /// Signals `serial`, and releases every waiter that is due. Returns what the signal() of the fence inside returns: of
  /// a fence, whether the value has risen; of a progress fence, nothing. Progress, assertions and callers: as that
  /// signal().
  auto signal(std::uint32_t serial) noexcept { return timeline_.signal(extended(serial)); }

  /// Signals the serial after the current one, and returns it. After UINT32_MAX comes 0. Progress and callers: as the
  /// signal_next() of the fence inside.
  std::uint32_t signal_next() noexcept { return static_cast<std::uint32_t>(timeline_.signal_next()); }

  /// Declares the timeline lost, as fence_core::poison() does. Any thread may call it.
  void poison(const loss_reason& why = unnamed_loss) noexcept { timeline_.poison(why); }
  void poison(const loss_reason&&) = delete;  // a reason has static lifetime
  /// Returns why the timeline is lost; null if it is not. Progress: wait-free. Any thread may call it.
  const loss_reason* loss() const noexcept { return timeline_.loss(); }
  /// Returns whether poison() was called. Progress: wait-free. Any thread may call it.
  bool is_poisoned() const noexcept { return timeline_.is_poisoned(); }

  /// Returns the serial signalled last; UINT32_MAX once the timeline is poisoned, unless the fence inside
  /// keeps_value_on_loss. UINT32_MAX is a serial like any other: ask is_poisoned(). What was done before the serial was
  /// signalled happens-before the return. Progress: wait-free. Any thread may call it.
  std::uint32_t current_value() const noexcept { return static_cast<std::uint32_t>(timeline_.current_value()); }

  /// Returns the serial signalled last, also once the timeline is poisoned. In all else like current_value().
  std::uint32_t last_reached() const noexcept { return static_cast<std::uint32_t>(timeline_.last_reached()); }

  /// Returns whether `target` is reached: equal to the current value or behind it. It returns true for every target
  /// once the timeline is poisoned, unless the fence inside keeps_value_on_loss. Progress: wait-free. Any thread may
  /// call it.
  [[nodiscard]] bool is_reached(std::uint32_t target) const noexcept { return timeline_.is_reached(extended(target)); }

  /// Waits until `target` is reached, without a time limit. Returns `reached`; `stopped` if `token` is triggered first;
  /// `lost` if the timeline is poisoned before it reaches the target. Blocks. It allocates as a wait for the fence
  /// inside does, and throws nothing. Any thread may call it.
  template <stop_token_like Token = never_stops>
  wait_status wait(std::uint32_t target, Token token = {}) const noexcept {
    return timeline_.wait(extended(target), std::move(token));
  }
  /// Waits like wait(), but for the duration `timeout` at most, and returns `timeout` then. With zero or less it only
  /// looks and does not sleep.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(std::uint32_t target, const std::chrono::duration<Rep, Period>& timeout,
                       Token token = {}) const noexcept {
    return timeline_.wait_for(extended(target), timeout, std::move(token));
  }
  /// Waits like wait(), but until `at` at most, a point of the steady or the system clock, and returns `timeout` then.
  /// With a point in the past it does not sleep. A change of the system clock has the same effect as with
  /// waitable::wait_until().
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_until(std::uint32_t target, const std::chrono::time_point<Clock, Duration>& at,
                         Token token = {}) const noexcept {
    return timeline_.wait_until(extended(target), at, std::move(token));
  }

  /// Returns the 64-bit value that `serial` stands for, for blocks that follow view(). If the serial is reached, the
  /// result is at most the view's current value, however far that rises meanwhile. Asserts that the serial is not half
  /// of the range away from the current value. Progress: wait-free, one load of the value. Any thread may call it.
  [[nodiscard]] std::uint64_t extended(std::uint32_t serial) const noexcept {
    // The value itself: a poisoned timeline shows UINT64_MAX, from which no serial could be told.
    const std::uint64_t current = detail::fence_access::reached_value(timeline_);
    const std::uint32_t ahead = serial - static_cast<std::uint32_t>(current);
    TIDEMARK_ASSERT(ahead != half_of_range, "a 32-bit serial is half of the range away: neither ahead nor behind");
    if (ahead < half_of_range) return current + ahead;
    const std::uint32_t behind = 0 - ahead;
    return current >= behind ? current - behind : 0;
  }

  /// Returns a view of the 64-bit timeline, which can look and wait, but not signal. This object must outlive it. Any
  /// thread may call it.
  auto view() const noexcept { return timeline_.view(); }

 private:
  static constexpr std::uint32_t half_of_range = std::uint32_t{1} << 31;

  Fence timeline_;
};

/// A timeline of 32-bit serials that any thread may signal; the one furthest ahead wins.
using fence32 = basic_fence32<fence>;
/// A timeline of 32-bit serials with exactly one signaller at a time.
using progress_fence32 = basic_fence32<progress_fence>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_FENCE32_HPP
