// SPDX-License-Identifier: BSL-1.0
//
// A fence, a rewindable fence or an event count that is destroyed while somebody waits for it is reported; one whose
// waits have returned is not, and neither is the copy of the child of a fork. Each test registers in a child process:
// where a process has registered waits, the children that it forks later report nothing.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/fence/awaited.hpp>
#include <tidemark/fence/detached.hpp>
#include <tidemark/fence/each_advance.hpp>
#include <tidemark/fence/event_count.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence_options.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/rewindable_target.hpp>
#include <tidemark/fence/signaller_awaiter.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/fence/waiter_heap.hpp>
#include <tidemark/loop/reached_descriptor.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/platform/platform.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::callback_fence;
using tidemark::fence;
using tidemark::rewindable_fence;

namespace {

constexpr char in_use[] = "a timeline was destroyed before the waits for it had ended";

using symmetric = tidemark::symmetric_platform;
using native = tidemark::native_platform;
using portable = tidemark::portable_platform;
constexpr tidemark::fence_options without_spinning{.max_spin_ns = 0};
constexpr tidemark::fence_options one_slot{.capacity = 1, .max_spin_ns = 0};
constexpr tidemark::fence_options one_slot_and_lane{
    .capacity = 1, .growth = tidemark::heap_growth::forbidden, .max_spin_ns = 0};
constexpr tidemark::fence_options joining{.joins_signallers = true};
template <class Platform, tidemark::fence_options Options>
using fence_with = tidemark::basic_fence<Platform, Options>;

/// An object that is never destroyed but by the test.
template <class T>
class kept {
 public:
  T& operator*() noexcept { return *object_; }
  T* operator->() noexcept { return object_; }
  void destroy() { object_->~T(); }

 private:
  T* object_ = new T;
};

/// Destroys the object while `count` threads sleep in `wait(object)`.
template <class T, class Wait>
std::string reported_with_sleepers(int count, const Wait& wait) {
  return reported_by([&] {
    kept<T> object;
    for (int i = 0; i < count; ++i) {
      // The child ends without it.
      auto& sleeper = *new background{[&] { wait(*object); }};
      if (!sleeper.blocks()) _exit(2);
    }
    object.destroy();
    _exit(0);
  });
}
/// Destroys the object while what `registers(object)` returns lives.
template <class T, class Register>
std::string reported_while(const Register& registers) {
  return reported_by([&] {
    kept<T> object;
    [[maybe_unused]] const auto registration = registers(*object);
    object.destroy();
    _exit(0);
  });
}

}  // namespace

TEST_CASE("a fence is not destroyed while threads wait for it") {
  const auto wait = [](auto& one) { static_cast<void>(one.wait(1)); };
  CHECK(reported_with_sleepers<fence_with<symmetric, without_spinning>>(1, wait) == in_use);
  CHECK(reported_with_sleepers<fence_with<native, without_spinning>>(1, wait) == in_use);
  CHECK(reported_with_sleepers<fence_with<portable, without_spinning>>(1, wait) == in_use);
  CHECK(reported_with_sleepers<tidemark::basic_progress_fence<native, without_spinning>>(20, wait) == in_use);
  CHECK(reported_with_sleepers<rewindable_fence>(1, wait) == in_use);
}

TEST_CASE("nor while one waits in a later block of slots, or in the overflow lane") {
  using tidemark::heap_growth;
  using no_neighbor = tidemark::detail::no_neighbor;
  // The waiter with the first slot is withdrawn before.
  const auto reported = [](auto heap_type, std::uint64_t left) {
    return reported_by([&] {
      kept<typename decltype(heap_type)::type> heap;
      const auto first = heap->add(1);
      const auto second = heap->add(2);
      heap->withdraw(left == 2 ? first : second);
      heap.destroy();
      _exit(0);
    });
  };
  using grown = std::type_identity<tidemark::waiter_heap<1, native>>;
  using with_lane = std::type_identity<tidemark::waiter_heap<1, native, 4, no_neighbor, heap_growth::forbidden>>;
  CHECK(reported(grown{}, 1) == in_use);
  CHECK(reported(grown{}, 2) == in_use);
  CHECK(reported(with_lane{}, 1) == in_use);
  CHECK(reported(with_lane{}, 2) == in_use);
}

TEST_CASE("a fence is not destroyed while a list of timelines with it is waited for") {
  const auto wait = [](fence& one) { static_cast<void>(tidemark::wait_all(std::array{tidemark::awaited{one, 1}})); };
  CHECK(reported_with_sleepers<fence>(1, wait) == in_use);
}

TEST_CASE("a fence is not destroyed before what is registered with it: callables, links, coroutines, descriptors") {
  CHECK(reported_while<callback_fence>([](auto& on) { return tidemark::call_in_signaller(on, 1, [] {}); }) == in_use);
  CHECK(reported_while<callback_fence>([](auto& on) { return tidemark::each_advance(on, [](std::uint64_t) {}); }) ==
        in_use);
  fence to;
  CHECK(reported_while<callback_fence>([&](auto& on) { return tidemark::link(on, 1, to, 1); }) == in_use);
  CHECK(reported_while<callback_fence>([](auto& on) {
          [](auto& awaited) -> tidemark::detached {
            static_cast<void>(co_await tidemark::reached_in_signaller(awaited, 1));
          }(on);
          return 0;
        }) == in_use);
  CHECK(reported_while<rewindable_fence>([](auto& on) { return tidemark::rewindable_target{on, 1}; }) == in_use);
  CHECK(reported_while<fence>([](auto& on) { return tidemark::reached_descriptor{on, 1}; }) == in_use);
  CHECK(reported_by([] {
          kept<tidemark::wait_loop> loop;
          kept<fence> object;
          const auto registration = loop->on_reached(*object, 1, [] {});
          static_cast<void>(loop->run_for(1ms));  // registers before it sleeps
          object.destroy();
          _exit(0);
        }) == in_use);
}

TEST_CASE("an event count is not destroyed while threads wait for it") {
  const auto wait = [](auto& one) { static_cast<void>(one.wait([] { return false; })); };
  CHECK(reported_with_sleepers<tidemark::event_count>(1, wait) ==
        "an event count was destroyed before the waits for it had ended");
}

TEST_CASE("waits that have returned, and registrations that have ended, leave nothing behind") {
  CHECK(reported_by([] {
          for (int round = 0; round < 50; ++round) {
            fence_with<native, one_slot> grown;
            fence_with<symmetric, one_slot_and_lane> shared;
            rewindable_fence set_back;
            tidemark::event_count events;
            std::atomic<bool> is_there{false};
            std::vector<std::thread> threads;
            for (int i = 0; i < 12; ++i) {
              threads.emplace_back([&, i] {
                const auto timeout = i % 3 == 0 ? 100us : 1h;
                static_cast<void>(grown.wait_for(1, timeout));
                static_cast<void>(shared.wait_for(1, timeout));
                static_cast<void>(set_back.wait_for(1, timeout));
                static_cast<void>(events.wait_for([&] { return is_there.load(); }, timeout));
              });
            }
            std::this_thread::sleep_for(100us);
            grown.signal(1);
            shared.signal(1);
            set_back.signal(1);
            is_there = true;
            events.notify();
            for (std::thread& each : threads) each.join();
          }
          callback_fence called;
          callback_fence lost;
          int calls = 0;
          {
            const auto reached = tidemark::call_in_signaller(called, 1, [&] { ++calls; });
            const auto cancelled = tidemark::call_in_signaller(called, 2, [] {});
            called.signal(1);
          }
          const auto outlives = tidemark::call_in_signaller(lost, 1, [] {});
          lost.poison();
          _exit(calls == 1 ? 0 : 2);
        }) == "");
}

TEST_CASE("a fence that joins its signallers may be destroyed by a wait that they have ended") {
  CHECK(reported_by([] {
          for (int round = 0; round < 500; ++round) {
            auto joined = std::make_unique<fence_with<symmetric, joining>>();
            std::thread signals{[at = joined.get()] { at->signal(1); }};
            static_cast<void>(joined->wait(1));
            joined.reset();
            signals.join();
          }
        }) == "");
}

TEST_CASE("the child of a fork may destroy its copies, whose waits its parent has") {
  CHECK(reported_by([] {
          fence_with<symmetric, without_spinning> one;
          rewindable_fence two;
          tidemark::event_count three;
          auto& first = *new background{[&] { static_cast<void>(one.wait(1)); }};
          auto& second = *new background{[&] { static_cast<void>(two.wait(1)); }};
          auto& third = *new background{[&] { static_cast<void>(three.wait([] { return false; })); }};
          if (!first.blocks() || !second.blocks() || !third.blocks()) _exit(2);
          const auto end = run_in_child([&] {
            std::destroy_at(&one);
            std::destroy_at(&two);
            std::destroy_at(&three);
          });
          _exit(end.exit_status);
        }) == "");
}
