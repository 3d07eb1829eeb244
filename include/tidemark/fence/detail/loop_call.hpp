// SPDX-License-Identifier: BSL-1.0
//
// How a loop calls a user's callable: that of a registration or a task, for whose end other threads may wait and which
// may destroy its own object (loop_call), and one that the loop itself keeps (posted_call).
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_CALL_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_CALL_HPP

#include <memory>
#include <utility>

#include "../../platform/platform.hpp"
#include "loop_operation.hpp"

namespace tidemark::detail {

/// Returns a value that differs from that of every other thread. A platform may have one of its own.
template <class Platform>
auto current_thread() noexcept {
  if constexpr (requires { Platform::current_thread(); }) {
    return Platform::current_thread();
  } else {
    static thread_local const char mark = 0;
    return &mark;
  }
}

/// One call for whose end other threads may wait, and whose object the callable itself may destroy.
template <platform Platform>
class loop_call {
 public:
  using keeper = typename loop_work<Platform>::keeper;

  /// Calls `callable` without the loop's lock. Afterwards `end` is called with the lock, unless the call has been
  /// destroyed. What the callable throws is passed on.
  template <class Core, class Callable, class End>
  void operator()(Core& loop, keeper& kept, const Callable& callable, const End& end) {
    bool is_destroyed = false;
    is_destroyed_ = &is_destroyed;
    is_awaited_ = false;
    runner_ = current_thread<Platform>();
    // Even if the callable throws.
    struct finish {
      ~finish() {
        if (is_destroyed) return;
        end();
        if (of.is_awaited_) loop.ends().wake_all();
      }
      const bool& is_destroyed;
      loop_call& of;
      Core& loop;
      const End& end;
    };
    const finish finishing{is_destroyed, *this, loop, end};
    const typename keeper::without lock(kept);
    callable();
  }

  /// Waits until the call of `called` is over that another thread makes. Returns false if this thread makes it.
  template <class Core>
  bool wait_for_end(Core& loop, keeper& kept, const loop_work<Platform>& called) noexcept {
    while (called.phase == loop_phase::running) {
      if (runner_ == current_thread<Platform>()) return false;
      is_awaited_ = true;
      loop.ends().wait(kept);
    }
    return true;
  }

  /// The callable destroys the object whose part this is.
  void destroyed() noexcept { *is_destroyed_ = true; }

 private:
  decltype(current_thread<Platform>()) runner_{};
  bool* is_destroyed_ = nullptr;
  bool is_awaited_ = false;
};

/// A callable in memory that the loop owns, for one call.
template <platform Platform, class Callable>
class posted_call : public loop_work<Platform> {
 public:
  explicit posted_call(Callable&& callable) : loop_work<Platform>{&act, true}, callable_(std::move(callable)) {}

 private:
  using keeper = typename loop_work<Platform>::keeper;

  static void act(loop_work<Platform>& of, loop_action what, keeper& kept) {
    // What it captures may use the loop when it is destroyed, too.
    const typename keeper::without lock(kept);
    const std::unique_ptr<posted_call> self(static_cast<posted_call*>(&of));
    if (what == loop_action::run) self->callable_();
  }

  Callable callable_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_CALL_HPP
