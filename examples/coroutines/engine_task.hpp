// SPDX-License-Identifier: BSL-1.0
// A coroutine that is an engine: it begins when it is started, and says when it has ended, and with what failure.

#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace coroutines {

/// Is told that an engine has ended, in the thread that ran it last.
class engine_owner {
 public:
  engine_owner() = default;
  engine_owner(const engine_owner&) = delete;
  engine_owner& operator=(const engine_owner&) = delete;

  /// @param failure  null if the engine has ended by itself. Afterwards the engine does nothing more
  virtual void on_end(const std::exception_ptr& failure) noexcept = 0;

 protected:
  ~engine_owner() = default;
};

class engine_task {
 public:
  struct promise_type;
  using handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    engine_task get_return_object() { return engine_task(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    /// The owner is told when the coroutine is suspended for the last time: then it may be destroyed.
    auto final_suspend() noexcept {
      struct tells_owner {
        static bool await_ready() noexcept { return false; }
        static void await_suspend(handle ended) noexcept {
          const std::exception_ptr failure = std::move(ended.promise().failure);
          ended.promise().owner->on_end(failure);
        }
        static void await_resume() noexcept {}
      };
      return tells_owner();
    }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }

    engine_owner* owner = nullptr;
    std::exception_ptr failure;
  };

  engine_task(engine_task&& from) noexcept : handle_(std::exchange(from.handle_, {})) {}
  engine_task& operator=(engine_task&&) = delete;
  ~engine_task() {
    if (handle_) handle_.destroy();
  }

  /// Runs it until it waits for something, or has ended. To be called once.
  void start(engine_owner& owner) {
    handle_.promise().owner = &owner;
    handle_.resume();
  }

 private:
  explicit engine_task(handle made) : handle_(made) {}

  handle handle_;
};

}  // namespace coroutines
