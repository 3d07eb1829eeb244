// SPDX-License-Identifier: BSL-1.0
//
// What a coroutine awaits on a loop. All of it lies in the coroutine's frame.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_AWAITER_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_AWAITER_HPP

#include <array>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "../../platform/platform.hpp"
#include "limits.hpp"
#include "loop_operation.hpp"

namespace tidemark::detail {

/// The resumption of a coroutine by a loop. If that coroutine awaits something on the same loop next, the loop begins
/// the operation itself, when the resumption has returned and it has its lock again. Mostly that is at once. If the
/// coroutine was destroyed instead, and another one whose frame has the same address awaits, its operation only begins
/// later.
struct loop_resumption {
  const void* loop;
  void* coroutine;
  void* begun = nullptr;  // the operation

  static inline thread_local loop_resumption* current = nullptr;
};

/// Suspends a coroutine until `Count` values are reached or any of them is, until the deadline or until the stop. The
/// loop resumes it.
/// \tparam Core    the loop's
/// \tparam Result  makes the result of the `co_await` of the operation
template <class Core, std::size_t Count, class Token, class Result>
class loop_awaiter : private Core::operation {
 public:
  /// \param targets  an array of `Count` awaited targets
  loop_awaiter(Core& on, loop_needs what, const auto& targets, deadline until, Token token) noexcept
      : loop_awaiter(on, what, targets, until, std::move(token), std::make_index_sequence<Count>{}) {}
  loop_awaiter(const loop_awaiter&) = delete;
  loop_awaiter& operator=(const loop_awaiter&) = delete;
  /// A coroutine may be destroyed while it is suspended, if no other thread runs the loop.
  ~loop_awaiter() {
    if (this->loop == nullptr || this->phase == call_phase::over) return;
    const keeper kept(core_.lock());
    core_.cancel(*this);
  }

  bool await_ready() noexcept { return this->look_for_reached(); }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended_ = suspended;
    // Before the operation begins, because another thread may end it then and destroy this object. A stop that comes
    // in between is kept in the operation.
    stopping_.emplace(token_, stop{this});
    if constexpr (may_defer) {
      loop_resumption* const by = loop_resumption::current;
      if (by != nullptr && by->coroutine == suspended.address() && by->loop == &core_) {
        by->begun = static_cast<operation*>(this);
        return;
      }
    }
    const keeper kept(core_.lock());
    core_.begin(*this);
  }
  auto await_resume() noexcept {
    stopping_.reset();
    return Result{}(this->status, this->index);
  }

 private:
  using operation = typename Core::operation;
  using wait = typename operation::wait;
  using keeper = typename Core::keeper;

  struct stop {
    loop_awaiter* of;
    void operator()() const noexcept {
      const keeper kept(of->core_.lock());
      of->core_.stop(*of);
    }
  };

  template <std::size_t... Index>
  loop_awaiter(Core& on, loop_needs what, const auto& targets, deadline until, Token token,
               std::index_sequence<Index...>) noexcept
      : operation(what, &act),
        core_{on},
        waits_{wait(targets[Index], *this, &Core::on_release)...},
        token_{std::move(token)} {
    this->waits = std::span{waits_.data(), Count};
    timer_.at = until;
    if (until != forever) this->timer = &timer_;
  }

  static void act(typename Core::work& of, loop_action what, keeper& kept) {
    auto& self = static_cast<loop_awaiter&>(static_cast<operation&>(of));
    self.phase = call_phase::over;
    if (what == loop_action::drop) return;
    Core& core = self.core_;
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

  Core& core_;
  std::array<wait, Count> waits_;
  typename operation::timer_type timer_;
  std::coroutine_handle<> suspended_;
  [[no_unique_address]] Token token_;
  std::optional<typename stop_callback_for<Token, stop>::type> stopping_;
};

/// Suspends a coroutine, which a thread that runs the loop resumes soon.
template <class Core>
class loop_switch : private Core::work {
 public:
  explicit loop_switch(Core& to) noexcept : Core::work(&act), core_{to} {}

  static constexpr bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended_ = suspended;
    core_.post(*this);
  }
  static constexpr void await_resume() noexcept {}

 private:
  static void act(typename Core::work& of, loop_action what, typename Core::keeper& kept) {
    if (what == loop_action::drop) return;
    const std::coroutine_handle<> suspended = static_cast<loop_switch&>(of).suspended_;
    const typename Core::keeper::without lock(kept);
    suspended.resume();
  }

  Core& core_;
  std::coroutine_handle<> suspended_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_AWAITER_HPP
