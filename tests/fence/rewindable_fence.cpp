// SPDX-License-Identifier: BSL-1.0
//
// A fence whose owner sets it back: what waits see that began before, and those that begin later [trap 14].
#include "support/misuse_hook.hpp"

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/awaited.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/fence/timeline.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/counting_platform.hpp"
#include "support/manual_stop.hpp"
#include "support/parts_of_kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

template <class Base>
struct on {
  using base = Base;
  using platform = hooked_platform<Base>;
  using fence = tidemark::basic_rewindable_fence<platform>;
  using plain = tidemark::basic_rewindable_fence<Base>;
};
using on_symmetric = on<tidemark::symmetric_platform>;
using on_native = on<tidemark::native_platform>;
using on_portable = on<tidemark::portable_platform>;
#define EVERY_PLATFORM TESTED_OF(on_native, on_portable, on_symmetric)

template <class Fence>
watchdog watch_rewindable(const Fence& fence) {
  return watchdog{[&fence] {
    return "last_value " + std::to_string(fence.last_value()) + ", monitored_value " +
           std::to_string(fence.monitored_value());
  }};
}

// What trusts values to rise does not take a rewindable fence [trap 14].
using rewindable = tidemark::rewindable_fence;
template <class Fence>
concept followed_by_a_loop =
    requires(tidemark::wait_loop& loop, const Fence& fence) { loop.on_reached(fence, 1, [] {}); };
template <class Fence>
concept calls_in_signaller = requires(Fence& fence) { tidemark::call_in_signaller(fence, 1, [] {}); };
static_assert(!tidemark::timeline<rewindable> && tidemark::timeline<tidemark::fence>);
static_assert(!tidemark::signalled_timeline<rewindable>);
static_assert(!std::constructible_from<tidemark::awaited, const rewindable&, std::uint64_t>);
static_assert(!followed_by_a_loop<rewindable> && followed_by_a_loop<tidemark::fence>);
static_assert(!calls_in_signaller<rewindable> && calls_in_signaller<tidemark::callback_fence>);

// Fences that only rise have gained nothing by it.
template <class Fence>
concept can_be_set_back = requires(Fence& fence) { fence.rewind(0); };
static_assert(can_be_set_back<rewindable> && !can_be_set_back<const rewindable>);
static_assert(!can_be_set_back<tidemark::fence> && !can_be_set_back<tidemark::progress_fence>);

template <class Fence>
concept can_signal = requires(Fence& fence) { fence.signal(1); };
static_assert(can_signal<rewindable> && !can_signal<const rewindable>, "[A10]");

}  // namespace

TYPE_TO_STRING_AS("symmetric", on_symmetric);
TYPE_TO_STRING_AS("native", on_native);
TYPE_TO_STRING_AS("portable", on_portable);

TEST_CASE_TEMPLATE(
    "[trap 14] a value is signalled, set back and signalled again, and waits that begin see the last one", On,
    EVERY_PLATFORM) {
  typename On::fence fence{3};
  CHECK(fence.last_value() == 3);
  fence.signal(8);
  CHECK(fence.wait(8) == wait_status::reached);
  fence.rewind(2);
  CHECK(fence.last_value() == 2);
  CHECK(fence.wait(0) == wait_status::reached);
  CHECK(fence.wait(2) == wait_status::reached);
  CHECK(fence.wait_for(3, 0s) == wait_status::timeout);
  CHECK(fence.wait_for(8, 1ms) == wait_status::timeout);
  CHECK(fence.wait_until(3, std::chrono::steady_clock::now() - 1s) == wait_status::timeout);
  CHECK(fence.wait_until(3, std::chrono::system_clock::now() + 1ms) == wait_status::timeout);
  CHECK(fence.signal_next() == 3);
  CHECK(fence.wait(3) == wait_status::reached);
  fence.rewind(3);
  CHECK(fence.last_value() == 3);
  fence.rewind(0);
  fence.signal(UINT64_MAX);
  CHECK(fence.wait(UINT64_MAX) == wait_status::reached);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[trap 14] a value that was reached and set back before the waiter sleeps ends its wait", On,
                   EVERY_PLATFORM) {
  using platform = typename On::platform;
  typename On::fence fence;
  const auto dog = watch_rewindable(fence);
  platform::at_park = [&] {
    CHECK(fence.monitored_value() == 4);
    fence.signal(8);
    fence.rewind(0);
  };
  CHECK(fence.wait(5) == wait_status::reached);
  CHECK(fence.last_value() == 0);
  CHECK(fence.wait_for(5, 0s) == wait_status::timeout);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[trap 14] a deadline, a stop or a poison after the rewind does not take the reached value back", On,
                   EVERY_PLATFORM) {
  using platform = typename On::platform;
  typename On::fence fence;
  const auto dog = watch_rewindable(fence);
  const auto there_and_back = [&] {
    fence.signal(8);
    fence.rewind(0);
  };
  const auto waits_until = [&]<class Clock>(Clock) {
    auto time = 1ms;
    wait_status end{};
    do {  // again with more time, if this thread came to the wait when its time was over
      const auto at = Clock::now() + time;
      time *= 2;
      platform::at_park = [&] {
        there_and_back();
        await([&] { return Clock::now() > at; });
      };
      end = fence.wait_until(5, at);
    } while (!platform::at_park.has_run());
    CHECK(end == wait_status::reached);
  };
  SUBCASE("deadline") { waits_until(std::chrono::steady_clock{}); }
  SUBCASE("the system clock's deadline") { waits_until(std::chrono::system_clock{}); }
  SUBCASE("stop") {
    manual_stop stop;
    platform::at_park = [&] {
      there_and_back();
      stop.request();
    };
    CHECK(fence.wait(5, stop.get_token()) == wait_status::reached);
    CHECK(fence.wait(5, stop.get_token()) == wait_status::stopped);
  }
  SUBCASE("poison") {
    platform::at_park = [&] {
      there_and_back();
      fence.poison();
    };
    CHECK(fence.wait(5) == wait_status::reached);
    CHECK(fence.wait(5) == wait_status::lost);
  }
  CHECK(platform::at_park.has_run());
}

TEST_CASE_TEMPLATE("[A19][trap 14] a signal releases exactly the sleepers that are due, and a rewind releases none", On,
                   EVERY_PLATFORM) {
  typename On::fence fence;
  const auto dog = watch_rewindable(fence);
  manual_stop stop;
  std::list<waiter> due;
  for (const std::uint64_t target : {5U, 3U, 8U, 5U, 1U})
    due.emplace_back([&fence, target] { return fence.wait(target); });
  waiter high{[&] { return fence.wait(9, stop.get_token()); }};
  waiter higher{[&] { return fence.wait(12); }};
  for (const waiter& one : due) CHECK(one.falls_asleep());
  CHECK(high.falls_asleep());
  CHECK(higher.falls_asleep());
  CHECK(fence.monitored_value() == 0);

  fence.signal(8);
  fence.rewind(0);
  for (waiter& one : due) CHECK(one.status() == wait_status::reached);
  CHECK(fence.monitored_value() == 8);
  CHECK_FALSE(high.has_returned());
  fence.signal(8);
  fence.rewind(7);
  CHECK_FALSE(high.has_returned());
  stop.request();
  CHECK(high.status() == wait_status::stopped);
  CHECK(fence.monitored_value() == 11);
  fence.signal(20);
  CHECK(higher.status() == wait_status::reached);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A7] a signal or a rewind makes no system call while nobody is due", On, EVERY_PLATFORM) {
  using platform = typename On::platform;
  typename On::fence fence;
  const auto dog = watch_rewindable(fence);
  waiter waiting{[&] { return fence.wait(1000); }};
  CHECK(waiting.falls_asleep());
  const meter<platform> during;
  for (int i = 0; i < 999; ++i) {
    fence.signal_next();
    fence.rewind(fence.last_value() - 1);
    fence.signal_next();
  }
  CHECK(during.unparks() + during.parks() == 0);
  CHECK(during.heavy_barriers() == 0);
  fence.signal_next();
  CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A120] poison releases all sleepers of a rewindable fence, and keeps apart what is reached", On,
                   EVERY_PLATFORM) {
  typename On::fence fence{7};
  const auto dog = watch_rewindable(fence);
  manual_stop stop;
  waiter plain{[&] { return fence.wait(8); }};
  waiter timed{[&] { return fence.wait_for(1000, 24h); }};
  waiter stoppable{[&] { return fence.wait(UINT64_MAX, stop.get_token()); }};
  for (const waiter* one : {&plain, &timed, &stoppable}) CHECK(one->falls_asleep());
  CHECK_FALSE(fence.is_poisoned());
  fence.poison();
  fence.poison();
  for (waiter* one : {&plain, &timed, &stoppable}) CHECK(one->status() == wait_status::lost);
  CHECK(fence.is_poisoned());
  CHECK(fence.last_value() == UINT64_MAX);
  CHECK(fence.monitored_value() == no_waiter);
  CHECK(fence.wait(7) == wait_status::reached);
  CHECK(fence.wait(8) == wait_status::lost);
  fence.rewind(3);
  CHECK(fence.wait(3) == wait_status::reached);
  CHECK(fence.wait(4) == wait_status::lost);
  fence.signal(4);
  CHECK(fence.wait(4) == wait_status::reached);
  CHECK(fence.last_value() == UINT64_MAX);
}

TEST_CASE_TEMPLATE("a stop ends a wait for a rewindable fence, and wins over a deadline", On, EVERY_PLATFORM) {
  typename On::fence fence;
  const auto dog = watch_rewindable(fence);
  manual_stop stop;
  waiter waiting{[&] { return fence.wait(1, stop.get_token()); }};
  CHECK(waiting.falls_asleep());
  stop.request();
  CHECK(waiting.status() == wait_status::stopped);
  CHECK(fence.wait_for(1, 0s, stop.get_token()) == wait_status::stopped);
  CHECK(fence.wait_for(0, 0s, stop.get_token()) == wait_status::reached);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[trap 14] of many threads and rewinds no wait is lost, and none ends by an earlier value", On,
                   EVERY_PLATFORM) {
  // Each round the owner sets the value back. Then the threads wait for values that only this round reaches.
  constexpr std::uint64_t rounds = 400;
  typename On::plain fence;
  const auto dog = watch_rewindable(fence);
  std::atomic<std::uint64_t> round{0};
  std::atomic<std::uint64_t> ended{0};
  std::atomic<int> wrong{0};
  std::uint64_t handed_over = 0;  // not atomic: only the fence synchronizes it
  std::vector<std::thread> threads;
  for (std::uint64_t target = 1; target <= 4; ++target) {
    threads.emplace_back([&, target] {
      for (std::uint64_t now = 1; now <= rounds; ++now) {
        await([&] { return round == now; });
        if (fence.wait(target) != wait_status::reached || handed_over != now) ++wrong;
        ++ended;
      }
    });
  }
  for (std::uint64_t now = 1; now <= rounds; ++now) {
    // All waits of the last round have ended, so nobody reads this.
    fence.rewind(0);
    round = now;
    // In every other round some have not begun yet.
    if (now % 2 == 0) await([&] { return fence.monitored_value() == 0; });
    handed_over = now;
    fence.signal(2);
    fence.signal(4);
    await([&] { return ended == 4 * now; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[trap 14] threads that are registered before a value comes and goes all return", On,
                   EVERY_PLATFORM) {
  for (int round = 0; round < 100; ++round) {
    typename On::plain fence;
    const auto dog = watch_rewindable(fence);
    waiter low{[&] { return fence.wait(1); }};
    // From here on it is registered, though perhaps not asleep.
    await([&] { return fence.monitored_value() == 0; });
    waiter high{[&] { return fence.wait_for(UINT64_MAX, 24h); }};
    fence.signal(1);
    fence.rewind(0);
    CHECK(low.status() == wait_status::reached);
    await([&] { return fence.monitored_value() == UINT64_MAX - 1; });
    fence.signal(UINT64_MAX);
    fence.rewind(0);
    CHECK(high.status() == wait_status::reached);
  }
}

TEST_CASE("[trap 14] a signal that sets back, and a rewind that raises, are reported") {
  CHECK(reported_by([] { rewindable{8}.signal(7); }) == "to set a value back, call rewind(), not signal()");
  CHECK(reported_by([] { rewindable{8}.rewind(9); }) == "to raise a value, call signal(), not rewind()");
  CHECK(reported_by([] { rewindable{UINT64_MAX}.signal_next(); }) ==
        "signal_next() beyond the greatest value of a fence");
  CHECK(reported_by([] {
          rewindable fence{8};
          fence.signal(8);
          fence.rewind(8);
        }).empty());
}
