// SPDX-License-Identifier: BSL-1.0
//
// executor_loop: a loop that an executor of yours runs, a thread pool for example. Callables and coroutines that wait
// on it go on in the executor's threads, and no thread sleeps in the loop.
//
//   tidemark::executor_loop<thread_pool> loop(pool);
//   co_await loop.reached(uploaded, 3);                 goes on in a thread of the pool
//   auto drawn = loop.on_reached(uploaded, 3, draw);    and so does this
//
// An executor has two functions, for the turns that the loop asks for:
//
//   executor.execute(turn)           calls turn() soon, in a thread of its choice
//   executor.execute_at(at, turn)    calls turn() at a point of the steady clock, or later
//
// They may be called by any thread: by signallers, too, in the middle of a signal, so they must not block. They must
// not throw (std::terminate), nor call the turn themselves, nor use the loop. A turn is copyable, as large as a shared
// pointer and a time, and may be called by any thread, at any time, even after the loop has ended; it does nothing
// then. There is at most one turn at a time that was given to execute() and was not called. A turn runs at most 64
// callables and asks for another one, so that the executor can do something else in between. It passes on what a
// callable throws, and the loop goes on with the next turn.
//
// In all other respects it is a wait_loop; it may be polled and run by other threads beside the executor's. It has no
// descriptor(), and watches none.
#ifndef TIDEMARK_FENCE_EXECUTOR_LOOP_HPP
#define TIDEMARK_FENCE_EXECUTOR_LOOP_HPP

#include <chrono>
#include <memory>
#include <utility>

#include "../platform/platform.hpp"
#include "detail/loop_access.hpp"
#include "detail/loop_turns.hpp"
#include "detail/park_lock.hpp"
#include "wait_loop.hpp"

namespace tidemark {

namespace detail {

template <class Core, class Executor>
class executor_turns;

}  // namespace detail

/// What an executor runs to run a loop.
template <platform Platform>
class basic_loop_turn {
 public:
  /// Runs what is ready, see the head of this file.
  void operator()() const { turns_->take(at_); }

 private:
  using turns = detail::loop_turns<detail::core_of_loop<Platform>>;
  template <class Core, class Executor>
  friend class detail::executor_turns;

  basic_loop_turn(std::shared_ptr<turns> of, deadline at) noexcept : turns_(std::move(of)), at_{at} {}

  std::shared_ptr<turns> turns_;
  deadline at_;
};

/// What an executor runs to run an executor_loop.
using loop_turn = basic_loop_turn<native_platform>;

/// A type that can run a loop, see the head of this file.
template <class Executor, class Platform = native_platform>
concept loop_executor =
    requires(Executor& executor, const basic_loop_turn<Platform>& turn, std::chrono::steady_clock::time_point at) {
      executor.execute(turn);
      executor.execute_at(at, turn);
    };

namespace detail {

template <class Core, class Executor>
class executor_turns final : public loop_turns<Core> {
 public:
  executor_turns(Core& core, loop_runner<Core>& runner, Executor& executor) noexcept
      : loop_turns<Core>(core, runner), executor_{executor} {}

 private:
  void make_turn(deadline at) noexcept override {
    basic_loop_turn<typename Core::platform> turn(this->shared_from_this(), at);
    if (at == no_deadline) {
      executor_.execute(std::move(turn));
    } else {
      executor_.execute_at(at, std::move(turn));
    }
  }

  Executor& executor_;
};

/// What outlives the loop: signallers may wake it until its last registration has ended.
template <class Turns>
struct outlives_loop {
  std::shared_ptr<Turns> turns_;
};

}  // namespace detail

/// A loop that an executor runs.
/// \tparam Platform  see basic_wait_loop
/// \tparam Executor  see the head of this file
template <platform Platform, loop_executor<Platform> Executor>
class basic_executor_loop
    : private detail::outlives_loop<detail::executor_turns<detail::core_of_loop<Platform>, Executor>>,
      public basic_wait_loop<Platform> {
 public:
  /// Asks the executor, which must outlive the loop, for the first turn. Throws std::bad_alloc.
  explicit basic_executor_loop(Executor& on) {
    auto& of = detail::loop_access::core_of(*this);
    this->turns_ = std::make_shared<turns>(of, detail::loop_access::runner_of(*this), on);
    const detail::lock_keeper kept(of.lock());
    of.set_outside(*this->turns_);
  }
  /// Waits until no turn is under way, so no callable of the loop may destroy it. Otherwise like that of a wait_loop.
  ~basic_executor_loop() { this->turns_->close(); }

 private:
  using turns = detail::executor_turns<detail::core_of_loop<Platform>, Executor>;
};

/// A loop for fences of all kinds that an executor runs.
template <loop_executor Executor>
using executor_loop = basic_executor_loop<native_platform, Executor>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_EXECUTOR_LOOP_HPP
