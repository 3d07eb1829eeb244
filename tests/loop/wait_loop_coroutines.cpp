// SPDX-License-Identifier: BSL-1.0
//
// Coroutines on a loop.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <version>

#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/platform/platform.hpp>

#include "support/coroutine.hpp"
#include "support/counted_allocations.hpp"
#include "support/loop_kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

using namespace testing;
using namespace std::chrono_literals;
using tidemark::run_status;
using tidemark::wait_any_result;
using tidemark::wait_status;

namespace {

// Compilers must not see into these.
[[gnu::noinline]] void set_errno(int to) { errno = to; }
[[gnu::noinline]] int get_errno() { return errno; }

/// As the library does it where a call of the system may fail.
void fail_and_keep_errno() {
  const tidemark::detail::errno_keeper kept;
  static_cast<void>(std::strtoul("99999999999999999999999", nullptr, 10));
}

}  // namespace

TEST_CASE_TEMPLATE("[A19] a coroutine goes on when its value is reached, and at once if it was reached before", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence{1};
  std::vector<int> steps;
  const auto wait_twice = [&]() -> coroutine {
    CHECK(co_await loop.reached(fence, 1) == wait_status::reached);
    steps.push_back(1);
    CHECK(co_await loop.reached(fence.view(), 3) == wait_status::reached);
    steps.push_back(3);
  };
  const coroutine waiting = wait_twice();
  CHECK(steps == std::vector{1});
  CHECK(loop.poll() == 0);
  fence.signal(3);
  CHECK(steps == std::vector{1});
  CHECK(loop.poll() == 1);
  CHECK(steps == std::vector{1, 3});
  CHECK(waiting.is_done());
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A14] a coroutine's wait ends at its deadline, and never before", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  const auto wait = [&]() -> coroutine {
    const auto start = std::chrono::steady_clock::now();
    const auto start_of_system = std::chrono::system_clock::now();
    CHECK(co_await loop.reached_for(fence, 1, 2ms) == wait_status::timeout);
    CHECK(std::chrono::steady_clock::now() >= start + 2ms);
    CHECK(co_await loop.reached_for(fence, 1, -1s) == wait_status::timeout);
    CHECK(co_await loop.reached_until(fence, 1, start + 4ms) == wait_status::timeout);
    CHECK(std::chrono::steady_clock::now() >= start + 4ms);
    CHECK(co_await loop.reached_until(fence, 1, start_of_system) == wait_status::timeout);
    CHECK(co_await loop.reached_for(fence, 0, 0s) == wait_status::reached);
    fence.signal(1);
    CHECK(co_await loop.reached_for(fence, 1, 1h) == wait_status::reached);
    loop.stop();
  };
  const coroutine waiting = wait();
  CHECK(loop.run() == run_status::stopped);
  CHECK(waiting.is_done());
}

TEST_CASE_TEMPLATE("[A14] of several deadlines each wait ends at its own one", Kind, EVERY_LOOP_KIND) {
  // Until all waits began before the first deadline: a slow machine needs more time for that.
  for (auto unit = 2ms;; unit *= 2) {
    typename Kind::loop loop;
    typename Kind::fence fence;
    std::vector<int> order;
    const auto start = std::chrono::steady_clock::now();
    const auto wait = [&](int units) -> coroutine {
      CHECK(co_await loop.reached_until(fence, 1, start + units * unit) == wait_status::timeout);
      CHECK(std::chrono::steady_clock::now() >= start + units * unit);
      order.push_back(units);
    };
    std::list<coroutine> waiting;
    for (const int each : {3, 1, 4, 2}) waiting.push_back(wait(each));
    const bool began_in_time = std::chrono::steady_clock::now() < start + unit;
    while (order.size() != 4) CHECK(loop.run_one() == run_status::ran);
    if (!began_in_time) continue;
    CHECK(order == std::vector{1, 2, 3, 4});
    break;
  }
}

TEST_CASE_TEMPLATE("[A14] a stop token ends a coroutine's wait, from inside, before it begins, and from a thread", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  manual_stop first;
  manual_stop second;
  std::vector<wait_status> ended;
  const auto wait = [&](manual_stop::token token) -> coroutine {
    ended.push_back(co_await loop.reached(fence, 1, token));
    ended.push_back(co_await loop.reached_for(fence, 1, 1h, token));
    ended.push_back(co_await loop.reached(fence, 0, token));
  };
  const coroutine one = wait(first.get_token());
  CHECK(ended.empty());
  first.request();
  while (loop.poll() != 0) {
  }
  CHECK(ended == std::vector{wait_status::stopped, wait_status::stopped, wait_status::reached});
  const coroutine other = wait(second.get_token());
  const background runner{[&] {
    for (int i = 0; i < 2; ++i) CHECK(loop.run_one() == run_status::ran);
  }};
  CHECK(runner.falls_asleep());
  second.request();
  await([&] { return runner.has_returned(); });
  CHECK(other.is_done());
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A14] what is awaited may be awaited again, and sees a stop that came in between", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  manual_stop stop;
  std::vector<wait_status> ended;
  const auto wait = [&]() -> coroutine {
    auto reached = loop.reached(fence, 1, stop.get_token());
    auto in_time = loop.reached_for(fence, 1, 0ms, stop.get_token());
    ended.push_back(co_await in_time);
    stop.request();
    for (int i = 0; i < 2; ++i) ended.push_back(co_await reached);
    ended.push_back(co_await in_time);
    fence.signal(1);
    for (int i = 0; i < 2; ++i) ended.push_back(co_await reached);
  };
  const coroutine one = wait();
  while (ended.empty()) loop.poll();
  while (loop.poll() != 0) {
  }
  CHECK(one.is_done());
  CHECK(ended == std::vector{wait_status::timeout, wait_status::stopped, wait_status::stopped, wait_status::stopped,
                             wait_status::reached, wait_status::reached});
  CHECK(is_idle(fence));
}

#if defined(__cpp_lib_jthread)
TEST_CASE("[A14] a std::stop_token ends a coroutine's wait") {
  tidemark::wait_loop loop;
  tidemark::fence fence;
  std::stop_source stop;
  const auto wait = [&]() -> coroutine {
    CHECK(co_await loop.reached(fence, 1, stop.get_token()) == wait_status::stopped);
  };
  const coroutine waiting = wait();
  stop.request_stop();
  CHECK(loop.poll() == 1);
  CHECK(waiting.is_done());
}
#endif

TEST_CASE_TEMPLATE("[A120] the wait of a coroutine on a lost timeline ends with lost, if it was not reached", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::vector<wait_status> ended;
  const auto wait = [&](std::uint64_t target) -> coroutine { ended.push_back(co_await loop.reached(fence, target)); };
  const coroutine low = wait(1);
  const coroutine high = wait(2);
  fence.signal(1);
  fence.poison();
  CHECK(loop.poll() == 2);
  CHECK(ended == std::vector{wait_status::reached, wait_status::lost});
}

TEST_CASE_TEMPLATE("[A65] [trap 11] any_of() names the timeline that ended it, and leaves no registration", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence first;
  typename Kind::fence second;
  using awaited = typename Kind::awaited;
  manual_stop stop;
  std::vector<wait_any_result> ended;
  const auto wait = [&]() -> coroutine {
    ended.push_back(co_await loop.any_of(std::array{awaited{first, 1}, awaited{second, 1}}));
    ended.push_back(co_await loop.any_of_for(std::array{awaited{first, 1}, awaited{second, 2}}, 1ms));
    ended.push_back(co_await loop.any_of(std::array{awaited{first, 1}, awaited{second, 1}}));
    ended.push_back(co_await loop.any_of_until(std::array{awaited{first, 1}, awaited{first, 2}},
                                               std::chrono::steady_clock::now() + 1h, stop.get_token()));
    first.poison();
    ended.push_back(co_await loop.any_of(std::array{awaited{second, 9}, awaited{first, 1}}));
    ended.push_back(co_await loop.any_of(std::array{awaited{first, 1}, awaited{second, 1}}));
  };
  const coroutine waiting = wait();
  second.signal(1);
  CHECK(loop.run_one() == run_status::ran);
  CHECK(loop.run_one() == run_status::ran);  // the deadline
  CHECK(loop.run_for(1ms) == run_status::timeout);
  stop.request();
  while (!waiting.is_done()) CHECK(loop.run_one() == run_status::ran);
  CHECK(ended == std::vector<wait_any_result>{{wait_status::reached, 1},
                                              {wait_status::timeout, 2},
                                              {wait_status::reached, 1},
                                              {wait_status::stopped, 2},
                                              {wait_status::lost, 1},
                                              {wait_status::reached, 1}});
  CHECK(is_idle(second));
}

TEST_CASE_TEMPLATE("[A65] [trap 11] all_of() ends with the last value, also of timelines that jump or stand twice",
                   Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence first;
  typename Kind::fence second;
  using awaited = typename Kind::awaited;
  int ends = 0;
  const auto wait = [&]() -> coroutine {
    CHECK(co_await loop.all_of(std::array{awaited{first, 1}, awaited{second, 1}, awaited{first, 3}}) ==
          wait_status::reached);
    ++ends;
    CHECK(co_await loop.all_of(std::array{awaited{first, 1}, awaited{second, 1}}) == wait_status::reached);
    ++ends;
    CHECK(co_await loop.all_of_for(std::array{awaited{first, 1}, awaited{second, 6}}, 1ms) == wait_status::timeout);
    CHECK(co_await loop.all_of_until(std::array{awaited{first, 9}, awaited{second, 9}},
                                     std::chrono::steady_clock::now() + 1h) == wait_status::lost);
    ++ends;
  };
  const coroutine waiting = wait();
  first.signal(2);
  CHECK(loop.poll() == 0);
  second.signal(5);
  CHECK(loop.poll() == 0);
  CHECK(ends == 0);
  first.signal(3);
  CHECK(loop.run_one() == run_status::ran);
  CHECK(ends == 2);
  CHECK(loop.run_one() == run_status::ran);  // the deadline
  second.poison();
  while (!waiting.is_done()) CHECK(loop.run_one() == run_status::ran);
  CHECK(ends == 3);
  CHECK(is_idle(first));
}

TEST_CASE_TEMPLATE("[A65] any_of() and all_of() of nothing go on at once, as wait_any() and wait_all() do", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  const std::array<typename Kind::awaited, 0> nothing{};
  CHECK(tidemark::wait_all(nothing) == wait_status::reached);
  CHECK(tidemark::wait_any(nothing) == wait_any_result{wait_status::reached, 0});
  manual_stop stop;
  stop.request();
  const auto wait = [&]() -> coroutine {
    CHECK(co_await loop.all_of(nothing) == wait_status::reached);
    CHECK(co_await loop.any_of(nothing) == wait_any_result{wait_status::reached, 0});
    CHECK(co_await loop.all_of_for(nothing, 1h) == wait_status::reached);
    CHECK(co_await loop.any_of_for(nothing, 0ms) == wait_any_result{wait_status::reached, 0});
    CHECK(co_await loop.all_of(nothing, stop.get_token()) == wait_status::reached);
    CHECK(co_await loop.any_of(nothing, stop.get_token()) == wait_any_result{wait_status::reached, 0});
  };
  const coroutine waiting = wait();
  CHECK(waiting.is_done());
  CHECK(loop.poll() == 0);
}

TEST_CASE_TEMPLATE("schedule() moves a coroutine to a thread that runs the loop", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  bool has_moved = false;
  // Not std::this_thread, which Clang 14 asks only once in a coroutine.
  using tidemark::native_platform;
  const auto starter = native_platform::current_thread();
  const auto move = [&]() -> coroutine {
    CHECK(native_platform::current_thread() == starter);
    co_await loop.schedule();
    CHECK(native_platform::current_thread() != starter);
    has_moved = true;
  };
  const background runner{[&] { CHECK(loop.run_one() == run_status::ran); }};
  CHECK(runner.falls_asleep());
  const coroutine moving = move();
  await([&] { return runner.has_returned(); });
  CHECK(has_moved);
}

TEST_CASE("a coroutine that goes on in another thread has the errno of that thread") {
  tidemark::wait_loop loop;
  bool has_moved = false;
  const auto move = [&]() -> coroutine {
    set_errno(1);
    fail_and_keep_errno();
    CHECK(get_errno() == 1);
    co_await loop.schedule();
    set_errno(2);
    fail_and_keep_errno();
    CHECK(get_errno() == 2);
    has_moved = true;
  };
  const background runner{[&] { CHECK(loop.run_one() == run_status::ran); }};
  CHECK(runner.blocks());
  const coroutine moving = move();
  await([&] { return runner.has_returned(); });
  CHECK(has_moved);
}

TEST_CASE_TEMPLATE("a coroutine that is destroyed while it waits leaves no registration", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  bool has_gone_on = false;
  const auto wait = [&]() -> coroutine {
    static_cast<void>(co_await loop.reached_for(fence, 1, 1h));
    has_gone_on = true;
  };
  {
    const coroutine waiting = wait();
    CHECK(loop.run_for(1ms) == run_status::timeout);
  }
  CHECK(is_idle(fence));
  {
    const coroutine ready = wait();
    fence.signal(1);
  }
  CHECK(loop.poll() == 0);
  CHECK(!has_gone_on);
}

TEST_CASE_TEMPLATE("a coroutine that is destroyed in schedule() is not resumed", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  int ran = 0;
  const auto move = [&]() -> coroutine {
    co_await loop.schedule();
    ++ran;
  };
  {
    const coroutine moving = move();
    const coroutine another = move();
  }
  CHECK(loop.poll() == 0);
  {
    std::optional<coroutine> first = move();
    std::optional<coroutine> second = move();
    const coroutine third = move();
    second.reset();
    CHECK(loop.poll() == 2);
    first.reset();
  }
  // Also after the loop has seen it: the first one destroys the second one, which is to run next.
  std::optional<coroutine> second;
  const auto destroy = [&]() -> coroutine {
    co_await loop.schedule();
    second.reset();
  };
  const coroutine first = destroy();
  second.emplace(move());
  CHECK(loop.poll() == 1);
  CHECK(ran == 2);
  // In the usual order, in which the coroutine goes before the loop does.
  const coroutine left = move();
  static_cast<void>(left);
}

TEST_CASE_TEMPLATE("a callable that the loop runs may destroy a coroutine that waits, or is to go on next", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  int ran = 0;
  const auto wait = [&](std::uint64_t target) -> coroutine {
    static_cast<void>(co_await loop.reached_for(fence, target, 1h));
    ++ran;
  };
  const auto move = [&]() -> coroutine {
    co_await loop.schedule();
    ++ran;
  };
  std::optional<coroutine> waiting = wait(2);
  std::optional<coroutine> ready = wait(1);
  std::optional<coroutine> moving;
  loop.post([&] {
    for (auto* each : {&waiting, &ready, &moving}) each->reset();
  });
  moving.emplace(move());
  fence.signal(1);
  CHECK(loop.poll() == 1);
  CHECK(is_idle(fence));
  fence.signal(2);
  CHECK(loop.poll() == 0);
  CHECK(ran == 0);
}

TEST_CASE_TEMPLATE("one schedule() may be awaited again and again", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  int ran = 0;
  const auto move = [&]() -> coroutine {
    auto soon = loop.schedule();
    for (; ran < 3; ++ran) co_await soon;
  };
  const coroutine moving = move();
  for (int i = 0; i < 3; ++i) CHECK(loop.poll() == 1);
  CHECK(loop.poll() == 0);
  CHECK(moving.is_done());
}

namespace {

/// A coroutine whose frame is always at the same place, one after the other.
struct at_one_place {
  struct promise_type {
    static void* operator new(std::size_t size) {
      REQUIRE(size <= sizeof place);
      return place;
    }
    static void operator delete(void*, std::size_t) {}
    at_one_place get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }

    alignas(std::max_align_t) static inline std::byte place[4096];
  };
  std::coroutine_handle<promise_type> handle;
};

/// Lets another function go on instead of the coroutine that awaits it.
struct goes_elsewhere {
  std::coroutine_handle<> to;
  static constexpr bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept { return to; }
  static constexpr void await_resume() noexcept {}
};

/// The loop resumes a coroutine. In that resumption another one destroys it, lets a third one whose frame has the same
/// address await the value 2, and goes on: it calls what replace() was given.
template <class Kind>
struct replacement {
  typename Kind::loop loop;
  typename Kind::fence fence;
  typename Kind::fence ended;
  int ran = 0;
  at_one_place first{};
  at_one_place second{};

  template <class Then>
  coroutine replace(Then then) {
    co_await std::suspend_always{};
    const void* const place = first.handle.address();
    first.handle.destroy();
    second = wait();
    CHECK(second.handle.address() == place);
    then();
  }
  void begin(const coroutine& replacing) {
    first = hand_over(replacing.handle());
    fence.signal(1);
  }

 private:
  at_one_place hand_over(std::coroutine_handle<> replacing) {
    CHECK(co_await loop.reached(fence, 1) == wait_status::reached);
    co_await goes_elsewhere{replacing};
  }
  at_one_place wait() {
    CHECK(co_await loop.reached(fence, 2) == wait_status::reached);
    ++ran;
    ended.signal(1);
  }
};

/// Destroys the coroutine. Returns how many bytes of the stack, which is nobody else's, have changed by that.
[[gnu::noinline]] std::size_t stack_changed_by_destroying(std::coroutine_handle<> destroyed) {
  std::array<volatile unsigned char, 16'384> own;
  for (auto& each : own) each = 0x55;
  destroyed.destroy();
  std::size_t changed = 0;
  for (const auto& each : own) changed += each != 0x55 ? 1U : 0U;
  return changed;
}

}  // namespace

TEST_CASE_TEMPLATE("a coroutine at the address of the resumed one is destroyed at once, and leaves nothing", Kind,
                   EVERY_LOOP_KIND) {
  replacement<Kind> replaced;
  const coroutine replacing = replaced.replace([&] { replaced.second.handle.destroy(); });
  replaced.begin(replacing);
  CHECK(replaced.loop.poll() == 1);
  CHECK(replacing.is_done());
  CHECK(replaced.loop.poll() == 0);
  CHECK(is_idle(replaced.fence));
}

TEST_CASE_TEMPLATE("a coroutine at the address of the resumed one is resumed by another thread meanwhile", Kind,
                   EVERY_LOOP_KIND) {
  replacement<Kind> replaced;
  const auto dog = watch(replaced.fence);
  const coroutine replacing = replaced.replace([&] {
    background other{[&] { CHECK(replaced.loop.run_one() == run_status::ran); }};
    CHECK(other.falls_asleep());
    replaced.fence.signal(2);
    CHECK(replaced.ended.wait(1) == wait_status::reached);
    other.join();
  });
  replaced.begin(replacing);
  CHECK(replaced.loop.poll() == 1);
  CHECK(replaced.ran == 1);
  replaced.second.handle.destroy();
}

TEST_CASE_TEMPLATE("a coroutine at the address of the resumed one is resumed by a call that runs the loop within it",
                   Kind, EVERY_LOOP_KIND) {
  replacement<Kind> replaced;
  const coroutine replacing = replaced.replace([&] {
    CHECK(replaced.loop.poll() == 0);
    replaced.fence.signal(2);
    CHECK(replaced.loop.poll() == 1);
    CHECK(replaced.ran == 1);
  });
  replaced.begin(replacing);
  CHECK(replaced.loop.poll() == 1);
  CHECK(replaced.loop.poll() == 0);
  replaced.second.handle.destroy();
}

TEST_CASE_TEMPLATE("a coroutine at the address of the resumed one is resumed although another one throws then", Kind,
                   EVERY_LOOP_KIND) {
  replacement<Kind> replaced;
  const coroutine replacing = replaced.replace([] { throw std::runtime_error{"told"}; });
  replaced.begin(replacing);
  CHECK_THROWS_WITH(static_cast<void>(replaced.loop.poll()), "told");
  CHECK(replaced.loop.poll() == 0);
  replaced.fence.signal(2);
  CHECK(replaced.loop.poll() == 1);
  CHECK(replaced.ran == 1);
  replaced.second.handle.destroy();
}

TEST_CASE_TEMPLATE("a coroutine at the address of the resumed one is destroyed after another one has thrown", Kind,
                   EVERY_LOOP_KIND) {
  replacement<Kind> replaced;
  const coroutine replacing = replaced.replace([] { throw std::runtime_error{"told"}; });
  replaced.begin(replacing);
  CHECK_THROWS_WITH(static_cast<void>(replaced.loop.poll()), "told");
  CHECK(stack_changed_by_destroying(replaced.second.handle) == 0);
  replaced.fence.signal(2);
  CHECK(replaced.loop.poll() == 0);
  CHECK(replaced.ran == 0);
  CHECK(is_idle(replaced.fence));
}

TEST_CASE_TEMPLATE("a coroutine that another one resumes in its resumption by the loop awaits at once", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::coroutine_handle<> resumed;
  int ends = 0;
  const auto resume = [&]() -> coroutine {
    co_await std::suspend_always{};
    resumed.resume();
    fence.signal(2);
    CHECK(loop.poll() == 1);
    CHECK(ends == 1);
  };
  const coroutine resuming = resume();
  const auto wait_twice = [&]() -> coroutine {
    CHECK(co_await loop.reached(fence, 1) == wait_status::reached);
    co_await goes_elsewhere{resuming.handle()};
    CHECK(co_await loop.reached(fence, 2) == wait_status::reached);
    ++ends;
  };
  const coroutine waiting = wait_twice();
  resumed = waiting.handle();
  fence.signal(1);
  CHECK(loop.poll() == 1);
  CHECK(resuming.is_done());
  CHECK(waiting.is_done());
}

TEST_CASE_TEMPLATE("what a coroutine throws comes out of the call that runs the loop", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  const auto wait = [&]() -> coroutine {
    static_cast<void>(co_await loop.reached(fence, 1));
    throw std::runtime_error{"told"};
  };
  const coroutine first = wait();
  const coroutine second = wait();
  fence.signal(1);
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(static_cast<void>(loop.poll()), "told");
  CHECK(loop.poll() == 0);
}

TEST_CASE_TEMPLATE("[trap 9] a coroutine that a callable resumes itself may await on the loop, too", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  int ends = 0;
  std::deque<coroutine> started;
  const auto inner = [&]() -> coroutine {
    static_cast<void>(co_await loop.reached(fence, 2));
    ++ends;
  };
  const auto outer = [&]() -> coroutine {
    static_cast<void>(co_await loop.reached(fence, 1));
    started.push_back(inner());
    // Registered by now: a loop that is run here resumes it.
    fence.signal(2);
    CHECK(loop.poll() == 1);
    CHECK(ends == 1);
    static_cast<void>(co_await loop.reached(fence, 3));
    ++ends;
  };
  const coroutine waiting = outer();
  fence.signal(1);
  CHECK(loop.poll() == 1);
  fence.signal(3);
  CHECK(loop.poll() == 1);
  CHECK(ends == 2);
}

TEST_CASE("10,000 coroutines that are resumed one by one allocate nothing for their waits") {
  tidemark::wait_loop loop;
  tidemark::progress_fence fence;
  std::uint64_t next = 0;
  const auto wait = [&](std::uint64_t target) -> coroutine {
    static_cast<void>(co_await loop.reached(fence, target));
    if (++next != target) next = 0;
  };
  std::vector<coroutine> waiting;
  waiting.reserve(10'000);
  std::size_t frames = 0;
  {
    const counted_allocations during;
    for (std::uint64_t target = 1; target <= 10'000; ++target) waiting.push_back(wait(target));
    frames = during.count();
  }
  CHECK(frames == 10'000);
  const counted_allocations during;
  for (std::uint64_t target = 1; target <= 10'000; ++target) {
    fence.signal(target);
    loop.poll();
  }
  CHECK(during.count() == 0);
  CHECK(next == 10'000);
}

TEST_CASE_TEMPLATE("[A28] [A37] coroutines on two threads and a signalling one hand turns on and lose none", Kind,
                   EVERY_LOOP_KIND) {
  constexpr std::uint64_t rounds = 2'000;
  typename Kind::loop loop;
  typename Kind::fence there;
  typename Kind::fence back;
  std::atomic<std::uint64_t> wrong{0};
  const watchdog dog{[&] { return state_of(there) + "; back: " + state_of(back); }};
  std::uint64_t data = 0;
  const auto answer = [&]() -> coroutine {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (co_await loop.reached(there, round) != wait_status::reached) ++wrong;
      if (data != round) ++wrong;
      data = 0;
      back.signal(round);
    }
  };
  const coroutine answering = answer();
  std::list<background> runners;
  for (int i = 0; i < 2; ++i) runners.emplace_back([&] { CHECK(loop.run() == run_status::stopped); });
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    data = round;
    there.signal(round);
    if (back.wait(round) != wait_status::reached) ++wrong;
    if (data != 0) ++wrong;
  }
  loop.stop();
  runners.clear();
  CHECK(wrong == 0);
  CHECK(answering.is_done());
}
