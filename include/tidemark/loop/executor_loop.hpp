// SPDX-License-Identifier: BSL-1.0
//
// executor_loop: a loop that an executor of yours runs, a thread pool for example. Callables and coroutines that wait
// on it go on in the executor's threads, and no thread sleeps in the loop.
//
//   tidemark::executor_loop<thread_pool> loop(pool);
//   co_await loop.reached(uploaded, 3);                 goes on in a thread of the pool; if 3 is reached already, here
//   auto drawn = loop.on_reached(uploaded, 3, draw);    calls draw() in a thread of the pool
//
// An executor has two functions, for the turns that the loop asks for:
//
//   executor.execute(turn)           calls turn() soon, in a thread of its choice
//   executor.execute_at(at, turn)    calls turn() at a point of the steady clock, or later
//
// Any thread may call these two functions, also a signaller in the middle of a signal. So they must not block, nor
// throw (std::terminate), nor use the loop, nor call the turn before they return. A turn is copyable, and as large as a
// shared pointer and a time. Once the function has returned, any thread may call the turn, at any time, even after the
// loop has ended: it does nothing then. At any time, execute() has at most one turn that it has not called yet.
// execute_at() may have several: the loop takes none back when it asks for an earlier time. A turn runs at most 64
// callables, and asks for another one if more are ready, so that the executor can do something else in between. While a
// turn runs, the loop asks for no other one: as a rule callables run one after another, also on a pool of many threads.
// A turn passes on what a callable throws, and the loop goes on with the next turn.
//
// In all other respects it is a wait_loop; it may be polled and run by other threads beside the executor's.
// descriptor() returns -1 with errno ENOTSUP, and on_readable() and on_writable() return a watch whose error() is
// ENOTSUP.
#ifndef TIDEMARK_LOOP_EXECUTOR_LOOP_HPP
#define TIDEMARK_LOOP_EXECUTOR_LOOP_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"
#include "../platform/tools/park_lock.hpp"
#include "detail/loop_runner.hpp"
#include "detail/loop_word.hpp"
#include "tools/loop_operation.hpp"
#include "wait_loop.hpp"

namespace tidemark::detail {

// loop_turns: the outside_sleep of a loop that an executor runs. To wake the loop is to let the executor run a turn. A
// turn polls the loop, and leaves it again.
//
// The executor may keep turns for longer than the loop lives: a turn that comes too late does nothing.

/// \tparam Core  the loop's
template <class Core>
class loop_turns : public outside_sleep, public std::enable_shared_from_this<loop_turns<Core>> {
 public:
  loop_turns(Core& core, loop_runner<Core>& runner) noexcept : core_{core}, runner_{runner} {}

  /// Polls the loop. Throws what a callable throws.
  /// \param at  the time for which the turn was made; `no_deadline` if it was made to wake the loop
  void take(deadline at) {
    // (Y20): relaxed alone: whoever finds the mark relies on this turn. If this turn misses what that thread did, the
    // loop does not: it finds the change when it leaves, see loop_word.hpp.
    if (at == no_deadline) is_awaited_.store(0, std::memory_order_relaxed);
    struct turn {
      turn(loop_turns& of, deadline at) noexcept : turns{of}, is_taken{of.begin(at)} {}
      ~turn() {
        if (is_taken) turns.end();
      }
      loop_turns& turns;
      const bool is_taken;
    };
    const turn taken(*this, at);
    if (!taken.is_taken) return;
    lock_keeper kept(core_.lock());
    std::size_t ran = 0;
    static_cast<void>(runner_.run_ready(never_stops{}, kept, [&] { return ++ran < most_runs; }));
  }

  /// The loop ends. Waits for the turns that are under way.
  void close() noexcept {
    lock_keeper kept(lock_);
    is_closed_ = true;
    while (turns_ != 0) ends_.wait(kept);
  }

  void wake() noexcept override {
    // (Y21): relaxed alone, like (Y20). An exchange, so that one turn at a time is made to wake the loop.
    if (is_awaited_.exchange(1, std::memory_order_relaxed) == 0) make_turn(no_deadline);
  }
  void set(deadline at) noexcept override {
    {
      const lock_keeper kept(lock_);
      // The turn that comes before sets it again.
      if (at >= set_) return;
      set_ = at;
    }
    make_turn(at);
  }
  void clear() noexcept override {}
  void sleep(deadline, deadline) noexcept override {
    TIDEMARK_ASSERT(false, "a loop of an executor has no descriptor to sleep on");
  }

 protected:
  ~loop_turns() = default;

 private:
  using platform = typename Core::platform;

  /// How many callables a turn runs before the executor can do something else.
  static constexpr std::size_t most_runs = 64;

  /// Lets the executor take a turn, soon or at this time.
  virtual void make_turn(deadline at) noexcept = 0;

  bool begin(deadline at) noexcept {
    const lock_keeper kept(lock_);
    if (is_closed_) return false;
    if (at != no_deadline) {
      // An earlier turn has been made since, which has seen to this one's time, or will.
      if (at != set_) return false;
      set_ = no_deadline;
    }
    ++turns_;
    return true;
  }
  void end() noexcept {
    const lock_keeper kept(lock_);
    if (--turns_ == 0 && is_closed_) ends_.wake_all();
  }

  Core& core_;
  loop_runner<Core>& runner_;
  typename platform::template atomic<std::uint32_t> is_awaited_{0};  // a turn was made to wake the loop
  park_lock<platform> lock_;
  lock_condition<platform> ends_;
  std::size_t turns_ = 0;       // that are under way
  deadline set_ = no_deadline;  // when the next turn that waits for a time is due
  bool is_closed_ = false;      // the loop has ended, or ends as soon as no turn is under way
};

template <class Core, class Executor>
class executor_turns;

}  // namespace tidemark::detail

namespace tidemark {

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

/// Keeps the turns alive for longer than the loop's own data. It is a base class so that it is destroyed last:
/// signallers may call the turns until the loop has ended its last registration with a fence.
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
  /// Waits until no turn is under way, so no callable of the loop may destroy it (asserted; without assertions it waits
  /// for ever). Otherwise like that of a wait_loop.
  ~basic_executor_loop() {
    {
      auto& of = detail::loop_access::core_of(*this);
      const detail::lock_keeper kept(of.lock());
      TIDEMARK_ASSERT(!of.is_run_here(), "a loop was destroyed by code that it runs");
    }
    this->turns_->close();
  }

 private:
  using turns = detail::executor_turns<detail::core_of_loop<Platform>, Executor>;
};

/// A loop that an executor runs, for fences of all kinds.
template <loop_executor Executor>
using executor_loop = basic_executor_loop<native_platform, Executor>;

}  // namespace tidemark

#endif  // TIDEMARK_LOOP_EXECUTOR_LOOP_HPP
