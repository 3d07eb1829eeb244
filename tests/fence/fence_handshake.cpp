// SPDX-License-Identifier: BSL-1.0
//
// The handshake between signaller and waiter, one interleaving at a time. A hooked platform lets a test act at a
// chosen step inside a signal or a wait, in the same thread. So each case below happens every time, not once in a
// million times.
//
//      signal:  s1 value  s2 light barrier  s3 look at monitored value  (full barrier, release, unpark)
//      wait:    w1 register  w2 heavy barrier  w3 look at value  park
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include <tidemark/fence/fence.hpp>

#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/parts_of_kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

constexpr tidemark::fence_options hooked{.max_spin_ns = 0, .statistics = true};
constexpr tidemark::fence_options hooked_with_one_slot{
    .capacity = 1, .growth = tidemark::heap_growth::forbidden, .max_spin_ns = 0, .statistics = true};

/// Either kind of fence on a hooked platform.
template <class Base>
struct hooked_any {
  using platform = hooked_platform<Base>;
  template <tidemark::fence_options Options = hooked>
  using fence = tidemark::basic_fence<platform, Options>;
};
template <class Base>
struct hooked_one {
  using platform = hooked_platform<Base>;
  template <tidemark::fence_options Options = hooked>
  using fence = tidemark::basic_progress_fence<platform, Options>;
};
using any_on_symmetric = hooked_any<tidemark::symmetric_platform>;
using any_on_native = hooked_any<tidemark::native_platform>;
using one_on_symmetric = hooked_one<tidemark::symmetric_platform>;
using one_on_native = hooked_one<tidemark::native_platform>;

/// Sleeps only every other time, and at most a millisecond: it wakes for no reason again and again.
struct restless_platform : tidemark::native_platform {
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    const auto soon = now() + 1ms;
    if (until <= soon) return tidemark::native_platform::park(word, expected, until);
    if (returns.fetch_add(1) % 2 == 1) tidemark::native_platform::park(word, expected, soon);
    return true;
  }
  static inline std::atomic<unsigned> returns{0};
};

/// The barrier is available when the program starts, and refused from then on.
struct refusing_platform : tidemark::native_platform {
  static bool heavy_barrier() noexcept { return false; }
  static bool heavy_barrier_available() noexcept { return true; }
};

/// The barrier is never available.
struct missing_platform : tidemark::native_platform {
  static bool heavy_barrier() noexcept {
    full_barrier();
    return false;
  }
  static bool heavy_barrier_available() noexcept { return false; }
};

}  // namespace

TYPE_TO_STRING_AS("fence/symmetric", any_on_symmetric);
TYPE_TO_STRING_AS("fence/native", any_on_native);
TYPE_TO_STRING_AS("progress_fence/symmetric", one_on_symmetric);
TYPE_TO_STRING_AS("progress_fence/native", one_on_native);
#define EVERY_HOOKED_KIND TESTED_OF(any_on_native, one_on_native, any_on_symmetric), one_on_symmetric

// ---- the waiter's side ---------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A30][trap 1] a waiter publishes its target, then issues its barrier, then looks again", Kind,
                   EVERY_HOOKED_KIND) {
  if (is_pinned_here<Kind>()) return;
  using platform = typename Kind::platform;
  typename Kind::template fence<> fence{40};
  std::uint64_t published = 0;
  platform::at_heavy_barrier = [&] {
    published = fence.monitored_value();  // w1 is done
    fence.signal(42);                     // s1 comes before w3
  };
  CHECK(fence.wait(42) == wait_status::reached);
  CHECK(published == 41);
  CHECK(platform::at_heavy_barrier.has_run());
}

TEST_CASE_TEMPLATE("[A35] a signal between registration and the second look ends the wait without a second signal",
                   Kind, EVERY_HOOKED_KIND) {
  using platform = typename Kind::platform;
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  const meter<platform> during;
  platform::at_heavy_barrier = [&] { fence.signal(1); };
  CHECK(fence.wait(1) == wait_status::reached);
  CHECK(during.parks() == 0);
  CHECK(fence.notify_count() == 1);
  if (platform::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A35] a signal between the first look and registration is found by the second look", Kind,
                   EVERY_HOOKED_KIND) {
  if (is_pinned_here<Kind>()) return;
  using platform = typename Kind::platform;
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  const auto in_an_hour = std::chrono::steady_clock::now() + 1h;
  const meter<platform> during;
  platform::at_now = [&] { fence.signal(1); };  // the waiter reads the clock after its first look
  CHECK(fence.wait_until(1, in_an_hour) == wait_status::reached);
  CHECK(platform::at_now.has_run());
  CHECK(fence.notify_count() == 0);  // the waiter was not registered yet
  CHECK(during.parks() == 0);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A35] a signal just before the waiter sleeps keeps it from sleeping", Kind, EVERY_HOOKED_KIND) {
  using platform = typename Kind::platform;
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  const meter<platform> during;
  platform::at_park = [&] { fence.signal(1); };
  CHECK(fence.wait(1) == wait_status::reached);
  CHECK(platform::at_park.has_run());
  CHECK(during.parks() == 1);
  CHECK(during.unparks() == 1);
}

TEST_CASE_TEMPLATE("[A35] poison at any point of a wait ends it", Kind, EVERY_HOOKED_KIND) {
  using platform = typename Kind::platform;
  for (hook* const point : {&platform::at_now, &platform::at_heavy_barrier, &platform::at_park}) {
    typename Kind::template fence<> fence;
    const auto dog = watch(fence);
    const auto in_an_hour = std::chrono::steady_clock::now() + 1h;
    *point = [&] { fence.poison(); };
    CHECK(fence.wait_until(1, in_an_hour) == wait_status::lost);
    CHECK(point->has_run());
    if (platform::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
  }
}

TEST_CASE_TEMPLATE("[A120] a value that is reached just before the poison still counts as reached", Kind,
                   EVERY_HOOKED_KIND) {
  using platform = typename Kind::platform;
  for (hook* const point : {&platform::at_heavy_barrier, &platform::at_park}) {
    typename Kind::template fence<> fence;
    const auto dog = watch(fence);
    *point = [&] {
      fence.signal(5);
      fence.poison();
    };
    CHECK(fence.wait(5) == wait_status::reached);
    CHECK(fence.wait(6) == wait_status::lost);
  }
}

TEST_CASE_TEMPLATE("[A29] a newer value that is written while a pass decides about a waiter is not lost", Kind,
                   EVERY_HOOKED_KIND) {
  using platform = typename Kind::platform;
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  platform::at_heavy_barrier = [&] { fence.signal(4); };  // not enough: the waiter goes on to sleep
  platform::at_park = [&] { fence.signal(5); };           // enough
  CHECK(fence.wait(5) == wait_status::reached);
  CHECK(platform::at_park.has_run());
}

TEST_CASE_TEMPLATE("[trap 7] a lower target that registers during another registration is the one monitored", Kind,
                   EVERY_HOOKED_KIND) {
  if (is_pinned_here<Kind>()) return;
  using platform = typename Kind::platform;
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  manual_stop low_stop;
  manual_stop high_stop;
  std::uint64_t with_both = 0;
  std::uint64_t with_low_gone = 0;
  platform::at_heavy_barrier = [&] {  // 100 is registered; now 5 comes, and goes again
    platform::at_heavy_barrier = [&] {
      with_both = fence.monitored_value();
      low_stop.request();
    };
    CHECK(fence.wait(5, low_stop.get_token()) == wait_status::stopped);
    with_low_gone = fence.monitored_value();
    high_stop.request();
  };
  CHECK(fence.wait(100, high_stop.get_token()) == wait_status::stopped);
  CHECK(with_both == 4);
  CHECK(with_low_gone == 99);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A14] a waiter of the lane that is released again and again before it is due ends at its deadline",
                   Kind, EVERY_HOOKED_KIND) {
  using platform = typename Kind::platform;
  typename Kind::template fence<hooked_with_one_slot> fence;
  const auto dog = watch(fence);
  manual_stop slot_stop;
  auto ended = wait_status::lost;
  // Each time that the waiter has joined the lane, another waiter joins, too, and is signalled.
  const std::function<void()> release_lane = [&] {
    platform::at_heavy_barrier = [&] {
      platform::at_heavy_barrier = release_lane;
      fence.signal(fence.current_value() + 1);
    };
    CHECK(fence.wait(fence.current_value() + 1) == wait_status::reached);
  };
  platform::at_heavy_barrier = [&] {  // the slot is taken
    platform::at_heavy_barrier = release_lane;
    ended = fence.wait_for(1'000'000'000, 50ms);
    platform::at_heavy_barrier = nullptr;
    slot_stop.request();
  };
  CHECK(fence.wait(2'000'000'000, slot_stop.get_token()) == wait_status::stopped);
  CHECK(ended == wait_status::timeout);
  WARN(fence.overflow_count() > 0);  // unless this thread was stopped for 50 ms
}

TEST_CASE("[A36] a waiter that is woken again and again returns only when its value is reached") {
  tidemark::basic_fence<restless_platform> fence;
  const auto dog = watch(fence);
  std::uint64_t seen = 0;
  waiter restless{[&] {
    const auto status = fence.wait(5);
    seen = fence.current_value();
    return status;
  }};
  for (std::uint64_t value = 1; value <= 5; ++value) {
    const auto before = restless_platform::returns.load();
    await([&] { return restless_platform::returns > before + 3; });
    CHECK_FALSE(restless.has_returned());
    fence.signal(value);
  }
  CHECK(restless.status() == wait_status::reached);
  CHECK(seen == 5);
  const auto start = std::chrono::steady_clock::now();
  CHECK(fence.wait_for(6, 5ms) == wait_status::timeout);
  CHECK(std::chrono::steady_clock::now() - start >= 5ms);
}

// ---- the signaller's side ------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A31] a signal writes its value, then issues its barrier, then looks at the monitored value", Kind,
                   EVERY_HOOKED_KIND) {
  if (is_pinned_here<Kind>()) return;
  using platform = typename Kind::platform;
  typename Kind::template fence<hooked_with_one_slot> fence;
  const auto dog = watch(fence);
  std::uint64_t written = 0;
  wait_status at_once{};
  platform::at_light_barrier = [&] {
    written = fence.current_value();  // s1 is done
    at_once = fence.wait(5);
  };
  fence.signal(5);
  CHECK(written == 5);
  CHECK(at_once == wait_status::reached);
  CHECK(fence.notify_count() == 0);

  // Two threads wait, one of them in the overflow lane, for the value that the signal has not published before its
  // barrier. A signal that looks only after its barrier finds that, and takes the slow path.
  waiter in_slot{[&] { return fence.wait(10); }};
  CHECK(in_slot.falls_asleep());
  std::unique_ptr<waiter> in_lane;
  platform::at_light_barrier = [&] {
    in_lane = std::make_unique<waiter>([&] { return fence.wait(7); });
    CHECK(in_lane->falls_asleep());
  };
  fence.signal_next();
  CHECK(fence.notify_count() == 0);
  CHECK(fence.monitored_value() == 6);
  fence.signal(10);
  CHECK(fence.notify_count() == 1);
  CHECK(in_slot.status() == wait_status::reached);
  CHECK(in_lane->status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[trap 9] a signal from inside a notification releases its own waiters, and nothing blocks", Kind,
                   EVERY_HOOKED_KIND) {
  using platform = typename Kind::platform;
  typename Kind::template fence<> fence;
  typename Kind::template fence<> other;
  const auto dog = watch(fence);
  waiter low{[&] { return fence.wait(1); }};
  waiter high{[&] { return fence.wait(9); }};
  waiter elsewhere{[&] { return other.wait(1); }};
  CHECK(low.falls_asleep());
  CHECK(high.falls_asleep());
  CHECK(elsewhere.falls_asleep());
  wait_status inside{};
  platform::at_unpark = [&] {  // the pass has released `low`, but not woken it yet
    other.signal(1);
    fence.signal(9);
    inside = fence.wait(9);
  };
  fence.signal(1);
  CHECK(inside == wait_status::reached);
  CHECK(low.status() == wait_status::reached);
  CHECK(high.status() == wait_status::reached);
  CHECK(elsewhere.status() == wait_status::reached);
  CHECK(fence.current_value() == 9);
}

// ---- without the heavy barrier -------------------------------------------------------------------------------------

TEST_CASE("[A34] where the heavy barrier is missing, every signal takes the slow path, and no waiter sleeps on") {
  tidemark::basic_progress_fence<missing_platform, hooked> fence;
  const auto dog = watch(fence);
  CHECK(fence.monitored_value() == 0);
  fence.signal(1);
  fence.signal(2);
  CHECK(fence.notify_count() == 2);
  CHECK(fence.wait_for(3, 1ms) == wait_status::timeout);
  for (std::uint64_t round = 3; round < 200; ++round) {
    waiter waiting{[&] { return fence.wait(round); }};
    fence.signal(round);
    CHECK(waiting.status() == wait_status::reached);
  }
  CHECK(fence.notify_count() == 199);
  CHECK(fence.monitored_value() == 0);
}

TEST_CASE("[A34] where the heavy barrier fails later, a waiter that a signal has missed finds the value itself") {
  constexpr tidemark::fence_options on_callers{.max_spin_ns = 0, .storage = tidemark::value_storage::caller};
  alignas(8) std::uint64_t storage = 0;
  tidemark::basic_progress_fence<refusing_platform, on_callers> fence{&storage};
  const auto dog = watch(fence);
  waiter missed{[&] { return fence.wait(1); }};
  await([&] { return fence.monitored_value() == 0; });
  // s1 without s3, as if the signal had looked before the waiter was registered.
  std::atomic_ref{storage}.store(1, std::memory_order_release);
  CHECK(missed.status() == wait_status::reached);
  CHECK(fence.wait_for(2, 5ms) == wait_status::timeout);
  waiter notified{[&] { return fence.wait(2); }};
  fence.signal(2);
  CHECK(notified.status() == wait_status::reached);
}
