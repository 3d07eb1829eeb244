// SPDX-License-Identifier: BSL-1.0
//
// What is left when a loop is destroyed, where assertions do nothing, as with NDEBUG: it touches the loop no more.
#define TIDEMARK_ASSERT(condition, text) static_cast<void>(0)

#include <tidemark/fence/loop_uring.hpp>
#include <tidemark/fence/senders.hpp>
#include <tidemark/fence/wait_loop.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <type_traits>

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

}  // namespace

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
