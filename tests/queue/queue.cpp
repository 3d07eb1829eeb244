// SPDX-License-Identifier: BSL-1.0
//
// queue: the order of the three steps of a signal, what stands in the log entries, and what serials promise. The
// logs and their replacement are in queue_log.cpp, timelines of the program's own in queue_timeline.cpp, and misuse in
// queue_misuse.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#include <tidemark/queue/queue.hpp>

#include "support/manual_stop.hpp"
#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

using telling_queue = tidemark::basic_queue<progress, ticking_clock, teller>;

}  // namespace

// ---- order ----------------------------------------------------------------------------------------------------------

TEST_CASE("[A95][A96][A106][trap 18] a notifier finds the value and the entry of the signal") {
  progress own;
  any_fence fence;
  const auto dog = watch(fence);
  std::function<void(fence_id)> told;
  telling_queue queue{own, {.progress = own_id}, {&told}};
  auto reader = queue.signal_log();
  waiter waiting{[&] { return fence.wait(3); }};
  CHECK(waiting.falls_asleep());
  unsigned times = 0;
  told = [&](fence_id id) {
    ++times;
    CHECK(id == other_id);
    CHECK(fence.current_value() == 3);
    CHECK(read_all(reader).values() == std::vector<std::uint64_t>{3});
  };
  CHECK(queue.signal(logged_fence{&fence, other_id}, 3));
  CHECK(times == 1);
  CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE(
    "[A87][A95][trap 18] a signal stores the value, then takes the time and writes the entry, then looks for due "
    "waiters") {
  lone_queue at;
  auto reader = at.queue.signal_log();
  std::vector<int> steps;
  ticking_clock::at_now = [&] {
    steps.push_back(1);
    CHECK(at.fence.current_value() == 5);
    CHECK_FALSE(reader.has_new());
  };
  hooked_platform<tidemark::symmetric_platform>::at_light_barrier = [&] {
    steps.push_back(2);
    CHECK(reader.has_new());
    CHECK(read_all(reader).values() == std::vector<std::uint64_t>{5});
  };
  CHECK(at.queue.signal(at.logged, 5));
  CHECK(steps == std::vector<int>{1, 2});
}

TEST_CASE("[A7][A107] a signal that is logged costs one light barrier, as many as one that is not") {
  lone_queue at;
  const meter<stepping_platform> during;
  for (std::uint64_t n = 0; n < 1000; ++n) at.queue.complete();
  CHECK(during.light_barriers() == 1000);
  CHECK(during.full_barriers() + during.heavy_barriers() == 0);
  CHECK(during.parks() + during.unparks() == 0);
  CHECK(at.own.current_value() == 1000);
}

// ---- entries --------------------------------------------------------------------------------------------------------

TEST_CASE("[A79] signals that nobody waits for stand in the log") {
  progress own;
  any_fence fence;
  unsigned times = 0;
  std::function<void(fence_id)> told = [&](fence_id) { ++times; };
  telling_queue queue{own, {.progress = own_id}, {&told}};
  auto reader = queue.signal_log();
  queue.signal(logged_fence{&fence, other_id}, 1);
  queue.signal(logged_fence{&fence, other_id}, 4);
  queue.complete();
  CHECK(times == 0);
  CHECK(read_all(reader).values() == std::vector<std::uint64_t>{1, 4, 1});
}

TEST_CASE(
    "[A86][A87][A88][A90][A119] each operation leaves one entry, in order, in the log of its kind and in no other") {
  lone_queue at;
  auto waits = at.queue.wait_log();
  auto signals = at.queue.signal_log();
  for (std::uint64_t n = 1; n <= 20; ++n) {
    CHECK(at.queue.signal(at.logged, n));
    CHECK(at.queue.wait(at.logged, n) == wait_status::reached);
    CHECK(at.queue.complete() == n);
  }
  const auto waited = read_all(waits);  // which checks the numbers [A90]
  const auto signalled = read_all(signals);
  REQUIRE(waited.entries.size() == 20);
  REQUIRE(signalled.entries.size() == 40);
  CHECK(waited.lost + signalled.lost == 0);
  std::uint64_t last_end = 0;
  for (std::size_t n = 0; n < 20; ++n) {
    const auto& wait = waited.entries[n];
    const auto& signal = signalled.entries[2 * n];
    const auto& completion = signalled.entries[2 * n + 1];
    CHECK(wait.fence_value == n + 1);
    CHECK(signal.fence_value == n + 1);
    CHECK(completion.fence_value == n + 1);
    CHECK(wait.fence == other_id);
    CHECK(signal.fence == other_id);
    CHECK(completion.fence == own_id);
    CHECK(wait.operation == fence_operation::wait_unblocked);
    CHECK(signal.operation == fence_operation::signal_executed);
    CHECK(completion.operation == fence_operation::signal_executed);
    CHECK(wait.reserved + signal.reserved + completion.reserved == 0);
    CHECK(signal.observed_timestamp + completion.observed_timestamp == 0);
    CHECK(last_end < signal.end_timestamp);
    CHECK(signal.end_timestamp < wait.end_timestamp);
    CHECK(wait.end_timestamp < completion.end_timestamp);
    last_end = completion.end_timestamp;
  }
}

TEST_CASE("[A87][A93] the time in an entry is that of the execution, not that of the submission") {
  lone_queue at;
  auto reader = at.queue.signal_log();
  std::vector<std::uint64_t> work;
  CHECK(at.queue.submit([&](std::uint64_t serial) { work.push_back(serial); }).serial == 1);
  ticking_clock::ticks += 1'000'000'000;
  const std::uint64_t before = ticking_clock::ticks;
  at.queue.signal(at.logged, work.at(0));
  at.queue.complete();
  const auto found = read_all(reader);
  REQUIRE(found.entries.size() == 2);
  for (const auto& entry : found.entries) {
    CHECK(entry.end_timestamp > before);
    CHECK(entry.observed_timestamp == 0);
    CHECK(entry.reserved == 0);
  }
}

TEST_CASE("[A87][A91] a wait that is over already has no time at which it stalled") {
  lone_queue at;
  auto reader = at.queue.wait_log();
  at.fence.signal(9);
  const std::uint64_t before = ticking_clock::ticks;
  CHECK(at.queue.wait(at.logged, 0) == wait_status::reached);
  CHECK(at.queue.wait(at.logged, 9) == wait_status::reached);
  const auto found = read_all(reader);
  REQUIRE(found.entries.size() == 2);
  CHECK(found.entries[0].observed_timestamp == 0);
  CHECK(found.entries[1].observed_timestamp == 0);
  CHECK(found.entries[0].end_timestamp > before);
  CHECK(found.entries[1].end_timestamp > found.entries[0].end_timestamp);
}

TEST_CASE("[A79][A80][A91] the worked example: queue A waits for a fence that queue B signals") {
  progress progress_a;
  progress progress_b;
  counted_queue queue_a{progress_a, {.progress = fence_id{1}}};
  counted_queue queue_b{progress_b, {.progress = fence_id{2}}};
  any_fence fence;
  const logged_fence logged{&fence, other_id};
  const auto dog = watch(fence);
  constexpr std::uint64_t value = 5;
  auto log_a = queue_a.wait_log();
  auto log_b = queue_b.signal_log();

  const std::uint64_t queued = ticking_clock::ticks;
  waiter executor_a{[&] { return queue_a.wait(logged, value); }};
  CHECK(executor_a.falls_asleep());
  CHECK_FALSE(log_a.has_new());
  queue_b.signal(logged, value);
  CHECK(executor_a.status() == wait_status::reached);

  const auto waited = read_all(log_a);
  const auto signalled = read_all(log_b);
  REQUIRE(waited.entries.size() == 1);
  REQUIRE(signalled.entries.size() == 1);
  const auto& unblocked = waited.entries[0];
  const auto& executed = signalled.entries[0];
  CHECK(unblocked.fence == other_id);
  CHECK(unblocked.fence_value == value);
  CHECK(unblocked.operation == fence_operation::wait_unblocked);
  CHECK(executed.fence == other_id);
  CHECK(executed.fence_value == value);
  CHECK(executed.operation == fence_operation::signal_executed);
  CHECK(executed.observed_timestamp == 0);
  CHECK(unblocked.observed_timestamp > queued);
  CHECK(unblocked.observed_timestamp < executed.end_timestamp);
  CHECK(executed.end_timestamp < unblocked.end_timestamp);
  // Each entry stands in its own log alone.
  auto other_a = queue_a.signal_log();
  auto other_b = queue_b.wait_log();
  CHECK(read_all(other_a).entries.empty());
  CHECK(read_all(other_b).entries.empty());
}

TEST_CASE("[A86] a wait that was stopped or lost is not logged") {
  lone_queue at;
  const auto dog = watch(at.fence);
  auto reader = at.queue.wait_log();

  manual_stop stop;
  waiter stopped{[&] { return at.queue.wait(at.logged, 1, stop.get_token()); }};
  CHECK(stopped.falls_asleep());
  stop.request();
  CHECK(stopped.status() == wait_status::stopped);
  CHECK(at.queue.wait(at.logged, 1, stop.get_token()) == wait_status::stopped);

  waiter lost{[&] { return at.queue.wait(at.logged, 1); }};
  CHECK(lost.falls_asleep());
  at.fence.poison();
  CHECK(lost.status() == wait_status::lost);
  CHECK(at.queue.wait(at.logged, 1) == wait_status::lost);

  CHECK_FALSE(reader.has_new());
  any_fence other{4};
  CHECK(at.queue.wait(logged_fence{&other, fence_id{9}}, 4, stop.get_token()) == wait_status::reached);
  CHECK(read_all(reader).entries.size() == 1);
}

TEST_CASE("[A86] a wait with a limit that passes is not logged, and one that reaches its value is") {
  using std::chrono::hours;
  using std::chrono::nanoseconds;
  using steady = std::chrono::steady_clock;
  using system = std::chrono::system_clock;
  lone_queue at;
  auto reader = at.queue.wait_log();
  manual_stop never;
  manual_stop stop;
  stop.request();
  const auto token = never.get_token();
  for (const auto limit : {nanoseconds{0}, nanoseconds{-5}, nanoseconds{1000}}) {
    CHECK(at.queue.wait_for(at.logged, 1, limit) == wait_status::timeout);
    CHECK(at.queue.wait_for(at.logged, 1, limit, token) == wait_status::timeout);
    CHECK(at.queue.wait_until(at.logged, 1, steady::now() + limit) == wait_status::timeout);
    CHECK(at.queue.wait_until(at.logged, 1, steady::now() + limit, token) == wait_status::timeout);
    CHECK(at.queue.wait_until(at.logged, 1, system::now() + limit) == wait_status::timeout);
    CHECK(at.queue.wait_until(at.logged, 1, system::now() + limit, token) == wait_status::timeout);
  }
  CHECK(at.queue.wait_for(at.logged, 1, hours{1}, stop.get_token()) == wait_status::stopped);
  CHECK(at.queue.wait_until(at.logged, 1, steady::now() + hours{1}, stop.get_token()) == wait_status::stopped);
  CHECK_FALSE(reader.has_new());

  at.fence.signal(1);
  CHECK(at.queue.wait_for(at.logged, 1, nanoseconds{0}) == wait_status::reached);
  CHECK(at.queue.wait_for(at.logged, 1, hours{1}, stop.get_token()) == wait_status::reached);
  CHECK(at.queue.wait_until(at.logged, 1, steady::time_point{}) == wait_status::reached);
  CHECK(at.queue.wait_until(at.logged, 1, system::now() + hours{1}, token) == wait_status::reached);
  CHECK(read_all(reader).values() == std::vector<std::uint64_t>(4, 1));
}

TEST_CASE("[A86][A91] a wait with a limit sleeps until its value is signalled, and its entry says since when") {
  lone_queue at;
  const auto dog = watch(at.fence);
  auto reader = at.queue.wait_log();
  std::uint64_t value = 0;
  const auto sleeps_and_is_logged = [&](const auto& wait) {
    ++value;
    waiter executor{[&] { return wait(value); }};
    CHECK(executor.falls_asleep());
    at.fence.signal(value);
    CHECK(executor.status() == wait_status::reached);
    const auto found = read_all(reader);
    REQUIRE(found.entries.size() == 1);
    CHECK(found.entries[0].fence_value == value);
    CHECK(found.entries[0].observed_timestamp != 0);
  };
  const auto hour = std::chrono::hours{1};
  sleeps_and_is_logged([&](auto awaited) { return at.queue.wait_for(at.logged, awaited, hour); });
  sleeps_and_is_logged(
      [&](auto awaited) { return at.queue.wait_until(at.logged, awaited, std::chrono::steady_clock::now() + hour); });
}

TEST_CASE("[A122] a submission that throws leaves no serial behind, and the next one gets it") {
  lone_queue at;
  CHECK(at.queue.submit([](std::uint64_t) {}).serial == 1);
  CHECK(at.queue.complete() == 1);
  CHECK_THROWS_AS(static_cast<void>(at.queue.submit([&](std::uint64_t serial) {
                    CHECK(serial == 2);
                    CHECK_FALSE(at.queue.is_idle());
                    throw std::bad_alloc{};
                  })),
                  std::bad_alloc);
  CHECK(at.queue.last_queued() == 1);
  CHECK(at.queue.is_idle());
  CHECK(at.queue.drain() == wait_status::reached);  // it does not wait for the serial that was taken back
  CHECK(at.queue.submit([](std::uint64_t serial) { CHECK(serial == 2); }).serial == 2);
  CHECK_FALSE(at.queue.is_idle());
  CHECK(at.queue.complete() == 2);
  CHECK(at.queue.is_idle());
}

TEST_CASE("[A122] once a queue is aborted every serial counts as finished, and the queue is never idle") {
  lone_queue at;
  CHECK(at.queue.submit([](std::uint64_t) {}).serial == 1);
  at.queue.complete();
  at.queue.abort();
  CHECK(at.queue.is_finished(1));
  CHECK(at.queue.is_finished(9));
  CHECK_FALSE(at.queue.is_idle());
}

TEST_CASE("[A86][trap 13] values that come again, or too late, are logged, change nothing and notify nobody") {
  progress own;
  any_fence fence;
  unsigned times = 0;
  std::function<void(fence_id)> told = [&](fence_id) { ++times; };
  telling_queue queue{own, {.progress = own_id}, {&told}};
  const logged_fence logged{&fence, other_id};
  const auto dog = watch(fence);
  auto reader = queue.signal_log();
  CHECK(queue.signal(logged, 7));
  waiter waiting{[&] { return fence.wait(8); }};
  CHECK(waiting.falls_asleep());
  CHECK_FALSE(queue.signal(logged, 7));
  CHECK_FALSE(queue.signal(logged, 5));
  CHECK(fence.current_value() == 7);
  CHECK(times == 0);
  CHECK(queue.signal(logged, 8));
  CHECK(waiting.status() == wait_status::reached);
  CHECK(read_all(reader).values() == std::vector<std::uint64_t>{7, 7, 5, 8});
}

TEST_CASE("[A105] the times in each log never fall, and one that does is noticed once") {
  lone_queue at;
  std::array logs{at.queue.signal_log(), at.queue.wait_log()};
  const auto execute = [&at](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t n = first; n <= last; ++n) {
      at.queue.signal(at.logged, n);
      CHECK(at.queue.wait(at.logged, n) == wait_status::reached);
    }
  };
  std::array<tidemark::timestamp_order, 2> orders;
  const auto falls_in = [&](std::size_t log, std::size_t entries) {
    const auto found = read_all(logs.at(log)).entries;
    CHECK(found.size() == entries);
    return std::count_if(found.begin(), found.end(), [&](const auto& entry) {
      CHECK(entry.end_timestamp != 0);
      return orders.at(log).judge(entry.end_timestamp) == tidemark::timestamp_verdict::backward;
    });
  };
  execute(1, 50);
  CHECK(falls_in(0, 50) == 0);
  CHECK(falls_in(1, 50) == 0);
  ticking_clock::ticks -= 10;
  execute(51, 54);
  CHECK(falls_in(0, 4) == 1);
  CHECK(falls_in(1, 4) == 1);
}

// ---- serials --------------------------------------------------------------------------------------------------------

TEST_CASE("[A54] the progress fence counts the finished submissions, from where it stood") {
  progress own{41};
  counted_queue queue{own, {.progress = own_id}};
  CHECK(queue.last_queued() == 41);
  CHECK(queue.is_idle());
  CHECK(queue.drain() == wait_status::reached);
  std::vector<std::uint64_t> work;
  const auto visible = [&](std::uint64_t serial) { work.push_back(serial); };
  CHECK(queue.submit(visible).serial == 42);
  CHECK(queue.submit(visible).serial == 43);
  CHECK(own.current_value() == 41);
  CHECK(queue.complete() == 42);
  CHECK(own.current_value() == 42);
  CHECK_FALSE(queue.is_idle());
  CHECK(queue.complete() == 43);
  CHECK(queue.is_idle());
  CHECK(work == std::vector<std::uint64_t>{42, 43});
}

TEST_CASE("[A122] a serial is the last queued before its work is visible, and then the queue is not idle") {
  lone_queue at;
  CHECK(at.queue.is_idle());
  for (std::uint64_t n = 1; n <= 3; ++n) {
    bool called = false;
    const auto submitted = at.queue.submit([&](std::uint64_t serial) {
      called = true;
      CHECK(serial == n);
      CHECK(at.queue.last_queued() == n);
      CHECK_FALSE(at.queue.is_idle());
    });
    CHECK(submitted);
    CHECK(submitted.serial == n);
    CHECK(called);
  }
}

namespace {

/// Runs a function of the test after the `in`-th load from now on, whatever is loaded.
struct interrupted_platform : tidemark::symmetric_platform {
  template <class T>
  struct atomic : tidemark::symmetric_platform::atomic<T> {
    using base = tidemark::symmetric_platform::atomic<T>;
    using base::base;
    T load(std::memory_order order) const noexcept {
      const T found = base::load(order);
      if (in != 0 && --in == 0) interruption.run();
      return found;
    }
  };
  static inline unsigned in = 0;
  static inline hook interruption;
};

}  // namespace

TEST_CASE("[A122] a queue that always has work is never reported idle, whatever happens between two loads") {
  using interrupted_progress = tidemark::basic_progress_fence<interrupted_platform>;
  using interrupted_queue = tidemark::basic_queue<interrupted_progress, ticking_clock>;
  unsigned interruptions = 0;
  for (unsigned load = 1; load <= 8; ++load) {
    interrupted_progress own;
    interrupted_queue queue{own, {.progress = own_id}};
    static_cast<void>(queue.submit([](std::uint64_t) {}));
    interrupted_platform::interruption = [&] {  // the second piece of work comes before the first is finished
      ++interruptions;
      static_cast<void>(queue.submit([](std::uint64_t) {}));
      queue.complete();
    };
    interrupted_platform::in = load;
    CAPTURE(load);
    CHECK_FALSE(queue.is_idle());
    interrupted_platform::in = 0;
  }
  CHECK(interruptions > 0);
}

TEST_CASE(
    "[A122][trap 13] with a submitter and an executor, work is done in the order of the serials, and every look at the "
    "queue is consistent") {
  lone_queue at;
  const auto dog = watch(at.own);
  constexpr std::uint64_t pieces = 20'000;
  std::atomic<std::uint64_t> visible{0};
  std::atomic<unsigned> mistakes{0};
  background executor{[&] {
    for (std::uint64_t serial = 1; serial <= pieces; ++serial) {
      await([&] { return visible.load(std::memory_order_acquire) >= serial; });
      if (at.queue.last_queued() < serial) ++mistakes;
      if (at.queue.is_idle()) ++mistakes;
      if (at.queue.complete() != serial) ++mistakes;
    }
  }};
  for (std::uint64_t serial = 1; serial <= pieces; ++serial) {
    const auto submitted =
        at.queue.submit([&](std::uint64_t number) { visible.store(number, std::memory_order_release); });
    if (!submitted || submitted.serial != serial) ++mistakes;
    if (serial % 64 == 0 && at.queue.drain() != wait_status::reached) ++mistakes;
    if (serial % 64 == 0 && !at.queue.is_idle()) ++mistakes;
  }
  CHECK(at.queue.drain() == wait_status::reached);
  CHECK(at.own.current_value() == pieces);
  executor.join();
  CHECK(mistakes == 0);
}

// ---- the end --------------------------------------------------------------------------------------------------------

TEST_CASE("[A122] drain waits for what was queued last, not for what is queued later") {
  lone_queue at;
  const auto dog = watch(at.own);
  const auto nothing = [](std::uint64_t) {};
  CHECK(at.queue.submit(nothing).serial == 1);
  CHECK(at.queue.submit(nothing).serial == 2);
  waiter ending{[&] { return at.queue.drain(); }};
  CHECK(ending.falls_asleep());
  at.queue.complete();
  CHECK(ending.falls_asleep());
  CHECK(at.queue.submit(nothing).serial == 3);
  at.queue.complete();
  CHECK(ending.status() == wait_status::reached);
  CHECK_FALSE(at.queue.is_idle());
}

TEST_CASE("[A122] abort refuses work and releases the waiters; what is executed meanwhile is still logged") {
  lone_queue at;
  const auto dog = watch(at.own);
  unsigned made_visible = 0;
  const auto visible = [&](std::uint64_t) { ++made_visible; };
  auto reader = at.queue.signal_log();
  CHECK(at.queue.submit(visible).serial == 1);
  CHECK(at.queue.submit(visible).serial == 2);
  waiter ending{[&] { return at.queue.drain(); }};
  waiter one{[&] { return at.own.wait(1); }};
  CHECK(ending.falls_asleep());
  CHECK(one.falls_asleep());
  at.queue.abort();
  CHECK(ending.status() == wait_status::lost);
  CHECK(one.status() == wait_status::lost);
  at.queue.abort();
  CHECK(at.queue.submit(visible).status == tidemark::submit_status::lost);
  CHECK(made_visible == 2);
  CHECK(at.queue.last_queued() == 2);
  CHECK_FALSE(at.queue.is_idle());
  CHECK(at.queue.complete() == 1);
  CHECK(read_all(reader).values() == std::vector<std::uint64_t>{1});
  CHECK(at.own.wait(1) == wait_status::reached);  // what was finished, was
  CHECK(at.queue.drain() == wait_status::lost);
}

TEST_CASE("[A122] abort from another thread ends a submitter's loop") {
  lone_queue at;
  const auto dog = watch(at.own);
  std::atomic<std::uint64_t> visible{0};
  background submitter{[&] {
    while (at.queue.submit([&](std::uint64_t serial) { visible = serial; })) std::this_thread::yield();
  }};
  await([&] { return visible > 100; });
  at.queue.abort();
  submitter.join();
  CHECK(at.queue.last_queued() == visible);
}
