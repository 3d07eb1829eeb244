// SPDX-License-Identifier: BSL-1.0
//
// Loops that executors run.
#include <tidemark/loop/executor_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/coroutine.hpp"
#include "support/executors.hpp"
#include "support/loop_kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::callback_state;
using tidemark::run_status;
using tidemark::wait_status;

namespace {

template <class Kind, class Executor>
using loop_of = tidemark::basic_executor_loop<typename Kind::platform, Executor>;

static_assert(tidemark::loop_executor<manual_executor>);
static_assert(tidemark::loop_executor<thread_pool>);
static_assert(!tidemark::loop_executor<std::thread>);

}  // namespace

TEST_CASE_TEMPLATE("[A13] [A19] a signal asks the executor for one turn, which runs what is due", Kind,
                   EVERY_LOOP_KIND) {
  manual_executor executor;
  typename Kind::fence fence;
  loop_of<Kind, manual_executor> loop(executor);
  int runs = 0;
  auto first = loop.on_reached(fence, 1, [&] { ++runs; });
  auto second = loop.on_reached(fence, 1, [&] { ++runs; });
  auto third = loop.on_reached(fence, 2, [&] { ++runs; });
  executor.run();
  CHECK(runs == 0);
  CHECK(executor.ready.empty());
  fence.signal(1);
  CHECK(runs == 0);
  CHECK(executor.ready.size() == 1);
  CHECK(executor.run() == 1);
  CHECK(runs == 2);
  fence.signal(2);
  CHECK(executor.run() == 1);
  CHECK(runs == 3);
  CHECK(third.state() == callback_state::ran);
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("while a turn was not called, no second one is asked for", Kind, EVERY_LOOP_KIND) {
  manual_executor executor;
  typename Kind::fence fence;
  loop_of<Kind, manual_executor> loop(executor);
  int runs = 0;
  auto waits = loop.on_reached(fence, 1, [&] { ++runs; });
  for (int i = 0; i < 10; ++i) loop.post([&] { ++runs; });
  fence.signal(1);
  loop.stop();
  loop.restart();
  CHECK(executor.ready.size() == 1);
  CHECK(executor.run() == 1);
  CHECK(runs == 11);
}

TEST_CASE_TEMPLATE("a turn runs 64 callables, and asks for another one", Kind, EVERY_LOOP_KIND) {
  manual_executor executor;
  loop_of<Kind, manual_executor> loop(executor);
  executor.run();
  int runs = 0;
  for (int i = 0; i < 100; ++i) loop.post([&] { ++runs; });
  const auto turn = executor.ready.front();
  executor.ready.pop_front();
  turn();
  CHECK(runs == 64);
  CHECK(executor.ready.size() == 1);
  executor.run();
  CHECK(runs == 100);
}

TEST_CASE_TEMPLATE("[A14] a deadline asks for a turn at its time, an earlier one for an earlier turn", Kind,
                   EVERY_LOOP_KIND) {
  manual_executor executor;
  typename Kind::fence fence;
  loop_of<Kind, manual_executor> loop(executor);
  int reached = 0;
  const auto wait = [&](std::chrono::steady_clock::time_point at) -> coroutine {
    CHECK(co_await loop.reached_until(fence, 1, at) == wait_status::reached);
    ++reached;
  };
  const auto start = std::chrono::steady_clock::now();
  const coroutine later = wait(start + 2h);
  executor.run();
  CHECK(executor.timed.size() == 1);
  CHECK(executor.timed.begin()->first == start + 2h);
  const coroutine sooner = wait(start + 1h);
  executor.run();
  CHECK(executor.timed.size() == 2);
  CHECK(executor.timed.begin()->first == start + 1h);
  executor.run_timed();
  CHECK(reached == 0);  // a turn before its time ends nothing
  fence.signal(1);
  executor.run();
  CHECK(reached == 2);
}

TEST_CASE_TEMPLATE("[A14] turns at their times end what waits until then, and nothing else", Kind, EVERY_LOOP_KIND) {
  manual_executor executor;
  typename Kind::fence fence;
  loop_of<Kind, manual_executor> loop(executor);
  std::vector<wait_status> ends;
  const auto wait = [&](std::chrono::steady_clock::time_point at) -> coroutine {
    ends.push_back(co_await loop.reached_until(fence, 1, at));
  };
  // However late this thread is, no turn that is needed may be missing, or be asked for later than it is due.
  const auto start = std::chrono::steady_clock::now();
  const coroutine longest = wait(start + 1h);
  const coroutine longer = wait(start + 3ms);
  const coroutine shortest = wait(start + 2ms);
  executor.run();
  while (ends.size() < 2) {
    REQUIRE_FALSE(executor.timed.empty());
    REQUIRE(executor.timed.begin()->first <= start + 3ms);
    while (std::chrono::steady_clock::now() < executor.timed.begin()->first) std::this_thread::yield();
    executor.run_timed();
    executor.run();
  }
  CHECK(ends == std::vector{wait_status::timeout, wait_status::timeout});
  fence.signal(1);
  executor.run();
  CHECK(ends == std::vector{wait_status::timeout, wait_status::timeout, wait_status::reached});
}

TEST_CASE_TEMPLATE("a turn that comes after the loop's end does nothing", Kind, EVERY_LOOP_KIND) {
  manual_executor executor;
  typename Kind::fence fence;
  int runs = 0;
  {
    loop_of<Kind, manual_executor> loop(executor);
    executor.run();
    manual_stop stop;
    const auto wait = [&]() -> coroutine {
      static_cast<void>(co_await loop.reached_for(fence, 1, 1h, stop.get_token()));
      ++runs;
    };
    const coroutine waiting = wait();
    executor.run();
    stop.request();
    loop.post([&] { ++runs; });
    CHECK(executor.ready.size() == 1);
    CHECK(executor.timed.size() == 1);
  }
  CHECK(executor.run() == 1);
  executor.run_timed();
  CHECK(runs == 0);
}

TEST_CASE_TEMPLATE("what a callable throws comes out of the turn, and the next turn goes on", Kind, EVERY_LOOP_KIND) {
  manual_executor executor;
  loop_of<Kind, manual_executor> loop(executor);
  int runs = 0;
  loop.post([] { throw std::runtime_error{"told"}; });
  loop.post([&] { ++runs; });
  CHECK_THROWS_WITH(executor.run(), "told");
  CHECK(executor.ready.size() == 1);
  executor.run();
  CHECK(runs == 1);
}

TEST_CASE("a thread may run such a loop, too, and it has no descriptor") {
  manual_executor executor;
  tidemark::fence fence;
  tidemark::executor_loop<manual_executor> loop(executor);
  int runs = 0;
  auto waits = loop.on_reached(fence, 1, [&] { ++runs; });
  const background signaller{[&] { fence.signal(1); }};
  CHECK(loop.run_one() == run_status::ran);
  CHECK(runs == 1);
  errno = 0;
  CHECK(loop.descriptor() == -1);
  CHECK(errno == ENOTSUP);
  const auto watch = loop.on_readable(0, [] {});
  CHECK(watch.error() == ENOTSUP);
}

TEST_CASE_TEMPLATE(
    "[A14] coroutines go on in the threads of a pool, at signals, at deadlines, and when they are stopped", Kind,
    EVERY_LOOP_KIND) {
  thread_pool pool(2);
  typename Kind::fence fence;
  std::optional<loop_of<Kind, thread_pool>> loop(std::in_place, pool);
  manual_stop stop;
  const auto main_thread = std::this_thread::get_id();
  std::atomic<int> ended{0};
  const auto wait = [&]() -> coroutine {
    CHECK(co_await loop->reached(fence, 1) == wait_status::reached);
    CHECK(std::this_thread::get_id() != main_thread);
    CHECK(co_await loop->reached_for(fence, 2, 1ms) == wait_status::timeout);
    CHECK(std::this_thread::get_id() != main_thread);
    co_await loop->schedule();
    ++ended;
    CHECK(co_await loop->reached(fence, 2, stop.get_token()) == wait_status::stopped);
    ++ended;
  };
  const coroutine waiting = wait();
  fence.signal(1);
  await([&] { return ended == 1; });
  stop.request();
  await([&] { return ended == 2; });
  loop.reset();  // waits for the turn in which the coroutine has ended
}

TEST_CASE_TEMPLATE("[A28] [A37] a signaller, a pool of three threads and coroutines hand on values and lose none", Kind,
                   EVERY_LOOP_KIND) {
  constexpr std::uint64_t rounds = 2'000;
  std::array<typename Kind::fence, 4> there;
  std::array<typename Kind::fence, 4> back;
  std::array<std::uint64_t, 4> data{};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<int> ended{0};
  thread_pool pool(3);
  std::optional<loop_of<Kind, thread_pool>> loop(std::in_place, pool);
  const auto answer = [&](std::size_t which) -> coroutine {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (co_await loop->reached(there[which], round) != wait_status::reached) ++wrong;
      if (data[which] != round) ++wrong;
      back[which].signal(round);
    }
    ++ended;
  };
  std::deque<coroutine> answering;
  for (std::size_t which = 0; which < there.size(); ++which) answering.push_back(answer(which));
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (std::size_t which = 0; which < there.size(); ++which) {
      data[which] = round;
      there[which].signal(round);
    }
    for (const auto& each : back) static_cast<void>(each.wait(round));
  }
  await([&] { return ended == 4; });
  loop.reset();
  CHECK(wrong == 0);
}

TEST_CASE("a loop waits for a turn that is under way before it ends") {
  thread_pool pool(1);
  std::atomic<int> step{0};
  std::optional<tidemark::executor_loop<thread_pool>> loop(std::in_place, pool);
  loop->post([&] {
    step = 1;
    await([&] { return step == 2; });
    step = 3;
  });
  await([&] { return step == 1; });
  const background later{[&] {
    std::this_thread::yield();
    step = 2;
  }};
  loop.reset();
  CHECK(step == 3);
}
