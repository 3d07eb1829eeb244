// SPDX-License-Identifier: BSL-1.0
//
// Whom a thread of an engine wakes while another one sleeps: nobody for what it goes on with itself, and somebody for
// all the rest.
#include <tidemark/queue/engine_queue.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "support/loop_kinds.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

/// An engine that the test runs, and a second thread, which begins to run it in the midst of a queue's work, finds
/// nothing and falls asleep.
template <class Kind>
struct beside_sleeper {
  using engine_type = tidemark::basic_engine<typename Kind::platform>;
  using queue_type = tidemark::basic_engine_queue<typename Kind::platform, tidemark::no_log_clock>;

  engine_type on{{.threads = 0}};
  typename Kind::progress_fence there;
  typename Kind::progress_fence back;
  std::optional<background> sleeper;
  watchdog dog{[this] { return state_of(there) + "; " + state_of(back); }};

  ~beside_sleeper() { on.loop().stop(); }

  /// Records the work in which the second thread falls asleep. With a quantum of three, what `queue` records next has a
  /// turn of its own.
  template <class Then>
  void record_sleep(queue_type& queue, Then then) {
    queue.run([this, then] {
      sleeper.emplace([this] { static_cast<void>(on.loop().run()); });
      CHECK(sleeper->falls_asleep());
      then();
    });
    queue.signal(nobody_waits_, 1);
    queue.signal(nobody_waits_, 2);
  }
  void record_sleep(queue_type& queue) {
    record_sleep(queue, [] {});
  }
  static tidemark::engine_queue_options three_commands() { return {.quantum = 3}; }

 private:
  typename Kind::fence nobody_waits_;
};

/// Work that waits for what another thread does. Returns once `is_done` is set.
void await_other_thread(const std::atomic<bool>& is_done) {
  await([&] { return is_done.load(); });
}

}  // namespace

TEST_CASE_TEMPLATE("[A6] queues that hand a turn on wake nobody, and register nothing, although a thread sleeps", Kind,
                   EVERY_LOOP_KIND) {
  constexpr std::uint64_t turns = 1000;
  beside_sleeper<Kind> test;
  typename Kind::fence begun;
  typename beside_sleeper<Kind>::queue_type opens{test.on, test.three_commands()};
  typename beside_sleeper<Kind>::queue_type first{test.on};
  typename beside_sleeper<Kind>::queue_type second{test.on};
  std::uint64_t unparks = 1;
  std::uint64_t heavy_barriers = 1;
  std::optional<meter<typename Kind::platform>> during;
  test.record_sleep(opens, [&] { during.emplace(); });
  opens.signal(begun, 1);
  first.wait(begun, 1);
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    first.signal(test.there, turn);
    first.wait(test.back, turn);
    second.wait(test.there, turn);
    second.signal(test.back, turn);
  }
  first.run([&] {
    unparks = during->unparks();
    heavy_barriers = during->heavy_barriers();
    test.on.loop().stop();
  });
  REQUIRE(second.submit());
  REQUIRE(first.submit());
  REQUIRE(opens.submit());
  CHECK(test.on.loop().run() == wait_status::stopped);
  CHECK(test.back.current_value() == turns);
  CHECK(unparks == 0);
  CHECK(heavy_barriers == 0);
}

TEST_CASE_TEMPLATE("work does not keep what its queue has signalled from a thread that sleeps", Kind, EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  typename beside_sleeper<Kind>::queue_type first{test.on, test.three_commands()};
  typename beside_sleeper<Kind>::queue_type second{test.on};
  std::atomic<bool> is_done{false};
  test.record_sleep(first);
  first.signal(test.there, 1);
  first.run([&] { await_other_thread(is_done); });
  second.wait(test.there, 1);
  second.run([&] { is_done = true; });
  REQUIRE(second.submit());
  REQUIRE(first.submit());
  while (!first.is_idle()) static_cast<void>(test.on.loop().poll());
  CHECK(is_done);
}

TEST_CASE_TEMPLATE("other work does not keep what a queue has signalled from a thread that sleeps", Kind,
                   EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  typename beside_sleeper<Kind>::queue_type first{test.on, test.three_commands()};
  typename beside_sleeper<Kind>::queue_type second{test.on};
  typename beside_sleeper<Kind>::queue_type third{test.on};
  std::atomic<bool> is_done{false};
  test.record_sleep(first);
  first.signal(test.there, 1);
  first.signal(test.back, 1);
  second.wait(test.there, 1);
  second.run([&] { await_other_thread(is_done); });
  third.wait(test.back, 1);
  third.run([&] { is_done = true; });
  REQUIRE(second.submit());
  REQUIRE(third.submit());
  REQUIRE(first.submit());
  while (!second.is_idle()) static_cast<void>(test.on.loop().poll());
  CHECK(is_done);
}

TEST_CASE_TEMPLATE("a thread that leaves the engine leaves what is to go on to one that sleeps", Kind,
                   EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  typename beside_sleeper<Kind>::queue_type first{test.on, test.three_commands()};
  typename beside_sleeper<Kind>::queue_type second{test.on};
  std::atomic<bool> is_done{false};
  test.record_sleep(first);
  first.signal(test.there, 1);
  second.wait(test.there, 1);
  second.run([&] { is_done = true; });
  REQUIRE(second.submit());
  static_cast<void>(test.on.loop().poll());
  REQUIRE(first.submit());
  REQUIRE(test.on.loop().run_one() == wait_status::reached);  // `first` goes on later.
  await_other_thread(is_done);
  CHECK(is_done);
}

TEST_CASE_TEMPLATE("a thread that sleeps is woken for a queue that has just parked, while others work", Kind,
                   EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  typename beside_sleeper<Kind>::queue_type first{test.on, test.three_commands()};
  typename beside_sleeper<Kind>::queue_type second{test.on};
  std::atomic<bool> is_done{false};
  test.record_sleep(first);
  first.signal(test.there, 1);
  first.wait(test.back, 1);
  first.run([&] { is_done = true; });
  second.wait(test.there, 1);
  second.run([&] {
    test.back.signal(1);
    await_other_thread(is_done);
  });
  REQUIRE(second.submit());
  REQUIRE(first.submit());
  while (!second.is_idle()) static_cast<void>(test.on.loop().poll());
  CHECK(is_done);
}

TEST_CASE_TEMPLATE("a thread that leaves the engine leaves what has parked to one that sleeps", Kind, EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  typename beside_sleeper<Kind>::queue_type first{test.on, test.three_commands()};
  std::atomic<bool> is_done{false};
  test.record_sleep(first);
  first.signal(test.there, 1);
  first.wait(test.back, 1);
  first.run([&] { is_done = true; });
  REQUIRE(first.submit());
  while (!test.there.is_reached(1)) REQUIRE(test.on.loop().run_one() == wait_status::reached);
  test.back.signal(1);
  await_other_thread(is_done);
  CHECK(is_done);
}
