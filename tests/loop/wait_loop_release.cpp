// SPDX-License-Identifier: BSL-1.0
//
// What is left when a loop is destroyed, where assertions do nothing, as with NDEBUG: it touches the loop no more.
#define TIDEMARK_ASSERT(condition, text) static_cast<void>(0)

#include <tidemark/loop/executor_loop.hpp>
#include <tidemark/loop/loop_uring.hpp>
#include <tidemark/loop/senders.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/coroutine.hpp"
#include "support/manual_stop.hpp"

using namespace testing;
using namespace std::chrono_literals;

namespace {

/// A loop in memory that becomes another thing's when the loop is gone, so that a look at the loop is noticed.
class ending_loop {
 public:
  tidemark::wait_loop& operator*() { return *loop_; }
  tidemark::wait_loop* operator->() { return loop_.get(); }
  void end() { loop_.reset(); }

 private:
  std::unique_ptr<tidemark::wait_loop> loop_ = std::make_unique<tidemark::wait_loop>();
};

/// Calls a function when it is destroyed, and does nothing when it is called.
class calls_at_end {
 public:
  explicit calls_at_end(std::function<void()> function) : function_(std::move(function)) {}
  calls_at_end(calls_at_end&& from) noexcept : function_(std::exchange(from.function_, nullptr)) {}
  calls_at_end& operator=(calls_at_end&&) = delete;
  ~calls_at_end() {
    if (function_) function_();
  }
  void operator()() const {}

 private:
  std::function<void()> function_;
};

/// A receiver that calls a function with what it is told.
struct tells {
  std::function<void(const char*)> function;

  void set_value() const { function("value"); }
  void set_error(tidemark::wait_status) const { function("error"); }
  void set_stopped() const { function("stopped"); }
};

/// An executor that never calls a turn.
struct idle_executor {
  std::vector<tidemark::loop_turn> turns;

  void execute(const tidemark::loop_turn& turn) { turns.push_back(turn); }
  void execute_at(std::chrono::steady_clock::time_point, const tidemark::loop_turn& turn) { turns.push_back(turn); }
};

/// The loops that threads run, a poll() of a descriptor, and an executor.
struct run_loop : tidemark::wait_loop {};
#if defined(__linux__)
struct polled_loop : tidemark::wait_loop {
  polled_loop() {
    CHECK(descriptor() >= 0);
    poll();
  }
};
#endif
struct executed_loop : private idle_executor, public tidemark::executor_loop<idle_executor> {
  executed_loop() : tidemark::executor_loop<idle_executor>(static_cast<idle_executor&>(*this)) { poll(); }
};
#if defined(__linux__)
#define EVERY_END run_loop, polled_loop, executed_loop
#else
#define EVERY_END run_loop, executed_loop
#endif

}  // namespace

TYPE_TO_STRING_AS("run()", run_loop);
#if defined(__linux__)
TYPE_TO_STRING_AS("poll()", polled_loop);
#endif
TYPE_TO_STRING_AS("executor", executed_loop);

TEST_CASE("a task that outlives its loop does nothing any more") {
  bool has_run = false;
  ending_loop loop;
  auto idle = loop->make_task([&] { has_run = true; });
  auto posted = loop->make_task([&] { has_run = true; });
  CHECK(posted.post());
  loop.end();
  CHECK(!idle.post());
  CHECK(!posted.post());
  CHECK(!has_run);
}

TEST_CASE("registrations that ran, were cancelled or are lost keep their state when their loop is gone") {
  using tidemark::callback_state;
  tidemark::fence reached;
  tidemark::fence poisoned;
  ending_loop loop;
  int runs = 0;
  const auto count = [&] { ++runs; };
  auto ran = loop->on_reached(reached, 1, count);
  auto cancelled = loop->on_reached(reached, 2, count);
  auto lost = loop->on_reached(poisoned, 1, count);
  auto left = loop->on_reached(reached, 3, count);
  auto gone =
      std::make_unique<tidemark::basic_callback<tidemark::native_platform, std::remove_const_t<decltype(count)>>>(
          *loop, tidemark::awaited{reached, 1}, count);
  CHECK(cancelled.cancel() == callback_state::cancelled);
  gone.reset();
  reached.signal(1);
  poisoned.poison();
  loop->poll();
  loop.end();
  CHECK(ran.state() == callback_state::ran);
  CHECK(cancelled.state() == callback_state::cancelled);
  CHECK(lost.state() == callback_state::lost);
  CHECK(left.state() == callback_state::cancelled);
  CHECK(ran.cancel() == callback_state::ran);
  CHECK(cancelled.cancel() == callback_state::cancelled);
  CHECK(lost.cancel() == callback_state::lost);
  CHECK(left.cancel() == callback_state::cancelled);
  CHECK(runs == 1);
}

TEST_CASE("coroutines that outlive their loop are never resumed, may be stopped and destroyed") {
  tidemark::fence fence;
  manual_stop stop;
  ending_loop loop;
  int ran = 0;
  const auto wait = [&]() -> coroutine {
    static_cast<void>(co_await loop->reached_for(fence, 1, 1h, stop.get_token()));
    ++ran;
  };
  const auto move = [&]() -> coroutine {
    co_await loop->schedule();
    ++ran;
  };
  {
    const coroutine waiting = wait();
    const coroutine moving = move();
    loop.end();
    stop.request();
    fence.signal(1);
  }
  CHECK(ran == 0);
}

#if defined(__linux__)
TEST_CASE("an io_uring's wait that outlives its loop does nothing any more") {
  ending_loop loop;
  const tidemark::loop_uring_wait<tidemark::wait_loop> idle(*loop, -1);
  loop.end();
}
#endif

TEST_CASE("what is told that the loop ends may destroy what else waits for it") {
  tidemark::fence fence;
  ending_loop loop;
  const auto nothing = [] {};
  using callback = tidemark::basic_callback<tidemark::native_platform, std::remove_const_t<decltype(nothing)>>;
  std::optional<coroutine> waiting;
  std::unique_ptr<callback> first;
  std::unique_ptr<callback> third;
  bool is_told = false;
  struct receives {
    std::unique_ptr<callback>* callbacks[2];
    std::optional<coroutine>* waits;
    bool* told;
    void set_value() const {}
    void set_error(tidemark::wait_status) const {}
    void set_stopped() const {
      for (auto* each : callbacks) each->reset();
      waits->reset();
      *told = true;
    }
  };
  first.reset(new callback(*loop, tidemark::awaited{fence, 1}, nothing));
  auto second = tidemark::when_reached(*loop, fence, 2).connect(receives{{&first, &third}, &waiting, &is_told});
  second.start();
  third.reset(new callback(*loop, tidemark::awaited{fence, 3}, nothing));
  const auto wait = [&]() -> coroutine { static_cast<void>(co_await loop->reached(fence, 4)); };
  waiting.emplace(wait());
  loop.end();
  CHECK(is_told);
  CHECK(third == nullptr);
}

// ---- what uses the loop while it is destroyed -----------------------------------------------------------------------

TEST_CASE_TEMPLATE("what is posted while a loop is destroyed is destroyed, too, and never runs", Loop, EVERY_END) {
  constexpr int rounds = 5;
  const auto alive = std::make_shared<int>(1);
  int ends = 0;
  bool has_run = false;
  tidemark::basic_loop<tidemark::native_platform>* base = nullptr;
  const std::function<void()> post_next = [&] {
    if (++ends == rounds) return;
    base->post([end = calls_at_end(post_next), alive, &has_run] { has_run = true; });
  };
  {
    Loop loop;
    base = &loop;
    loop.post(calls_at_end(post_next));
    loop.post([alive, &has_run] { has_run = true; });
  }
  CHECK(ends == rounds);
  CHECK(alive.use_count() == 1);
  CHECK(!has_run);
}

TEST_CASE_TEMPLATE("what begins to wait while a loop is destroyed is cancelled, too", Loop, EVERY_END) {
  using tidemark::callback_state;
  const auto nothing = [] {};
  using callback = tidemark::basic_callback<tidemark::native_platform, std::remove_const_t<decltype(nothing)>>;
  tidemark::fence fence;
  tidemark::fence reached{1};
  std::unique_ptr<callback> made;
  std::unique_ptr<callback> made_later;
  std::optional<coroutine> waiting;
  std::optional<coroutine> moving;
  bool has_resumed = false;
  const auto wait = [&](auto& loop) -> coroutine {
    static_cast<void>(co_await loop.reached_for(fence, 2, 1h));
    has_resumed = true;
  };
  const auto move = [&](auto& loop) -> coroutine {
    co_await loop.schedule();
    has_resumed = true;
  };
  {
    Loop loop;
    tidemark::basic_loop<tidemark::native_platform>& base = loop;
    base.post(calls_at_end([&] {
      made = std::make_unique<callback>(base, tidemark::awaited{fence, 1}, nothing);
      base.post(calls_at_end([&] {
        CHECK(made->state() == callback_state::cancelled);
        made_later = std::make_unique<callback>(base, tidemark::awaited{reached, 1}, nothing);
        waiting.emplace(wait(base));
        moving.emplace(move(base));
      }));
    }));
  }
  REQUIRE(made != nullptr);
  REQUIRE(made_later != nullptr);
  CHECK(made->state() == callback_state::cancelled);
  CHECK(made_later->state() == callback_state::cancelled);
  CHECK(made->cancel() == callback_state::cancelled);
  fence.signal(3);
  CHECK(!has_resumed);
}

TEST_CASE_TEMPLATE("a sender that is told of the loop's end may start others, which are told, too", Loop, EVERY_END) {
  tidemark::fence fence;
  std::string told;
  const auto tell = [&told](const char* name) {
    return tells{[&told, name](const char* how) { told = told + name + how + ' '; }};
  };
  auto loop = std::make_unique<Loop>();
  tidemark::basic_loop<tidemark::native_platform>& base = *loop;
  auto soon = tidemark::loop_scheduler(base).schedule().connect(tell("soon "));
  auto in_time = tidemark::when_reached_for(base, fence, 3, 1h).connect(tell("in_time "));
  auto second = tidemark::when_reached(base, fence, 2).connect(tells{[&](const char* how) {
    told = told + "second " + how + ' ';
    soon.start();
    in_time.start();
  }});
  auto first = tidemark::when_reached(base, fence, 1).connect(tells{[&](const char* how) {
    told = told + "first " + how + ' ';
    second.start();
  }});
  first.start();
  // What waits is told before what was posted is destroyed.
  base.post(calls_at_end([&] { told += "destroyed"; }));
  loop.reset();
  CHECK(told == "first stopped second stopped soon stopped in_time stopped destroyed");
  fence.signal(3);
}

TEST_CASE_TEMPLATE("a task that is posted or made while its loop is destroyed never runs", Loop, EVERY_END) {
  bool has_run = false;
  const auto note = [&has_run] { has_run = true; };
  using task = tidemark::basic_loop_task<tidemark::native_platform, std::remove_const_t<decltype(note)>>;
  std::unique_ptr<task> made;
  std::unique_ptr<task> older;
  {
    Loop loop;
    tidemark::basic_loop<tidemark::native_platform>& base = loop;
    older = std::make_unique<task>(base, note);
    base.post(calls_at_end([&] {
      made = std::make_unique<task>(base, note);
      CHECK(made->post());
      CHECK(older->post());
    }));
  }
  CHECK(!older->post());
  CHECK(!made->post());
  CHECK(!has_run);
}
