// SPDX-License-Identifier: BSL-1.0
//
// fence_options::joins_signallers: a thread destroys the fence as soon as its wait has returned. AddressSanitizer and
// ThreadSanitizer notice a signaller that still uses it then.
#include <tidemark/fence/fence.hpp>

#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/queue/notifier.hpp>
#include <tidemark/queue/queue.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/counting_platform.hpp"
#include "support/kinds.hpp"
#include "support/threads.hpp"

using namespace testing;
using tidemark::fence_options;
using tidemark::wait_status;

namespace {

constexpr fence_options joining{.joins_signallers = true};
constexpr fence_options calm_joining{.max_spin_ns = 0, .joins_signallers = true};
constexpr fence_options one_line{.layout = tidemark::fence_layout::one_line};
constexpr fence_options joining_on_one_line{.layout = tidemark::fence_layout::one_line, .joins_signallers = true};
constexpr fence_options joining_with_calls{.callbacks = true, .joins_signallers = true};

/// Makes a fence, lets another thread signal it, waits, and destroys the fence.
template <class Fence>
void wait_and_destroy(int rounds) {
  std::atomic<Fence*> given{nullptr};
  std::thread signaller{[&] {
    for (int round = 0; round < rounds; ++round) {
      Fence* fence = nullptr;
      while ((fence = given.exchange(nullptr)) == nullptr) std::this_thread::yield();
      fence->signal(1);
    }
  }};
  for (int round = 0; round < rounds; ++round) {
    auto fence = std::make_unique<Fence>();
    given = fence.get();
    CHECK(fence->wait(1) == wait_status::reached);
    fence.reset();
  }
  signaller.join();
}

}  // namespace

TEST_CASE_TEMPLATE("a fence that joins its signallers is destroyed right after a wait", Kind, EVERY_KIND) {
  wait_and_destroy<typename Kind::template plain<joining>>(2000);
  wait_and_destroy<typename Kind::template plain<calm_joining>>(500);
  wait_and_destroy<typename Kind::template plain<joining_on_one_line>>(500);
}

TEST_CASE_TEMPLATE("it is destroyed right after a wait that poison() has ended", Kind, EVERY_KIND) {
  for (int round = 0; round < 200; ++round) {
    auto fence = std::make_unique<typename Kind::template plain<joining>>();
    std::thread loser{[&of = *fence] { of.poison(); }};
    CHECK(fence->wait(1) == wait_status::lost);
    fence.reset();
    loser.join();
  }
}

TEST_CASE_TEMPLATE("it is destroyed when all of its signallers have counted", Kind, EVERY_FENCE) {
  for (int round = 0; round < 100; ++round) {
    auto fence = std::make_unique<typename Kind::template plain<calm_joining>>();
    std::vector<std::thread> signallers;
    for (int i = 0; i < 4; ++i) signallers.emplace_back([&of = *fence] { of.signal_next(); });
    CHECK(fence->wait(4) == wait_status::reached);
    fence.reset();
    for (auto& one : signallers) one.join();
  }
}

TEST_CASE("the destructor sleeps while calls are inside, and the last one that leaves wakes it") {
  using platform = counting_platform<tidemark::native_platform>;
  tidemark::detail::calls_inside<platform> calls;
  auto first = std::make_unique<tidemark::detail::calls_inside<platform>::any_call>(calls);
  auto last = std::make_unique<tidemark::detail::calls_inside<platform>::any_call>(calls);
  background destroyer{[&] { calls.await_end(); }};
  CHECK(destroyer.falls_asleep());
  first.reset();
  CHECK(destroyer.falls_asleep());
  const meter<platform> during;
  last.reset();
  CHECK(during.unparks() == 1);
  destroyer.join();
}

TEST_CASE("the destructor sleeps while the one signaller is inside") {
  using platform = counting_platform<tidemark::native_platform>;
  tidemark::detail::calls_inside<platform> calls;
  auto inside = std::make_unique<tidemark::detail::calls_inside<platform>::one_call>(calls);
  background destroyer{[&] { calls.await_end(); }};
  CHECK(destroyer.falls_asleep());
  const meter<platform> during;
  inside.reset();
  CHECK(during.unparks() == 1);
  destroyer.join();
}

TEST_CASE("nobody sleeps or is woken where no call is inside") {
  using platform = counting_platform<tidemark::native_platform>;
  const meter<platform> during;
  {
    tidemark::basic_progress_fence<platform, joining> fence;
    fence.signal(1);
    fence.signal_next();
    tidemark::basic_fence<platform, joining> other;
    other.signal(1);
    other.signal_next();
    other.poison();
  }
  CHECK(during.parks() + during.unparks() == 0);
}

TEST_CASE_TEMPLATE("a callable may signal such a fence again, and the destructor waits for the outer signal", Kind,
                   EVERY_KIND) {
  std::vector<std::thread> signallers;
  for (int round = 0; round < 100; ++round) {
    auto fence = std::make_unique<typename Kind::template plain<joining_with_calls>>();
    {
      auto call = tidemark::call_in_signaller(*fence, 1, [&of = *fence] { of.signal(2); });
      std::thread signaller{[&of = *fence] { of.signal(1); }};
      CHECK(fence->wait(2) == wait_status::reached);
      static_cast<void>(call.cancel());
      signallers.push_back(std::move(signaller));
    }
    fence.reset();
  }
  for (auto& one : signallers) one.join();
}

TEST_CASE("[A65] it is destroyed right after a wait for several timelines") {
  using joining_fence = tidemark::basic_fence<tidemark::symmetric_platform, joining>;
  for (int round = 0; round < 200; ++round) {
    auto first = std::make_unique<joining_fence>();
    auto second = std::make_unique<joining_fence>();
    std::thread signaller{[&a = *first, &b = *second] {
      a.signal(1);
      b.signal(1);
    }};
    CHECK(tidemark::wait_all({{*first, 1}, {*second, 1}}) == wait_status::reached);
    first.reset();
    second.reset();
    signaller.join();
  }
}

TEST_CASE("it has no steps of a signal, so that queues call signal(), and hubs don't take it") {
  using joining_progress = tidemark::basic_progress_fence<tidemark::native_platform, joining>;
  using joining_fence = tidemark::basic_fence<tidemark::symmetric_platform, joining>;
  static_assert(tidemark::notified_fence<tidemark::progress_fence>);
  static_assert(!tidemark::notified_fence<joining_progress>);
  static_assert(!tidemark::notified_fence<joining_fence>);
  static_assert(tidemark::signalled_timeline<joining_progress>);
  auto done = std::make_unique<joining_progress>();
  tidemark::basic_queue<joining_progress> queue{*done};
  CHECK(queue.submit([](std::uint64_t) {}));
  std::thread executor{[&] { queue.complete(); }};
  CHECK(queue.drain() == wait_status::reached);
  executor.join();
}

TEST_CASE_TEMPLATE("joins_signallers costs a fence no memory where the line of the root has room", Kind, EVERY_KIND) {
  CHECK(sizeof(typename Kind::template plain<joining>) == sizeof(typename Kind::template plain<>));
  // Beside a root of 16 bytes there is room.
  const bool has_room = sizeof(typename Kind::platform::double_word) == 16;
  CHECK(sizeof(typename Kind::template plain<joining_on_one_line>) <=
        sizeof(typename Kind::template plain<one_line>) + (has_room ? 0 : tidemark::cache_line));
  static_assert(std::is_empty_v<tidemark::detail::no_calls_inside>);
}
