// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-trace.md: who waited for what, as a page for the browser.
//
//   guide_trace [FILE]      writes the page to FILE

#include "expect.hpp"

#include <tidemark/log/clock_correlation.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/thread_recorder.hpp>
#include <tidemark/queue/traced_logs.hpp>
#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_export.hpp>
#include <tidemark/trace/trace_file.hpp>
#include <tidemark/trace/trace_hangs.hpp>
#include <tidemark/trace/trace_lifetimes.hpp>
#include <tidemark/trace/trace_merge.hpp>
#include <tidemark/trace/trace_work.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using guide::expect;
using tidemark::trace_event;
using tidemark::wait_status;

// The numbers by which logs and traces know the queues and their fences.
constexpr tidemark::queue_id reading{1};
constexpr tidemark::queue_id parsing{2};
constexpr tidemark::fence_id read_files{1};
constexpr tidemark::fence_id parsed_files{2};

constexpr std::uint64_t files = 20;

void run(tidemark::queue& read, tidemark::queue& parse) {
  read.complete();  // one file is there before anybody waits
  std::thread reader([&] {
    for (std::uint64_t n = 2; n <= files; ++n) read.complete();
  });
  for (std::uint64_t n = 1; n <= files; ++n) {
    if (parse.wait(read.progress(), n) != wait_status::reached) break;
    parse.complete();
  }
  reader.join();
}

tidemark::trace collect_a_trace() {
  tidemark::progress_fence files_read;
  tidemark::progress_fence files_parsed;
  tidemark::queue read{files_read, {.progress = read_files}};
  tidemark::queue parse{files_parsed, {.progress = parsed_files}};
  tidemark::traced_logs device;
  device.add(reading, read);
  device.add(parsing, parse);
  device.grow();  // larger logs for all of them, before anything is lost

  tidemark::log_collector logs;
  logs.add(reading, read);
  logs.add(parsing, parse);

  tidemark::trace trace;
  trace.name_queue(reading, "read");
  trace.name_queue(parsing, "parse");
  trace.name_fence(read_files, "files read");
  trace.name_fence(parsed_files, "files parsed");
  for (std::uint64_t n = 1; n <= files; ++n) {  // the recorder of a command says when it was queued
    const std::uint64_t now = tidemark::default_log_clock::now();
    trace.on_queued(reading, trace_event::signal_queued, read_files, n, now);
    trace.on_queued(parsing, trace_event::wait_queued, read_files, n, now);
    trace.on_queued(parsing, trace_event::signal_queued, parsed_files, n, now);
  }

  run(read, parse);
  logs.collect(trace);  // now and then, or once at the end
  return trace;
}

void check(const tidemark::trace& trace) {
  std::uint64_t joined = 0;
  std::uint64_t waits_with_a_cause = 0;
  for (const tidemark::trace_command& command : trace.commands()) {
    if (command.queued && command.executed) ++joined;
    if (command.released_by) ++waits_with_a_cause;
  }
  expect(joined == 3 * files, "each command was queued and executed");
  expect(waits_with_a_cause > 0, "waits name the signals that released them");
  expect(trace.losses().empty(), "the logs were large enough");
}

/// How long commands were in their queue, and how many at a time.
void measure_depth(const tidemark::trace& trace) {
  std::uint64_t longest = 0;
  std::uint64_t deepest = 0;
  const std::vector<tidemark::trace_lifetime> lifetimes = lifetimes_of(trace);
  for (const tidemark::trace_lifetime& each : lifetimes) {
    if (each.queue == parsing) longest = (std::max)(longest, each.end_time - each.begin_time);
  }
  for (const tidemark::trace_depth& each : depth_of(lifetimes, parsing)) {  // from each.time on
    deepest = (std::max)(deepest, each.depth);
  }
  expect(longest > 0 && deepest == 2 * files, "all waits and signals were queued before the first was executed");
}

/// Two threads without a queue, in a trace.
void show_threads() {
  tidemark::fence parsed;
  const tidemark::logged_fence output{&parsed, parsed_files};
  tidemark::thread_recorder parser{tidemark::queue_id{3}, "parser"};  // one for each thread, numbered like queues
  tidemark::thread_recorder writer{tidemark::queue_id{4}, "writer"};
  tidemark::log_collector logs;
  logs.add(parser);
  logs.add(writer);

  std::thread thread([&] { parser.signal(output, 1); });                      // in place of parsed.signal(1)
  expect(writer.wait(output, 1) == wait_status::reached, "a file is there");  // in place of parsed.wait(1)
  thread.join();

  tidemark::trace trace;
  for (auto* each : {&parser, &writer}) trace.name_thread(each->id(), each->name());
  logs.collect(trace);
  const std::vector<tidemark::trace_command> commands = trace.commands();
  expect(commands.size() == 2, "one wait and one signal");
}

/// The clock of an executor, which is 1,000 ppm fast.
struct device_clock {
  static std::uint64_t now() noexcept {
    const std::uint64_t steady = tidemark::steady_log_clock::now();
    return steady + steady / 1000;
  }
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) { return ticks; }
};

/// An executor with a clock of its own.
void correlate_clocks() {
  tidemark::progress_fence files_read;
  tidemark::basic_queue<tidemark::progress_fence, device_clock> read{files_read, {.progress = read_files}};
  tidemark::basic_log_collector<tidemark::native_platform, device_clock> logs;
  logs.add(reading, read);
  tidemark::trace trace;

  tidemark::clock_correlation clock;
  clock.measure<device_clock>();  // when the run begins,
  const std::uint64_t begin = tidemark::steady_log_clock::now();
  read.complete();
  const std::uint64_t end = tidemark::steady_log_clock::now();
  clock.measure<device_clock>();  // and when it is over
  trace.set_clock(reading, clock);
  logs.collect(trace);
  const tidemark::trace_command signal = trace.commands().at(0);  // on the time line of the steady clock
  const bool is_between = begin <= signal.end_time + signal.time_error && signal.end_time <= end + signal.time_error;
  expect(is_between, "the time is exact to time_error nanoseconds");
}

/// The files of two processes, which this program writes itself.
void merge_processes(const std::filesystem::path& folder) {
  const std::filesystem::path paths[] = {folder / "tidemark_guide_reader", folder / "tidemark_guide_parser"};
  for (const std::filesystem::path& path : paths) {
    std::ofstream file{path, std::ios::binary};
    tidemark::trace_file_writer writer{file};
    writer.name_process(path.filename().string());
    writer.name_queue(reading, "read");
    expect(writer.close() == tidemark::trace_write_status::written, "the file is whole");
  }

  tidemark::trace_merge both{{.shared = {read_files}}};  // by this number both processes mean the same fence
  for (const std::filesystem::path& path : paths) {
    std::ifstream file{path, std::ios::binary};
    expect(static_cast<bool>(both.add(file)), "otherwise the status says why not");
  }
  std::ostringstream page;
  tidemark::write_trace_page(both.result(), page);
  expect(both.result().queues().size() == 2, "each process has its own queues, whatever their numbers");
  for (const std::filesystem::path& path : paths) std::filesystem::remove(path);
}

void parse_file(std::uint64_t) {}  // what the queue is for

/// What the queue did is told, so it is not derived.
void tell_work() {
  tidemark::progress_fence files_parsed;
  tidemark::queue parse{files_parsed, {.progress = parsed_files}};
  tidemark::log_collector logs;
  logs.add(parsing, parse);

  tidemark::trace trace;
  trace.name_queue(parsing, "parse");
  trace.name_engine(parsing, "worker threads");  // its queues are one group
  for (std::uint64_t n = 1; n <= files; ++n) {
    const std::uint64_t begin = tidemark::default_log_clock::now();
    parse_file(n);
    trace.on_work(parsing, "parse a file", begin, tidemark::default_log_clock::now());
    parse.complete();
  }
  logs.collect(trace);
  expect(tidemark::work_of(trace).size() == files, "each piece of work is a span");
}

/// 10,000 signals go through logs of 84 entries.
void stream(const std::filesystem::path& path) {
  tidemark::progress_fence files_read;
  tidemark::queue read{files_read, {.progress = read_files}};
  tidemark::log_collector logs;
  logs.add(reading, read);

  std::ofstream file{path, std::ios::binary};
  tidemark::trace_file_writer writer{file};
  writer.name_queue(reading, "read");
  for (int n = 1; n <= 10'000; ++n) {
    read.complete();
    if (n % 50 == 0) logs.collect(writer);  // before the logs are full
  }
  const bool is_whole = writer.close() == tidemark::trace_write_status::written;
  expect(is_whole, "the disk had room");
}

void read_back(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  tidemark::trace trace;
  const tidemark::trace_read_result result = tidemark::read_trace_file(file, trace);
  expect(static_cast<bool>(result), "the file is whole");  // otherwise result.status says why not
  expect(trace.commands().size() == 10'000, "every signal is in the trace");
  expect(trace.losses().empty(), "nothing was lost");
}

/// Two queues that wait for each other, each before its signal.
void name_who_waits() {
  tidemark::progress_fence files_read;
  tidemark::progress_fence files_parsed;
  tidemark::queue read{files_read, {.progress = read_files}};
  tidemark::queue parse{files_parsed, {.progress = parsed_files}};
  tidemark::log_collector logs;
  logs.add(reading, read);
  logs.add(parsing, parse);
  tidemark::trace trace;
  trace.name_queue(reading, "read");
  trace.name_queue(parsing, "parse");
  trace.name_fence(parsed_files, "files parsed");
  trace.on_queued(reading, trace_event::wait_queued, parsed_files, 1, 0);
  trace.on_queued(reading, trace_event::signal_queued, read_files, 1, 0);
  trace.on_queued(parsing, trace_event::wait_queued, read_files, 1, 0);
  trace.on_queued(parsing, trace_event::signal_queued, parsed_files, 1, 0);
  std::vector<std::string> told;

  logs.collect(trace);
  const tidemark::hang_report report = find_hangs(trace);
  for (const tidemark::hanging_wait& wait : report.waits) {
    std::string text = wait.queue.name + " waits for " + std::to_string(wait.value) + " of " +
                       trace.fence_name(wait.fence) + ", which is at " + std::to_string(wait.current_value);
    if (wait.held_by) text += "; " + wait.held_by->name + " has the signal";
    told.push_back(text);
  }
  expect(report.cycles.size() == 1, "each of them has the signal that the other one waits for");

  expect(told.at(0) == "read waits for 1 of files parsed, which is at 0; parse has the signal", "a wait is told");
}

}  // namespace

int main(int argc, char** argv) {
  const tidemark::trace trace = collect_a_trace();
  check(trace);
  measure_depth(trace);

  std::ostringstream page;
  tidemark::write_trace_page(trace, page);  // or write_chrome_trace(), for Perfetto
  expect(page.str().find("files parsed") != std::string::npos, "the page names the fences");
  if (argc > 1) {
    std::ofstream file{argv[1]};
    expect(static_cast<bool>(file << page.str()), "the page was written");
  }
  show_threads();
  correlate_clocks();
  merge_processes(std::filesystem::temp_directory_path());
  tell_work();
  name_who_waits();
  const std::filesystem::path streamed = std::filesystem::temp_directory_path() / "tidemark_guide_trace.tidemark";
  stream(streamed);
  read_back(streamed);
  std::filesystem::remove(streamed);
  return guide::result("guide_trace");
}
