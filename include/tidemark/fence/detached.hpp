// SPDX-License-Identifier: BSL-1.0
//
// detached: the return type of a coroutine that is started and forgotten.
//
//   tidemark::detached upload(tidemark::wait_loop& loop, const tidemark::fence& copied) {
//     const auto status = co_await loop.reached(copied, 1);
//     ...
//   }
//   upload(loop, copied);  // runs to its first wait
//
// The coroutine runs in its caller up to the first wait that is not over yet, and goes on where that wait resumes it.
// Its frame is destroyed when it ends. Nobody can wait for its end; where that matters, let it signal a fence there.
//
// Parameters are copied or moved into the frame; references are not prolonged. What a reference names must outlive the
// coroutine, not only the call. The same is true of what a lambda captures: pass it as a parameter instead.
//
// An exception that leaves the coroutine ends the program by std::terminate(). One that comes before the coroutine
// begins (there is no memory for the frame, or the copy of a parameter throws) reaches the caller.
//
// What is not noticed: a coroutine whose last wait never ends. Its frame is never freed then. A coroutine that must be
// destroyed while it waits needs a type that owns its frame. Every wait of this library may be destroyed so, but only
// while no other thread can end it: no other thread runs the loop (wait_loop.hpp), or signals or poisons the fence
// (signaller_awaiter.hpp).
#ifndef TIDEMARK_FENCE_DETACHED_HPP
#define TIDEMARK_FENCE_DETACHED_HPP

#include <coroutine>
#include <exception>

namespace tidemark {

/// A coroutine that begins at once, and whose frame goes when it ends; see the head of this file.
struct detached {
  struct promise_type {
    detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_DETACHED_HPP
