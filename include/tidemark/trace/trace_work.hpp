// SPDX-License-Identifier: BSL-1.0
//
// trace_work: what queues did between their waits and signals.
//
// A program that knows when a queue begins and ends a piece of work tells the trace: trace::on_work(). If nobody told
// of any work of a queue, its spans are derived from its logs. The queue was free to work
//
//      from      its last wait ended, or its last signal was executed
//      to        its next wait was seen to stall it, or ended without a stall, or its next signal was executed
//
// That is an upper bound: in such a span the queue may also have had nothing to do. There is no span before the first
// command of a queue, none after the last one, and none in which entries of its logs were lost. Commands without a
// time, and those whose time went backward, count as if they were not there.
#ifndef TIDEMARK_TRACE_TRACE_WORK_HPP
#define TIDEMARK_TRACE_TRACE_WORK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "detail/trace_lists.hpp"
#include "trace.hpp"
#include "trace_data.hpp"

namespace tidemark {

/// Returns the work of all queues: first what on_work told, in the order of the calls, then what is derived, by queue
/// and time. O(n log n).
/// \param source    stays as it is; the names in the result are its own (trace_data.hpp)
/// \param commands  source.commands()
[[nodiscard]] inline std::vector<trace_work> work_of(const trace& source, const std::vector<trace_command>& commands);

/// The same, for callers that have no other use for the commands.
[[nodiscard]] inline std::vector<trace_work> work_of(const trace& source) { return work_of(source, source.commands()); }

namespace detail {

/// Appends the spans of one queue to `found`.
/// \param busy  when it waited, or executed a signal
/// \param gaps  of its logs, disjoint and rising
inline void derive_work(queue_id queue, std::vector<interval> busy, const std::vector<interval>& gaps,
                        std::vector<trace_work>& found) {
  busy = merged(std::move(busy));
  for (std::size_t i = 1; i < busy.size(); ++i) {
    const interval span{busy[i - 1].to, busy[i].from};
    // A gap begins and ends with an entry that was read, so a span may touch it.
    if (!overlaps(gaps, {span.from + 1, span.to - 1})) found.push_back({queue, {}, span.from, span.to, true});
  }
}

/// Returns when entries of a queue's logs were lost, as far as that is known.
inline std::map<queue_id, std::vector<interval>> gaps_by_queue(const trace& source) {
  std::map<queue_id, std::vector<interval>> result;
  for (const trace_loss& loss : source.losses()) {
    const std::uint64_t after = loss.time_after == 0 ? UINT64_MAX : loss.time_after;
    result[loss.queue].push_back({(std::min)(loss.time_before, after), (std::max)(loss.time_before, after)});
  }
  for (auto& [number, gaps] : result) gaps = merged(std::move(gaps));
  return result;
}

}  // namespace detail

inline std::vector<trace_work> work_of(const trace& source, const std::vector<trace_command>& commands) {
  std::vector<trace_work> result = source.told_work();
  std::map<queue_id, std::vector<detail::interval>> busy;
  for (const trace_command& command : commands) {
    if (!command.executed || command.end_time == 0 || command.backward) continue;
    const bool stalled = command.operation == fence_operation::wait_unblocked && command.observed_time != 0;
    busy[command.queue].push_back({stalled ? command.observed_time : command.end_time, command.end_time});
  }
  for (const trace_work& span : result) busy.erase(span.queue);
  const auto gaps = detail::gaps_by_queue(source);
  for (auto& [number, times] : busy) {
    const auto found = gaps.find(number);
    detail::derive_work(number, std::move(times), found != gaps.end() ? found->second : std::vector<detail::interval>{},
                        result);
  }
  return result;
}

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_TRACE_WORK_HPP
