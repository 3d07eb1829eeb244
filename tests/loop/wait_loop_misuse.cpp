// SPDX-License-Identifier: BSL-1.0
//
// Misuse of a loop: what is reported, and what happens to what is left.
#include "support/misuse_hook.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <thread>

#include <unistd.h>

#include <tidemark/loop/executor_loop.hpp>
#include <tidemark/loop/loop_uring.hpp>
#include <tidemark/loop/senders.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/coroutine.hpp"
#include "support/executors.hpp"

using namespace testing;

namespace {

const auto nothing = [] {};
const std::string too_early = "a loop was destroyed before its registrations and its posted work";

}  // namespace

TEST_CASE("a loop that is destroyed before its registrations, coroutines and posts is reported") {
  CHECK(reported_by([] {
          tidemark::fence fence;
          std::optional<tidemark::wait_loop> loop{std::in_place};
          auto waits = loop->on_reached(fence, 1, nothing);
          loop.reset();
        }) == too_early);
  CHECK(reported_by([] {
          tidemark::fence fence;
          std::optional<tidemark::wait_loop> loop{std::in_place};
          const auto wait = [&]() -> coroutine { static_cast<void>(co_await loop->reached(fence, 1)); };
          const coroutine waiting = wait();
          loop.reset();
        }) == too_early);
  CHECK(reported_by([] {
          std::optional<tidemark::wait_loop> loop{std::in_place};
          const auto move = [&]() -> coroutine { co_await loop->schedule(); };
          const coroutine moving = move();
          loop.reset();
        }) == too_early);
  CHECK(reported_by([] {
          std::optional<tidemark::wait_loop> loop{std::in_place};
          const auto idle = loop->make_task(nothing);
          loop.reset();
        }) == too_early);
#if defined(__linux__)
  CHECK(reported_by([] {
          std::optional<tidemark::wait_loop> loop{std::in_place};
          const tidemark::loop_uring_wait<tidemark::wait_loop> idle(*loop, -1);
          loop.reset();
        }) == too_early);
#endif
  CHECK(reported_by([] {
          std::optional<tidemark::wait_loop> loop{std::in_place};
          int ends[2] = {-1, -1};
          REQUIRE(::pipe(ends) == 0);
          {
            auto watch = loop->on_readable(ends[0], nothing);
            auto refused = loop->on_readable(-1, nothing);
            loop.reset();
          }
          ::close(ends[0]);
          ::close(ends[1]);
        }) == too_early);
  CHECK(reported_by([] {
          tidemark::fence fence{1};
          std::optional<tidemark::wait_loop> loop{std::in_place};
          auto ran = loop->on_reached(fence, 1, nothing);
          loop->poll();
          auto cancelled = loop->on_reached(fence, 2, nothing);
          CHECK(cancelled.cancel() == tidemark::callback_state::cancelled);
          loop.reset();
          CHECK(ran.state() == tidemark::callback_state::ran);
          CHECK(cancelled.state() == tidemark::callback_state::cancelled);
        }) == "");
  CHECK(reported_by([] {
          std::optional<tidemark::wait_loop> loop{std::in_place};
          loop->post(nothing);
          loop.reset();
        }) == "");
  // A registration that only a posted callable keeps is reported, and cancelled before that callable is destroyed.
  CHECK(reported_by([] {
          tidemark::fence fence;
          std::optional<tidemark::wait_loop> loop{std::in_place};
          using callback = decltype(loop->on_reached(fence, 1, nothing));
          const tidemark::awaited first{fence, 1};
          loop->post([waits = std::make_shared<callback>(*loop, first, nothing)] {});
          loop.reset();
        }) == too_early);
}

TEST_CASE("a loop that is destroyed by code that it runs, or while another thread runs it, is reported") {
  const std::string by_its_own_code = "a loop was destroyed by code that it runs";
  CHECK(reported_by([] {
          auto loop = std::make_unique<tidemark::wait_loop>();
          loop->post([&] { loop.reset(); });
          loop->poll();
        }) == by_its_own_code);
  CHECK(reported_by([] {
          const tidemark::fence fence{1};
          auto loop = std::make_unique<tidemark::wait_loop>();
          const auto call = loop->on_reached(fence, 1, [&] { loop.reset(); });
          static_cast<void>(loop->run());
        }) == by_its_own_code);
  CHECK(reported_by([] {
          const tidemark::fence fence;
          auto loop = std::make_unique<tidemark::wait_loop>();
          const auto wait = [&]() -> coroutine {
            co_await loop->schedule();
            loop.reset();
          };
          const coroutine waiting = wait();
          static_cast<void>(loop->run_one());
        }) == by_its_own_code);
  // A call within a call.
  CHECK(reported_by([] {
          auto loop = std::make_unique<tidemark::wait_loop>();
          loop->post([&] {
            loop->poll();
            loop.reset();
          });
          loop->poll();
        }) == by_its_own_code);
  CHECK(reported_by([] {
          manual_executor executor;
          auto loop = std::make_unique<tidemark::executor_loop<manual_executor>>(executor);
          loop->post([&] { loop.reset(); });
          executor.run();
        }) == by_its_own_code);
  CHECK(reported_by([] {
          tidemark::fence runs;
          tidemark::fence never;
          std::optional<tidemark::wait_loop> loop{std::in_place};
          loop->post([&] {
            runs.signal(1);
            static_cast<void>(never.wait(1));
          });
          std::thread runner([&] { loop->poll(); });
          static_cast<void>(runs.wait(1));
          loop.reset();
          runner.join();
        }) == "a loop was destroyed while another thread runs it");
  // One that another loop runs may do so, and so may code that the loop ran before.
  CHECK(reported_by([] {
          tidemark::wait_loop outer;
          auto loop = std::make_unique<tidemark::wait_loop>();
          outer.post([&] {
            loop->post(nothing);
            loop->poll();
            loop.reset();
          });
          outer.poll();
        }) == "");
}

TEST_CASE("what one coroutine awaits on a loop, and another one awaits, too, is reported") {
  const std::string two_coroutines = "an awaitable of a loop was awaited by two coroutines at once";
  CHECK(reported_by([] {
          tidemark::wait_loop loop;
          tidemark::fence fence;
          auto reached = loop.reached(fence, 1);
          const auto wait = [](auto& one) -> coroutine { static_cast<void>(co_await one); };
          const coroutine first = wait(reached);
          const coroutine second = wait(reached);
        }) == two_coroutines);
  CHECK(reported_by([] {
          tidemark::wait_loop loop;
          auto soon = loop.schedule();
          const auto move = [](auto& to) -> coroutine { co_await to; };
          const coroutine first = move(soon);
          const coroutine second = move(soon);
        }) == two_coroutines);
}

TEST_CASE("what is left of what was made while a loop was destroyed is reported, and nothing that is gone") {
  using loop_type = tidemark::basic_loop<tidemark::native_platform>;
  /// Calls a function with the loop when it is destroyed.
  struct at_end {
    void operator()(loop_type* of) const { then(*of); }
    void (*then)(loop_type&);
  };
  const auto report_of = [](void (*then)(loop_type&)) {
    return reported_by([then] {
      tidemark::wait_loop loop;
      loop.post([end = std::unique_ptr<loop_type, at_end>(&loop, at_end{then})] {});
    });
  };
  using task = decltype(std::declval<loop_type&>().make_task(nothing));
  using callback = decltype(std::declval<loop_type&>().on_reached(std::declval<tidemark::awaited>(), nothing));
  static tidemark::fence fence;
  static std::optional<task> made;
  static std::optional<callback> registered;
  CHECK(report_of([](loop_type& of) { made.emplace(of, nothing); }) == too_early);
  CHECK(report_of([](loop_type& of) { registered.emplace(of, tidemark::awaited{fence, 1}, nothing); }) == too_early);
  CHECK(report_of([](loop_type& of) { of.post(nothing); }) == "");
  CHECK(report_of([](loop_type& of) {
          made.emplace(of, nothing);
          made.reset();
          registered.emplace(of, tidemark::awaited{fence, 1}, nothing);
          registered.reset();
        }) == "");
}

TEST_CASE("a sender's operation that is destroyed before it has completed is reported, and none that never began is") {
  struct receives {
    void set_value() const {}
    void set_error(tidemark::wait_status) const {}
    void set_stopped() const {}
  };
  const std::string incomplete = "a sender's operation was destroyed before it has completed";
  CHECK(reported_by([] {
          tidemark::wait_loop loop;
          auto soon = tidemark::loop_scheduler(loop).schedule().connect(receives{});
          soon.start();
        }) == incomplete);
  CHECK(reported_by([] {
          tidemark::wait_loop loop;
          tidemark::fence fence;
          auto waits = tidemark::when_reached(loop, fence, 1).connect(receives{});
          waits.start();
        }) == incomplete);
  CHECK(reported_by([] {
          tidemark::wait_loop loop;
          tidemark::fence fence;
          auto soon = tidemark::loop_scheduler(loop).schedule().connect(receives{});
          soon.start();
          auto waits = tidemark::when_reached(loop, fence, 0).connect(receives{});
          waits.start();
          loop.poll();
          auto never = tidemark::loop_scheduler(loop).schedule().connect(receives{});
          auto never_waits = tidemark::when_reached(loop, fence, 1).connect(receives{});
        }) == "");
}
