// SPDX-License-Identifier: BSL-1.0
//
// What a command of a trace is about. Commands of the same subject can only be told apart by their order.
#ifndef TIDEMARK_TRACE_DETAIL_COMMAND_SUBJECT_HPP
#define TIDEMARK_TRACE_DETAIL_COMMAND_SUBJECT_HPP

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "../../log/fence_log.hpp"
#include "../../log/ids.hpp"

namespace tidemark::detail {

struct command_subject {
  queue_id queue;
  fence_operation operation;
  fence_id fence;
  std::uint64_t value;
  friend auto operator<=>(const command_subject&, const command_subject&) = default;
};

/// Marks queued commands as cancelled: of each subject the first ones, as many as `cancelled` names.
/// \param cancelled  the subject of each command that was cancelled
template <class Command>
void mark_cancelled(const std::vector<command_subject>& cancelled, std::span<Command> queued) {
  if (cancelled.empty()) return;
  std::map<command_subject, std::uint64_t> left;
  for (const command_subject& each : cancelled) ++left[each];
  for (Command& command : queued) {
    const auto found = left.find({command.queue, command.operation, command.fence, command.value});
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    command.cancelled = true;
    command.uncertain = false;
  }
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_COMMAND_SUBJECT_HPP
