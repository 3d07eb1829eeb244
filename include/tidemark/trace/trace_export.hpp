// SPDX-License-Identifier: BSL-1.0
//
// trace_export: writes a trace to a file that people look at, either as Chrome trace events, which Perfetto opens, or
// as a page that any browser opens.
//
// Both show a lane for each queue, and the lanes of one engine as a group. They show each wait from when it was seen to
// stall its queue to its end: in that time the queue was parked. They also show when each signal was executed; what the
// queue did in between (trace_work.hpp); an arrow from each signal to the waits that it released; when each command was
// queued; and the gaps in the logs. And both show each command as a box from when it was queued to when it was
// executed, and how many were in flight at a time (trace_lifetimes.hpp): the page after a press of d, the trace events
// as asynchronous ones and as counters.
//
// The first command that a queue has not executed is shown, too, if it is a wait, and if it is known when it was
// queued. It is shown from that time, or from the last known time at which the queue did something else, if that is
// later, to the last time of the trace. If these are the same time, there is nothing to show.
//
// If it is not known when a command was executed, it is shown at the last known time before it in its log; failing
// that, at the first known time after it; failing that, when it was queued or was seen to stall, whichever is later.
// Such a command is marked. A command is counted as not shown if none of these times is known, or if it was not
// executed and it is not known when it was queued.
//
// The output does not depend on the locale and the flags of the stream. For one thread at a time, as the trace itself.
#ifndef TIDEMARK_TRACE_TRACE_EXPORT_HPP
#define TIDEMARK_TRACE_TRACE_EXPORT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "detail/trace_lists.hpp"
#include "detail/trace_page.hpp"
#include "detail/trace_text.hpp"
#include "trace.hpp"
#include "trace_data.hpp"
#include "trace_lifetimes.hpp"
#include "trace_work.hpp"

namespace tidemark {

/// Writes a trace as a JSON object of trace events: "X" for waits, signals and work, "s" and "f" for the two ends of an
/// arrow, "i" for queued commands and for gaps, "b" and "e" for the two ends of the time in which a command was in
/// flight, "C" for the depth of a queue, "M" for names. An engine is a process, a queue is a thread; queues without an
/// engine are threads of the process "tidemark". Boxes of a queue that overlap in part are shown in further threads
/// below its own, named "render (2)" and so on, because readers drop such a box within one thread. A box that lies
/// within another one is in the same thread, after it. The name of an event is the same for all commands of one kind
/// and fence ("wait uploaded"), and for all work of one name ("work" if it is derived), so that a reader can group by
/// it; what differs is in `args`. The name of a command in flight begins with that of its queue, because readers give
/// each name a row: "render: wait uploaded". Times are microseconds since one nanosecond before the first event;
/// `otherData.start_nanoseconds` says when that was. The box of a command ends when the command ended. If the command
/// was seen to stall after that, the box ends at that time. It is at least one nanosecond wide. Where one of the times
/// is a guess, and the box of a signal ends after that of the wait, there is no arrow between them. A gap is shown at
/// the last known time before it in its log. If there is none, it is shown at the first known time after it. If there
/// is none either, it is shown at the time 0. `otherData.not_shown` says how many commands are not shown.
/// \param source  is not changed, and must not be changed meanwhile
/// \param stream  gets the text, and is not flushed. Errors: after a failed write the state of the stream says so, and
///                what it got is incomplete. What the stream throws, if its exceptions() allow it, and std::bad_alloc
///                pass through
/// Progress: as that of the allocator and the stream. Time and memory are O(n log n) and O(n) in the number of events.
inline void write_chrome_trace(const trace& source, std::ostream& stream);

/// Writes a trace as one HTML page that needs no other file and no network, and lets a browser run nothing but its own
/// script. Parameters, errors and progress are those of write_chrome_trace().
inline void write_trace_page(const trace& source, std::ostream& stream);

namespace detail {

inline bool is_wait(const trace_command& command) noexcept {
  return command.operation == fence_operation::wait_unblocked;
}

/// What both exporters start from: the commands, when to show each, and in which lane.
class trace_picture {
 public:
  /// Where a command is drawn: from `begin` to `end`, in nanoseconds. `end` is 0 if it is not drawn.
  struct box {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool guessed = false;  ///< the command's end is not known: `end` is a neighbor's, or another time of the command
    bool shown() const noexcept { return end != 0; }
  };

  explicit trace_picture(const trace& source)
      : commands{source.commands()},
        work{work_of(source, commands)},
        lifetimes{lifetimes_of(source, commands)},
        boxes(commands.size()) {
    arrange(source);
    for (const trace_command& command : commands) fences.try_emplace(command.fence, 0);
    std::size_t number = 0;
    for (auto& [fence, index] : fences) index = number++;
    place(source.losses());
    show_parked();
  }

  std::vector<trace_command> commands;
  std::vector<trace_work> work;
  std::vector<trace_lifetime> lifetimes;
  std::vector<queue_id> order;       ///< the queues by their lanes, those of one engine together
  std::vector<std::string> engines;  ///< their names, by number; the number 0 stands for no engine
  std::map<queue_id, std::size_t> engine_of;
  std::vector<box> boxes;                     ///< by command; not shown if it was only queued and is not parked
  std::map<queue_id, std::size_t> lanes;      ///< by queue
  std::map<fence_id, std::size_t> fences;     ///< the index of each fence in the data, by its number
  std::uint64_t start = UINT64_MAX;           ///< the first time of all
  std::uint64_t executed_start = UINT64_MAX;  ///< the first time at which something was executed or lost
  std::size_t not_shown = 0;                  ///< how many commands have no time at all

 private:
  using log = std::pair<queue_id, fence_operation>;

  /// Gives the engines numbers, in the order of their first queues, and the queues their lanes: first those without an
  /// engine, then the queues of each engine, by number.
  void arrange(const trace& source) {
    std::map<std::string, std::vector<queue_id>> queues;
    engines.emplace_back();
    for (const queue_id queue : source.queues()) {
      const std::string engine = source.engine_name(queue);
      std::vector<queue_id>& group = queues[engine];
      if (group.empty() && !engine.empty()) engines.push_back(engine);
      group.push_back(queue);
    }
    for (std::size_t engine = 0; engine < engines.size(); ++engine) {
      for (const queue_id queue : queues[engines[engine]]) {
        engine_of.emplace(queue, engine);
        lanes.emplace(queue, order.size());
        order.push_back(queue);
      }
    }
  }

  void place(const std::vector<trace_loss>& losses) {
    std::map<log, std::uint64_t> neighbor;
    const auto guess = [&](std::size_t i) {
      if (!commands[i].executed) return;
      std::uint64_t& time = neighbor[{commands[i].queue, commands[i].operation}];
      if (commands[i].end_time != 0) time = commands[i].end_time;
      if (boxes[i].end == 0) boxes[i].end = time;
    };
    for (std::size_t i = 0; i < commands.size(); ++i) guess(i);
    neighbor.clear();
    for (std::size_t i = commands.size(); i-- > 0;) guess(i);
    for (std::size_t i = 0; i < commands.size(); ++i) finish(commands[i], boxes[i]);
    for (const trace_work& span : work) note(executed_start, span.begin_time);
    for (const trace_loss& loss : losses) {
      for (const std::uint64_t time : {loss.time_before, loss.time_after}) note(executed_start, time);
    }
    start = (std::min)(start, executed_start);
    if (executed_start == UINT64_MAX) executed_start = start;
    if (start == UINT64_MAX) start = executed_start = 0;
  }

  void finish(const trace_command& command, box& place) {
    note(start, command.queued_time);
    if (!command.executed) {
      not_shown += command.queued_time == 0 ? 1 : 0;
      return;
    }
    place.guessed = command.end_time == 0;
    if (place.end == 0) place.end = (std::max)(command.queued_time, command.observed_time);
    if (place.end == 0) {
      ++not_shown;
      return;
    }
    place.begin = place.end;
    if (command.observed_time != 0) {
      place.begin = (std::min)(place.end, command.observed_time);
      place.end = (std::max)(place.end, command.observed_time);
    }
    note(executed_start, place.begin);
  }

  /// A queue whose next command is a wait is shown as parked in it until the end of the trace, unless it works until
  /// then.
  void show_parked() {
    std::uint64_t last = 0;
    std::map<queue_id, std::uint64_t> busy_until;
    const auto ends = [&](queue_id queue, std::uint64_t time) {
      busy_until[queue] = (std::max)(busy_until[queue], time);
      last = (std::max)(last, time);
    };
    for (std::size_t i = 0; i < commands.size(); ++i) {
      ends(commands[i].queue, boxes[i].end);
      last = (std::max)(last, commands[i].queued_time);
    }
    for (const trace_work& span : work) ends(span.queue, span.end_time);
    for (const auto& [queue, left] : pending_commands(commands)) {
      const trace_command& next = commands[left.front()];
      const std::uint64_t begin = (std::max)(next.queued_time, busy_until[queue]);
      if (is_wait(next) && next.queued_time != 0 && begin < last) boxes[left.front()] = {begin, last};
    }
  }

  static void note(std::uint64_t& least, std::uint64_t time) noexcept {
    if (time != 0) least = (std::min)(least, time);
  }
};

/// Writes one trace as Chrome trace events.
class chrome_writer {
 public:
  chrome_writer(const trace& source, std::ostream& stream) : source_{source}, picture_{source}, out_{stream} {
    // find_slices() moves the begin of a box back by a nanosecond at most.
    if (picture_.start != 0) --picture_.start;
    find_slices();
    find_threads();
  }

  void write() {
    out_.raw("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"tidemark\",\"start_nanoseconds\":\"");
    out_.number(picture_.start).raw("\",\"not_shown\":").number(picture_.not_shown).raw("},\n\"traceEvents\":[\n");
    names();
    for (const slice& box : slices_) draw(box);
    for (std::size_t i = 0; i < picture_.commands.size(); ++i) queued(i);
    for (const trace_loss& loss : source_.losses()) lost(loss);
    for (std::size_t i = 0; i < picture_.lifetimes.size(); ++i) in_flight(i);
    for (const queue_id queue : picture_.order) depths(queue);
    // Arrows come after all boxes, and their beginnings before all ends. Readers that sort by time keep the order of
    // what is at the same time.
    for (std::size_t i = 0; i < picture_.commands.size(); ++i) flow(i, true);
    for (std::size_t i = 0; i < picture_.commands.size(); ++i) flow(i, false);
    out_.raw("\n]}\n").flush();
  }

 private:
  /// One box: of work, or of a command.
  struct slice {
    std::size_t lane;  // of the queue
    std::uint64_t begin;
    std::uint64_t end;
    bool is_work;
    std::size_t index;  // of the work, or of the command
    std::size_t thread = 0;

    /// The order in which they are written: what lies within another one comes after it.
    bool comes_before(const slice& other) const noexcept {
      if (lane != other.lane) return lane < other.lane;
      if (begin != other.begin) return begin < other.begin;
      if (end != other.end) return end > other.end;
      return is_work != other.is_work ? is_work : index < other.index;
    }
  };

  void find_slices() {
    for (std::size_t i = 0; i < picture_.work.size(); ++i) {
      const trace_work& span = picture_.work[i];
      const std::uint64_t end = (std::max)(span.end_time, span.begin_time + 1);
      slices_.push_back({picture_.lanes.at(span.queue), span.begin_time, end, true, i});
    }
    for (std::size_t i = 0; i < picture_.commands.size(); ++i) {
      const trace_picture::box& box = picture_.boxes[i];
      if (!box.shown()) continue;
      const std::uint64_t begin = (std::min)(box.begin, box.end - 1);
      slices_.push_back({picture_.lanes.at(picture_.commands[i].queue), begin, box.end, false, i});
    }
    std::sort(slices_.begin(), slices_.end(), [](const slice& a, const slice& b) { return a.comes_before(b); });
  }

  /// Gives each queue a thread, and more where its boxes overlap in part. Threads count from 1, because some readers
  /// take 0 for idle.
  void find_threads() {
    threads_of_commands_.resize(picture_.commands.size());
    std::size_t next = 0;
    std::size_t first = 1;
    for (std::size_t lane = 0; lane < picture_.order.size(); ++lane) {
      first_threads_.push_back(first);
      span_lanes threads;
      for (; next < slices_.size() && slices_[next].lane == lane; ++next) {
        slice& box = slices_[next];
        box.thread = first + threads.place(box.begin, box.end);
        if (!box.is_work) threads_of_commands_[box.index] = box.thread;
      }
      first += (std::max)(threads.size(), std::size_t{1});
    }
    first_threads_.push_back(first);
  }

  /// Begins an event. Processes count from 1.
  json_text& open(const char* phase, std::size_t engine) {
    out_.raw(first_ ? "" : ",\n").raw("{\"ph\":\"").raw(phase).raw("\",\"pid\":").number(engine + 1);
    first_ = false;
    return out_.raw(",\"tid\":");
  }
  /// Begins an event of a queue; its time comes next.
  json_text& open(const char* phase, queue_id queue, std::size_t thread, std::string_view name) {
    open(phase, picture_.engine_of.at(queue)).number(thread);
    return out_.raw(",\"name\":").string(name);
  }
  std::size_t first_thread(queue_id queue) const { return first_threads_[picture_.lanes.at(queue)]; }
  json_text& at(std::uint64_t time) { return out_.raw(",\"ts\":").microseconds(time - picture_.start); }

  void names() {
    const auto describe = [&](std::size_t engine, std::string_view name) {
      open("M", engine).raw("0,\"name\":\"process_name\",\"args\":{\"name\":").string(name).raw("}}");
      open("M", engine).raw("0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":").number(engine).raw("}}");
    };
    const bool all_have_engines = !picture_.order.empty() && picture_.engine_of.at(picture_.order.front()) != 0;
    if (!all_have_engines) describe(0, "tidemark");
    for (std::size_t engine = 1; engine < picture_.engines.size(); ++engine) describe(engine, picture_.engines[engine]);
    for (std::size_t lane = 0; lane < picture_.order.size(); ++lane) {
      const queue_id queue = picture_.order[lane];
      std::string name = source_.queue_name(queue);
      for (std::size_t thread = first_threads_[lane]; thread < first_threads_[lane + 1]; ++thread) {
        open("M", queue, thread, "thread_name").raw(",\"args\":{\"name\":").string(name).raw("}}");
        open("M", queue, thread, "thread_sort_index").raw(",\"args\":{\"sort_index\":").number(thread - 1).raw("}}");
        name = source_.queue_name(queue) + " (" + std::to_string(thread - first_threads_[lane] + 2) + ")";
      }
    }
  }

  std::string title(const trace_command& command) const {
    return (is_wait(command) ? "wait " : "signal ") + source_.fence_name(command.fence);
  }

  void draw(const slice& box) {
    if (box.is_work) {
      work(picture_.work[box.index], box);
    } else {
      command(picture_.commands[box.index], box);
    }
  }
  void lasts(const slice& box) { at(box.begin).raw(",\"dur\":").microseconds(box.end - box.begin); }

  void work(const trace_work& span, const slice& box) {
    open("X", span.queue, box.thread, span.derived ? "work" : span.name).raw(",\"cat\":\"work\"");
    lasts(box);
    out_.raw(",\"args\":{\"begin_ns\":").exact(span.begin_time).raw(",\"end_ns\":").exact(span.end_time);
    out_.raw(span.derived ? ",\"derived\":true}}" : "}}");
  }
  void command(const trace_command& command, const slice& box) {
    open("X", command.queue, box.thread, title(command));
    out_.raw(is_wait(command) ? ",\"cat\":\"wait\"" : ",\"cat\":\"signal\"");
    lasts(box);
    arguments(command, picture_.boxes[box.index].guessed);
  }
  void queued(std::size_t index) {
    const trace_command& command = picture_.commands[index];
    if (command.queued_time == 0) return;
    open("i", command.queue, first_thread(command.queue), "queued: " + title(command));
    out_.raw(",\"cat\":\"queued\",\"s\":\"t\"");
    at(command.queued_time);
    arguments(command, picture_.boxes[index].guessed);
  }

  void arguments(const trace_command& command, bool guessed) {
    out_.raw(",\"args\":{\"fence\":").number(to_number(command.fence)).raw(",\"value\":").exact(command.value);
    const auto time = [&](const char* key, std::uint64_t nanoseconds) {
      if (nanoseconds != 0) out_.raw(key).exact(nanoseconds);
    };
    time(",\"queued_ns\":", command.queued_time);
    time(",\"observed_ns\":", command.observed_time);
    time(",\"end_ns\":", command.end_time);
    if (is_wait(command) && command.observed_time != 0 && command.end_time > command.observed_time) {
      time(",\"parked_ns\":", command.end_time - command.observed_time);
    }
    time(",\"error_ns\":", command.time_error);
    const auto mark = [&](const char* text, bool set) { out_.raw(set ? text : ""); };
    mark(",\"not_executed\":true", !command.executed);
    mark(",\"backward\":true", command.backward);
    mark(",\"uncertain\":true", command.uncertain);
    mark(",\"time_not_recorded\":true", command.executed && guessed);
    out_.raw("}}");
  }

  void lost(const trace_loss& loss) {
    const bool waits = loss.log == fence_log_type::wait;
    const std::string_view what = waits ? "waits lost" : "signals lost";
    open("i", loss.queue, first_thread(loss.queue), what).raw(",\"cat\":\"lost\",\"s\":\"t\"");
    const std::uint64_t time = loss.time_before != 0 ? loss.time_before : loss.time_after;
    at(time != 0 ? time : picture_.start);
    out_.raw(",\"args\":{\"first\":").exact(loss.first_sequence).raw(",\"count\":").exact(loss.count);
    if (loss.time_before != 0) out_.raw(",\"after_ns\":").exact(loss.time_before);
    if (loss.time_after != 0) out_.raw(",\"before_ns\":").exact(loss.time_after);
    out_.raw("}}");
  }

  /// Writes both ends of the time in which a command was in flight.
  void in_flight(std::size_t number) {
    const trace_lifetime& each = picture_.lifetimes[number];
    const trace_command& command = picture_.commands[each.command];
    const std::string name = source_.queue_name(each.queue) + ": " + title(command);
    for (const bool begins : {true, false}) {
      open(begins ? "b" : "e", each.queue, first_thread(each.queue), name);
      out_.raw(",\"cat\":\"in flight\",\"id\":").number(number + 1);
      at(begins ? each.begin_time : each.end_time);
      if (begins) {
        arguments(command, picture_.boxes[each.command].guessed);
      } else {
        out_.raw("}");
      }
    }
  }
  void depths(queue_id queue) {
    for (const trace_depth& each : depth_of(picture_.lifetimes, queue)) {
      open("C", queue, first_thread(queue), "depth of " + source_.queue_name(queue));
      at(each.time).raw(",\"args\":{\"commands\":").number(each.depth).raw("}}");
    }
  }

  /// Writes one end of the arrow to the wait `index`. It is in the last nanosecond of its box, because the time at
  /// which a box ends is no longer inside it.
  void flow(std::size_t index, bool begins) {
    const auto signal = picture_.commands[index].released_by;
    if (!signal || !picture_.boxes[index].shown() || !picture_.boxes[*signal].shown()) return;
    if (picture_.boxes[*signal].end > picture_.boxes[index].end) return;  // one of the times is a guess
    const std::size_t from = begins ? *signal : index;
    open(begins ? "s" : "f", picture_.commands[from].queue, threads_of_commands_[from], "releases");
    out_.raw(",\"cat\":\"release\"");
    out_.raw(begins ? "" : ",\"bp\":\"e\"").raw(",\"id\":").number(index + 1);
    at(picture_.boxes[from].end - 1);
    out_.raw("}");
  }

  const trace& source_;
  trace_picture picture_;
  std::vector<slice> slices_;                     // in the order in which they are written
  std::vector<std::size_t> first_threads_;        // of each queue, and one past the last thread
  std::vector<std::size_t> threads_of_commands_;  // by command; 0 if it is not shown
  json_text out_;
  bool first_ = true;
};

/// Writes one trace as a page: the data as JSON between the two halves of the page (detail/trace_page.hpp).
class page_writer {
 public:
  page_writer(const trace& source, std::ostream& stream) : source_{source}, picture_{source}, out_{stream} {}

  void write() {
    for (const char* const piece : trace_page_before_data) out_.raw(piece);
    data();
    for (const char* const piece : trace_page_after_data) out_.raw(piece);
    out_.flush();
  }

 private:
  /// Writes a time, relative to the first one at which something was executed or lost; null if it is not known.
  json_text& time(std::uint64_t nanoseconds) {
    return nanoseconds == 0 ? out_.raw("null") : out_.difference(nanoseconds, picture_.executed_start);
  }

  void data() {
    out_.raw("{\"start\":\"").number(picture_.executed_start).raw("\",\"notShown\":").number(picture_.not_shown);
    out_.raw(",\"backward\":").number(source_.backward_count());
    list(",\"queues\":[", picture_.order, [&](queue_id queue) { out_.string(source_.queue_name(queue)); });
    list("],\"engines\":[", picture_.engines, [&](const std::string& engine) { out_.string(engine); });
    list("],\"engineOf\":[", picture_.order, [&](queue_id queue) { out_.number(picture_.engine_of.at(queue)); });
    list("],\"isThread\":[", picture_.order, [&](queue_id queue) { out_.raw(source_.is_thread(queue) ? "1" : "0"); });
    list("],\"fences\":[", picture_.fences, [&](const auto& fence) { out_.string(source_.fence_name(fence.first)); });
    std::map<std::string_view, std::size_t> names;
    for (const trace_work& span : picture_.work) names.try_emplace(span.name, names.size());
    std::vector<std::string_view> by_number(names.size());
    for (const auto& [name, number] : names) by_number[number] = name;
    list("],\"workNames\":[", by_number, [&](std::string_view name) { out_.string(name); });
    out_.raw("],\n\"commands\":[");
    const char* separator = "\n";
    for (std::size_t i = 0; i < picture_.commands.size(); ++i) {
      out_.raw(std::exchange(separator, ",\n"));
      command(picture_.commands[i], picture_.boxes[i]);
    }
    out_.raw("],\n\"work\":[");
    separator = "\n";
    for (const trace_work& span : picture_.work) {
      out_.raw(std::exchange(separator, ",\n"));
      work(span, names.at(span.name));
    }
    out_.raw("],\n\"losses\":[");
    separator = "\n";
    for (const trace_loss& loss : source_.losses()) {
      out_.raw(std::exchange(separator, ",\n"));
      lost(loss);
    }
    out_.raw("],\n\"lifetimes\":[");
    separator = "\n";
    for (const trace_lifetime& each : picture_.lifetimes) {
      out_.raw(std::exchange(separator, ",\n"));
      lifetime(each);
    }
    out_.raw("]}\n");
  }

  template <class Range, class Write>
  void list(const char* opening, const Range& range, const Write& write) {
    out_.raw(opening);
    const char* separator = "";
    for (const auto& item : range) {
      out_.raw(std::exchange(separator, ","));
      write(item);
    }
  }

  /// Writes [lane, number of the name, begin, end]. The name of derived work is empty.
  void work(const trace_work& span, std::size_t name) {
    out_.raw("[").number(picture_.lanes.at(span.queue)).raw(",").number(name).raw(",");
    time(span.begin_time).raw(",");
    time(span.end_time).raw("]");
  }

  /// Writes [lane, is wait, fence, "value", queued, observed, end, begin of box, end of box, flags, released by or -1],
  /// and the error of its times if there is one.
  /// tools/trace_page/model.mjs reads it.
  void command(const trace_command& command, const trace_picture::box& box) {
    const unsigned flags = (command.executed ? 1U : 0U) | (command.queued ? 2U : 0U) | (command.backward ? 4U : 0U) |
                           (command.uncertain ? 8U : 0U) | (box.guessed ? 16U : 0U);
    out_.raw("[").number(picture_.lanes.at(command.queue)).raw(is_wait(command) ? ",1," : ",0,");
    out_.number(picture_.fences.at(command.fence)).raw(",\"").number(command.value).raw("\",");
    time(command.queued_time).raw(",");
    time(command.observed_time).raw(",");
    time(command.end_time).raw(",");
    time(box.shown() ? box.begin : 0).raw(",");
    time(box.end).raw(",").number(flags).raw(",");
    if (command.released_by) {
      out_.number(*command.released_by);
    } else {
      out_.raw("-1");
    }
    if (command.time_error != 0) out_.raw(",").exact(command.time_error);
    out_.raw("]");
  }

  /// Writes [command, begin, end, level, is open].
  void lifetime(const trace_lifetime& each) {
    out_.raw("[").number(each.command).raw(",");
    time(each.begin_time).raw(",");
    time(each.end_time).raw(",").number(each.level).raw(each.open ? ",1]" : ",0]");
  }

  /// Writes [lane, is of waits, "first", "count", time before, time after].
  void lost(const trace_loss& loss) {
    out_.raw("[").number(picture_.lanes.at(loss.queue)).raw(loss.log == fence_log_type::wait ? ",1,\"" : ",0,\"");
    out_.number(loss.first_sequence).raw("\",\"").number(loss.count).raw("\",");
    time(loss.time_before).raw(",");
    time(loss.time_after).raw("]");
  }

  const trace& source_;
  trace_picture picture_;
  json_text out_;
};

}  // namespace detail

inline void write_chrome_trace(const trace& source, std::ostream& stream) {
  detail::chrome_writer{source, stream}.write();
}

inline void write_trace_page(const trace& source, std::ostream& stream) { detail::page_writer{source, stream}.write(); }

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_TRACE_EXPORT_HPP
