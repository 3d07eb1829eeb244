// SPDX-License-Identifier: BSL-1.0
//
// unbroken_run: commands of a queue of an engine (engine_queue.hpp) that are executed without a break.
//
//   queue.wait(uploaded, 7);                     waits come before the run
//   {
//     tidemark::unbroken_run run{queue};
//     run.run(page_in, texture);
//     run.run(draw, part);
//     run.signal(drawn, 7);
//   }
//   queue.submit();
//
// What holds. One thread of the engine executes the commands of the run, one after the other. Between two of them this
// thread executes nothing else: no command of another queue, and no callable or coroutine of the engine's loop. The
// quantum of the queue does not end the turn within a run, and pause() takes effect before the run or behind it. So in
// an engine with one thread, nothing else runs between the first command and the last one.
//
// The other threads of an engine execute other queues meanwhile. Threads of the program that run the engine's loop
// count, too. If they must stand still, make the run engine-wide:
//
//   tidemark::unbroken_run run{queue, tidemark::unbroken_scope::whole_engine};
//
// Then, from the first command to the last one, no thread executes anything else of the engine. When the queue comes to
// the run, no thread begins other work. Those that are in the middle of some finish it: a turn, or a callable or
// coroutine of the loop. The last one to finish executes the run, and the others sleep until it is over. What becomes
// ready meanwhile runs afterwards. Engine-wide runs of several queues come one after the other, and every queue has
// turns in between, however many runs there are.
//
// Where an engine has such runs, none of its work may block until other work of the same engine has run, as in a wait()
// or a drain(): the other work does not begin once a run is due, so both would wait for ever, however many threads
// there are. Work may run the engine's loop, and counts as standing still while it is in there. If such a call of the
// loop ends during a run, it returns behind the run. A command of the run itself must not run the loop (asserted).
// Otherwise such a call runs nothing, and returns `stopped` at once. Nor may a command wait for the end of work that
// runs the loop meanwhile, as the destructor of that work's queue, registration or task does (asserted): such work goes
// on only behind the run. Otherwise both wait for ever. Other threads of the program are not held back, for example
// those that signal a fence or call abort().
//
// Only an abort, or the destruction of the queue, ends a run early: the rest of it is dropped, and its signals are
// logged as cancelled. Then the queue executes nothing more at all.
//
// Waits. A wait that is not reached would break the run, or hold up the whole thread. So an unbroken_run has no wait():
// that does not compile. Its end asserts that the queue itself has recorded no wait while the run was open. If one was
// recorded, end() returns `invalid`, and the commands are executed like any others, unless the program drops them with
// queue.discard().
#ifndef TIDEMARK_ENGINE_UNBROKEN_RUN_HPP
#define TIDEMARK_ENGINE_UNBROKEN_RUN_HPP

#include <cstdint>
#include <optional>
#include <utility>

#include "../platform/names.hpp"
#include "engine_queue.hpp"

namespace tidemark {

/// What executes nothing else during a run.
enum class unbroken_scope : std::uint8_t {
  one_thread,    ///< The thread that executes the run.
  whole_engine,  ///< All threads of the engine.
};

/// How a run has ended.
enum class unbroken_status : std::uint8_t {
  ended,    ///< Its commands will be executed without a break.
  invalid,  ///< It has a wait or another run within it, or was submitted or dropped before its end.
};

template <>
inline constexpr auto detail::names_of<unbroken_scope> = detail::names("one_thread", "whole_engine");
template <>
inline constexpr auto detail::names_of<unbroken_status> = detail::names("ended", "invalid");

/// Records commands that are executed without a break, from its construction to its end; see the head of this file. For
/// the thread that records the queue's commands. It can be neither copied nor moved.
///
/// It must end before the queue is submitted and before what was recorded is dropped. Otherwise it is no unbroken run,
/// and end() returns `invalid`; no assertion fails. Asserts that runs do not nest. Otherwise end() of the outer run
/// returns `invalid`.
/// \tparam Queue  a basic_engine_queue
template <class Queue>
class unbroken_run {
 public:
  /// Begins a run. Allocates now and then, as recording does, and throws what the allocation throws.
  explicit unbroken_run(Queue& on, unbroken_scope scope = unbroken_scope::one_thread)
      : queue_{on}, begun_{detail::unbroken_access::begin(on, scope == unbroken_scope::whole_engine)} {}
  unbroken_run(const unbroken_run&) = delete;
  unbroken_run& operator=(const unbroken_run&) = delete;
  /// Ends the run, unless end() did.
  ~unbroken_run() { static_cast<void>(end()); }

  /// Ends the run. What is recorded later does not belong to it. A second call returns the same again. Progress: O(n)
  /// in the commands of the run.
  unbroken_status end() noexcept {
    if (!ended_) {
      ended_ = detail::unbroken_access::end(queue_, begun_) ? unbroken_status::ended : unbroken_status::invalid;
    }
    return *ended_;
  }

  /// Do what the queue's functions of the same names do.
  template <class... Arguments>
  void run(Arguments&&... arguments)
    requires requires { std::declval<Queue&>().run(std::forward<Arguments>(arguments)...); }
  {
    queue_.run(std::forward<Arguments>(arguments)...);
  }
  template <class Fence, class... Entry>
  void signal(Fence&& output, std::uint64_t value, const Entry&... entry)
    requires requires { std::declval<Queue&>().signal(output, value, entry...); }
  {
    queue_.signal(output, value, entry...);
  }

 private:
  Queue& queue_;
  const decltype(detail::unbroken_access::begin(std::declval<Queue&>(), false)) begun_;
  std::optional<unbroken_status> ended_;
};
template <class Queue>
unbroken_run(Queue&) -> unbroken_run<Queue>;
template <class Queue>
unbroken_run(Queue&, unbroken_scope) -> unbroken_run<Queue>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_UNBROKEN_RUN_HPP
