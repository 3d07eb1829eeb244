// SPDX-License-Identifier: BSL-1.0
//
// Coroutines that signallers resume.
#include <tidemark/fence/signaller_awaiter.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "support/coroutine.hpp"
#include "support/counted_allocations.hpp"
#include "support/loop_kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::reached_in_signaller;
using tidemark::wait_status;

namespace {

constexpr tidemark::fence_options fixed{.capacity = 16, .growth = tidemark::heap_growth::forbidden, .callbacks = true};

}  // namespace

TEST_CASE_TEMPLATE("[A13] [A19] a signal resumes a coroutine before it returns, or the coroutine does not suspend",
                   Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_fence fence{1};
  std::vector<int> steps;
  const auto wait = [&]() -> coroutine {
    CHECK(co_await reached_in_signaller(fence, 1) == wait_status::reached);
    steps.push_back(1);
    CHECK(co_await reached_in_signaller(fence.view(), 3) == wait_status::reached);
    steps.push_back(3);
  };
  const coroutine waiting = wait();
  CHECK(steps == std::vector{1});
  fence.signal(2);
  CHECK(steps == std::vector{1});
  fence.signal(3);
  CHECK(steps == std::vector{1, 3});
  CHECK(waiting.is_done());
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A120] a coroutine is told that its timeline is lost, also if it was lost before", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::callback_fence fence;
  std::vector<wait_status> ended;
  const auto wait = [&](std::uint64_t target) -> coroutine {
    ended.push_back(co_await reached_in_signaller(fence, target));
  };
  const coroutine low = wait(1);
  const coroutine high = wait(2);
  fence.signal(1);
  fence.poison();
  const coroutine late = wait(3);
  const coroutine early = wait(1);
  CHECK(ended == std::vector{wait_status::reached, wait_status::lost, wait_status::lost, wait_status::reached});
}

TEST_CASE_TEMPLATE("[A34] coroutines go on in the order of their targets", Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_fence fence;
  std::vector<std::uint64_t> order;
  const auto wait = [&](std::uint64_t target) -> coroutine {
    CHECK(co_await reached_in_signaller(fence, target) == wait_status::reached);
    order.push_back(target);
  };
  std::deque<coroutine> waiting;
  for (const std::uint64_t target : {4U, 2U, 3U, 1U}) waiting.push_back(wait(target));
  fence.signal(4);
  CHECK(order == std::vector<std::uint64_t>{1, 2, 3, 4});
}

TEST_CASE_TEMPLATE("[trap 9] a coroutine may signal and await the fence that has resumed it", Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_progress_fence fence;
  std::uint64_t last = 0;
  const auto step = [&](std::uint64_t from) -> coroutine {
    for (std::uint64_t target = from; target <= 1'000; target += 2) {
      CHECK(co_await reached_in_signaller(fence, target) == wait_status::reached);
      CHECK(last == target - 1);
      last = target;
      fence.signal(target + 1);
    }
  };
  const coroutine odd = step(1);
  const coroutine even = step(2);
  fence.signal(1);
  CHECK(last == 1'000);
  CHECK(odd.is_done());
  CHECK(even.is_done());
}

TEST_CASE("a coroutine that is destroyed while it is suspended leaves no registration") {
  tidemark::callback_fence fence;
  int ran = 0;
  {
    const auto wait = [&]() -> coroutine {
      static_cast<void>(co_await reached_in_signaller(fence, 1));
      ++ran;
    };
    const coroutine waiting = wait();
    CHECK_FALSE(waiting.is_done());
  }
  CHECK(is_idle(fence));
  fence.signal(1);
  CHECK(ran == 0);
}

TEST_CASE("[A32] where the heap is full and must not grow, the coroutine goes on at once and is told so") {
  tidemark::basic_fence<tidemark::native_platform, fixed> fence;
  std::vector<wait_status> ended;
  const auto wait = [&]() -> coroutine { ended.push_back(co_await reached_in_signaller(fence, 1)); };
  std::deque<coroutine> waiting;
  while (ended.empty()) waiting.push_back(wait());
  CHECK(ended == std::vector{wait_status::timeout});
  CHECK(waiting.back().is_done());
  fence.signal(1);
  CHECK(ended.size() == waiting.size());
  for (std::size_t i = 1; i < ended.size(); ++i) CHECK(ended[i] == wait_status::reached);
}

TEST_CASE("nothing is allocated for a wait but the coroutine's frame, if that is") {
  tidemark::callback_fence fence;
  const auto wait = [&]() -> coroutine {
    for (std::uint64_t target = 1; target <= 100; ++target) {
      static_cast<void>(co_await reached_in_signaller(fence, target));
    }
  };
  const counted_allocations during;
  const coroutine waiting = wait();
  for (std::uint64_t target = 1; target <= 100; ++target) fence.signal(target);
  CHECK(waiting.is_done());
  CHECK(during.count() <= 1);  // Clang may see that the frame does not outlive this function
}

TEST_CASE_TEMPLATE("[A28] [A37] while a thread signals each value, a coroutine that awaits it goes on once, with data",
                   Kind, EVERY_LOOP_KIND) {
  constexpr std::uint64_t rounds = 5'000;
  typename Kind::callback_fence asked;
  typename Kind::callback_fence answered;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  const auto wait = [&]() -> coroutine {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      asked.signal(round);
      if (co_await reached_in_signaller(answered, round) != wait_status::reached) co_return;
      if (data == round) ++seen;
    }
  };
  const background signaller{[&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      static_cast<void>(asked.wait(round));
      data = round;
      answered.signal(round);
    }
  }};
  // Goes on in this thread or in the signaller, whoever comes second.
  const coroutine waiting = wait();
  await([&] { return signaller.has_returned() && waiting.is_done(); });
  CHECK(seen == rounds);
  CHECK(is_idle(answered));
}
