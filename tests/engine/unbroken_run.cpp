// SPDX-License-Identifier: BSL-1.0
//
// Commands of an engine's queue that are executed without a break: what does not come between them, and what ends a run
// early. A wait within a run is in unbroken_run_misuse.cpp and queue_release.cpp.
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/unbroken_run.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/engines.hpp"
#include "support/loop_kinds.hpp"
#include "support/queues.hpp"

using namespace testing;
using tidemark::unbroken_run;
using tidemark::wait_status;

namespace {

template <class Kind>
using queue_of = unstamped_queue<Kind>;

/// An engine whose loop the test runs, and what its commands note.
template <class Kind>
struct noted : stepped<Kind> {
  std::string order;

  auto note(char what) {
    return [this, what] { order += what; };
  }
};

template <class Recorder, class Timeline>
concept can_wait = requires(Recorder& recorder, Timeline& timeline) { recorder.wait(timeline, 1); };

}  // namespace

TEST_CASE_TEMPLATE("[C5] a quantum does not end within a run, and no other queue of the thread comes between", Kind,
                   EVERY_LOOP_KIND) {
  noted<Kind> on;
  typename Kind::fence done;
  queue_of<Kind> queue{on.engine, {.quantum = 1}};
  queue_of<Kind> other{on.engine, {.priority = tidemark::queue_priority::high, .quantum = 1}};
  queue.run(on.note('a'));
  {
    unbroken_run run{queue};
    run.run(on.note('b'));
    run.run([&on](char what) { on.order += what; }, 'c');
    run.signal(done, 7);
    run.run(on.note('d'));
    for (int n = 0; n < 20; ++n) run.run(on.note('.'));
    run.run([&] { CHECK(done.current_value() == 7); });
    CHECK(run.end() == tidemark::unbroken_status::ended);
  }
  queue.run(on.note('e'));
  REQUIRE(queue.submit());
  for (int n = 0; n < 9; ++n) other.run(on.note('X'));
  REQUIRE(other.submit());
  auto callback = on.engine.loop().make_task([&] { on.order += 'T'; });
  callback.post();
  on.step();
  CHECK(on.order.find("bcd....................") != std::string::npos);
  CHECK(on.order.find("ab") == std::string::npos);  // the turn has ended before the run
  CHECK(on.order.find(".e") == std::string::npos);  // and behind it
  CHECK(queue.is_idle());
}

TEST_CASE_TEMPLATE("[C5] with several threads, the one that executes a run executes nothing else until its end", Kind,
                   EVERY_LOOP_KIND) {
  constexpr int queues = 6;
  constexpr int runs = 200;
  constexpr int parts = 5;
  static thread_local std::pair<int, int> last;  // what this thread has executed: a run and a part of it
  std::atomic<int> broken{0};
  std::atomic<int> executed{0};
  engine_of<Kind> engine{{.threads = 2}};
  std::deque<queue_of<Kind>> all;
  for (int number = 0; number < queues; ++number) {
    auto& queue = all.emplace_back(engine, tidemark::engine_queue_options{.quantum = 1});
    for (int run = 0; run < runs; ++run) {
      const int id = number * runs + run + 1;
      queue.run([] { last = {0, 0}; });
      {
        unbroken_run unbroken{queue};
        for (int part = 0; part < parts; ++part) {
          unbroken.run([&, id, part] {
            if (part != 0 && last != std::pair{id, part - 1}) broken.fetch_add(1);
            last = {id, part};
            executed.fetch_add(1);
          });
        }
      }
      REQUIRE(queue.submit());
    }
  }
  for (auto& queue : all) CHECK(queue.drain() == wait_status::reached);
  CHECK(broken.load() == 0);
  CHECK(executed.load() == queues * runs * parts);
}

TEST_CASE_TEMPLATE("[C5] waits come before a run, and the queue parks there", Kind, EVERY_LOOP_KIND) {
  noted<Kind> on;
  typename Kind::fence input;
  queue_of<Kind> queue{on.engine};
  static_assert(can_wait<queue_of<Kind>, typename Kind::fence>);
  static_assert(!can_wait<unbroken_run<queue_of<Kind>>, typename Kind::fence>);
  for (std::uint64_t value = 1; value <= 2; ++value) {
    queue.wait(input, value);
    unbroken_run run{queue};
    run.run(on.note('a'));
    run.run(on.note('b'));
  }
  REQUIRE(queue.submit());
  on.step();
  CHECK(on.order.empty());
  input.signal(1);
  on.step();
  CHECK(on.order == "ab");
  input.signal(2);
  on.step();
  CHECK(on.order == "abab");
  CHECK(queue.is_idle());
}

TEST_CASE_TEMPLATE("[C5] pause() takes effect behind a run that has begun", Kind, EVERY_LOOP_KIND) {
  noted<Kind> on;
  queue_of<Kind> queue{on.engine};
  {
    unbroken_run run{queue};
    run.run(on.note('a'));
    run.run([&] { queue.pause(); });
    run.run(on.note('b'));
  }
  queue.run(on.note('c'));
  REQUIRE(queue.submit());
  on.step();
  CHECK(on.order == "ab");
  queue.resume();
  on.step();
  CHECK(on.order == "abc");
}

TEST_CASE_TEMPLATE("[C5] [A124] an abort ends a run early, and its rest stands in the log as cancelled", Kind,
                   EVERY_LOOP_KIND) {
  noted<Kind> on;
  typename Kind::fence output;
  tidemark::basic_engine_queue<typename Kind::platform> queue{on.engine, {.progress = own_id, .quantum = 1}};
  auto signals = queue.timeline().signal_log();
  auto reserved = queue.timeline().signal_reserver();
  {
    unbroken_run run{queue};
    run.signal(logged_fence{&output, other_id}, 1, reserved.reserve());
    run.run([&] { queue.abort(); });
    run.signal(output, 2, reserved.reserve());
    run.run(on.note('a'));
  }
  REQUIRE(queue.submit(reserved.reserve()));
  on.step();
  CHECK(on.order.empty());
  CHECK(output.current_value() == 1);
  CHECK(queue.drain() == wait_status::lost);
  const auto found = read_all(signals).entries;
  REQUIRE(found.size() == 3);
  CHECK_FALSE(is_cancelled(found[0]));
  CHECK(is_cancelled(found[1]));
  CHECK(found[1].fence_value == 2);
  CHECK(is_cancelled(found[2]));
  CHECK(found[2].fence == own_id);
  CHECK(queue.timeline().commits(fence_log_type::signal) == tidemark::log_commits{3, 0, 0});
}

TEST_CASE_TEMPLATE("a run may be of any length, also empty, and lie anywhere in a submission", Kind, EVERY_LOOP_KIND) {
  noted<Kind> on;
  queue_of<Kind> queue{on.engine};
  std::string expected;
  for (int before = 0; before < 6; ++before) {
    for (int within = 0; within < 12; ++within) {
      for (int n = 0; n < before; ++n) queue.run(on.note('a'));
      {
        unbroken_run run{queue};
        for (int n = 0; n < within; ++n) run.run(on.note('b'));
      }
      queue.run(on.note('c'));
      REQUIRE(queue.submit());
      expected +=
          std::string(static_cast<std::size_t>(before), 'a') + std::string(static_cast<std::size_t>(within), 'b') + 'c';
      if (within % 2 == 0) on.step();
    }
  }
  on.step();
  CHECK(on.order == expected);
  CHECK(queue.is_idle());
}

TEST_CASE_TEMPLATE("a run that is dropped before it was submitted leaves nothing behind", Kind, EVERY_LOOP_KIND) {
  noted<Kind> on;
  queue_of<Kind> queue{on.engine};
  for (int round = 0; round < 9; ++round) {
    for (int n = 0; n < round; ++n) queue.run(on.note('a'));
    {
      unbroken_run run{queue};
      run.run(on.note('x'));
      if (round % 2 == 0) queue.discard();
    }
    if (round % 2 != 0) queue.discard();
    {
      unbroken_run run{queue};
      run.run(on.note('b'));
    }
    REQUIRE(queue.submit());
    on.step();
  }
  CHECK(on.order == "bbbbbbbbb");
}

TEST_CASE_TEMPLATE("a run that was dropped is not taken for one that begins at its place", Kind, EVERY_LOOP_KIND) {
  noted<Kind> on;
  queue_of<Kind> queue{on.engine};
  unbroken_run dropped{queue};
  dropped.run(on.note('x'));
  queue.discard();
  unbroken_run run{queue};
  run.run(on.note('b'));
  CHECK(dropped.end() == tidemark::unbroken_status::invalid);
  run.run(on.note('c'));
  CHECK(run.end() == tidemark::unbroken_status::ended);
  REQUIRE(queue.submit());
  on.step();
  CHECK(on.order == "bc");
}
