// SPDX-License-Identifier: BSL-1.0
//
// Senders of a loop, with receivers of our own.
#include <tidemark/loop/senders.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <version>

#include "support/counted_allocations.hpp"
#include "support/loop_kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/random.hpp"
#include "support/receiver.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

using namespace testing;
using namespace std::chrono_literals;
using tidemark::loop_scheduler;
using tidemark::run_status;
using tidemark::wait_status;
using tidemark::when_all_reached;
using tidemark::when_any_reached;
using tidemark::when_reached;
using tidemark::when_reached_for;
using tidemark::when_reached_until;

TEST_CASE_TEMPLATE("[A13] [A19] a sender's operation completes on the loop when its value is reached, once", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  completion kept;
  const auto sender = when_reached(loop, fence, 3);
  fence.signal(1);
  auto operation = sender.connect(receiver(kept));
  CHECK(loop.poll() == 0);
  operation.start();
  CHECK(loop.poll() == 0);
  fence.signal(3);
  CHECK(kept.times == 0);
  CHECK(loop.poll() == 1);
  CHECK(kept.is(wait_status::reached));
  fence.signal(4);
  CHECK(loop.poll() == 0);
  CHECK(kept.is(wait_status::reached));
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("[A123] an operation whose value was reached before completes on the loop, not in start()", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence{7};
  std::array<completion, 3> kept;
  auto by_fence = when_reached(loop, fence, 7).connect(receiver(kept[0]));
  auto by_view = when_reached(loop, fence.view(), 6).connect(receiver(kept[1]));
  auto zero = when_reached(loop, fence, 0).connect(receiver(kept[2]));
  by_fence.start();
  by_view.start();
  zero.start();
  for (const completion& each : kept) CHECK(each.times == 0);
  CHECK(loop.poll() == 3);
  for (const completion& each : kept) CHECK(each.is(wait_status::reached));
}

TEST_CASE_TEMPLATE("one sender may be copied and connected again and again, and an operation that never starts is free",
                   Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::array<completion, 3> kept;
  const auto sender = when_reached(loop, fence, 1);
  const auto copy = sender;
  auto first = sender.connect(receiver(kept[0]));
  auto second = copy.connect(receiver(kept[1]));
  [[maybe_unused]] const auto never = copy.connect(receiver(kept[2]));
  first.start();
  second.start();
  fence.signal(1);
  CHECK(loop.poll() == 2);
  CHECK(kept[0].is(wait_status::reached));
  CHECK(kept[1].is(wait_status::reached));
  CHECK(kept[2].times == 0);
}

TEST_CASE_TEMPLATE("[A14] an operation ends at its deadline with an error, and never before", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  const auto start = std::chrono::steady_clock::now();
  const auto ends = [&](const auto& sender) {
    completion kept;
    auto operation = sender.connect(receiver(kept));
    operation.start();
    CHECK(loop.run_one() == run_status::ran);
    CHECK(kept.times == 1);
    return kept.how;
  };
  CHECK(ends(when_reached_for(loop, fence, 1, 2ms)) == wait_status::timeout);
  CHECK(std::chrono::steady_clock::now() >= start + 2ms);
  CHECK(ends(when_reached_until(loop, fence, 1, start + 4ms)) == wait_status::timeout);
  CHECK(std::chrono::steady_clock::now() >= start + 4ms);
  CHECK(ends(when_reached_until(loop, fence, 1, std::chrono::system_clock::now())) == wait_status::timeout);
  CHECK(ends(when_reached_for(loop, fence, 1, -1s)) == wait_status::timeout);
  CHECK(ends(when_reached_for(loop, fence, 0, 0s)) == wait_status::reached);
  fence.signal(1);
  CHECK(ends(when_reached_for(loop, fence, 1, std::chrono::hours::max())) == wait_status::reached);
  CHECK(ends(when_reached_until(loop, fence, 1, start + 1h)) == wait_status::reached);
}

TEST_CASE("[A14] a duration counts from the start of the operation, not from the call that makes the sender") {
  tidemark::wait_loop loop;
  tidemark::fence fence;
  completion kept;
  auto operation = when_reached_for(loop, fence, 1, 20ms).connect(receiver(kept));
  const auto made = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < made + 21ms) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  operation.start();
  CHECK(loop.run_one() == run_status::ran);
  CHECK(kept.is(wait_status::timeout));
  CHECK(std::chrono::steady_clock::now() >= start + 20ms);
}

TEST_CASE_TEMPLATE("[A14] the receiver's stop token ends the operation, before it starts and from a thread", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  manual_stop before;
  manual_stop meanwhile;
  std::array<completion, 3> kept;
  before.request();
  auto first = when_reached(loop, fence, 1).connect(receiver(kept[0], before.get_token()));
  first.start();
  CHECK(kept[0].times == 0);
  CHECK(loop.poll() == 1);
  CHECK(kept[0].is(wait_status::stopped));
  auto reached = when_reached(loop, fence, 0).connect(receiver(kept[1], before.get_token()));
  reached.start();
  CHECK(loop.poll() == 1);
  CHECK(kept[1].is(wait_status::reached));
  auto second = when_reached_for(loop, fence, 1, 1h).connect(receiver(kept[2], meanwhile.get_token()));
  second.start();
  const background runner{[&] { CHECK(loop.run_one() == run_status::ran); }};
  CHECK(runner.falls_asleep());
  meanwhile.request();
  await([&] { return runner.has_returned(); });
  CHECK(kept[2].is(wait_status::stopped));
  CHECK(is_idle(fence));
}

#if defined(__cpp_lib_jthread)
TEST_CASE("[A14] a std::stop_token ends an operation") {
  tidemark::wait_loop loop;
  tidemark::fence fence;
  std::stop_source stop;
  completion kept;
  auto operation = when_reached(loop, fence, 1).connect(receiver(kept, stop.get_token()));
  operation.start();
  stop.request_stop();
  CHECK(loop.poll() == 1);
  CHECK(kept.is(wait_status::stopped));
}
#endif

TEST_CASE_TEMPLATE("[A120] an operation on a lost timeline ends with an error, if it was not reached before", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::array<completion, 2> kept;
  auto low = when_reached(loop, fence, 1).connect(receiver(kept[0]));
  auto high = when_reached(loop, fence, 2).connect(receiver(kept[1]));
  low.start();
  high.start();
  fence.signal(1);
  fence.poison();
  CHECK(loop.poll() == 2);
  CHECK(kept[0].is(wait_status::reached));
  CHECK(kept[1].is(wait_status::lost));
}

TEST_CASE_TEMPLATE("[A65] [trap 11] a sender of several values waits for all of them, or says which one was reached",
                   Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence first;
  typename Kind::fence second;
  using awaited = typename Kind::awaited;
  const std::array those = {awaited{first, 1}, awaited{second, 1}};
  std::array<completion, 4> kept;
  auto all = when_all_reached(loop, those).connect(receiver(kept[0]));
  auto any = when_any_reached(loop, those).connect(receiver(kept[1]));
  auto alone = when_any_reached(loop, std::array{awaited{first, 1}}).connect(receiver(kept[2]));
  all.start();
  any.start();
  alone.start();
  second.signal(1);
  CHECK(loop.poll() == 1);
  CHECK(kept[1].is(wait_status::reached));
  CHECK(kept[1].index == 1);
  CHECK(kept[0].times == 0);
  first.signal(5);
  CHECK(loop.poll() == 2);
  CHECK(kept[0].is(wait_status::reached));
  CHECK(kept[2].is(wait_status::reached));
  CHECK(kept[2].index == 0);
  first.poison();
  auto lost = when_all_reached(loop, std::array{awaited{second, 9}, awaited{first, 6}}).connect(receiver(kept[3]));
  lost.start();
  CHECK(loop.poll() == 1);
  CHECK(kept[3].is(wait_status::lost));
  CHECK(is_idle(second));
}

TEST_CASE_TEMPLATE("[A65] a sender of no values completes soon, whichever of them it waits for", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  const std::array<typename Kind::awaited, 0> nothing{};
  std::array<completion, 3> kept;
  manual_stop stop;
  stop.request();
  auto all = when_all_reached(loop, nothing).connect(receiver(kept[0]));
  auto any = when_any_reached(loop, nothing).connect(receiver(kept[1]));
  auto stopped = when_any_reached(loop, nothing).connect(receiver(kept[2], stop.get_token()));
  all.start();
  any.start();
  stopped.start();
  CHECK(kept[0].times + kept[1].times + kept[2].times == 0);
  CHECK(loop.poll() == 3);
  for (const completion& each : kept) CHECK(each.is(wait_status::reached));
  CHECK(kept[1].index == 0);
}

TEST_CASE_TEMPLATE("[A34] operations complete in the order of their targets, equal ones in that of their starts", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::vector<int> order;
  const auto note = [&](int which) {
    return calling_receiver([&order, which](wait_status how) {
      CHECK(how == wait_status::reached);
      order.push_back(which);
    });
  };
  auto third = when_reached(loop, fence, 3).connect(note(3));
  auto first = when_reached(loop, fence, 1).connect(note(1));
  auto second = when_reached(loop, fence, 1).connect(note(2));
  third.start();
  first.start();
  second.start();
  fence.signal(9);
  CHECK(loop.poll() == 3);
  CHECK(order == std::vector{1, 2, 3});
}

TEST_CASE_TEMPLATE("[trap 9] a receiver may destroy its operation and start another one", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  struct again {
    typename Kind::loop& on;
    typename Kind::fence& fence;
    std::uint64_t target = 0;
    struct receives {
      again* of;
      void set_value() { of->start(); }
      void set_error(wait_status) { FAIL("nothing is lost"); }
      void set_stopped() { FAIL("nothing is stopped"); }
    };
    std::unique_ptr<decltype(when_reached(on, fence, 0).connect(receives{nullptr}))> operation;
    void start() {
      using type = typename decltype(operation)::element_type;
      if (target == 3) return operation.reset();
      // Into new memory, and then the old one goes, from inside its own receiver.
      const auto sender = when_reached(on, fence, ++target);
      operation.reset(new type(sender.connect(receives{this})));
      operation->start();
    }
  };
  again chain{loop, fence, 0, nullptr};
  chain.start();
  CHECK(loop.poll() == 0);
  fence.signal(2);
  while (loop.poll() != 0) {
  }
  CHECK(chain.target == 3);
  fence.signal(3);
  CHECK(loop.poll() == 1);
  CHECK(chain.operation == nullptr);
  CHECK(is_idle(fence));
}

TEST_CASE_TEMPLATE("what a receiver throws comes out of the call that runs the loop, and nothing else is lost", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::fence fence;
  const auto throws = [](wait_status) { throw std::runtime_error{"told"}; };
  completion kept;
  auto first = when_reached(loop, fence, 1).connect(calling_receiver(throws));
  auto second = when_reached(loop, fence, 1).connect(receiver(kept));
  first.start();
  second.start();
  fence.signal(1);
  CHECK_THROWS_WITH(static_cast<void>(loop.poll()), "told");
  CHECK(loop.poll() == 1);
  CHECK(kept.is(wait_status::reached));
}

TEST_CASE_TEMPLATE("a scheduler completes on the loop, in the order of the starts, or stopped", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  typename Kind::loop other;
  const loop_scheduler on(loop);
  CHECK(on == loop_scheduler(loop));
  CHECK(on != loop_scheduler(other));
  std::vector<int> order;
  const auto note = [&](int which) {
    return calling_receiver([&order, which](wait_status) { order.push_back(which); });
  };
  auto first = on.schedule().connect(note(1));
  auto second = on.schedule().connect(note(2));
  manual_stop stop;
  std::array<completion, 2> kept;
  auto stopped = on.schedule().connect(receiver(kept[0], stop.get_token()));
  auto from_thread = on.schedule().connect(receiver(kept[1]));
  first.start();
  second.start();
  stopped.start();
  stop.request();
  CHECK(order.empty());
  CHECK(loop.poll() == 3);
  CHECK(order == std::vector{1, 2});
  CHECK(kept[0].is(wait_status::stopped));
  const background runner{[&] { CHECK(loop.run_one() == run_status::ran); }};
  CHECK(runner.falls_asleep());
  from_thread.start();
  await([&] { return runner.has_returned(); });
  CHECK(kept[1].is(wait_status::reached));
}

TEST_CASE("10,000 operations at distinct targets complete in order, and allocate nothing") {
  tidemark::wait_loop loop;
  tidemark::progress_fence fence;
  struct in_order {
    std::uint64_t* next;
    std::uint64_t target;
    void set_value() noexcept { *next = *next + 1 == target ? target : UINT64_MAX / 2; }
    void set_error(wait_status) noexcept {}
    void set_stopped() noexcept {}
  };
  std::uint64_t next = 0;
  using operation = decltype(when_reached(loop, fence, 1).connect(in_order{&next, 1}));
  struct made {
    made(tidemark::wait_loop& on, const tidemark::progress_fence& of, std::uint64_t target, std::uint64_t& counts)
        : holds(when_reached(on, of, target).connect(in_order{&counts, target})) {}
    operation holds;
  };
  std::deque<made> operations;
  for (std::uint64_t target = 1; target <= 10'000; ++target) operations.emplace_back(loop, fence, target, next);
  const counted_allocations during;
  for (made& each : operations) each.holds.start();
  for (std::uint64_t target = 1; target <= 10'000; ++target) {
    fence.signal(target);
    loop.poll();
  }
  CHECK(during.count() == 0);
  CHECK(next == 10'000);
}

TEST_CASE_TEMPLATE("[A28] [A37] operations that two threads run, a third stops and a fourth signals complete once each",
                   Kind, EVERY_LOOP_KIND) {
  constexpr int rounds = 2'000;
  typename Kind::loop loop;
  typename Kind::fence fence;
  std::atomic<int> completions{0};
  std::array<std::atomic<int>, 3> ways{};
  std::atomic<int> current{0};
  int data = 0;
  const auto count = [&](wait_status how) {
    // Written before the signal, and not protected by anything else.
    if (how == wait_status::reached) CHECK(data == current.load(std::memory_order_relaxed));
    ++ways[static_cast<std::size_t>(how)];
    ++completions;
  };
  const background first{[&] { CHECK(loop.run() == run_status::stopped); }};
  const background second{[&] { CHECK(loop.run() == run_status::stopped); }};
  random_numbers random{fresh_seed()};
  for (int round = 0; round < rounds; ++round) {
    typename Kind::fence each;
    manual_stop stop;
    struct receives {
      decltype(count)* call;
      manual_stop::token token;
      void set_value() { (*call)(wait_status::reached); }
      void set_error(wait_status how) { (*call)(how); }
      void set_stopped() { (*call)(wait_status::stopped); }
      manual_stop::token get_stop_token() const { return token; }
    };
    auto operation = when_reached(loop, each, 1).connect(receives{&count, stop.get_token()});
    current.store(round, std::memory_order_relaxed);
    data = round;
    completions = 0;
    operation.start();
    const bool is_stopped_first = random.below(2) == 0;
    const background stopper{[&] { stop.request(); }};
    if (is_stopped_first) std::this_thread::yield();
    each.signal(1);
    await([&] { return completions == 1 && stopper.has_returned(); });
  }
  loop.stop();
  await([&] { return first.has_returned() && second.has_returned(); });
  CHECK(ways[static_cast<std::size_t>(wait_status::reached)] + ways[static_cast<std::size_t>(wait_status::stopped)] ==
        rounds);
}
