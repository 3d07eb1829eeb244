// SPDX-License-Identifier: BSL-1.0
//
// trace_export: what the Chrome trace events and the page of a trace contain, and that readers can parse them. What the
// page does with its data is tested in page/.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <ios>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/trace/trace_export.hpp>

#include "support/json.hpp"
#include "support/random.hpp"
#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::fence_id;
using tidemark::fence_log_type;
using tidemark::queue_id;
using tidemark::trace;
using tidemark::trace_event;

namespace {

void executed(trace& target, queue_id queue, const tidemark::fence_log_entry& entry) {
  target.on_executed<nanosecond_clock>(queue, entry);
}

std::string chrome_text(const trace& source) {
  std::ostringstream stream;
  tidemark::write_chrome_trace(source, stream);
  return stream.str();
}
std::string page_text(const trace& source) {
  std::ostringstream stream;
  tidemark::write_trace_page(source, stream);
  return stream.str();
}

json_value chrome(const trace& source) { return json_parser::parse(chrome_text(source)); }

/// Returns the data in the page.
json_value page_data(const trace& source) {
  const std::string text = page_text(source);
  const std::string opening = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = text.find(opening);
  REQUIRE(from != std::string::npos);
  const std::size_t to = text.find("</script>", from);
  REQUIRE(to != std::string::npos);
  return json_parser::parse(std::string_view{text}.substr(from + opening.size(), to - from - opening.size()));
}

std::vector<json_value> phase(const json_value& file, const std::string& wanted) {
  std::vector<json_value> found;
  for (const json_value& event : file["traceEvents"].items) {
    if (event["ph"].string() == wanted) found.push_back(event);
  }
  return found;
}

/// Returns the boxes of the waits and signals.
std::vector<json_value> command_boxes(const json_value& file) {
  std::vector<json_value> found;
  for (const json_value& box : phase(file, "X")) {
    if (box["cat"].string() != "work") found.push_back(box);
  }
  return found;
}

std::size_t count_of(const std::string& text, const std::string& wanted) {
  std::size_t count = 0;
  for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++count;
  return count;
}

/// Returns the worked example [A91], with names.
trace worked_example(std::uint64_t start = 0) {
  trace source;
  source.name_queue(queue_id{0}, "A");
  source.name_queue(queue_id{1}, "B");
  source.name_fence(fence_id{7}, "F");
  source.on_queued(queue_id{0}, trace_event::wait_queued, fence_id{7}, 42, start + 10);
  source.on_queued(queue_id{1}, trace_event::signal_queued, fence_id{7}, 42, start + 20);
  executed(source, queue_id{1}, signal_entry(fence_id{7}, 42, start + 300));
  executed(source, queue_id{0}, wait_entry(fence_id{7}, 42, start + 100, start + 305));
  return source;
}

/// Returns a trace of queues that wait for one another in a ring, with losses and with times that are missing, repeated
/// or backward.
trace random_trace(std::uint64_t seed, std::uint64_t rounds) {
  random_numbers random{seed};
  trace source;
  constexpr std::uint32_t queues = 4;
  std::uint64_t time = 1'000'000;
  for (std::uint64_t value = 1; value <= rounds; ++value) {
    for (std::uint32_t queue = 0; queue < queues; ++queue) {
      const std::uint32_t previous = 10 + (queue + queues - 1) % queues;
      const std::uint64_t awaited = queue == 0 ? value - 1 : value;
      source.on_queued(queue_id{queue}, trace_event::wait_queued, fence_id{previous}, awaited, 1 + random.below(time));
      source.on_queued(queue_id{queue}, trace_event::signal_queued, fence_id{10 + queue}, value,
                       1 + random.below(time));
      const std::uint64_t observed = random.below(3) == 0 ? 0 : time;
      time += random.below(50);
      if (random.below(100) == 0) time -= 20;
      executed(source, queue_id{queue},
               wait_entry(fence_id{previous}, awaited, observed, random.below(50) == 0 ? 0 : time));
      if (random.below(200) == 0) {
        source.on_lost(queue_id{queue}, fence_log_type::signal, value - 1, 1);
      } else {
        executed(source, queue_id{queue}, signal_entry(fence_id{10 + queue}, value, random.below(50) == 0 ? 0 : time));
      }
    }
  }
  return source;
}

/// Checks that an event has what its phase needs.
void check_fields(const json_value& event) {
  const std::string& kind = event["ph"].string();
  CHECK_FALSE(event["name"].string().empty());
  CHECK(event["pid"].integer() >= 1);
  CHECK(event.has("tid"));
  if (kind == "M") {
    CHECK((event["args"].has("name") || event["args"].has("sort_index")));
    return;
  }
  CHECK(event["tid"].integer() > 0);
  CHECK(event["ts"].number() >= 0);
  if (kind == "X") {
    CHECK(event["dur"].thousandths() >= 1);
  } else if (kind == "i") {
    CHECK(event["s"].string() == "t");
  } else if (kind == "b" || kind == "e") {
    CHECK(event["cat"].string() == "in flight");
    CHECK(event.has("id"));
  } else if (kind == "C") {
    CHECK(event["args"].has("commands"));
  } else {
    CHECK((kind == "s" || kind == "f"));
    CHECK(event.has("id"));
    CHECK(event["cat"].string() == "release");
    CHECK(event.has("bp") == (kind == "f"));
  }
}

/// Checks that each arrow has both ends, in this order, each inside a box of its thread.
void check_arrows(const json_value& file) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> last_nanoseconds;  // {thread, last nanosecond} of each box
  for (const json_value& box : phase(file, "X")) {
    last_nanoseconds.emplace(box["tid"].integer(), box["ts"].thousandths() + box["dur"].thousandths() - 1);
  }
  std::map<std::uint64_t, std::uint64_t> begins;
  for (const std::string kind : {"s", "f"}) {
    std::set<std::uint64_t> ids;
    for (const json_value& event : phase(file, kind)) {
      const std::uint64_t time = event["ts"].thousandths();
      CHECK(ids.insert(event["id"].integer()).second);
      CHECK(last_nanoseconds.count({event["tid"].integer(), time}) == 1);
      if (kind == "s") begins[event["id"].integer()] = time;
      if (kind == "f") CHECK(begins.at(event["id"].integer()) <= time);
    }
    CHECK(ids.size() == begins.size());
  }
}

/// Checks what readers need of the boxes in one thread, in the order in which they are written: the begins rise, and of
/// two boxes the second one lies within the first, or after it. Reads them with a stack of open boxes, as Perfetto.
void check_nesting(const json_value& file) {
  std::map<std::uint64_t, std::vector<std::uint64_t>> open;  // ends of open boxes, by thread
  std::map<std::uint64_t, std::uint64_t> last;
  for (const json_value& box : phase(file, "X")) {
    const std::uint64_t thread = box["tid"].integer();
    const std::uint64_t begin = box["ts"].thousandths();
    const std::uint64_t end = begin + box["dur"].thousandths();
    std::vector<std::uint64_t>& ends = open[thread];
    CHECK(begin >= last[thread]);
    last[thread] = begin;
    while (!ends.empty() && ends.back() <= begin) ends.pop_back();
    if (!ends.empty()) CHECK(end <= ends.back());
    ends.push_back(end);
  }
}

/// Returns "thread name begin end" of each box, with times from `start` on.
std::vector<std::string> slices_of(const json_value& file) {
  const std::uint64_t start = std::stoull(file["otherData"]["start_nanoseconds"].string());
  std::vector<std::string> slices;
  for (const json_value& box : phase(file, "X")) {
    const std::uint64_t begin = start + box["ts"].thousandths();
    slices.push_back(std::to_string(box["tid"].integer()) + " " + box["name"].string() + " " + std::to_string(begin) +
                     " " + std::to_string(begin + box["dur"].thousandths()));
  }
  return slices;
}

struct thousands : std::numpunct<char> {
  char do_thousands_sep() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

// ---- Chrome trace events --------------------------------------------------------------------------------------------

TEST_CASE("[A91] [A94] the trace events of the worked example have all of its times") {
  const json_value file = chrome(worked_example());
  CHECK(file["displayTimeUnit"].string() == "ns");
  const std::uint64_t start = std::stoull(file["otherData"]["start_nanoseconds"].string());
  const auto boxes = phase(file, "X");
  REQUIRE(boxes.size() == 2);
  const json_value& signal = boxes[1];
  CHECK(signal["name"].string() == "signal F");
  CHECK(signal["args"]["value"].integer() == 42);
  CHECK(start + signal["ts"].thousandths() + signal["dur"].thousandths() == 300);
  CHECK(signal["dur"].thousandths() == 1);
  CHECK(signal["args"]["queued_ns"].integer() == 20);
  CHECK(signal["args"]["end_ns"].integer() == 300);
  CHECK_FALSE(signal["args"].has("observed_ns"));
  const json_value& wait = boxes[0];
  CHECK(wait["name"].string() == "wait F");
  CHECK(wait["args"]["parked_ns"].integer() == 205);
  CHECK(start + wait["ts"].thousandths() == 100);
  CHECK(start + wait["ts"].thousandths() + wait["dur"].thousandths() == 305);
  CHECK(wait["args"]["fence"].integer() == 7);
  CHECK(wait["args"]["value"].integer() == 42);
  CHECK(wait["args"]["observed_ns"].integer() == 100);

  REQUIRE(phase(file, "s").size() == 1);
  REQUIRE(phase(file, "f").size() == 1);
  CHECK(phase(file, "s")[0]["tid"].integer() == signal["tid"].integer());
  CHECK(phase(file, "f")[0]["tid"].integer() == wait["tid"].integer());
  check_arrows(file);
  const auto instants = phase(file, "i");
  REQUIRE(instants.size() == 2);
  CHECK(instants[1]["name"].string() == "queued: wait F");
  CHECK(start + instants[1]["ts"].thousandths() == 10);
}

TEST_CASE("each queue has a named thread, in the order of their numbers") {
  trace source;
  source.name_queue(queue_id{9}, "late");
  source.name_queue(queue_id{3}, "early");
  executed(source, queue_id{4}, signal_entry(fence_id{1}, 1, 5));
  std::map<std::uint64_t, std::string> names;
  std::map<std::uint64_t, std::uint64_t> order;
  bool process = false;
  for (const json_value& event : phase(chrome(source), "M")) {
    const std::string& what = event["name"].string();
    process = process || (what == "process_name" && event["args"]["name"].string() == "tidemark");
    if (what == "thread_name") names[event["tid"].integer()] = event["args"]["name"].string();
    if (what == "thread_sort_index") order[event["tid"].integer()] = event["args"]["sort_index"].integer();
  }
  CHECK(process);
  CHECK(names == std::map<std::uint64_t, std::string>{{1, "early"}, {2, "queue 4"}, {3, "late"}});
  CHECK(order == std::map<std::uint64_t, std::uint64_t>{{1, 0}, {2, 1}, {3, 2}});
}

TEST_CASE("[A80] every event has the fields that its phase needs, every arrow has both ends, and boxes nest") {
  for (std::uint64_t round = 0; round < 5; ++round) {
    const trace source = random_trace(fresh_seed(), 200);
    const json_value file = chrome(source);
    for (const json_value& event : file["traceEvents"].items) check_fields(event);
    check_arrows(file);
    check_nesting(file);
    CHECK(phase(file, "s").size() > 100);
  }
}

namespace {

/// Returns a trace of a queue "copy" of which three signals are in flight at a time, and of a wait that is not over.
trace three_in_flight() {
  trace source;
  source.name_queue(queue_id{0}, "copy");
  source.name_queue(queue_id{1}, "blur");
  source.name_fence(fence_id{7}, "copied");
  for (std::uint64_t n = 1; n <= 3; ++n) {
    source.on_queued(queue_id{0}, trace_event::signal_queued, fence_id{7}, n, 1000 + n);
  }
  source.on_queued(queue_id{1}, trace_event::wait_queued, fence_id{7}, 9, 1500);
  for (std::uint64_t n = 1; n <= 3; ++n) executed(source, queue_id{0}, signal_entry(fence_id{7}, n, 2000 * n));
  return source;
}

}  // namespace

TEST_CASE("[A131] the trace events show each command from its queueing to its end, and the depth of its queue") {
  const json_value file = chrome(three_in_flight());
  const std::uint64_t start = std::stoull(file["otherData"]["start_nanoseconds"].string());
  std::map<std::uint64_t, std::string> boxes;
  for (const char* const kind : {"b", "e"}) {
    for (const json_value& event : phase(file, kind)) {
      check_fields(event);
      std::string& text = boxes[event["id"].integer()];
      text += (text.empty() ? event["name"].string() + " " : "-") + std::to_string(start + event["ts"].thousandths());
    }
  }
  CHECK(boxes == std::map<std::uint64_t, std::string>{{1, "copy: signal copied 1001-2000"},
                                                      {2, "copy: signal copied 1002-4000"},
                                                      {3, "copy: signal copied 1003-6000"},
                                                      {4, "blur: wait copied 1500-6000"}});
  std::map<std::string, std::string> depths;
  for (const json_value& event : phase(file, "C")) {
    depths[event["name"].string()] += std::to_string(start + event["ts"].thousandths()) + ":" +
                                      std::to_string(event["args"]["commands"].integer()) + " ";
  }
  CHECK(depths == std::map<std::string, std::string>{{"depth of copy", "1001:1 1002:2 1003:3 2000:2 4000:1 6000:0 "},
                                                     {"depth of blur", "1500:1 "}});
}

TEST_CASE("[A131] the data of the page has each command from its queueing to its end, with its level") {
  const json_value data = page_data(three_in_flight());
  std::string rows;
  for (const json_value& row : data["lifetimes"].items) {
    for (const json_value& item : row.items) rows += item.text + " ";
  }
  // Command, begin and end from the first execution on, level, and whether it is open.
  CHECK(data["start"].string() == "2000");
  CHECK(rows == "0 -999 0 0 0 1 -998 2000 1 0 2 -997 4000 2 0 3 -500 4000 0 1 ");
}

TEST_CASE("[A100] there is one lost marker for each gap") {
  trace source;
  executed(source, queue_id{0}, signal_entry(fence_id{1}, 1, 1000));
  source.on_lost(queue_id{0}, fence_log_type::signal, 1, 5);
  source.on_lost(queue_id{0}, fence_log_type::signal, 6, 2);
  executed(source, queue_id{0}, signal_entry(fence_id{1}, 9, 2000));
  source.on_lost(queue_id{0}, fence_log_type::wait, 0, 3);
  std::vector<json_value> lost;
  for (const json_value& event : phase(chrome(source), "i")) {
    if (event["cat"].string() == "lost") lost.push_back(event);
  }
  REQUIRE(lost.size() == 2);
  CHECK(lost[0]["name"].string() == "signals lost");
  CHECK(lost[0]["args"]["first"].integer() == 1);
  CHECK(lost[0]["args"]["count"].integer() == 7);
  CHECK(lost[0]["args"]["after_ns"].integer() == 1000);
  CHECK(lost[0]["args"]["before_ns"].integer() == 2000);
  CHECK(lost[1]["name"].string() == "waits lost");
  CHECK_FALSE(lost[1]["args"].has("after_ns"));

  const json_value data = page_data(source);
  REQUIRE(data["losses"].items.size() == 2);
  CHECK(data["losses"][0][3].string() == "7");
  CHECK(data["losses"][1][3].string() == "3");
}

TEST_CASE("times are exact to the nanosecond, and values to the last bit") {
  constexpr std::uint64_t start = 1'700'000'000'123'456'789;
  trace source = worked_example(start);
  executed(source, queue_id{1}, signal_entry(fence_id{7}, UINT64_MAX, start + 1'000'001));
  const json_value file = chrome(source);
  const std::uint64_t base = std::stoull(file["otherData"]["start_nanoseconds"].string());
  const auto boxes = command_boxes(file);
  CHECK(base + boxes[0]["ts"].thousandths() == start + 100);
  CHECK(boxes[0]["dur"].thousandths() == 205);
  CHECK(boxes[0]["args"]["end_ns"].string() == std::to_string(start + 305));
  CHECK(boxes[2]["args"]["value"].string() == std::to_string(UINT64_MAX));
  const json_value data = page_data(source);
  CHECK(std::stoull(data["start"].string()) == start + 100);
  CHECK(data["commands"][1][4].text == "-90");
  CHECK(data["commands"][2][3].string() == std::to_string(UINT64_MAX));
  CHECK(data["commands"][2][6].integer() == 999'901);
}

TEST_CASE("[A104] a command without a time is shown where its neighbor is, and is marked") {
  trace source;
  executed(source, queue_id{0}, signal_entry(fence_id{1}, 1, 0));
  executed(source, queue_id{0}, signal_entry(fence_id{1}, 2, 500));
  executed(source, queue_id{0}, signal_entry(fence_id{1}, 3, 0));
  executed(source, queue_id{0}, signal_entry(fence_id{1}, 4, 700));
  source.on_queued(queue_id{1}, trace_event::wait_queued, fence_id{1}, 9, 300);
  executed(source, queue_id{1}, wait_entry(fence_id{1}, 9, 0, 0));
  executed(source, queue_id{2}, wait_entry(fence_id{1}, 8, 0, 0));                // no time at all
  source.on_queued(queue_id{2}, trace_event::signal_queued, fence_id{1}, 99, 0);  // neither
  const json_value file = chrome(source);
  const std::uint64_t start = std::stoull(file["otherData"]["start_nanoseconds"].string());
  CHECK(file["otherData"]["not_shown"].integer() == 2);
  std::vector<std::uint64_t> ends;
  std::vector<bool> marked;
  for (const json_value& box : command_boxes(file)) {
    ends.push_back(start + box["ts"].thousandths() + box["dur"].thousandths());
    marked.push_back(box["args"].has("time_not_recorded"));
  }
  CHECK(ends == std::vector<std::uint64_t>{500, 500, 500, 700, 300});
  CHECK(marked == std::vector<bool>{true, false, true, false, true});
  CHECK(page_data(source)["notShown"].integer() == 2);
}

TEST_CASE("[A91] a queue that waits when the trace ends is shown as parked since it had nothing else to do") {
  trace source;
  source.name_fence(fence_id{1}, "F");
  executed(source, queue_id{0}, signal_entry(fence_id{2}, 1, 500));
  source.on_queued(queue_id{0}, trace_event::wait_queued, fence_id{1}, 9, 300);  // behind the signal
  source.on_queued(queue_id{0}, trace_event::wait_queued, fence_id{1}, 10, 310);
  source.on_queued(queue_id{1}, trace_event::wait_queued, fence_id{1}, 8, 400);
  source.on_queued(queue_id{2}, trace_event::signal_queued, fence_id{1}, 8, 450);
  source.on_queued(queue_id{2}, trace_event::wait_queued, fence_id{1}, 7, 460);  // behind a signal
  source.on_queued(queue_id{3}, trace_event::wait_queued, fence_id{1}, 6, 0);    // nobody knows since when
  source.on_queued(queue_id{4}, trace_event::wait_queued, fence_id{1}, 5, 350);
  executed(source, queue_id{4}, wait_entry(fence_id{1}, 5, 0, tidemark::cancelled_timestamp));
  executed(source, queue_id{5}, signal_entry(fence_id{2}, 2, 900));
  std::vector<std::string> parked;
  for (const json_value& box : command_boxes(chrome(source))) {
    if (!box["args"].has("not_executed")) continue;
    parked.push_back(box["name"].string() + ' ' + box["args"]["value"].text + ": " + box["ts"].text + " for " +
                     box["dur"].text);
  }
  CHECK(parked == std::vector<std::string>{"wait F 9: 0.201 for 0.400", "wait F 8: 0.101 for 0.500"});
  std::vector<std::string> boxes;  // value, begin and end
  const json_value data = page_data(source);
  for (const json_value& row : data["commands"].items) {
    const bool is_executed = row[9].integer() % 2 == 1;
    if (!is_executed && row[8].type == json_value::kind::number) {
      boxes.push_back(row[3].text + ": " + row[7].text + " to " + row[8].text);
    }
  }
  CHECK(boxes == std::vector<std::string>{"9: 0 to 400", "8: -100 to 400"});
}

TEST_CASE("[A105] a command whose time went backward is marked, and its box has a width") {
  trace source;
  executed(source, queue_id{0}, wait_entry(fence_id{1}, 1, 0, 900));
  executed(source, queue_id{0}, wait_entry(fence_id{1}, 2, 800, 700));
  const json_value file = chrome(source);
  const auto boxes = phase(file, "X");
  REQUIRE(boxes.size() == 2);
  CHECK(boxes[0]["args"]["backward"].boolean);
  CHECK(boxes[0]["dur"].thousandths() == 100);
  CHECK_FALSE(boxes[1]["args"].has("backward"));
  CHECK(page_data(source)["backward"].integer() == 1);
}

// ---- engines and work -----------------------------------------------------------------------------------------------

namespace {

/// Three queues: the middle one is on no engine. What the first one does was told, of the others it is derived.
trace two_engines() {
  trace source;
  source.name_engine(queue_id{0}, "gpu");
  source.name_engine(queue_id{2}, "copy");
  source.name_engine(queue_id{3}, "gpu");
  source.name_fence(fence_id{7}, "F");
  source.on_work<nanosecond_clock>(queue_id{0}, "blur", 100, 180);
  source.on_work<nanosecond_clock>(queue_id{0}, "blur", 190, 200);
  for (const std::uint64_t value : {1U, 2U}) {
    executed(source, queue_id{0}, signal_entry(fence_id{7}, value, 100 * (value + 1)));
    executed(source, queue_id{1}, wait_entry(fence_id{7}, value, 100 * value + 50, 100 * (value + 1) + 5));
    executed(source, queue_id{3}, signal_entry(fence_id{8}, value, 1'000 * value));
  }
  return source;
}

}  // namespace

TEST_CASE("each engine is a process with its queues as threads, and queues without one are threads of tidemark") {
  const json_value file = chrome(two_engines());
  std::map<std::uint64_t, std::string> processes;
  std::map<std::uint64_t, std::uint64_t> process_order;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> threads;
  for (const json_value& event : phase(file, "M")) {
    const std::string& what = event["name"].string();
    const std::uint64_t process = event["pid"].integer();
    if (what == "process_name") processes[process] = event["args"]["name"].string();
    if (what == "process_sort_index") process_order[process] = event["args"]["sort_index"].integer();
    if (what == "thread_name") threads[event["args"]["name"].string()] = {process, event["tid"].integer()};
  }
  CHECK(processes == std::map<std::uint64_t, std::string>{{1, "tidemark"}, {2, "gpu"}, {3, "copy"}});
  CHECK(process_order == std::map<std::uint64_t, std::uint64_t>{{1, 0}, {2, 1}, {3, 2}});
  CHECK(threads == std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>{
                       {"queue 1", {1, 1}}, {"queue 0", {2, 2}}, {"queue 3", {2, 3}}, {"queue 2", {3, 4}}});
  for (const json_value& event : file["traceEvents"].items) check_fields(event);

  const json_value data = page_data(two_engines());
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < data["queues"].items.size(); ++i) {
    rows.push_back(data["queues"][i].string() + " " + data["engines"][data["engineOf"][i]].string());
  }
  CHECK(rows == std::vector<std::string>{"queue 1 ", "queue 0 gpu", "queue 3 gpu", "queue 2 copy"});
}

TEST_CASE("where all queues have engines there is no process for others") {
  trace source;
  source.name_engine(queue_id{5}, "gpu");
  const auto names = phase(chrome(source), "M");
  REQUIRE(names.size() == 4);
  CHECK(names[0]["args"]["name"].string() == "gpu");
}

TEST_CASE("work is a slice with the name that was told, or with the name work if it is derived") {
  const json_value file = chrome(two_engines());
  const std::uint64_t start = std::stoull(file["otherData"]["start_nanoseconds"].string());
  std::vector<std::string> slices;
  for (const json_value& box : phase(file, "X")) {
    if (box["cat"].string() != "work") continue;
    const std::uint64_t begin = start + box["ts"].thousandths();
    CHECK(box["args"]["begin_ns"].integer() == begin);
    CHECK(box["args"]["end_ns"].integer() == begin + box["dur"].thousandths());
    CHECK(box["args"].has("derived") == (box["name"].string() == "work"));
    slices.push_back(std::to_string(box["tid"].integer()) + " " + box["name"].string() + " " + std::to_string(begin) +
                     " " + std::to_string(begin + box["dur"].thousandths()));
  }
  CHECK(slices == std::vector<std::string>{"1 work 205 250", "2 blur 100 180", "2 blur 190 200", "3 work 1000 2000"});

  const json_value data = page_data(two_engines());
  CHECK(data["start"].string() == "100");
  CHECK(data["workNames"].items.size() == 2);
  std::vector<std::string> rows;
  for (const json_value& row : data["work"].items) {
    const std::string name = data["workNames"][row[1]].string();
    rows.push_back(row[0].text + " " + name + " " + row[2].text + " " + row[3].text);
  }
  CHECK(rows == std::vector<std::string>{"1 blur 0 80", "1 blur 90 100", "0  105 150", "2  900 1900"});
}

TEST_CASE("spans that lie within others are in one thread, and those that overlap in part are in several") {
  trace source;
  constexpr queue_id first{1};
  constexpr queue_id second{2};
  source.name_queue(first, "q");
  source.name_queue(second, "r");
  source.on_work<nanosecond_clock>(first, "b", 3000, 7000);
  source.on_work<nanosecond_clock>(first, "inner", 1000, 2000);  // told before what it lies in, with the same begin
  source.on_work<nanosecond_clock>(first, "a", 1000, 5000);
  source.on_work<nanosecond_clock>(first, "within b", 5500, 7000);
  source.on_work<nanosecond_clock>(first, "across", 6000, 9000);
  source.on_work<nanosecond_clock>(first, "c", 8000, 8000);
  source.on_work<nanosecond_clock>(second, "d", 1000, 2000);
  executed(source, second, wait_entry(fence_id{7}, 1, 1500, 2500));
  executed(source, second, signal_entry(fence_id{8}, 1, 2500));
  const json_value file = chrome(source);
  check_nesting(file);
  CHECK(slices_of(file) == std::vector<std::string>{"1 a 1000 5000", "1 inner 1000 2000", "2 b 3000 7000",
                                                    "2 within b 5500 7000", "1 across 6000 9000", "1 c 8000 8001",
                                                    "3 d 1000 2000", "4 wait fence 7 1500 2500",
                                                    "4 signal fence 8 2499 2500"});
  std::vector<std::string> names;
  std::vector<std::uint64_t> order;
  for (const json_value& event : phase(file, "M")) {
    if (event["name"].string() == "thread_name") names.push_back(event["args"]["name"].string());
    if (event["name"].string() == "thread_sort_index") order.push_back(event["args"]["sort_index"].integer());
  }
  CHECK(names == std::vector<std::string>{"q", "q (2)", "r", "r (2)"});
  CHECK(order == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(page_data(source)["work"].items.size() == 7);  // each is drawn by itself
}

TEST_CASE("of random spans, no two in one thread overlap in part, and all are there") {
  random_numbers random{fresh_seed()};
  for (int round = 0; round < 50; ++round) {
    trace source = random_trace(random.below(UINT64_MAX), 20);
    const std::size_t before = phase(chrome(source), "X").size();
    const std::size_t derived = phase(chrome(source), "X").size() - command_boxes(chrome(source)).size();
    const std::uint64_t spans = 1 + random.below(60);
    for (std::uint64_t i = 0; i < spans; ++i) {
      const std::uint64_t begin = 1'000'000 + random.below(40);
      for (std::uint32_t queue = 0; queue < 4; ++queue) {
        source.on_work<nanosecond_clock>(queue_id{queue}, "w", begin, begin + random.below(40));
      }
    }
    const json_value file = chrome(source);
    check_nesting(file);
    check_arrows(file);
    CHECK(phase(file, "X").size() == before - derived + 4 * spans);
  }
}

TEST_CASE("the names of events repeat: one for each kind of command and fence, so that a reader can group by them") {
  std::set<std::string> names;
  const json_value file = chrome(random_trace(3, 100));
  for (const json_value& event : file["traceEvents"].items) {
    if (event["ph"].string() != "M") names.insert(event["name"].string());
  }
  // Of each of four fences: wait, signal, and both when they were queued. And work, releases, signals lost. Of each of
  // four queues: a wait and a signal in flight, and the depth.
  CHECK(names.size() <= 4 * 4 + 3 + 4 * 3);
  CHECK(names.count("wait fence 10") == 1);
  CHECK(names.count("work") == 1);
}

TEST_CASE("a trace of which only work is known can be written in both forms") {
  trace source;
  source.on_work<nanosecond_clock>(queue_id{0}, "</script>", 1'000, 1'000);
  const auto boxes = phase(chrome(source), "X");
  REQUIRE(boxes.size() == 1);
  CHECK(boxes[0]["name"].string() == "</script>");
  CHECK(boxes[0]["dur"].thousandths() == 1);
  CHECK(page_data(source)["start"].string() == "1000");
  CHECK(count_of(page_text(source), "</script>") == 2);
}

// ---- text -----------------------------------------------------------------------------------------------------------

TEST_CASE("any name is written as valid JSON and read back") {
  const std::string euro = "\xE2\x82\xAC";
  const std::string replaced = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> names{
      {"\"quoted\" \\ /", "\"quoted\" \\ /"},
      {"</script><script>alert(1)</script>", "</script><script>alert(1)</script>"},
      {"<!--", "<!--"},
      {std::string{"a\0b\n\t\x1F\x7F", 7}, std::string{"a\0b\n\t\x1F\x7F", 7}},
      {"5 " + euro + " \xF0\x9F\x8C\x8A", "5 " + euro + " \xF0\x9F\x8C\x8A"},
      {"\xE2\x80\xA8", "\xE2\x80\xA8"},
      {"bad \xFF", "bad " + replaced},
      {"cut \xE2\x82", "cut " + replaced + replaced},
      {"long \xC0\xAF", "long " + replaced + replaced},
      {"surrogate \xED\xA0\x80", "surrogate " + replaced + replaced + replaced},
      {"beyond \xF4\x90\x80\x80", "beyond " + replaced + replaced + replaced + replaced}};
  trace source;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    source.name_queue(queue_id{i}, names[i].first);
    source.name_fence(fence_id{i}, names[i].first);
    executed(source, queue_id{i}, signal_entry(fence_id{i}, 1, 100 + i));
  }
  const json_value data = page_data(source);
  const auto boxes = phase(chrome(source), "X");
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(data["queues"][i].string() == names[i].second);
    CHECK(data["fences"][i].string() == names[i].second);
    CHECK(boxes[i]["name"].string() == "signal " + names[i].second);
  }
}

TEST_CASE("the locale and the flags of the stream do not change what is written") {
  const trace source = random_trace(1, 20);
  std::ostringstream plain;
  std::ostringstream odd;
  odd.imbue(std::locale{std::locale::classic(), new thousands});
  odd << std::hex << std::showbase << std::uppercase;
  tidemark::write_chrome_trace(source, plain);
  tidemark::write_trace_page(source, plain);
  tidemark::write_chrome_trace(source, odd);
  tidemark::write_trace_page(source, odd);
  CHECK(plain.str() == odd.str());
}

TEST_CASE("a stream that has failed stays failed") {
  std::ostringstream stream;
  stream.setstate(std::ios::badbit);
  tidemark::write_chrome_trace(worked_example(), stream);
  tidemark::write_trace_page(worked_example(), stream);
  CHECK(stream.bad());
  CHECK(stream.str().empty());
}

// ---- the page -------------------------------------------------------------------------------------------------------

TEST_CASE("the page needs no network and no other file") {
  const std::string text = page_text(worked_example());
  CHECK(text.find("<!DOCTYPE html>") == 0);
  CHECK(text.find("default-src 'none'") != std::string::npos);
  for (const char* const word : {"http:", "https:", "//cdn", " src=", " href=", "@import", "url(", "fetch(", "import(",
                                 "XMLHttpRequest", "WebSocket", "<link", "<iframe", "innerHTML", "eval("}) {
    CAPTURE(word);
    CHECK(text.find(word) == std::string::npos);
  }
}

TEST_CASE("a name can't end the script that the data stands in") {
  trace source = worked_example();
  source.name_queue(queue_id{0}, "</script><script>alert(1)//");
  source.name_fence(fence_id{7}, "<!-- <script>");
  const std::string text = page_text(source);
  CHECK(count_of(text, "</script>") == 2);
  CHECK(count_of(text, "<script") == 2);
  CHECK(text.find("<!--") == std::string::npos);
  CHECK(text.find("alert(1)") != std::string::npos);
  CHECK(page_data(source)["queues"][0].string() == "</script><script>alert(1)//");
}

TEST_CASE("[A91] [A94] the data of the page has all times of the worked example") {
  trace source = worked_example();
  source.on_queued(queue_id{1}, trace_event::wait_queued, fence_id{7}, 43, 400);
  const json_value data = page_data(source);
  const auto row = [&](std::size_t index) {
    std::string text;
    for (const json_value& item : data["commands"][index].items) {
      text += (item.type == json_value::kind::null ? "null" : item.text) + " ";
    }
    return text;
  };
  CHECK(data["start"].string() == "100");
  CHECK(data["queues"].items.size() == 2);
  REQUIRE(data["commands"].items.size() == 3);
  CHECK(row(0) == "1 0 0 42 -80 null 200 200 200 3 -1 ");
  CHECK(row(1) == "0 1 0 42 -90 0 205 0 205 3 0 ");
  CHECK(row(2) == "1 1 0 43 300 null null null null 2 -1 ");
}

TEST_CASE("an empty trace can be written in both forms") {
  const trace source;
  CHECK(phase(chrome(source), "M").size() == 2);
  const json_value data = page_data(source);
  CHECK(data["commands"].items.empty());
  CHECK(data["work"].items.empty());
  CHECK(data["engines"].items.size() == 1);
  CHECK(data["queues"].items.empty());
  trace lost_only;
  lost_only.on_lost(queue_id{3}, fence_log_type::wait, 0, 4);
  CHECK(phase(chrome(lost_only), "i").size() == 1);
  CHECK(page_data(lost_only)["losses"].items.size() == 1);
}

TEST_CASE("100,000 commands are written in both forms, with all arrows and gaps") {
  const trace source = random_trace(2, 12'500);
  const auto commands = source.commands();
  CHECK(commands.size() >= 100'000);
  const std::string text = chrome_text(source);
  std::size_t arrows = 0;
  for (const tidemark::trace_command& command : commands) arrows += command.released_by ? 1U : 0U;
  CHECK(arrows > 25'000);
  CHECK(count_of(text, "\"ph\":\"s\"") == count_of(text, "\"ph\":\"f\""));
  CHECK(count_of(text, "\"cat\":\"lost\"") == source.losses().size());
  const json_value data = page_data(source);
  CHECK(data["commands"].items.size() == commands.size());
  CHECK(data["losses"].items.size() == source.losses().size());
}
