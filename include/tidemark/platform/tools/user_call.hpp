// SPDX-License-Identifier: BSL-1.0
//
// user_call: runs a user's callable. Other threads can wait until it returns, and it may destroy the object that runs
// it.
#ifndef TIDEMARK_PLATFORM_TOOLS_USER_CALL_HPP
#define TIDEMARK_PLATFORM_TOOLS_USER_CALL_HPP

#include <cstdint>

#include "../platform.hpp"
#include "park_lock.hpp"

namespace tidemark::detail {

enum class call_phase : std::uint8_t {
  idle,     ///< It was not registered.
  waiting,  ///< It waits.
  ready,    ///< It is to run.
  running,  ///< It runs. What it calls may have destroyed it.
  over,     ///< It has run, or never will.
};

/// One call. Other threads may wait for its end, and the callable itself may destroy its object.
template <platform Platform>
class user_call {
 public:
  using keeper = lock_keeper<park_lock<Platform>>;

  /// Calls `callable` without the lock. Afterwards `end` is called with the lock, unless the call has been destroyed.
  /// What the callable throws is passed on.
  /// \param owner  its `ends()` is the lock_condition on which threads wait for the end
  template <class Owner, class Callable, class End>
  void operator()(Owner& owner, keeper& kept, Callable& callable, const End& end) {
    bool is_destroyed = false;
    is_destroyed_ = &is_destroyed;
    is_awaited_ = false;
    runner_ = Platform::current_thread();
    // Even if the callable throws.
    struct finish {
      ~finish() {
        if (is_destroyed) return;
        end();
        if (of.is_awaited_) owner.ends().wake_all();
      }
      const bool& is_destroyed;
      user_call& of;
      Owner& owner;
      const End& end;
    };
    const finish finishing{is_destroyed, *this, owner, end};
    const typename keeper::without lock(kept);
    callable();
  }

  /// Waits until the call is over, if another thread makes it. Returns false if this thread makes it.
  /// \param owner  its `wait_for_end()` waits until its `ends()` was woken
  /// \param phase  of the object that is called
  template <class Owner>
  bool wait_for_end(Owner& owner, keeper& kept, const call_phase& phase) noexcept {
    while (phase == call_phase::running) {
      if (runner_ == Platform::current_thread()) return false;
      is_awaited_ = true;
      owner.wait_for_end(kept);
    }
    return true;
  }

  /// Returns whether another thread waits for the end of this call. To be called with the lock.
  bool is_awaited() const noexcept { return is_awaited_; }

  /// The callable destroys the object whose part this is.
  void destroyed() noexcept { *is_destroyed_ = true; }

 private:
  decltype(Platform::current_thread()) runner_{};
  bool* is_destroyed_ = nullptr;
  bool is_awaited_ = false;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_TOOLS_USER_CALL_HPP
