// SPDX-License-Identifier: BSL-1.0
//
// What the logs of an engine's queue say beside what was executed: entries that were reserved when a command was
// recorded, and commands that were given up. Where a test has an engine without threads, it steps the loop itself.
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/trace/trace.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/engines.hpp"
#include "support/loop_kinds.hpp"
#include "support/queues.hpp"
#include "support/random.hpp"

using namespace testing;
using tidemark::doorbell_status;
using tidemark::log_commits;
using tidemark::log_reservation;
using tidemark::wait_status;

using values = std::vector<std::uint64_t>;

namespace {

template <class Kind>
using queue_of = tidemark::basic_engine_queue<typename Kind::platform>;

constexpr fence_id input_id{3};

/// Returns the values of the entries that were executed, or of those that were cancelled. All the cancelled ones must
/// stand behind all the others.
values executed_of(const found_entries& found) {
  CHECK(std::is_partitioned(found.entries.begin(), found.entries.end(),
                            [](const fence_log_entry& entry) { return !is_cancelled(entry); }));
  values all;
  for (const auto& entry : found.entries) {
    if (!is_cancelled(entry)) all.push_back(entry.fence_value);
  }
  return all;
}
values cancelled_of(const found_entries& found) {
  values all;
  for (const auto& entry : found.entries) {
    if (is_cancelled(entry)) all.push_back(entry.fence_value);
  }
  return all;
}

}  // namespace

// ---- what was given up ----------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[A124] commands that a queue drops because it was aborted stand in its logs as cancelled, up to the last that was "
    "queued",
    Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  typename Kind::fence output;
  queue_of<Kind> queue{on.engine, {.progress = own_id}};
  auto waits = queue.timeline().wait_log();
  auto signals = queue.timeline().signal_log();
  for (std::uint64_t value = 1; value <= 4; ++value) {
    queue.wait(logged_fence{&input, input_id}, value);
    queue.run([] {});
    queue.signal(logged_fence{&output, other_id}, value + 10);
    REQUIRE(queue.submit().serial == value);
  }
  queue.wait(logged_fence{&input, input_id}, 5);  // which is not submitted
  on.step();
  input.signal(2);
  on.step();
  SUBCASE("the queue") { queue.abort(); }
  SUBCASE("its engine") { on.engine.abort(); }
  SUBCASE("for ever") {
    queue.abort();
    queue.abort();
    CHECK(queue.submit().status == doorbell_status::aborted);
  }
  on.step();
  const auto waited = read_all(waits);
  CHECK(executed_of(waited) == values{1, 2});
  CHECK(cancelled_of(waited) == values{3, 4});
  for (const auto& entry : waited.entries) {
    CHECK(entry.operation == fence_operation::wait_unblocked);
    CHECK(entry.fence == input_id);
    if (is_cancelled(entry)) CHECK(entry.observed_timestamp == 0);
  }
  const auto signalled = read_all(signals);
  CHECK(executed_of(signalled) == values{11, 1, 12, 2});
  CHECK(cancelled_of(signalled) == values{13, 3, 14, 4});
  for (std::size_t n = 0; n < signalled.entries.size(); ++n) {
    CHECK(signalled.entries[n].fence == (n % 2 == 0 ? other_id : own_id));
  }
  // Nothing was signalled, and nobody released.
  CHECK(output.current_value() == 12);
  CHECK(queue.timeline().wait_finished(3) == wait_status::lost);
}

TEST_CASE_TEMPLATE("[A124] a queue whose timeline is lost cancels that wait and all that follows it", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  queue_of<Kind> queue{on.engine, {.progress = own_id}};
  auto waits = queue.timeline().wait_log();
  auto signals = queue.timeline().signal_log();
  queue.wait(logged_fence{&input, input_id}, 1);
  REQUIRE(queue.submit());
  queue.wait(logged_fence{&input, input_id}, 2);
  queue.wait(logged_fence{&input, input_id}, 3);
  REQUIRE(queue.submit());
  SUBCASE("while it is parked") { on.step(); }
  SUBCASE("before its turn") {}
  input.signal(1);
  input.poison();
  on.step();
  const auto waited = read_all(waits);
  CHECK(executed_of(waited) == values{1});
  CHECK(cancelled_of(waited) == values{2, 3});
  const auto signalled = read_all(signals);
  CHECK(executed_of(signalled) == values{1});
  CHECK(cancelled_of(signalled) == values{2});
}

TEST_CASE_TEMPLATE("[A124] a queue that is destroyed cancels what it has not executed, for readers that outlive it",
                   Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  std::optional<queue_of<Kind>> queue{std::in_place, on.engine, tidemark::engine_queue_options{.progress = own_id}};
  auto waits = queue->timeline().wait_log();
  auto signals = queue->timeline().signal_log();
  queue->signal(logged_fence{&input, input_id}, 1);
  REQUIRE(queue->submit());
  for (int n = 0; n < 20; ++n) queue->wait(logged_fence{&input, input_id}, 2);
  REQUIRE(queue->submit());
  queue->wait(logged_fence{&input, input_id}, 3);  // which is not submitted
  SUBCASE("while it is parked") { on.step(); }
  SUBCASE("while it is paused") {
    on.step();
    queue->pause();
    input.signal(2);
    on.step();
  }
  queue.reset();
  CHECK(cancelled_of(read_all(waits)) == values(20, 2));
  const auto signalled = read_all(signals);
  CHECK(executed_of(signalled) == values{1, 1});
  CHECK(cancelled_of(signalled) == values{2});
}

TEST_CASE_TEMPLATE(
    "[A92] [A124] a log that is replaced with work in flight is handed over: its readers go on, to the "
    "cancelled entries",
    Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  queue_of<Kind> queue{on.engine, {.progress = own_id}};
  auto signals = queue.timeline().signal_log();
  for (int n = 0; n < 4; ++n) {
    queue.wait(logged_fence{&input, input_id}, static_cast<std::uint64_t>(n));
    REQUIRE(queue.submit());
  }
  on.step();
  REQUIRE(queue.timeline().set_log(fence_log_type::signal, 16));
  input.signal(1);
  on.step();
  REQUIRE(queue.timeline().set_log(fence_log_type::signal, 32));
  queue.abort();
  on.step();
  const auto found = read_all(signals);
  CHECK(found.lost == 0);
  CHECK(executed_of(found) == values{1, 2});
  CHECK(cancelled_of(found) == values{3, 4});
  for (std::size_t n = 0; n < 4; ++n) CHECK(found.entries[n].stamp == n + 1);
}

TEST_CASE_TEMPLATE(
    "[A122] [A124] after an abort at any moment, each submission stands in the log once: executed, or "
    "cancelled behind all that were",
    Kind, EVERY_LOOP_KIND) {
  engine_of<Kind> engine{{.threads = 2}};
  random_numbers random{fresh_seed()};
  for (int round = 0; round < 200; ++round) {
    std::optional<queue_of<Kind>> queue{std::in_place, engine,
                                        tidemark::engine_queue_options{.progress = own_id, .log_entries = 4096}};
    auto signals = queue->timeline().signal_log();
    std::uint64_t accepted = 0;
    std::atomic<std::uint64_t> ran{0};
    std::atomic<bool> may_abort{false};
    const std::uint64_t before = random.below(40U);
    std::thread aborts([&] {
      while (!may_abort.load()) std::this_thread::yield();
      round % 2 == 0 ? queue->abort() : engine.abort();
    });
    while (accepted < 1000) {
      queue->run([&] { ran.fetch_add(1); });
      const auto rung = queue->submit();
      if (!rung) break;
      ++accepted;
      if (rung.serial >= before) may_abort.store(true);
    }
    may_abort.store(true);
    aborts.join();
    queue.reset();
    const auto found = read_all(signals);
    CHECK(found.lost == 0);
    const values executed = executed_of(found);
    CHECK(executed.size() + cancelled_of(found).size() == accepted);
    for (std::size_t n = 0; n < found.entries.size(); ++n) CHECK(found.entries[n].fence_value == n + 1);
    // The abort may have come between the work and the end of one submission.
    CHECK(ran.load() >= executed.size());
    CHECK(ran.load() <= executed.size() + 1);
  }
}

TEST_CASE_TEMPLATE("[A124] after an abort a new queue takes the place of the old one, and trace and log go on", Kind,
                   EVERY_LOOP_KIND) {
  using platform = typename Kind::platform;
  stepped<Kind> on;
  typename Kind::fence input;
  tidemark::basic_log_collector<platform> collector;
  tidemark::trace trace;
  const auto executed = [&] {
    std::vector<std::pair<std::string, std::uint64_t>> all;
    for (const auto& command : trace.commands()) {
      if (command.operation == fence_operation::wait_unblocked) {
        all.emplace_back(trace.queue_name(command.queue), command.value);
      }
    }
    return all;
  };
  std::optional<queue_of<Kind>> queue;
  for (const char* const name : {"blur", "blur again"}) {
    queue.emplace(on.engine);
    collector.add(queue->id(), queue->timeline());
    trace.name_queue(queue->id(), name);
    for (std::uint64_t value = 1; value <= 2; ++value) queue->wait(logged_fence{&input, input_id}, value);
    REQUIRE(queue->submit());
    if (input.current_value() == 0) {
      input.signal(1);
      on.step();
      on.engine.abort();
      CHECK(queue->submit().status == doorbell_status::aborted);
      const auto old = queue->id();
      queue.reset();
      collector.collect(trace);  // what was cancelled, too
      collector.remove(old);
      input.signal(2);
    } else {
      on.step();
      CHECK(queue->is_idle());
      collector.collect(trace);
    }
  }
  CHECK(executed() == decltype(executed()){{"blur", 1}, {"blur again", 1}, {"blur again", 2}});
}

// ---- what was reserved ----------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[A88] the recorder of a command knows the entry that it will have: reserved, and committed in order", Kind,
    EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  typename Kind::fence output;
  queue_of<Kind> queue{on.engine, {.progress = own_id}};
  auto waits = queue.timeline().wait_reserver();
  auto signals = queue.timeline().signal_reserver();
  auto waited = queue.timeline().wait_log();
  auto signalled = queue.timeline().signal_log();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;  // numbers and values
  for (std::uint64_t value = 1; value <= 3; ++value) {
    const auto of_wait = waits.reserve();
    CHECK(of_wait.sequence == value - 1);
    queue.wait(logged_fence{&input, input_id}, value, of_wait);
    const auto of_signal = signals.reserve();
    queue.signal(logged_fence{&output, other_id}, value + 10, of_signal);
    expected.emplace_back(of_signal.sequence, value + 10);
    const auto of_end = signals.reserve();
    REQUIRE(queue.submit(of_end).serial == value);
    expected.emplace_back(of_end.sequence, value);
  }
  on.step();
  CHECK(read_all(signalled).entries.empty());  // a reservation writes nothing
  const auto report = on.engine.why_waiting();
  REQUIRE(report.waits.size() == 1);
  CHECK(report.waits[0].fence == input_id);
  CHECK(report.waits[0].value == 1);
  CHECK(report.waits[0].current_value == 0);
  input.signal(3);
  on.step();
  CHECK(queue.is_idle());
  const auto found = read_all(signalled);
  REQUIRE(found.entries.size() == expected.size());
  for (std::size_t n = 0; n < expected.size(); ++n) {
    CHECK(found.entries[n].stamp == expected[n].first + 1);
    CHECK(found.entries[n].fence_value == expected[n].second);
  }
  const auto first = read_all(waited).entries;
  REQUIRE(first.size() == 3);
  CHECK(first[0].observed_timestamp != 0);  // it has parked
  CHECK(first[1].observed_timestamp == 0);
  CHECK(queue.timeline().commits(fence_log_type::signal) == log_commits{6, 0, 0});
  CHECK(queue.timeline().commits(fence_log_type::wait) == log_commits{3, 0, 0});
}

TEST_CASE_TEMPLATE("[A88] [A124] reserved entries of a queue that is aborted are committed in turn, as cancelled", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  queue_of<Kind> queue{on.engine, {.progress = own_id}};
  auto waits = queue.timeline().wait_reserver();
  auto signals = queue.timeline().signal_reserver();
  auto waited = queue.timeline().wait_log();
  auto signalled = queue.timeline().signal_log();
  typename Kind::fence output;
  for (std::uint64_t value = 1; value <= 3; ++value) {
    queue.wait(logged_fence{&input, input_id}, value, waits.reserve());
    queue.signal(output, value, signals.reserve());
    REQUIRE(queue.submit(signals.reserve()));
  }
  values executed;
  values cancelled{1, 2, 3};
  SUBCASE("while it is parked") {
    input.signal(1);
    on.step();
    executed = {1};
    cancelled = {2, 3};
  }
  SUBCASE("before its turn") {}
  queue.abort();
  on.step();
  CHECK(queue.timeline().commits(fence_log_type::signal) == log_commits{6, 0, 0});
  CHECK(queue.timeline().commits(fence_log_type::wait) == log_commits{3, 0, 0});
  const auto found = read_all(waited);
  CHECK(executed_of(found) == executed);
  CHECK(cancelled_of(found) == cancelled);
  CHECK(executed_of(read_all(signalled)).size() == 2 * executed.size());
}

TEST_CASE_TEMPLATE("[A88] entries of commands that are dropped before they are submitted are taken back", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence output;
  queue_of<Kind> queue{on.engine, {.progress = own_id}};
  auto signals = queue.timeline().signal_reserver();
  queue.signal(output, 1, signals.reserve());
  REQUIRE(queue.submit(signals.reserve()));
  const auto dropped = signals.reserve();
  queue.signal(output, 2, dropped);
  queue.signal(output, 3, signals.reserve());
  queue.discard();
  signals.take_back(dropped);
  signals.take_back(log_reservation{});  // nothing was reserved
  const auto next = signals.reserve();
  CHECK(next.sequence == dropped.sequence);
  CHECK(next.turn == dropped.turn);
  queue.signal(output, 4, next);
  REQUIRE(queue.submit(signals.reserve()));
  on.step();
  CHECK(queue.timeline().commits(fence_log_type::signal) == log_commits{4, 0, 0});
}

TEST_CASE_TEMPLATE("[A88] an entry that was reserved for a submission is still there when the doorbell says retry",
                   Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  queue_of<Kind> queue{on.engine, {.most_submissions = 1}};
  auto signals = queue.timeline().signal_reserver();
  REQUIRE(queue.submit(signals.reserve()));
  const auto entry = signals.reserve();
  CHECK(queue.submit(entry).status == doorbell_status::retry);
  on.step();
  CHECK(queue.submit(entry).serial == 2);
  on.step();
  CHECK(queue.timeline().commits(fence_log_type::signal) == log_commits{2, 0, 0});
  queue.abort();
  CHECK(queue.submit(signals.reserve()).status == doorbell_status::aborted);
}

TEST_CASE_TEMPLATE("[A88] a log without space for another reservation is no reason to stop recording", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence output;
  queue_of<Kind> queue{on.engine, {.log_entries = 2}};
  auto signals = queue.timeline().signal_reserver();
  for (std::uint64_t value = 1; value <= 3; ++value) {
    const auto entry = signals.reserve();
    CHECK(static_cast<bool>(entry) == (value <= 2));
    queue.signal(output, value, entry);
  }
  REQUIRE(queue.submit());
  on.step();
  CHECK(output.current_value() == 3);
  CHECK(queue.timeline().commits(fence_log_type::signal) == log_commits{2, 0, 0});
}
