// SPDX-License-Identifier: BSL-1.0
//
// What threads say that they have queued: who may say it, how it is collected, and how a trace joins it.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/queued_events.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/interruption.hpp"
#include "support/queues.hpp"

using namespace testing;
using tidemark::collected_entries;
using tidemark::trace_event;

namespace {

using events = tidemark::basic_queued_events<stepping_platform, ticking_clock>;
using collector = tidemark::basic_log_collector<stepping_platform, ticking_clock>;

/// A sink that keeps what it is told, and may throw instead.
struct told {
  template <class Clock>
  void on_executed(queue_id, const fence_log_entry&) {}
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) {}
  void on_queued(queue_id of, trace_event event, fence_id fence, std::uint64_t value, std::uint64_t time) {
    may_throw();
    queued.emplace_back(of, event, fence, value);
    times.push_back(time);
  }
  void on_queued_lost(queue_id, std::uint64_t count) {
    may_throw();
    lost.push_back(count);
  }
  void may_throw() {
    if (throws-- == 0) throw 1;
  }

  std::vector<std::tuple<queue_id, trace_event, fence_id, std::uint64_t>> queued;
  std::vector<std::uint64_t> times;
  std::vector<std::uint64_t> lost;
  int throws = -1;
};

using expected = decltype(told::queued);

/// Takes what is executed, and nothing else.
struct executed_only {
  template <class Clock>
  void on_executed(queue_id, const fence_log_entry&) {}
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) {}
};

}  // namespace

TEST_CASE("[A93][A94] what was queued is collected once, with its time and the number of its queue") {
  events of_three;
  events of_four;
  collector logs;
  logs.add(queue_id{3}, of_three);
  logs.add(queue_id{4}, of_four);
  told sink;
  CHECK(logs.collect(sink) == collected_entries{});
  const std::uint64_t before = ticking_clock::now();
  of_three.wait_queued(fence_id{1}, 7);
  of_four.signal_queued(fence_id{2}, 8);
  of_three.signal_queued(fence_id{1}, 9);
  const std::uint64_t after = ticking_clock::now();
  CHECK(logs.collect(sink) == collected_entries{.logs = 2, .queued = 3});
  CHECK(logs.collect(sink) == collected_entries{});
  CHECK(sink.queued == expected{{queue_id{3}, trace_event::wait_queued, fence_id{1}, 7},
                                {queue_id{3}, trace_event::signal_queued, fence_id{1}, 9},
                                {queue_id{4}, trace_event::signal_queued, fence_id{2}, 8}});
  for (const std::uint64_t time : sink.times) {
    CHECK(before < time);
    CHECK(time < after);
  }
  logs.remove(queue_id{3});
  of_three.wait_queued(fence_id{1}, 10);
  CHECK(logs.collect(sink) == collected_entries{});
}

TEST_CASE("[A94] queued events that were overwritten are counted, and told to a sink that asks for that") {
  events few{4};
  collector logs;
  logs.add(queue_id{3}, few);
  for (std::uint64_t value = 1; value <= 6; ++value) few.wait_queued(fence_id{1}, value);
  told sink;
  CHECK(logs.collect(sink) == collected_entries{.logs = 1, .queued = 4, .queued_lost = 2});
  for (std::uint64_t value = 7; value <= 15; ++value) few.wait_queued(fence_id{1}, value);
  CHECK(logs.collect(sink) == collected_entries{.logs = 1, .queued = 4, .queued_lost = 5});
  CHECK(sink.lost == std::vector<std::uint64_t>{2, 5});
  CHECK(std::get<3>(sink.queued.back()) == 15);
}

TEST_CASE("[A94] a round ends although events keep coming, and a sink without on_queued is told nothing") {
  events of_queue;
  collector logs;
  logs.add(queue_id{3}, of_queue);
  for (std::uint64_t value = 1; value <= 10; ++value) of_queue.wait_queued(fence_id{1}, value);
  executed_only deaf;
  CHECK(logs.collect(deaf) == collected_entries{});
  told sink;
  CHECK(logs.collect(sink, 4).queued == 4);
  CHECK(logs.collect(sink, 4).queued == 4);
  CHECK(logs.collect(sink, 4).queued == 2);
  CHECK(sink.queued.size() == 10);
}

TEST_CASE("[A94] a queued event that a sink has thrown at is told again, and none is left out") {
  for (int at = 0; at < 6; ++at) {
    events few{4};
    collector logs;
    logs.add(queue_id{3}, few);
    told sink;
    few.wait_queued(fence_id{1}, 0);
    logs.collect(sink);
    for (std::uint64_t value = 1; value <= 6; ++value) few.wait_queued(fence_id{1}, value);
    sink.throws = at;
    bool has_thrown = false;
    try {
      logs.collect(sink);
    } catch (int) {
      has_thrown = true;
    }
    CHECK(has_thrown == (at < 5));  // one loss and four events
    logs.collect(sink);
    CHECK(sink.lost == std::vector<std::uint64_t>{2});
    CHECK(sink.queued.size() == 5);
    CHECK(std::get<3>(sink.queued.back()) == 6);
  }
}

TEST_CASE("[A94] several threads record commands of one queue, and a trace joins each with its execution") {
  constexpr std::uint64_t each = 500;
  events of_queue{4 * each};
  progress own;
  counted_queue queue{own, {.progress = own_id, .log_entries = 4 * each}};
  std::array<any_fence, 3> outputs;
  collector logs;
  logs.add(queue_id{3}, queue);
  logs.add(queue_id{3}, of_queue);
  std::vector<std::thread> recording;
  for (std::uint32_t number = 0; number < 3; ++number) {
    recording.emplace_back([&, number] {
      for (std::uint64_t value = 1; value <= each; ++value) of_queue.signal_queued(fence_id{number}, value);
    });
  }
  tidemark::trace trace;
  logs.collect(trace);
  for (auto& thread : recording) thread.join();
  for (std::uint64_t value = 1; value <= each; ++value) {
    for (std::uint32_t number = 0; number < 3; ++number) {
      queue.signal(logged_fence{&outputs.at(number), fence_id{number}}, value);
    }
  }
  logs.collect(trace);
  const auto commands = trace.commands();
  CHECK(commands.size() == 3 * each);
  std::map<fence_id, std::uint64_t> last;
  for (const auto& command : commands) {
    CHECK(command.queued);
    CHECK(command.executed);
    CHECK(command.queued_time < command.end_time);
    CHECK(command.value == ++last[command.fence]);
  }
}

TEST_CASE("[A82][A94] an event takes one reading of the clock, and neither allocates nor calls the system") {
  events of_queue{16};
  const meter<stepping_platform> during;
  const std::uint64_t before = ticking_clock::now();
  for (std::uint64_t value = 1; value <= 100; ++value) of_queue.wait_queued(fence_id{1}, value);
  CHECK(ticking_clock::now() == before + 101);
  CHECK(during.parks() + during.unparks() + during.heavy_barriers() + during.full_barriers() == 0);
}

// ---- the log is replaced --------------------------------------------------------------------------------------------

namespace {

/// Events in a log whose accesses can be interrupted, and a reader that keeps up with them.
struct stepped {
  void queue(std::size_t times = 1) {
    for (; times > 0; --times) all.signal_queued(fence_id{1}, ++queued);
  }
  void read() {
    std::array<tidemark::queued_event, 3> buffer;
    for (;;) {
      const std::uint64_t before = reader.next_sequence();
      const auto batch = reader.read(buffer);
      CHECK(batch.first_sequence == before + batch.lost);
      lost += batch.lost;
      for (const auto& event : batch.entries) CHECK(found.insert(event.fence_value).second);
      CHECK(reader.next_sequence() == found.size() + lost);
      if (batch.entries.empty() && batch.lost == 0) return;
    }
  }

  tidemark::basic_queued_events<interrupted_platform, tidemark::no_log_clock> all{4};
  decltype(all)::reader_type reader = all.reader();
  std::uint64_t queued = 0;
  std::set<std::uint64_t> found;
  std::uint64_t lost = 0;
};

}  // namespace

TEST_CASE("[A101][A92] events go on in a larger log; the old one is read first, and what it had lost counts once") {
  events few{4};
  collector logs;
  logs.add(queue_id{3}, few);
  std::uint64_t value = 0;
  const auto queue = [&](int times) {
    for (; times > 0; --times) few.wait_queued(fence_id{1}, ++value);
  };
  queue(6);
  CHECK(few.set_log(10));
  told sink;
  CHECK(logs.collect(sink, 1).queued == 1);  // the round ends after the loss and an event
  queue(10);
  logs.collect(sink);
  CHECK(sink.lost == std::vector<std::uint64_t>{2});
  REQUIRE(sink.queued.size() == 14);
  for (std::size_t n = 0; n < 14; ++n) CHECK(std::get<3>(sink.queued[n]) == n + 3);
  CHECK(logs.collect(sink) == collected_entries{});
}

TEST_CASE("[A92] a sink that throws between two logs of events gets all of them, and each once") {
  for (int at = 0; at < 6; ++at) {
    events few{4};
    collector logs;
    logs.add(queue_id{3}, few);
    for (std::uint64_t value = 1; value <= 3; ++value) few.wait_queued(fence_id{1}, value);
    few.set_log(2);
    for (std::uint64_t value = 4; value <= 6; ++value) few.wait_queued(fence_id{1}, value);
    told sink;
    sink.throws = at;
    CHECK_THROWS_AS(logs.collect(sink), int);
    logs.collect(sink);
    CHECK(sink.lost == std::vector<std::uint64_t>{1});
    REQUIRE(sink.queued.size() == 5);
    CHECK(std::get<3>(sink.queued[2]) == 3);
    CHECK(std::get<3>(sink.queued[3]) == 5);
  }
}

TEST_CASE("[A92] who begins to read after events went on in a new log begins there") {
  stepped at;
  at.queue(3);
  at.all.set_log(8);
  at.all.set_log(4);
  at.queue(2);
  auto late = at.all.reader();
  std::array<tidemark::queued_event, 3> buffer;
  const auto batch = late.read(buffer);
  CHECK(batch.first_sequence == 3);
  CHECK(batch.lost == 0);
  CHECK(batch.entries.size() == 2);
  at.read();
  CHECK(at.found.size() == 5);
}

TEST_CASE("[A92] a thread that is stopped at any step of an event while the log is replaced loses nothing uncounted") {
  std::uint64_t stopped = 0;
  for (int replacements = 1; replacements <= 3; ++replacements) {
    for (std::uint64_t more = 0; more <= 6; ++more) {
      for (std::uint64_t step = 0;; ++step) {
        INFO(replacements, " replacements, stopped before step ", step, " for ", more, " events");
        stepped at;
        at.queue(2);
        const auto meanwhile = [&] {
          for (int n = 0; n < replacements; ++n) CHECK(at.all.set_log(4));
          for (std::uint64_t n = 0; n < more; ++n) {
            at.queue();
            at.read();
          }
        };
        if (!interrupt([&] { at.queue(); }, step, meanwhile)) break;
        ++stopped;
        at.read();
        CHECK_FALSE(at.reader.has_new());
        CHECK(at.found.size() + at.lost == at.queued);
        // Before its second step, the event has no number in the old log, so it goes to the new one.
        CHECK(at.lost == (step >= 2 && more >= 4 ? 1 : 0));
      }
    }
  }
  CHECK(stopped > 100);
}

TEST_CASE("[A92] threads that come too late to a log take it around no more: an event that is written slowly stays") {
  std::uint64_t waited = 0;
  for (std::uint64_t step = 2;; ++step) {  // from the step on after which it has a number
    stepped at;
    // Two threads have found the second log as the current one, and add to its position when it is closed. The log
    // itself has one event, and can have two.
    const auto come_late = [&] {
      at.all.set_log(2);
      at.queue();
      CHECK(interrupt([&] { at.queue(); }, 1,
                      [&] { CHECK(interrupt([&] { at.queue(); }, 1, [&] { at.all.set_log(4); })); }));
      at.read();
      if (at.found.empty()) ++waited;
      CHECK(at.lost == 0);
    };
    if (!interrupt([&] { at.queue(); }, step, come_late)) break;
    at.read();
    CHECK(at.lost == 0);
    CHECK(at.found.size() == 4);
  }
  CHECK(waited > 2);
}

TEST_CASE("[A92] an owner that is stopped at any step of a replacement keeps no thread from its events") {
  std::uint64_t step = 0;
  for (;; ++step) {
    stepped at;
    at.queue(1);
    const auto meanwhile = [&] {
      at.queue();
      at.read();
      CHECK(at.found.size() + at.lost <= at.queued);
      at.queue();
    };
    if (!interrupt([&] { at.all.set_log(4); }, step, meanwhile)) break;
    at.queue();
    at.read();
    CHECK(at.lost == 0);
    CHECK(at.found.size() == 4);
  }
  CHECK(step >= 3);
}

TEST_CASE("[A92] while logs of events replace one another, each event is read once, or counted as lost") {
  constexpr std::uint64_t most_each = 20'000;
  constexpr std::uint64_t most_logs = 200;
  tidemark::queued_events all{2};
  auto reader = all.reader();
  std::atomic<std::uint64_t> logs{0};
  std::atomic<std::uint64_t> queued{0};
  std::atomic<int> running{2};
  std::vector<std::thread> recording;
  for (std::uint32_t id = 0; id < 2; ++id) {
    recording.emplace_back([&, id] {
      std::uint64_t value = 0;
      while (value < most_each || logs < most_logs) {
        all.signal_queued(fence_id{id}, ++value);
        if (value % 64 == 0) std::this_thread::yield();
      }
      queued += value;
      --running;
    });
  }
  std::thread owner{[&] {
    for (; logs < most_logs; ++logs) {
      all.set_log(static_cast<std::size_t>(2 + logs % 100));
      std::this_thread::yield();
    }
  }};
  std::uint64_t read = 0;
  std::uint64_t lost = 0;
  std::uint64_t mistakes = 0;
  std::array<std::uint64_t, 2> last{};
  for (bool goes_on = true; goes_on;) {
    const bool was_last = running == 0;
    std::array<tidemark::queued_event, 16> buffer;
    const std::uint64_t before = reader.next_sequence();
    const auto batch = reader.read(buffer);
    if (batch.first_sequence != before + batch.lost) ++mistakes;
    for (const auto& event : batch.entries) {
      std::uint64_t& previous = last.at(to_number(event.fence));
      if (event.fence_value <= previous) ++mistakes;  // the events of one thread are in order
      previous = event.fence_value;
    }
    read += batch.entries.size();
    lost += batch.lost;
    goes_on = !was_last || !batch.entries.empty() || batch.lost != 0;
  }
  owner.join();
  for (auto& thread : recording) thread.join();
  CHECK(mistakes == 0);
  CHECK(read + lost == queued);
}
