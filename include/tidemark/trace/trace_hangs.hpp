// SPDX-License-Identifier: BSL-1.0
//
// trace_hangs: which queues wait for what, and which of them in a circle, by what a trace has received. The queues may
// be of engines or not, and their program may have ended.
//
//   tidemark::hang_report report = find_hangs(trace);
//
// What a queue still has to execute is what was queued for it (on_queued) and neither executed nor cancelled
// (on_executed). The order in which it will be executed is that of the times of queueing, or that of the calls if one
// of these times is 0. What a fence has come to is the greatest value that a queue signalled, or got past.
//
// The end of a submission is a signal of the queue's progress, and must be told as queued like any other: its fence is
// the progress, and its value the serial. Otherwise no queue seems to have that signal, and waits for it count as if
// the program could still end them.
//
// The queues need not be read at one moment. A queue whose newest entries have not arrived yet looks as if it stood at
// an earlier command. The search gets past that command, too, so no false cycle is reported, as long as
//
//   - all commands of the queues that signal these fences were told as queued, before the queues were read
//   - each queue executes its commands in the order of their queueing
//   - no other signaller than the queues breaks the cycle
//
// Where entries of a log were lost, a command that was queued may have been executed. Such a command is uncertain. It
// counts as executed, unless it was queued later than all that its queue has certainly executed. At least one time of
// queueing of these must be known. If the trace does not know which queued command an executed one was, all uncertain
// commands of its queue count as executed.
//
// Not promised: that a queue of the report waits already. It may be busy before the wait.
#ifndef TIDEMARK_TRACE_TRACE_HANGS_HPP
#define TIDEMARK_TRACE_TRACE_HANGS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "../engine/hang_report.hpp"
#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "detail/trace_lists.hpp"
#include "trace.hpp"
#include "trace_data.hpp"

namespace tidemark {

/// Returns what each queue still has to execute, in order. Queues that have nothing are not in it. The key of a fence
/// is its number. O(n log n).
/// \param commands  of the trace, as trace::commands() returns them
[[nodiscard]] inline std::vector<pending_queue> pending_queues(const trace& source,
                                                               const std::vector<trace_command>& commands) {
  std::vector<pending_queue> result;
  for (const auto& [number, left] : detail::pending_commands(commands)) {
    pending_queue& made =
        result.emplace_back(pending_queue{{number, source.queue_name(number), {}, {}, source.is_thread(number)}, {}});
    if (!made.queue.is_thread) made.queue.engine_name = source.engine_name(number);
    for (const std::size_t index : left) {
      const trace_command& each = commands[index];
      const bool is_wait = each.operation == fence_operation::wait_unblocked;
      made.commands.push_back({is_wait, to_number(each.fence), each.fence, each.value});
    }
  }
  return result;
}

/// Returns which queues wait for what, which of them has the signal next, and which wait for each other in a circle, as
/// the head of this file says. Allocates, and throws what that throws. O(n log n).
[[nodiscard]] inline hang_report find_hangs(const trace& source) {
  const std::vector<trace_command> commands = source.commands();
  std::map<std::uint64_t, std::uint64_t> values;
  for (const trace_command& each : commands) {
    std::uint64_t& value = values[to_number(each.fence)];
    if (each.executed) value = (std::max)(value, each.value);
  }
  return find_hangs(pending_queues(source, commands), [&](std::uint64_t key) { return values.at(key); });
}

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_TRACE_HANGS_HPP
