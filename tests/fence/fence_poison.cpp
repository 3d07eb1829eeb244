// SPDX-License-Identifier: BSL-1.0
//
// poison(): a lost timeline, as threads see it that wait already, that wait later, and that still signal.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_waiter;
using tidemark::wait_status;

TEST_CASE_TEMPLATE("[A120] poison releases all waiters, and their waits return lost", Kind, EVERY_KIND) {
  typename Kind::template fence<with_one_slot> fence{7};
  const auto dog = watch(fence);
  manual_stop stop;
  waiter in_slot{[&] { return fence.wait(8); }};
  CHECK(in_slot.falls_asleep());
  waiter in_lane{[&] { return fence.wait_for(1000, 24h); }};
  waiter stoppable{[&] { return fence.wait(9, stop.get_token()); }};
  waiter through_view{[view = fence.view()] { return view.wait(UINT64_MAX); }};
  CHECK(in_lane.falls_asleep());
  CHECK(stoppable.falls_asleep());
  CHECK(through_view.falls_asleep());

  fence.poison();
  CHECK(in_slot.status() == wait_status::lost);
  CHECK(in_lane.status() == wait_status::lost);
  CHECK(stoppable.status() == wait_status::lost);
  CHECK(through_view.status() == wait_status::lost);
  if (Kind::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A120] after poison every look shows the greatest value, and no wait blocks", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence{7};
  CHECK_FALSE(fence.is_poisoned());
  fence.poison();
  const auto view = fence.view();
  CHECK(fence.is_poisoned());
  CHECK(view.is_poisoned());
  CHECK(fence.current_value() == UINT64_MAX);
  CHECK(view.current_value() == UINT64_MAX);
  CHECK(fence.is_reached(UINT64_MAX));
  CHECK(view.is_reached(8));

  manual_stop stop;
  const meter<typename Kind::platform> during;
  CHECK(fence.wait(8) == wait_status::lost);
  CHECK(fence.wait(UINT64_MAX) == wait_status::lost);
  CHECK(fence.wait(8, stop.get_token()) == wait_status::lost);
  CHECK(fence.wait_for(8, 24h) == wait_status::lost);
  CHECK(fence.wait_for(8, 0s) == wait_status::lost);
  CHECK(fence.wait_until(8, std::chrono::system_clock::now() + 24h) == wait_status::lost);
  CHECK(view.wait(8) == wait_status::lost);
  CHECK(during.heavy_barriers() + during.parks() == 0);
}

TEST_CASE_TEMPLATE("[A120] a value that was reached before the poison stays reached", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  fence.signal(7);
  fence.poison();
  manual_stop stop;
  stop.request();
  CHECK(fence.wait(0) == wait_status::reached);
  CHECK(fence.wait(7) == wait_status::reached);
  CHECK(fence.wait_for(7, 0s) == wait_status::reached);
  CHECK(fence.view().wait(6, stop.get_token()) == wait_status::reached);
  CHECK(fence.wait(8) == wait_status::lost);
  CHECK(fence.wait(8, stop.get_token()) == wait_status::lost);  // `lost` wins over `stopped`
}

TEST_CASE_TEMPLATE("[A120][trap 34] signals after the poison neither undo it nor wake a thread", Kind, EVERY_KIND) {
  if (is_pinned_here<Kind>()) return;
  typename Kind::template fence<> fence{7};
  fence.poison();
  const meter<typename Kind::platform> during;
  fence.signal(9);
  CHECK(fence.current_value() == UINT64_MAX);
  fence.signal_next();
  CHECK(fence.current_value() == UINT64_MAX);
  CHECK(fence.is_poisoned());
  CHECK(fence.wait(1000) == wait_status::lost);
  CHECK(fence.notify_count() == 0);
  CHECK(during.unparks() == 0);
}

TEST_CASE_TEMPLATE("[A120] signals after the poison do not touch the caller's storage, which may be gone", Kind,
                   EVERY_KIND) {
  constexpr tidemark::fence_options one_line{.layout = tidemark::fence_layout::one_line,
                                             .storage = tidemark::value_storage::caller};
  const auto check = [](auto& fence, std::uint64_t& storage) {
    fence.signal(7);
    CHECK(storage == 7);
    fence.poison();
    fence.poison();
    storage = 3;  // which belongs to somebody else now
    fence.signal(9);
    CHECK(fence.signal_next() == 10);
    CHECK(storage == 3);
    CHECK(fence.current_value() == UINT64_MAX);
    CHECK(fence.wait(7) == wait_status::reached);
    CHECK(fence.wait(10) == wait_status::reached);
    CHECK(fence.wait(11) == wait_status::lost);
  };
  alignas(8) std::uint64_t first = 0;
  typename Kind::template fence<on_callers_storage> apart{&first};
  check(apart, first);
  alignas(8) std::uint64_t second = 0;
  typename Kind::template fence<one_line> beside_the_root{&second};
  check(beside_the_root, second);
}

TEST_CASE_TEMPLATE("[trap 34] a fence never adds 1 to the value that a poisoned timeline shows", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence{41};
  fence.poison();
  CHECK(fence.signal_next() == 42);  // after the last real value, not after the UINT64_MAX that is shown
  CHECK(fence.signal_next() == 43);
  CHECK(fence.current_value() == UINT64_MAX);
  CHECK(fence.wait(fence.current_value() + 1) == wait_status::reached);  // the sum is 0, which is reached
}

TEST_CASE_TEMPLATE("[trap 34] a timeline that has reached its greatest value stays there", Kind, EVERY_FENCE) {
  typename Kind::template fence<> fence;
  CHECK(fence.signal(UINT64_MAX));
  CHECK_FALSE(fence.signal(5));
  CHECK_FALSE(fence.signal(UINT64_MAX));
  CHECK(fence.current_value() == UINT64_MAX);
  CHECK_FALSE(fence.is_poisoned());
  fence.poison();
  CHECK(fence.wait(UINT64_MAX) == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A120] poison may come twice, and before anything else", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const meter<typename Kind::platform> during;
  fence.poison();
  fence.poison();
  CHECK(during.unparks() == 0);
  CHECK(fence.is_poisoned());
  CHECK(fence.wait(1) == wait_status::lost);
  CHECK(fence.wait(0) == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A120] what was done before the poison is visible to a thread that learns of it", Kind,
                   EVERY_KIND) {
  for (int round = 0; round < 50; ++round) {
    typename Kind::template plain<> fence;
    const auto dog = watch(fence);
    int why = 0;  // not atomic: only the poison synchronizes it
    waiter waiting{[&] {
      const auto status = fence.wait(1);
      return why == 7 ? status : wait_status::timeout;
    }};
    why = 7;
    fence.poison();
    CHECK(waiting.status() == wait_status::lost);
  }
}

TEST_CASE_TEMPLATE("[A120] poison, signals and waits at the same time leave no waiter behind", Kind, EVERY_KIND) {
  constexpr tidemark::fence_options crowded{.capacity = 2, .max_spin_ns = 0};
  for (int round = 0; round < 60; ++round) {
    typename Kind::template plain<crowded> fence;
    const auto dog = watch(fence);
    std::atomic<std::uint64_t> signalled{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint64_t step = 1; step <= 4; ++step) {
      threads.emplace_back([&, step] {
        for (std::uint64_t target = step;; target += step) {
          const auto status = fence.wait(target);
          if (status == wait_status::lost && !fence.is_poisoned()) ++wrong;
          if (status == wait_status::reached && fence.current_value() < target) ++wrong;
          if (status != wait_status::reached) break;
        }
      });
    }
    std::thread signaller{[&] {
      while (!fence.is_poisoned() || signalled < 20) signalled = fence.signal_next();
    }};
    await([&] { return signalled >= 10; });
    fence.poison();
    fence.poison();
    signaller.join();
    // Nothing is signalled any more: every wait must return.
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(fence.current_value() == UINT64_MAX);
    if (Kind::base::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
  }
}

TEST_CASE_TEMPLATE("[A120] if several threads poison, each finds every waiter released when it returns", Kind,
                   EVERY_KIND) {
  for (int round = 0; round < 60; ++round) {
    typename Kind::template plain<> fence;
    const auto dog = watch(fence);
    waiter low{[&] { return fence.wait(1); }};
    waiter high{[&] { return fence.wait(UINT64_MAX); }};
    std::thread other{[&] { fence.poison(); }};
    fence.poison();
    CHECK(low.status() == wait_status::lost);
    CHECK(high.status() == wait_status::lost);
    other.join();
  }
}
