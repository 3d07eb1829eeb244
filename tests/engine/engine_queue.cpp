// SPDX-License-Identifier: BSL-1.0
//
// Queues of an engine: what is recorded, what the doorbell answers, and how commands are executed. The tests step the
// engine's loop themselves.
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/signaller_callback.hpp>

#include "support/counted_allocations.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/engines.hpp"
#include "support/loop_kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::doorbell_status;
using tidemark::engine_queue_options;
using tidemark::fence_id;
using tidemark::fence_log_entry;
using tidemark::fence_operation;
using tidemark::queue_priority;
using tidemark::wait_status;

namespace {

template <class Kind>
using queue_of = unstamped_queue<Kind>;

/// Counts how many objects of a kind there are.
struct counted {
  explicit counted(int& of) : count{&of} { ++*count; }
  counted(const counted& from) : count{from.count} { ++*count; }
  counted& operator=(const counted&) = delete;
  ~counted() { --*count; }
  int* count;
};

}  // namespace

TEST_CASE_TEMPLATE("commands are executed in order, once they are submitted", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence done;
  std::vector<int> order;
  queue_of<Kind> queue{on.engine};
  queue.run([&] { order.push_back(1); });
  queue.run([&](int number) { order.push_back(number); }, 2);
  queue.signal(done, 7);
  queue.run([&] { order.push_back(static_cast<int>(done.current_value())); });
  on.poll();
  CHECK(order.empty());
  const auto submitted = queue.submit();
  CHECK(submitted);
  CHECK(submitted.serial == 1);
  CHECK(queue.last_queued() == 1);
  CHECK_FALSE(queue.is_idle());
  on.poll();
  CHECK(order == std::vector<int>{1, 2, 7});
  CHECK(queue.is_idle());
  CHECK(queue.drain() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A6] a signal is announced when it is queued, before it is executed", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence drawn;
  typename Kind::fence drawn_queued;
  queue_of<Kind> draws{on.engine};
  waiter both{[&] {
    const wait_status queued = drawn_queued.wait(7);
    return queued == wait_status::reached ? drawn.wait(7) : queued;
  }};
  REQUIRE(both.falls_asleep());
  draws.signal(drawn, 7);
  draws.announce(drawn_queued, 7);
  CHECK(drawn_queued.current_value() == 0);
  REQUIRE(draws.submit());
  CHECK(drawn_queued.current_value() == 7);
  CHECK(drawn.current_value() == 0);
  on.step();
  CHECK(both.status() == wait_status::reached);
  REQUIRE(draws.submit());  // what was announced once is not announced again
  CHECK(drawn_queued.current_value() == 7);
}

TEST_CASE_TEMPLATE("[A6][A122] what is dropped or refused is not announced, and what must be retried is, later", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence queued;
  queue_of<Kind> draws{on.engine, {.most_submissions = 1}};
  draws.announce(queued, 1);
  draws.discard();
  REQUIRE(draws.submit());
  CHECK(queued.current_value() == 0);
  draws.announce(queued, 2);
  draws.announce(queued, 3);
  CHECK(draws.submit().status == doorbell_status::retry);
  CHECK(queued.current_value() == 0);
  on.step();
  REQUIRE(draws.submit());
  CHECK(queued.current_value() == 3);
  on.step();
  draws.announce(queued, 4);
  draws.abort();
  CHECK(draws.submit().status == doorbell_status::aborted);
  CHECK(queued.current_value() == 3);
}

TEST_CASE_TEMPLATE("[A6] a callable that an announcement runs may submit to the queue", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::callback_fence queued;
  typename Kind::fence drawn;
  queue_of<Kind> draws{on.engine};
  const auto more = tidemark::call_in_signaller(queued, 1, [&] {
    draws.signal(drawn, 2);
    draws.announce(queued, 2);
    CHECK(draws.submit());
  });
  draws.signal(drawn, 1);
  draws.announce(queued, 1);
  REQUIRE(draws.submit());
  CHECK(queued.current_value() == 2);
  on.step();
  CHECK(drawn.current_value() == 2);
}

TEST_CASE_TEMPLATE("[A6] a wait parks the queue, and the engine goes on with another one", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence uploaded;
  int drawn = 0;
  queue_of<Kind> draws{on.engine};
  queue_of<Kind> other{on.engine};
  draws.wait(uploaded, 2);
  draws.run([&] { ++drawn; });
  REQUIRE(draws.submit());
  on.poll();
  uploaded.signal(1);
  on.poll();
  CHECK(drawn == 0);
  int ran = 0;
  other.run([&] { ++ran; });
  REQUIRE(other.submit());
  on.poll();
  CHECK(ran == 1);
  uploaded.signal(2);
  on.poll();
  CHECK(drawn == 1);
}

TEST_CASE_TEMPLATE("[A6] a signal that stands behind the wait for it, on the same thread, does not block the engine",
                   Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence there;
  typename Kind::fence back;
  queue_of<Kind> first{on.engine};
  queue_of<Kind> second{on.engine};
  first.wait(back, 1);
  first.signal(there, 2);
  REQUIRE(first.submit());
  second.signal(back, 1);
  second.wait(there, 2);
  REQUIRE(second.submit());
  while (on.poll() != 0) {
  }
  CHECK(first.is_idle());
  CHECK(second.is_idle());
}

TEST_CASE_TEMPLATE(
    "[A6] a million hand-overs between queues of one engine register nowhere, notify nobody and wake nobody", Kind,
    EVERY_LOOP_KIND) {
  using platform = typename Kind::platform;
  using counted_fence = tidemark::basic_progress_fence<platform, tidemark::fence_options{.statistics = true}>;
  constexpr std::uint64_t turns = 500'000;
  stepped<Kind> on;
  counted_fence there;
  counted_fence back;
  typename Kind::fence over;
  queue_of<Kind> first{on.engine};
  queue_of<Kind> second{on.engine};
  std::uint64_t from_first = 0;
  std::uint64_t from_second = 0;
  bool is_registered = false;
  const auto look = [&] { is_registered = is_registered || !is_idle(there) || !is_idle(back); };
  std::function<void()> serve;
  std::function<void()> answer;
  serve = [&] {
    look();
    for (int i = 0; i < 50; ++i) {
      first.signal(there, ++from_first);
      first.wait(back, from_first);
    }
    if (from_first < turns) first.run(std::ref(serve));
    REQUIRE(first.submit());
  };
  answer = [&] {
    look();
    for (int i = 0; i < 50; ++i) {
      second.wait(there, ++from_second);
      second.signal(back, from_second);
    }
    if (from_second < turns) {
      second.run(std::ref(answer));
    } else {
      second.signal(over, 1);
    }
    REQUIRE(second.submit());
  };
  serve();
  answer();
  const meter<platform> during;
  while (!over.is_reached(1)) on.poll();
  CHECK(back.current_value() == turns);
  CHECK_FALSE(is_registered);
  CHECK(there.notify_count() + back.notify_count() == 0);
  CHECK(during.parks() + during.unparks() == 0);
  CHECK(during.heavy_barriers() == 0);
}

TEST_CASE_TEMPLATE("[A122] the serial is last queued before the doorbell rings, and idle means that all is finished",
                   Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  queue_of<Kind> queue{on.engine};
  std::uint64_t seen = 0;
  bool was_idle = true;
  queue.run([&] {
    seen = queue.last_queued();
    was_idle = queue.is_idle();
  });
  CHECK(queue.is_idle());
  REQUIRE(queue.submit().serial == 1);
  CHECK_FALSE(queue.is_idle());
  on.poll();
  CHECK(seen == 1);
  CHECK_FALSE(was_idle);
  CHECK(queue.is_idle());
  REQUIRE(queue.submit().serial == 2);  // without a command
  on.poll();
  CHECK(queue.progress().fence->current_value() == 2);
}

TEST_CASE_TEMPLATE("[A122] the doorbell answers retry while too much is unfinished, and loses nothing", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  queue_of<Kind> queue{on.engine, {.most_submissions = 2}};
  int ran = 0;
  const auto record = [&] { queue.run([&] { ++ran; }); };
  record();
  REQUIRE(queue.submit());
  record();
  REQUIRE(queue.submit());
  record();
  CHECK(queue.submit().status == doorbell_status::retry);
  record();
  CHECK(queue.submit().status == doorbell_status::retry);
  on.poll();
  CHECK(ran == 2);
  const auto accepted = queue.submit();
  CHECK(accepted.status == doorbell_status::accepted);
  CHECK(accepted.serial == 3);
  on.poll();
  CHECK(ran == 4);
}

TEST_CASE_TEMPLATE(
    "[A122] after abort() the doorbell answers aborted, what was not executed is dropped, and only the progress is "
    "lost",
    Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  typename Kind::fence output;
  int alive = 0;
  int ran = 0;
  queue_of<Kind> queue{on.engine};
  queue_of<Kind> follower{on.engine};
  queue_of<Kind> stranger{on.engine};
  queue.wait(input, 1);
  queue.run([&ran, kept = counted{alive}] { ++ran; });
  queue.signal(output, 1);
  REQUIRE(queue.submit());
  follower.wait(queue.progress(), 1);
  follower.run([&] { ++ran; });
  REQUIRE(follower.submit());
  stranger.wait(output, 1);
  stranger.run([&] { ran += 10; });
  REQUIRE(stranger.submit());
  on.poll();
  CHECK(alive == 1);
  queue.abort();
  queue.abort();
  on.poll();
  CHECK(alive == 0);
  queue.run([&ran, kept = counted{alive}] { ++ran; });
  CHECK(queue.submit().status == doorbell_status::aborted);
  CHECK(alive == 0);
  CHECK(queue.drain() == wait_status::lost);
  CHECK(follower.drain() == wait_status::lost);
  CHECK_FALSE(output.is_poisoned());
  CHECK(ran == 0);
  output.signal(1);
  on.poll();
  CHECK(ran == 10);
  CHECK(stranger.is_idle());
  // A new queue goes on.
  queue_of<Kind> next{on.engine};
  next.run([&] { ++ran; });
  REQUIRE(next.submit());
  on.poll();
  CHECK(ran == 11);
}

TEST_CASE_TEMPLATE("a queue that is aborted by its own work drops the rest", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  int ran = 0;
  queue_of<Kind> queue{on.engine};
  queue.run([&] {
    ++ran;
    queue.abort();
  });
  queue.run([&] { ++ran; });
  REQUIRE(queue.submit());
  on.poll();
  CHECK(ran == 1);
  CHECK(queue.drain() == wait_status::lost);
}

TEST_CASE_TEMPLATE("who waits for the progress of a queue can't signal it, nor lose it", Kind, EVERY_LOOP_KIND) {
  constexpr auto can_be_signalled = [](auto* fence) {
    return requires { fence->signal(1); } || requires { fence->signal_next(); } || requires { fence->poison(); };
  };
  stepped<Kind> on;
  typename Kind::progress_fence own;
  queue_of<Kind> queue{on.engine};
  CHECK(can_be_signalled(&own));
  CHECK_FALSE(can_be_signalled(queue.progress().fence));
}

TEST_CASE_TEMPLATE("[A124] a queue that is aborted while it executes a command is lost once that has returned", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  queue_of<Kind> queue{on.engine, {.most_submissions = 1}};
  bool was_lost = true;
  queue.run([&] {
    queue.abort();
    was_lost = queue.progress().fence->is_poisoned();
    CHECK(queue.submit().status == doorbell_status::aborted);
  });
  REQUIRE(queue.submit());
  on.poll();
  CHECK_FALSE(was_lost);
  CHECK(queue.drain() == wait_status::lost);
}

TEST_CASE_TEMPLATE("[A124] once a queue is lost, nobody looks at a fence for which it has waited, nor does a report",
                   Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  std::optional<typename Kind::fence> input(std::in_place);
  queue_of<Kind> queue{on.engine};
  queue.wait(*input, 1);
  queue.wait(*input, 2);
  REQUIRE(queue.submit());
  SUBCASE("that waits") { on.poll(); }
  SUBCASE("that has not begun to wait") {}
  SUBCASE("that was paused") {
    queue.pause();
    on.poll();
  }
  queue.abort();
  CHECK(queue.drain() == wait_status::lost);
  input.reset();
  CHECK(on.engine.why_waiting().waits.empty());
  on.poll();
  CHECK(queue.submit().status == doorbell_status::aborted);
}

TEST_CASE_TEMPLATE("a queue whose timeline is lost is lost, too, unless it has reached the value", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  int ran = 0;
  queue_of<Kind> queue{on.engine};
  queue.wait(input, 1);
  queue.run([&] { ++ran; });
  REQUIRE(queue.submit());
  queue.wait(input, 2);
  queue.run([&] { ++ran; });
  REQUIRE(queue.submit());
  on.poll();
  input.signal(1);
  input.poison();
  on.poll();
  CHECK(ran == 1);
  CHECK(queue.drain() == wait_status::lost);
  CHECK(queue.submit().status == doorbell_status::aborted);
}

TEST_CASE_TEMPLATE("queues take turns, after as many commands as their quantum says", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  std::vector<int> order;
  queue_of<Kind> first{on.engine, {.quantum = 2}};
  queue_of<Kind> second{on.engine, {.quantum = 1}};
  const auto fill = [&](queue_of<Kind>& queue, int number) {
    for (int i = 0; i < 4; ++i) queue.run([&order, number] { order.push_back(number); });
    REQUIRE(queue.submit());
  };
  fill(first, 1);
  fill(second, 2);
  while (on.poll() != 0) {
  }
  CHECK(order == std::vector<int>{1, 1, 2, 1, 1, 2, 2, 2});
}

TEST_CASE_TEMPLATE("queues of higher priority have their turns first, and the others do not starve", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  std::vector<int> order;
  std::array<std::optional<queue_of<Kind>>, 3> queues;
  for (const auto priority : {queue_priority::low, queue_priority::normal, queue_priority::high}) {
    const auto place = static_cast<std::size_t>(priority);
    auto& queue = queues[place].emplace(on.engine, engine_queue_options{.priority = priority, .quantum = 1});
    for (int i = 0; i < 40; ++i) queue.run([&order, place] { order.push_back(static_cast<int>(place)); });
    REQUIRE(queue.submit());
  }
  CHECK(on.poll() == 3);  // one turn each
  CHECK(order == std::vector<int>{0, 1, 2});
  while (on.poll() != 0) {
  }
  CHECK(order.size() == 120);
}

TEST_CASE_TEMPLATE("the priority of a queue that is ready can be changed, and counts from the next turn on", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  std::vector<int> order;
  std::array<std::optional<queue_of<Kind>>, 3> queues;
  for (int i = 0; i < 3; ++i) {
    auto& queue = queues[static_cast<std::size_t>(i)].emplace(on.engine, engine_queue_options{.quantum = 1});
    for (int n = 0; n < 3; ++n) queue.run([&order, i] { order.push_back(i); });
    REQUIRE(queue.submit());
  }
  CHECK(queues[2]->priority() == queue_priority::normal);
  CHECK(on.poll() == 3);
  CHECK(order == std::vector<int>{0, 1, 2});
  order.clear();
  queues[2]->set_priority(queue_priority::high);
  queues[0]->set_priority(queue_priority::low);
  CHECK(queues[0]->priority() == queue_priority::low);
  CHECK(on.poll() == 3);
  CHECK(order == std::vector<int>{2, 1, 0});
  order.clear();
  // Back again, and to the priority that it has.
  queues[2]->set_priority(queue_priority::normal);
  queues[0]->set_priority(queue_priority::normal);
  queues[0]->set_priority(queue_priority::normal);
  while (on.poll() != 0) {
  }
  CHECK(order == std::vector<int>{2, 1, 0});
}

TEST_CASE_TEMPLATE(
    "the priority of a queue can be changed in its turn, while it waits, is paused, or has nothing to do", Kind,
    EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  std::vector<int> order;
  queue_of<Kind> other{on.engine, {.quantum = 1}};
  queue_of<Kind> changed{on.engine, {.priority = queue_priority::low, .quantum = 1}};
  const auto fill = [&] {
    for (int n = 0; n < 2; ++n) other.run([&] { order.push_back(1); });
    REQUIRE(other.submit());
  };
  changed.set_priority(queue_priority::normal);  // it has nothing to do
  changed.run([&] {
    order.push_back(2);
    changed.set_priority(queue_priority::high);
  });
  changed.run([&] { order.push_back(2); });
  changed.wait(input, 1);
  changed.run([&] { order.push_back(2); });
  REQUIRE(changed.submit());
  fill();
  on.poll();
  on.poll();
  CHECK(order == std::vector<int>{2, 1, 2, 1});
  while (on.poll() != 0) {
  }
  order.clear();
  changed.set_priority(queue_priority::low);  // it waits
  input.signal(1);
  fill();
  while (on.poll() != 0) {
  }
  CHECK(order.size() == 3);
  CHECK(order.front() == 1);
  changed.pause();
  changed.set_priority(queue_priority::high);
  changed.run([&] { order.push_back(2); });
  REQUIRE(changed.submit());
  on.poll();
  changed.resume();
  order.clear();
  fill();
  while (on.poll() != 0) {
  }
  CHECK(order == std::vector<int>{2, 1, 1});
}

TEST_CASE_TEMPLATE("a queue that is paused executes nothing, until it is resumed", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  std::vector<int> order;
  queue_of<Kind> queue{on.engine};
  queue.run([&] {
    order.push_back(1);
    queue.pause();
  });
  queue.run([&] { order.push_back(2); });
  queue.wait(input, 1);
  queue.run([&] { order.push_back(3); });
  REQUIRE(queue.submit());
  on.poll();
  CHECK(order == std::vector<int>{1});
  queue.run([&] { order.push_back(4); });
  REQUIRE(queue.submit());
  on.poll();
  CHECK(order == std::vector<int>{1});
  queue.resume();
  on.poll();
  CHECK(order == std::vector<int>{1, 2});
  queue.pause();
  input.signal(1);
  on.poll();
  CHECK(order == std::vector<int>{1, 2});
  queue.resume();
  queue.resume();
  on.poll();
  CHECK(order == std::vector<int>{1, 2, 3, 4});
  queue.pause();
  queue.resume();
  CHECK(queue.is_idle());
}

TEST_CASE_TEMPLATE("a queue that is paused can be aborted", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  int alive = 0;
  queue_of<Kind> queue{on.engine};
  queue.pause();
  queue.run([kept = counted{alive}] {});
  REQUIRE(queue.submit());
  on.poll();
  CHECK(alive == 1);
  queue.abort();
  on.poll();
  CHECK(alive == 0);
}

TEST_CASE_TEMPLATE("what is recorded and not submitted can be dropped", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  int alive = 0;
  std::vector<int> order;
  queue_of<Kind> queue{on.engine};
  for (int submitted = 0; submitted < 9; ++submitted) {
    for (int dropped = 0; dropped < 9; ++dropped) {
      for (int i = 0; i < submitted; ++i) queue.run([&order, i, kept = counted{alive}] { order.push_back(i); });
      REQUIRE(queue.submit());
      for (int i = 0; i < dropped; ++i) queue.run([&order, kept = counted{alive}] { order.push_back(-1); });
      CHECK(alive == submitted + dropped);
      queue.discard();
      CHECK(alive == submitted);
      while (on.poll() != 0) {
      }
      CHECK(alive == 0);
      CHECK(order.size() == static_cast<std::size_t>(submitted));
      for (int i = 0; i < submitted; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
      order.clear();
    }
  }
}

TEST_CASE_TEMPLATE("a command whose recording throws is not there", Kind, EVERY_LOOP_KIND) {
  struct throws {
    throws() = default;
    throws(const throws&) { throw std::runtime_error("copied"); }
    throws& operator=(const throws&) = delete;
    ~throws() = default;
    void operator()() const {}
  };
  stepped<Kind> on;
  int ran = 0;
  queue_of<Kind> queue{on.engine};
  for (int i = 0; i < 10; ++i) {
    queue.run([&] { ++ran; });
    const throws work;
    CHECK_THROWS_AS(queue.run(work), std::runtime_error);
    const counted_allocations fails(true);
    try {
      queue.run([&ran, large = std::array<int, 100>{}] { ran += 1000 + large[0]; });
    } catch (const std::bad_alloc&) {
      ++ran;
    }
  }
  REQUIRE(queue.submit());
  while (on.poll() != 0) {
  }
  CHECK(ran == 20);
}

TEST_CASE_TEMPLATE("callables of any size are called once and destroyed once, executed or not", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  int alive = 0;
  int ran = 0;
  {
    queue_of<Kind> queue{on.engine};
    const auto record = [&] {
      queue.run([&ran, kept = counted{alive}] { ++ran; });
      queue.run([&ran, kept = counted{alive}, large = std::array<char, 200>{}] { ran += 1 + large[7]; });
      queue.run([&ran, kept = counted{alive}, only = std::make_unique<int>(1)](int by) { ran += *only * by; }, 1);
    };
    record();
    REQUIRE(queue.submit());
    on.poll();
    CHECK(ran == 3);
    CHECK(alive == 0);
    record();
    REQUIRE(queue.submit());
    record();
    CHECK(alive == 6);
  }
  CHECK(alive == 0);
  CHECK(ran == 3);
}

TEST_CASE_TEMPLATE("a queue that is given up refuses what the captures that it drops submit", Kind, EVERY_LOOP_KIND) {
  bool is_aborted = false;
  SUBCASE("by its destructor") {}
  SUBCASE("by abort()") { is_aborted = true; }
  stepped<Kind> on;
  typename Kind::fence never;
  bool has_run = false;
  std::vector<doorbell_status> answers;
  {
    queue_of<Kind> queue{on.engine};
    queue.wait(never, 1);
    for (int i = 0; i < 3; ++i) {
      queue.run([kept = std::shared_ptr<void>(nullptr, [&](void*) {
                   queue.run([&] { has_run = true; });
                   answers.push_back(queue.submit().status);
                 })] {});
    }
    REQUIRE(queue.submit());
    on.poll();
    if (is_aborted) queue.abort();
  }
  on.poll();
  CHECK(answers == std::vector(3, doorbell_status::aborted));
  CHECK_FALSE(has_run);
}

TEST_CASE_TEMPLATE("a queue that is being destroyed refuses what the command that is executed meanwhile submits", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog watching{[] { return "a submission is accepted although the queue is being destroyed"; }};
  engine_of<Kind> engine{{.threads = 1}};
  typename Kind::fence may_submit;
  typename Kind::fence has_begun;
  bool was_refused = false;
  {
    queue_of<Kind> queue{engine};
    queue.run([&] {
      CHECK(may_submit.wait(1) == wait_status::reached);
      has_begun.signal(1);
      while (queue.submit()) std::this_thread::yield();
      was_refused = true;
    });
    REQUIRE(queue.submit());
    may_submit.signal(1);
    REQUIRE(has_begun.wait(1) == wait_status::reached);
  }
  CHECK(was_refused);
}

TEST_CASE_TEMPLATE("a queue whose engine keeps up allocates nothing", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence input;
  queue_of<Kind> queue{on.engine};
  std::uint64_t value = 0;
  const auto turn = [&] {
    queue.wait(input, ++value);
    queue.run([] {});
    queue.signal(input, value + 1);
    REQUIRE(queue.submit());
    on.poll();
    input.signal(++value);
    on.poll();
  };
  for (int i = 0; i < 10; ++i) turn();
  const counted_allocations during;
  for (int i = 0; i < 1000; ++i) turn();
  CHECK(during.count() == 0);
}

TEST_CASE_TEMPLATE("a queue keeps the memory of some commands, and gives the rest back", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  queue_of<Kind> queue{on.engine};
  const auto execute = [&](int commands) {
    int ran = 0;
    for (int i = 0; i < commands; ++i) queue.run([&ran] { ++ran; });
    REQUIRE(queue.submit());
    while (ran != commands) on.poll();
    on.poll();
  };
  const auto allocations_for = [&](int commands) {
    const counted_allocations during;
    execute(commands);
    return during.count();
  };
  for (int i = 0; i < 3; ++i) execute(50);
  CHECK(allocations_for(50) == 0);
  CHECK(allocations_for(10) == 0);
  CHECK(allocations_for(50) == 0);
  execute(10'000);
  CHECK(allocations_for(10'000) > 2'000);
}

TEST_CASE_TEMPLATE("[A86] [A91] waits and signals are logged where they are executed", Kind, EVERY_LOOP_KIND) {
  stepped<Kind> on;
  typename Kind::fence fence;
  tidemark::basic_engine_queue<typename Kind::platform> queue{on.engine, {.progress = fence_id{9}, .log_entries = 16}};
  auto waits = queue.timeline().wait_log();
  auto signals = queue.timeline().signal_log();
  queue.wait(tidemark::logged_fence{&fence, fence_id{3}}, 1);
  queue.wait(tidemark::logged_fence{&fence, fence_id{3}}, 1);
  queue.signal(tidemark::logged_fence{&fence, fence_id{3}}, 5);
  REQUIRE(queue.submit());
  std::array<fence_log_entry, 8> buffer;
  CHECK(waits.read(buffer).entries.empty());
  on.poll();
  fence.signal(1);
  on.poll();
  const auto waited = waits.read(buffer).entries;
  REQUIRE(waited.size() == 2);
  CHECK(waited[0].operation == fence_operation::wait_unblocked);
  CHECK(waited[0].fence == fence_id{3});
  CHECK(waited[0].fence_value == 1);
  CHECK(waited[0].observed_timestamp != 0);
  CHECK(waited[0].observed_timestamp <= waited[0].end_timestamp);
  CHECK(waited[1].observed_timestamp == 0);  // it was reached already
  const auto signalled = signals.read(buffer).entries;
  REQUIRE(signalled.size() == 2);
  CHECK(signalled[0].fence == fence_id{3});
  CHECK(signalled[0].fence_value == 5);
  CHECK(signalled[1].fence == fence_id{9});
  CHECK(signalled[1].fence_value == 1);
}
