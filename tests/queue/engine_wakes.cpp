// SPDX-License-Identifier: BSL-1.0
//
// Whom a thread of an engine wakes while another one sleeps: nobody for what it goes on with itself, and somebody for
// all the rest.
#include <tidemark/queue/engine_queue.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "support/loop_kinds.hpp"
#include "support/owned_loop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

/// An engine that the test runs, with two queues. In the midst of the first work of `first`, another thread begins to
/// run the engine, finds nothing and falls asleep.
template <class Kind>
struct beside_sleeper {
  using engine_type = tidemark::basic_engine<typename Kind::platform>;
  using queue_type = tidemark::basic_engine_queue<typename Kind::platform, tidemark::no_log_clock>;

  engine_type on{{.threads = 0}};
  typename Kind::progress_fence there;
  typename Kind::progress_fence back;
  std::atomic<bool> is_done{false};
  std::optional<background> sleeper;
  watchdog dog{[this] { return state_of(there) + "; " + state_of(back); }};
  queue_type first{on, {.quantum = 3}};
  queue_type second{on};

  beside_sleeper() {
    first.run([this] {
      sleeper.emplace([this] { static_cast<void>(on.loop().run()); });
      CHECK(sleeper->falls_asleep());
    });
    // With these its turn is over, so what the test records has a turn of its own.
    first.signal(nobody_waits_, 1);
    first.signal(nobody_waits_, 2);
  }
  ~beside_sleeper() { owned_loop(on).stop(); }

  void submit_both() {
    REQUIRE(second.submit());
    REQUIRE(first.submit());
  }
  /// Runs the engine until a queue has stopped it. This thread must not leave the engine before: then it would wake
  /// the other one.
  void run() { CHECK(on.loop().run() == wait_status::stopped); }
  /// Returns once a queue has set `is_done`, which another thread must execute.
  void await_done() {
    await([this] { return is_done.load(); });
  }
  void await_done_and_end() {
    await_done();
    owned_loop(on).stop();
  }

 private:
  typename Kind::fence nobody_waits_;
};

}  // namespace

TEST_CASE_TEMPLATE("[A6] queues that hand a turn on wake nobody, and register nothing, although a thread sleeps", Kind,
                   EVERY_LOOP_KIND) {
  constexpr std::uint64_t turns = 1000;
  beside_sleeper<Kind> test;
  typename Kind::fence begun;
  typename beside_sleeper<Kind>::queue_type third{test.on};
  std::optional<meter<typename Kind::platform>> during;
  std::uint64_t unparks = 1;
  std::uint64_t heavy_barriers = 1;
  test.first.signal(begun, 1);
  // The turns are those of two queues that are never cut short by a quantum.
  third.wait(begun, 1);
  third.run([&] { during.emplace(); });
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    third.signal(test.there, turn);
    third.wait(test.back, turn);
    test.second.wait(test.there, turn);
    test.second.signal(test.back, turn);
  }
  third.run([&] {
    unparks = during->unparks();
    heavy_barriers = during->heavy_barriers();
    owned_loop(test.on).stop();
  });
  REQUIRE(third.submit());
  test.submit_both();
  CHECK(test.on.loop().run() == wait_status::stopped);
  CHECK(test.back.current_value() == turns);
  CHECK(unparks == 0);
  CHECK(heavy_barriers == 0);
}

TEST_CASE_TEMPLATE("work does not keep what its queue has signalled from a thread that sleeps", Kind, EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  test.first.signal(test.there, 1);
  test.first.run([&] { test.await_done_and_end(); });
  test.second.wait(test.there, 1);
  test.second.run([&] { test.is_done = true; });
  test.submit_both();
  test.run();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("other work does not keep what a queue has signalled from a thread that sleeps", Kind,
                   EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  typename beside_sleeper<Kind>::queue_type third{test.on};
  test.first.signal(test.back, 1);
  test.first.signal(test.there, 1);  // What was signalled last is found first, so `second` begins before `third`.
  test.second.wait(test.there, 1);
  test.second.run([&] { test.await_done_and_end(); });
  third.wait(test.back, 1);
  third.run([&] { test.is_done = true; });
  REQUIRE(third.submit());
  test.submit_both();
  test.run();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("a thread that sleeps is woken for a queue that has just parked, while others work", Kind,
                   EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  test.first.signal(test.there, 1);
  test.first.wait(test.back, 1);
  test.first.run([&] { test.is_done = true; });
  test.second.wait(test.there, 1);
  test.second.run([&] {
    test.back.signal(1);
    test.await_done_and_end();
  });
  test.submit_both();
  test.run();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("a thread that leaves the engine leaves what is to go on to one that sleeps", Kind,
                   EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  test.first.run([&] { test.is_done = true; });
  REQUIRE(test.first.submit());
  REQUIRE(test.on.loop().run_one() == wait_status::reached);  // `first` goes on later.
  test.await_done();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("a thread that leaves the engine leaves what has parked to one that sleeps", Kind, EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  test.first.signal(test.there, 1);
  test.first.wait(test.back, 1);
  test.first.run([&] { test.is_done = true; });
  REQUIRE(test.first.submit());
  while (!test.there.is_reached(1)) REQUIRE(test.on.loop().run_one() == wait_status::reached);
  test.back.signal(1);
  test.await_done();
  CHECK(test.is_done);
}
