// SPDX-License-Identifier: BSL-1.0
//
// Callables and tasks on a loop.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/loop/wait_loop.hpp>

#include "support/counted_allocations.hpp"
#include "support/loop_kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::awaited;
using tidemark::callback_state;
using tidemark::run_status;
using tidemark::wait_status;

namespace {

/// A platform whose heavy barrier the system refuses from some moment on.
struct lately_refusing : counting_platform<tidemark::native_platform> {
  static inline std::atomic<bool> refuses{false};
  static bool heavy_barrier() noexcept {
    return counting_platform<tidemark::native_platform>::heavy_barrier() && !refuses;
  }
};

const auto nothing = [] {};

}  // namespace

// ---- when callables run ---------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A19] a callable runs once, when its value is reached, and never before", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::progress_fence fence;
  int runs = 0;
  auto registered = loop.on_reached(fence, 3, [&] { ++runs; });
  CHECK(loop.poll() == 0);
  fence.signal(2);
  CHECK(loop.poll() == 0);
  CHECK(registered.state() == callback_state::waiting);
  fence.signal(4);
  CHECK(runs == 0);
  CHECK(loop.poll() == 1);
  CHECK(runs == 1);
  CHECK(registered.state() == callback_state::ran);
  fence.signal(5);
  CHECK(loop.poll() == 0);
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A123] a callable for a value that is reached runs in the loop, and not at once", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence{7};
  int runs = 0;
  const auto count = [&] { ++runs; };
  auto zero = loop.on_reached(fence, 0, count);
  auto seven = loop.on_reached(fence, 7, count);
  CHECK(runs == 0);
  CHECK(loop.poll() == 2);
  CHECK(runs == 2);
}

TEST_CASE_TEMPLATE("[A19] the lowest target runs first, and equal targets run in the order of registration", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::progress_fence fence;
  std::vector<int> order;
  std::list<typename Kind::any_callback> registered;
  const std::uint64_t targets[] = {5, 3, 9, 3, 1, 5, 9, 1, 3};
  for (int i = 0; i < 9; ++i) {
    registered.emplace_back(loop, typename Kind::awaited(fence, targets[i]), [&order, i] { order.push_back(i); });
  }
  fence.signal(8);
  CHECK(loop.poll() == 7);
  CHECK(order == std::vector<int>{4, 7, 1, 3, 8, 0, 5});
  fence.signal(9);
  CHECK(loop.poll() == 2);
  CHECK(order == std::vector<int>{4, 7, 1, 3, 8, 0, 5, 2, 6});
}

TEST_CASE_TEMPLATE("[A19] waiters for 42, 43 and 50, and a signal of 45: exactly 42 and 43 run", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence{41};
  auto first = loop.on_reached(fence, 42, nothing);
  auto second = loop.on_reached(fence, 43, nothing);
  auto third = loop.on_reached(fence, 50, nothing);
  fence.signal(45);
  CHECK(loop.poll() == 2);
  CHECK(first.state() == callback_state::ran);
  CHECK(second.state() == callback_state::ran);
  CHECK(third.state() == callback_state::waiting);
}

TEST_CASE_TEMPLATE("[A120] a callable that takes a status is told of a loss, and another one does not run", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::vector<wait_status> told;
  const auto tell = [&](wait_status how) { told.push_back(how); };
  auto reached = loop.on_reached(fence, 1, tell);
  auto lost = loop.on_reached(fence, 2, tell);
  bool has_run = false;
  auto silent = loop.on_reached(fence, 2, [&] { has_run = true; });
  fence.signal(1);
  fence.poison();
  auto late = loop.on_reached(fence, 3, tell);
  loop.poll();
  CHECK(told == std::vector{wait_status::reached, wait_status::lost, wait_status::lost});
  CHECK(!has_run);
  CHECK(reached.state() == callback_state::ran);
  for (auto* each : {&lost, &late}) CHECK(each->state() == callback_state::lost);
  CHECK(silent.state() == callback_state::lost);
}

TEST_CASE_TEMPLATE("[A13] [A15] the loop takes one slot of a fence for its least target, and none while it runs", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  tidemark::basic_progress_fence<typename Kind::platform,
                                 tidemark::fence_options{
                                     .capacity = 1, .growth = tidemark::heap_growth::forbidden, .statistics = true}>
      fence;
  std::uint64_t monitored_while_running = 0;
  std::list<typename Kind::any_callback> registered;
  for (std::uint64_t target = 1000; target > 0; --target)
    registered.emplace_back(loop, typename Kind::awaited(fence, target), nothing);
  registered.emplace_back(loop, typename Kind::awaited(fence, 10),
                          [&] { monitored_while_running = fence.monitored_value(); });
  {
    const background runner{[&] { CHECK(loop.run() == run_status::stopped); }};
    CHECK(runner.falls_asleep());
    if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == 0);
    fence.signal(10);
    await([&] { return registered.back().state() == callback_state::ran; });
    CHECK(runner.falls_asleep());
    if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == 10);
    loop.stop();
  }
  if (Kind::platform::heavy_barrier_available()) CHECK(monitored_while_running == tidemark::no_waiter);
  CHECK(fence.overflow_count() == 0);
  registered.clear();
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A7] a signal that is due to none of 1,000 callables notifies nobody", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  tidemark::basic_progress_fence<typename Kind::platform, tidemark::fence_options{.statistics = true}> fence;
  std::list<typename Kind::any_callback> registered;
  for (std::uint64_t target = 1; target <= 1000; ++target)
    registered.emplace_back(loop, typename Kind::awaited(fence, target * 1'000'000), nothing);
  const background runner{[&] { CHECK(loop.run() == run_status::stopped); }};
  CHECK(runner.falls_asleep());
  for (std::uint64_t value = 1; value < 1000; ++value) fence.signal(value);
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.notify_count() == 0);
  loop.stop();
}

TEST_CASE_TEMPLATE("[A65] callables of 300 timelines run, each when its own value is reached", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  std::vector<typename Kind::progress_fence> fences(300);
  std::size_t runs = 0;
  std::list<typename Kind::any_callback> registered;
  for (auto& fence : fences) registered.emplace_back(loop, typename Kind::awaited(fence, 1), [&] { ++runs; });
  for (std::size_t i = 0; i < fences.size(); i += 3) fences[i].signal(1);
  CHECK(loop.poll() == 100);
  // Now the loop sleeps, and the others are registered with their fences.
  CHECK(loop.run_for(1ms) == run_status::timeout);
  for (auto& fence : fences) fence.signal(1);
  CHECK(loop.poll() == 200);
  CHECK(runs == 300);
  for (const auto& fence : fences) CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A14] where a full heap must not grow, callables run all the same", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  tidemark::basic_fence<typename Kind::platform,
                        tidemark::fence_options{
                            .capacity = 1, .growth = tidemark::heap_growth::forbidden, .max_spin_ns = 0}>
      fence;
  waiter other{[&] { return fence.wait(2); }};
  CHECK(other.falls_asleep());
  auto registered = loop.on_reached(fence, 1, nothing);
  const background runner{[&] { CHECK(loop.run_one() == run_status::ran); }};
  CHECK(runner.falls_asleep());
  fence.signal(1);
  await([&] { return runner.has_returned(); });
  CHECK(registered.state() == callback_state::ran);
  fence.signal(2);
  CHECK(other.status() == wait_status::reached);
}

// ---- how registrations end ------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A14] a callable that was cancelled, or whose registration is gone, never runs", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  int runs = 0;
  const auto count = [&] { ++runs; };
  auto cancelled = loop.on_reached(fence, 1, count);
  {
    auto gone = loop.on_reached(fence, 1, count);
  }
  CHECK(cancelled.cancel() == callback_state::cancelled);
  CHECK(cancelled.cancel() == callback_state::cancelled);
  CHECK(cancelled.state() == callback_state::cancelled);
  fence.signal(1);
  CHECK(loop.poll() == 0);

  // Its value is reached, and it has not run.
  auto ready = loop.on_reached(fence, 1, count);
  auto last = loop.on_reached(fence, 1, count);
  auto first = loop.on_reached(fence, 0, [&] { CHECK(last.cancel() == callback_state::cancelled); });
  CHECK(ready.cancel() == callback_state::cancelled);
  CHECK(loop.poll() == 1);
  CHECK(first.cancel() == callback_state::ran);
  CHECK(runs == 0);

  std::optional<typename Kind::any_callback> own;
  own.emplace(loop, typename Kind::awaited(fence, 1), [&] { CHECK(own->cancel() == callback_state::waiting); });
  CHECK(loop.poll() == 1);
  CHECK(own->cancel() == callback_state::ran);
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[trap 9] a callable may signal, register, cancel and destroy its own registration", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  typename Kind::fence other;
  std::vector<std::string> told;
  std::list<typename Kind::any_callback> registered;
  std::optional<typename Kind::any_callback> own;
  std::unique_ptr<typename Kind::fence> destroyed = std::make_unique<typename Kind::fence>();
  own.emplace(loop, typename Kind::awaited(fence, 1), [&] {
    auto& list = registered;
    auto& rest = told;
    auto& next = fence;
    auto& also = other;
    auto& on = loop;
    own.reset();  // from here on the captures are gone
    rest.emplace_back("own");
    next.signal(2);
    also.signal(1);
    CHECK(next.wait_for(3, 0s) == wait_status::timeout);
    list.emplace_back(on, typename Kind::awaited(next, 2), [&rest] { rest.emplace_back("registered inside"); });
  });
  registered.emplace_back(loop, typename Kind::awaited(other, 1), [&] { told.emplace_back("other"); });
  registered.emplace_back(loop, typename Kind::awaited(*destroyed, 1), [&] {
    destroyed.reset();
    told.emplace_back("its fence");
  });
  destroyed->signal(1);
  fence.signal(1);
  while (loop.poll() != 0) {
  }
  std::sort(told.begin(), told.end());
  CHECK(told == std::vector<std::string>{"its fence", "other", "own", "registered inside"});
}

TEST_CASE_TEMPLATE("[trap 10] cancel() and the destructor wait for a callable that runs on another thread", Kind,
                   EVERY_LOOP_KIND) {
  for (const bool is_destroyed : {false, true}) {
    typename Kind::loop loop;
    typename Kind::fence fence{1};
    std::atomic<bool> has_begun{false};
    std::atomic<bool> may_end{false};
    std::atomic<bool> has_ended{false};
    std::optional<typename Kind::any_callback> registered;
    registered.emplace(loop, typename Kind::awaited(fence, 1), [&] {
      has_begun = true;
      await([&] { return may_end.load(); });
      has_ended = true;
    });
    const background runner{[&] { CHECK(loop.run_one() == run_status::ran); }};
    await([&] { return has_begun.load(); });
    const background canceller{[&] {
      if (is_destroyed) {
        registered.reset();
      } else {
        CHECK(registered->cancel() == callback_state::ran);
      }
      CHECK(has_ended);
    }};
    CHECK(canceller.falls_asleep());
    may_end = true;
  }
}

TEST_CASE_TEMPLATE("what a callable throws comes out of the call that runs the loop, and nothing else is lost", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence{1};
  int runs = 0;
  auto before = loop.on_reached(fence, 1, [&] { ++runs; });
  auto throws = loop.on_reached(fence, 1, [] { throw std::runtime_error{"told"}; });
  auto after = loop.on_reached(fence, 1, [&] { ++runs; });
  auto task = loop.make_task([] { throw std::runtime_error{"posted"}; });
  CHECK_THROWS_WITH(static_cast<void>(loop.poll()), "told");
  CHECK(throws.state() == callback_state::ran);
  CHECK(throws.cancel() == callback_state::ran);
  CHECK(loop.poll() == 1);
  CHECK(runs == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(task.post());
    CHECK_THROWS_WITH(static_cast<void>(loop.run_one()), "posted");
  }
}

// ---- what is posted -------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("what is posted runs once, in order beside tasks, and is destroyed afterwards", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  std::vector<int> order;
  auto task = loop.make_task([&] { order.push_back(2); });
  const auto alive = std::make_shared<int>(1);
  loop.post([&order, alive] { order.push_back(*alive); });
  task.post();
  loop.post([&, kept = alive]() mutable {
    order.push_back(3);
    // What runs may destroy what it has captured, and post.
    kept.reset();
    loop.post([&] { order.push_back(4); });
  });
  CHECK(alive.use_count() == 3);
  CHECK(loop.poll() == 3);
  CHECK(loop.poll() == 1);
  CHECK(order == std::vector{1, 2, 3, 4});
  CHECK(alive.use_count() == 1);
}

TEST_CASE_TEMPLATE("what was posted and throws is destroyed, and the exception comes out", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  const auto alive = std::make_shared<int>(1);
  bool has_run = false;
  loop.post([alive] { throw std::runtime_error("posted"); });
  loop.post([&] { has_run = true; });
  CHECK_THROWS_WITH_AS(loop.poll(), "posted", std::runtime_error);
  CHECK(alive.use_count() == 1);
  CHECK(loop.poll() == 1);
  CHECK(has_run);
}

TEST_CASE_TEMPLATE("what was posted and has not run is destroyed with the loop", Kind, EVERY_LOOP_KIND) {
  const auto alive = std::make_shared<int>(1);
  bool has_run = false;
  {
    typename Kind::loop loop;
    loop.post([&has_run, alive] { has_run = true; });
    loop.post([&has_run, alive] { has_run = true; });
    CHECK(alive.use_count() == 3);
  }
  CHECK(alive.use_count() == 1);
  CHECK(!has_run);
}

// ---- how the loop is run --------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("the calls that run the loop say how they have ended", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  const auto now = std::chrono::steady_clock::now();
  const auto system_now = std::chrono::system_clock::now();
  CHECK(loop.run_for(0s) == run_status::timeout);
  CHECK(loop.run_for(1ms) == run_status::timeout);
  CHECK(loop.run_until(now + 1ms) == run_status::timeout);
  CHECK(loop.run_until(system_now + 1ms) == run_status::timeout);
  CHECK(loop.run_one_for(1ms) == run_status::timeout);
  CHECK(loop.run_one_until(now) == run_status::timeout);
  CHECK(loop.run_one_until(system_now - 1h) == run_status::timeout);
  CHECK(std::chrono::steady_clock::now() >= now + 2ms);

  auto first = loop.on_reached(fence, 1, nothing);
  auto second = loop.on_reached(fence, 1, nothing);
  fence.signal(1);
  CHECK(loop.run_one() == run_status::ran);
  CHECK(loop.run_one_for(1h) == run_status::ran);
  auto stops = loop.on_reached(fence, 1, [&] { loop.stop(); });
  CHECK(loop.run() == run_status::stopped);
  CHECK(loop.is_stopped());
  CHECK(loop.run_one() == run_status::stopped);
  CHECK(loop.run_for(1h) == run_status::stopped);
  auto later = loop.on_reached(fence, 1, nothing);
  CHECK(loop.poll() == 0);
  loop.restart();
  CHECK(!loop.is_stopped());
  CHECK(loop.poll() == 1);
}

TEST_CASE_TEMPLATE("a call whose time is over runs all that is ready, whatever the clock", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence{1};
  const auto runs_in = [&](const auto& call) {
    int runs = 0;
    const auto count = [&] { ++runs; };
    auto first = loop.on_reached(fence, 1, count);
    for (int i = 0; i < 3; ++i) loop.post(count);
    auto last = loop.on_reached(fence, 1, count);
    CHECK(call() == run_status::timeout);
    const int found = runs;
    loop.poll();
    return found;
  };
  const auto now = std::chrono::steady_clock::now();
  const auto past = std::chrono::system_clock::now() - 1h;
  CHECK(runs_in([&] { return loop.run_for(0s); }) == 5);
  CHECK(runs_in([&] { return loop.run_for(-1s); }) == 5);
  CHECK(runs_in([&] { return loop.run_until(past); }) == 5);
  CHECK(runs_in([&] { return loop.run_until(std::chrono::system_clock::time_point{}); }) == 5);
  CHECK(runs_in([&] { return loop.run_until(now); }) == 5);
  CHECK(runs_in([&] { return loop.run_until(now - 1s); }) == 5);
  CHECK(runs_in([&] { return loop.run_until(std::chrono::steady_clock::time_point{} + 1ns); }) == 5);
  CHECK(runs_in([&] { return loop.run_until((std::chrono::steady_clock::time_point::min)()); }) == 5);
}

TEST_CASE_TEMPLATE("a call whose time is over ends, also where a callable posts the next one", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  const watchdog dog{[] { return std::string{"a call whose time is over goes on"}; }};
  int runs = 0;
  std::function<void()> again = [&] {
    ++runs;
    loop.post(again);
  };
  loop.post(again);
  CHECK(loop.run_until(std::chrono::steady_clock::now()) == run_status::timeout);
  CHECK(loop.run_until(std::chrono::system_clock::now() - 1h) == run_status::timeout);
  CHECK(loop.run_for(0s) == run_status::timeout);
  CHECK(runs == 3);
  again = [] {};
}

TEST_CASE_TEMPLATE("run_one() whose time is over runs one if one is ready, whatever the clock", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  const auto now = std::chrono::steady_clock::now();
  const auto past = std::chrono::system_clock::now() - 1h;
  int runs = 0;
  for (int i = 0; i < 3; ++i) loop.post([&] { ++runs; });
  CHECK(loop.run_one_until(now) == run_status::ran);
  CHECK(runs == 1);
  CHECK(loop.run_one_until(past) == run_status::ran);
  CHECK(runs == 2);
  CHECK(loop.run_one_for(0s) == run_status::ran);
  CHECK(runs == 3);
  CHECK(loop.run_one_until(now) == run_status::timeout);
  CHECK(loop.run_one_until(past) == run_status::timeout);
  CHECK(loop.run_one_for(0s) == run_status::timeout);
  CHECK(runs == 3);
}

TEST_CASE_TEMPLATE("a stop token ends a call that runs the loop, and no other call", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  manual_stop stop;
  std::atomic<bool> has_run{false};
  const background other{[&] { CHECK(loop.run() == run_status::stopped); }};
  {
    const background runner{[&] { CHECK(loop.run(stop.get_token()) == run_status::stopped); }};
    CHECK(other.falls_asleep());
    CHECK(runner.falls_asleep());
    stop.request();
  }
  CHECK(loop.run_one(stop.get_token()) == run_status::stopped);
  auto task = loop.make_task([&] { has_run = true; });
  task.post();
  await([&] { return has_run.load(); });
  CHECK(other.falls_asleep());
  loop.stop();
}

TEST_CASE_TEMPLATE("[A34] a loop that sleeps is woken by a signal, and by a registration for a reached value", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence{1};
  std::uint64_t data = 0;
  auto signalled = loop.on_reached(fence, 2, [&] { CHECK(data == 42); });
  const background runner{[&] { CHECK(loop.run() == run_status::stopped); }};
  CHECK(runner.falls_asleep());
  data = 42;
  fence.signal(2);
  await([&] { return signalled.state() == callback_state::ran; });
  CHECK(runner.falls_asleep());
  auto reached = loop.on_reached(fence, 1, nothing);
  await([&] { return reached.state() == callback_state::ran; });
  CHECK(runner.falls_asleep());
  auto later = loop.on_reached(fence, 3, nothing);
  CHECK(runner.falls_asleep());
  fence.signal(3);
  await([&] { return later.state() == callback_state::ran; });
  loop.stop();
}

TEST_CASE("[A34] a loop that sleeps looks again where a later registration finds the heavy barrier refused") {
  using kind = loop_kind<lately_refusing>;
  lately_refusing::refuses = false;
  typename kind::loop loop;
  typename kind::fence fence;
  auto first = loop.on_reached(fence, 1, nothing);
  auto second = loop.on_reached(fence, 2, nothing);
  const background runner{[&] { CHECK(loop.run() == run_status::stopped); }};
  CHECK(runner.falls_asleep());
  // The runner sleeps without a limit, because all is registered. Now the second wait takes the place of the first.
  lately_refusing::refuses = true;
  CHECK(first.cancel() == callback_state::cancelled);
  fence.signal(2);
  await([&] { return second.state() == callback_state::ran; });
  loop.stop();
}

TEST_CASE("a callable may run the loop") {
  tidemark::wait_loop loop;
  int runs = 0;
  auto inner = loop.make_task([&] { ++runs; });
  auto outer = loop.make_task([&] {
    inner.post();
    CHECK(loop.poll() == 1);
    ++runs;
  });
  outer.post();
  CHECK(loop.poll() == 1);
  CHECK(runs == 2);
}

TEST_CASE("one loop takes fences of both kinds, and views of them") {
  tidemark::wait_loop loop;
  tidemark::fence fence;
  tidemark::progress_fence progress;
  auto first = loop.on_reached(fence, 1, nothing);
  auto second = loop.on_reached(progress, 1, nothing);
  auto third = loop.on_reached(fence.view(), 1, nothing);
  auto fourth = loop.on_reached(awaited{progress.view(), 1}, nothing);
  fence.signal(1);
  progress.signal(1);
  CHECK(loop.poll() == 4);
}

TEST_CASE("10,000 callables on one timeline allocate nothing") {
  tidemark::wait_loop loop;
  tidemark::progress_fence fence;
  std::size_t runs = 0;
  const auto count = [&] { ++runs; };
  using callback = tidemark::basic_callback<tidemark::native_platform, decltype(count)>;
  std::vector<std::optional<callback>> registered(10'000);
  const counted_allocations during;
  for (std::size_t i = 0; i < registered.size(); ++i) registered[i].emplace(loop, awaited{fence, i + 1}, count);
  CHECK(loop.run_for(1ms) == run_status::timeout);
  fence.signal(registered.size());
  loop.poll();
  CHECK(during.count() == 0);
  CHECK(runs == registered.size());
}

TEST_CASE("without memory for its table, a loop finds 1,000 timelines all the same") {
  tidemark::wait_loop loop;
  std::vector<tidemark::progress_fence> fences(1000);
  std::vector<std::optional<tidemark::basic_callback<tidemark::native_platform, void (*)()>>> registered(fences.size());
  {
    const counted_allocations failing{true};
    for (std::size_t i = 0; i < fences.size(); ++i) registered[i].emplace(loop, awaited{fences[i], 1}, +[] {});
    CHECK(failing.count() > 0);
  }
  for (auto& fence : fences) fence.signal(1);
  CHECK(loop.poll() == fences.size());
}

// ---- all at once ----------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A28] [A37] under random signals, registrations and cancellations each callable has one outcome",
                   Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  std::vector<typename Kind::fence> fences(3);
  std::atomic<std::uint64_t> ran{0};
  std::atomic<std::uint64_t> wrong{0};
  const auto seed = fresh_seed();
  const watchdog dog{[&] { return std::to_string(ran) + " ran; seed " + std::to_string(seed); }};
  std::list<background> runners;
  for (int i = 0; i < 2; ++i) runners.emplace_back([&] { CHECK(loop.run() == run_status::stopped); });
  {
    std::list<background> threads;
    for (std::uint64_t stream = 1; stream <= 3; ++stream) {
      threads.emplace_back([&, stream] {
        random_numbers random{seed, stream};
        for (int round = 0; round < 1'500; ++round) {
          auto& fence = fences[random.below(fences.size())];
          const std::uint64_t target = fence.current_value() + random.below(std::uint64_t{3});
          std::atomic<int> runs{0};
          auto registered = loop.on_reached(fence, target, [&] {
            if (fence.current_value() < target) ++wrong;
            ++runs;
          });
          if (random.below(std::uint64_t{2}) == 0) {
            fence.signal(target);
            await([&] { return runs != 0; });
          }
          const callback_state how = registered.cancel();
          if (runs != (how == callback_state::ran ? 1 : 0)) ++wrong;
          ran += how == callback_state::ran ? 1 : 0;
        }
      });
    }
  }
  loop.stop();
  runners.clear();
  CHECK(wrong == 0);
  CHECK(ran > 0);
  CHECK(loop.poll() == 0);
  for (const auto& fence : fences) CHECK(is_idle(fence));
}
