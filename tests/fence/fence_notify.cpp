// SPDX-License-Identifier: BSL-1.0
//
// fence and progress_fence: the monitored value, and which signals notify which waiters.
#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <type_traits>

#include <tidemark/fence/fence.hpp>

#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_waiter;
using tidemark::wait_status;

TEST_CASE_TEMPLATE("[A7] a signal for which no thread waits costs one light barrier and nothing else", Kind,
                   EVERY_KIND) {
  if (is_pinned_here<Kind>()) return;
  typename Kind::template fence<> fence;
  const meter<typename Kind::platform> during;
  for (std::uint64_t value = 1; value < 1'000'000; value += 2) {
    fence.signal(value);
    fence.signal_next();
  }
  CHECK(fence.current_value() == 1'000'000);
  CHECK(fence.notify_count() == 0);
  CHECK(during.light_barriers() == 1'000'000);
  CHECK(during.heavy_barriers() + during.full_barriers() == 0);
  CHECK(during.parks() + during.unparks() == 0);
}

TEST_CASE_TEMPLATE("[A12] the monitored value is the least awaited target minus one", Kind, EVERY_KIND) {
  if (is_pinned_here<Kind>()) return;
  typename Kind::template fence<> fence{40};
  const auto dog = watch(fence);
  waiter first{[&] { return fence.wait(45); }};
  CHECK(first.falls_asleep());
  CHECK(fence.monitored_value() == 44);
  waiter second{[&] { return fence.wait(42); }};
  CHECK(second.falls_asleep());
  CHECK(fence.monitored_value() == 41);
  waiter third{[&] { return fence.wait(43); }};
  CHECK(third.falls_asleep());
  CHECK(fence.monitored_value() == 41);
  CHECK(fence.view().monitored_value() == 41);
  fence.signal(45);
}

TEST_CASE_TEMPLATE("[A14][A32] a waiter that leaves raises the monitored value to that of the next waiter", Kind,
                   EVERY_KIND) {
  if (is_pinned_here<Kind>()) return;
  typename Kind::template fence<> fence{40};
  const auto dog = watch(fence);
  manual_stop stop;
  waiter low{[&] { return fence.wait(42, stop.get_token()); }};
  waiter high{[&] { return fence.wait(45); }};
  CHECK(low.falls_asleep());
  CHECK(high.falls_asleep());
  CHECK(fence.monitored_value() == 41);
  stop.request();
  CHECK(low.status() == wait_status::stopped);
  CHECK(fence.monitored_value() == 44);
  CHECK_FALSE(high.has_returned());
  fence.signal(45);
  CHECK(high.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A15][trap 2] however the last waiter leaves, no waiter is monitored any more", Kind, EVERY_KIND) {
  if (is_pinned_here<Kind>()) return;
  const auto nobody_after = [](auto& fence, auto leave, wait_status expected) {
    const auto dog = watch(fence);
    manual_stop stop;
    CHECK(fence.monitored_value() == no_waiter);
    waiter first{[&] { return fence.wait(5, stop.get_token()); }};
    waiter second{[&] { return fence.wait(6, stop.get_token()); }};  // in the overflow lane if there is one slot
    CHECK(first.falls_asleep());
    CHECK(second.falls_asleep());
    CHECK(fence.monitored_value() <= 4);
    leave(stop);
    CHECK(first.status() == expected);
    CHECK(second.status() == expected);
    CHECK(fence.monitored_value() == no_waiter);
  };
  const auto by_every_way = [&]<class Fence>(std::type_identity<Fence>) {
    Fence fence;
    CHECK(fence.wait_for(5, 1ms) == wait_status::timeout);
    CHECK(fence.monitored_value() == no_waiter);
    nobody_after(fence, [](manual_stop& stop) { stop.request(); }, wait_status::stopped);
    const auto notified = fence.notify_count();
    fence.signal(4);
    CHECK(fence.notify_count() == notified);  // waiters that have left do not make signals expensive
    nobody_after(fence, [&](manual_stop&) { fence.signal(6); }, wait_status::reached);
    Fence poisoned;
    nobody_after(poisoned, [&](manual_stop&) { poisoned.poison(); }, wait_status::lost);
  };
  by_every_way(std::type_identity<typename Kind::template fence<>>{});
  by_every_way(std::type_identity<typename Kind::template fence<with_one_slot>>{});
}

TEST_CASE_TEMPLATE("[A17][trap 4] a signal notifies if and only if the new value is above the monitored value", Kind,
                   EVERY_KIND) {
  if (is_pinned_here<Kind>()) return;
  typename Kind::template fence<> fence{39};
  const auto dog = watch(fence);
  waiter due_at_42{[&] { return fence.wait(42); }};
  CHECK(due_at_42.falls_asleep());
  const meter<typename Kind::platform> during;
  fence.signal(40);
  fence.signal(41);
  CHECK(fence.notify_count() == 0);
  CHECK(during.unparks() + during.full_barriers() == 0);
  CHECK_FALSE(due_at_42.has_returned());
  fence.signal(42);
  CHECK(fence.notify_count() == 1);
  CHECK(during.unparks() == 1);
  CHECK(due_at_42.status() == wait_status::reached);
  fence.signal(43);
  CHECK(fence.notify_count() == 1);
}

TEST_CASE_TEMPLATE("[A18][A36] a notification may satisfy no waiter, and then no wait returns", Kind, EVERY_KIND) {
  if (is_pinned_here<Kind>()) return;
  typename Kind::template fence<with_one_slot> fence;
  const auto dog = watch(fence);
  waiter in_slot{[&] { return fence.wait(10); }};
  CHECK(in_slot.falls_asleep());
  waiter in_lane{[&] { return fence.wait(20); }};
  CHECK(in_lane.falls_asleep());
  waiter low_in_lane{[&] { return fence.wait(5); }};
  CHECK(low_in_lane.falls_asleep());
  CHECK(fence.overflow_count() == 2);
  CHECK(fence.monitored_value() == 4);
  const meter<typename Kind::platform> during;
  fence.signal(4);
  CHECK(fence.notify_count() == 0);  // nobody in the lane is due
  fence.signal(5);
  CHECK(fence.notify_count() == 1);
  CHECK(low_in_lane.status() == wait_status::reached);
  await([&] { return during.parks() > 0; });  // the other one in the lane was woken, looked, and went back to sleep
  CHECK_FALSE(in_slot.has_returned());
  CHECK(in_lane.falls_asleep());
  CHECK(fence.overflow_count() == 3);
  CHECK(fence.monitored_value() == 9);
  fence.signal(20);
  CHECK(in_slot.status() == wait_status::reached);
  CHECK(in_lane.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A7][A32] however many wait, a signal that is due for nobody notifies nobody", Kind, EVERY_KIND) {
  if (is_pinned_here<Kind>()) return;
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  {
    std::vector<std::unique_ptr<waiter>> waiters;
    for (std::uint64_t i = 0; i < 40; ++i) {
      waiters.push_back(std::make_unique<waiter>([&fence, i] { return fence.wait(100 + i); }));
      CHECK(waiters.back()->falls_asleep());
    }
    CHECK(fence.overflow_count() == 0);
    CHECK(fence.monitored_value() == 99);
    const meter<typename Kind::platform> during;
    for (int i = 0; i < 99; ++i) fence.signal_next();
    CHECK(fence.notify_count() == 0);
    CHECK(during.unparks() == 0);
    fence.signal_next();
    CHECK(fence.notify_count() == 1);
    CHECK(during.unparks() == 1);
    CHECK(waiters.front()->status() == wait_status::reached);
    fence.signal(139);
    for (std::size_t i = 1; i < waiters.size(); ++i) CHECK(waiters[i]->status() == wait_status::reached);
  }
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A19][A20] one signal releases all due waiters, and the next one is monitored", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence{41};
  const auto dog = watch(fence);
  waiter due_at_42{[&] { return fence.wait(42); }};
  waiter due_at_43{[&] { return fence.wait(43); }};
  waiter due_at_50{[&] { return fence.wait(50); }};
  CHECK(due_at_42.falls_asleep());
  CHECK(due_at_43.falls_asleep());
  CHECK(due_at_50.falls_asleep());
  const meter<typename Kind::platform> during;
  fence.signal(45);
  CHECK(during.unparks() == 2);
  if (Kind::platform::heavy_barrier_available()) {
    CHECK(fence.monitored_value() == 49);  // before the others have run at all
    CHECK(fence.notify_count() == 1);
  }
  CHECK(due_at_42.status() == wait_status::reached);
  CHECK(due_at_43.status() == wait_status::reached);
  CHECK_FALSE(due_at_50.has_returned());
  fence.signal(50);
  CHECK(due_at_50.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A123][trap 3] a wait for 0 is over before it registers", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const meter<typename Kind::platform> during;
  CHECK(fence.wait(0) == wait_status::reached);
  CHECK(fence.wait_for(0, 1h) == wait_status::reached);
  CHECK(fence.wait_for(0, 0s) == wait_status::reached);
  CHECK(fence.wait_until(0, std::chrono::steady_clock::time_point::min()) == wait_status::reached);
  CHECK(during.heavy_barriers() + during.parks() == 0);
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[trap 3] the greatest value is a target like any other", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  waiter due_at_the_end{[&] { return fence.wait(UINT64_MAX); }};
  CHECK(due_at_the_end.falls_asleep());
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == UINT64_MAX - 1);
  fence.signal(UINT64_MAX - 1);
  CHECK(due_at_the_end.falls_asleep());
  fence.signal(UINT64_MAX);
  CHECK(due_at_the_end.status() == wait_status::reached);
  CHECK_FALSE(fence.is_poisoned());
}

TEST_CASE_TEMPLATE("[trap 5] a signal that jumps over a value releases the waits for that value", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence{9};
  const auto dog = watch(fence);
  waiter due_at_10{[&] { return fence.wait(10); }};
  CHECK(due_at_10.falls_asleep());
  fence.signal(11);
  CHECK(due_at_10.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[trap 6] a low target that registers after high ones is released first", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  waiter due_at_1000{[&] { return fence.wait(1000); }};
  waiter due_at_2000{[&] { return fence.wait(2000); }};
  CHECK(due_at_1000.falls_asleep());
  CHECK(due_at_2000.falls_asleep());
  waiter due_at_1{[&] { return fence.wait(1); }};
  CHECK(due_at_1.falls_asleep());
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == 0);
  const meter<typename Kind::platform> during;
  fence.signal(1);
  CHECK(due_at_1.status() == wait_status::reached);
  CHECK(during.unparks() == 1);
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == 999);
  fence.signal(1000);
  CHECK(due_at_1000.status() == wait_status::reached);
  CHECK_FALSE(due_at_2000.has_returned());
  fence.signal(2000);
}

TEST_CASE_TEMPLATE("[trap 8] values that differ only above the lower 32 bits are told apart", Kind, EVERY_KIND) {
  constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  waiter due_at_1{[&] { return fence.wait(1); }};
  waiter due_after_wrap{[&] { return fence.wait(wrap + 1); }};
  waiter due_after_two{[&] { return fence.wait(2 * wrap); }};  // its lower half is that of the first value
  CHECK(due_at_1.falls_asleep());
  CHECK(due_after_wrap.falls_asleep());
  CHECK(due_after_two.falls_asleep());
  fence.signal(1);
  CHECK(due_at_1.status() == wait_status::reached);
  fence.signal(wrap);
  CHECK(due_after_wrap.falls_asleep());
  CHECK(due_after_two.falls_asleep());
  fence.signal(wrap + 1);
  CHECK(due_after_wrap.status() == wait_status::reached);
  CHECK(due_after_two.falls_asleep());
  fence.signal(2 * wrap);
  CHECK(due_after_two.status() == wait_status::reached);
}

namespace {

tidemark::fence* signalled_by_handler = nullptr;

}  // namespace

TEST_CASE("[A3] a signal handler may signal a fence, and releases the waiters") {
  static tidemark::fence fence;
  const auto dog = watch(fence);
  signalled_by_handler = &fence;
  const auto before = std::signal(SIGUSR1, [](int) { signalled_by_handler->signal_next(); });
  waiter waiting{[] { return fence.wait(1); }};
  await([] { return fence.monitored_value() == 0; });
  std::raise(SIGUSR1);
  CHECK(waiting.status() == wait_status::reached);
  CHECK(fence.current_value() == 1);
  std::signal(SIGUSR1, before);
}
