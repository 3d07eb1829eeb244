// SPDX-License-Identifier: BSL-1.0
//
// A coroutine that a test starts and owns.
#ifndef TIDEMARK_TESTS_SUPPORT_COROUTINE_HPP
#define TIDEMARK_TESTS_SUPPORT_COROUTINE_HPP

#include <coroutine>
#include <exception>
#include <utility>

namespace testing {

/// Runs until its first suspension when it is called, and is destroyed with this object, wherever it stands. What it
/// throws comes out of the call that has resumed it.
class coroutine {
 public:
  struct promise_type {
    coroutine get_return_object() { return coroutine{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };

  coroutine(coroutine&& from) noexcept : handle_{std::exchange(from.handle_, {})} {}
  coroutine& operator=(coroutine&&) = delete;
  ~coroutine() {
    if (handle_) handle_.destroy();
  }
  bool is_done() const { return handle_.done(); }
  std::coroutine_handle<> handle() const { return handle_; }

 private:
  explicit coroutine(std::coroutine_handle<promise_type> handle) : handle_{handle} {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_COROUTINE_HPP
