// SPDX-License-Identifier: BSL-1.0
//
// What a lost timeline says: why it is lost, what it has really reached; and fences that keep their value.
#include <tidemark/fence/fence.hpp>

#include <tidemark/fence/event_count.hpp>
#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/signaller.hpp>
#include <tidemark/fence/timeline.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/queue/queue.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::fence_options;
using tidemark::loss_reason;
using tidemark::wait_status;

namespace {

constexpr loss_reason device_removed{7, "the device was removed"};
constexpr loss_reason out_of_memory{8, "out of memory"};
constexpr fence_options keeping{.statistics = true, .keeps_value_on_loss = true};
constexpr fence_options keeping_in_memory{.storage = tidemark::value_storage::caller, .keeps_value_on_loss = true};

template <class Timeline>
concept can_be_lost_for_a_temporary = requires(Timeline& one) { one.poison(loss_reason{1, "gone at once"}); };

/// A timeline that says nothing of what it has really reached.
struct of_a_user {
  std::uint64_t current_value() const { return 0; }
  wait_status wait_until(std::uint64_t, tidemark::deadline) const { return wait_status::timeout; }
};
template <class View>
concept returns_values = requires(const View& view) { view.wait_value(1); };

}  // namespace

TEST_CASE_TEMPLATE("[A128] the first reason of a loss is kept, and can be asked for by everybody", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  CHECK(fence.loss() == nullptr);
  CHECK(fence.view().loss() == nullptr);
  fence.poison(device_removed);
  fence.poison(out_of_memory);
  fence.poison();
  CHECK(*fence.loss() == device_removed);
  CHECK(*fence.view().loss() == device_removed);
  CHECK(fence.loss()->code == 7);
  CHECK(std::string{fence.loss()->text} == "the device was removed");
  CHECK(fence.is_poisoned());
}

TEST_CASE_TEMPLATE("[A128] a poison without a reason has one that is told apart", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  fence.poison();
  fence.poison(device_removed);
  CHECK(*fence.loss() == tidemark::unnamed_loss);
  CHECK(fence.loss()->code == 0);
}

TEST_CASE("[A128] a reason is told apart by its code: a shared library may have a copy of its own") {
  static constexpr loss_reason copy = device_removed;
  CHECK(copy == device_removed);
  CHECK(device_removed != out_of_memory);
  tidemark::fence fence;
  fence.poison(copy);
  CHECK(fence.loss() == &copy);
  CHECK(*fence.loss() == device_removed);
}

TEST_CASE("[A128] the reasons of the library have codes of their own, in the part that is reserved for them") {
  CHECK(tidemark::unnamed_loss.code == 0);
  CHECK(tidemark::signaller_gone.code >= 0xFFFF'FF00);
  CHECK(tidemark::queue_aborted.code >= 0xFFFF'FF00);
  CHECK(tidemark::signaller_gone != tidemark::queue_aborted);
}

TEST_CASE("[A128] a reason must live: a temporary one does not compile") {
  static_assert(!can_be_lost_for_a_temporary<tidemark::fence>);
  static_assert(!can_be_lost_for_a_temporary<tidemark::progress_fence>);
  static_assert(!can_be_lost_for_a_temporary<tidemark::fence32>);
  static_assert(!can_be_lost_for_a_temporary<tidemark::rewindable_fence>);
}

TEST_CASE_TEMPLATE("[A128] of threads that lose a fence for reasons of their own, one wins, and all see the same", Kind,
                   EVERY_KIND) {
  static constexpr loss_reason reasons[4]{{1, "a"}, {2, "b"}, {3, "c"}, {4, "d"}};
  for (int round = 0; round < 50; ++round) {
    typename Kind::template plain<> fence;
    const auto dog = watch(fence);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    std::atomic<const loss_reason*> seen[4]{};
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        if (fence.wait_for(1, 0s) == wait_status::lost && fence.loss() == nullptr) ++wrong;
        fence.poison(reasons[i]);
        seen[i] = fence.loss();
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    for (const auto& one : seen) CHECK(one == fence.loss());
    CHECK(fence.loss() >= &reasons[0]);
    CHECK(fence.loss() <= &reasons[3]);
  }
}

TEST_CASE_TEMPLATE("[A128] a thread that is lost finds the reason", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  const loss_reason* found = nullptr;
  waiter asleep{[&] {
    const wait_status status = fence.wait(1);
    found = fence.loss();
    return status;
  }};
  CHECK(asleep.falls_asleep());
  fence.poison(device_removed);
  CHECK(asleep.status() == wait_status::lost);
  CHECK(*found == device_removed);
}

TEST_CASE_TEMPLATE("[A128] the last value that was reached is never the greatest one of a loss", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence{7};
  CHECK(fence.last_reached() == 7);
  fence.signal(9);
  fence.poison();
  CHECK(fence.current_value() == UINT64_MAX);
  CHECK(fence.last_reached() == 9);
  CHECK(fence.view().last_reached() == 9);
  alignas(8) std::uint64_t storage = 0;
  typename Kind::template fence<on_callers_storage> placed{&storage, 3};
  placed.signal(4);
  placed.poison();
  storage = 100;  // which belongs to somebody else now
  CHECK(placed.last_reached() == 4);
}

TEST_CASE_TEMPLATE("[A128] a wait returns the value that it has seen", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  fence.signal(9);
  using result = tidemark::wait_value_result;
  CHECK(fence.wait_value(5) == result{wait_status::reached, 9});
  CHECK(fence.view().wait_value(5) == result{wait_status::reached, 9});
  CHECK(fence.wait_value_for(10, 0s) == result{wait_status::timeout, 9});
  CHECK(fence.wait_value_for(10, 1ms) == wait_status::timeout);
  CHECK(fence.wait_value_until(9, std::chrono::system_clock::now() + 24h) == result{wait_status::reached, 9});
  CHECK(fence.wait_value_until(10, std::chrono::steady_clock::now()) == result{wait_status::timeout, 9});
  manual_stop stop;
  stop.request();
  CHECK(fence.wait_value(10, stop.get_token()) == result{wait_status::stopped, 9});
  result later{};
  waiter asleep{[&] {
    later = fence.wait_value(11);
    return later.status;
  }};
  CHECK(asleep.falls_asleep());
  fence.signal(14);
  CHECK(asleep.status() == wait_status::reached);
  CHECK(later.value == 14);
  fence.poison(device_removed);
  CHECK(fence.wait_value(12) == result{wait_status::reached, 14});
  CHECK(fence.wait_value(15) == result{wait_status::lost, 14});
  static_assert(!returns_values<tidemark::timeline_view<of_a_user>>);
}

TEST_CASE_TEMPLATE("[A128] a wait that returns reached has a value of at least the target, beside poison and signals",
                   Kind, EVERY_KIND) {
  for (int round = 0; round < 100; ++round) {
    alignas(8) std::uint64_t storage = 0;
    typename Kind::template plain<on_callers_storage> fence{&storage};
    std::thread waiting{[&] {
      for (std::uint64_t target = 1;; ++target) {
        const auto [status, value] = fence.wait_value(target);
        CHECK((status == wait_status::reached) == (value >= target));
        CHECK(value < UINT64_MAX);
        if (status != wait_status::reached) break;
      }
    }};
    std::thread signalling{[&] {
      for (std::uint64_t value = 1; value <= 5; ++value) fence.signal(value);
    }};
    fence.poison();
    signalling.join();
    waiting.join();
  }
}

TEST_CASE_TEMPLATE("[A128] a fence may keep its value on loss: looks show it, and waits are lost", Kind, EVERY_KIND) {
  typename Kind::template fence<keeping> fence{3};
  const auto dog = watch(fence);
  fence.signal(7);
  waiter asleep{[&] { return fence.wait(8); }};
  CHECK(asleep.falls_asleep());
  fence.poison(device_removed);
  CHECK(asleep.status() == wait_status::lost);
  CHECK(fence.current_value() == 7);
  CHECK(fence.view().current_value() == 7);
  CHECK(fence.is_reached(7));
  CHECK_FALSE(fence.is_reached(8));
  CHECK(fence.wait(7) == wait_status::reached);
  CHECK(fence.wait(8) == wait_status::lost);
  CHECK(fence.view().wait(8) == wait_status::lost);
  CHECK(fence.is_poisoned());
  alignas(8) std::uint64_t storage = 0;
  typename Kind::template fence<keeping_in_memory> placed{&storage, 3};
  placed.poison();
  storage = 100;
  CHECK(placed.current_value() == 3);
  CHECK(placed.wait(4) == wait_status::lost);
}

TEST_CASE("[A128] waits for several timelines, loops and callables take a fence that keeps its value; blocks don't") {
  using keeps = tidemark::basic_fence<tidemark::symmetric_platform, keeping>;
  keeps fence{7};
  tidemark::fence other{9};
  tidemark::wait_loop loop;
  int lost = 0;
  const auto registered = loop.on_reached(fence, 8, [&](wait_status how) { lost += how == wait_status::lost; });
  fence.poison(device_removed);
  CHECK(tidemark::wait_all({{fence, 7}, {other, 9}}) == wait_status::reached);
  CHECK(tidemark::wait_all({{fence.view(), 8}, {other, 9}}) == wait_status::lost);
  const tidemark::wait_any_result any = tidemark::wait_any({{other, 10}, {fence, 8}});
  CHECK(any == wait_status::lost);
  CHECK(any.index == 1);
  CHECK(loop.poll() == 1);
  CHECK(lost == 1);
  static_assert(tidemark::timeline<tidemark::fence>);
  static_assert(!tidemark::timeline<keeps>);
  static_assert(!tidemark::timeline<decltype(fence.view())>);
  static_assert(!tidemark::signalled_timeline<keeps>);
}

TEST_CASE("[A128] a fence of 32-bit values forwards the reason and the last serial") {
  tidemark::fence32 fence{0xFFFF'FFFE};
  fence.signal(1);
  fence.poison(device_removed);
  CHECK(*fence.loss() == device_removed);
  CHECK(fence.last_reached() == 1);
  CHECK(fence.current_value() == UINT32_MAX);
  CHECK(fence.view().wait_value(fence.extended(2)) == tidemark::wait_value_result{wait_status::lost, 0x1'0000'0001});
}

TEST_CASE("[A128] a fence that is set back has a reason, and the last value behind it") {
  tidemark::rewindable_fence fence;
  CHECK(fence.loss() == nullptr);
  fence.signal(7);
  fence.rewind(3);
  fence.poison(device_removed);
  fence.poison(out_of_memory);
  CHECK(*fence.loss() == device_removed);
  CHECK(fence.last_value() == UINT64_MAX);
  CHECK(fence.last_reached() == 3);
  CHECK(fence.wait(4) == wait_status::lost);
}

TEST_CASE("[A128] a reason costs a fence no memory") {
  if (sizeof(tidemark::native_platform::double_word) == 16) {
    CHECK(sizeof(tidemark::fence) <= 768);
    CHECK(sizeof(tidemark::progress_fence) <= 768);
  }
}
