// SPDX-License-Identifier: BSL-1.0
//
// Commands that were queued and will never be executed: what stands in the logs, what is refused, and who is released.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include <tidemark/hub/hub.hpp>
#include <tidemark/queue/cancelled_command.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_file.hpp>

#include "support/hubs.hpp"
#include "support/queues.hpp"

using namespace testing;
using tidemark::cancel_status;
using tidemark::cancelled_command;
using tidemark::log_commits;
using tidemark::queue_operation;
using tidemark::wait_status;

using values = std::vector<std::uint64_t>;

namespace {

/// Submits so much work that is not executed.
template <class Queue>
void submit(Queue& to, int pieces) {
  for (int n = 0; n < pieces; ++n) REQUIRE(to.submit([](std::uint64_t) {}));
}

}  // namespace

TEST_CASE(
    "[A124] cancelled work stands in the log to the last piece that was submitted, with a time stamp of its own") {
  lone_queue at;
  auto reader = at.queue.signal_log();
  submit(at.queue, 4);
  at.queue.complete();
  const auto cancelled = at.queue.cancel_from(2, 4);
  CHECK(cancelled);
  CHECK(cancelled.entries == 3);
  const auto found = read_all(reader);
  CHECK(found.values() == values{1, 2, 3, 4});
  CHECK_FALSE(is_cancelled(found.entries[0]));
  for (std::size_t n = 1; n < 4; ++n) {
    CHECK(is_cancelled(found.entries[n]));
    CHECK(found.entries[n].fence == own_id);
    CHECK(found.entries[n].operation == fence_operation::signal_executed);
  }
  CHECK(at.own.current_value() == 1);
  CHECK_FALSE(at.queue.is_idle());
  CHECK(at.queue.drain_for(std::chrono::seconds{0}) == wait_status::timeout);

  submit(at.queue, 1);
  CHECK(at.queue.complete() == 5);  // serials go on behind the cancelled ones
  CHECK(at.queue.is_idle());
}

TEST_CASE("[A124] cancelled waits and signals stand in the logs of their kind, in their order") {
  lone_queue at;
  auto signals = at.queue.signal_log();
  auto waits = at.queue.wait_log();
  submit(at.queue, 2);
  const std::array<cancelled_command, 4> commands{{
      {.operation = queue_operation::wait, .fence = other_id, .value = 7},
      {.operation = queue_operation::signal, .fence = other_id, .value = 8},
      {.operation = queue_operation::complete},
      {.operation = queue_operation::signal, .fence = other_id, .value = 9},
  }};
  CHECK(at.queue.cancel_from(1, 2, commands).entries == 5);
  const auto waited = read_all(waits);
  CHECK(waited.values() == values{7});
  CHECK(waited.entries[0].operation == fence_operation::wait_unblocked);
  CHECK(is_cancelled(waited.entries[0]));
  CHECK(waited.entries[0].observed_timestamp == 0);
  const auto signalled = read_all(signals);
  CHECK(signalled.values() == values{8, 1, 9, 2});
  for (const auto& entry : signalled.entries) CHECK(is_cancelled(entry));
  CHECK(at.own.current_value() == 0);
  CHECK(at.fence.current_value() == 0);
}

TEST_CASE("[A124] a cancellation that leaves out work before or behind it is refused, and nothing is written") {
  lone_queue at;
  auto reader = at.queue.signal_log();
  submit(at.queue, 4);
  at.queue.complete();
  const std::array<cancelled_command, 4> too_many{};
  CHECK(at.queue.cancel_from(3, 4).status == cancel_status::refused);  // 2 is neither executed nor cancelled
  CHECK(at.queue.cancel_from(1, 4).status == cancel_status::refused);  // 1 was executed
  CHECK(at.queue.cancel_from(2, 3).status == cancel_status::refused);  // 4 was submitted behind it
  CHECK(at.queue.cancel_from(2, 0).status == cancel_status::refused);
  CHECK(at.queue.cancel_from(2, 4, too_many).status == cancel_status::refused);  // four ends of three pieces of work
  CHECK(read_all(reader).values() == values{1});
  CHECK(at.queue.cancel_from(2, 4, std::span{too_many}.first(3)).entries == 3);
  CHECK(at.queue.cancel_from(5, 4).entries == 0);  // nothing is left
  CHECK(read_all(reader).values() == values{2, 3, 4});
}

TEST_CASE("[A124] a queue whose work does not come through submit() cancels what its executor has") {
  lone_queue at;
  auto reader = at.queue.signal_log();
  CHECK(at.queue.complete() == 1);
  const std::array<cancelled_command, 1> commands{{{queue_operation::signal, other_id, 3}}};
  CHECK(at.queue.cancel_from(2, 1, commands).entries == 1);
  CHECK(at.queue.cancel_from(2, 3).entries == 2);
  CHECK(read_all(reader).values() == values{1, 3, 2, 3});
  CHECK(at.queue.complete() == 4);
}

TEST_CASE("[A88][A124] reserved entries are cancelled in turn, or the cancellation is refused") {
  lone_queue at;
  auto signals = at.queue.signal_reserver();
  auto waits = at.queue.wait_reserver();
  auto reader = at.queue.signal_log();
  submit(at.queue, 2);
  const auto executed = signals.reserve();
  std::array<cancelled_command, 4> commands{{
      {queue_operation::signal, other_id, 3, signals.reserve()},
      {queue_operation::wait, other_id, 4, waits.reserve()},
      {queue_operation::complete, {}, 0, signals.reserve()},
      {queue_operation::complete, {}, 0, signals.reserve()},
  }};
  CHECK(at.queue.cancel_from(1, 2, commands).status == cancel_status::refused);  // the first signal is not executed yet
  at.queue.signal(at.logged, 2, executed);
  std::swap(commands[0], commands[2]);
  CHECK(at.queue.cancel_from(1, 2, commands).status == cancel_status::refused);
  std::swap(commands[0], commands[2]);
  CHECK(at.queue.cancel_from(1, 2, std::span{commands}.subspan(1)).status == cancel_status::refused);
  CHECK(at.queue.cancel_from(1, 2, commands).entries == 4);
  const auto found = read_all(reader);
  CHECK(found.values() == values{2, 3, 1, 2});
  for (std::size_t n = 1; n < 4; ++n) CHECK(found.entries[n].stamp == n + 1);
  CHECK(at.queue.commits(fence_log_type::signal) == log_commits{4, 0, 0});
  CHECK(at.queue.commits(fence_log_type::wait) == log_commits{1, 0, 0});
}

TEST_CASE_TEMPLATE("[A124] a hub releases nobody by a cancelled entry", Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand at{hub};
  probe fence;
  const auto known = hub.add(fence).fence;
  fence.due = false;
  const std::array<cancelled_command, 1> commands{{{queue_operation::signal, known.id, 5}}};
  at.queue.signal(known, 4);
  CHECK(at.queue.cancel_from(1, 1, commands));
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(fence.released_by == values{4});
  CHECK(hub.count(hub_event::cancelled) == 2);
  CHECK(hub.count(hub_event::log_release) == 1);
  CHECK(hub.count(hub_event::skipped) == 0);
}

TEST_CASE("[A124] a trace does not take a cancelled command for one that was executed") {
  tidemark::basic_log_collector<stepping_platform, ticking_clock> collector;
  tidemark::trace trace;
  lone_queue at;
  collector.add(queue_id{3}, at.queue);
  trace.on_queued(queue_id{3}, tidemark::trace_event::signal_queued, own_id, 1, 10);
  trace.on_queued(queue_id{3}, tidemark::trace_event::signal_queued, own_id, 2, 11);
  submit(at.queue, 2);
  at.queue.complete();
  CHECK(at.queue.cancel_from(2, 2));
  CHECK(collector.collect(trace).entries == 2);
  const auto commands = trace.commands();
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].executed);
  CHECK(commands[1].value == 2);
  CHECK(commands[1].queued);
  CHECK_FALSE(commands[1].executed);
  CHECK(trace.backward_count() == 0);
}

TEST_CASE("[A124] a trace file does not hold a cancelled command as one that was executed") {
  std::stringstream file;
  tidemark::trace_file_writer writer{file};
  writer.on_executed<ticking_clock>(queue_id{3}, {.fence_value = 1, .fence = own_id, .end_timestamp = 7});
  writer.on_executed<ticking_clock>(
      queue_id{3}, {.fence_value = 2, .fence = own_id, .end_timestamp = tidemark::cancelled_timestamp});
  CHECK(writer.close() == tidemark::trace_write_status::written);
  tidemark::trace trace;
  CHECK(tidemark::read_trace_file(file, trace));
  REQUIRE(trace.commands().size() == 1);
  CHECK(trace.commands()[0].value == 1);
  CHECK_FALSE(trace.commands()[0].cancelled);
}
