// SPDX-License-Identifier: BSL-1.0
//
// trace: the life of each wait and each signal of some queues, joined from what was queued and what was executed.
//
// A wait is seen at up to three moments: when it was queued, when it stalled its queue, and when it ended. A signal is
// seen at two: when it was queued, and when it was executed. The thread that records it knows when it was queued. The
// logs of the queues know when it was executed (fence_log.hpp). Neither source knows of the other, so the trace joins
// them:
//
//      on_queued     wait_queued, signal_queued         at any time, early, in any order
//      on_executed   wait_unblocked, signal_executed    in the order of the log that holds the entry
//      on_lost       entries overwritten unread         at its place between the entries of that log
//
// A program may also tell when a queue began and ended a piece of work: on_work(). For queues whose work nobody tells,
// trace_work.hpp derives it.
//
// The join. Commands with the same queue, operation, fence and value differ by their number only: the n-th one that was
// executed is the n-th one that was queued. Those that were queued are numbered in the order of their times, or in the
// order of the calls if one of them has the time 0. A command that was cancelled counts like one that was executed, at
// its place in the log. Therefore on_queued must be called for all commands of a queue or for none of them.
// A command of which one half is missing stays in the trace: it was queued and is not (yet) executed, or it was
// executed and nobody said that it was queued.
//
// Losses. After a loss nobody knows which commands the lost entries were. Commands that were executed before the loss
// are still numbered exactly. Those after it are joined only if, of all commands with the same queue, operation, fence
// and value, as many were executed as were queued; then none of them was lost. With any other count a join would be a
// guess, so the trace does not join them. If queued ones are left over, it marks all that are left over, queued and
// executed, as `uncertain`. If only executed ones are left over, it marks none: nobody said that they were queued. The
// values of a timeline hardly ever repeat, so in practice the mark means: this queued command may have been executed,
// and its entry was lost.
//
// Releases. A wait was released by the first signal, on any queue, that gave the wait's fence a value that reaches the
// awaited one. Time stamps say which signal was first. Where there are none the values say it, since a fence only
// rises. A wait whose value was reached before it began names the signal that had reached it. The trace does not name a
// signal (`released_by` is empty) in three cases:
//
//   - The trace has received no such signal.
//   - The time stamp of the first such signal is greater than that of the wait's end. Perhaps a signal that the trace
//     does not know has released the wait. Perhaps it was this one: a queue raises the value of a fence before it takes
//     the time, so a waiter may be quicker.
//   - The first such signal has a greater value than the awaited one, and some queue may have lost entries of signals
//     between the fence's next lower signal, or the beginning if there is none, and this one. One of the lost signals
//     may have released the wait. A gap begins with the last time that its log told before it, and ends with the first
//     one after it. It counts as wider by the errors of these times and of those of the signals, unless all of them are
//     times of one queue, whose order is certain.
//
// All times are nanoseconds; 0 means "not known". The times of on_queued are those of the steady clock. If the executor
// of a queue has another clock, set_clock() says how the two relate. The trace then brings the executor's times to the
// time line of the steady clock, and says how exact they are. It takes no order between two times for certain that are
// closer together than the errors of both: where a release depends on it, it names no signal. The times of all queues
// without such a clock must be on one time line.
//
// Not promised: a bound of the memory. A trace keeps everything that it receives, about 48 bytes for each event.
#ifndef TIDEMARK_TRACE_TRACE_HPP
#define TIDEMARK_TRACE_TRACE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../log/clock_correlation.hpp"
#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/assert.hpp"
#include "detail/trace_lists.hpp"
#include "trace_data.hpp"

namespace tidemark {

/// Collects events and joins them. It is a `trace_sink`, so a log_collector can tell it what it read.
///
/// Thread-safety: one thread at a time, for all functions. Progress: as that of the allocator; not for hot paths.
/// Errors: a function that allocates throws what its containers throw (std::bad_alloc). If it was to add an event, the
/// trace lacks that event, but queues() may already contain its queue. The caller may tell the event again.
class trace {
 public:
  // ---- names ----

  /// Names a queue, or gives it another name. From then on queues() contains it, even without events. Without a name,
  /// queue 3 is called "queue 3".
  /// \param name  any bytes; exporters replace what is not UTF-8
  void name_queue(queue_id number, std::string name) { queues_[number].name = std::move(name); }

  /// Names a thread that is recorded (queue/thread_recorder.hpp), which has a number as a queue has, or gives it
  /// another name. Exporters and reports call it a thread from then on. Otherwise as name_queue().
  void name_thread(queue_id number, std::string name) {
    queues_[number].name = std::move(name);
    queues_[number].is_thread = true;
  }

  /// Says which engine runs a queue, such as a device or a pool of threads. Exporters show the queues of one engine as
  /// a group. Engines of the same name are one. From then on queues() contains the queue, even without events.
  /// \param name  as for a queue; empty: the queue belongs to no engine, as at first
  void name_engine(queue_id number, std::string name) { queues_[number].engine = std::move(name); }

  /// Names a fence, or gives it another name. Without a name, fence 3 is called "fence 3".
  /// \param name  as for a queue
  void name_fence(fence_id number, std::string name) { fences_[number] = std::move(name); }

  // ---- clocks ----

  /// Says how the clock of a queue's executor relates to the steady clock. All times of this queue that on_executed and
  /// on_work tell, before this call and after it, are times of that clock. The last call counts. So a program may
  /// measure the clock again when the run is over, and the times in between become more exact. A correlation without a
  /// reading says that the queue has the steady clock, as at first. From then on queues() contains the queue.
  void set_clock(queue_id number, clock_correlation clock) { queues_[number].clock = std::move(clock); }

  // ---- events ----

  /// Says that a command was queued. Calls may come in any order, and minutes before or after the command was executed.
  /// \param queue_number  the queue that will execute the command
  /// \param kind          wait_queued or signal_queued. Asserts that; any other kind counts as signal_queued
  /// \param fence_number  the fence of the command
  /// \param value         the value that the command signals or waits for
  /// \param nanoseconds   when the command was queued, by the processor's clock; 0: not known
  void on_queued(queue_id queue_number, trace_event kind, fence_id fence_number, std::uint64_t value,
                 std::uint64_t nanoseconds);

  /// Says that a queue executed a command. Calls for one log of a queue must come in the order of that log.
  /// \tparam Clock         turns the time stamps of the entry, which are ticks, into nanoseconds; a stamp of 0 stays 0
  /// \param  queue_number  the queue that executed the command
  /// \param  entry         wait_unblocked or signal_executed. Asserts that; otherwise an entry with another operation
  ///                       becomes a command with that operation, and counts as an entry of the log of signals. An
  ///                       entry of a command that was cancelled only marks the command that was queued; if none was
  ///                       queued, the entry is left out
  template <class Clock = default_log_clock>
  void on_executed(queue_id queue_number, const fence_log_entry& entry);

  /// Says that entries of a log were overwritten before they were read. Must be called after on_executed for the
  /// entries before the gap, and before on_executed for those after it. If no entry of that log was told since its last
  /// gap, and the lost entries begin inside that gap or right after it, the call adds no gap: it extends that gap to
  /// the end of the lost entries, if they go beyond it.
  /// \param queue_number    the queue whose log it is
  /// \param log             waits or signals. Asserts that; any other one counts as the log of signals
  /// \param first_sequence  the number of the first lost entry
  /// \param count           how many entries were lost. 0 adds no gap; queues() contains the queue then, too
  void on_lost(queue_id queue_number, fence_log_type log, std::uint64_t first_sequence, std::uint64_t count);

  /// Says that a queue executed a piece of work, from `begin` to `end`. Calls may come in any order. If a time is 0, or
  /// `end` is smaller than `begin`, the span is not added; queues() contains the queue nevertheless. Spans of one queue
  /// may overlap one another and its waits, which is not checked. Exporters show a span within another one on top of
  /// it. Where two overlap in part, the export as trace events shows the later one in a further thread, and the page
  /// shows it on top.
  /// \tparam Clock         turns both times, which are ticks, into nanoseconds
  /// \param  queue_number  the queue that executed the work
  /// \param  name          what it did, the same for all work of one kind, so that a reader can group by it. Any bytes,
  ///                       but not empty. Asserts that; otherwise the name becomes "work"
  /// \param  begin         when the work began
  /// \param  end           when it ended
  template <class Clock = default_log_clock>
  void on_work(queue_id queue_number, std::string_view name, std::uint64_t begin, std::uint64_t end);

  // ---- what is known ----

  /// Returns all commands: first those that were executed, in the order of the calls, then those that were only queued.
  /// `released_by` is an index into this result. Later events may add what is missing in it, and may change the joins,
  /// the marks and the releases that it shows. Sorts all events at each call: O(n log n), and with clocks that are not
  /// exact, O(m) more for each signal, where m is how many signals of its fence lie within their errors behind it.
  [[nodiscard]] std::vector<trace_command> commands() const;

  /// Returns the gaps, in the order in which on_lost told of them. O(n).
  [[nodiscard]] std::vector<trace_loss> losses() const;

  /// Returns how many executed commands are marked as `backward`. Progress: wait-free.
  [[nodiscard]] std::uint64_t backward_count() const noexcept { return backward_count_; }

  /// Returns the spans that on_work told of, in the order of the calls; work_of() in trace_work.hpp returns derived
  /// ones, too. O(n).
  [[nodiscard]] std::vector<trace_work> told_work() const;

  /// Returns the numbers of all queues that were named or that an event told of, rising.
  [[nodiscard]] std::vector<queue_id> queues() const;

  /// Returns the name of a queue, or "queue " and its number if it has none or an empty one.
  [[nodiscard]] std::string queue_name(queue_id number) const;

  /// Returns the name of the engine that runs a queue; empty if nobody said that one does. Threads of which nobody said
  /// that are in the group "threads".
  [[nodiscard]] std::string engine_name(queue_id number) const {
    const auto found = queues_.find(number);
    if (found == queues_.end()) return {};
    return found->second.engine.empty() && found->second.is_thread ? "threads" : found->second.engine;
  }

  /// Returns whether a number is that of a thread: name_thread() was called.
  [[nodiscard]] bool is_thread(queue_id number) const {
    const auto found = queues_.find(number);
    return found != queues_.end() && found->second.is_thread;
  }

  /// Returns the name of a fence, or "fence " and its number if it has none or an empty one.
  [[nodiscard]] std::string fence_name(fence_id number) const;

 private:
  /// The queue, operation, fence and value of a command.
  using subject = detail::command_subject;
  struct queued_record {
    subject what;
    std::uint64_t time;
  };
  struct executed_record {
    subject what;
    std::uint64_t observed;
    std::uint64_t end;
    bool backward;
    bool after_loss;  ///< entries of its log were lost before this one
  };
  struct log_state {
    timestamp_order order;
    std::uint64_t last_time = 0;     ///< the last time stamp that was not 0
    std::uint64_t gaps = 0;          ///< how many gaps this log has
    std::size_t last_gap = 0;        ///< index in losses_, if in_gap
    std::size_t first_open_gap = 0;  ///< index in losses_, if awaits_time
    bool in_gap = false;             ///< no entry has come since the last loss
    bool awaits_time = false;        ///< no time stamp has come since the last loss
  };
  struct queue_state {
    std::string name;
    std::string engine;
    bool is_thread = false;
    clock_correlation clock;        ///< without a reading: the steady clock
    std::array<log_state, 2> logs;  ///< of waits, of signals
  };
  using indices = std::vector<std::size_t>;

  static trace_command made_of(const subject& what);
  correlated_time steady(queue_id number, std::uint64_t time) const;
  void pass(log_state& log, std::uint64_t time);
  bool has_gaps(const subject& what) const;
  template <class Record>
  static indices by_subject(const std::vector<Record>& records);
  void join_queued(std::vector<trace_command>& commands) const;
  void order_by_time(indices::iterator first, indices::iterator last) const;
  std::size_t certain(std::ptrdiff_t queued, indices::const_iterator first, indices::const_iterator last) const;
  trace_command only_queued(const queued_record& event) const;
  void find_releases(std::vector<trace_command>& commands) const;
  static std::vector<detail::rise> find_rises(const std::vector<trace_command>& commands);
  using queue_gaps = std::map<queue_id, detail::lost_times>;
  queue_gaps signal_gaps() const;
  static bool may_lack_one(const queue_gaps& gaps, const detail::rise* previous, const detail::rise& first,
                           const trace_command& wait);

  std::map<queue_id, queue_state> queues_;
  std::map<fence_id, std::string> fences_;
  std::vector<queued_record> queued_;
  std::vector<executed_record> executed_;
  /// What was cancelled: for each, how many entries were executed before it was told.
  std::map<subject, indices> cancelled_;
  std::vector<trace_loss> losses_;
  detail::work_list work_;
  std::uint64_t backward_count_ = 0;
};

// ---- events ---------------------------------------------------------------------------------------------------------

inline void trace::on_queued(queue_id queue_number, trace_event kind, fence_id fence_number, std::uint64_t value,
                             std::uint64_t nanoseconds) {
  const bool wait = kind == trace_event::wait_queued;
  TIDEMARK_ASSERT(wait || kind == trace_event::signal_queued, "only waits and signals are queued");
  queues_.try_emplace(queue_number);
  const auto operation = wait ? fence_operation::wait_unblocked : fence_operation::signal_executed;
  queued_.push_back({{queue_number, operation, fence_number, value}, nanoseconds});
}

template <class Clock>
void trace::on_executed(queue_id queue_number, const fence_log_entry& entry) {
  if (is_cancelled(entry)) {
    queues_.try_emplace(queue_number);
    cancelled_[{queue_number, entry.operation, entry.fence, entry.fence_value}].push_back(executed_.size());
    return;
  }
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
  const bool fell = log.order.judge(entry.end_timestamp) == timestamp_verdict::backward;
  executed_.back().backward = fell || ends_early;
  backward_count_ += fell || ends_early ? 1 : 0;
  pass(log, executed_.back().end);
}

inline void trace::on_lost(queue_id queue_number, fence_log_type log, std::uint64_t first_sequence,
                           std::uint64_t count) {
  TIDEMARK_ASSERT(log == fence_log_type::wait || log == fence_log_type::signal, "a log is of waits or of signals");
  if (log != fence_log_type::wait) log = fence_log_type::signal;
  log_state& state = queues_[queue_number].logs[log == fence_log_type::wait ? 0 : 1];
  if (count == 0) return;
  if (state.in_gap) {
    trace_loss& last = losses_[state.last_gap];
    const std::uint64_t begun = first_sequence - last.first_sequence;  // huge if this loss begins before the last one
    if (begun <= last.count) {
      last.count = (std::max)(last.count, begun + count);
      return;
    }
  }
  losses_.push_back({queue_number, log, first_sequence, count, state.last_time, 0});
  if (!state.awaits_time) state.first_open_gap = losses_.size() - 1;
  state.last_gap = losses_.size() - 1;
  state.in_gap = state.awaits_time = true;
  ++state.gaps;
}

/// Notes that a log has told one more entry, with this time stamp, and completes the gaps before it.
inline void trace::pass(log_state& log, std::uint64_t time) {
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

template <class Clock>
void trace::on_work(queue_id queue_number, std::string_view name, std::uint64_t begin, std::uint64_t end) {
  TIDEMARK_ASSERT(!name.empty(), "a piece of work needs a name");
  queues_.try_emplace(queue_number);
  if (begin == 0 || end < begin) return;
  const std::uint64_t begin_time = Clock::to_nanoseconds(begin);
  if (begin_time == 0) return;  // it was less than a nanosecond
  work_.add(queue_number, name.empty() ? "work" : name, begin_time, Clock::to_nanoseconds(end));
}

// ---- what is known --------------------------------------------------------------------------------------------------

inline std::vector<trace_command> trace::commands() const {
  std::vector<trace_command> result;
  result.reserve((std::max)(executed_.size(), queued_.size()));
  for (const executed_record& event : executed_) {
    trace_command command = made_of(event.what);
    command.executed = true;
    command.backward = event.backward;
    const correlated_time observed = steady(event.what.queue, event.observed);
    const correlated_time end = steady(event.what.queue, event.end);
    command.observed_time = observed.nanoseconds;
    command.end_time = end.nanoseconds;
    command.time_error = (std::max)(observed.error, end.error);
    result.push_back(command);
  }
  join_queued(result);
  detail::mark_cancelled(cancelled_, std::span(result).subspan(executed_.size()));
  find_releases(result);
  return result;
}

/// Returns a time that a queue's executor has told, on the time line of the steady clock.
inline correlated_time trace::steady(queue_id number, std::uint64_t time) const {
  const clock_correlation& clock = queues_.at(number).clock;
  return clock.readings().empty() ? correlated_time{time, 0} : clock.to_steady(time);
}

inline std::vector<trace_loss> trace::losses() const {
  std::vector<trace_loss> result = losses_;
  for (trace_loss& each : result) {
    each.time_before = steady(each.queue, each.time_before).nanoseconds;
    each.time_after = steady(each.queue, each.time_after).nanoseconds;
  }
  return result;
}

inline std::vector<trace_work> trace::told_work() const {
  const std::vector<std::string_view> names = work_.names();
  std::vector<trace_work> result;
  result.reserve(work_.spans().size());
  for (const detail::work_list::span& span : work_.spans()) {
    result.push_back({span.queue, names[span.name], steady(span.queue, span.begin).nanoseconds,
                      steady(span.queue, span.end).nanoseconds, false});
  }
  return result;
}

inline std::vector<queue_id> trace::queues() const {
  std::vector<queue_id> numbers;
  for (const auto& [number, state] : queues_) numbers.push_back(number);
  return numbers;
}

inline std::string trace::queue_name(queue_id number) const {
  const auto found = queues_.find(number);
  const bool named = found != queues_.end() && !found->second.name.empty();
  return named ? found->second.name : "queue " + std::to_string(to_number(number));
}

inline std::string trace::fence_name(fence_id number) const {
  const auto found = fences_.find(number);
  const bool named = found != fences_.end() && !found->second.empty();
  return named ? found->second : "fence " + std::to_string(to_number(number));
}

// ---- the join -------------------------------------------------------------------------------------------------------

inline trace_command trace::made_of(const subject& what) {
  trace_command command;
  command.queue = what.queue;
  command.operation = what.operation;
  command.fence = what.fence;
  command.value = what.value;
  return command;
}

/// Returns whether the log that the commands belong to has lost entries.
inline bool trace::has_gaps(const subject& what) const {
  return queues_.at(what.queue).logs[what.operation == fence_operation::wait_unblocked ? 0 : 1].gaps != 0;
}

/// Returns the indices of `records`: those of one subject together, in the order in which they came.
template <class Record>
trace::indices trace::by_subject(const std::vector<Record>& records) {
  indices order(records.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto compared = records[a].what <=> records[b].what;
    return std::is_neq(compared) ? std::is_lt(compared) : a < b;
  });
  return order;
}

/// Gives the executed commands the times at which they were queued, and appends the commands that were only queued.
inline void trace::join_queued(std::vector<trace_command>& commands) const {
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
    const auto found = cancelled_.find(what);
    const indices gone = found != cancelled_.end() ? found->second : indices{};
    const auto gone_count = static_cast<std::ptrdiff_t>((std::min)(gone.size(), indices::size_type(last - first)));
    const std::size_t joined = certain(last - first - gone_count, other_first, other);
    std::ptrdiff_t passed = 0;  // how many of the cancelled ones are behind
    for (std::size_t i = 0; i < joined; ++i, ++first) {
      const std::size_t index = other_first[static_cast<std::ptrdiff_t>(i)];
      for (; passed < gone_count && gone[static_cast<std::size_t>(passed)] <= index; ++passed)
        alone.push_back(*first++);
      commands[index].queued = true;
      commands[index].queued_time = queued_[*first].time;
    }
    const bool has_more = last - first > gone_count - passed;
    for (auto rest = other_first + static_cast<std::ptrdiff_t>(joined); rest != other && has_more; ++rest) {
      commands[*rest].uncertain = true;
    }
    alone.insert(alone.end(), first, last);
    first = last;
  }
  std::sort(alone.begin(), alone.end());
  for (const std::size_t index : alone) commands.push_back(only_queued(queued_[index]));
}

/// Brings queued commands of one subject, which are in the order of the calls, into the order in which they count.
inline void trace::order_by_time(indices::iterator first, indices::iterator last) const {
  const auto unknown = [&](std::size_t i) { return queued_[i].time == 0; };
  if (std::any_of(first, last, unknown)) return;
  std::sort(first, last, [&](std::size_t a, std::size_t b) {
    return queued_[a].time != queued_[b].time ? queued_[a].time < queued_[b].time : a < b;
  });
}

/// Returns how many commands of one subject can be joined without a guess: `queued` of them were queued, and those from
/// `first` to `last` were executed.
inline std::size_t trace::certain(std::ptrdiff_t queued, indices::const_iterator first,
                                  indices::const_iterator last) const {
  const auto before_loss = [&](std::size_t i) { return !executed_[i].after_loss; };
  const auto sure = last - first == queued ? last - first : std::find_if_not(first, last, before_loss) - first;
  return static_cast<std::size_t>((std::min)(queued, sure));
}

inline trace_command trace::only_queued(const queued_record& event) const {
  trace_command command = made_of(event.what);
  command.queued = true;
  command.queued_time = event.time;
  command.uncertain = has_gaps(event.what);
  return command;
}

// ---- the releases ---------------------------------------------------------------------------------------------------

/// Finds for each wait the signal that released it.
inline void trace::find_releases(std::vector<trace_command>& commands) const {
  const std::vector<detail::rise> rises = find_rises(commands);
  const queue_gaps gaps = signal_gaps();
  for (std::size_t i = 0; i < executed_.size(); ++i) {
    trace_command& wait = commands[i];
    if (wait.operation != fence_operation::wait_unblocked) continue;
    const auto first =
        std::lower_bound(rises.begin(), rises.end(), wait, [](const detail::rise& a, const trace_command& b) {
          return std::tie(a.fence, a.value) < std::tie(b.fence, b.value);
        });
    if (first == rises.end() || first->fence != wait.fence) continue;
    const std::uint64_t slack = detail::doubt(*first, wait.queue, wait.time_error);
    const bool too_late = first->time != 0 && wait.end_time != 0 && first->time > detail::later(wait.end_time, slack);
    const bool has_previous = first != rises.begin() && std::prev(first)->fence == wait.fence;
    const detail::rise* const previous = has_previous ? &*std::prev(first) : nullptr;
    const bool doubtful = first->value != wait.value && may_lack_one(gaps, previous, *first, wait);
    if (!too_late && !doubtful && !first->is_doubtful) wait.released_by = first->command;
  }
}

/// Returns the signals that raised their fences, sorted by fence and value.
inline std::vector<detail::rise> trace::find_rises(const std::vector<trace_command>& commands) {
  std::vector<detail::rise> found;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const trace_command& command = commands[i];
    if (!command.executed || command.operation != fence_operation::signal_executed) continue;
    found.push_back({command.fence, command.value, command.end_time, i, command.queue, command.time_error, false});
  }
  return detail::only_rises(std::move(found));
}

/// Returns when each queue may have executed signals whose entries were lost. A time after a gap may be smaller than
/// the one before it; then nobody knows which of them is right, and the gap covers both.
inline trace::queue_gaps trace::signal_gaps() const {
  queue_gaps gaps;
  for (const trace_loss& loss : losses_) {
    if (loss.log != fence_log_type::signal) continue;
    const bool is_open = loss.time_after == 0;
    gaps[loss.queue].add(steady(loss.queue, loss.time_before),
                         is_open ? correlated_time{UINT64_MAX, 0} : steady(loss.queue, loss.time_after));
  }
  for (auto& [number, each] : gaps) each.merge();
  return gaps;
}

/// Returns whether a signal may have been lost that was between `previous` and `first`, of which the trace knows none
/// in between. If there is no previous one, that is any time before; if `first` has no time, until the end of the wait.
inline bool trace::may_lack_one(const queue_gaps& gaps, const detail::rise* previous, const detail::rise& first,
                                const trace_command& wait) {
  const bool is_timed = first.time != 0;
  const auto since = previous != nullptr ? correlated_time{previous->time, previous->error} : correlated_time{};
  auto until = is_timed ? correlated_time{first.time, first.error} : correlated_time{wait.end_time, wait.time_error};
  if (until.nanoseconds == 0) until = {UINT64_MAX, 0};
  const queue_id ends_in = is_timed ? first.queue : wait.queue;
  const queue_id begins_in = previous != nullptr ? previous->queue : ends_in;
  return std::any_of(gaps.begin(), gaps.end(), [&](const auto& of_queue) {
    const auto& [number, lost] = of_queue;
    return lost.overlap(since, until, begins_in == number && ends_in == number);
  });
}

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_TRACE_HPP
