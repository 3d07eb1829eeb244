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

/// The resumption of a coroutine by a loop. If that coroutine awaits something on the same loop next, the loop begins
/// the operation itself, when the resumption has returned and it has its lock again. Mostly that is at once. If the
/// coroutine was destroyed instead, and another one whose frame has the same address awaits, its operation only begins
/// later; or never, if that one is destroyed before.
struct loop_resumption {
  const void* loop;
  void* coroutine;
  void* begun = nullptr;  // the operation that the loop is to begin

  // Each shared library may have its own. A coroutine that is resumed by code of another one finds none here, and its
  // operation begins at once, as that of any other coroutine.
  static inline thread_local loop_resumption* current = nullptr;
};

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
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended_ = suspended;
    is_suspended_ = true;
    this->listen();
    if constexpr (may_defer) {
      loop_resumption* const by = loop_resumption::current;
      if (by != nullptr && by->coroutine == suspended.address() && by->loop == &this->core()) {
        by->begun = static_cast<operation*>(this);
        begins_ = by;
        return;
      }
    }
    this->begin();
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
    // Otherwise it has not begun yet.
    if (!this->core().cancel(*this)) begins_->begun = nullptr;
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
    Core& core = self.core();
    const std::coroutine_handle<> suspended = self.suspended_;
    if constexpr (may_defer) {
      loop_resumption now{&core, suspended.address()};
      resume(suspended, now, kept);
      if (now.begun != nullptr) core.begin(*static_cast<operation*>(now.begun));
    } else {
      const typename keeper::without lock(kept);
      suspended.resume();
    }
  }
  static void resume(std::coroutine_handle<> suspended, loop_resumption& now, keeper& kept) {
    struct restored {
      ~restored() { loop_resumption::current = before; }
      loop_resumption* before;
    };
    const typename keeper::without lock(kept);
    const restored at_the_end{std::exchange(loop_resumption::current, &now)};
    suspended.resume();
  }

  /// Under a model checker all threads are one.
  static constexpr bool may_defer = !requires { Core::platform::spin_looks(); };

  std::coroutine_handle<> suspended_;
  loop_resumption* begins_ = nullptr;  // that is to begin the operation, if it has not begun
  bool is_suspended_ = false;          // and the loop is there; needs no lock, unlike the phase
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
