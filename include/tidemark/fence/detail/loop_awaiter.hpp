// SPDX-License-Identifier: BSL-1.0
//
// What a coroutine awaits on a loop. All of it lies in the coroutine's frame.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_AWAITER_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_AWAITER_HPP

#include <coroutine>
#include <cstddef>
#include <utility>

#include "../../platform/platform.hpp"
#include "loop_operation.hpp"
#include "loop_waits.hpp"
#include "user_call.hpp"

namespace tidemark::detail {

/// Suspends a coroutine until `Count` values are reached or any of them is, until the deadline or until the stop. The
/// loop resumes it.
/// \tparam Core    the loop's
/// \tparam Result  makes the result of the `co_await` of the operation
template <class Core, std::size_t Count, class Token, class Result>
class loop_awaiter : private loop_waits<Core, Count, Token> {
 public:
  /// \param targets  an array of `Count` awaited targets
  loop_awaiter(Core& on, loop_needs what, const auto& targets, deadline until, Token token) noexcept
      : base(on, what, &act, targets, std::move(token)) {
    this->end_at(until);
  }
  /// A coroutine may be destroyed while it is suspended, if no other thread runs the loop.
  ~loop_awaiter() {
    if (is_suspended_) cancel();
  }

  bool await_ready() noexcept { return this->is_reached_already(); }
  /// The operation begins at once, also in a resumption by the loop itself. The loop can't do it later: whoever else
  /// runs in that resumption goes on next, and may block, run the loop or throw before the loop is back.
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended_ = suspended;
    is_suspended_ = true;
    this->phase = call_phase::idle;  // it may have been awaited before; a stop that comes now is kept
    this->listen();
    this->begin();
    // From here on another thread may resume the coroutine, which may destroy this object.
  }
  auto await_resume() noexcept {
    this->stop_listening();
    return Result{}(this->status, this->index);
  }

 private:
  using base = loop_waits<Core, Count, Token>;
  using operation = typename Core::operation;
  using keeper = typename Core::keeper;

  [[gnu::noinline]] void cancel() noexcept {
    const keeper kept(this->core().lock());
    static_cast<void>(this->core().cancel(*this));
  }

  static void act(typename Core::work& of, loop_action what, keeper& kept) {
    auto& self = static_cast<loop_awaiter&>(static_cast<operation&>(of));
    self.phase = call_phase::over;
    self.is_suspended_ = false;
    if (what == loop_action::drop) {
      // The token may be triggered when there is no loop any more.
      const typename keeper::without lock(kept);
      return self.stop_listening();
    }
    const std::coroutine_handle<> suspended = self.suspended_;
    const typename keeper::without lock(kept);
    suspended.resume();
  }

  std::coroutine_handle<> suspended_;
  bool is_suspended_ = false;  // and the loop is there; needs no lock, unlike the phase
};

/// Suspends a coroutine, which a thread that runs the loop resumes soon.
template <class Core>
class loop_switch : private Core::work {
 public:
  explicit loop_switch(Core& to) noexcept : Core::work(&act), core_{to} {}
  /// A coroutine may be destroyed while it is suspended, if no other thread runs the loop.
  ~loop_switch() {
    if (is_suspended_) retract();
  }

  static constexpr bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended_ = suspended;
    is_suspended_ = true;
    core_.post(*this);
  }
  static constexpr void await_resume() noexcept {}

 private:
  [[gnu::noinline]] void retract() noexcept {
    const typename Core::keeper kept(core_.lock());
    core_.retract(*this);
  }

  static void act(typename Core::work& of, loop_action what, typename Core::keeper& kept) {
    auto& self = static_cast<loop_switch&>(of);
    self.phase = call_phase::over;
    self.is_suspended_ = false;
    if (what == loop_action::drop) return;
    const std::coroutine_handle<> suspended = self.suspended_;
    const typename Core::keeper::without lock(kept);
    suspended.resume();
  }

  Core& core_;
  std::coroutine_handle<> suspended_;
  bool is_suspended_ = false;  // and the loop is there; needs no lock, unlike the phase
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_AWAITER_HPP
