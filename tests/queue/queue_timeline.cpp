// SPDX-License-Identifier: BSL-1.0
//
// Queues on timelines of the program's own, which know nothing but current_value(), wait_until() and signal(): as their
// progress, as what they wait for, and as what they signal.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/manual_stop.hpp"
#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

using user_queue = tidemark::basic_queue<user_timeline, ticking_clock>;

/// A queue on a timeline of the program's own, and another timeline that it waits for and signals.
struct stand {
  user_timeline own;
  user_queue queue{own, {.progress = own_id}};
  user_timeline other;
  logged_fence<user_timeline> logged{&other, other_id};
};

/// A timeline that counts the waits that have begun, so that a test knows when a thread is in one.
struct awaited_timeline : user_timeline {
  wait_status wait_until(std::uint64_t target, tidemark::deadline until) const {
    ++waits;
    return user_timeline::wait_until(target, until);
  }
  mutable std::atomic<unsigned> waits{0};
};

/// A timeline whose signal runs a function of the test first.
struct watched_timeline : user_timeline {
  void signal(std::uint64_t value) {
    at_signal.run();
    user_timeline::signal(value);
  }
  hook at_signal;
};

/// A timeline that rises to the greatest value, and says whether it rose. It can be lost.
class rising_timeline : public user_timeline {
 public:
  std::uint64_t current_value() const { return is_lost_ ? UINT64_MAX : user_timeline::current_value(); }
  wait_status wait_until(std::uint64_t target, tidemark::deadline until) const {
    for (;;) {
      const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
      const wait_status status = user_timeline::wait_until(target, until < soon ? until : soon);
      if (status == wait_status::reached) return status;
      if (is_lost_) return wait_status::lost;
      if (until < soon) return status;
    }
  }
  bool signal(std::uint64_t value) {
    if (value <= user_timeline::current_value()) return false;
    user_timeline::signal(value);
    return true;
  }
  void poison() { is_lost_ = true; }

 private:
  std::atomic<bool> is_lost_{false};
};

}  // namespace

TEST_CASE("[A54][A122] a queue counts its finished work on a timeline of the program's own") {
  user_timeline own;
  own.signal(41);
  user_queue queue{own, {.progress = own_id}};
  CHECK(queue.last_queued() == 41);
  CHECK(queue.is_idle());
  CHECK(queue.submit([](std::uint64_t serial) { CHECK(serial == 42); }).serial == 42);
  CHECK_FALSE(queue.is_idle());
  CHECK_FALSE(queue.is_finished(42));
  CHECK(queue.wait_finished_for(42, std::chrono::microseconds{1}) == wait_status::timeout);
  CHECK(queue.drain_for(std::chrono::seconds{0}) == wait_status::timeout);
  CHECK(queue.complete() == 42);
  CHECK(own.current_value() == 42);
  CHECK(queue.is_idle());
  CHECK(queue.is_finished(42));
  CHECK(queue.drain() == wait_status::reached);
  CHECK(queue.wait_finished(42) == wait_status::reached);
}

TEST_CASE("[A86][A87][A91] waits and signals of such timelines leave the same entries as those of fences") {
  stand at;
  auto waits = at.queue.wait_log();
  auto signals = at.queue.signal_log();
  for (std::uint64_t n = 1; n <= 20; ++n) {
    CHECK(at.queue.signal(at.logged, n));
    CHECK(at.queue.wait(at.logged, n) == wait_status::reached);
    CHECK(at.queue.complete() == n);
  }
  const auto waited = read_all(waits);
  const auto signalled = read_all(signals);
  REQUIRE(waited.entries.size() == 20);
  REQUIRE(signalled.entries.size() == 40);
  for (std::size_t n = 0; n < 20; ++n) {
    CHECK(waited.entries[n].fence == other_id);
    CHECK(waited.entries[n].fence_value == n + 1);
    CHECK(waited.entries[n].operation == fence_operation::wait_unblocked);
    CHECK(waited.entries[n].observed_timestamp == 0);
    CHECK(signalled.entries[2 * n].fence == other_id);
    CHECK(signalled.entries[2 * n].fence_value == n + 1);
    CHECK(signalled.entries[2 * n].operation == fence_operation::signal_executed);
    CHECK(signalled.entries[2 * n].end_timestamp < waited.entries[n].end_timestamp);
    CHECK(signalled.entries[2 * n + 1].fence == own_id);
  }
}

TEST_CASE("[A96] the entry is in the log before the timeline's own signal, which is the whole of the notification") {
  watched_timeline output;
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  auto log = queue.signal_log();
  output.at_signal = [&] {
    CHECK(output.current_value() == 0);
    CHECK(read_all(log).values() == std::vector<std::uint64_t>{5});
  };
  CHECK(queue.signal(logged_fence{&output, other_id}, 5));
  CHECK(output.at_signal.has_run());
  CHECK(output.current_value() == 5);
}

TEST_CASE("[A96] a thread that waits for a timeline of the program's own finds the entry of the signal that woke it") {
  stand at;
  auto log = at.queue.signal_log();
  const watchdog dog{[] { return "a wait for a timeline of the program's own"; }};
  for (std::uint64_t value = 1; value <= 200; ++value) {
    std::vector<std::uint64_t> found;
    std::thread waiter{[&] {
      CHECK(at.other.wait_until(value, tidemark::no_deadline) == wait_status::reached);
      found = read_all(log).values();
    }};
    at.queue.signal(at.logged, value);
    waiter.join();
    CHECK(found == std::vector<std::uint64_t>{value});
  }
}

TEST_CASE("a notifier is not called for a timeline that notifies by itself") {
  progress own;
  user_timeline output;
  std::function<void(fence_id)> told = [](fence_id) { FAIL("nobody is to be notified"); };
  tidemark::basic_queue<progress, ticking_clock, teller> queue{own, {}, {&told}};
  CHECK(queue.signal(logged_fence{&output, other_id}, 3));
  CHECK(output.wait_until(3, tidemark::no_deadline) == wait_status::reached);
}

TEST_CASE("[A86] what the timeline's signal says of the value is returned, and the entry is written in every case") {
  rising_timeline output;
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  auto log = queue.signal_log();
  const logged_fence logged{&output, other_id};
  CHECK(queue.signal(logged, 7));
  CHECK_FALSE(queue.signal(logged, 7));
  CHECK_FALSE(queue.signal(logged, 5));
  CHECK(output.current_value() == 7);
  CHECK(read_all(log).values() == std::vector<std::uint64_t>{7, 7, 5});
}

TEST_CASE("[A86][A91] a wait for such a timeline takes all limits, and only one that reaches its value is logged") {
  using steady = std::chrono::steady_clock;
  using system = std::chrono::system_clock;
  stand at;
  auto reader = at.queue.wait_log();
  manual_stop stop;
  stop.request();
  for (const auto limit : {std::chrono::nanoseconds{0}, std::chrono::nanoseconds{-5}, std::chrono::nanoseconds{1000}}) {
    CHECK(at.queue.wait_for(at.logged, 1, limit) == wait_status::timeout);
    CHECK(at.queue.wait_until(at.logged, 1, steady::now() + limit) == wait_status::timeout);
    CHECK(at.queue.wait_until(at.logged, 1, system::now() + limit) == wait_status::timeout);
  }
  CHECK(at.queue.wait(at.logged, 1, stop.get_token()) == wait_status::stopped);
  CHECK(at.queue.wait_for(at.logged, 1, std::chrono::hours{1}, stop.get_token()) == wait_status::stopped);
  CHECK(at.queue.wait_until(at.logged, 1, steady::now() + std::chrono::hours{1}, stop.get_token()) ==
        wait_status::stopped);
  CHECK_FALSE(reader.has_new());
  at.other.signal(1);
  CHECK(at.queue.wait(at.logged, 0) == wait_status::reached);
  CHECK(at.queue.wait_for(at.logged, 1, std::chrono::seconds{0}) == wait_status::reached);
  CHECK(at.queue.wait_until(at.logged, 1, steady::time_point{}, stop.get_token()) == wait_status::reached);
  CHECK(read_all(reader).values() == std::vector<std::uint64_t>{0, 1, 1});
}

TEST_CASE("a stop ends a wait for a timeline that takes no stop token, within a moment") {
  stand at;
  awaited_timeline input;
  const watchdog dog{[] { return "a wait that is stopped"; }};
  manual_stop stop;
  wait_status status{};
  std::thread executor{[&] { status = at.queue.wait(logged_fence{&input, other_id}, 1, stop.get_token()); }};
  await([&] { return input.waits > 2; });
  stop.request();
  executor.join();
  CHECK(status == wait_status::stopped);
}

TEST_CASE("[A80] two queues on such timelines hand each other work, and the trace tells who released whom") {
  constexpr std::uint64_t commands = 500;
  user_timeline first_own;
  user_timeline second_own;
  tidemark::basic_queue first{first_own, {.progress = fence_id{1}, .log_entries = 2 * commands}};
  tidemark::basic_queue second{second_own, {.progress = fence_id{2}, .log_entries = 2 * commands}};
  const watchdog dog{[&] { return std::to_string(second_own.current_value()); }};
  std::thread producer{[&] {
    for (std::uint64_t n = 1; n <= commands; ++n) {
      if (n > 4) CHECK(first.wait(second.progress(), n - 4) == wait_status::reached);
      first.complete();
    }
  }};
  for (std::uint64_t n = 1; n <= commands; ++n) {
    CHECK(second.wait(first.progress(), n) == wait_status::reached);
    second.complete();
  }
  producer.join();
  tidemark::log_collector logs;
  logs.add(queue_id{1}, first);
  logs.add(queue_id{2}, second);
  tidemark::trace trace;
  CHECK(logs.collect(trace).entries == 4 * commands - 4);
  std::uint64_t released = 0;
  for (const auto& command : trace.commands()) released += command.released_by.has_value() ? 1U : 0U;
  CHECK(released == 2 * commands - 4);
}

TEST_CASE("[A122] abort ends the waits for a queue whose progress can't be poisoned, too") {
  awaited_timeline own;
  tidemark::basic_queue<awaited_timeline, ticking_clock> queue{own};
  const watchdog dog{[] { return "waits for an aborted queue"; }};
  CHECK(queue.submit([](std::uint64_t) {}));
  std::array<wait_status, 2> ended{};
  std::thread finishing{[&] { ended[0] = queue.wait_finished(1); }};
  std::thread draining{[&] { ended[1] = queue.drain_for(std::chrono::hours{1}); }};
  await([&] { return own.waits > 4; });
  queue.abort();
  finishing.join();
  draining.join();
  CHECK(ended[0] == wait_status::lost);
  CHECK(ended[1] == wait_status::lost);
  CHECK(queue.submit([](std::uint64_t) { FAIL("an aborted queue takes work"); }).status ==
        tidemark::submit_status::lost);
  CHECK(queue.is_finished(1));
  CHECK(queue.is_finished(9));
  CHECK_FALSE(queue.is_idle());
  CHECK(own.current_value() == 0);
  CHECK(queue.complete() == 1);
  CHECK(queue.wait_finished(1) == wait_status::reached);  // what was finished, was
}

TEST_CASE("[A120][A122] abort poisons a progress timeline that can be poisoned") {
  rising_timeline own;
  tidemark::basic_queue<rising_timeline, ticking_clock> queue{own};
  CHECK(queue.submit([](std::uint64_t) {}));
  CHECK(queue.wait_finished_for(1, std::chrono::seconds{0}) == wait_status::timeout);
  queue.abort();
  CHECK(own.current_value() == UINT64_MAX);
  CHECK(queue.wait_finished(1) == wait_status::lost);
  CHECK(queue.is_finished(1));
  CHECK_FALSE(queue.is_idle());
}

TEST_CASE("[A128] abort says why the progress is lost: because of the abort, or for the program's own reason") {
  static constexpr tidemark::loss_reason removed{7, "the device was removed"};
  tidemark::progress_fence first;
  tidemark::basic_queue<tidemark::progress_fence, ticking_clock> aborted{first};
  aborted.abort();
  aborted.abort(removed);
  CHECK(*first.loss() == tidemark::queue_aborted);
  tidemark::progress_fence second;
  tidemark::basic_queue<tidemark::progress_fence, ticking_clock> lost{second};
  lost.abort(removed);
  CHECK(*second.loss() == removed);
}

TEST_CASE("a queue waits for a view, a fence and a timeline of the program's own alike") {
  stand at;
  auto reader = at.queue.wait_log();
  tidemark::fence fence{3};
  const auto view = fence.view();
  CHECK(at.queue.wait(logged_fence{&view, fence_id{1}}, 3) == wait_status::reached);
  CHECK(at.queue.wait(logged_fence{&fence, fence_id{2}}, 3) == wait_status::reached);
  CHECK(at.queue.wait_for(logged_fence{&view, fence_id{1}}, 4, std::chrono::microseconds{1}) == wait_status::timeout);
  fence.poison();
  CHECK(at.queue.wait(logged_fence{&view, fence_id{1}}, 4) == wait_status::lost);
  CHECK(at.queue.wait(logged_fence{&fence, fence_id{2}}, 4) == wait_status::lost);
  CHECK(read_all(reader).entries.size() == 2);
}

TEST_CASE("the type of a queue follows from its timeline") {
  user_timeline own;
  tidemark::basic_queue on_own{own};
  static_assert(std::same_as<decltype(on_own), tidemark::basic_queue<user_timeline>>);
  static_assert(std::same_as<decltype(on_own)::platform, tidemark::native_platform>);
  tidemark::progress_fence finished;
  tidemark::basic_queue on_fence{finished, {.progress = own_id}};
  static_assert(std::same_as<decltype(on_fence), tidemark::queue>);
  CHECK(on_fence.progress().id == own_id);
  CHECK(on_own.progress().fence == &own);
}
