// SPDX-License-Identifier: BSL-1.0
//
// What threads say that they have queued: who may say it, how it is collected, and how a trace joins it.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <thread>
#include <tuple>
#include <vector>

#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/queued_events.hpp>
#include <tidemark/trace/trace.hpp>

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
