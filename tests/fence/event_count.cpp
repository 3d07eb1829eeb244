// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <tidemark/fence/event_count.hpp>
#include <tidemark/fence/fence.hpp>

#include "support/counting_platform.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::attempt_result;
using tidemark::wait_status;

namespace {

using counted = counting_platform<tidemark::native_platform>;
using counted_events = tidemark::basic_event_count<counted>;
using counted_fence = tidemark::basic_progress_fence<counted, tidemark::fence_options{.max_spin_ns = 0}>;

/// A number of things that threads put and take.
class shelf {
 public:
  void put() { things_.fetch_add(1, std::memory_order_release); }
  bool take() {
    int seen = things_.load(std::memory_order_relaxed);
    while (seen > 0) {
      if (things_.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

 private:
  std::atomic<int> things_{0};
};

}  // namespace

TEST_CASE("[B12] a thread tries, sleeps, and tries again when another thread notifies") {
  counted_events events;
  shelf things;
  std::atomic<int> attempts{0};
  const auto attempt = [&] { return ++attempts, things.take(); };
  waiter sleeper{[&] { return events.wait(attempt); }};
  REQUIRE(sleeper.falls_asleep());
  const int before = attempts;
  events.notify();  // in vain
  await([&] { return attempts > before; });
  REQUIRE(sleeper.falls_asleep());
  things.put();
  events.notify();
  CHECK(sleeper.status() == wait_status::reached);
  CHECK(!things.take());
}

TEST_CASE("[A7] while nobody waits, a notification makes no system call and issues no barrier of the slow kind") {
  counted_events events;
  const meter<counted> events_of;
  for (int i = 0; i < 1000; ++i) events.notify();
  CHECK(events_of.unparks() == 0);
  CHECK(events_of.heavy_barriers() == 0);
  if (counted::heavy_barrier_available()) CHECK(events_of.full_barriers() == 0);
  shelf things;
  things.put();
  CHECK(events.wait([&] { return things.take(); }) == wait_status::reached);
  CHECK(events_of.heavy_barriers() == 0);
  CHECK(events_of.parks() == 0);
}

TEST_CASE("[A14] a wait tries at least once, and once more after its deadline or its stop") {
  counted_events events;
  shelf things;
  int attempts = 0;
  const auto attempt = [&] { return ++attempts, things.take(); };
  CHECK(events.wait_for(attempt, 0s) == wait_status::timeout);
  CHECK(attempts == 1);
  things.put();
  CHECK(events.wait_until(attempt, std::chrono::steady_clock::time_point{}) == wait_status::reached);
  CHECK(events.wait_until(attempt, std::chrono::system_clock::time_point{}) == wait_status::timeout);
  bool began_in_time = false;
  for (auto time = 1ms; !began_in_time; time *= 2) {
    attempts = 0;
    const auto deadline = std::chrono::steady_clock::now() + time;
    const auto late_attempt = [&] {
      if (++attempts == 1) began_in_time = std::chrono::steady_clock::now() < deadline;
      return false;
    };
    CHECK(events.wait_until(late_attempt, deadline) == wait_status::timeout);
    CHECK(attempts >= (began_in_time ? 2 : 1));
  }
  // Also where each attempt meets another change, so that the thread never sleeps.
  CHECK(events.wait_for([&] { return events.notify(), false; }, 1ms) == wait_status::timeout);
  counted_fence timeline{5};
  const auto names_what_is_reached = [] { return attempt_result::again_at(3); };
  CHECK(events.wait_for(timeline, names_what_is_reached, 1ms) == wait_status::timeout);
  std::uint64_t next = 6;
  CHECK(events.wait_for(timeline, [&] { return attempt_result::again_at(++next); }, 1ms) == wait_status::timeout);
  CHECK(timeline.monitored_value() == (counted::heavy_barrier_available() ? tidemark::no_waiter : 0));
  manual_stop stop;
  stop.request();
  attempts = 0;
  CHECK(events.wait(attempt, stop.get_token()) == wait_status::stopped);
  CHECK(attempts == 1);
  things.put();
  CHECK(events.wait(attempt, stop.get_token()) == wait_status::reached);
}

TEST_CASE("[A14] a stop wakes a thread that sleeps") {
  counted_events events;
  manual_stop stop;
  waiter sleeper{[&] { return events.wait([] { return false; }, stop.get_token()); }};
  REQUIRE(sleeper.falls_asleep());
  stop.request();
  CHECK(sleeper.status() == wait_status::stopped);
}

TEST_CASE("[A31] [B12] a thread wakes for a notification or for a value, whichever comes first") {
  counted_events events;
  counted_fence timeline;
  shelf things;
  const auto attempt = [&]() -> attempt_result {
    return things.take() || timeline.is_reached(5) ? true : attempt_result::again_at(5);
  };
  {
    waiter sleeper{[&] { return events.wait(timeline, attempt); }};
    REQUIRE(sleeper.falls_asleep());
    things.put();
    events.notify();
    CHECK(sleeper.status() == wait_status::reached);
    if (counted::heavy_barrier_available()) CHECK(timeline.monitored_value() == tidemark::no_waiter);
  }
  waiter sleeper{[&] { return events.wait(timeline.view(), attempt); }};
  REQUIRE(sleeper.falls_asleep());
  if (counted::heavy_barrier_available()) CHECK(timeline.monitored_value() == 4);
  timeline.signal(4);  // not yet
  CHECK(!sleeper.has_returned());
  timeline.signal(5);
  CHECK(sleeper.status() == wait_status::reached);
}

TEST_CASE("[B12] each attempt names the value that helps next") {
  counted_events events;
  counted_fence timeline;
  std::atomic<std::uint64_t> needed{3};
  const auto attempt = [&]() -> attempt_result {
    const std::uint64_t value = needed;
    return timeline.is_reached(value) ? true : attempt_result::again_at(value);
  };
  waiter sleeper{[&] { return events.wait(timeline, attempt); }};
  REQUIRE(sleeper.falls_asleep());
  const meter<counted> since;
  needed = 2;
  events.notify();
  await([&] { return since.parks() != 0; });  // then it has registered for the other value
  timeline.signal(2);
  CHECK(sleeper.status() == wait_status::reached);
}

TEST_CASE("[A120] the loss of the timeline ends a wait, unless the attempt says that it does not matter") {
  counted_events events;
  SUBCASE("a wait for no value at all") {
    counted_fence timeline;
    waiter sleeper{[&] { return events.wait(timeline, [] { return attempt_result::again_at(UINT64_MAX); }); }};
    REQUIRE(sleeper.falls_asleep());
    timeline.poison();
    CHECK(sleeper.status() == wait_status::lost);
  }
  SUBCASE("an attempt that goes on to name a value") {
    counted_fence timeline;
    waiter sleeper{[&] { return events.wait(timeline, [] { return attempt_result::again_at(9); }); }};
    REQUIRE(sleeper.falls_asleep());
    timeline.poison();
    CHECK(sleeper.status() == wait_status::lost);
  }
  SUBCASE("an attempt that names none") {
    counted_fence timeline;
    shelf things;
    waiter sleeper{[&] { return events.wait(timeline, [&] { return things.take(); }); }};
    REQUIRE(sleeper.falls_asleep());
    timeline.poison();
    CHECK(!sleeper.has_returned());
    things.put();
    events.notify();
    CHECK(sleeper.status() == wait_status::reached);
  }
  SUBCASE("a timeline that was lost before") {
    counted_fence timeline;
    timeline.poison();
    int attempts = 0;
    CHECK(events.wait(timeline, [&] { return ++attempts, attempt_result::again_at(9); }) == wait_status::lost);
    CHECK(attempts == 2);  // the first one may have begun before the loss
  }
}

TEST_CASE("[B12] a timeline of the program's own wakes a thread, and so does a notification") {
  tidemark::event_count events;
  user_timeline timeline;
  shelf things;
  const auto attempt = [&]() -> attempt_result {
    return things.take() || timeline.current_value() >= 5 ? true : attempt_result::again_at(5);
  };
  std::thread putter{[&] { things.put(), events.notify(); }};
  CHECK(events.wait(timeline, attempt) == wait_status::reached);
  putter.join();
  std::thread signaller{[&] { timeline.signal(5); }};
  CHECK(events.wait(timeline, attempt) == wait_status::reached);
  signaller.join();
  CHECK(events.wait_for(timeline, [] { return false; }, 1ms) == wait_status::timeout);
}

TEST_CASE("[A31] many threads put and take, and nothing is lost") {
  tidemark::event_count events;
  shelf things;
  shelf places;
  for (int i = 0; i < 3; ++i) places.put();
  constexpr int pairs = 3;
  constexpr int each = 2'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < pairs; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < each; ++n) {
        CHECK(events.wait([&] { return places.take(); }) == wait_status::reached);
        things.put();
        events.notify();
      }
    });
    threads.emplace_back([&] {
      for (int n = 0; n < each; ++n) {
        CHECK(events.wait([&] { return things.take(); }) == wait_status::reached);
        places.put();
        events.notify();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(!things.take());
}

TEST_CASE("[B12] what an attempt may return") {
  constexpr auto never = [] { return false; };
  constexpr auto no_value = [] { return attempt_result::again(); };
  constexpr auto no_answer = [] {};
  constexpr auto number = [] { return 5; };  // the next value, perhaps, but it says nothing
  static_assert(tidemark::plain_attempt<decltype(never)>);
  static_assert(!tidemark::plain_attempt<decltype(no_value)>);
  static_assert(!tidemark::plain_attempt<decltype(no_answer)>);
  static_assert(!tidemark::plain_attempt<decltype(number)>);
  static_assert(tidemark::timeline_attempt<decltype(never)>);
  static_assert(tidemark::timeline_attempt<decltype(no_value)>);
  static_assert(!tidemark::timeline_attempt<decltype(no_answer)>);
  static_assert(!tidemark::timeline_attempt<decltype(number)>);
  static_assert(attempt_result{true}.has_succeeded());
  static_assert(!attempt_result::again().has_succeeded() && !attempt_result::again().value());
  static_assert(!attempt_result::again_at(7).has_succeeded() && attempt_result::again_at(7).value() == 7U);
}
