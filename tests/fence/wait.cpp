// SPDX-License-Identifier: BSL-1.0
//
// How waits end (by the value, by time, by a stop), and what a wait costs while it lasts.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>
#include <type_traits>

#include <tidemark/fence/fence.hpp>

#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/processor_time.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using std::chrono::duration;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

/// Checks that a wait that ends by its timeout does not end early. There is no upper bound: a busy machine may be as
/// late as it wants.
template <class Fence, class Rep, class Period>
void check_not_early(const Fence& fence, const duration<Rep, Period>& timeout) {
  const auto start = steady_clock::now();
  CHECK(fence.wait_for(1, timeout) == wait_status::timeout);
  CHECK(duration<long double>{steady_clock::now() - start} >= duration<long double>{timeout});
}

template <class Fence, class Clock, class Duration>
void check_not_before(const Fence& fence, const std::chrono::time_point<Clock, Duration>& at) {
  CHECK(fence.wait_until(1, at) == wait_status::timeout);
  CHECK(Clock::now() >= at);
}

/// Checks that a wait lasts until the signal.
template <class Kind, class Wait>
void check_waits_for_ever(Wait wait) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  waiter patient{[&] { return wait(fence); }};
  CHECK(patient.falls_asleep());
  fence.signal(1);
  CHECK(patient.status() == wait_status::reached);
}

}  // namespace

// ---- what a blocked wait costs -------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A2] a wait that is blocked for 200 ms uses less than 2 ms of processor time", Kind, EVERY_KIND) {
  const tidemark::fence never;
  std::int64_t least = INT64_MAX;
  // The kernel may charge the waiter for an interrupt, and an emulator for its own work; so take the best of a few.
  for (int attempt = 0; attempt < 5 && least >= 2'000; ++attempt) {
    typename Kind::template fence<> fence;
    const auto dog = watch(fence);
    std::chrono::nanoseconds used{};
    waiter blocked{[&] {
      const auto before = processor_time();
      const auto status = fence.wait(1);
      used = processor_time() - before;
      return status;
    }};
    CHECK(blocked.falls_asleep());
    CHECK(never.wait_for(1, 200ms) == wait_status::timeout);  // so long is the other wait blocked
    CHECK_FALSE(blocked.has_returned());
    fence.signal(1);
    CHECK(blocked.status() == wait_status::reached);
    least = std::min<std::int64_t>(least, std::chrono::duration_cast<std::chrono::microseconds>(used).count());
  }
  MESSAGE("processor time of a wait blocked for 200 ms: " << least << " us");
  CHECK(least < 2'000);  // about 20 on an idle machine; a waiter that looks every 50 us would use 10,000
}

TEST_CASE_TEMPLATE("a wait sleeps once, however long it lasts", Kind, EVERY_FENCE) {
  typename Kind::template fence<without_spinning> fence;
  const auto dog = watch(fence);
  const meter<typename Kind::platform> during;
  waiter blocked{[&] { return fence.wait(100); }};
  CHECK(blocked.falls_asleep());
  for (std::uint64_t value = 1; value < 100; ++value) fence.signal(value);
  CHECK(blocked.falls_asleep());
  fence.signal(100);
  CHECK(blocked.status() == wait_status::reached);
  CHECK(during.heavy_barriers() == 1);
  CHECK(during.unparks() == 1);
}

TEST_CASE_TEMPLATE("a value that was reached is found without a barrier, whatever other limits have passed", Kind,
                   EVERY_KIND) {
  typename Kind::template fence<> fence{7};
  manual_stop stop;
  stop.request();
  const meter<typename Kind::platform> during;
  CHECK(fence.wait(7) == wait_status::reached);
  CHECK(fence.wait(7, stop.get_token()) == wait_status::reached);
  CHECK(fence.wait_for(7, -1s) == wait_status::reached);
  CHECK(fence.wait_until(7, steady_clock::time_point::min(), stop.get_token()) == wait_status::reached);
  CHECK(during.heavy_barriers() + during.parks() == 0);
}

// ---- time ----------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("a wait_for never ends early", Kind, EVERY_KIND) {
  const typename Kind::template fence<> fence;
  check_not_early(fence, 1ns);
  check_not_early(fence, 999ns);
  check_not_early(fence, 1us);
  check_not_early(fence, 3ms);
  check_not_early(fence, duration<float>{0.0015F});
  check_not_early(fence, duration<double, std::milli>{2.25});
  check_not_early(fence, duration<long double, std::micro>{1700.75L});
  check_not_early(fence, duration<std::uint8_t, std::milli>{2});
  check_not_early(fence, duration<int, std::ratio<1, 300>>{1});
  check_not_early(fence, duration<double, std::pico>{0.5});
  CHECK(fence.view().wait_for(1, 1us) == wait_status::timeout);
}

TEST_CASE_TEMPLATE("a wait_for of zero or less looks once and does not sleep", Kind, EVERY_KIND) {
  const typename Kind::template fence<> fence;
  const meter<typename Kind::platform> during;
  CHECK(fence.wait_for(1, 0s) == wait_status::timeout);
  CHECK(fence.wait_for(1, -1ns) == wait_status::timeout);
  CHECK(fence.wait_for(1, std::chrono::hours::min()) == wait_status::timeout);
  CHECK(fence.wait_for(1, duration<double>{-1e300}) == wait_status::timeout);
  CHECK(fence.wait_for(1, duration<double>{-std::numeric_limits<double>::infinity()}) == wait_status::timeout);
  CHECK(fence.wait_for(1, duration<float>{std::numeric_limits<float>::quiet_NaN()}) == wait_status::timeout);
  CHECK(during.heavy_barriers() + during.parks() == 0);
}

TEST_CASE_TEMPLATE("a wait_for that the clock can't express lasts until the signal", Kind, EVERY_KIND) {
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_for(1, std::chrono::hours::max()); });
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_for(1, std::chrono::nanoseconds::max()); });
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_for(1, duration<double>{1e300}); });
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_for(1, duration<long double, std::nano>{9.3e18L}); });
  check_waits_for_ever<Kind>(
      [](auto& fence) { return fence.wait_for(1, duration<double>{std::numeric_limits<double>::infinity()}); });
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_for(1, duration<std::uint64_t>{UINT64_MAX}); });
}

TEST_CASE_TEMPLATE("a wait_until never ends early, by either clock", Kind, EVERY_KIND) {
  const typename Kind::template fence<> fence;
  check_not_before(fence, steady_clock::now() + 2ms);
  check_not_before(fence, system_clock::now() + 2ms);
  check_not_before(fence, std::chrono::time_point_cast<duration<double>>(steady_clock::now()) + 1.5ms);
  check_not_before(fence, std::chrono::ceil<std::chrono::milliseconds>(steady_clock::now()) + 1ms);
  check_not_before(fence, std::chrono::ceil<std::chrono::milliseconds>(system_clock::now()) + 1ms);
  CHECK(fence.view().wait_until(1, system_clock::now() + 1us) == wait_status::timeout);
}

TEST_CASE_TEMPLATE("a wait_until a time that has passed looks once and does not sleep", Kind, EVERY_KIND) {
  const typename Kind::template fence<> fence;
  const meter<typename Kind::platform> during;
  CHECK(fence.wait_until(1, steady_clock::time_point::min()) == wait_status::timeout);
  CHECK(fence.wait_until(1, steady_clock::time_point{}) == wait_status::timeout);
  CHECK(fence.wait_until(1, steady_clock::now()) == wait_status::timeout);
  CHECK(fence.wait_until(1, system_clock::time_point::min()) == wait_status::timeout);
  CHECK(fence.wait_until(1, system_clock::time_point{} - 1h) == wait_status::timeout);
  CHECK(fence.wait_until(1, system_clock::now() - 1ms) == wait_status::timeout);
  CHECK(during.parks() == 0);
}

TEST_CASE_TEMPLATE("a wait_until the end of time lasts until the signal", Kind, EVERY_KIND) {
  using std::chrono::time_point;
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_until(1, steady_clock::time_point::max()); });
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_until(1, system_clock::time_point::max()); });
  check_waits_for_ever<Kind>(
      [](auto& fence) { return fence.wait_until(1, time_point<steady_clock, std::chrono::hours>::max()); });
  check_waits_for_ever<Kind>(
      [](auto& fence) { return fence.wait_until(1, time_point<system_clock, std::chrono::hours>::max()); });
  check_waits_for_ever<Kind>([](auto& fence) {
    return fence.wait_until(1, time_point<steady_clock, duration<double>>{duration<double>{1e300}});
  });
}

TEST_CASE("a timeout becomes a deadline that is rounded up to the clock's tick") {
  using nanoseconds = duration<long double, std::nano>;
  const auto now = steady_clock::now();
  const auto ticks = [now](auto timeout) { return tidemark::detail::deadline_after(timeout, now) - now; };
  CHECK(ticks(5us) == 5000ns);
  CHECK(ticks(duration<double, std::nano>{1.25}) == 2ns);
  CHECK(ticks(duration<int, std::ratio<1, 3>>{1}) == 333'333'334ns);
  CHECK(ticks(duration<double, std::pico>{0.5}) == 1ns);
  CHECK(ticks(duration<float>{0.1F}) == 100'000'002ns);  // the nearest float is a little more than a tenth

  // A number that floating point can't represent exactly may be off by less than a tick.
  const auto is_enough = [&](auto timeout) {
    return nanoseconds{ticks(timeout)} > nanoseconds{timeout} - nanoseconds{1};
  };
  int early = 0;
  for (float timeout = 1e-6F; timeout < 1e6F; timeout *= 1.37F) early += is_enough(duration<float>{timeout}) ? 0 : 1;
  for (double timeout = 1e-9; timeout < 1e6; timeout *= 1.37) early += is_enough(duration<double>{timeout}) ? 0 : 1;
  CHECK(early == 0);
}

TEST_CASE_TEMPLATE("a timed wait is released by the value before its time", Kind, EVERY_KIND) {
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_for(1, 24h); });
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_until(1, steady_clock::now() + 24h); });
  check_waits_for_ever<Kind>([](auto& fence) { return fence.wait_until(1, system_clock::now() + 24h); });
  check_waits_for_ever<Kind>([](auto& fence) { return fence.view().wait_for(1, 24h); });
}

TEST_CASE_TEMPLATE("in the overflow lane a wait ends by value, by time and by stop, as in a slot", Kind, EVERY_KIND) {
  typename Kind::template fence<with_one_slot> fence;
  const auto dog = watch(fence);
  manual_stop stop;
  waiter in_slot{[&] { return fence.wait(9); }};
  CHECK(in_slot.falls_asleep());
  waiter first{[&] { return fence.wait(5); }};
  waiter second{[&] { return fence.wait(9, stop.get_token()); }};
  CHECK(first.falls_asleep());
  CHECK(second.falls_asleep());
  const auto start = steady_clock::now();
  CHECK(fence.wait_for(9, 3ms) == wait_status::timeout);
  CHECK(steady_clock::now() - start >= 3ms);
  fence.signal(5);
  CHECK(first.status() == wait_status::reached);
  stop.request();
  CHECK(second.status() == wait_status::stopped);
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == 8);  // the lane is empty
  CHECK_FALSE(in_slot.has_returned());
  fence.signal(9);
  CHECK(in_slot.status() == wait_status::reached);
}

// ---- stops ---------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("a stop ends a wait that sleeps", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  const auto is_stopped = [&](auto wait) {
    manual_stop stop;
    waiter stopped{[&] { return wait(stop.get_token()); }};
    CHECK(stopped.falls_asleep());
    stop.request();
    CHECK(stopped.status() == wait_status::stopped);
  };
  is_stopped([&](auto token) { return fence.wait(1, token); });
  is_stopped([&](auto token) { return fence.wait_for(1, 24h, token); });
  is_stopped([&](auto token) { return fence.wait_until(1, steady_clock::now() + 24h, token); });
  is_stopped([&](auto token) { return fence.wait_until(1, system_clock::now() + 24h, token); });
  is_stopped([&](auto token) { return fence.view().wait(1, token); });
  fence.signal(1);
  CHECK(fence.wait(1) == wait_status::reached);
}

TEST_CASE_TEMPLATE("a stop that came before the wait ends it before it registers", Kind, EVERY_KIND) {
  const typename Kind::template fence<> fence;
  manual_stop stop;
  stop.request();
  const meter<typename Kind::platform> during;
  CHECK(fence.wait(1, stop.get_token()) == wait_status::stopped);
  CHECK(fence.wait_for(1, 24h, stop.get_token()) == wait_status::stopped);
  CHECK(fence.wait_until(1, system_clock::now() + 24h, stop.get_token()) == wait_status::stopped);
  CHECK(during.heavy_barriers() + during.parks() == 0);
}

TEST_CASE_TEMPLATE("a token that is never triggered leaves the end to the value or the time", Kind, EVERY_KIND) {
  manual_stop stop;
  const typename Kind::template fence<> fence;
  CHECK(fence.wait_for(1, 1ms, stop.get_token()) == wait_status::timeout);
  CHECK(fence.wait_until(1, system_clock::now() + 1ms, stop.get_token()) == wait_status::timeout);
  check_waits_for_ever<Kind>([&](auto& other) { return other.wait(1, stop.get_token()); });
}

#if defined(__cpp_lib_jthread)

TEST_CASE_TEMPLATE("a std::stop_token ends a wait", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  for (int form = 0; form < 3; ++form) {
    std::stop_source source;
    waiter stopped{[&, token = source.get_token()] {
      if (form == 0) return fence.wait(1, token);
      return form == 1 ? fence.wait_for(1, 24h, token) : fence.wait_until(1, system_clock::now() + 24h, token);
    }};
    CHECK(stopped.falls_asleep());
    source.request_stop();
    CHECK(stopped.status() == wait_status::stopped);
    CHECK(fence.wait(1, source.get_token()) == wait_status::stopped);
  }
  CHECK(fence.wait_for(1, 1ms, std::stop_token{}) == wait_status::timeout);  // a token without a source never stops
}

TEST_CASE_TEMPLATE("a std::stop_token and a signal race, and one of them ends the wait", Kind, EVERY_KIND) {
  typename Kind::template fence<without_spinning> fence;
  const auto dog = watch(fence);
  std::array<int, 4> ended{};
  for (std::uint64_t round = 1; round <= 500; ++round) {
    std::stop_source source;
    waiter waiting{[&, token = source.get_token()] { return fence.wait(round, token); }};
    std::thread stopper{[&source] { source.request_stop(); }};
    fence.signal(round);
    stopper.join();
    ++ended.at(static_cast<std::size_t>(waiting.status()));
  }
  CHECK(ended.at(static_cast<std::size_t>(wait_status::reached)) +
            ended.at(static_cast<std::size_t>(wait_status::stopped)) ==
        500);
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE("[trap 9] a stop callback and a released waiter may use fences themselves") {
  tidemark::fence fence;
  tidemark::fence other;
  const auto dog = watch(fence);
  std::stop_source source;
  const std::stop_callback signals_both{source.get_token(), [&] {
                                          other.signal_next();
                                          fence.signal(3);  // the fence whose waiter is being stopped
                                        }};
  wait_status first{};
  wait_status again{};
  std::thread stopped{[&] {
    first = fence.wait(5, source.get_token());
    other.signal_next();
    again = fence.wait(5);  // registers again in the heap that it has just left
  }};
  source.request_stop();
  CHECK(other.wait(2) == wait_status::reached);
  CHECK(fence.current_value() == 3);
  fence.signal(5);
  stopped.join();
  CHECK(first == wait_status::stopped);
  CHECK(again == wait_status::reached);
}

#endif
