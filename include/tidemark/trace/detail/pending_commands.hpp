// SPDX-License-Identifier: BSL-1.0
//
// What queues still have to execute, by what a trace has received from them. trace_hangs.hpp says what counts.
#ifndef TIDEMARK_TRACE_DETAIL_PENDING_COMMANDS_HPP
#define TIDEMARK_TRACE_DETAIL_PENDING_COMMANDS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "../../log/ids.hpp"

namespace tidemark::detail {

/// Returns whether a command is still to be executed.
/// \tparam Command       trace_command
/// \param last_executed  the greatest time of queueing of what the same queue has executed; 0: not known
template <class Command>
bool is_pending(const Command& command, std::uint64_t last_executed) {
  if (command.executed || command.cancelled) return false;
  return !command.uncertain || (last_executed != 0 && command.queued_time > last_executed);
}

/// Brings the commands of a queue, which are in the order of the calls, into the order in which they will be executed.
/// \param which  their indices
template <class Command>
void order_by_queueing(const std::vector<Command>& commands, std::vector<std::size_t>& which) {
  const auto queued = [&](std::size_t index) { return commands[index].queued_time; };
  if (std::any_of(which.begin(), which.end(), [&](std::size_t each) { return queued(each) == 0; })) return;
  std::sort(which.begin(), which.end(),
            [&](std::size_t a, std::size_t b) { return queued(a) != queued(b) ? queued(a) < queued(b) : a < b; });
}

/// Returns the indices of what each queue still has to execute, in order. Queues that have nothing are not in it.
/// O(n log n).
template <class Command>
std::map<queue_id, std::vector<std::size_t>> pending_commands(const std::vector<Command>& commands) {
  std::map<queue_id, std::uint64_t> last_executed;
  for (const Command& each : commands) {
    // An executed command that is uncertain may be any of those that are left over.
    std::uint64_t& last = last_executed[each.queue];
    if (each.executed) last = (std::max)(last, each.uncertain ? UINT64_MAX : each.queued_time);
  }
  std::map<queue_id, std::vector<std::size_t>> result;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (is_pending(commands[i], last_executed[commands[i].queue])) result[commands[i].queue].push_back(i);
  }
  for (auto& [number, left] : result) order_by_queueing(commands, left);
  return result;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PENDING_COMMANDS_HPP
