// SPDX-License-Identifier: BSL-1.0
//
// The collector: which logs it reads, when it flushes, and what it tells.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tidemark/queue/log_collector.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::collected_entries;

namespace {

using logged_queue = tidemark::basic_queue<progress, ticking_clock>;
using collector = tidemark::basic_log_collector<stepping_platform, ticking_clock>;

/// Some queues, and all that a collector has told of them.
struct stand {
  explicit stand(std::size_t queues, std::size_t entries = 84) {
    for (std::uint32_t number = 0; number < queues; ++number) {
      lane& made = lanes.emplace_back(fence_id{number}, entries);
      logs.add(queue_id{number}, made.queue);
    }
  }

  struct lane {
    lane(fence_id id, std::size_t entries) : queue{own, {.progress = id, .log_entries = entries}} {}
    progress own;
    logged_queue queue;
  };

  /// A sink that keeps what it is told.
  struct told {
    template <class Clock>
    void on_executed(queue_id by, const fence_log_entry& entry) {
      static_assert(std::is_same_v<Clock, ticking_clock>);
      entries.emplace_back(by, entry.operation, entry.fence_value);
    }
    void on_lost(queue_id of, fence_log_type log, std::uint64_t first, std::uint64_t count) {
      losses.emplace_back(of, log, first, count);
      entries_before_loss = entries.size();
    }

    std::vector<std::tuple<queue_id, fence_operation, std::uint64_t>> entries;
    std::vector<std::tuple<queue_id, fence_log_type, std::uint64_t, std::uint64_t>> losses;
    std::size_t entries_before_loss = 0;
  };

  std::deque<lane> lanes;
  collector logs;
  told sink;
};

}  // namespace

TEST_CASE("[A108] a round without new entries flushes nothing, and all logs with new entries share one flush") {
  stand at{3};
  const meter<stepping_platform> during;
  CHECK(at.logs.collect(at.sink) == collected_entries{});
  CHECK(during.heavy_barriers() == 0);

  at.lanes[1].queue.complete();
  at.lanes[1].queue.complete();
  CHECK(at.logs.collect(at.sink) == collected_entries{1, 2, 0});
  CHECK(during.heavy_barriers() == 1);
  CHECK(at.logs.collect(at.sink) == collected_entries{});
  CHECK(during.heavy_barriers() == 1);

  for (auto& lane : at.lanes) lane.queue.complete();
  CHECK(at.logs.collect(at.sink) == collected_entries{3, 3, 0});
  CHECK(during.heavy_barriers() == 2);
}

TEST_CASE("[A108] each entry is told once, with the number of its queue, and waits before signals") {
  stand at{2};
  auto& queue = at.lanes[1].queue;
  queue.complete();
  CHECK(queue.wait(queue.progress(), 1) == tidemark::wait_status::reached);
  queue.complete();
  at.lanes[0].queue.complete();
  at.logs.collect(at.sink);
  at.logs.collect(at.sink);
  using expected = decltype(at.sink.entries);
  CHECK(at.sink.entries == expected{{queue_id{0}, fence_operation::signal_executed, 1},
                                    {queue_id{1}, fence_operation::wait_unblocked, 1},
                                    {queue_id{1}, fence_operation::signal_executed, 1},
                                    {queue_id{1}, fence_operation::signal_executed, 2}});
}

TEST_CASE("[A100][A108] entries that were overwritten are told as lost at their place, once") {
  stand at{1, 4};
  at.lanes[0].queue.complete();
  at.logs.collect(at.sink);
  for (int i = 0; i < 9; ++i) at.lanes[0].queue.complete();
  CHECK(at.logs.collect(at.sink) == collected_entries{1, 4, 5});
  using expected = decltype(at.sink.losses);
  CHECK(at.sink.losses == expected{{queue_id{0}, fence_log_type::signal, 1, 5}});
  CHECK(at.sink.entries_before_loss == 1);
  CHECK(at.logs.collect(at.sink) == collected_entries{});
}

namespace {

/// A sink that throws at one of its calls, before it has kept anything.
struct throwing : stand::told {
  template <class Clock>
  void on_executed(queue_id by, const fence_log_entry& entry) {
    step();
    told::on_executed<Clock>(by, entry);
  }
  void on_lost(queue_id of, fence_log_type log, std::uint64_t first, std::uint64_t count) {
    step();
    told::on_lost(of, log, first, count);
  }
  void step() {
    if (++calls == throws_at) throw std::bad_alloc{};
  }

  unsigned calls = 0;
  unsigned throws_at = 0;
};

/// Queue 0 has lost five entries and still has four; queue 1 has a wait and 19 signals.
struct stand_with_a_loss : stand {
  stand_with_a_loss() : stand{2, 4} {
    lanes[1].queue.enable_tracing(100);
    for (int i = 0; i < 9; ++i) lanes[0].queue.complete();
    for (int i = 0; i < 19; ++i) lanes[1].queue.complete();
    CHECK(lanes[1].queue.wait(lanes[1].queue.progress(), 1) == tidemark::wait_status::reached);
  }
};

}  // namespace

TEST_CASE(
    "[A100][A108] whichever call of a sink throws, nothing is lost, and the sink is told again what it threw at") {
  stand_with_a_loss calm;
  CHECK(calm.logs.collect(calm.sink) == collected_entries{3, 24, 5});
  REQUIRE(calm.sink.entries.size() == 24);
  for (unsigned call = 1; call <= 25; ++call) {
    stand_with_a_loss at;
    throwing sink;
    sink.throws_at = call;
    CHECK_THROWS_AS(at.logs.collect(sink), std::bad_alloc);
    CHECK(sink.calls == call);
    while (at.logs.collect(sink).logs != 0) continue;
    CHECK(sink.calls == 26);
    CHECK(sink.losses == calm.sink.losses);
    CHECK(sink.entries.size() == 24);
    CHECK(std::set(sink.entries.begin(), sink.entries.end()) ==
          std::set(calm.sink.entries.begin(), calm.sink.entries.end()));
    CHECK(at.logs.collect(sink) == collected_entries{});
  }
}

TEST_CASE(
    "[A108] entries that a sink did not take are told before later ones of that log, also if they were overwritten "
    "since") {
  stand at{1, 4};
  for (int i = 0; i < 4; ++i) at.lanes[0].queue.complete();
  throwing sink;
  sink.throws_at = 2;
  CHECK_THROWS_AS(at.logs.collect(sink), std::bad_alloc);
  for (int i = 0; i < 6; ++i) at.lanes[0].queue.complete();  // overwrites entries that were not told
  CHECK(at.logs.collect(sink) == collected_entries{1, 3 + 4, 2});
  std::vector<std::uint64_t> told;
  for (const auto& entry : sink.entries) told.push_back(std::get<2>(entry));
  CHECK(told == std::vector<std::uint64_t>{1, 2, 3, 4, 7, 8, 9, 10});
  using expected = decltype(sink.losses);
  CHECK(sink.losses == expected{{queue_id{0}, fence_log_type::signal, 4, 2}});
}

TEST_CASE("a queue that is removed after a sink threw is not told of any more") {
  stand at{2};
  for (auto& lane : at.lanes) lane.queue.complete();
  throwing sink;
  sink.throws_at = 1;
  CHECK_THROWS_AS(at.logs.collect(sink), std::bad_alloc);
  at.logs.remove(queue_id{0});
  CHECK(at.logs.collect(sink) == collected_entries{1, 1, 0});
  CHECK(std::get<0>(sink.entries.at(0)) == queue_id{1});
}

TEST_CASE("[A92][A108] logs that were replaced are read to their ends") {
  stand at{1, 4};
  for (std::size_t entries = 4; entries < 64; entries *= 2) {
    for (std::size_t i = 0; i < entries; ++i) at.lanes[0].queue.complete();
    at.lanes[0].queue.set_log(fence_log_type::signal, entries * 2);
  }
  CHECK(at.logs.collect(at.sink) == collected_entries{1, 60, 0});
}

TEST_CASE("[A108] a round ends, however much there is, and the next one goes on") {
  stand at{1, 1024};
  for (int i = 0; i < 1000; ++i) at.lanes[0].queue.complete();
  std::uint64_t rounds = 0;
  std::uint64_t entries = 0;
  for (;;) {
    const collected_entries found = at.logs.collect(at.sink, 100);
    CHECK(found.entries <= 100 + 64);
    if (found == collected_entries{}) break;
    ++rounds;
    entries += found.entries;
  }
  CHECK(entries == 1000);
  CHECK(rounds >= 7);
}

TEST_CASE("a collector may outlive its queues, and tells nothing of those that were removed") {
  stand at{2};
  at.lanes[0].queue.complete();
  at.lanes[1].queue.complete();
  at.logs.remove(queue_id{0});
  at.lanes.clear();
  CHECK(at.logs.collect(at.sink) == collected_entries{1, 1, 0});
  CHECK(std::get<0>(at.sink.entries.at(0)) == queue_id{1});
}

TEST_CASE("[A119] the verbose log is not collected") {
  stand at{1};
  auto& lane = at.lanes[0];
  lane.queue.enable_verbose(tidemark::verbose_events::all);
  waiter waiting{[&] { return lane.own.wait(1); }};
  CHECK(waiting.falls_asleep());
  lane.queue.complete();
  CHECK(waiting.status() == tidemark::wait_status::reached);
  CHECK(at.logs.collect(at.sink) == collected_entries{1, 1, 0});
  auto verbose = lane.queue.verbose_log();
  CHECK(read_all(verbose).values() == std::vector<std::uint64_t>{1});
}

TEST_CASE(
    "[A108] a trace is a sink: of queues that work meanwhile, each wait names its signal, unless it was quicker") {
  constexpr std::uint64_t commands = 2'000;
  tidemark::progress_fence first_own;
  tidemark::progress_fence second_own;
  tidemark::queue first{first_own, {.progress = fence_id{1}}};
  tidemark::queue second{second_own, {.progress = fence_id{2}}};
  first.enable_tracing(commands + 1);
  second.enable_tracing(commands + 1);
  const auto dog = watch(second_own);
  tidemark::log_collector logs;
  logs.add(queue_id{1}, first);
  logs.add(queue_id{2}, second);
  std::thread producer{[&] {
    for (std::uint64_t i = 0; i < commands; ++i) first.complete();
  }};
  std::thread consumer{[&] {
    for (std::uint64_t i = 1; i <= commands; ++i) {
      if (second.wait(first.progress(), i) == tidemark::wait_status::reached) second.complete();
    }
  }};
  tidemark::trace trace;
  std::uint64_t entries = 0;
  while (!second_own.is_reached(commands)) entries += logs.collect(trace).entries;
  producer.join();
  consumer.join();
  for (auto found = logs.collect(trace); found.logs != 0; found = logs.collect(trace)) entries += found.entries;
  CHECK(entries == 3 * commands);
  const auto known = trace.commands();
  std::map<std::uint64_t, std::size_t> signal_of;  // each value of `first`
  for (std::size_t i = 0; i < known.size(); ++i) {
    const bool is_signal = known[i].operation == tidemark::fence_operation::signal_executed;
    if (is_signal && known[i].fence == fence_id{1}) signal_of[known[i].value] = i;
  }
  CHECK(signal_of.size() == commands);
  std::uint64_t waits = 0;
  for (const auto& wait : known) {
    if (wait.operation != tidemark::fence_operation::wait_unblocked) continue;
    ++waits;
    const std::size_t signal = signal_of.at(wait.value);
    // The queue that signals takes the time after it has raised the value.
    const bool was_quicker = wait.end_time < known[signal].end_time;
    CHECK(wait.released_by == (was_quicker ? std::nullopt : std::optional{signal}));
  }
  CHECK(waits == commands);
}
