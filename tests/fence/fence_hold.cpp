// SPDX-License-Identifier: BSL-1.0
//
// The hold of a fence's root: where waits are about as frequent as signals, waiters issue no heavy barrier. Most tests
// here have one thread: the signals come from a hook, just before the waiter would sleep. So all counts are exact.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/wait_many.hpp>

#include "support/counting_platform.hpp"
#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

using hooked = hooked_platform<tidemark::native_platform>;
using tidemark::fence_options;

/// Open for a test that looks at the root itself and registers waiters of its own.
template <fence_options Options = without_spinning, class Platform = hooked>
struct open_fence : tidemark::basic_progress_fence<Platform, Options> {
  using base = tidemark::basic_progress_fence<Platform, Options>;
  using base::base;
  using base::heap;

  bool is_held() const { return this->heap().hold().holds(); }
  std::uint64_t root() const { return this->heap().monitored_word().load_value(std::memory_order_relaxed); }
};

/// Whether roots are held here at all.
bool is_held_nowhere() {
  if (hooked::asymmetric && hooked::heavy_barrier_available()) return false;
  MESSAGE("not tested: waiters need no heavy barrier here, or the system refuses it");
  return true;
}

/// Waits for the next value, which is signalled when the waiter is about to sleep.
template <class Fence>
void wait_for_next(Fence& fence) {
  const std::uint64_t next = fence.current_value() + 1;
  hooked::at_park = [&fence] { fence.signal_next(); };
  REQUIRE(fence.wait(next) == wait_status::reached);
  REQUIRE(hooked::at_park.has_run());
}

/// Waits until the root is held.
template <class Fence>
void let_hold(Fence& fence) {
  for (int waits = 0; waits < 10'000 && !fence.is_held(); ++waits) wait_for_next(fence);
  REQUIRE(fence.is_held());
}

/// Signals until the root is not held any more, and returns how many signals that took.
template <class Fence>
int signals_until_end(Fence& fence) {
  int signals = 0;
  for (; fence.is_held() && signals < 1000; ++signals) fence.signal_next();
  return signals;
}

}  // namespace

TEST_CASE("[A7][A35] where each signal releases a waiter, only the first waits issue a heavy barrier") {
  if (is_held_nowhere()) return;
  open_fence fence;
  const meter<hooked> during;
  for (int waits = 0; waits < 6'000; ++waits) wait_for_next(fence);
  CHECK(during.heavy_barriers() == 5);
  CHECK(fence.notify_count() == 6'000);
  CHECK(fence.is_held());
  CHECK(fence.root() == 0);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE("[A7][A125] where registrations are reported, the root is never held") {
  if (is_held_nowhere()) return;
  constexpr fence_options reporting{.max_spin_ns = 0, .reports_registrations = true};
  open_fence<reporting> fence;
  open_fence<fence_options{.max_spin_ns = 0}> plain;
  for (int waits = 0; waits < 100; ++waits) {
    wait_for_next(fence);
    wait_for_next(plain);
    REQUIRE_FALSE(fence.is_held());
  }
  CHECK(plain.is_held());
}

TEST_CASE("[A7] two threads that wake each other issue few heavy barriers") {
  if (is_held_nowhere()) return;
  open_fence<without_spinning> ping;
  open_fence<without_spinning> pong;
  const auto dog = watch(ping);
  const meter<hooked> during;
  {
    waiter other{[&] {
      for (std::uint64_t value = 1; value <= 3'000; ++value) {
        if (ping.wait(value) != wait_status::reached) return wait_status::lost;
        pong.signal(value);
      }
      return wait_status::reached;
    }};
    for (std::uint64_t value = 1; value <= 3'000; ++value) {
      ping.signal(value);
      REQUIRE(pong.wait(value) == wait_status::reached);
    }
    CHECK(other.status() == wait_status::reached);
  }
  // A dozen on one core and on two. A busy machine may run the threads in another order, in which waits do not sleep.
  CHECK(during.heavy_barriers() <= 600);
}

TEST_CASE("[A7] 16 signals in vain end a hold that has released nobody") {
  if (is_held_nowhere()) return;
  open_fence fence;
  for (int waits = 0; waits < 4; ++waits) wait_for_next(fence);
  CHECK_FALSE(fence.is_held());
  // This waiter begins a hold, and leaves before it is signalled. Where its time is over before it is registered, the
  // next one does so.
  for (int waits = 0; waits < 10'000 && !fence.is_held(); ++waits)
    CHECK(fence.wait_for(UINT64_MAX, 1ms) == wait_status::timeout);
  REQUIRE(fence.is_held());
  CHECK(fence.root() == 0);
  CHECK(fence.monitored_value() == no_waiter);
  const std::uint64_t before = fence.notify_count();
  for (int signals = 0; signals < 1'000; ++signals) fence.signal_next();
  CHECK(fence.notify_count() == before + 16);
  CHECK_FALSE(fence.is_held());
  CHECK(fence.root() == no_waiter);
}

TEST_CASE("[A7] a hold that has released many ends after 64 signals in vain, and the next one comes soon") {
  if (is_held_nowhere()) return;
  open_fence fence;
  let_hold(fence);
  for (int waits = 0; waits < 100; ++waits) wait_for_next(fence);
  CHECK(signals_until_end(fence) == 64);
  CHECK(fence.root() == no_waiter);
  // 8 releases, and the next waiter begins the hold.
  for (int waits = 0; waits < 8; ++waits) wait_for_next(fence);
  CHECK_FALSE(fence.is_held());
  wait_for_next(fence);
  CHECK(fence.is_held());
}

TEST_CASE("[A7] where waits are rare, holds become rarer, up to one for 4,096 waits") {
  if (is_held_nowhere()) return;
  open_fence fence;
  std::vector<int> waits_before_hold;
  for (int holds = 0; holds < 13; ++holds) {
    int waits = 0;
    for (; !fence.is_held(); ++waits) {
      wait_for_next(fence);
      if (!fence.is_held()) fence.signal(fence.current_value() + 1'000);
    }
    waits_before_hold.push_back(waits);
    CHECK(signals_until_end(fence) == 32);  // the waiter that began it was released
  }
  CHECK(waits_before_hold == std::vector{5, 9, 17, 33, 65, 129, 257, 513, 1025, 2049, 4097, 4097, 4097});
}

TEST_CASE("[A7] however waits and signals follow each other, a release pays for at most 16 signals in vain") {
  if (is_held_nowhere()) return;
  for (const unsigned most : {1U, 5U, 15U, 16U, 17U, 40U, 300U}) {
    open_fence fence;
    std::uint64_t random = 1;
    std::uint64_t released = 0;
    for (int waits = 0; waits < 3'000; ++waits) {
      wait_for_next(fence);
      ++released;
      random = random * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
      for (std::uint64_t signals = (random >> 33) % most; signals > 0; --signals) fence.signal_next();
      REQUIRE(fence.notify_count() - released <= 16 * released);
    }
  }
}

TEST_CASE("[A12][A14][A15] the monitored value is exact while the root is held") {
  if (is_held_nowhere()) return;
  open_fence fence;
  let_hold(fence);
  const auto first = fence.heap().add(5'000);
  const auto second = fence.heap().add(4'000);
  CHECK(fence.root() == 0);
  CHECK(fence.monitored_value() == 3'999);
  CHECK(fence.view().monitored_value() == 3'999);
  fence.heap().withdraw(second);
  CHECK(fence.monitored_value() == 4'999);
  fence.heap().withdraw(first);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE("[A14] a wait that is stopped, or whose time is over, leaves a hold as it is") {
  if (is_held_nowhere()) return;
  open_fence fence;
  let_hold(fence);
  const meter<hooked> during;
  CHECK(fence.wait_for(UINT64_MAX, 1ms) == wait_status::timeout);
  manual_stop stop;
  hooked::at_park = [&] { stop.request(); };
  CHECK(fence.wait(UINT64_MAX, stop.get_token()) == wait_status::stopped);
  CHECK(fence.is_held());
  CHECK(fence.monitored_value() == no_waiter);
  CHECK(during.heavy_barriers() == 0);
  wait_for_next(fence);
}

TEST_CASE("[A120] a poison beside a hold releases its waiters, and signals become fast again") {
  if (is_held_nowhere()) return;
  open_fence fence;
  let_hold(fence);
  hooked::at_park = [&] { fence.poison(); };
  CHECK(fence.wait(UINT64_MAX) == wait_status::lost);
  CHECK(fence.wait(UINT64_MAX) == wait_status::lost);
  CHECK(fence.monitored_value() == no_waiter);
  CHECK(signals_until_end(fence) <= 64);
  CHECK(fence.root() == no_waiter);
}

TEST_CASE("[A28][A32] a heap that grows beside a hold, or has waiters in the lane, forgets nobody") {
  if (is_held_nowhere()) return;
  const auto forgets_nobody = [](auto&& fence) {
    let_hold(fence);
    const std::uint64_t now = fence.current_value();
    const auto dog = watch(fence);
    const meter<hooked> during;
    std::vector<std::unique_ptr<waiter>> waiters;
    for (std::uint64_t i = 1; i <= 20; ++i) {
      waiters.push_back(std::make_unique<waiter>([&fence, target = now + i] { return fence.wait(target); }));
      CHECK(waiters.back()->falls_asleep());
    }
    CHECK(during.heavy_barriers() == 0);
    CHECK(fence.root() == 0);
    CHECK(fence.monitored_value() == now);
    for (const auto& due : waiters) {
      fence.signal_next();
      CHECK(due->status() == wait_status::reached);
    }
    waiters.clear();
    CHECK(fence.monitored_value() == no_waiter);
    CHECK(signals_until_end(fence) <= 64);
    CHECK(fence.root() == no_waiter);
  };
  forgets_nobody(open_fence<fence_options{.capacity = 2, .max_spin_ns = 0, .statistics = true}>{});
  forgets_nobody(open_fence<with_one_slot>{});
}

TEST_CASE("[A7] a signal by steps ends a hold, for ever, so that no hub is told in vain") {
  if (is_held_nowhere()) return;
  open_fence fence;
  let_hold(fence);
  const std::uint64_t next = fence.current_value() + 1;
  fence.publish(next);
  CHECK(fence.is_due(next));  // the only time
  CHECK(fence.release_due() == 0);
  CHECK_FALSE(fence.is_held());
  CHECK(fence.root() == no_waiter);
  for (int waits = 0; waits < 10'000; ++waits) wait_for_next(fence);
  CHECK_FALSE(fence.is_held());
  CHECK_FALSE(fence.is_due(fence.current_value()));

  // Signals by steps alone never begin one.
  open_fence told;
  for (std::uint64_t value = 1; value <= 100; ++value) {
    hooked::at_park = [&] {
      told.publish(value);
      if (told.is_due(value)) told.release_due_after_barrier();
    };
    CHECK(told.wait(value) == wait_status::reached);
  }
  CHECK_FALSE(told.is_held());
}

namespace {

struct refusing : hooked {
  static bool heavy_barrier() noexcept {
    hooked::heavy_barrier();
    return !refuses;
  }
  static inline bool refuses = false;
};

}  // namespace

TEST_CASE("[A31][A34] where the heavy barrier is refused to the waiter that begins a hold, there is none") {
  if (is_held_nowhere()) return;
  open_fence<without_spinning, refusing> fence;
  for (int waits = 0; waits < 4; ++waits) wait_for_next(fence);
  refusing::refuses = true;
  wait_for_next(fence);
  CHECK_FALSE(fence.is_held());
  CHECK(fence.root() == no_waiter);
  refusing::refuses = false;
  for (int waits = 0; waits < 100; ++waits) wait_for_next(fence);
  CHECK_FALSE(fence.is_held());
}

TEST_CASE("[A65] a wait for several timelines is right beside a hold of one") {
  if (is_held_nowhere()) return;
  open_fence held;
  open_fence other;
  let_hold(held);
  for (int rounds = 0; rounds < 100; ++rounds) {
    const std::uint64_t next = held.current_value() + 1;
    hooked::at_park = [&] { held.signal(next); };
    const std::array<tidemark::basic_awaited<hooked>, 2> either{{{held, next}, {other, next}}};
    REQUIRE(wait_any(either) == tidemark::wait_any_result{wait_status::reached, 0});
  }
  CHECK(held.is_held());
  CHECK(held.monitored_value() == no_waiter);
}

TEST_CASE("a fence whose waiters need no heavy barrier is never held, and has no room for a hold") {
  using symmetric = hooked_platform<tidemark::symmetric_platform>;
  open_fence<without_spinning, symmetric> fence;
  for (int waits = 0; waits < 50; ++waits) {
    symmetric::at_park = [&fence] { fence.signal_next(); };
    REQUIRE(fence.wait(fence.current_value() + 1) == wait_status::reached);
  }
  CHECK(fence.heap().hold().is_forbidden());
  CHECK(fence.monitored_value() == no_waiter);
  static_assert(sizeof(tidemark::waiter_heap<16, symmetric>) <= sizeof(tidemark::waiter_heap<16, hooked>));
}
