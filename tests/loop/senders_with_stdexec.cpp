// SPDX-License-Identifier: BSL-1.0
//
// Senders of a loop with the algorithms of stdexec. CMake leaves this test out where it does not find that library.
#include <tidemark/loop/senders.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <stdexec/execution.hpp>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

#include "support/receiver.hpp"
#include "support/threads.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::loop_scheduler;
using tidemark::run_status;
using tidemark::wait_status;
using tidemark::when_all_reached;
using tidemark::when_any_reached;
using tidemark::when_reached;
using tidemark::when_reached_for;

namespace {

/// A loop with a thread that runs it.
struct running_loop {
  running_loop() = default;
  running_loop(const running_loop&) = delete;
  running_loop& operator=(const running_loop&) = delete;
  ~running_loop() { on.stop(); }

  tidemark::wait_loop on;
  std::thread::id thread{};  // to be read in what the loop has run, or after it
  background runner{[this] {
    thread = std::this_thread::get_id();
    CHECK(on.run() == run_status::stopped);
  }};
};

/// How an operation of this sender ends.
template <class Sender>
wait_status end_of(Sender sender) {
  try {
    return stdexec::sync_wait(std::move(sender)).has_value() ? wait_status::reached : wait_status::stopped;
  } catch (wait_status how) {
    return how;
  }
}

/// The same sender, for receivers whose environment has this stop token.
template <class Sender, class Token>
auto stopped_by(Sender sender, Token token) {
  return std::move(sender) | stdexec::write_env(stdexec::prop{stdexec::get_stop_token, token});
}

constexpr auto current_thread = []() noexcept { return std::this_thread::get_id(); };

using tidemark::wait_loop;
using waits_for_one = decltype(when_reached(std::declval<wait_loop&>(), std::declval<const tidemark::fence&>(), 1));
using waits_for_any =
    decltype(when_any_reached(std::declval<wait_loop&>(), std::declval<const std::array<tidemark::awaited, 2>&>()));
using scheduler_of_loop = decltype(loop_scheduler(std::declval<wait_loop&>()));
using schedules = decltype(std::declval<scheduler_of_loop&>().schedule());

static_assert(stdexec::sender<waits_for_one> && stdexec::sender<const waits_for_one&> &&
              stdexec::sender<waits_for_any>);
static_assert(stdexec::sender_in<waits_for_one> && stdexec::sender_in<waits_for_any> && stdexec::sender_in<schedules>);
static_assert(stdexec::sender_of<waits_for_one, stdexec::set_value_t()>);
static_assert(stdexec::sender_of<waits_for_one, stdexec::set_error_t(wait_status)>);
static_assert(stdexec::sender_of<waits_for_one, stdexec::set_stopped_t()>);
static_assert(stdexec::sender_of<waits_for_any, stdexec::set_value_t(std::size_t)>);
static_assert(stdexec::sender_of<schedules, stdexec::set_value_t()>);
static_assert(stdexec::scheduler<scheduler_of_loop>);
static_assert(std::is_same_v<stdexec::schedule_result_t<scheduler_of_loop>, schedules>);

}  // namespace

TEST_CASE("sync_wait() returns when a loop on another thread sees the value reached, and when it was reached before") {
  running_loop loop;
  tidemark::fence fence;
  int data = 0;
  const background signaller{[&] {
    data = 7;
    fence.signal(3);
  }};
  CHECK(stdexec::sync_wait(when_reached(loop.on, fence, 3)).has_value());
  CHECK(data == 7);
  const auto sender = when_reached(loop.on, fence.view(), 2);
  CHECK(stdexec::sync_wait(sender).has_value());
  CHECK(stdexec::sync_wait(sender).has_value());
}

TEST_CASE("then() calls on the thread of the loop, and sync_wait() returns the result") {
  running_loop loop;
  tidemark::fence fence;
  const background signaller{[&] { fence.signal(1); }};
  const auto result =
      stdexec::sync_wait(when_reached(loop.on, fence, 1) | stdexec::then(current_thread) |
                         stdexec::then([](std::thread::id thread) noexcept { return std::pair{thread, 42}; }));
  REQUIRE(result.has_value());
  CHECK((std::get<0>(*result) == std::pair{loop.thread, 42}));
  CHECK(loop.thread != std::this_thread::get_id());
}

TEST_CASE("what then() is given may throw, and sync_wait() throws it") {
  running_loop loop;
  const tidemark::fence fence{1};
  const auto throws = [] { throw 42; };
  CHECK_THROWS_AS(stdexec::sync_wait(when_reached(loop.on, fence, 1) | stdexec::then(throws)), int);
}

TEST_CASE("when_all() completes when both of two values are reached, and so does when_all_reached()") {
  running_loop loop;
  tidemark::fence first;
  tidemark::progress_fence second;
  const background signaller{[&] {
    second.signal(2);
    first.signal(1);
  }};
  const auto both = stdexec::sync_wait(
      stdexec::when_all(when_reached(loop.on, first, 1) | stdexec::then([]() noexcept { return 1; }),
                        when_reached(loop.on, second, 2) | stdexec::then([]() noexcept { return 2; })));
  REQUIRE(both.has_value());
  CHECK((*both == std::tuple{1, 2}));
  const std::array those{tidemark::awaited{first, 1}, tidemark::awaited{second, 2}};
  CHECK(stdexec::sync_wait(when_all_reached(loop.on, those)).has_value());
}

TEST_CASE("the value of a sender of any is the position of the one that is reached") {
  running_loop loop;
  const tidemark::fence first;
  tidemark::fence second;
  const background signaller{[&] { second.signal(1); }};
  const auto which = stdexec::sync_wait(
      when_any_reached(loop.on, std::array{tidemark::awaited{first, 1}, tidemark::awaited{second, 1}}));
  REQUIRE(which.has_value());
  CHECK(std::get<0>(*which) == 1);
}

TEST_CASE("sync_wait() throws `timeout` at the deadline, and `lost` if the timeline is poisoned") {
  running_loop loop;
  tidemark::fence fence;
  const auto start = std::chrono::steady_clock::now();
  CHECK(end_of(when_reached_for(loop.on, fence, 1, 2ms)) == wait_status::timeout);
  CHECK(std::chrono::steady_clock::now() >= start + 2ms);
  const background poisoner{[&] { fence.poison(); }};
  CHECK(end_of(when_reached_for(loop.on, fence, 1, 1h)) == wait_status::lost);
}

TEST_CASE("an algorithm may take the error of a sender for a value") {
  running_loop loop;
  const tidemark::fence fence;
  const auto how = stdexec::sync_wait(when_reached_for(loop.on, fence, 1, 1ms) |
                                      stdexec::then([]() noexcept { return wait_status::reached; }) |
                                      stdexec::upon_error([](wait_status error) noexcept { return error; }));
  REQUIRE(how.has_value());
  CHECK(std::get<0>(*how) == wait_status::timeout);
}

TEST_CASE("a stop source in the receiver's environment ends an operation, before it starts and meanwhile") {
  running_loop loop;
  const tidemark::fence fence{1};
  stdexec::inplace_stop_source before;
  before.request_stop();
  CHECK(end_of(stopped_by(when_reached(loop.on, fence, 2), before.get_token())) == wait_status::stopped);
  CHECK(end_of(stopped_by(when_reached(loop.on, fence, 1), before.get_token())) == wait_status::reached);
  CHECK(end_of(stopped_by(loop_scheduler(loop.on).schedule(), before.get_token())) == wait_status::stopped);
  stdexec::inplace_stop_source meanwhile;
  const background stopper{[&] { meanwhile.request_stop(); }};
  CHECK(end_of(stopped_by(when_reached_for(loop.on, fence, 2, 1h), meanwhile.get_token())) == wait_status::stopped);
}

TEST_CASE("when one of when_all() fails, the wait of the other one is stopped") {
  running_loop loop;
  tidemark::fence lost;
  const tidemark::fence never;
  const background poisoner{[&] { lost.poison(); }};
  bool is_stopped = false;
  CHECK(end_of(stdexec::when_all(when_reached(loop.on, lost, 1),
                                 when_reached(loop.on, never, 1) | stdexec::upon_stopped([&]() noexcept {
                                   is_stopped = true;
                                 }))) == wait_status::lost);
  CHECK(is_stopped);
}

TEST_CASE("starts_on() and schedule() with the scheduler of a loop run on its thread") {
  running_loop loop;
  const auto on = loop_scheduler(loop.on);
  const auto started = stdexec::sync_wait(stdexec::starts_on(on, stdexec::just() | stdexec::then(current_thread)));
  REQUIRE(started.has_value());
  CHECK(std::get<0>(*started) == loop.thread);
  const auto scheduled = stdexec::sync_wait(stdexec::schedule(on) | stdexec::then(current_thread));
  REQUIRE(scheduled.has_value());
  CHECK(std::get<0>(*scheduled) == loop.thread);
}

TEST_CASE("a sender that let_value() is given on a loop may wait on the same loop, or on another one") {
  running_loop first;
  running_loop second;
  tidemark::fence fence;
  const auto ended_on = [&](running_loop& loop) {
    return stdexec::sync_wait(stdexec::schedule(loop_scheduler(first.on)) | stdexec::let_value([&] {
                                CHECK(std::this_thread::get_id() == first.thread);
                                fence.signal(1);
                                return when_reached(loop.on, fence, 1);
                              }) |
                              stdexec::then(current_thread));
  };
  const auto same = ended_on(first);
  REQUIRE(same.has_value());
  CHECK(std::get<0>(*same) == first.thread);
  const auto other = ended_on(second);
  REQUIRE(other.has_value());
  CHECK(std::get<0>(*other) == second.thread);
}

TEST_CASE("senders of a loop say that they complete on it, however they do") {
  wait_loop first;
  wait_loop second;
  const tidemark::fence fence;
  const auto of_wait = stdexec::get_env(when_reached(first, fence, 1));
  CHECK(stdexec::get_completion_scheduler<stdexec::set_value_t>(of_wait) == loop_scheduler(first));
  CHECK(stdexec::get_completion_scheduler<stdexec::set_value_t>(of_wait) != loop_scheduler(second));
  CHECK(stdexec::get_completion_scheduler<stdexec::set_stopped_t>(of_wait) == loop_scheduler(first));
  const auto of_schedule = stdexec::get_env(stdexec::schedule(loop_scheduler(second)));
  CHECK(stdexec::get_completion_scheduler<stdexec::set_value_t>(of_schedule) == loop_scheduler(second));
  CHECK(stdexec::get_forward_progress_guarantee(loop_scheduler(first)) ==
        stdexec::forward_progress_guarantee::parallel);
}

TEST_CASE("a receiver that does not belong to stdexec is served as it is without stdexec") {
  wait_loop on;
  tidemark::fence fence;
  completion kept;
  auto operation = when_reached(on, fence, 1).connect(receiver(kept));
  operation.start();
  fence.signal(1);
  CHECK(on.poll() == 1);
  CHECK(kept.is(wait_status::reached));
}
