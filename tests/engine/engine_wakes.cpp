// SPDX-License-Identifier: BSL-1.0
//
// Whom a thread of an engine wakes while another one sleeps: nobody for what it goes on with itself, and somebody for
// all the rest, also before code of the user runs in a signal.
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/detached.hpp>
#include <tidemark/fence/signaller_awaiter.hpp>
#include <tidemark/fence/signaller_callback.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "support/loop_kinds.hpp"
#include "support/owned_loop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::run_status;
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

  void submit_both(const auto&... entry) {
    REQUIRE(second.submit(entry...));
    REQUIRE(first.submit(entry...));
  }
  /// Runs the engine until a queue has stopped it. This thread must not leave the engine before: then it would wake
  /// the other one.
  void run() { CHECK(on.loop().run() == run_status::stopped); }
  /// Returns once a queue has set `is_done`, which another thread must execute.
  void await_done() {
    await([this] { return is_done.load(); });
  }
  void await_done_and_end() {
    await_done();
    owned_loop(on).stop();
  }

  /// Records that `first` signals to `second`, which is done then. What `first` executes next must not keep that from
  /// the other thread.
  void second_is_done() {
    first.signal(there, 1);
    second.wait(there, 1);
    second.run([this] { is_done = true; });
  }
  /// Records that `first` parks, and is done once `back` is signalled. Another queue, which waits for `there`, begins
  /// on this thread when `first` has parked.
  void first_is_done() {
    first.signal(there, 1);
    first.wait(back, 1);
    first.run([this] { is_done = true; });
  }

 private:
  typename Kind::fence nobody_waits_;
};

/// A timeline of the program's own.
struct own_timeline {
  std::function<void()> code;
  std::atomic<std::uint64_t> value{0};

  std::uint64_t current_value() const noexcept { return value; }
  wait_status wait_until(std::uint64_t target, tidemark::deadline) const noexcept {
    return value >= target ? wait_status::reached : wait_status::timeout;
  }
  void signal(std::uint64_t to) noexcept {
    value = to;
    code();
  }
};

/// A fence whose signal the program has changed.
template <class Fence>
struct changed_fence : Fence {
  std::function<void()> code;

  bool publish(std::uint64_t value) noexcept {
    code();
    return Fence::publish(value);
  }
};

/// How code of the user comes to run in a signal of a queue.
enum class code_in { own_timeline, reserved, changed_fence, callable, coroutine, finish, reserved_finish };
#define EVERY_CODE_IN                                                                                      \
  code_in::own_timeline, code_in::reserved, code_in::changed_fence, code_in::callable, code_in::coroutine, \
      code_in::finish, code_in::reserved_finish

template <class Kind>
class signal_with_code {
 public:
  using fence = typename Kind::callback_fence;

  signal_with_code(code_in how, std::function<void()> code) : how_{how}, code_{std::move(code)} {
    own_.code = code_;
    changed_.code = code_;
  }
  /// Records it as the last command, beside the end of the submission.
  void record(auto& queue) {
    switch (how_) {
      case code_in::own_timeline:
        return queue.signal(own_, 1);
      case code_in::reserved:
        return queue.signal(own_, 1, tidemark::log_reservation{});
      case code_in::changed_fence:
        return queue.signal(changed_, 1);
      case code_in::callable:
        called_.emplace(fence_, 1, code_);
        return queue.signal(fence_, 1);
      case code_in::coroutine:
        resume(fence_, code_);
        return queue.signal(fence_, 1);
      default:
        called_at_end_.emplace([&] { return tidemark::call_in_signaller(*queue.progress().fence, 1, code_); });
    }
  }
  void submit(auto& test) const {
    if (how_ == code_in::reserved_finish) return test.submit_both(tidemark::log_reservation{});
    test.submit_both();
  }

 private:
  using callable = std::function<void()>;
  using progress_fence = typename beside_sleeper<Kind>::queue_type::progress_type;
  /// So that an object is made in its place that can't be moved.
  struct callback_at_end {
    explicit callback_at_end(const auto& make) : made(make()) {}
    decltype(tidemark::call_in_signaller(std::declval<const progress_fence&>(), 1, callable{})) made;
  };

  static tidemark::detached resume(const fence& on, callable code) {
    CHECK(co_await tidemark::reached_in_signaller(on, 1) == wait_status::reached);
    code();
  }

  code_in how_;
  callable code_;
  own_timeline own_;
  changed_fence<fence> changed_;
  fence fence_;
  std::optional<decltype(tidemark::call_in_signaller(fence_, 1, callable{}))> called_;
  std::optional<callback_at_end> called_at_end_;
};

/// Calls its code when it is dropped without a call.
class drop_code {
 public:
  explicit drop_code(std::function<void()> code) : code_{std::move(code)} {}
  drop_code(drop_code&& from) noexcept : code_{std::exchange(from.code_, nullptr)} {}
  drop_code& operator=(drop_code&&) = delete;
  ~drop_code() {
    if (code_) code_();
  }
  void operator()() { CHECK_MESSAGE(false, "what was given up is executed"); }

 private:
  std::function<void()> code_;
};

/// A recorder that calls code when a signal is executed.
struct code_at_signal {
  std::function<void()>* code;
  void record_wait(const tidemark::fence_log_entry&) noexcept {}
  void record_signal(const tidemark::fence_log_entry&) noexcept { (*code)(); }
};

/// A notifier that calls code for one of the fences.
struct code_in_notifier {
  const void* at = nullptr;
  std::function<void()> code;
  template <class Fence>
  void operator()(const tidemark::logged_fence<Fence>& due) const noexcept {
    if (due.fence == at) code();
    due.fence->release_due();
  }
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
  CHECK(test.on.loop().run() == run_status::stopped);
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
  REQUIRE(test.on.loop().run_one() == run_status::ran);  // `first` goes on later.
  test.await_done();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("a thread that leaves the engine leaves what has parked to one that sleeps", Kind, EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  test.first.signal(test.there, 1);
  test.first.wait(test.back, 1);
  test.first.run([&] { test.is_done = true; });
  REQUIRE(test.first.submit());
  await([&] {
    static_cast<void>(test.on.loop().run_one_for(std::chrono::seconds{0}));  // The sleeper may take the second turn.
    return test.there.is_reached(1);
  });
  test.back.signal(1);
  test.await_done();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("code of the user in a signal does not keep what its queue has signalled from a thread that sleeps",
                   Kind, EVERY_LOOP_KIND) {
  for (const code_in how : {EVERY_CODE_IN}) {
    CAPTURE(how);
    beside_sleeper<Kind> test;
    signal_with_code<Kind> last(how, [&] { test.await_done_and_end(); });
    test.second_is_done();
    last.record(test.first);
    last.submit(test);
    test.run();
    CHECK(test.is_done);
  }
}

TEST_CASE_TEMPLATE("code of the user in a signal wakes a thread that sleeps for a queue that has just parked", Kind,
                   EVERY_LOOP_KIND) {
  for (const code_in how : {EVERY_CODE_IN}) {
    CAPTURE(how);
    beside_sleeper<Kind> test;
    signal_with_code<Kind> last(how, [&] {
      test.back.signal(1);
      test.await_done_and_end();
    });
    test.first_is_done();
    test.second.wait(test.there, 1);
    last.record(test.second);
    last.submit(test);
    test.run();
    CHECK(test.is_done);
  }
}

TEST_CASE_TEMPLATE("a notifier of the user wakes a thread that sleeps for a queue that has just parked", Kind,
                   EVERY_LOOP_KIND) {
  using platform = typename Kind::platform;
  beside_sleeper<Kind> test;
  typename Kind::callback_fence due;
  const auto makes_it_due = tidemark::call_in_signaller(due, 1, [] {});
  tidemark::basic_engine_queue<platform, tidemark::no_log_clock, code_in_notifier> third(test.on, {},
                                                                                         {&due, [&] {
                                                                                            test.back.signal(1);
                                                                                            test.await_done_and_end();
                                                                                          }});
  test.first_is_done();
  third.wait(test.there, 1);
  third.signal(due, 1);
  REQUIRE(third.submit());
  test.submit_both();
  test.run();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("what a queue drops that is given up does not keep its signals from a thread that sleeps", Kind,
                   EVERY_LOOP_KIND) {
  using platform = typename Kind::platform;
  beside_sleeper<Kind> test;
  typename Kind::fence begun;
  std::function<void()> at_signal;
  tidemark::basic_engine_queue<platform, tidemark::no_log_clock, tidemark::self_service, code_at_signal> third(
      test.on, {}, {}, code_at_signal{&at_signal});
  at_signal = [&] { third.abort(); };
  test.first.signal(begun, 1);
  third.wait(begun, 1);
  third.signal(test.there, 1);
  third.run(drop_code([&] { test.await_done_and_end(); }));
  test.second.wait(test.there, 1);
  test.second.run([&] { test.is_done = true; });
  REQUIRE(third.submit());
  test.submit_both();
  test.run();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("the loss of a queue does not keep its signals from a thread that sleeps", Kind, EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  typename Kind::fence dead;
  dead.poison();
  const auto called = tidemark::call_in_signaller(*test.first.progress().fence, 1, [&](wait_status how) {
    CHECK(how == wait_status::lost);
    test.await_done_and_end();
  });
  typename Kind::fence begun;
  test.first.signal(begun, 1);
  test.second_is_done();
  test.first.wait(dead, 1);  // the third command, which ends the turn before anything is dropped
  test.submit_both();
  test.run();
  CHECK(test.is_done);
}

TEST_CASE_TEMPLATE("the loss of a queue wakes a thread that sleeps for a queue that has just parked", Kind,
                   EVERY_LOOP_KIND) {
  beside_sleeper<Kind> test;
  typename Kind::fence dead;
  dead.poison();
  typename beside_sleeper<Kind>::queue_type third{test.on, {.quantum = 2}};
  const auto called = tidemark::call_in_signaller(*third.progress().fence, 1, [&](wait_status how) {
    CHECK(how == wait_status::lost);
    test.back.signal(1);
    test.await_done_and_end();
  });
  test.first_is_done();
  third.wait(test.there, 1);
  third.wait(dead, 1);  // ends the turn, too
  REQUIRE(third.submit());
  test.submit_both();
  test.run();
  CHECK(test.is_done);
}
