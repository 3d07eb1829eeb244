// SPDX-License-Identifier: BSL-1.0
//
// A value of a rewindable fence that stays reached, in waits that look at values [trap 14].
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <list>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/hooked_timeline.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/rewindable_target.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_waiter;
using tidemark::rewindable_fence;
using tidemark::rewindable_target;
using tidemark::wait_any_result;
using tidemark::wait_status;

namespace {

static_assert(tidemark::hooked_timeline<rewindable_target>);
static_assert(std::constructible_from<tidemark::awaited, const rewindable_target&, std::uint64_t>);
static_assert(!std::constructible_from<tidemark::awaited, const rewindable_fence&, std::uint64_t>);
static_assert(!std::is_copy_constructible_v<rewindable_target> && !std::is_move_constructible_v<rewindable_target>);

constexpr tidemark::loss_reason gone{1, "gone"};

void there_and_back(rewindable_fence& fence, std::uint64_t value) {
  fence.signal(value);
  fence.rewind(0);
}

}  // namespace

TEST_CASE("[trap 14] a target registers as a thread does, and stays reached when the value is set back") {
  rewindable_fence fence;
  {
    const rewindable_target target{fence, 5};
    CHECK(fence.monitored_value() == 4);
    fence.signal(4);
    CHECK(target.current_value() == 0);
    CHECK(target.last_reached() == 0);
    CHECK(target.wait_for(1, 0s) == wait_status::timeout);
    fence.signal(5);
    CHECK(fence.monitored_value() == no_waiter);
    fence.rewind(0);
    CHECK(target.current_value() == 1);
    CHECK(target.last_reached() == 1);
    CHECK(target.wait(1) == wait_status::reached);
    fence.poison();
    CHECK(target.current_value() == 1);
    CHECK_FALSE(target.is_poisoned());
    CHECK(target.wait(1) == wait_status::reached);
    CHECK(target.wait_for(2, 0s) == wait_status::timeout);
  }
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE("[trap 14] a target that is reached when it is made registers nowhere; one that is too late waits") {
  rewindable_fence fence{7};
  const rewindable_target met{fence, 7};
  const rewindable_target zero{fence, 0};
  CHECK(fence.monitored_value() == no_waiter);
  fence.rewind(0);
  CHECK(met.current_value() == 1);
  CHECK(zero.current_value() == 1);
  const rewindable_target late{fence, 7};
  CHECK(late.current_value() == 0);
  CHECK(fence.monitored_value() == 6);
}

TEST_CASE("[trap 14] a target that goes leaves the fence, and the others stay") {
  rewindable_fence fence;
  std::optional<rewindable_target> low{std::in_place, fence, 2};
  std::optional<rewindable_target> high{std::in_place, fence, 4};
  CHECK(fence.monitored_value() == 1);
  low.reset();
  CHECK(fence.monitored_value() == 3);
  there_and_back(fence, 4);
  CHECK(high->last_reached() == 1);
  high.reset();
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE("[A120][trap 14] a target whose value never came is lost with its fence, with the reason") {
  rewindable_fence fence;
  const rewindable_target target{fence, 5};
  CHECK(target.loss() == nullptr);
  fence.poison(gone);
  CHECK(target.is_poisoned());
  CHECK(target.loss() == &gone);
  CHECK(target.current_value() == UINT64_MAX);
  CHECK(target.last_reached() == 0);
  CHECK(target.wait(1) == wait_status::lost);
  const rewindable_target later{fence, 5};
  CHECK(later.wait(1) == wait_status::lost);
  fence.signal(5);
  CHECK(target.wait(1) == wait_status::lost);
  CHECK(tidemark::wait_any({{target, 1}}) == wait_any_result{wait_status::lost, 0});
}

TEST_CASE("[A65][trap 14] waits for several see a value that was set back before they began, and while they sleep") {
  rewindable_fence fence;
  tidemark::fence other;
  const rewindable_target early{fence, 1};
  there_and_back(fence, 1);
  CHECK(tidemark::wait_any({{other, 1}, {early, 1}}) == wait_any_result{wait_status::reached, 1});

  const rewindable_target target{fence, 3};
  std::atomic<bool> any_is_over{false};
  std::list<background> threads;
  threads.emplace_back([&] {
    CHECK(tidemark::wait_any({{target, 1}, {other, 2}}) == wait_any_result{wait_status::reached, 0});
    any_is_over = true;
  });
  threads.emplace_back(
      [&] { CHECK(tidemark::wait_all({{target, 1}, {early, 1}, {other, 1}}) == wait_status::reached); });
  there_and_back(fence, 3);
  await([&] { return any_is_over.load(); });
  other.signal(1);
}

TEST_CASE("[A65][trap 14] a callable and a coroutine of a loop run although the value was set back") {
  rewindable_fence fence;
  tidemark::wait_loop loop;
  const rewindable_target target{fence, 3};
  const rewindable_target missed{fence, 4};
  int ran = 0;
  const auto registered = loop.on_reached(target, 1, [&] { ++ran; });
  const auto other = loop.on_reached(missed, 1, [&](wait_status how) { ran += how == wait_status::lost ? 10 : 100; });
  auto coroutine = loop.reached(target, 1);
  CHECK_FALSE(coroutine.await_ready());
  coroutine.await_suspend(std::noop_coroutine());
  CHECK(loop.poll() == 0);
  there_and_back(fence, 3);
  CHECK(loop.poll() == 2);
  CHECK(ran == 1);
  CHECK(coroutine.await_resume() == wait_status::reached);
  fence.poison();
  CHECK(loop.poll() == 1);
  CHECK(ran == 11);
}

TEST_CASE("[trap 14] targets of random values are reached exactly if the value was there while they lived") {
  rewindable_fence fence;
  std::uint64_t state = 42;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % below;
  };
  struct entry {
    entry(const rewindable_fence& of, std::uint64_t awaited, bool is_there)
        : target{of, awaited}, value{awaited}, is_reached{is_there} {}
    rewindable_target target;
    std::uint64_t value;
    bool is_reached;
  };
  std::vector<std::optional<entry>> entries(16);
  std::uint64_t now = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (random(2) == 0) {
      const std::uint64_t next = random(20);
      next < now ? fence.rewind(next) : fence.signal(next);
      now = next;
      for (auto& one : entries) {
        if (one) one->is_reached = one->is_reached || now >= one->value;
      }
    } else {
      auto& one = entries[static_cast<std::size_t>(random(entries.size()))];
      if (one) {
        one.reset();
      } else {
        const std::uint64_t value = random(20);
        one.emplace(fence, value, now >= value);
      }
    }
    std::uint64_t least = UINT64_MAX;
    for (const auto& one : entries) {
      if (!one) continue;
      REQUIRE((one->target.last_reached() == 1) == one->is_reached);
      if (!one->is_reached) least = one->value < least ? one->value : least;
    }
    REQUIRE(fence.monitored_value() == (least == UINT64_MAX ? no_waiter : least - 1));
  }
}

TEST_CASE("[trap 14] targets that come and go beside signals miss none that they wait for") {
  rewindable_fence fence;
  tidemark::fence end;
  std::list<background> threads;
  std::atomic<int> running{3};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        const rewindable_target target{fence, 1};
        CHECK(tidemark::wait_any({{end, 1}, {target, 1}}) == wait_any_result{wait_status::reached, 1});
      }
      --running;
    });
  }
  while (running != 0) {
    there_and_back(fence, 1);
    std::this_thread::yield();
  }
}
