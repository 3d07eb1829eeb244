// SPDX-License-Identifier: BSL-1.0
//
// Engines: threads that execute many queues, what a loop shares with them, and who waits for what.
#include "support/misuse_hook.hpp"

#include <tidemark/engine/engine.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/signaller_callback.hpp>

#include "support/child.hpp"
#include "support/coroutine.hpp"
#include "support/engines.hpp"
#include "support/loop_kinds.hpp"
#include "support/planted_cycles.hpp"
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

/// The queues of a plan, on two engines, and their fences.
template <class Kind>
class planned_queues {
 public:
  planned_queues(std::array<engine_of<Kind>, 2>& engines, const queue_plan& plan) : fences_(plan.fences) {
    for (std::size_t i = 0; i < plan.queues.size(); ++i) queues_.emplace_back(engines[i % 2]);
  }
  /// Submits the commands of all queues, some at a time.
  void submit(const queue_plan& plan, random_numbers& random) {
    std::vector<std::size_t> next(queues_.size(), 0);
    const auto is_over = [&](std::size_t queue) { return next[queue] == plan.queues[queue].size(); };
    std::vector<std::size_t> left(queues_.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    while (!left.empty()) {
      const std::size_t at = random.below(left.size());
      const std::size_t queue = left[at];
      for (std::size_t some = random.below(std::size_t{8}); some != 0 && !is_over(queue); --some) {
        record(queues_[queue], plan.queues[queue][next[queue]++]);
      }
      REQUIRE(queues_[queue].submit());
      if (is_over(queue)) left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  void drain() {
    for (queue_of<Kind>& each : queues_) REQUIRE(each.drain() == wait_status::reached);
  }
  typename Kind::fence& fence(std::size_t number) { return fences_[number]; }

  /// Returns a cycle of a report in the words of the plan.
  std::vector<planned_wait> found_in(const std::vector<tidemark::hanging_wait>& cycle) const {
    std::vector<planned_wait> found;
    for (const tidemark::hanging_wait& each : cycle) {
      found.push_back({number_of(each.queue), to_number(each.fence), each.value, each.current_value,
                       number_of(each.held_by.value())});
    }
    return from_least(std::move(found));
  }

 private:
  void record(queue_of<Kind>& into, const planned_command& planned) {
    const tidemark::logged_fence fence{&fences_[planned.fence],
                                       tidemark::fence_id{static_cast<std::uint32_t>(planned.fence)}};
    if (planned.is_wait) {
      into.wait(fence, planned.value);
    } else {
      into.signal(fence, planned.value);
    }
  }
  std::size_t number_of(const tidemark::reported_queue& queue) const {
    for (std::size_t i = to_number(queue.engine); i < queues_.size(); i += 2) {
      if (queues_[i].id() == queue.id) return i;
    }
    return queues_.size();
  }

  std::deque<typename Kind::fence> fences_;
  std::deque<queue_of<Kind>> queues_;
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

TEST_CASE("nobody can stop the loop of an engine, whose threads would never run again") {
  constexpr auto can_be_stopped = [](auto& loop) { return requires { loop.stop(); }; };
  constexpr auto can_be_restarted = [](auto& loop) { return requires { loop.restart(); }; };
  tidemark::wait_loop own;
  CHECK(can_be_stopped(own));
  CHECK(can_be_restarted(own));
  tidemark::engine engine;
  CHECK_FALSE(can_be_stopped(engine.loop()));
  CHECK_FALSE(can_be_restarted(engine.loop()));
  // It is a loop for all that waits on one.
  tidemark::fence fence;
  bool has_run = false;
  auto task = engine.loop().make_task([&] {
    has_run = true;
    fence.signal(1);
  });
  CHECK(task.post());
  CHECK(fence.wait(1) == wait_status::reached);
  CHECK(has_run);
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
  CHECK(report.waits[0].queue.name == "blur");
  CHECK(report.waits[0].fence == id_of(2));
  CHECK(report.waits[0].value == 1);
  CHECK(report.waits[0].current_value == 0);
  CHECK(report.waits[0].held_by == tidemark::reported_queue{scale.id(), "scale", {}, ""});
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

TEST_CASE_TEMPLATE("queues that wait for each other's progress are a circle, and who waits for its own is one alone",
                   Kind, EVERY_LOOP_KIND) {
  engine_of<Kind> compute{{.threads = 0, .name = "compute"}};
  engine_of<Kind> copy{{.threads = 0, .name = "copy"}};
  queue_of<Kind> first{compute, {.name = "first"}};
  queue_of<Kind> second{copy, {.name = "second", .progress = tidemark::fence_id{7}}};
  queue_of<Kind> alone{copy, {.name = "alone"}};
  const auto step = [&] {
    while (compute.loop().poll() + copy.loop().poll() != 0) {
    }
  };
  REQUIRE(second.submit());  // finished before the circle, so the values go on from 1
  step();
  first.wait(second.progress(), 3);
  REQUIRE(first.submit());
  second.wait(first.progress(), 1);
  REQUIRE(second.submit());
  REQUIRE(second.submit());
  alone.wait(alone.progress(), 2);
  REQUIRE(alone.submit());
  step();
  hang_report report = tidemark::why_waiting(compute, copy);
  REQUIRE(report.waits.size() == 3);
  CHECK(report.waits[0].held_by == report.waits[1].queue);
  CHECK(report.waits[0].value == 3);
  CHECK(report.waits[0].current_value == 1);
  CHECK(report.waits[0].fence == tidemark::fence_id{7});
  CHECK(report.waits[1].held_by == report.waits[0].queue);
  CHECK_FALSE(report.waits[2].held_by.has_value());  // its second submission is not there yet
  REQUIRE(report.cycles.size() == 1);
  CHECK(report.cycles[0].size() == 2);

  REQUIRE(alone.submit());
  report = copy.why_waiting();
  REQUIRE(report.cycles.size() == 1);
  REQUIRE(report.cycles[0].size() == 1);
  CHECK(report.cycles[0][0].queue.name == "alone");
  CHECK(report.cycles[0][0].held_by == report.cycles[0][0].queue);

  // A queue that is given up signals nothing, and the other one is lost with it.
  first.abort();
  report = tidemark::why_waiting(compute, copy);
  REQUIRE(report.cycles.size() == 1);
  CHECK(report.cycles[0][0].queue.name == "alone");
  step();
  CHECK(second.drain() == wait_status::lost);
}

TEST_CASE_TEMPLATE("a wait for the progress of a queue is held by that queue, and is no circle by itself", Kind,
                   EVERY_LOOP_KIND) {
  engine_of<Kind> engine{{.threads = 0}};
  typename Kind::fence input;
  queue_of<Kind> first{engine};
  queue_of<Kind> second{engine};
  first.wait(input, 1);
  REQUIRE(first.submit());
  second.wait(first.progress(), 1);
  REQUIRE(second.submit());
  while (engine.loop().poll() != 0) {
  }
  const hang_report report = engine.why_waiting();
  REQUIRE(report.waits.size() == 2);
  CHECK_FALSE(report.waits[0].held_by.has_value());
  CHECK(report.waits[1].held_by == report.waits[0].queue);
  CHECK(report.cycles.empty());  // a signal of the program's ends both waits
  input.signal(1);
  while (engine.loop().poll() != 0) {
  }
  CHECK(engine.why_waiting().waits.empty());
}

TEST_CASE_TEMPLATE("a report sees what was submitted while a queue waited", Kind, EVERY_LOOP_KIND) {
  engine_of<Kind> engine{{.threads = 0}};
  typename Kind::fence fence;
  queue_of<Kind> queue{engine, {.name = "late"}};
  queue.wait(fence, 1);
  REQUIRE(queue.submit());
  while (engine.loop().poll() != 0) {
  }
  CHECK_FALSE(engine.why_waiting().waits.at(0).held_by.has_value());
  queue.signal(fence, 1);
  REQUIRE(queue.submit());
  const hang_report report = engine.why_waiting();
  REQUIRE(report.cycles.size() == 1);
  CHECK(report.cycles[0].at(0).held_by == report.waits.at(0).queue);
}

TEST_CASE_TEMPLATE("a circle across engines is found by a report on all of them, and by none on one", Kind,
                   EVERY_LOOP_KIND) {
  engine_of<Kind> compute{{.threads = 0, .name = "compute"}};
  engine_of<Kind> copy{{.threads = 0, .name = "copy"}};
  typename Kind::fence blurred{3};
  typename Kind::fence uploaded;
  queue_of<Kind> blur{compute, {.name = "blur"}};
  queue_of<Kind> upload{copy, {.name = "upload"}};
  blur.wait(uploaded, 1);
  blur.signal(blurred, 5);
  REQUIRE(blur.submit());
  upload.wait(blurred, 4);
  upload.signal(uploaded, 2);
  REQUIRE(upload.submit());
  CHECK(compute.why_waiting().cycles.empty());
  CHECK_FALSE(copy.why_waiting().waits.at(0).held_by.has_value());

  const hang_report report = tidemark::why_waiting(copy, compute, copy);
  const tidemark::reported_queue on_copy{upload.id(), "upload", tidemark::engine_id{0}, "copy"};
  const tidemark::reported_queue on_compute{blur.id(), "blur", tidemark::engine_id{1}, "compute"};
  CHECK(report.not_seen == 0);
  REQUIRE(report.waits.size() == 2);
  CHECK(report.waits[0].queue == on_copy);
  CHECK(report.waits[0].value == 4);
  CHECK(report.waits[0].current_value == 3);
  CHECK(report.waits[0].held_by == on_compute);
  CHECK(report.waits[1].queue == on_compute);
  CHECK(report.waits[1].held_by == on_copy);
  CHECK(report.waits[0].fence_key != report.waits[1].fence_key);
  REQUIRE(report.cycles.size() == 1);
  CHECK(report.cycles[0].size() == 2);
}

TEST_CASE_TEMPLATE("cycles across two engines are named exactly, and none is found where there is none", Kind,
                   EVERY_LOOP_KIND) {
  random_numbers random{fresh_seed()};
  std::array<engine_of<Kind>, 2> engines;
  const auto report = [&] { return tidemark::why_waiting(engines[0], engines[1]); };
  const watchdog dog([&] { return std::to_string(report().cycles.size()) + " cycles"; });
  for (int round = 0; round < (std::is_same_v<Kind, native_loop> ? 10'000 : 1000); ++round) {
    const queue_plan plan = queue_planner(random, 2 + random.below(std::size_t{4})).without_cycle();
    planned_queues<Kind> queues(engines, plan);
    queues.submit(plan, random);
    REQUIRE(report().cycles.empty());
    queues.drain();
  }
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = 2 + random.below(std::size_t{5});
    const queue_plan plan = queue_planner(random, count).with_cycle(1 + random.below(count));
    planned_queues<Kind> queues(engines, plan);
    queues.submit(plan, random);
    hang_report found = report();
    for (; found.cycles.empty() || queues.found_in(found.cycles[0]) != plan.cycle; found = report()) {
      // Queues that still execute something are missing, or values that they signal.
      REQUIRE(found.cycles.size() <= 1);
      std::this_thread::yield();
    }
    REQUIRE(found.cycles.size() == 1);
    queues.fence(plan.cycle[0].fence).signal(plan.cycle[0].value);
    queues.drain();
  }
}

TEST_CASE_TEMPLATE("a report says how many queues it did not see, because they executed something", Kind,
                   EVERY_LOOP_KIND) {
  std::array<engine_of<Kind>, 2> engines;
  typename Kind::fence has_begun;
  typename Kind::fence may_end;
  typename Kind::fence fence;
  queue_of<Kind> busy{engines[0]};
  queue_of<Kind> waits{engines[1]};
  const watchdog dog([&] { return state_of(fence); });
  busy.run([&] {
    has_begun.signal(1);
    static_cast<void>(may_end.wait(1));
  });
  busy.signal(fence, 1);
  REQUIRE(busy.submit());
  REQUIRE(has_begun.wait(1) == wait_status::reached);
  waits.wait(fence, 1);
  REQUIRE(waits.submit());
  hang_report report = tidemark::why_waiting(engines[0], engines[1]);
  for (; report.not_seen != 1; report = tidemark::why_waiting(engines[0], engines[1])) std::this_thread::yield();
  REQUIRE(report.waits.size() == 1);
  CHECK_FALSE(report.waits[0].held_by.has_value());
  may_end.signal(1);
  CHECK(waits.drain() == wait_status::reached);
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

TEST_CASE_TEMPLATE("a callable that runs because an engine is aborted may use the engine", Kind, EVERY_LOOP_KIND) {
  const watchdog watching{[] { return "abort() of an engine does not return"; }};
  engine_of<Kind> engine{{.threads = 0}};
  typename Kind::fence never;
  std::deque<std::optional<queue_of<Kind>>> queues(5);
  for (auto& each : queues) {
    each.emplace(engine);
    each->wait(never, 1);
    REQUIRE(each->submit());
  }
  engine.loop().poll();
  std::optional<queue_of<Kind>> fresh;
  std::size_t ran = 0;
  const auto callable = [&](wait_status how) {
    CHECK(how == wait_status::lost);
    CHECK(engine.why_waiting().cycles.empty());
    std::thread([&] { const queue_of<Kind> other{engine}; }).join();
    if (ran++ != 0) return;
    fresh.emplace(engine);
    fresh->wait(never, 1);
    CHECK(fresh->submit());
    // In whatever order the queues are aborted, one of these is aborted, and the other one is not.
    queues.front().reset();
    std::thread([&] { queues.back().reset(); }).join();
  };
  auto second = tidemark::call_in_signaller(*queues[1]->progress().fence, 1, callable);
  auto third = tidemark::call_in_signaller(*queues[2]->progress().fence, 1, callable);
  auto fourth = tidemark::call_in_signaller(*queues[3]->progress().fence, 1, callable);
  engine.abort();
  CHECK(ran == 3);
  CHECK(second.state() == tidemark::callback_state::lost);
  CHECK(third.state() == tidemark::callback_state::lost);
  CHECK(fourth.state() == tidemark::callback_state::lost);
  for (std::size_t i = 1; i < 4; ++i) CHECK(queues[i]->progress().fence->is_poisoned());
  REQUIRE(fresh.has_value());
  CHECK_FALSE(fresh->progress().fence->is_poisoned());
  never.signal(1);
  while (engine.loop().poll() != 0) {
  }
  CHECK(fresh->drain() == wait_status::reached);
}

TEST_CASE_TEMPLATE("a callable that runs because an engine is aborted may abort it", Kind, EVERY_LOOP_KIND) {
  const watchdog watching{[] { return "abort() of an engine does not return"; }};
  engine_of<Kind> engine{{.threads = 0}};
  typename Kind::fence never;
  std::deque<queue_of<Kind>> queues;
  for (int i = 0; i < 3; ++i) {
    queues.emplace_back(engine).wait(never, 1);
    REQUIRE(queues.back().submit());
  }
  std::size_t ran = 0;
  const auto callable = [&](wait_status how) {
    CHECK(how == wait_status::lost);
    ++ran;
    engine.abort();
    for (auto& each : queues) CHECK(each.submit().status == tidemark::doorbell_status::aborted);
  };
  auto first = tidemark::call_in_signaller(*queues[0].progress().fence, 1, callable);
  auto second = tidemark::call_in_signaller(*queues[1].progress().fence, 1, callable);
  auto third = tidemark::call_in_signaller(*queues[2].progress().fence, 1, callable);
  engine.abort();
  CHECK(ran == 3);
  for (auto& each : queues) CHECK(each.progress().fence->is_poisoned());
  engine.loop().poll();
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

TEST_CASE("what a callable throws on a thread of an engine ends the program, and otherwise is passed on") {
  const auto throws = [] { throw std::runtime_error{"told"}; };
  const auto end = run_in_child([&] {
    std::set_terminate([] { _exit(3); });
    tidemark::engine engine;
    engine.loop().post(throws);
    for (;;) ::pause();
  });
  CHECK(end.exit_status == 3);
  const auto in_coroutine = run_in_child([&] {
    std::set_terminate([] { _exit(3); });
    tidemark::engine engine;
    const auto wait = [&]() -> coroutine {
      co_await engine.loop().schedule();
      throws();
    };
    const coroutine waiting = wait();
    for (;;) ::pause();
  });
  CHECK(in_coroutine.exit_status == 3);
  tidemark::engine engine({.threads = 0});
  engine.loop().post(throws);
  CHECK_THROWS_WITH(engine.loop().poll(), "told");
  CHECK(engine.loop().poll() == 0);
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
          tidemark::engine_queue queue{engine, {.most_submissions = 0}};
        }) == "a queue of an engine must accept at least one submission");
  CHECK(reported_by([] {
          tidemark::engine engine{{.threads = 0}};
          std::optional<tidemark::engine_queue> queue{std::in_place, engine};
          queue->run([&] { queue.reset(); });
          static_cast<void>(queue->submit());
          engine.loop().poll();
        }) == "a queue was destroyed by its own work");
  CHECK(reported_by([] {
          // The callable of the one queue aborts the engine, and the callable of the other one runs within that.
          tidemark::engine engine{{.threads = 0}};
          tidemark::fence never;
          std::optional<tidemark::engine_queue> outer{std::in_place, engine};
          tidemark::engine_queue inner{engine};
          outer->wait(never, 1);
          inner.wait(never, 1);
          static_cast<void>(outer->submit().status);
          static_cast<void>(inner.submit().status);
          auto aborts = tidemark::call_in_signaller(*outer->progress().fence, 1, [&](wait_status) { engine.abort(); });
          auto destroys = tidemark::call_in_signaller(*inner.progress().fence, 1, [&](wait_status) { outer.reset(); });
          outer->abort();
        }) == "a queue was destroyed by its own work");
}
