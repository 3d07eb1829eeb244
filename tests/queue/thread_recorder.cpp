// SPDX-License-Identifier: BSL-1.0
//
// thread_recorder: what a thread waits for and signals, in the logs and in a trace beside queues.
#include <doctest/doctest.h>

#include <tidemark/queue/thread_recorder.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/manual_stop.hpp"

using namespace std::chrono_literals;
using tidemark::fence_id;
using tidemark::fence_operation;
using tidemark::logged_fence;
using tidemark::queue_id;
using tidemark::trace_command;
using tidemark::wait_status;

namespace {

constexpr fence_id fence_f{7}, fence_g{8};

/// Returns what one collector brings of a recorder.
tidemark::trace collected(tidemark::thread_recorder& from) {
  tidemark::trace found;
  tidemark::log_collector logs;
  logs.add(from);
  logs.collect(found);
  return found;
}

}  // namespace

TEST_CASE(
    "[A91] waits and signals of a thread are in a trace beside those of queues, and each names what released it") {
  tidemark::progress_fence finished;
  tidemark::queue copy{finished, {.progress = fence_f}};
  tidemark::fence answered;
  const logged_fence answer{&answered, fence_g};
  tidemark::thread_recorder thread{queue_id{9}, "decoder"};
  tidemark::log_collector logs;
  logs.add(queue_id{1}, copy);
  logs.add(thread);
  std::thread executor([&] {
    for (std::uint64_t n = 1; n <= 20; ++n) {
      copy.complete();
      if (copy.wait(answer, n) != wait_status::reached) return;
    }
  });
  for (std::uint64_t n = 1; n <= 20; ++n) {
    CHECK(thread.wait(copy.progress(), n) == wait_status::reached);
    CHECK(thread.signal(answer, n));
  }
  executor.join();
  CHECK_FALSE(thread.signal(answer, 20));  // the value has not risen, and yet it is recorded
  tidemark::trace found;
  const tidemark::collected_entries counts = logs.collect(found);
  CHECK(counts.entries == 4 * 20 + 1);
  CHECK(counts.queued == 2 * 20 + 1);
  const std::vector<trace_command> commands = found.commands();
  CHECK(commands.size() == 4 * 20 + 1);
  for (const trace_command& each : commands) {
    CHECK(each.executed);
    CHECK_FALSE(each.backward);
    CHECK(each.queued == (each.queue == queue_id{9}));
    if (each.queue == queue_id{9}) CHECK(each.queued_time <= each.end_time);
    if (each.operation == fence_operation::signal_executed) continue;
    const auto releases = [&](const trace_command& other) {
      return other.operation == fence_operation::signal_executed && other.fence == each.fence &&
             other.value == each.value;
    };
    const auto released = std::find_if(commands.begin(), commands.end(), releases);
    REQUIRE(released != commands.end());
    CHECK(released->queue != each.queue);
    // A waiter may be quicker than the signaller, which takes the time behind the value. Then no signal is named.
    const bool is_named = each.released_by.has_value();
    CHECK(is_named == (released->end_time <= each.end_time));
    if (is_named) CHECK(&commands[*each.released_by] == &*released);
    if (each.queue == queue_id{9} && each.observed_time != 0) CHECK(each.queued_time <= each.observed_time);
  }
}

TEST_CASE("a wait that ends without its value counts as cancelled, whatever ended it, and a later one as executed") {
  tidemark::fence awaited;
  const logged_fence input{&awaited, fence_f};
  tidemark::thread_recorder thread{queue_id{9}};
  CHECK(thread.wait_for(input, 1, 0s) == wait_status::timeout);
  CHECK(thread.wait_for(input, 1, 1ns) == wait_status::timeout);
  CHECK(thread.wait_until(input, 1, std::chrono::steady_clock::now()) == wait_status::timeout);
  testing::manual_stop stop;
  stop.request();
  CHECK(thread.wait(input, 1, stop.get_token()) == wait_status::stopped);
  awaited.signal(1);
  CHECK(thread.wait(input, 1) == wait_status::reached);
  awaited.poison();
  CHECK(thread.wait(input, 2) == wait_status::lost);
  int cancelled = 0;
  const tidemark::trace found = collected(thread);
  for (const trace_command& each : found.commands()) {
    cancelled += each.cancelled ? 1 : 0;
    CHECK(each.queued);
    CHECK(each.executed != each.cancelled);
    CHECK_FALSE(each.uncertain);
    if (each.executed) {
      CHECK(each.value == 1);
      CHECK(each.observed_time == 0);
      CHECK(each.queued_time <= each.end_time);
    }
  }
  CHECK(cancelled == 5);
  CHECK(found.commands().size() == 6);
}

TEST_CASE("a signal that was announced counts as queued then, and one that was not when it is made") {
  tidemark::progress_fence progress;
  const logged_fence output{&progress, fence_f};
  tidemark::thread_recorder thread{queue_id{9}};
  thread.will_signal(output, 1);
  thread.will_signal(output, 2);
  const std::uint64_t announced = tidemark::default_log_clock::now();
  CHECK(thread.signal(output, 1));
  const tidemark::trace half = collected(thread);
  REQUIRE(half.commands().size() == 2);
  CHECK(half.commands()[0].executed);
  CHECK_FALSE(half.commands()[1].executed);
  CHECK(thread.signal(output, 2));
  CHECK(thread.signal(output, 3));
  CHECK(progress.current_value() == 3);
  const tidemark::trace found = collected(thread);
  REQUIRE(found.commands().size() == 3);
  for (const trace_command& each : found.commands()) {
    CHECK(each.queued);
    CHECK((each.queued_time <= announced) == (each.value < 3));
  }
}

TEST_CASE("a signal that was announced and will not be made counts as cancelled, and is announced no longer") {
  tidemark::progress_fence progress;
  const logged_fence output{&progress, fence_f};
  tidemark::thread_recorder thread{queue_id{9}};
  thread.will_signal(output, 1);
  thread.will_signal(output, 2);
  thread.will_not_signal(output, 1);
  thread.will_not_signal(output, 1);  // nothing happens
  thread.will_not_signal(output, 3);
  CHECK(thread.signal(output, 2));
  const std::vector<trace_command> commands = collected(thread).commands();
  REQUIRE(commands.size() == 2);
  for (const trace_command& each : commands) {
    CHECK(each.queued);
    CHECK(each.cancelled == (each.value == 1));
    CHECK(each.executed == (each.value == 2));
  }
}

TEST_CASE("[A95] a callable that a recorded signal runs finds the value, and the entry in the log") {
  tidemark::basic_fence<tidemark::native_platform, tidemark::fence_options{.callbacks = true}> fence;
  const logged_fence output{&fence, fence_id{7}};
  tidemark::thread_recorder thread{queue_id{9}};
  auto log = thread.signal_log();
  int found = 0;
  for (std::uint64_t n = 1; n <= 20; ++n) {
    tidemark::signaller_callback due{fence, n, [&] {
                                       std::vector<tidemark::fence_log_entry> entries(4);
                                       const auto read = log.read(entries);
                                       CHECK(read.entries.size() == 1);
                                       CHECK(fence.current_value() == n);
                                       if (!read.entries.empty()) CHECK(read.entries[0].fence_value == n);
                                       ++found;
                                     }};
    thread.signal(output, n);
  }
  CHECK(found == 20);
}

TEST_CASE("a thread that is not recorded calls the timeline's own wait, also until a point of time") {
  struct own_waits : tidemark::fence {
    using tidemark::fence::wait_until;
    wait_status wait_until(std::uint64_t, const std::chrono::steady_clock::time_point&,
                           tidemark::never_stops) noexcept {
      ++calls;
      return wait_status::timeout;
    }
    int calls = 0;
  };
  own_waits timeline;
  tidemark::unrecorded_thread thread;
  timeline.signal(1);
  CHECK(thread.wait_until(logged_fence{&timeline, fence_f}, 1, std::chrono::steady_clock::now()) ==
        wait_status::timeout);
  CHECK(timeline.calls == 1);
}

TEST_CASE("a thread that is not recorded has the same functions, and they do what the timeline's own do") {
  tidemark::fence fence;
  tidemark::progress_fence progress;
  tidemark::unrecorded_thread thread;
  CHECK(thread.wait_for(logged_fence{&fence, fence_f}, 1, 0s) == wait_status::timeout);
  thread.will_signal(logged_fence{&fence, fence_f}, 1);
  thread.will_not_signal(logged_fence{&fence, fence_f}, 1);
  CHECK(thread.signal(logged_fence{&fence, fence_f}, 1));
  CHECK_FALSE(thread.signal(logged_fence{&fence, fence_f}, 1));
  CHECK(thread.signal(logged_fence{&progress, fence_g}, 5));
  CHECK(thread.wait(logged_fence{&fence, fence_f}, 1) == wait_status::reached);
  CHECK(thread.wait_until(logged_fence{&progress, fence_g}, 6, std::chrono::steady_clock::now()) ==
        wait_status::timeout);
  CHECK(sizeof(thread) == 1);
  CHECK(tidemark::thread_recorder::is_recording != tidemark::unrecorded_thread::is_recording);
}

TEST_CASE("a wait that a thread makes in another way is recorded from its begin to its end") {
  tidemark::thread_recorder thread{queue_id{9}};
  const std::uint64_t begun = thread.begin_wait(fence_f, 5);
  thread.end_wait(fence_f, 5, begun);
  const std::vector<trace_command> commands = collected(thread).commands();
  REQUIRE(commands.size() == 1);
  CHECK(commands[0].queued_time <= begun);
  CHECK(commands[0].observed_time == begun);
  CHECK(commands[0].end_time >= begun);
  CHECK(commands[0].value == 5);
}
