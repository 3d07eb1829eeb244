// SPDX-License-Identifier: BSL-1.0
//
// Recorders: what the verbose log of a queue holds, and queues that tell their operations to a sink instead of a log.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/recorder.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/manual_stop.hpp"
#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {}  // namespace

// ---- logs -----------------------------------------------------------------------------------------------------------

TEST_CASE(
    "[A119] the verbose log tells of waits that begin to stall and of signals that notify, if they are asked for") {
  using tidemark::verbose_events;
  any_fence fence;
  progress own;
  counted_queue queue{own, {.progress = own_id}};
  auto waits = queue.wait_log();
  auto signals = queue.signal_log();
  const logged_fence subject{&fence, fence_id{3}};
  std::uint64_t value = 0;
  const auto stall = [&] {  // the queue sleeps until another thread signals
    ++value;
    waiter executor{[&] { return queue.wait(subject, value); }};
    CHECK(executor.falls_asleep());
    fence.signal(value);
    CHECK(executor.status() == wait_status::reached);
  };
  const auto notify = [&] {  // another thread sleeps until the queue signals
    ++value;
    waiter other{[&] { return fence.wait(value); }};
    CHECK(other.falls_asleep());
    CHECK(queue.signal(subject, value));
    CHECK(other.status() == wait_status::reached);
  };
  const auto told = [](auto& reader) {
    std::vector<fence_operation> operations;
    for (const auto& entry : read_all(reader).entries) operations.push_back(entry.operation);
    return operations;
  };

  queue.enable_verbose(verbose_events::all);
  auto verbose = queue.verbose_log();
  stall();
  auto found = read_all(verbose).entries;
  REQUIRE(found.size() == 1);
  CHECK(found[0].operation == fence_operation::wait_stalled);
  CHECK(found[0].fence == fence_id{3});
  CHECK(found[0].fence_value == 1);
  const auto unblocked = read_all(waits).entries;
  REQUIRE(unblocked.size() == 1);
  CHECK(found[0].observed_timestamp == unblocked[0].observed_timestamp);  // told before the wait was over
  CHECK(found[0].end_timestamp == 0);
  notify();
  found = read_all(verbose).entries;
  REQUIRE(found.size() == 1);
  CHECK(found[0].operation == fence_operation::signal_notified);
  CHECK(found[0].fence_value == 2);
  CHECK(found[0].end_timestamp > read_all(signals).entries.at(0).end_timestamp);
  CHECK(queue.wait(subject, 2) == wait_status::reached);  // neither stalls nor notifies
  CHECK(queue.signal(subject, ++value));
  CHECK(told(verbose).empty());

  queue.enable_verbose(verbose_events::stalls);
  notify();
  stall();
  CHECK(told(verbose) == std::vector{fence_operation::wait_stalled});
  queue.enable_verbose(verbose_events::notifications, 4);  // another log, which the reader goes on with
  stall();
  notify();
  CHECK(told(verbose) == std::vector{fence_operation::signal_notified});
  queue.enable_verbose(verbose_events::none);
  stall();
  notify();
  CHECK(told(verbose).empty());
  // The other logs, which a trace reads, have no verbose entry.
  for (const auto operation : told(waits)) CHECK(operation == fence_operation::wait_unblocked);
  for (const auto operation : told(signals)) CHECK(operation == fence_operation::signal_executed);
}

TEST_CASE("[A119] a wait that may not sleep does not stall, and one with a limit does") {
  any_fence fence;
  progress own;
  counted_queue queue{own, {.progress = own_id}};
  queue.enable_verbose(tidemark::verbose_events::stalls);
  auto verbose = queue.verbose_log();
  const logged_fence subject{&fence, fence_id{3}};
  const auto now = std::chrono::steady_clock::now();
  manual_stop stop;
  stop.request();
  CHECK(queue.wait_for(subject, 1, std::chrono::seconds{0}) == wait_status::timeout);
  CHECK(queue.wait_for(subject, 1, std::chrono::seconds{-1}) == wait_status::timeout);
  CHECK(queue.wait_until(subject, 1, now) == wait_status::timeout);
  CHECK(queue.wait_until(subject, 1, std::chrono::system_clock::time_point{}) == wait_status::timeout);
  CHECK(queue.wait(subject, 1, stop.get_token()) == wait_status::stopped);
  CHECK(queue.wait_for(subject, 1, std::chrono::hours{1}, stop.get_token()) == wait_status::stopped);
  CHECK(read_all(verbose).entries.empty());
  const auto stall = [&](auto&& wait, std::uint64_t value) {
    waiter executor{wait};
    CHECK(executor.falls_asleep());
    fence.signal(value);
    CHECK(executor.status() == wait_status::reached);
  };
  const std::chrono::hours limit{1};
  stall([&] { return queue.wait_for(subject, 2, limit); }, 2);
  stall([&] { return queue.wait_until(subject, 3, std::chrono::steady_clock::now() + limit); }, 3);
  const auto found = read_all(verbose);
  CHECK(found.values() == std::vector<std::uint64_t>{2, 3});
  for (const auto& entry : found.entries) CHECK(entry.operation == fence_operation::wait_stalled);
}

TEST_CASE("[A119] the page of a verbose log says that it is one") {
  progress own;
  counted_queue queue{own, {.progress = own_id}};
  queue.enable_verbose(tidemark::verbose_events::stalls);
  alignas(8) std::array<std::byte, 4096> memory{};
  queue.set_log(fence_log_type::verbose, memory);
  any_fence fence;
  waiter executor{[&] { return queue.wait(logged_fence{&fence, fence_id{3}}, 1); }};
  CHECK(executor.falls_asleep());
  fence.signal(1);
  CHECK(executor.status() == wait_status::reached);
  std::uint32_t type = 0;
  std::memcpy(&type, memory.data() + 8, sizeof type);
  CHECK(type == static_cast<std::uint32_t>(fence_log_type::verbose));
}

TEST_CASE("[A118] a queue with a log recorder can't be had without its logs") {
  static_assert(!std::is_constructible_v<counted_queue>);
  static_assert(
      std::is_same_v<tidemark::queue,
                     tidemark::basic_queue<tidemark::progress_fence, tidemark::default_log_clock,
                                           tidemark::self_service, tidemark::log_recorder<tidemark::native_platform>>>);
  tidemark::progress_fence own;
  tidemark::queue queue{own, {.progress = own_id}};
  auto waits = queue.wait_log();
  auto signals = queue.signal_log();
  queue.complete();
  CHECK(queue.wait(queue.progress(), 1) == wait_status::reached);
  CHECK(read_all(waits).entries.size() == 1);
  CHECK(read_all(signals).entries.size() == 1);
}

// ---- sinks ----------------------------------------------------------------------------------------------------------

TEST_CASE("[A80][A83] a trace is told of the operations of a queue without logs, at once") {
  using recorder = tidemark::direct_recorder<tidemark::trace, ticking_clock>;
  tidemark::trace trace;
  progress own;
  any_fence fence;
  tidemark::basic_queue<progress, ticking_clock, tidemark::self_service, recorder> queue{
      own, {.progress = own_id}, {}, recorder{trace, queue_id{12}}};
  static_assert(!decltype(queue)::has_logs);
  CHECK(queue.signal(logged_fence{&fence, fence_id{3}}, 5));
  CHECK(trace.commands().size() == 1);
  CHECK(queue.wait(logged_fence{&fence, fence_id{3}}, 4) == wait_status::reached);
  queue.complete();
  const auto commands = trace.commands();
  REQUIRE(commands.size() == 3);
  for (const auto& command : commands) {
    CHECK(command.queue == queue_id{12});
    CHECK(command.end_time != 0);
  }
  CHECK(commands[0].fence == fence_id{3});
  CHECK(commands[0].value == 5);
  CHECK(commands[1].operation == fence_operation::wait_unblocked);
  CHECK(commands[1].released_by == 0);
  CHECK(commands[2].fence == own_id);
}

TEST_CASE("a recorder and a sink are known by what they take") {
  struct records_waits_only {
    void record_wait(const fence_log_entry&) noexcept {}
  };
  struct may_throw {
    void record_wait(const fence_log_entry&) {}
    void record_signal(const fence_log_entry&) {}
  };
  static_assert(tidemark::recorder<tidemark::log_recorder<tidemark::native_platform>>);
  static_assert(tidemark::recorder<tidemark::direct_recorder<tidemark::trace>>);
  static_assert(!tidemark::recorder<records_waits_only>);
  static_assert(!tidemark::recorder<may_throw>);
  static_assert(tidemark::trace_sink<tidemark::trace>);
  static_assert(tidemark::trace_sink<tidemark::trace, ticking_clock>);
  static_assert(!tidemark::trace_sink<tidemark::trace, int>);
  static_assert(!tidemark::trace_sink<std::vector<fence_log_entry>>);
  CHECK(tidemark::default_log_entries == 84);
}
