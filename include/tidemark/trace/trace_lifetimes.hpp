// SPDX-License-Identifier: BSL-1.0
//
// trace_lifetimes: how long each command was in its queue, from its submission to its end, and how many were there at
// the same time.
//
//   for (const trace_lifetime& each : lifetimes_of(trace)) ...
//   std::vector<trace_depth> depths = depth_of(trace, queue_id{1});
//
// A command is in flight from when it was queued to when it was executed. The depth of a queue is the number of its
// commands in flight. A command that was queued and is not executed is in flight until the last time of the trace. Only
// commands whose times are known count. These do not count:
//
//   - commands that nobody told of when they were queued, or whose end has no time
//   - commands that end before they were queued: a clock is wrong. If it is wrong by no more than its stated error
//     (trace::set_clock()), the command counts, with a length of 0
//   - commands that were queued and cancelled, and those that may have been executed in a gap of a log
//
// So a depth is never too large, except by a wrong clock.
//
// Levels. Of the commands of a queue that are in flight at one time, no two have the same level. A command gets the
// least level that is free when it is queued. So a picture can draw each command as one box, in the row of its level,
// and needs as many rows as the greatest depth.
#ifndef TIDEMARK_TRACE_TRACE_LIFETIMES_HPP
#define TIDEMARK_TRACE_TRACE_LIFETIMES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "../log/ids.hpp"
#include "detail/trace_lists.hpp"
#include "trace.hpp"
#include "trace_data.hpp"

namespace tidemark {

/// The time in which one command was in flight. All times are nanoseconds, never 0.
struct trace_lifetime {
  std::size_t command = 0;  ///< Its index in trace::commands().
  queue_id queue{};
  std::uint64_t begin_time = 0;  ///< When it was queued.
  std::uint64_t end_time = 0;    ///< When it was executed; of an open one, the last time of the trace.
  std::uint32_t level = 0;       ///< See the head of this file.
  bool open = false;             ///< It is not executed yet.

  friend bool operator==(const trace_lifetime&, const trace_lifetime&) = default;
};

/// From `time` on, `depth` commands are in flight.
struct trace_depth {
  std::uint64_t time = 0;  ///< Nanoseconds.
  std::uint64_t depth = 0;

  friend bool operator==(const trace_depth&, const trace_depth&) = default;
};

/// Returns the lifetimes of all commands that count, by queue and begin. O(n log n).
/// \param commands  source.commands()
[[nodiscard]] inline std::vector<trace_lifetime> lifetimes_of(const trace& source,
                                                              const std::vector<trace_command>& commands);

/// The same, for callers that have no other use for the commands.
[[nodiscard]] inline std::vector<trace_lifetime> lifetimes_of(const trace& source) {
  return lifetimes_of(source, source.commands());
}

/// Returns each change of the depth of a queue, in the order of time, one for each time. The last one is 0 unless
/// commands are still in flight when the trace ends. O(n log n).
/// \param lifetimes  lifetimes_of() the trace
[[nodiscard]] inline std::vector<trace_depth> depth_of(const std::vector<trace_lifetime>& lifetimes, queue_id number);

/// The same, for callers that have no other use for the lifetimes.
[[nodiscard]] inline std::vector<trace_depth> depth_of(const trace& source, queue_id number) {
  return depth_of(lifetimes_of(source), number);
}

namespace detail {

/// Gives the lifetimes of one queue, which are in the order of their begins, their levels.
inline void give_levels(std::vector<trace_lifetime>::iterator first, std::vector<trace_lifetime>::iterator last) {
  std::multimap<std::uint64_t, std::uint32_t> taken;  // by the end
  std::set<std::uint32_t> free;
  for (; first != last; ++first) {
    while (!taken.empty() && taken.begin()->first <= first->begin_time) {
      free.insert(taken.begin()->second);
      taken.erase(taken.begin());
    }
    first->level = free.empty() ? static_cast<std::uint32_t>(taken.size()) : *free.begin();
    free.erase(first->level);
    taken.emplace(first->open ? UINT64_MAX : first->end_time, first->level);
  }
}

/// Returns the last time that a trace knows; 0 if it knows none.
inline std::uint64_t last_time(const trace& source, const std::vector<trace_command>& commands) {
  std::uint64_t last = 0;
  for (const trace_command& each : commands) {
    last = (std::max)({last, each.queued_time, each.observed_time, each.end_time});
  }
  for (const trace_work& span : source.told_work()) last = (std::max)(last, span.end_time);
  return last;
}

}  // namespace detail

inline std::vector<trace_lifetime> lifetimes_of(const trace& source, const std::vector<trace_command>& commands) {
  const std::uint64_t last = detail::last_time(source, commands);
  std::vector<trace_lifetime> result;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const trace_command& each = commands[i];
    if (each.queued_time == 0 || !each.executed || each.end_time == 0) continue;
    if (detail::later(each.end_time, each.time_error) < each.queued_time) continue;
    result.push_back({i, each.queue, each.queued_time, (std::max)(each.queued_time, each.end_time), 0, false});
  }
  for (const auto& [number, left] : detail::pending_commands(commands)) {
    for (const std::size_t i : left) {
      if (commands[i].queued_time != 0) result.push_back({i, number, commands[i].queued_time, last, 0, true});
    }
  }
  std::sort(result.begin(), result.end(), [](const trace_lifetime& a, const trace_lifetime& b) {
    return std::tie(a.queue, a.begin_time, a.end_time, a.command) <
           std::tie(b.queue, b.begin_time, b.end_time, b.command);
  });
  for (auto first = result.begin(); first != result.end();) {
    const auto is_other = [number = first->queue](const trace_lifetime& each) { return each.queue != number; };
    const auto next = std::find_if(first, result.end(), is_other);
    detail::give_levels(first, next);
    first = next;
  }
  return result;
}

inline std::vector<trace_depth> depth_of(const std::vector<trace_lifetime>& lifetimes, queue_id number) {
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> changes;  // how many begin and end, by the time
  for (const trace_lifetime& each : lifetimes) {
    if (each.queue != number || (!each.open && each.begin_time == each.end_time)) continue;
    ++changes[each.begin_time].first;
    if (!each.open) ++changes[each.end_time].second;
  }
  std::vector<trace_depth> result;
  std::uint64_t depth = 0;
  for (const auto& [time, change] : changes) {
    const std::uint64_t next = depth + change.first - change.second;
    if (next != depth) result.push_back({time, next});
    depth = next;
  }
  return result;
}

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_TRACE_LIFETIMES_HPP
