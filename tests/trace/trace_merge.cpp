// SPDX-License-Identifier: BSL-1.0
//
// trace_merge: the files of several processes as one trace.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/log/clock_correlation.hpp>
#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_export.hpp>
#include <tidemark/trace/trace_file.hpp>
#include <tidemark/trace/trace_hangs.hpp>
#include <tidemark/trace/trace_merge.hpp>

#include "support/random.hpp"
#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::fence_id;
using tidemark::queue_id;
using tidemark::trace_command;
using tidemark::trace_event;
using tidemark::trace_file_writer;
using tidemark::trace_merge;

static_assert(tidemark::trace_target<tidemark::trace>);

namespace {

constexpr fence_id own{1}, shared{7};

/// A process with the queue 0 on an engine, the queue 1 on none, and the thread 2.
std::string file_of(bool signals, bool closed = true) {
  std::ostringstream file;
  trace_file_writer writer{file};
  writer.name_process(signals ? "encoder" : "player");
  writer.name_queue(queue_id{0}, "copy");
  writer.name_engine(queue_id{0}, "gpu");
  writer.name_thread(queue_id{2}, signals ? "reader" : "drawer");
  writer.name_fence(shared, "frames");
  const std::uint64_t shift = signals ? 0 : 5;
  writer.on_executed<nanosecond_clock>(queue_id{0}, signal_entry(own, 1, 90 + shift));
  writer.on_queued(queue_id{1}, trace_event::wait_queued, own, 1, 80 + shift);
  writer.on_executed<nanosecond_clock>(queue_id{1}, wait_entry(own, 1, 81 + shift, 92 + shift));
  writer.on_work<nanosecond_clock>(queue_id{0}, "blur", 10, 20);
  if (signals) {
    writer.on_executed<nanosecond_clock>(queue_id{2}, signal_entry(shared, 1, 150));
  } else {
    writer.on_executed<nanosecond_clock>(queue_id{2}, wait_entry(shared, 1, 120, 152));
    writer.on_lost(queue_id{2}, tidemark::fence_log_type::wait, 1, 3);
  }
  if (closed) CHECK(writer.close() == tidemark::trace_write_status::written);
  if (!closed) CHECK(writer.flush() == tidemark::trace_write_status::written);
  return file.str();
}

}  // namespace

TEST_CASE("the queues of two processes with the same numbers stay apart, and only shared fences are one") {
  std::istringstream first{file_of(true)};
  std::istringstream second{file_of(false)};
  trace_merge both{{.shared = {shared}}};
  CHECK(static_cast<bool>(both.add(first)));
  CHECK(static_cast<bool>(both.add("viewer", second)));
  const tidemark::trace& found = both.result();
  CHECK(found.queues().size() == 6);
  std::set<std::string> names;
  for (const queue_id each : found.queues()) {
    names.insert(found.engine_name(each) + " / " + found.queue_name(each) + (found.is_thread(each) ? " thread" : ""));
  }
  CHECK(names == std::set<std::string>{"encoder: gpu / copy", "encoder / queue 1", "encoder: threads / reader thread",
                                       "viewer: gpu / copy", "viewer / queue 1", "viewer: threads / drawer thread"});
  const std::vector<trace_command> commands = found.commands();
  std::map<std::string, int> fences;
  for (const trace_command& each : commands) ++fences[found.fence_name(each.fence)];
  CHECK(fences == std::map<std::string, int>{{"fence 1", 4}, {"frames", 2}});
  for (const trace_command& each : commands) {
    if (each.operation == tidemark::fence_operation::signal_executed) continue;
    REQUIRE(each.released_by);
    const trace_command& by = commands[*each.released_by];
    CHECK(each.end_time == by.end_time + 2);
    const bool is_shared = each.fence == shared;
    CHECK((found.engine_name(by.queue).substr(0, 6) == found.engine_name(each.queue).substr(0, 6)) != is_shared);
  }
  CHECK(found.losses().size() == 1);
  CHECK(found.losses()[0].queue == both.queue_of(1, queue_id{2}));
  CHECK(found.told_work().size() == 2);
  CHECK(both.queue_of(0, queue_id{0}) != both.queue_of(1, queue_id{0}));
  CHECK_FALSE(both.queue_of(0, queue_id{3}));
  CHECK_FALSE(both.queue_of(2, queue_id{0}));
}

TEST_CASE("no fence of a process gets the number of a shared one, wherever the numbers of those are") {
  constexpr std::uint32_t own_fences = 20;
  std::ostringstream file;
  trace_file_writer writer{file};
  for (std::uint32_t i = 0; i < own_fences; ++i) {
    writer.on_executed<nanosecond_clock>(queue_id{0}, signal_entry(fence_id{100 + i}, 1, 90 + i));
  }
  writer.on_executed<nanosecond_clock>(queue_id{0}, signal_entry(shared, 1, 150));
  CHECK(writer.close() == tidemark::trace_write_status::written);
  std::istringstream again{file.str()};
  trace_merge both{{.shared = {fence_id{0}, shared, fence_id{8}, fence_id{UINT32_MAX}}}};
  CHECK(static_cast<bool>(both.add(again)));
  std::set<fence_id> fences;
  for (const trace_command& each : both.result().commands()) fences.insert(each.fence);
  CHECK(fences.size() == own_fences + 1);
  for (const std::uint32_t other : {0U, 8U, UINT32_MAX}) CHECK(fences.count(fence_id{other}) == 0);
}

TEST_CASE("without shared fences no arrow leads from one process to another") {
  std::istringstream first{file_of(true)};
  std::istringstream second{file_of(false)};
  trace_merge both;
  CHECK(static_cast<bool>(both.add(first)));
  CHECK(static_cast<bool>(both.add(second)));
  for (const trace_command& each : both.result().commands()) {
    if (each.operation == tidemark::fence_operation::wait_unblocked)
      CHECK((each.end_time == 152) != each.released_by.has_value());
  }
}

TEST_CASE("a file that is not whole is merged as far as it can be read, and a process without a name gets a number") {
  std::string text = file_of(true, false);
  std::istringstream part{text};
  std::istringstream none{"no trace file at all"};
  std::ostringstream bare_file;
  trace_file_writer writer{bare_file};
  writer.name_queue(queue_id{4}, "bare");
  CHECK(writer.close() == tidemark::trace_write_status::written);
  std::istringstream bare{bare_file.str()};
  trace_merge merge;
  CHECK(merge.add(part).status == tidemark::trace_read_status::truncated);
  CHECK(merge.add("nobody", none).status == tidemark::trace_read_status::invalid);
  CHECK(static_cast<bool>(merge.add(bare)));
  CHECK(merge.result().queues().size() == 4);
  CHECK(merge.result().engine_name(*merge.queue_of(2, queue_id{4})) == "process 3");
  CHECK(merge.result().queue_name(*merge.queue_of(2, queue_id{4})) == "bare");
}

TEST_CASE("[A130] the clock of an executor is merged with its process") {
  std::ostringstream file;
  trace_file_writer writer{file};
  tidemark::clock_correlation clock{{.rate_ppm = 0, .wander_ppm = 0}};
  CHECK(clock.add({1'000, 5'000, 1'000}));
  writer.set_clock(queue_id{0}, clock);
  writer.on_executed<nanosecond_clock>(queue_id{0}, signal_entry(own, 1, 5'500));
  CHECK(writer.close() == tidemark::trace_write_status::written);
  trace_merge both;
  for (int i = 0; i < 2; ++i) {
    std::istringstream again{file.str()};
    CHECK(static_cast<bool>(both.add(again)));
  }
  REQUIRE(both.result().commands().size() == 2);
  for (const trace_command& each : both.result().commands()) CHECK(each.end_time == 1'500);
}

TEST_CASE("a thread that hangs in a file is a thread in the report, and in both pictures") {
  std::stringstream file;
  trace_file_writer writer{file};
  writer.name_thread(queue_id{2}, "drawer");
  writer.on_queued(queue_id{2}, trace_event::wait_queued, own, 3, 10);
  CHECK(writer.close() == tidemark::trace_write_status::written);
  tidemark::trace read;
  CHECK(static_cast<bool>(read_trace_file(file, read)));
  CHECK(to_string(find_hangs(read)) ==
        "thread drawer waits for 3 of fence 1, which is at 0; no queue has the signal\n");
  std::ostringstream page;
  write_trace_page(read, page);
  CHECK(page.str().find("\"isThread\":[1]") != std::string::npos);
  std::ostringstream events;
  write_chrome_trace(read, events);
  CHECK(events.str().find("\"threads\"") != std::string::npos);
}

TEST_CASE("100 processes with random events are merged without a change of any time or value") {
  trace_merge all{{.shared = {shared}}};
  std::uint64_t told = 0;
  std::uint64_t sum = 0;
  for (std::uint32_t process = 0; process < 100; ++process) {
    random_numbers random{process};
    std::stringstream file;
    trace_file_writer writer{file};
    for (int i = 0; i < 50; ++i) {
      const queue_id queue{static_cast<std::uint32_t>(random.below(4))};
      const fence_id fence{static_cast<std::uint32_t>(random.below(9))};
      const std::uint64_t value = random.below(1'000);
      writer.on_executed<nanosecond_clock>(queue, signal_entry(fence, value, 1 + 10 * value));
      sum += value;
      ++told;
    }
    CHECK(writer.close() == tidemark::trace_write_status::written);
    CHECK(static_cast<bool>(all.add(file)));
  }
  std::set<fence_id> fences;
  for (const trace_command& each : all.result().commands()) {
    CHECK(each.end_time == 1 + 10 * each.value);
    fences.insert(each.fence);
    sum -= each.value;
    --told;
  }
  CHECK(told == 0);
  CHECK(sum == 0);
  CHECK(fences.size() <= 100 * 8 + 1);
  CHECK(fences.size() > 700);
}
