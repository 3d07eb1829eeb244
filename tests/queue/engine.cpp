// SPDX-License-Identifier: BSL-1.0
//
// Engines: threads that execute many queues, what a loop shares with them, and who waits for what.
#include "support/misuse_hook.hpp"

#include <tidemark/queue/engine.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/queue/engine_queue.hpp>

#include "support/loop_kinds.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::hang_report;
using tidemark::queue_id;
using tidemark::wait_status;

namespace {

/// Entries of logs would only take memory here.
struct forgets {
  template <class>
  void on_executed(queue_id, const tidemark::fence_log_entry&) {}
  void on_lost(queue_id, tidemark::fence_log_type, std::uint64_t, std::uint64_t) {}
};
forgets nowhere;

template <class Kind>
using engine_of = tidemark::basic_engine<typename Kind::platform>;
using bare_recorder = tidemark::direct_recorder<forgets, tidemark::no_log_clock>;

/// A queue without logs.
template <class Kind>
class queue_of : public tidemark::basic_engine_queue<typename Kind::platform, tidemark::no_log_clock,
                                                     tidemark::self_service, bare_recorder> {
 public:
  explicit queue_of(engine_of<Kind>& on, const tidemark::engine_queue_options& options = {})
      : tidemark::basic_engine_queue<typename Kind::platform, tidemark::no_log_clock, tidemark::self_service,
                                     bare_recorder>(on, options, {}, bare_recorder(nowhere, queue_id{0})) {}
};

std::uint64_t mixed(std::uint64_t number) { return (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9; }

/// A piece of work, which needs the results of two earlier ones.
struct step {
  std::size_t queue;
  std::uint64_t serial;
  std::size_t needs[2];
  std::uint64_t result = 0;
};

/// In an order in which they can be done one after the other.
std::vector<step> random_steps(random_numbers& random, std::size_t queues) {
  std::vector<step> steps;
  std::vector<std::uint64_t> serials(queues, 0);
  for (std::size_t made = 0; made < 2 * queues; ++made) {
    step one{};
    one.queue = random.below(queues);
    one.serial = ++serials[one.queue];
    for (std::size_t& each : one.needs) each = made == 0 ? 0 : random.below(made);
    steps.push_back(one);
  }
  return steps;
}
void do_step(std::vector<step>& steps, std::size_t which) {
  step& one = steps[which];
  one.result = mixed(which + 1);
  for (const std::size_t each : one.needs) {
    if (each != which) one.result = mixed(one.result + steps[each].result);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("thousands of queues with random dependencies come to what a run in order comes to", Kind,
                   EVERY_LOOP_KIND) {
  const std::size_t count = std::is_same_v<Kind, native_loop> ? 10'000 : 1000;
  random_numbers random{fresh_seed()};
  for (const unsigned threads : {1U, 2U}) {
    std::vector<step> steps = random_steps(random, count);
    std::vector<step> expected = steps;
    for (std::size_t i = 0; i < expected.size(); ++i) do_step(expected, i);
    engine_of<Kind> engine{{.threads = threads}};
    const watchdog dog([&] { return std::to_string(engine.why_waiting().waits.size()) + " queues wait"; });
    std::list<queue_of<Kind>> queues;
    std::vector<queue_of<Kind>*> at;
    for (std::size_t i = 0; i < count; ++i) at.push_back(&queues.emplace_back(engine));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      queue_of<Kind>& queue = *at[steps[i].queue];
      for (const std::size_t each : steps[i].needs) {
        if (each != i) queue.wait(at[steps[each].queue]->progress(), steps[each].serial);
      }
      queue.run([&steps, i] { do_step(steps, i); });
      REQUIRE(queue.submit().serial == steps[i].serial);
    }
    for (const queue_of<Kind>& each : queues) REQUIRE(each.drain() == wait_status::reached);
    const bool are_equal = std::equal(steps.begin(), steps.end(), expected.begin(),
                                      [](const step& a, const step& b) { return a.result == b.result; });
    CHECK(are_equal);
    CHECK(engine.why_waiting().waits.empty());
  }
}

TEST_CASE_TEMPLATE("an engine that sleeps wakes up for a signal, and for a submission", Kind, EVERY_LOOP_KIND) {
  engine_of<Kind> engine;
  typename Kind::fence uploaded;
  typename Kind::fence drawn;
  queue_of<Kind> queue{engine};
  const watchdog dog([&] { return state_of(uploaded) + "; " + state_of(drawn); });
  for (std::uint64_t value = 1; value <= 2000; ++value) {
    if (value % 2 == 0) uploaded.signal(value);
    queue.wait(uploaded, value);
    queue.signal(drawn, value);
    REQUIRE(queue.submit());
    if (value % 2 != 0) uploaded.signal(value);
    if (value % 7 == 0) REQUIRE(drawn.wait(value) == wait_status::reached);
  }
  CHECK(drawn.wait(2000) == wait_status::reached);
}

TEST_CASE_TEMPLATE("two engines hand a turn back and forth", Kind, EVERY_LOOP_KIND) {
  constexpr std::uint64_t turns = 3000;
  typename Kind::progress_fence there;
  typename Kind::progress_fence back;
  std::uint64_t data = 0;
  engine_of<Kind> left;
  engine_of<Kind> right;
  queue_of<Kind> ping{left};
  queue_of<Kind> pong{right};
  const watchdog dog([&] { return state_of(there) + "; " + state_of(back); });
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    ping.run([&data] { ++data; });
    ping.signal(there, turn);
    ping.wait(back, turn);
    REQUIRE(ping.submit());
    pong.wait(there, turn);
    pong.run([&data] { ++data; });
    pong.signal(back, turn);
    REQUIRE(pong.submit());
  }
  CHECK(ping.drain() == wait_status::reached);
  CHECK(pong.drain() == wait_status::reached);
  CHECK(data == 2 * turns);
}

TEST_CASE_TEMPLATE("the threads of an engine run what its loop has, too", Kind, EVERY_LOOP_KIND) {
  engine_of<Kind> engine;
  typename Kind::fence fence;
  typename Kind::fence told;
  std::thread::id of_queue;
  std::thread::id of_callable;
  queue_of<Kind> queue{engine};
  auto called = engine.loop().on_reached(fence, 1, [&] {
    of_callable = std::this_thread::get_id();
    told.signal(1);
  });
  queue.run([&] { of_queue = std::this_thread::get_id(); });
  queue.signal(fence, 1);
  REQUIRE(queue.submit());
  CHECK(told.wait(1) == wait_status::reached);
  CHECK(of_queue == of_callable);
  CHECK(of_queue != std::this_thread::get_id());
}

TEST_CASE_TEMPLATE("why_waiting() names who waits, for what, and who has the signal, and names a circle", Kind,
                   EVERY_LOOP_KIND) {
  engine_of<Kind> engine{{.threads = 0}};
  typename Kind::fence blurred{3};
  typename Kind::fence scaled;
  typename Kind::fence outside;
  queue_of<Kind> blur{engine, {.name = "blur"}};
  queue_of<Kind> scale{engine, {.name = "scale"}};
  queue_of<Kind> show{engine, {.name = "show"}};
  const auto id_of = [](std::uint32_t number) { return tidemark::fence_id{number}; };
  blur.wait(tidemark::logged_fence{&scaled, id_of(2)}, 1);
  blur.signal(tidemark::logged_fence{&blurred, id_of(1)}, 4);
  REQUIRE(blur.submit());
  scale.wait(tidemark::logged_fence{&blurred, id_of(1)}, 4);
  scale.signal(tidemark::logged_fence{&scaled, id_of(2)}, 1);
  REQUIRE(scale.submit());
  show.wait(outside, 1);
  REQUIRE(show.submit());
  while (engine.loop().poll() != 0) {
  }
  const hang_report report = engine.why_waiting();
  REQUIRE(report.waits.size() == 3);
  CHECK(report.waits[0].name == "blur");
  CHECK(report.waits[0].fence == id_of(2));
  CHECK(report.waits[0].value == 1);
  CHECK(report.waits[0].current_value == 0);
  CHECK(report.waits[0].held_by == scale.id());
  CHECK(report.waits[1].current_value == 3);
  CHECK_FALSE(report.waits[2].held_by.has_value());
  REQUIRE(report.cycles.size() == 1);
  CHECK(report.cycles[0].size() == 2);
  // A signal of the program's breaks it.
  scaled.signal(1);
  outside.signal(1);
  while (engine.loop().poll() != 0) {
  }
  CHECK(engine.why_waiting().waits.empty());
  CHECK(blur.is_idle());
}

TEST_CASE_TEMPLATE("[A124] an engine that is aborted loses its queues, and those of others that depend on them alone",
                   Kind, EVERY_LOOP_KIND) {
  typename Kind::fence never;
  engine_of<Kind> lost;
  engine_of<Kind> other;
  queue_of<Kind> first{lost};
  queue_of<Kind> second{lost};
  queue_of<Kind> depends{other};
  queue_of<Kind> stranger{other};
  first.wait(never, 1);
  REQUIRE(first.submit());
  second.wait(first.progress(), 1);
  REQUIRE(second.submit());
  depends.wait(second.progress(), 1);
  REQUIRE(depends.submit());
  stranger.wait(never, 1);
  REQUIRE(stranger.submit());
  lost.abort();
  CHECK(first.drain() == wait_status::lost);
  CHECK(second.drain() == wait_status::lost);
  CHECK(depends.drain() == wait_status::lost);
  CHECK_FALSE(never.is_poisoned());
  never.signal(1);
  CHECK(stranger.drain() == wait_status::reached);
  queue_of<Kind> again{lost};
  again.wait(never, 1);
  REQUIRE(again.submit());
  CHECK(again.drain() == wait_status::reached);
}

TEST_CASE_TEMPLATE("a queue may be destroyed while it waits, is ready or executes", Kind, EVERY_LOOP_KIND) {
  engine_of<Kind> engine{{.threads = 2}};
  typename Kind::fence never;
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> has_begun{false};
    std::atomic<int> inside{0};
    {
      queue_of<Kind> queue{engine};
      queue.run([&] {
        inside.fetch_add(1);
        has_begun.store(true);
        for (int i = 0; i < round; ++i) std::this_thread::yield();
        inside.fetch_sub(1);
      });
      if (round % 3 != 0) queue.wait(never, 1);
      queue.run([&] { inside.fetch_add(1000); });
      if (round % 3 == 0) queue.wait(never, 1);
      REQUIRE(queue.submit());
      while (round % 2 == 0 && !has_begun.load()) std::this_thread::yield();
    }
    // Nothing is executed any more.
    CHECK(inside.load() % 1000 == 0);
  }
  CHECK(engine.why_waiting().waits.empty());
}

TEST_CASE("misuse of engines and their queues is reported") {
  CHECK(reported_by([] {
          std::optional<tidemark::engine> engine{std::in_place};
          tidemark::engine_queue queue{*engine};
          engine.reset();
        }) == "an engine was destroyed before its queues");
  CHECK(reported_by([] {
          tidemark::engine engine{{.threads = 0}};
          tidemark::engine_queue queue{engine, {.quantum = 0}};
        }) == "a queue of an engine must execute at least one command in a turn");
  CHECK(reported_by([] {
          tidemark::engine engine{{.threads = 0}};
          std::optional<tidemark::engine_queue> queue{std::in_place, engine};
          queue->run([&] { queue.reset(); });
          static_cast<void>(queue->submit());
          engine.loop().poll();
        }) == "a queue was destroyed by its own work");
}
