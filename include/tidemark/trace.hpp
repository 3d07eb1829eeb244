// SPDX-License-Identifier: BSL-1.0
//
// trace: the whole life of each wait and signal of some queues, joined from what was queued and what was executed.
//
// A command is seen at up to four moments (A80). When it was queued, at the time of the processor that recorded it,
// whoever records it says (A94); when it was executed, the logs of the queues say (fence_log.hpp). One does not know of
// the other, so the trace joins both:
//
//      on_queued     wait_queued, signal_queued         at any time, early, in any order (A93)
//      on_executed   wait_unblocked, signal_executed    in the order of the log that the entry is from
//      on_lost       entries overwritten unread         at its place between the entries of that log (A100)
//
// The join. Commands with the same queue, operation, fence and value are told apart by their number: the n-th of them
// that was executed is the n-th that was queued, in the order of the times at which they were queued, or in the order
// of the calls if one of those times is 0. This asks that on_queued has been called for all commands of a queue or for
// none. A command without its half stays as it is: queued and not executed (yet), or executed and never seen queued.
//
// After a loss nobody knows which commands the lost entries were. The numbers of those before the loss are as good as
// ever. Of those that remain with the same queue, operation, fence and value, as many executed as queued means that
// none of them was lost, and they are joined. With any other count the join would be a guess, so it is not made: the
// queued ones and the executed ones stay apart, and both are marked `uncertain`. A timeline's values hardly ever
// repeat, so in practice that says: this queued command may have been executed, and the entry lost.
//
// The signal that released a wait is the first that was executed, on any queue, with the wait's fence and a value that
// reaches the awaited one. The time stamps say which was first; where there is none (A104) the values do, since a fence
// only rises. It is not told (`trace_command::none`) if the first such signal ended after the wait, so that another one
// must have done it, unseen; and if the value jumped over the awaited one at a time at which entries were lost, among
// which an earlier signal may be. A wait that found its value reached names the signal that had reached it.
//
// Times are nanoseconds; 0 means not known. Clocks are taken at their word: the times of all queues, and those of the
// processors if they are to be compared, must be on one time line.
//
// Not promised: a bound of the memory. A trace keeps all that it is told, about 48 bytes for each event.
#ifndef TIDEMARK_TRACE_HPP
#define TIDEMARK_TRACE_HPP

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "detail/assert.hpp"
#include "fence_log.hpp"

namespace tidemark {

/// What is known before a command is executed; what is known afterwards is a fence_operation (A80).
enum class trace_event : std::uint32_t { wait_queued = 0, signal_queued = 1 };

/// One wait or signal of a queue, as far as it is known. Times in nanoseconds, 0: not known (A91, A94).
struct trace_command {
  static constexpr std::size_t none = SIZE_MAX;

  std::uint32_t queue = 0;
  std::uint32_t fence = 0;
  std::uint64_t value = 0;  ///< what was signalled, or what was waited for
  fence_operation operation = fence_operation::signal_executed;
  bool queued = false;     ///< on_queued said so
  bool executed = false;   ///< on_executed said so
  bool backward = false;   ///< its time stamp is smaller than one before it, which can't be (A105)
  bool uncertain = false;  ///< what it was joined with is not known, because entries of that log were lost
  std::uint64_t queued_time = 0;
  std::uint64_t observed_time = 0;  ///< when a wait was seen to stall its queue
  std::uint64_t end_time = 0;       ///< when it was executed or unblocked
  std::size_t released_by = none;   ///< of a wait: the index of the signal that released it, if that can be told

  friend bool operator==(const trace_command&, const trace_command&) = default;
};

/// A gap in a log: entries that were overwritten before anybody read them (A100).
struct trace_loss {
  std::uint32_t queue = 0;
  fence_log_type log = fence_log_type::waits;
  std::uint64_t first_sequence = 0;  ///< the number of the first lost entry
  std::uint64_t count = 0;
  std::uint64_t time_before = 0;  ///< the last time that the log told before the gap; 0: none
  std::uint64_t time_after = 0;   ///< the first time that it told after it; 0: none yet

  friend bool operator==(const trace_loss&, const trace_loss&) = default;
};

/// Collects events and joins them. For one thread at a time. Not for hot paths: it allocates, and what its containers
/// throw goes through. The trace then lacks that event, whose queue it may know, and may be told the event again.
class trace {
 public:
  // ---- names; without one, a queue is called "queue 3" and a fence "fence 3" ----

  /// Names a queue, which is then in the trace, with or without events.
  void name_queue(std::uint32_t number, std::string name) { queues_[number].name = std::move(name); }
  void name_fence(std::uint32_t number, std::string name) { fences_[number] = std::move(name); }

  // ---- events ----

  /// A command was recorded, at `nanoseconds` of the processor's time, or at a time unknown (0). It may be executed
  /// minutes later, and its time may be smaller than that of the call before. (A93, A94)
  void on_queued(std::uint32_t queue_number, trace_event kind, std::uint32_t fence_number, std::uint64_t value,
                 std::uint64_t nanoseconds) {
    const bool wait = kind == trace_event::wait_queued;
    TIDEMARK_ASSERT(wait || kind == trace_event::signal_queued, "only waits and signals are queued");
    queues_.try_emplace(queue_number);
    const auto operation = wait ? fence_operation::wait_unblocked : fence_operation::signal_executed;
    queued_.push_back({{queue_number, operation, fence_number, value}, nanoseconds});
  }

  /// A command was executed: an entry of one of the queue's two logs, in the order of that log. Its time stamps are
  /// ticks of `Clock`, except that 0 is no time on any clock. (A91, A103-A105)
  template <class Clock = default_log_clock>
  void on_executed(std::uint32_t queue_number, const fence_log_entry& entry) {
    const bool wait = entry.operation == fence_operation::wait_unblocked;
    TIDEMARK_ASSERT(wait || entry.operation == fence_operation::signal_executed, "the entry is no wait and no signal");
    const auto nanoseconds = [](std::uint64_t ticks) { return ticks == 0 ? 0 : Clock::to_nanoseconds(ticks); };
    log_state& log = queues_[queue_number].logs[wait ? 0 : 1];
    executed_.push_back({{queue_number, entry.operation, entry.fence, entry.fence_value},
                         nanoseconds(entry.observed_timestamp),
                         nanoseconds(entry.end_timestamp),
                         false,
                         log.gaps != 0});
    const bool ends_early = entry.end_timestamp != 0 && entry.end_timestamp < entry.observed_timestamp;
    const bool fell = log.order.check(entry.end_timestamp) == timestamp_verdict::backward;
    executed_.back().backward = fell || ends_early;
    backward_count_ += fell || ends_early ? 1 : 0;
    pass(log, executed_.back().end);
  }

  /// `count` entries of a log were overwritten before they were read, from number `first_sequence` on. To be called
  /// after the entries before them and before those after them. Calls that continue or repeat one another, with no
  /// entry between them, tell of one gap, which is marked once. (A100)
  void on_lost(std::uint32_t queue_number, fence_log_type log, std::uint64_t first_sequence, std::uint64_t count) {
    TIDEMARK_ASSERT(log == fence_log_type::waits || log == fence_log_type::signals, "a log is of waits or of signals");
    log_state& state = queues_[queue_number].logs[log == fence_log_type::waits ? 0 : 1];
    if (count == 0) return;
    if (state.in_gap) {
      trace_loss& last = losses_[state.last_gap];
      const std::uint64_t begun = first_sequence - last.first_sequence;  // huge if it began before
      if (begun <= last.count) {
        last.count = std::max(last.count, begun + count);
        return;
      }
    }
    losses_.push_back({queue_number, log, first_sequence, count, state.last_time, 0});
    if (!state.awaits_time) state.first_open_gap = losses_.size() - 1;
    state.last_gap = losses_.size() - 1;
    state.in_gap = state.awaits_time = true;
    ++state.gaps;
  }

  // ---- what is known ----

  /// All commands: those that were executed, in the order of the calls, then those that were only queued. Cost: sorting
  /// all events. (A80, A94)
  [[nodiscard]] std::vector<trace_command> commands() const {
    std::vector<trace_command> result;
    result.reserve(std::max(executed_.size(), queued_.size()));
    for (const executed_record& event : executed_) {
      trace_command command = made_of(event.what);
      command.executed = true;
      command.backward = event.backward;
      command.observed_time = event.observed;
      command.end_time = event.end;
      result.push_back(command);
    }
    join_queued(result);
    find_releases(result);
    return result;
  }

  /// The gaps, in the order in which they were told. (A100)
  const std::vector<trace_loss>& losses() const noexcept { return losses_; }

  /// How many executed commands have a time stamp that goes backward. (A105)
  std::uint64_t backward_count() const noexcept { return backward_count_; }

  /// The numbers of all queues that were named or had an event, rising.
  [[nodiscard]] std::vector<std::uint32_t> queues() const {
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, state] : queues_) numbers.push_back(number);
    return numbers;
  }

  [[nodiscard]] std::string queue_name(std::uint32_t number) const {
    const auto found = queues_.find(number);
    const bool named = found != queues_.end() && !found->second.name.empty();
    return named ? found->second.name : "queue " + std::to_string(number);
  }
  [[nodiscard]] std::string fence_name(std::uint32_t number) const {
    const auto found = fences_.find(number);
    const bool named = found != fences_.end() && !found->second.empty();
    return named ? found->second : "fence " + std::to_string(number);
  }

 private:
  /// What commands have in common that only their number tells apart.
  struct subject {
    std::uint32_t queue;
    fence_operation operation;
    std::uint32_t fence;
    std::uint64_t value;
    friend auto operator<=>(const subject&, const subject&) = default;
  };
  struct queued_record {
    subject what;
    std::uint64_t time;
  };
  struct executed_record {
    subject what;
    std::uint64_t observed;
    std::uint64_t end;
    bool backward;
    bool after_loss;  ///< entries of its log were lost before it
  };
  struct log_state {
    timestamp_order order;
    std::uint64_t last_time = 0;     ///< the last one that was recorded
    std::uint64_t gaps = 0;          ///< markers of this log
    std::size_t last_gap = 0;        ///< index in losses_, if in_gap
    std::size_t first_open_gap = 0;  ///< index in losses_, if awaits_time
    bool in_gap = false;             ///< no entry came since the last loss
    bool awaits_time = false;        ///< no time came since the last loss
  };
  struct queue_state {
    std::string name;
    std::array<log_state, 2> logs;  ///< of waits, of signals
  };
  /// A signal that raised its fence.
  struct rise {
    std::uint32_t fence;
    std::uint64_t value;
    std::uint64_t time;
    std::size_t command;
  };
  /// Times, ends included.
  struct interval {
    std::uint64_t from;
    std::uint64_t to;
  };
  using indices = std::vector<std::size_t>;

  static trace_command made_of(const subject& what) {
    trace_command command;
    command.queue = what.queue;
    command.operation = what.operation;
    command.fence = what.fence;
    command.value = what.value;
    return command;
  }

  /// The log has told one more entry, and its time.
  void pass(log_state& log, std::uint64_t time) {
    log.in_gap = false;
    if (time == 0) return;
    log.last_time = time;
    if (!log.awaits_time) return;
    log.awaits_time = false;
    const trace_loss open = losses_[log.first_open_gap];
    for (std::size_t i = log.first_open_gap; i < losses_.size(); ++i) {
      if (losses_[i].queue == open.queue && losses_[i].log == open.log) losses_[i].time_after = time;
    }
  }

  bool has_gaps(const subject& what) const {
    return queues_.at(what.queue).logs[what.operation == fence_operation::wait_unblocked ? 0 : 1].gaps != 0;
  }

  /// The indices of `records`, those of one subject together, in the order in which they came.
  template <class Record>
  static indices by_subject(const std::vector<Record>& records) {
    indices order(records.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto compared = records[a].what <=> records[b].what;
      return compared != 0 ? compared < 0 : a < b;
    });
    return order;
  }

  /// Gives the executed commands the times at which they were queued, and appends those that were only queued.
  void join_queued(std::vector<trace_command>& commands) const {
    indices queued = by_subject(queued_);
    const indices executed = by_subject(executed_);
    indices alone;
    auto other = executed.begin();
    for (auto first = queued.begin(); first != queued.end();) {
      const subject& what = queued_[*first].what;
      auto last = first;
      while (last != queued.end() && queued_[*last].what == what) ++last;
      while (other != executed.end() && executed_[*other].what < what) ++other;
      const auto other_first = other;
      while (other != executed.end() && executed_[*other].what == what) ++other;
      order_by_time(first, last);
      const std::size_t joined = certain(last - first, other_first, other);
      for (std::size_t i = 0; i < joined; ++i, ++first) {
        trace_command& command = commands[other_first[static_cast<std::ptrdiff_t>(i)]];
        command.queued = true;
        command.queued_time = queued_[*first].time;
      }
      for (auto rest = other_first + static_cast<std::ptrdiff_t>(joined); rest != other && first != last; ++rest) {
        commands[*rest].uncertain = true;
      }
      alone.insert(alone.end(), first, last);
      first = last;
    }
    std::sort(alone.begin(), alone.end());
    for (const std::size_t index : alone) commands.push_back(only_queued(queued_[index]));
  }

  /// Of queued commands of one subject, in the order of the calls: into the order in which they count.
  void order_by_time(indices::iterator first, indices::iterator last) const {
    const auto unknown = [&](std::size_t i) { return queued_[i].time == 0; };
    if (std::any_of(first, last, unknown)) return;
    std::sort(first, last, [&](std::size_t a, std::size_t b) {
      return queued_[a].time != queued_[b].time ? queued_[a].time < queued_[b].time : a < b;
    });
  }

  /// How many of the executed commands of one subject, of which `queued` were queued, can be joined without a guess.
  std::size_t certain(std::ptrdiff_t queued, indices::const_iterator first, indices::const_iterator last) const {
    const auto before_loss = [&](std::size_t i) { return !executed_[i].after_loss; };
    const auto sure = last - first == queued ? last - first : std::find_if_not(first, last, before_loss) - first;
    return static_cast<std::size_t>(std::min(queued, sure));
  }

  trace_command only_queued(const queued_record& event) const {
    trace_command command = made_of(event.what);
    command.queued = true;
    command.queued_time = event.time;
    command.uncertain = has_gaps(event.what);
    return command;
  }

  /// Finds for each wait the signal that released it.
  void find_releases(std::vector<trace_command>& commands) const {
    const std::vector<rise> rises = find_rises(commands);
    const std::vector<interval> gaps = signal_gaps();
    for (std::size_t i = 0; i < executed_.size(); ++i) {
      trace_command& wait = commands[i];
      if (wait.operation != fence_operation::wait_unblocked) continue;
      const auto first = std::lower_bound(rises.begin(), rises.end(), wait, [](const rise& a, const trace_command& b) {
        return std::tie(a.fence, a.value) < std::tie(b.fence, b.value);
      });
      if (first == rises.end() || first->fence != wait.fence) continue;
      const bool too_late = first->time != 0 && wait.end_time != 0 && first->time > wait.end_time;
      const bool has_previous = first != rises.begin() && std::prev(first)->fence == wait.fence;
      const std::uint64_t since = has_previous ? std::prev(first)->time : 0;
      const std::uint64_t until = first->time != 0 ? first->time : wait.end_time != 0 ? wait.end_time : UINT64_MAX;
      const bool doubtful = first->value != wait.value && overlaps(gaps, {since, until});
      if (!too_late && !doubtful) wait.released_by = first->command;
    }
  }

  /// The signals that raised their fences, by fence and value: of those with a time, in the order of time, the ones
  /// that exceed all before them; of those without, all values that are not there yet.
  static std::vector<rise> find_rises(const std::vector<trace_command>& commands) {
    std::vector<rise> signals;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const trace_command& command = commands[i];
      if (!command.executed || command.operation != fence_operation::signal_executed) continue;
      signals.push_back({command.fence, command.value, command.end_time, i});
    }
    std::sort(signals.begin(), signals.end(), [](const rise& a, const rise& b) {
      return std::tie(a.fence, a.time, a.value, a.command) < std::tie(b.fence, b.time, b.value, b.command);
    });
    const rise* highest = nullptr;
    const auto raises_nothing = [&](const rise& signal) {
      if (signal.time == 0) return false;
      if (highest != nullptr && highest->fence == signal.fence && highest->value >= signal.value) return true;
      highest = &signal;
      return false;
    };
    std::vector<rise> result;
    for (const rise& signal : signals) {
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

  /// When signals may have been executed whose entries were lost: disjoint and rising.
  std::vector<interval> signal_gaps() const {
    std::vector<interval> gaps;
    for (const trace_loss& loss : losses_) {
      if (loss.log != fence_log_type::signals) continue;
      gaps.push_back({loss.time_before, loss.time_after == 0 ? UINT64_MAX : loss.time_after});
    }
    std::sort(gaps.begin(), gaps.end(), [](const interval& a, const interval& b) { return a.from < b.from; });
    std::vector<interval> merged;
    for (const interval& gap : gaps) {
      if (merged.empty() || gap.from > merged.back().to) {
        merged.push_back(gap);
      } else {
        merged.back().to = std::max(merged.back().to, gap.to);
      }
    }
    return merged;
  }

  static bool overlaps(const std::vector<interval>& gaps, interval times) {
    const auto ends_before = [](const interval& gap, std::uint64_t time) { return gap.to < time; };
    const auto gap = std::lower_bound(gaps.begin(), gaps.end(), times.from, ends_before);
    return gap != gaps.end() && gap->from <= times.to;
  }

  std::map<std::uint32_t, queue_state> queues_;
  std::map<std::uint32_t, std::string> fences_;
  std::vector<queued_record> queued_;
  std::vector<executed_record> executed_;
  std::vector<trace_loss> losses_;
  std::uint64_t backward_count_ = 0;
};

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_HPP
