// SPDX-License-Identifier: BSL-1.0
//
// Callables that run in the thread whose signal reaches their value.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <tidemark/fence/signaller_awaiter.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/child.hpp"
#include "support/coroutine.hpp"
#include "support/counted_allocations.hpp"
#include "support/loop_kinds.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::call_in_signaller;
using tidemark::callback_state;
using tidemark::wait_status;

namespace {

template <class Fence>
using any_callback = tidemark::signaller_callback<Fence, std::function<void()>>;

/// One slot, and no more.
inline constexpr tidemark::fence_options one_slot{
    .capacity = 1, .growth = tidemark::heap_growth::forbidden, .callbacks = true};

}  // namespace

TEST_CASE_TEMPLATE("a callable that has run, was cancelled or was lost leaves its slot to the next one", Kind,
                   EVERY_LOOP_KIND) {
  using fence_of_one = tidemark::basic_fence<typename Kind::platform, one_slot>;
  fence_of_one fence;
  int runs = 0;
  std::uint64_t value = 0;
  const auto is_registered = [&] {
    // A second one finds no slot.
    auto other = call_in_signaller(fence, value + 1, [&] { ++runs; });
    return other.state() == callback_state::refused;
  };
  for (int round = 0; round < 3; ++round) {
    {
      auto run = call_in_signaller(fence, value + 1, [&] { ++runs; });
      CHECK(run.state() == callback_state::waiting);
      CHECK(is_registered());
      fence.signal(++value);
      CHECK(run.state() == callback_state::ran);
    }
    auto cancelled = call_in_signaller(fence, value + 1, [&] { ++runs; });
    CHECK(is_registered());
    CHECK(cancelled.cancel() == callback_state::cancelled);
  }
  CHECK(runs == 3);
  auto lost = call_in_signaller(fence, value + 1, [&] { ++runs; });
  CHECK(is_registered());
  fence.poison();
  CHECK(lost.state() != callback_state::waiting);
  CHECK(runs == 3);
  CHECK(is_idle(fence));
}

// ---- when they run --------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A19] a callable runs once, in the signal that reaches its value", Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_progress_fence fence;
  int runs = 0;
  std::thread::id ran_in;
  auto registered = call_in_signaller(fence, 3, [&] {
    ++runs;
    ran_in = std::this_thread::get_id();
  });
  fence.signal(2);
  CHECK(runs == 0);
  CHECK(registered.state() == callback_state::waiting);
  std::thread::id signalled_in;
  std::thread([&] {
    signalled_in = std::this_thread::get_id();
    fence.signal(4);
    CHECK(runs == 1);
  }).join();
  CHECK(ran_in == signalled_in);
  CHECK(registered.state() == callback_state::ran);
  fence.signal(5);
  CHECK(runs == 1);
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A123] a callable for a value that is reached runs in the constructor", Kind, EVERY_LOOP_KIND) {
  const typename Kind::callback_fence fence{7};
  int runs = 0;
  auto zero = call_in_signaller(fence, 0, [&] { ++runs; });
  auto seven = call_in_signaller(fence.view(), 7, [&] { ++runs; });
  CHECK(runs == 2);
  CHECK(seven.state() == callback_state::ran);
  CHECK(seven.cancel() == callback_state::ran);
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A19] the lowest target runs first, and equal targets run in the order of registration", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::callback_progress_fence fence;
  std::vector<int> order;
  std::list<any_callback<typename Kind::callback_progress_fence>> registered;
  // More of them than slots, and more than a pass wakes threads.
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) {
    registered.emplace_back(fence, static_cast<std::uint64_t>(10 - i % 10), [&order, i] { order.push_back(i); });
  }
  for (int target = 1; target <= 8; ++target) {
    for (int i = 10 - target; i < 100; i += 10) expected.push_back(i);
  }
  fence.signal(8);
  CHECK(order == expected);
  fence.signal(10);
  CHECK(order.size() == 100);
  CHECK(is_idle(fence));
}

TEST_CASE("[A19] threads that wait are woken before callables run, and all of them are") {
  tidemark::callback_fence fence;
  std::atomic<int> woken{0};
  std::atomic<int> ran{0};
  std::list<any_callback<tidemark::callback_fence>> registered;
  std::vector<std::thread> threads;
  for (int i = 0; i < 40; ++i) {
    threads.emplace_back([&] {
      CHECK(fence.wait(1) == wait_status::reached);
      ++woken;
    });
    registered.emplace_back(fence, 1, [&] { ++ran; });
  }
  fence.signal(1);
  CHECK(ran == 40);
  for (std::thread& one : threads) one.join();
  CHECK(woken == 40);
}

TEST_CASE("[A55] a callable runs in the pass of a hub that notifies for the signaller") {
  tidemark::hub hub;
  tidemark::callback_fence fence;
  const auto added = hub.add(fence);
  int runs = 0;
  auto registered = call_in_signaller(fence, 1, [&] { ++runs; });
  REQUIRE(fence.publish(1));
  REQUIRE(fence.is_due(1));
  CHECK(runs == 0);
  const tidemark::fence_id ids[] = {added.fence.id};
  hub.notify(ids);
  CHECK(runs == 1);
}

TEST_CASE("allocations: none, where the fence has a free slot or must not grow") {
  tidemark::basic_fence<tidemark::native_platform, one_slot> fence;
  int runs = 0;
  const counted_allocations counted;
  {
    auto registered = call_in_signaller(fence, 1, [&] { ++runs; });
    auto refused = call_in_signaller(fence, 1, [&] { ++runs; });
    fence.signal(1);
  }
  CHECK(counted.count() == 0);
  CHECK(runs == 1);
}

// ---- what a callable may do -----------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[trap 9] a callable may signal, wait without time, register, cancel and look", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::callback_fence fence;
  typename Kind::callback_fence other;
  using callback = any_callback<typename Kind::callback_fence>;
  std::list<callback> registered;
  std::vector<int> order;
  std::optional<callback> cancelled;
  std::optional<callback> later;
  registered.emplace_back(fence, 1, [&] {
    order.push_back(1);
    other.signal(5);
    order.push_back(2);
    fence.signal(2);
    order.push_back(3);
    CHECK(fence.wait_for(3, 0s) == wait_status::timeout);
    CHECK(registered.front().state() == callback_state::waiting);
    CHECK(registered.front().cancel() == callback_state::waiting);
    CHECK(cancelled->cancel() == callback_state::cancelled);
    later.emplace(fence, 3, [&] { order.push_back(6); });
    registered.emplace_back(fence, 2, [&] { order.push_back(4); });
  });
  cancelled.emplace(fence, 1, [&] { order.push_back(-1); });
  registered.emplace_back(fence, 2, [&] { order.push_back(5); });
  registered.emplace_back(other, 5, [&] { order.push_back(0); });
  fence.signal(1);
  // Those of another fence run within its signal, and one whose value is reached runs when it is registered. Those of
  // the same fence run after the callable.
  CHECK(order == std::vector<int>{1, 0, 2, 3, 4, 5});
  fence.signal(3);
  CHECK(order.back() == 6);
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[trap 10] a callable may destroy its own registration and others", Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_progress_fence fence;
  using callback = any_callback<typename Kind::callback_progress_fence>;
  std::optional<callback> own;
  std::optional<callback> next;
  int runs = 0;
  own.emplace(fence, 1, [&] {
    // What the callable captures goes with its registration.
    int& counted = runs;
    auto& other = next;
    own.reset();
    other.reset();
    ++counted;
  });
  next.emplace(fence, 1, [&] { runs = -100; });
  fence.signal(1);
  CHECK(runs == 1);
  CHECK(!own.has_value());
  CHECK(is_idle(fence));
}

TEST_CASE("[trap 9] callables that signal their own fence on and on don't run within each other") {
  constexpr std::uint64_t last = 100'000;
  tidemark::callback_fence fence;
  std::optional<any_callback<tidemark::callback_fence>> odd;
  std::optional<any_callback<tidemark::callback_fence>> even;
  int depth = 0;
  int deepest = 0;
  std::function<void(std::uint64_t)> step = [&](std::uint64_t reached) {
    deepest = std::max(deepest, ++depth);
    // The registration of the step before is free again.
    (reached % 2 == 0 ? odd : even).emplace(fence, reached + 1, [&step, reached] { step(reached + 1); });
    if (reached < last) fence.signal(reached + 1);
    --depth;
  };
  step(0);
  CHECK(fence.current_value() == last);
  CHECK(deepest == 2);
}

// ---- how registrations end ------------------------------------------------------------------------------------------

namespace {

/// A chain of fences: a callable for each signals the next one, and notes how deep the stack is.
template <class Fence>
class fence_chain {
 public:
  explicit fence_chain(std::size_t length) : fences_(length), depths_(length) {}

  std::size_t length() const { return fences_.size(); }
  Fence& fence(std::size_t i) { return fences_[i]; }
  auto callable(std::size_t i) {
    return [this, i] {
      depths_[i] = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
      if (i + 1 != length()) fences_[i + 1].signal(1);
    };
  }
  /// How many bytes deeper the stack was in the last callable than in the first one.
  std::size_t bytes() const {
    const auto [low, high] = std::minmax(depths_.front(), depths_.back());
    return high - low;
  }

 private:
  std::deque<Fence> fences_;
  std::vector<std::uintptr_t> depths_;
};

#if TIDEMARK_HAS_TSAN || TESTING_HAS_ASAN
constexpr std::size_t most_bytes_a_link = 4'096;
#else
constexpr std::size_t most_bytes_a_link = 1'500;
#endif

}  // namespace

TEST_CASE_TEMPLATE("callables that signal from fence to fence take 1,500 bytes of stack for each, and on a loop none",
                   Kind, EVERY_LOOP_KIND) {
  fence_chain<typename Kind::callback_progress_fence> nested(1'000);
  std::list<any_callback<typename Kind::callback_progress_fence>> callbacks;
  for (std::size_t i = 0; i < nested.length(); ++i) callbacks.emplace_back(nested.fence(i), 1, nested.callable(i));
  nested.fence(0).signal(1);
  for (const auto& each : callbacks) REQUIRE(each.state() == callback_state::ran);
  CHECK(nested.bytes() != 0);
  CHECK(nested.bytes() < nested.length() * most_bytes_a_link);

  typename Kind::loop loop;
  fence_chain<typename Kind::callback_progress_fence> in_turn(1'000);
  std::list<typename Kind::any_callback> registered;
  for (std::size_t i = 0; i < in_turn.length(); ++i) {
    registered.emplace_back(loop, typename Kind::awaited{in_turn.fence(i), 1}, in_turn.callable(i));
  }
  in_turn.fence(0).signal(1);
  std::size_t ran = 0;
  while (const std::size_t more = loop.poll()) ran += more;
  CHECK(ran == in_turn.length());
  CHECK(in_turn.bytes() == 0);
}

TEST_CASE("a callable or a coroutine that throws in a signaller ends the program") {
  const auto end = run_in_child([] {
    std::set_terminate([] { _exit(3); });
    tidemark::callback_fence fence;
    auto throws = call_in_signaller(fence, 1, [] { throw std::runtime_error{"told"}; });
    fence.signal(1);
  });
  CHECK(end.exit_status == 3);
  const auto in_coroutine = run_in_child([] {
    std::set_terminate([] { _exit(3); });
    tidemark::callback_fence fence;
    const auto wait = [&]() -> coroutine {
      static_cast<void>(co_await tidemark::reached_in_signaller(fence, 1));
      throw std::runtime_error{"told"};
    };
    const coroutine waiting = wait();
    fence.signal(1);
  });
  CHECK(in_coroutine.exit_status == 3);
}

TEST_CASE_TEMPLATE("a chain of callables is as deep as it has fences, however long it is", Kind, EVERY_LOOP_KIND) {
  constexpr std::uint64_t last = 100'000;
  typename Kind::callback_fence fences[2];
  std::optional<any_callback<typename Kind::callback_fence>> registered[2];
  int depth = 0;
  int deepest = 0;
  std::function<void(std::uint64_t)> step = [&](std::uint64_t reached) {
    deepest = std::max(deepest, ++depth);
    const std::uint64_t next = reached + 1;
    registered[next % 2].emplace(fences[next % 2], next, [&step, next] { step(next); });
    if (reached < last) fences[next % 2].signal(next);
    --depth;
  };
  step(0);
  CHECK(fences[last % 2].current_value() == last);
  CHECK(deepest == 3);
}

TEST_CASE_TEMPLATE("[A14] a registration that is cancelled or destroyed never runs", Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_fence fence;
  int runs = 0;
  auto cancelled = call_in_signaller(fence, 1, [&] { ++runs; });
  {
    auto destroyed = call_in_signaller(fence, 1, [&] { ++runs; });
  }
  CHECK(cancelled.cancel() == callback_state::cancelled);
  CHECK(cancelled.cancel() == callback_state::cancelled);
  CHECK(is_idle(fence));
  fence.signal(1);
  CHECK(runs == 0);
  CHECK(cancelled.state() == callback_state::cancelled);
}

TEST_CASE_TEMPLATE("[A120] a poison runs those callables that take a wait_status", Kind, EVERY_LOOP_KIND) {
  typename Kind::callback_fence fence;
  std::vector<wait_status> told;
  int runs = 0;
  const auto tell = [&](wait_status how) { told.push_back(how); };
  auto first = call_in_signaller(fence, 1, tell);
  auto second = call_in_signaller(fence, 2, tell);
  auto silent = call_in_signaller(fence, 2, [&] { ++runs; });
  fence.signal(1);
  fence.poison();
  auto later = call_in_signaller(fence, 2, tell);
  auto before = call_in_signaller(fence, 1, tell);
  CHECK(told == std::vector{wait_status::reached, wait_status::lost, wait_status::lost, wait_status::reached});
  CHECK(runs == 0);
  CHECK(first.state() == callback_state::ran);
  CHECK(second.state() == callback_state::lost);
  CHECK(silent.state() == callback_state::lost);
  CHECK(later.state() == callback_state::lost);
  CHECK(before.state() == callback_state::ran);
}

TEST_CASE("[A32] where the heap is full and must not grow, the registration is refused, and others go on") {
  tidemark::basic_fence<tidemark::native_platform, one_slot> fence;
  int runs = 0;
  auto kept = call_in_signaller(fence, 1, [&] { ++runs; });
  auto refused = call_in_signaller(fence, 1, [&] { runs = -100; });
  CHECK(refused.state() == callback_state::refused);
  CHECK(refused.cancel() == callback_state::refused);
  CHECK(fence.monitored_value() == 0);
  fence.signal(1);
  CHECK(runs == 1);
  CHECK(kept.state() == callback_state::ran);
  CHECK(refused.state() == callback_state::refused);
  CHECK(fence.monitored_value() == tidemark::no_waiter);
}

TEST_CASE("[A31] where the heavy barrier is refused later, the registration is refused") {
  struct platform : tidemark::native_platform {
    static bool heavy_barrier() noexcept { return false; }
  };
  tidemark::basic_progress_fence<platform, tidemark::fence_options{.callbacks = true}> fence;
  int runs = 0;
  auto refused = call_in_signaller(fence, 1, [&] { ++runs; });
  CHECK(refused.state() == (platform::heavy_barrier_available() ? callback_state::refused : callback_state::waiting));
  CHECK(fence.monitored_value() == (platform::heavy_barrier_available() ? tidemark::no_waiter : 0));
}

// ---- several threads ------------------------------------------------------------------------------------------------

TEST_CASE("[trap 10] a thread that destroys a registration waits until its callable has returned") {
  tidemark::callback_fence fence;
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t target = fence.current_value() + 1;
    std::atomic<bool> is_running{false};
    std::atomic<bool> may_return{false};
    bool has_returned = false;
    auto registered = std::make_optional<any_callback<tidemark::callback_fence>>(fence, target, [&] {
      is_running = true;
      is_running.notify_all();
      may_return.wait(false);
      has_returned = true;
    });
    std::thread signaller([&] { fence.signal(target); });
    is_running.wait(false);
    std::thread freer([&] {
      may_return = true;
      may_return.notify_all();
    });
    registered.reset();
    CHECK(has_returned);
    signaller.join();
    freer.join();
  }
}

TEST_CASE("[A14] a callable that waits behind another one can be cancelled while that one runs") {
  tidemark::callback_fence fence;
  std::atomic<bool> is_running{false};
  std::atomic<bool> may_return{false};
  int runs = 0;
  auto first = call_in_signaller(fence, 1, [&] {
    is_running = true;
    is_running.notify_all();
    may_return.wait(false);
  });
  auto second = call_in_signaller(fence, 1, [&] { ++runs; });
  std::thread signaller([&] { fence.signal(1); });
  is_running.wait(false);
  CHECK(second.cancel() == callback_state::cancelled);
  may_return = true;
  may_return.notify_all();
  signaller.join();
  CHECK(runs == 0);
  CHECK(first.state() == callback_state::ran);
}

TEST_CASE_TEMPLATE("[A14] [A19] [trap 11] signals, registrations and cancellations: each ran once, or was cancelled",
                   Kind, EVERY_LOOP_KIND) {
  constexpr std::uint64_t last = 20'000;
  typename Kind::callback_fence fence;
  std::atomic<std::uint64_t> ran{0};
  std::atomic<std::uint64_t> cancelled{0};
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> wrong{0};
  const auto register_and_cancel = [&](std::uint64_t seed) {
    random_numbers random(seed);
    while (fence.current_value() < last) {
      const std::uint64_t target = fence.current_value() + random.below(4);
      int runs = 0;
      bool is_early = false;
      {
        auto registered = call_in_signaller(fence, target, [&] {
          ++runs;
          is_early = fence.current_value() < target;
        });
        ++made;
        for (std::uint64_t looks = random.below(100); looks != 0; --looks) static_cast<void>(fence.current_value());
        const callback_state how = registered.cancel();
        wrong += how != (runs == 1 ? callback_state::ran : callback_state::cancelled);
        ++(how == callback_state::ran ? ran : cancelled);
      }
      wrong += is_early || runs > 1;
    }
  };
  std::thread one([&] { register_and_cancel(1); });
  std::thread other([&] { register_and_cancel(2); });
  std::thread signals([&] {
    while (fence.signal_next() < last) {
    }
  });
  while (fence.signal_next() < last) {
  }
  signals.join();
  one.join();
  other.join();
  CHECK(wrong == 0);
  CHECK(made == ran + cancelled);
  CHECK(is_idle(fence));
}
