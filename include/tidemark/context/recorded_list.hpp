// SPDX-License-Identifier: BSL-1.0
//
// recorded_list: a finished list of commands, as command_context::finish() returns it. It is executed once, in order.
//
//   queue.submit([&](std::uint64_t serial) { hand_over(serial, std::move(list)); });      a queue of the program's own
//   ...
//   list.execute_on(queue);                          its executor
//   queue.complete();
//
//   list.record_on(engine_queue);                    a queue of an engine: its submitter
//   engine_queue.submit();
//
// If commands use renamed resources, the list must be adopted first, in the order in which lists are submitted:
//
//   list.adopt(7);                                   the submitter; the list's end signals 7 on their timeline
//
// A list belongs to one thread at a time. The hand-over to another thread must synchronize, as submit() of a queue of
// an engine does. Lists do not depend on one another, and they may outlive the context and the storage.
#ifndef TIDEMARK_CONTEXT_RECORDED_LIST_HPP
#define TIDEMARK_CONTEXT_RECORDED_LIST_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../fence/wait.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "detail/recorded_commands.hpp"

namespace tidemark {

/// A finished list; see the head of this file. Movable. One that was moved from is empty, and one that another list is
/// moved to drops its own commands first. While commands are executed, cancelled, dropped or adopted, what they call
/// must not change, move or destroy the list. Asserts that. Otherwise such a call does nothing, or returns `stopped`;
/// if it destroys the list, the behavior is undefined.
/// \tparam Queue   what it is executed on
/// \tparam Source  where its memory comes from. It gives that back in the thread that executes or destroys it
template <platform Platform, class Queue, class Source>
class [[nodiscard]] recorded_list {
  using commands_type = detail::recorded_commands<Platform, Queue, Source>;

 public:
  /// For command_context.
  explicit recorded_list(commands_type&& commands) noexcept : commands_{std::move(commands)} {}
  recorded_list(recorded_list&& other) noexcept : recorded_list{commands_type{other.commands_.source()}} {
    if (other.is_free()) commands_ = std::move(other.commands_);
  }
  recorded_list& operator=(recorded_list&& other) noexcept {
    if (this == &other || !is_free() || !other.is_free()) return *this;
    const detail::busy_scope dropping{is_busy_, true};
    commands_ = std::move(other.commands_);
    return *this;
  }
  ~recorded_list() { clear(); }

  /// Returns how many commands are left. Renames are no commands: a list without commands may need adoption.
  [[nodiscard]] std::size_t size() const noexcept { return commands_.size(); }
  [[nodiscard]] bool is_empty() const noexcept { return size() == 0; }

  /// Returns whether the list uses renamed resources and was not adopted.
  [[nodiscard]] bool needs_adoption() noexcept { return commands_.renames().needs_adoption(); }
  /// From now on, the backings that the recording has written are the current ones of their resources
  /// (renamed_resource.hpp). Must be called once, before a list that uses renamed resources is executed or recorded;
  /// other lists do not need it. Asserts that it is not called twice. Otherwise the second call does nothing. For the
  /// thread that submits.
  /// \param serial  what the end of the list will signal on the timelines of the resources. Until then the list's
  ///                backings are in use, also if the list is cancelled or dropped: then a resource that it copies into
  ///                has undefined contents. Less than 2^64 - 2^33 - 1, as in renamed_resource::used_until()
  /// Progress: wait-free but for the system call that wakes threads which wait for backings.
  void adopt(std::uint64_t serial) noexcept {
    if (!is_free()) return;
    TIDEMARK_ASSERT(!commands_.renames().is_adopted(), "a list was adopted twice");
    if (commands_.renames().is_adopted()) return;
    const detail::busy_scope adopting{is_busy_, true};
    commands_.renames().adopt(serial);
  }

  /// Executes the commands in their order, each once, and drops them. Calls no complete() of the queue. Returns
  /// `reached`. If a wait ends otherwise, returns its status. The wait stays in the list with all that follow: a later
  /// call goes on from there. Asserts that no adoption is needed. Otherwise it executes nothing, and returns `stopped`.
  /// For the executor of the queue. Blocking, as the waits.
  wait_status execute_on(Queue& by) noexcept
    requires(!detail::recording_queue<Queue>)
  {
    if (!can_execute()) return wait_status::stopped;
    const detail::busy_scope executing{is_busy_, true};
    return commands_.execute(by);
  }
  /// Drops the commands that are left. The queue logs the waits and the signals among them as cancelled; see
  /// basic_queue::cancel() for what else must be cancelled then. For the executor of the queue.
  void cancel_on(Queue& by) noexcept
    requires(!detail::recording_queue<Queue>)
  {
    if (!is_free()) return;
    const detail::busy_scope cancelling{is_busy_, true};
    commands_.cancel(by);
  }

  /// Has the queue record the commands, in their order; it executes them once they are submitted. The list is empty
  /// afterwards: the queue keeps its memory until the last command was executed or dropped. If there are commands, the
  /// queue records one more, which gives the memory back. Otherwise nothing happens. Allocates, and throws what the
  /// queue throws. Then the list is empty, too, and the queue has dropped all that was recorded and not submitted.
  /// Asserts that no adoption is needed. Otherwise nothing changes. For the submitter of the queue.
  void record_on(Queue& by)
    requires detail::recording_queue<Queue>
  {
    if (!can_execute() || is_empty()) return;
    recording made{by, std::move(commands_)};
    made.commands.record_on(by);
    by.run([kept = std::move(made.commands)]() mutable noexcept { kept.clear(); });
    made.is_recorded = true;
  }

  /// Drops the commands that are left, and gives the memory back.
  void clear() noexcept {
    if (!is_free()) return;
    const detail::busy_scope dropping{is_busy_, true};
    commands_.clear();
  }

 private:
  bool is_free() const noexcept {
    TIDEMARK_ASSERT(!is_busy_, "a command used the list that executes or drops it");
    return !is_busy_;
  }
  bool can_execute() noexcept {
    if (!is_free()) return false;
    TIDEMARK_ASSERT(!needs_adoption(), "a list that uses renamed resources was not adopted");
    return !needs_adoption();
  }

  /// Drops what was recorded on the queue if an exception goes through.
  struct recording {
    recording(Queue& to, commands_type&& given) noexcept : queue{to}, commands{std::move(given)} {}
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;
    ~recording() {
      if (!is_recorded) queue.discard();
    }
    Queue& queue;
    commands_type commands;
    bool is_recorded = false;
  };

  commands_type commands_;
  bool is_busy_ = false;  // with code of the user, which must not call the list
};

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_RECORDED_LIST_HPP
