// SPDX-License-Identifier: BSL-1.0
//
// signaller_callback: a callable that runs in the thread whose signal reaches its value.
//
//   tidemark::callback_progress_fence uploaded;   or any fence with fence_options::callbacks
//   auto counted = tidemark::call_in_signaller(uploaded, 3, [&]() noexcept { ++frames; });
//
// For work that is as short as the wake-up of a thread which would do it: to count, to set a flag, to post to an
// executor, to write to a descriptor. What takes longer belongs on a loop (wait_loop.hpp).
//
// What it delays: the return of the signal that runs it, and the other callables of this fence, also those that are due
// to signals of other threads, and coroutines that signallers resume (signaller_awaiter.hpp). Nobody else who waits for
// this fence is delayed: they are released before. If a queue of an engine makes the signal, the engine has one thread
// less meanwhile, and its other threads go on. If a pass of a hub runs the callable, the hub serves nobody until it has
// returned.
//
// When it runs: as a rule within the signal() or poison() that releases it, after that call has released all waiters
// that are due. If a queue or a hub notifies for the signaller, it runs in the thread that makes the pass. If the
// registration finds the value reached, or the timeline lost, it runs in the constructor, unless a signaller has begun
// to run it. Signallers run the callables of a fence one at a time. Of those that are found due together, the lowest
// target comes first, and of equal targets the one that was registered first; where several threads signal, poison or
// make passes at the same time, no order is promised. A callable that runs in a constructor may run beside them, and
// its own signals may run them within it.
//
// Not promised: that a signal has run what is due to it. If another thread runs callables of this fence at that moment,
// it runs these, too, and the signaller does not wait. Likewise, what becomes due because a callable signals its own
// fence runs after that callable. But a callable that runs in a constructor runs it within its signal().
//
// For any fence, this one included, a callable may signal, wait with a time-out of zero, register and cancel. Two
// callables that run in two threads must not cancel each other: both would wait for ever. It may also destroy its own
// registration, unless it runs in the constructor. It must not throw (std::terminate). Nor must it destroy the fence,
// which its signaller still uses (asserted). In a pass of a hub it must not remove anything from that hub.
//
// A callable that signals another fence runs that fence's callables within itself. So a chain of callables takes stack
// once for each fence in it. If the chain comes back to a fence, that fence's callables run later, further up the
// stack, and take no more. That is some 500 bytes for each fence, beside what the callables take themselves, and up to
// 1,400 without optimization. With callables that take little themselves, 8 MiB of stack last for 5,000 fences. Longer
// chains belong on a loop, which runs one callable after the other.
//
// While no callable is due, a signal costs the same as on a fence without callables. If one is due, it takes a lock of
// the fence, so a signal handler must not signal such a fence. Each callable takes a slot of the fence. Where nobody
// would run it, the registration is refused, and its state says so: where the heap is full and must not grow, where
// there is no memory for more slots, or where the system refuses the heavy barrier to a fence that relies on it.
//
// Lifetime: the fence must outlive the registration. After a fork, the child must not use registrations that were made
// before.
#ifndef TIDEMARK_FENCE_SIGNALLER_CALLBACK_HPP
#define TIDEMARK_FENCE_SIGNALLER_CALLBACK_HPP

#include <cstdint>
#include <type_traits>
#include <utility>

#include "../platform/platform.hpp"
#include "../platform/tools/park_lock.hpp"
#include "../platform/tools/user_call.hpp"
#include "callback_state.hpp"
#include "detail/signaller_calls.hpp"
#include "fence.hpp"
#include "timeline.hpp"
#include "tools/fence_operations.hpp"
#include "wait.hpp"

namespace tidemark {

namespace detail {

/// A fence with fence_options::callbacks.
template <class Fence>
concept runs_callbacks = requires { requires Fence::options.callbacks; };  // a callback_fence, for one

}  // namespace detail

/// A fence whose signallers run callables; any thread may signal it, and the greatest value wins.
using callback_fence = basic_fence<symmetric_platform, fence_options{.callbacks = true}>;
/// The same with exactly one signaller at a time.
using callback_progress_fence = basic_progress_fence<native_platform, fence_options{.callbacks = true}>;

/// The registration of a callable that a signaller runs. It is cancelled when it is destroyed, and can't be moved.
/// \tparam Fence     the kind of fence, with fence_options::callbacks
/// \tparam Callable  takes nothing; or a wait_status, which is `reached` or `lost`. One that takes nothing is not
///                   called if the timeline is lost
template <detail::runs_callbacks Fence, detail::reached_callable Callable>
class signaller_callback : private detail::signaller_call<typename Fence::platform, waiter_ticket> {
 public:
  using platform = typename Fence::platform;

  /// Registers the callable, or runs it, see the head of this file. Allocates nothing, unless the fence has no free
  /// slot and may grow. Progress: takes the lock of the fence's callables, and registers as a thread does, with a heavy
  /// barrier. It may have to wait for the lock while another thread registers a callable, or frees the slots of
  /// released ones; but not while a callable runs. Any thread may call it.
  /// \param value  the target
  signaller_callback(const Fence& on, std::uint64_t value, Callable callable) noexcept
      : call(detail::fence_access::calls(on), value, &run), fence_{on}, callable_(std::move(callable)) {
    begin();
  }
  /// A fence without a name would be gone.
  signaller_callback(const Fence&& gone, std::uint64_t value, Callable callable) = delete;
  /// Cancels it. If its callable runs in another thread, this waits until it has returned. The callable itself may
  /// destroy the registration, and must not use its own captures afterwards.
  ~signaller_callback() { static_cast<void>(cancel()); }

  /// Cancels the registration, if its callable has not begun to run, and returns what has become of it; `waiting` if
  /// the callable itself is the caller, or what it has called. If the callable runs in another thread, this waits until
  /// it has returned. Any thread may call it. Progress: takes the lock.
  callback_state cancel() noexcept {
    keeper kept(calls().lock());
    if (calls().cancel(heap(), *this)) {
      state_ = callback_state::cancelled;
    } else if (!this->wait_until_returned(kept)) {
      return callback_state::waiting;
    }
    return state_;
  }

  /// Returns what has become of the registration. Any thread may call it. Progress: takes the lock.
  callback_state state() const noexcept {
    const keeper kept(calls().lock());
    return state_;
  }

 private:
  using call = detail::signaller_call<platform, waiter_ticket>;
  using keeper = typename call::keeper;

  using call::calls;
  auto& heap() const noexcept { return detail::fence_access::heap(fence_); }

  bool is_over() const noexcept { return detail::fence_access::is_over(fence_, this->target); }

  void begin() noexcept {
    if (detail::empty_callable<Callable>::is(callable_)) {
      state_ = callback_state::refused;
      return;
    }
    if (is_over()) return run_here();
    {
      const keeper kept(calls().lock());
      calls().add(*this, detail::fence_access::add(fence_, this->target, this));
      // The lane would not call the waker.
      if (this->ticket->is_in_lane()) return refuse();
    }
    // (I1): w2, as (F21): between (H2) (H8) and (F3), against (F22) or (F4).
    const bool is_ordered = platform::heavy_barrier() || heap().is_pinned();
    const bool is_reached = is_over();
    if (is_ordered && !is_reached) return;
    {
      const keeper kept(calls().lock());
      if (!is_reached) return refuse();
      // Otherwise a signaller runs it.
      if (!calls().cancel(heap(), *this)) return;
    }
    run_here();
  }

  static void run(call& of, keeper& kept) noexcept {
    auto& self = static_cast<signaller_callback&>(of);
    const wait_status how = self.outcome();
    const auto call_it = [&] { detail::call_reached(self.callable_, how); };
    self.call_and_end(kept, call_it, [&] {
      self.state_ = detail::state_after(how);
      self.phase = detail::call_phase::over;
    });
  }
  void run_here() noexcept {
    const wait_status how = outcome();
    detail::call_reached(callable_, how);
    state_ = detail::state_after(how);
  }
  wait_status outcome() const noexcept {
    return detail::fence_access::has_reached(fence_, this->target) ? wait_status::reached : wait_status::lost;
  }
  void refuse() noexcept {
    // A signaller may have released it. Then it has looked at the value, and runs it.
    if (calls().cancel(heap(), *this)) state_ = callback_state::refused;
  }

  const Fence& fence_;
  Callable callable_;
  callback_state state_ = callback_state::waiting;
};

/// Registers a callable that runs in the thread whose signal reaches the target, see signaller_callback.
/// \param on  a fence with fence_options::callbacks, which must outlive the registration
template <class Platform, fence_options Options, detail::reached_callable Callable>
  requires detail::runs_callbacks<detail::fence_core<Platform, Options>>
[[nodiscard]] auto call_in_signaller(const detail::fence_core<Platform, Options>& on, std::uint64_t target,
                                     Callable callable) noexcept {
  return signaller_callback<detail::fence_core<Platform, Options>, Callable>(on, target, std::move(callable));
}
/// The same for a view of a fence.
template <detail::runs_callbacks Fence, detail::reached_callable Callable>
[[nodiscard]] auto call_in_signaller(const timeline_view<Fence>& on, std::uint64_t target, Callable callable) noexcept {
  return signaller_callback<Fence, Callable>(detail::fence_access::followed(on), target, std::move(callable));
}
/// A fence without a name would be gone. Not a constraint, about which a compiler says more.
template <class Platform, fence_options Options, class Callable, std::enable_if_t<Options.callbacks, int> = 0>
void call_in_signaller(const detail::fence_core<Platform, Options>&& gone, std::uint64_t target,
                       Callable callable) = delete;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_SIGNALLER_CALLBACK_HPP
