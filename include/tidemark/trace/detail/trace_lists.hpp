// SPDX-License-Identifier: BSL-1.0
//
// trace_lists: what a trace keeps beside its entries, and what its exporters derive from them.
#ifndef TIDEMARK_TRACE_DETAIL_TRACE_LISTS_HPP
#define TIDEMARK_TRACE_DETAIL_TRACE_LISTS_HPP

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../../log/clock_correlation.hpp"
#include "../../log/fence_log.hpp"
#include "../../log/ids.hpp"

namespace tidemark::detail {

/// What a command of a trace is about. Commands of the same subject can only be told apart by their order.
struct command_subject {
  queue_id queue;
  fence_operation operation;
  fence_id fence;
  std::uint64_t value;
  friend auto operator<=>(const command_subject&, const command_subject&) = default;
};

/// Marks queued commands as cancelled: of each subject the first ones, as many as `cancelled` names.
/// \param cancelled  by the subject, one for each command that was cancelled
template <class Command>
void mark_cancelled(const std::map<command_subject, std::vector<std::size_t>>& cancelled, std::span<Command> queued) {
  if (cancelled.empty()) return;
  std::map<command_subject, std::size_t> left;
  for (const auto& [what, each] : cancelled) left[what] = each.size();
  for (Command& command : queued) {
    const auto found = left.find({command.queue, command.operation, command.fence, command.value});
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    command.cancelled = true;
    command.uncertain = false;
  }
}

// Spans of time, for the question whether something may have happened in one of them.

/// From one time to another, both included. `from` must not be greater than `to`.
struct interval {
  std::uint64_t from;
  std::uint64_t to;
};

/// Returns disjoint intervals, rising, that cover the same times.
inline std::vector<interval> merged(std::vector<interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const interval& a, const interval& b) { return a.from < b.from; });
  std::vector<interval> result;
  for (const interval& next : intervals) {
    if (result.empty() || next.from > result.back().to) {
      result.push_back(next);
    } else {
      result.back().to = (std::max)(result.back().to, next.to);
    }
  }
  return result;
}

/// Returns whether one of the intervals, which must be disjoint and rising, has a time in common with `times`.
inline bool overlaps(const std::vector<interval>& intervals, interval times) {
  const auto ends_before = [](const interval& one, std::uint64_t time) { return one.to < time; };
  const auto found = std::lower_bound(intervals.begin(), intervals.end(), times.from, ends_before);
  return found != intervals.end() && found->from <= times.to;
}

inline std::uint64_t later(std::uint64_t time, std::uint64_t by) noexcept {
  return time > UINT64_MAX - by ? UINT64_MAX : time + by;
}

/// Returns the times at which something may have happened that was between two others.
inline interval widest(correlated_time from, correlated_time to) noexcept {
  return {from.nanoseconds - (std::min)(from.error, from.nanoseconds), later(to.nanoseconds, to.error)};
}

/// When a queue may have executed what its log has lost.
class lost_times {
 public:
  /// Adds a gap from one time of the queue to another. The order does not matter.
  void add(correlated_time from, correlated_time to) {
    if (to.nanoseconds < from.nanoseconds) std::swap(from, to);
    told_.push_back({from.nanoseconds, to.nanoseconds});
    widest_.push_back(widest(from, to));
  }
  /// Must be called between the last add() and the first overlap().
  void merge() {
    told_ = merged(std::move(told_));
    widest_ = merged(std::move(widest_));
  }
  /// Returns whether a gap may have a time in common with those from `since` to `until`.
  /// \param of_same_clock  whether both are times of the queue itself, too. Then their order is certain, whatever the
  ///                       errors are
  bool overlap(correlated_time since, correlated_time until, bool of_same_clock) const {
    if (of_same_clock) return overlaps(told_, {since.nanoseconds, until.nanoseconds});
    return overlaps(widest_, widest(since, until));
  }

 private:
  std::vector<interval> told_;
  std::vector<interval> widest_;
};

// What queues still have to execute, by what a trace has received from them. trace_hangs.hpp says what counts.

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

/// span_lanes: gives spans of time lanes, so that of two spans in one lane either one lies within the other, or they
/// have no time in common. Readers of traces draw no other ones in one lane.
class span_lanes {
 public:
  /// Returns the lane of a span: that of the shortest open span that it lies in; if there is none, the first lane
  /// without an open span. Spans must come in the order of their begins, and of those with one begin the longest first.
  /// O(log n) in the number of lanes, and O(log n) once more when the span ends.
  /// \param end  greater than `begin`; that time itself is outside
  std::size_t place(std::uint64_t begin, std::uint64_t end) {
    close(begin);
    const std::size_t lane = take(end);
    open_[lane].push_back(end);
    innermost_.emplace(end, lane);
    return lane;
  }
  /// Returns how many lanes there are.
  std::size_t size() const noexcept { return open_.size(); }

 private:
  /// Takes out what has ended.
  void close(std::uint64_t now) {
    while (!innermost_.empty() && innermost_.begin()->first <= now) {
      const std::size_t lane = innermost_.begin()->second;
      innermost_.erase(innermost_.begin());
      open_[lane].pop_back();
      if (open_[lane].empty()) {
        free_.insert(lane);
      } else {
        innermost_.emplace(open_[lane].back(), lane);
      }
    }
  }

  std::size_t take(std::uint64_t end) {
    if (const auto around = innermost_.lower_bound({end, 0}); around != innermost_.end()) {
      const std::size_t lane = around->second;
      innermost_.erase(around);
      return lane;
    }
    if (!free_.empty()) {
      const std::size_t lane = *free_.begin();
      free_.erase(free_.begin());
      return lane;
    }
    open_.emplace_back();
    return open_.size() - 1;
  }

  std::vector<std::vector<std::uint64_t>> open_;               // by lane: the ends of open spans, each within the last
  std::set<std::pair<std::uint64_t, std::size_t>> innermost_;  // end and lane of the innermost open span of each lane
  std::set<std::size_t> free_;                                 // the lanes without an open span
};

// Spans of work that a trace has received. Each name is kept once.

/// For one thread at a time.
class work_list {
 public:
  struct span {
    queue_id queue;
    std::uint32_t name;  ///< index into names()
    std::uint64_t begin;
    std::uint64_t end;
  };

  void add(queue_id queue, std::string_view name, std::uint64_t begin, std::uint64_t end) {
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.emplace(name, static_cast<std::uint32_t>(names_.size())).first;
    spans_.push_back({queue, found->second, begin, end});
  }

  const std::vector<span>& spans() const noexcept { return spans_; }

  /// Returns the names, by their numbers. Their characters stay as long as the list.
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> result(names_.size());
    for (const auto& [name, number] : names_) result[number] = name;
    return result;
  }

 private:
  /// Not std::less<>, whose header is ten times as long as ours.
  struct by_characters {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept { return a < b; }
  };

  std::map<std::string, std::uint32_t, by_characters> names_;
  std::vector<span> spans_;
};

// Which signals raised the values of their fences: only these may have released a wait.

/// A signal, which is to raise the value of its fence. `command` is the number by which the owner knows it.
struct rise {
  fence_id fence;
  std::uint64_t value;
  std::uint64_t time;
  std::size_t command;
  queue_id queue;
  std::uint64_t error;  ///< of the time
  bool is_doubtful;     ///< perhaps a signal with a greater value came before it
};

/// Returns how far a signal and another command must be apart so that their times say which came first. Times of one
/// queue are of one clock: their order is certain.
inline std::uint64_t doubt(const rise& signal, queue_id other, std::uint64_t other_error) noexcept {
  return signal.queue == other ? 0 : later(signal.error, other_error);
}

/// Marks the signals before which another queue may have raised the fence higher, because their times are not exact
/// enough to say which came first.
/// \param all  sorted by fence and time
inline void mark_doubtful(std::vector<rise>& all) {
  std::uint64_t greatest = 0;
  for (const rise& each : all) greatest = (std::max)(greatest, each.time != 0 ? each.error : 0);
  if (greatest == 0) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size() && all[j].fence == all[i].fence; ++j) {
      if (all[j].time > later(later(all[i].time, all[i].error), greatest)) break;
      if (all[i].time == 0 || all[j].time > later(all[i].time, doubt(all[i], all[j].queue, all[j].error))) continue;
      if (all[i].queue == all[j].queue) continue;
      rise& less = all[i].value < all[j].value ? all[i] : all[j];
      less.is_doubtful = less.is_doubtful || all[i].value != all[j].value;
    }
  }
}

/// Returns the signals that raised their fences, sorted by fence and value. Of the signals with a time, taken in the
/// order of time, these are the ones that exceed all before them. A signal without a time counts if no other one has
/// its value.
inline std::vector<rise> only_rises(std::vector<rise> all) {
  std::sort(all.begin(), all.end(), [](const rise& a, const rise& b) {
    return std::tie(a.fence, a.time, a.value, a.command) < std::tie(b.fence, b.time, b.value, b.command);
  });
  mark_doubtful(all);
  const rise* highest = nullptr;
  const auto raises_nothing = [&](const rise& signal) {
    if (signal.time == 0) return false;
    if (highest != nullptr && highest->fence == signal.fence && highest->value >= signal.value) {
      return !signal.is_doubtful;  // a doubtful one stays, so that no wait for its value is given to a later one
    }
    highest = &signal;
    return false;
  };
  std::vector<rise> result;
  for (const rise& signal : all) {
    if (!raises_nothing(signal)) result.push_back(signal);
  }
  std::sort(result.begin(), result.end(), [](const rise& a, const rise& b) {
    const bool a_untimed = a.time == 0;
    const bool b_untimed = b.time == 0;
    return std::tie(a.fence, a.value, a_untimed, a.command) < std::tie(b.fence, b.value, b_untimed, b.command);
  });
  const auto same = [](const rise& a, const rise& b) { return a.fence == b.fence && a.value == b.value; };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  return result;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_TRACE_LISTS_HPP
