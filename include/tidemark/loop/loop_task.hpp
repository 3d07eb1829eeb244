// SPDX-License-Identifier: BSL-1.0
//
// loop_task: a callable that any thread posts to a loop, as often as it likes, without an allocation.
//
//   auto redraw = loop.make_task([&] { draw(); });
//   redraw.post();
#ifndef TIDEMARK_LOOP_LOOP_TASK_HPP
#define TIDEMARK_LOOP_LOOP_TASK_HPP

#include <atomic>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../platform/platform.hpp"
#include "../platform/tools/user_call.hpp"
#include "tools/loop_operation.hpp"

namespace tidemark {

template <platform Platform>
class basic_loop;

/// A callable that can be posted to a loop any number of times, without an allocation. Posts that come before it begins
/// to run count as one. Two threads never run it at the same time: if it is posted while it runs, it runs again
/// afterwards, unless it is being destroyed.
/// \tparam Callable  takes nothing
template <platform Platform, std::invocable Callable>
class basic_loop_task : private detail::loop_work<Platform>, private detail::loop_guest {
 public:
  /// A task of the loop `on`. The loop must outlive it, which the loop's destructor asserts. Progress: takes the loop's
  /// lock. Any thread may call it.
  basic_loop_task(basic_loop<Platform>& on, Callable callable)
      : detail::loop_work<Platform>(&act), loop_{&detail::loop_access::core_of(on)}, callable_(std::move(callable)) {
    const keeper kept(loop_->lock());
    loop_->guests().push(*this);
  }
  basic_loop_task(const basic_loop_task&) = delete;
  basic_loop_task& operator=(const basic_loop_task&) = delete;
  /// Takes the task back, if it was posted and does not run yet. If it runs on another thread, this waits until that
  /// run has returned. It does not run again, even if the callable posts it meanwhile. Every post() that is not made by
  /// the callable itself must have returned before. The callable itself may destroy the task, and must not use its own
  /// captures afterwards.
  ~basic_loop_task() {
    if (this->has_lost_loop) return;
    {
      keeper kept(loop_->lock());
      loop_->guests().remove(*this);
      if (!loop_->retract(*this)) static_cast<void>(call_.wait_for_end(*loop_, kept, this->phase));
    }
    if (this->phase == detail::call_phase::running) call_.destroyed();
  }

  /// Lets the loop run the task soon. Returns false, and does nothing, if it was posted before and has not begun to run
  /// since, or if the loop was destroyed. Progress: lock-free, except for a system call if the loop sleeps, or for a
  /// call of the executor if one runs the loop. Any thread may call it.
  bool post() noexcept {
    if (this->has_lost_loop) return false;
    // (Y13): acq_rel. Acquire, pairs with (Y14): the links of the last run are free. Release, pairs with (Y14): a run
    // that this call relies on sees what was done before it. Not stronger: no other word is involved.
    if (is_posted_.exchange(1, std::memory_order_acq_rel) != 0) return false;
    loop_->post(*this);
    return true;
  }

 private:
  using core = std::remove_reference_t<decltype(detail::loop_access::core_of(std::declval<basic_loop<Platform>&>()))>;
  using keeper = typename detail::loop_work<Platform>::keeper;

  static void act(detail::loop_work<Platform>& of, detail::loop_action what, keeper& kept) {
    auto& self = static_cast<basic_loop_task&>(of);
    // (Y14): acq_rel, pairs with (Y13), for the reasons given there. An exchange, because a store would not see what
    // was done before a post that returned false. Not stronger, like (Y13).
    self.is_posted_.exchange(0, std::memory_order_acq_rel);
    if (what == detail::loop_action::drop) return;
    self.call_(*self.loop_, kept, self.callable_, [&] {
      // The destructor goes on, so the loop must not know the task any more.
      if (self.call_.is_awaited()) static_cast<void>(self.loop_->retract(self));
      self.loop_->has_run(self);
    });
  }

  core* loop_;
  Callable callable_;
  detail::user_call<Platform> call_;
  typename Platform::template atomic<std::uint32_t> is_posted_{0};
};

}  // namespace tidemark

#endif  // TIDEMARK_LOOP_LOOP_TASK_HPP
