// SPDX-License-Identifier: BSL-1.0
//
// each_advance: a callable that runs again and again, as the value of a timeline rises.
//
//   tidemark::callback_progress_fence decoded;   or any fence with fence_options::callbacks
//   auto shown = tidemark::each_advance(decoded, [&](std::uint64_t rows) noexcept { bar.show(rows); });
//
// It runs in the threads that signal, as signaller_callback.hpp explains: when it runs, what it may do, and what it
// delays. Four things are different:
//
//   - It is called with the newest value. Values that come while it runs, or close to each other, are one call. No
//     value is passed twice, each is greater than the one before, and the greatest comes last.
//   - It never runs beside itself. No call begins before the one before has returned.
//   - It never runs within the call that signals, if that call comes from a callable of the same fence that a signal
//     runs: it runs after that callable. The same is true in the constructor. But another thread may run it before the
//     constructor has returned.
//   - If the timeline is lost, it ends. What was reached before is passed first. Then a callable that takes a
//     wait_status is called once more, with `lost` and the last value that was reached.
//
// Which advances count. Those above a value: the one that the constructor receives as `after`, or else the value of
// that moment. So `each_advance(fence, seen, ...)` goes on where another one has ended with `seen`, and misses nothing
// between the two. If the value is above `after` already, the callable runs at once.
//
// Why no advance is missed. After each call it registers for the value after the last one that it has passed on. Then
// come the barrier and the look at the value that every waiter makes (fence.hpp). If the value has gone on by then, it
// runs again. Otherwise the signal that goes on finds the registration.
//
// What it costs. A signal that finds the callable registered makes a pass, runs the callable and registers it again:
// about what it costs to release a thread that waits again at once. A signal that comes while another thread runs it
// costs no more than on a fence without it. The thread that runs it, which may be the one in the constructor, goes on
// for as long as the value has risen again when the callable returns. So the callable must take less time than passes
// between two values: it is for values that rise some thousand times in a second, not for each entry of a ring.
//
// Its end: the registration is destroyed or cancelled; the timeline is lost; UINT64_MAX was passed on; or the fence
// can't take it. That is the case where a callable in the signaller is refused, too, and may be so at each
// registration: where the heap is full and must not grow, where there is no memory, or where the system refuses the
// heavy barrier. Then a callable that takes a wait_status is called once more, with `timeout` and the value.
//
// Lifetime: the fence must outlive the registration. After a fork, the child must not use registrations that were made
// before.
#ifndef TIDEMARK_FENCE_EACH_ADVANCE_HPP
#define TIDEMARK_FENCE_EACH_ADVANCE_HPP

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <utility>

#include "../platform/platform.hpp"
#include "../platform/tools/user_call.hpp"
#include "callback_state.hpp"
#include "detail/signaller_calls.hpp"
#include "fence.hpp"
#include "signaller_callback.hpp"
#include "timeline.hpp"
#include "tools/fence_operations.hpp"
#include "wait.hpp"

namespace tidemark {

namespace detail {

/// Takes a value; or a value, and whether it was reached or is the last one.
template <class Callable>
concept advance_callable =
    std::invocable<Callable&, std::uint64_t> || std::invocable<Callable&, std::uint64_t, wait_status>;

}  // namespace detail

/// The registration of a callable that runs as the value rises; see the head of this file. It is cancelled when it is
/// destroyed, and can't be moved.
/// \tparam Fence     the kind of fence, with fence_options::callbacks
/// \tparam Callable  takes the value; or the value and a wait_status: `reached`, and in its last call `lost` or
///                   `timeout`
template <detail::runs_callbacks Fence, detail::advance_callable Callable>
class advance_callback : private detail::signaller_call<typename Fence::platform, waiter_ticket> {
 public:
  using platform = typename Fence::platform;

  /// Registers the callable for all values above `after`. Runs it here if there is one already, unless another thread
  /// runs callables of this fence at that moment, which then runs it. Other callables of the fence that are due may run
  /// here, too. Allocates nothing, unless the fence has no free slot and may grow. Any thread may call it. Progress: as
  /// for a signaller_callback.
  advance_callback(const Fence& on, std::uint64_t after, Callable callable) noexcept
      : call(detail::fence_access::calls(on), 0, &run), fence_{on}, callable_(std::move(callable)), passed_on_{after} {
    {
      const keeper kept(calls().lock());
      register_next();
    }
    calls().run(heap());
  }
  /// A fence without a name would be gone.
  advance_callback(const Fence&& gone, std::uint64_t after, Callable callable) = delete;
  /// Cancels it. Blocks while its callable runs in another thread. The callable itself may destroy the registration,
  /// and must not use its own captures afterwards.
  ~advance_callback() { static_cast<void>(cancel()); }

  /// Cancels the registration, unless it has ended. Returns what has become of it. No call begins afterwards. Blocks
  /// while its callable runs in another thread; the callable itself may cancel it, too. Any thread may call it.
  /// Progress: takes the lock of the fence's callables.
  callback_state cancel() noexcept {
    keeper kept(calls().lock());
    if (state_ == callback_state::waiting) {
      state_ = callback_state::cancelled;
      static_cast<void>(calls().cancel(heap(), *this));
    }
    static_cast<void>(this->wait_until_returned(kept));
    return state_;
  }

  /// Returns what has become of the registration: `waiting` until it ends; `ran` if it has passed on UINT64_MAX, after
  /// which no value can come; `lost`, `cancelled` or `refused`. Any thread may call it. Progress: takes the lock of the
  /// fence's callables.
  callback_state state() const noexcept {
    const keeper kept(calls().lock());
    return state_;
  }

 private:
  using call = detail::signaller_call<platform, waiter_ticket>;
  using keeper = typename call::keeper;

  using call::calls;
  auto& heap() const noexcept { return detail::fence_access::heap(fence_); }

  /// Registers for the next value, and puts itself among the calls that are due if that is there already, or if nobody
  /// would run it. With the lock.
  void register_next() noexcept {
    if (passed_on_ == UINT64_MAX) return end(callback_state::ran);
    this->target = passed_on_ + 1;
    calls().add(*this, detail::fence_access::add(fence_, this->target, this));
    const bool is_ordered = detail::fence_access::order(fence_);
    // The lane would not call the waker.
    const bool is_refused = !is_ordered || this->ticket->is_in_lane();
    if (detail::fence_access::is_over(fence_, this->target) || is_refused) calls().take_due(heap(), *this);
  }
  void end(callback_state how) noexcept {
    state_ = how;
    this->phase = detail::call_phase::over;
  }

  static void run(call& of, keeper& kept) noexcept {
    auto& self = static_cast<advance_callback&>(of);
    const detail::fence_state now = self.fence_.state();
    callback_state after = callback_state::waiting;
    wait_status how = wait_status::reached;
    if (now.value > self.passed_on_) {
      self.passed_on_ = self.greatest_ = now.value;
    } else if (now.is_poisoned) {
      after = callback_state::lost;
      how = wait_status::lost;
    } else {
      after = callback_state::refused;
      how = wait_status::timeout;
    }
    // A poison may leave behind a value in memory of the caller that was passed on before.
    const std::uint64_t value = (std::max)(now.value, self.greatest_);
    const auto call_it = [&] { self.pass_on(value, how); };
    self.call_and_end(kept, call_it, [&] {
      if (self.state_ != callback_state::waiting) return self.end(self.state_);  // it was cancelled meanwhile
      if (after != callback_state::waiting) return self.end(after);
      self.register_next();
    });
  }
  void pass_on(std::uint64_t value, wait_status how) noexcept {
    if constexpr (std::invocable<Callable&, std::uint64_t, wait_status>) {
      callable_(value, how);
    } else if (how == wait_status::reached) {
      callable_(value);
    }
  }

  const Fence& fence_;
  Callable callable_;
  std::uint64_t passed_on_;
  std::uint64_t greatest_ = 0;  // of those that were passed on
  callback_state state_ = callback_state::waiting;
};

/// Registers a callable that runs as the value rises above the current one, see advance_callback.
/// \param on  a fence with fence_options::callbacks, which must outlive the registration
template <class Platform, fence_options Options, detail::advance_callable Callable>
  requires detail::runs_callbacks<detail::fence_core<Platform, Options>>
[[nodiscard]] auto each_advance(const detail::fence_core<Platform, Options>& on, Callable callable) noexcept {
  return advance_callback<detail::fence_core<Platform, Options>, Callable>(on, on.last_reached(), std::move(callable));
}
/// The same for all values above `after`.
template <class Platform, fence_options Options, detail::advance_callable Callable>
  requires detail::runs_callbacks<detail::fence_core<Platform, Options>>
[[nodiscard]] auto each_advance(const detail::fence_core<Platform, Options>& on, std::uint64_t after,
                                Callable callable) noexcept {
  return advance_callback<detail::fence_core<Platform, Options>, Callable>(on, after, std::move(callable));
}
/// The same for a view of a fence.
template <detail::runs_callbacks Fence, detail::advance_callable Callable>
[[nodiscard]] auto each_advance(const timeline_view<Fence>& on, Callable callable) noexcept {
  return each_advance(detail::fence_access::followed(on), std::move(callable));
}
template <detail::runs_callbacks Fence, detail::advance_callable Callable>
[[nodiscard]] auto each_advance(const timeline_view<Fence>& on, std::uint64_t after, Callable callable) noexcept {
  return each_advance(detail::fence_access::followed(on), after, std::move(callable));
}
/// A fence without a name would be gone.
template <class Platform, fence_options Options, class Callable>
void each_advance(const detail::fence_core<Platform, Options>&& gone, Callable callable) = delete;
template <class Platform, fence_options Options, class Callable>
void each_advance(const detail::fence_core<Platform, Options>&& gone, std::uint64_t after, Callable callable) = delete;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_EACH_ADVANCE_HPP
