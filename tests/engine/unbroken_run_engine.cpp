// SPDX-License-Identifier: BSL-1.0
//
// Engine-wide runs: while one is executed, no thread of the engine executes anything else. When they begin, what they
// wait for, and what ends the wait.
#include <tidemark/engine/engine_parts.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/unbroken_run.hpp>
#include <tidemark/split/submit_parts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/readable.hpp"
#endif

#include "support/engines.hpp"
#include "support/loop_kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/owned_loop.hpp"
#include "support/queues.hpp"
#include "support/split_model.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::run_status;
using tidemark::unbroken_run;
using tidemark::unbroken_scope;
using tidemark::unbroken_status;
using tidemark::wait_status;

namespace {

template <class Kind>
using queue_of = unstamped_queue<Kind>;

/// What the threads of an engine execute beside the runs: commands of queues that submit themselves again, and a task
/// of the loop that posts itself again.
template <class Kind>
class load {
 public:
  explicit load(engine_of<Kind>& on) : task_(on, *this) {
    for (int n = 0; n < 4; ++n) {
      queues_.emplace_back(on, tidemark::engine_queue_options{.quantum = 2});
      submit(queues_.back());
    }
    has_begun_ = true;
    task_.post();
  }
  ~load() {
    is_over_ = true;
    await([this] { return going_on_ == 0; });
    for (auto& queue : queues_) static_cast<void>(queue.drain());
  }

  /// Returns how many pieces of work have begun, and how many have ended.
  std::uint64_t begun() const { return begun_; }
  std::uint64_t ended() const { return ended_; }

 private:
  class posted_again {
   public:
    posted_again(engine_of<Kind>& on, load& of) : of_{of}, on_{on} {}
    void post() {
      ++of_.going_on_;
      on_.loop().post([this] {
        ++of_.begun_;
        ++of_.ended_;
        if (!of_.is_over_) post();
        --of_.going_on_;
      });
    }

   private:
    load& of_;
    engine_of<Kind>& on_;
  };

  void submit(queue_of<Kind>& to) {
    ++going_on_;
    for (int n = 0; n < 3; ++n) {
      to.run([this] {
        ++begun_;
        std::this_thread::yield();
        ++ended_;
      });
    }
    to.run([this, &to] {
      await([this] { return has_begun_.load(); });  // the first submit() has returned
      if (!is_over_) submit(to);
      --going_on_;
    });
    REQUIRE(to.submit());
  }

  std::atomic<bool> has_begun_{false};
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> going_on_{0};
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::deque<queue_of<Kind>> queues_;
  posted_again task_;
};

/// Lets the other threads of the engine run, if they may.
void give_them_time() {
  for (int n = 0; n < 50; ++n) std::this_thread::yield();
}

/// Looks for foreign work between the first command of a run and the last one.
template <class Kind>
struct observer {
  const load<Kind>& others;
  std::uint64_t begun = 0;
  int broken = 0;

  void first() {
    begun = others.begun();
    if (others.ended() != begun) ++broken;
  }
  void next() {
    give_them_time();
    if (others.begun() != begun) ++broken;
  }
};

/// An engine that is run by this thread, and by another one that is in the middle of a callable.
template <class Kind>
struct beside_busy_thread {
  engine_of<Kind> engine{{.threads = 0}};
  std::string order;
  std::atomic<bool> is_busy{false};
  std::atomic<bool> may_end{false};
  bool throws = false;
  std::optional<background> other;
  queue_of<Kind> queue{engine, {.quantum = 1}};
  queue_of<Kind> foreign{engine, {.quantum = 1}};

  ~beside_busy_thread() { end(); }

  auto note(char what) {
    return [this, what] { order += what; };
  }
  /// Lets the other thread run one callable, which lasts until end().
  void begin() {
    engine.loop().post([this] {
      is_busy = true;
      await([this] { return may_end.load(); });
      if (throws) throw std::runtime_error{"out of the loop"};
    });
    other.emplace([this] {
      try {
        static_cast<void>(engine.loop().run_one());
      } catch (const std::runtime_error&) {
        CHECK(throws);
      }
    });
    await([this] { return is_busy.load(); });
  }
  void end() {
    may_end = true;
    if (other) other->join();
  }
  void record_run() {
    unbroken_run run{queue, unbroken_scope::whole_engine};
    run.run(note('a'));
    run.run(note('b'));
    CHECK(run.end() == unbroken_status::ended);
  }
  /// Submits a run that has to wait for the other thread, and foreign work that has to wait for the run.
  void submit_run_and_foreign() {
    record_run();
    REQUIRE(queue.submit());
    static_cast<void>(engine.loop().poll());
    foreign.run(note('f'));
    REQUIRE(foreign.submit());
    CHECK(engine.loop().poll() == 0);
    CHECK(order.empty());
  }
  void step() {
    while (engine.loop().poll() != 0) {
    }
  }
  /// Holds the run back that waits for the other thread, and lets it go on when that thread has ended.
  /// \param meanwhile  what is executed before it goes on
  template <class HoldBack, class LetGoOn>
  void hold_back(const HoldBack& holds, const std::string& meanwhile, const LetGoOn& lets_go_on) {
    begin();
    submit_run_and_foreign();
    holds();
    end();
    step();
    CHECK(order == meanwhile);
    lets_go_on();
    step();
  }
};

}  // namespace

TEST_CASE_TEMPLATE("[C5] on an engine of 3 threads under load, no foreign work runs between the parts of a run", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "runs under load"; }};
  engine_of<Kind> engine{{.threads = 3}};
  const auto others = std::make_unique<load<Kind>>(engine);
  queue_of<Kind> queue{engine, {.quantum = 1}};
  observer<Kind> observed{*others};
  for (int n = 0; n < 40; ++n) {
    const std::uint64_t before = others->begun();
    await([&] { return others->begun() >= before + 20; });  // no run keeps the others from going on
    {
      unbroken_run run{queue, unbroken_scope::whole_engine};
      run.run([&] { observed.first(); });
      for (int part = 0; part < 3; ++part) run.run([&] { observed.next(); });
    }
    REQUIRE(queue.submit());
    CHECK(queue.drain() == wait_status::reached);
  }
  CHECK(observed.broken == 0);
}

TEST_CASE_TEMPLATE("[C5] the parts of a work item are not interleaved on an engine of 3 threads", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "parts under load"; }};
  engine_of<Kind> engine{{.threads = 3}};
  const auto others = std::make_unique<load<Kind>>(engine);
  queue_of<Kind> queue{engine, {.quantum = 1}};
  observer<Kind> observed{*others};
  int parts_done = 0;
  const auto page = [&](const tidemark::paging_operation<split_id>&) {
    if (parts_done % 3 != 0) observed.next();
  };
  const auto work = [&](std::uint64_t, std::uint64_t) { parts_done++ % 3 == 0 ? observed.first() : observed.next(); };
  tidemark::splitter<split_id> parts{
      {.max_slot = 3_slot}, tidemark::counting_budget{8}, [](split_id allocation) { return allocation; }};
  for (int n = 0; n < 20; ++n) {
    const std::uint64_t before = others->begun();
    await([&] { return others->begun() >= before + 20; });
    REQUIRE(parts.begin(split_entries{{6, 0, 10}, {7, 0, 20}, {8, 0, 30}}, 100));
    tidemark::engine_parts recorded{queue, page, work};
    CHECK(submit_parts(parts, tidemark::part_scheduling::back_to_back, recorded));
    REQUIRE(queue.submit());
    CHECK(queue.drain() == wait_status::reached);
  }
  CHECK(parts_done == 60);
  CHECK(observed.broken == 0);
}

TEST_CASE_TEMPLATE("[C5] runs of several queues come one after the other, and all of them end", Kind, EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "several queues with runs"; }};
  constexpr int runs = 100;
  std::atomic<int> inside{0};
  std::atomic<int> broken{0};
  std::atomic<int> executed{0};
  engine_of<Kind> engine{{.threads = 3}};
  const auto others = std::make_unique<load<Kind>>(engine);
  std::deque<queue_of<Kind>> all;
  for (int number = 0; number < 4; ++number) {
    auto& queue = all.emplace_back(engine);
    for (int n = 0; n < runs; ++n) {
      unbroken_run run{queue, unbroken_scope::whole_engine};
      run.run([&] {
        if (inside.exchange(1) != 0) ++broken;
      });
      run.run([&] {
        inside = 0;
        ++executed;
      });
    }
  }
  for (auto& queue : all) REQUIRE(queue.submit());
  const std::uint64_t before = others->begun();
  for (auto& queue : all) CHECK(queue.drain() == wait_status::reached);
  await([&] { return others->begun() > before; });
  CHECK(broken == 0);
  CHECK(executed == 4 * runs);
}

TEST_CASE_TEMPLATE("[C5] a run begins when the last other work has ended, and nothing else begins before it", Kind,
                   EVERY_LOOP_KIND) {
  beside_busy_thread<Kind> on;
  on.begin();
  on.submit_run_and_foreign();
  on.end();
  CHECK(on.order.empty());  // the other thread has left the loop
  on.step();
  CHECK(on.order == "abf");
  CHECK(on.queue.is_idle());
}

TEST_CASE_TEMPLATE("[C5] a thread that sleeps executes the run when the other one leaves the loop, or throws", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "a thread that leaves"; }};
  for (const bool throws : {false, true}) {
    CAPTURE(throws);
    beside_busy_thread<Kind> on;
    on.throws = throws;
    on.begin();
    on.record_run();
    REQUIRE(on.queue.submit());
    CHECK(on.engine.loop().poll() == 1);  // the turn that comes to the run
    background sleeping{[&] { CHECK(on.engine.loop().run_one() == run_status::ran); }};
    CHECK(sleeping.falls_asleep());
    on.end();
    sleeping.join();
    CHECK(on.order == "ab");
  }
}

TEST_CASE_TEMPLATE("[C5] a queue that is aborted or destroyed while its run waits lets the others go on", Kind,
                   EVERY_LOOP_KIND) {
  for (const bool destroys : {false, true}) {
    CAPTURE(destroys);
    beside_busy_thread<Kind> on;
    on.begin();
    std::optional<queue_of<Kind>> given_up{std::in_place, on.engine};
    {
      unbroken_run run{*given_up, unbroken_scope::whole_engine};
      run.run(on.note('x'));
    }
    REQUIRE(given_up->submit());
    static_cast<void>(on.engine.loop().poll());
    on.foreign.run(on.note('f'));
    REQUIRE(on.foreign.submit());
    CHECK(on.engine.loop().poll() == 0);
    if (destroys) {
      given_up.reset();
    } else {
      given_up->abort();
      CHECK(given_up->drain() == wait_status::lost);
    }
    on.step();
    CHECK(on.order == "f");
    on.end();
  }
}

TEST_CASE_TEMPLATE("[C5] a thread that sleeps goes on when the run is given up for which it waits", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "a run that is given up"; }};
  beside_busy_thread<Kind> on;
  on.begin();
  on.submit_run_and_foreign();
  background sleeping{[&] { CHECK(on.engine.loop().run_one() == run_status::ran); }};
  CHECK(sleeping.falls_asleep());
  on.queue.abort();
  sleeping.join();
  on.step();
  CHECK(on.order == "f");
}

TEST_CASE_TEMPLATE("[C5] pause() before a run begins holds it back, and the others go on", Kind, EVERY_LOOP_KIND) {
  beside_busy_thread<Kind> on;
  on.hold_back([&] { on.queue.pause(); }, "f", [&] { on.queue.resume(); });
  CHECK(on.order == "fab");
}

TEST_CASE_TEMPLATE("[C5] a stopped loop keeps the run until it goes on", Kind, EVERY_LOOP_KIND) {
  beside_busy_thread<Kind> on;
  auto& loop = owned_loop(on.engine);
  on.hold_back([&] { loop.stop(); }, "", [&] { loop.restart(); });
  CHECK(on.order == "abf");
}

#if defined(__linux__)

TEST_CASE_TEMPLATE("[C5] [A19] the loop's descriptor is readable when a run may begin, and not before", Kind,
                   EVERY_LOOP_KIND) {
  beside_busy_thread<Kind> on;
  on.begin();
  const int descriptor = on.engine.loop().descriptor();
  REQUIRE(descriptor >= 0);
  on.submit_run_and_foreign();
  CHECK(!is_readable(descriptor));
  on.end();
  CHECK(is_readable(descriptor));
  on.step();
  CHECK(on.order == "abf");
  CHECK(!is_readable(descriptor));
}

TEST_CASE_TEMPLATE("[C5] [A19] what a run posts makes the loop's descriptor readable behind the run, not within it",
                   Kind, EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "a run beside a sleep outside"; }};
  engine_of<Kind> engine{{.threads = 0}};
  const int descriptor = engine.loop().descriptor();
  REQUIRE(descriptor >= 0);
  std::string order;
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_end{false};
  queue_of<Kind> queue{engine};
  {
    unbroken_run run{queue, unbroken_scope::whole_engine};
    run.run([&] {
      engine.loop().post([&] { order += 'p'; });
      is_inside = true;
      await([&] { return may_end.load(); });
    });
    run.run([&] { order += 'b'; });
  }
  REQUIRE(queue.submit());
  // The turn that comes to the run, and the run.
  background other{[&] {
    CHECK(engine.loop().run_one() == run_status::ran);
    CHECK(engine.loop().run_one() == run_status::ran);
  }};
  await([&] { return is_inside.load(); });
  CHECK(engine.loop().poll() == 0);
  CHECK(!is_readable(descriptor));
  may_end = true;
  other.join();
  CHECK(is_readable(descriptor));
  CHECK(engine.loop().poll() != 0);
  CHECK(order == "bp");
}

TEST_CASE_TEMPLATE("[C5] a thread that sleeps on descriptors calls back behind a run, not within it", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "a descriptor within a run"; }};
  const int event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  REQUIRE(event >= 0);
  {
    engine_of<Kind> engine{{.threads = 0}};
    std::string order;
    std::atomic<bool> is_called{false};
    auto watch = engine.loop().on_readable(event, [&] {
      eventfd_t value = 0;
      CHECK(::eventfd_read(event, &value) == 0);
      order += 'w';
      is_called = true;
    });
    REQUIRE(watch.error() == 0);
    manual_stop stop;
    std::optional<background> sleeping;
    queue_of<Kind> queue{engine};
    // This thread executes the run when the callable has ended: nobody else may begin it before.
    engine.loop().post([&] {
      {
        unbroken_run run{queue, unbroken_scope::whole_engine};
        run.run([&] {
          CHECK(::eventfd_write(event, 1) == 0);
          give_them_time();
          CHECK(sleeping->blocks());
          order += 'a';
        });
        run.run([&] { order += 'b'; });
      }
      REQUIRE(queue.submit());
      background{[&] { CHECK(engine.loop().run_one() == run_status::ran); }}.join();  // comes to the run
      sleeping.emplace([&] { CHECK(engine.loop().run(stop.get_token()) == run_status::stopped); });
      CHECK(sleeping->blocks());
    });
    while (engine.loop().poll() != 0) {
    }
    await([&] { return is_called.load(); });
    stop.request();
    sleeping->join();
    CHECK(order == "abw");
  }
  ::close(event);
}

TEST_CASE_TEMPLATE("[C5] a thread that sleeps on descriptors goes on when a run may begin, or is given up", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "a thread that sleeps on descriptors"; }};
  for (const bool gives_up : {false, true}) {
    CAPTURE(gives_up);
    const int never = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    REQUIRE(never >= 0);
    {
      beside_busy_thread<Kind> on;
      auto watch = on.engine.loop().on_readable(never, [] {});
      REQUIRE(watch.error() == 0);
      on.begin();
      on.submit_run_and_foreign();
      background sleeping{[&] { CHECK(on.engine.loop().run_one() == run_status::ran); }};
      CHECK(sleeping.blocks());
      gives_up ? on.queue.abort() : on.end();
      sleeping.join();
      on.step();
      CHECK(on.order == (gives_up ? "f" : "abf"));
    }
    ::close(never);
  }
}

#endif

TEST_CASE_TEMPLATE("[C5] an abort of the engine within a run ends it, and all other queues", Kind, EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "an abort within a run"; }};
  engine_of<Kind> engine{{.threads = 3}};
  std::deque<queue_of<Kind>> all;
  int executed = 0;
  for (int number = 0; number < 3; ++number) {
    auto& queue = all.emplace_back(engine);
    unbroken_run run{queue, unbroken_scope::whole_engine};
    run.run([&] { ++executed; });
    run.run([&] { engine.abort(); });
    run.run([&] { executed += 100; });
  }
  for (auto& queue : all) queue.pause();
  for (auto& queue : all) REQUIRE(queue.submit());
  for (auto& queue : all) queue.resume();
  for (auto& queue : all) CHECK(queue.drain() == wait_status::lost);
  CHECK(executed == 1);
}

TEST_CASE_TEMPLATE("[C5] [A124] what a run that was aborted has not executed stands in the log as cancelled", Kind,
                   EVERY_LOOP_KIND) {
  engine_of<Kind> engine{{.threads = 0}};
  typename Kind::fence output;
  tidemark::basic_engine_queue<typename Kind::platform> queue{engine, {.progress = own_id}};
  auto signals = queue.timeline().signal_log();
  {
    unbroken_run run{queue, unbroken_scope::whole_engine};
    run.signal(output, 1);
    run.run([&] { queue.abort(); });
    run.signal(output, 2);
  }
  REQUIRE(queue.submit());
  while (engine.loop().poll() != 0) {
  }
  const auto found = read_all(signals).entries;
  REQUIRE(found.size() == 3);
  CHECK_FALSE(is_cancelled(found[0]));
  CHECK(is_cancelled(found[1]));
  CHECK(is_cancelled(found[2]));
  CHECK(output.current_value() == 1);
}

TEST_CASE_TEMPLATE("[C5] what a run signals releases queues that wait, and they execute behind it", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "a signal within a run"; }};
  engine_of<Kind> engine{{.threads = 3}};
  typename Kind::fence there;
  typename Kind::fence back;
  std::atomic<bool> is_over{false};
  bool was_over = false;
  queue_of<Kind> queue{engine};
  queue_of<Kind> waiting{engine};
  for (std::uint64_t n = 1; n <= 100; ++n) {
    is_over = false;
    waiting.wait(there, n);
    waiting.run([&] { was_over = is_over; });
    waiting.signal(back, n);
    REQUIRE(waiting.submit());
    {
      unbroken_run run{queue, unbroken_scope::whole_engine};
      run.signal(there, n);
      run.run([&] { give_them_time(); });
      run.run([&] { is_over = true; });
    }
    queue.wait(back, n);  // behind the run
    REQUIRE(queue.submit());
    CHECK(queue.drain() == wait_status::reached);
    CHECK(was_over);
  }
}

TEST_CASE_TEMPLATE("[C5] work that runs the loop until a run is over does not hold it up", Kind, EVERY_LOOP_KIND) {
  engine_of<Kind> engine{{.threads = 0}};
  std::string order;
  queue_of<Kind> queue{engine};
  queue_of<Kind> calling{engine};
  {
    unbroken_run run{queue, unbroken_scope::whole_engine};
    run.run([&] { order += 'a'; });
    run.run([&] { order += 'b'; });
  }
  calling.run([&] {
    order += '(';
    REQUIRE(queue.submit());
    while (order.back() != 'b') static_cast<void>(engine.loop().poll());
    order += ')';
  });
  REQUIRE(calling.submit());
  while (engine.loop().poll() != 0) {
  }
  CHECK(order == "(ab)");
}

TEST_CASE_TEMPLATE("[C5] a call of the loop that work has made returns to it when no run is under way", Kind,
                   EVERY_LOOP_KIND) {
  const watchdog dog{[] { return "work that runs the loop"; }};
  engine_of<Kind> engine{{.threads = 3}};
  std::atomic<bool> is_inside{false};
  std::atomic<bool> is_done{false};
  std::atomic<int> broken{0};
  constexpr std::chrono::nanoseconds most_time = std::chrono::milliseconds{20};
  queue_of<Kind> queue{engine};
  std::deque<queue_of<Kind>> calling;
  for (int number = 0; number < 2; ++number) {
    calling.emplace_back(engine).run([&] {
      // Where the time of each call is over before it has looked, no run could begin. So it grows.
      for (std::chrono::nanoseconds time = std::chrono::microseconds{5}; !is_done;
           time = (std::min)(time + time / 8, most_time)) {
        static_cast<void>(engine.loop().run_one_for(time));
        if (is_inside) ++broken;
      }
    });
    REQUIRE(calling.back().submit());
  }
  for (int n = 0; n < 50; ++n) {
    unbroken_run run{queue, unbroken_scope::whole_engine};
    run.run([&] { is_inside = true; });
    run.run([&] { give_them_time(); });
    run.run([&] { is_inside = false; });
  }
  queue.run([&] { is_done = true; });
  REQUIRE(queue.submit());
  CHECK(queue.drain() == wait_status::reached);
  for (auto& each : calling) CHECK(each.drain() == wait_status::reached);
  CHECK(broken == 0);
}

TEST_CASE_TEMPLATE("[C5] an empty run waits for nobody", Kind, EVERY_LOOP_KIND) {
  beside_busy_thread<Kind> on;
  on.begin();
  on.queue.run(on.note('a'));
  CHECK(unbroken_run{on.queue, unbroken_scope::whole_engine}.end() == unbroken_status::ended);
  on.queue.run(on.note('b'));
  REQUIRE(on.queue.submit());
  on.step();
  CHECK(on.order == "ab");
}

TEST_CASE_TEMPLATE("[C5] a run of one thread goes on beside a thread that is busy", Kind, EVERY_LOOP_KIND) {
  beside_busy_thread<Kind> on;
  on.begin();
  {
    unbroken_run run{on.queue, unbroken_scope::one_thread};
    run.run(on.note('a'));
    run.run(on.note('b'));
  }
  REQUIRE(on.queue.submit());
  on.step();
  CHECK(on.order == "ab");
}
