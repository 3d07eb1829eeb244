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
// Not promised: that the other threads of an engine with several threads stand still meanwhile. They execute other
// queues. If that must not be, give the engine one thread. Threads of the program that run the engine's loop count,
// too.
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

/// How a run has ended.
enum class unbroken_status : std::uint8_t {
  ended,    ///< Its commands will be executed without a break.
  invalid,  ///< It has a wait or another run within it, or was submitted or dropped before its end.
};

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
  explicit unbroken_run(Queue& on) : queue_{on}, begun_{detail::unbroken_access::begin(on)} {}
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
  const decltype(detail::unbroken_access::begin(std::declval<Queue&>())) begun_;
  std::optional<unbroken_status> ended_;
};
template <class Queue>
unbroken_run(Queue&) -> unbroken_run<Queue>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_UNBROKEN_RUN_HPP
