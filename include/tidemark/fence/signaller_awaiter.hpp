// SPDX-License-Identifier: BSL-1.0
//
// signaller_awaiter: a coroutine that goes on in the thread whose signal reaches its value.
//
//   tidemark::callback_progress_fence uploaded;   or any fence with fence_options::callbacks
//   wait_status how = co_await tidemark::reached_in_signaller(uploaded, 3);
//
// No loop takes part: as a rule, signal() resumes the coroutine before it returns. If another thread runs callables of
// the fence at that moment, that thread resumes it. What signaller_callback.hpp says of a callable is true of what the
// coroutine does until it suspends itself again: it delays the signaller, it must not throw, and it may await the same
// fence. It must not destroy that fence (asserted), not even one that joins_signallers, because the signaller is still
// inside. Coroutines that signal from fence to fence nest in the same way.
//
// Such a wait has no time limit and no stop token, since nobody would look after them. For those, and wherever what
// follows takes longer than the wake-up of a thread, use a loop: `co_await loop.reached_for(uploaded, 3, 10ms)`. Each
// suspended coroutine takes a slot of the fence, where those on a loop share one.
#ifndef TIDEMARK_FENCE_SIGNALLER_AWAITER_HPP
#define TIDEMARK_FENCE_SIGNALLER_AWAITER_HPP

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <optional>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "callback_state.hpp"
#include "fence.hpp"
#include "signaller_callback.hpp"
#include "timeline.hpp"
#include "tools/fence_operations.hpp"
#include "wait.hpp"

namespace tidemark {

/// What reached_in_signaller() returns, for `co_await` by one coroutine at a time. It lies in the coroutine's frame,
/// and can't be moved.
/// \tparam Fence   the kind of fence, with fence_options::callbacks
/// \tparam Handle  has resume(), as std::coroutine_handle does
template <detail::runs_callbacks Fence, class Handle = std::coroutine_handle<>>
class signaller_awaiter {
 public:
  signaller_awaiter(const Fence& on, std::uint64_t target) noexcept : fence_{on}, target_{target} {}
  signaller_awaiter(const signaller_awaiter&) = delete;
  signaller_awaiter& operator=(const signaller_awaiter&) = delete;

  bool await_ready() noexcept {
    if (is_suspended_ || !detail::fence_access::is_over(fence_, target_)) return false;
    const bool is_reached = detail::fence_access::has_reached(fence_, target_);
    status_ = is_reached ? wait_status::reached : wait_status::lost;
    return true;
  }
  bool await_suspend(Handle suspended) noexcept {
    TIDEMARK_ASSERT(!is_suspended_, "an awaitable of a fence was awaited by two coroutines at once");
    // The status is still `timeout` then.
    if (is_suspended_) return false;
    is_suspended_ = true;
    registration_.emplace(fence_, target_, goes_on{this});
    if (registration_->state() == callback_state::refused) {
      is_suspended_ = false;
      return false;
    }
    suspended_ = suspended;
    // The second one of this and (I3) lets the coroutine go on.
    // (I2): acq_rel. Release, pairs with (I3), for the suspended coroutine and the registration; acquire, pairs with
    // (I3), for the status. Not stronger: no other word is involved.
    if (has_one_.exchange(1, std::memory_order_acq_rel) == 0) return true;
    is_suspended_ = false;
    return false;
  }
  wait_status await_resume() const noexcept { return status_; }

 private:
  struct goes_on {
    signaller_awaiter* of;
    void operator()(wait_status how) const noexcept {
      of->status_ = how;
      // (I3): acq_rel. Release, pairs with (I2), for the status; acquire, pairs with (I2), for the suspended coroutine.
      // Not stronger, like (I2).
      if (of->has_one_.exchange(1, std::memory_order_acq_rel) == 0) return;
      of->is_suspended_ = false;
      // It may destroy this object.
      Handle suspended = of->suspended_;
      suspended.resume();
    }
  };

  const Fence& fence_;
  std::uint64_t target_;
  // What the `co_await` returns if the fence refuses the registration, or if another coroutine is suspended.
  wait_status status_ = wait_status::timeout;
  Handle suspended_{};
  bool is_suspended_ = false;                                            // a coroutine, or it is about to be
  typename Fence::platform::template atomic<std::uint32_t> has_one_{0};  // 1 once (I2) or (I3), above, has run
  std::optional<signaller_callback<Fence, goes_on>> registration_;
};

/// Suspends a coroutine that awaits the result until the timeline has reached the target. A signaller resumes it, or it
/// goes on at once if the target was reached before. The `co_await` returns `reached`; `lost` if the timeline was
/// poisoned before; or `timeout`, at once, if the fence can't take the registration, see signaller_callback.hpp.
/// What is returned is for one coroutine at a time (asserted): another one goes on at once, with `timeout`. Allocates
/// nothing, unless the fence has no free slot and may grow. Any thread may await. Progress: as for a
/// signaller_callback; two loads of the value if the target was reached before.
/// \param on  a fence with fence_options::callbacks, which must outlive the wait
template <class Platform, fence_options Options>
  requires detail::runs_callbacks<detail::fence_core<Platform, Options>>
[[nodiscard]] auto reached_in_signaller(const detail::fence_core<Platform, Options>& on,
                                        std::uint64_t target) noexcept {
  return signaller_awaiter<detail::fence_core<Platform, Options>>(on, target);
}
/// The same for a view of a fence.
template <detail::runs_callbacks Fence>
[[nodiscard]] auto reached_in_signaller(const timeline_view<Fence>& on, std::uint64_t target) noexcept {
  return signaller_awaiter<Fence>(detail::fence_access::followed(on), target);
}

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_SIGNALLER_AWAITER_HPP
