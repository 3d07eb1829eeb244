// SPDX-License-Identifier: BSL-1.0
//
// The clocks of logs: that they go forward and never show zero, and that the clock of the time-stamp counter follows
// the steady clock, on simulated clocks and on this machine's.
#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/log/fence_log.hpp>
#include <tidemark/log/log_clock.hpp>

#include "support/pinned.hpp"
#include "support/random.hpp"
#include "support/simulated_clocks.hpp"
#include "support/trace_entries.hpp"

using namespace testing;

TEST_CASE("the clocks of logs satisfy log_clock, and types that can't stamp an entry do not") {
  struct wrong_ticks {
    static int now() noexcept { return 0; }
    static std::uint64_t to_nanoseconds(std::uint64_t ticks) { return ticks; }
  };
  static_assert(tidemark::log_clock<tidemark::steady_log_clock>);
  static_assert(tidemark::log_clock<tidemark::no_log_clock>);
#if defined(__x86_64__)
  static_assert(tidemark::log_clock<tidemark::tsc_log_clock>);
#endif
  static_assert(!tidemark::log_clock<std::chrono::steady_clock>);
  static_assert(!tidemark::log_clock<wrong_ticks>);
  static_assert(!tidemark::log_clock<nanosecond_clock>);  // enough for a trace, but it can't stamp
  CHECK(tidemark::no_log_clock::to_nanoseconds(7) == 7);
}

namespace {

/// Waits until the steady clock has gone on by so much.
void let_pass(std::uint64_t nanoseconds) {
  const std::uint64_t start = tidemark::steady_log_clock::now();
  while (tidemark::steady_log_clock::now() - start < nanoseconds) {
  }
}

}  // namespace

TYPE_TO_STRING_AS("steady", tidemark::steady_log_clock);
#if defined(__x86_64__)
TYPE_TO_STRING_AS("time-stamp counter", tidemark::tsc_log_clock);
#define EVERY_CLOCK tidemark::steady_log_clock, tidemark::tsc_log_clock
#else
#define EVERY_CLOCK tidemark::steady_log_clock
#endif

TEST_CASE_TEMPLATE("[A103] a clock goes forward and never shows zero", Clock, EVERY_CLOCK) {
  std::uint64_t last = Clock::now();
  CHECK(last != 0);
  for (int round = 0; round < 100; ++round) {
    let_pass(2'000);
    const std::uint64_t now = Clock::now();
    CHECK(now > last);
    last = now;
  }
}

TEST_CASE("[A103] without a clock every time stamp says that it is not known") {
  CHECK(tidemark::no_log_clock::now() == 0);
  CHECK(tidemark::no_log_clock::to_nanoseconds(0) == 0);
  tidemark::timestamp_order order;
  CHECK(order.judge(tidemark::no_log_clock::now()) == tidemark::timestamp_verdict::not_recorded);
}

TEST_CASE("the steady clock of a log shows std::chrono::steady_clock's nanoseconds, unchanged") {
  using clock = tidemark::steady_log_clock;
  const auto nanoseconds = [] {
    const std::chrono::nanoseconds since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(since.count());
  };
  judge steady{nanoseconds};
  for (int round = 0; round < 1'000; ++round) steady.read([] { return clock::to_nanoseconds(clock::now()); });
  CHECK(steady.farthest() == 0);
  CHECK(steady.backward() == 0);
}

TEST_CASE("[A91] the default clock of logs is the clock with which programs stamp what they queue") {
  using clock = tidemark::default_log_clock;
  static_assert(std::is_same_v<clock, tidemark::steady_log_clock>);
  const auto of_program = [] {
    const std::chrono::nanoseconds since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(since.count());
  };
  std::uint64_t queued = of_program();
  for (int round = 0; round < 1'000; ++round) {
    const std::uint64_t executed = clock::to_nanoseconds(clock::now());
    CHECK(executed >= queued);
    queued = of_program();
    CHECK(queued >= executed);
  }
}

// ---- a clock that follows the steady clock by a counter ------------------------------------------------------------

namespace {

/// The native platform, with a function of the test that runs while a thread owns a slot. ThreadSanitizer's
/// platform has no fence, so there the function does not run.
struct interrupted_platform : tidemark::native_platform {
  static inline std::function<void()> while_owner;

  static void thread_fence([[maybe_unused]] std::memory_order order) {
    if (order == std::memory_order_release && while_owner) while_owner();
#if !TIDEMARK_HAS_TSAN
    tidemark::native_platform::thread_fence(order);
#endif
  }
};

/// A clock on simulated clocks, and its judge.
struct simulation {
  simulated_clocks clocks;
  tidemark::detail::counter_clock<simulated_source, interrupted_platform> clock{simulated_source{&clocks}};
  struct exact_time {
    simulated_clocks* clocks;
    std::uint64_t operator()() const { return clocks->exact(); }
  };
  judge<exact_time> judged{exact_time{&clocks}};
  random_numbers random{7};  // the same seed each time: the limits below are those of the arithmetic, not of luck

  std::uint64_t read() {
    return judged.read([this] { return clock.now(); });
  }
  /// Reads the clock for so long; from one reading to the next pass some nanoseconds, or up to three pieces.
  void read_for(std::uint64_t nanoseconds) {
    const std::uint64_t end = clocks.exact() + nanoseconds;
    while (clocks.exact() < end) {
      read();
      clocks.pass(random.below(random.below(8) == 0 ? 3'000'000 : 30'000));
    }
  }
};

/// With clocks that take the same time whenever they are read, only rounding is left.
constexpr std::uint64_t rounding = 4;

}  // namespace

TEST_CASE(
    "a clock that follows the steady clock is within 4 ns of it at any constant speed, from its first reading on, so "
    "that a speed that is wrong by 0.01 % shows") {
  for (const std::int64_t parts_per_million : {-100'000, -500, -100, -1, 0, 1, 100, 500, 100'000}) {
    INFO("faster by ", parts_per_million, " ppm");
    simulation subject;
    subject.clocks.correct_speed(parts_per_million);
    for (int round = 0; round < 1'000; ++round) subject.read();  // 10 to 100 ns apart
    subject.read_for(1'000'000'000);
    CHECK(subject.judged.farthest() <= rounding);
    CHECK(subject.judged.backward() == 0);
    CHECK(subject.clock.uses_counter());
  }
}

TEST_CASE("a clock that follows the steady clock reads it about once a millisecond") {
  simulation subject;
  subject.read_for(20'000'000);
  subject.clocks.steady_cost = 0;
  subject.clocks.counter_cost = 0;
  const std::uint64_t before = subject.clocks.counter_reads;
  for (int reading = 0; reading < 1'000'000; ++reading) {
    subject.read();
    subject.clocks.pass(100);
  }
  const std::uint64_t steady_reads =
      subject.clocks.counter_reads - before - 1'000'000;  // each takes one reading of the counter
  CHECK(steady_reads <= 2 * 100);
  CHECK(steady_reads >= 2 * 90);
}

TEST_CASE(
    "a clock that follows the steady clock stays within 1 microsecond while the steady clock's speed is corrected by "
    "500 ppm") {
  simulation subject;
  subject.read_for(50'000'000);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t changed = round % 4 == 1 ? 500 : round % 4 == 3 ? -500 : 0;
    subject.clocks.correct_speed(changed);
    subject.read_for(30'000'000 + subject.random.below(3'000'000));
    CHECK(subject.judged.farthest() <= 1'000);
    subject.judged.forget_farthest();
    subject.read_for(10'000'000);
    CHECK(subject.judged.farthest() <= rounding);
  }
  CHECK(subject.judged.backward() == 0);
}

TEST_CASE(
    "a clock that follows the steady clock isn't misled by a thread that is stopped between reading the two clocks") {
  for (const std::uint64_t one_in : {4U, 50U}) {
    INFO("stopped after one reading in ", one_in);
    simulation subject;
    subject.clocks.after_reading = [&] {
      if (subject.random.below(one_in) == 0)
        subject.clocks.pass(subject.random.below(std::uint64_t{1} << subject.random.below(24)));
    };
    subject.read_for(3'000'000'000);
    CHECK(subject.judged.farthest() <= 1'000);
    CHECK(subject.judged.backward() == 0);
    CHECK(subject.clock.uses_counter());
  }
}

TEST_CASE("a clock that follows the steady clock is right at the first reading after any time without a call") {
  simulation subject;
  subject.read_for(50'000'000);
  for (std::uint64_t idle = 1'000; idle < 1'000'000'000'000; idle *= 3) {
    subject.clocks.correct_speed(idle % 2 == 0 ? 500 : -500);
    subject.clocks.pass(idle);
    subject.judged.forget_farthest();
    subject.read();
    INFO("after ", idle, " ns");
    CHECK(subject.judged.farthest() <= (idle < 1'000'000 ? 500 : rounding));
    subject.read_for(20'000'000);
  }
  CHECK(subject.judged.backward() == 0);
}

TEST_CASE(
    "a counter that jumps makes a clock that follows the steady clock wrong for 2 ms at most, and never lets it go "
    "backward") {
  constexpr std::uint64_t minute = 150'000'000'000;
  constexpr std::uint64_t piece = 2'500'000;
  // What is subtracted from the counter: it stood still, went on, began anew, or fell back by no more than the
  // counters of two processors may differ.
  for (const std::uint64_t jump : {minute, 0 - minute, std::uint64_t{9'900'000'000}, piece, 0 - piece,
                                   0 - std::uint64_t{60'000}, std::uint64_t{60'000}}) {
    for (const std::uint64_t before : {0U, 3'000U, 100'000U, 50'000'000U}) {  // also while the speed is still measured
      INFO("by ", jump, " ticks after ", before, " ns");
      simulation subject;
      subject.clocks.pass(2 * minute);
      subject.read();
      subject.read_for(before);
      subject.clocks.counter_offset += jump;
      subject.judged.forget_farthest();
      subject.read_for(2'000'000);
      CHECK(subject.judged.farthest() <= 1'000'000);
      subject.read_for(30'000'000);
      subject.judged.forget_farthest();
      subject.read_for(10'000'000);
      CHECK(subject.judged.farthest() <= rounding);
      if (jump != 60'000) CHECK(subject.judged.backward() == 0);  // less than a piece: not promised
      CHECK(subject.clock.uses_counter());
    }
  }
}

TEST_CASE("where the counter can't be used, a clock that follows the steady clock is the steady clock, and says so") {
  simulation without;
  without.clocks.has_one_speed = false;
  without.read_for(10'000'000);
  CHECK(without.judged.farthest() == 0);
  CHECK_FALSE(without.clock.uses_counter());

  simulation trapped;
  trapped.clocks.counter_cost = 5'000;  // two microseconds, as long as a hypervisor takes
  trapped.read_for(10'000'000);
  CHECK(trapped.judged.farthest() == 0);
  CHECK_FALSE(trapped.clock.uses_counter());

  simulation slow;
  slow.read_for(10'000'000);
  slow.clocks.steady_cost = 5'000;  // a system call
  slow.read_for(10'000'000);
  CHECK(slow.judged.farthest() <= 1'000);
  CHECK(slow.judged.backward() == 0);
  CHECK_FALSE(slow.clock.uses_counter());
}

TEST_CASE("a signal handler that reads the clock while its thread makes a piece does not wait for it") {
  for (const unsigned deepest : {1U, 3U, 7U, 8U, 20U}) {
    INFO(deepest, " handlers, each in the one before");
    simulation subject;
    std::uint64_t shown = 0;  // by handlers that returned: these readings happen-before what follows here
    unsigned depth = 0;
    bool is_backward = false;
    const auto interrupt = [&] {
      if (depth >= deepest || subject.random.below(4) == 0) return;
      ++depth;
      const std::uint64_t before = shown;
      const std::uint64_t found = subject.clock.now();
      is_backward = is_backward || found < before;
      shown = std::max(shown, found);
      --depth;
    };
    subject.clocks.after_reading = interrupt;
    interrupted_platform::while_owner = interrupt;
    for (int round = 0; round < 3'000; ++round) {
      const std::uint64_t before = shown;
      const std::uint64_t found = subject.read();
      is_backward = is_backward || found < before;
      shown = std::max(shown, found);
      subject.clocks.pass(subject.random.below(2'000'000));
    }
    interrupted_platform::while_owner = nullptr;
    CHECK_FALSE(is_backward);
    CHECK(subject.judged.backward() == 0);
    CHECK(subject.judged.farthest() <= 1'000);
  }
}

TEST_CASE(
    "where the owners of all slots never come back, a clock that follows the steady clock becomes the steady clock" *
    doctest::skip(!tidemark::native_platform::has_thread_fences)) {
  static std::jmp_buf left;  // leaves the clock as a signal handler does that does not return
  simulation subject;
  subject.read_for(50'000'000);
  interrupted_platform::while_owner = [] { std::longjmp(left, 1); };
  static int times = 0;
  for (static int round = 0; round < 20; ++round) {
    subject.clocks.pass(2'000'000);
    if (setjmp(left) == 0) {
      subject.read();
    } else {
      ++times;
    }
  }
  interrupted_platform::while_owner = nullptr;
  CHECK(times == 7);  // the eighth slot has the current piece
  subject.read_for(50'000'000);
  CHECK(subject.judged.farthest() <= rounding);
  CHECK(subject.judged.backward() == 0);
  CHECK_FALSE(subject.clock.uses_counter());
}

namespace {

/// Clocks for many threads: the counter goes on with each reading, and the steady clock is a function of it.
struct shared_source {
  std::atomic<std::uint64_t>* ticks = nullptr;

  std::uint64_t counter() const { return ticks->fetch_add(20) + 10; }
  std::uint64_t nanoseconds() const { return 1'000 + ticks->fetch_add(50) / 2 + wave(ticks->load()); }
  static bool has_one_speed() { return true; }

  /// Speeds from -400 to +400 ppm, in turn.
  static std::uint64_t wave(std::uint64_t time) {
    const std::uint64_t part = time % 20'000'000;
    return (part < 10'000'000 ? part : 20'000'000 - part) * 4 / 10'000;
  }
};

/// Pieces of 2 microseconds, so that they often end.
struct short_pieces : tidemark::detail::counter_clock_limits {
  static constexpr std::uint64_t longest_piece = 2'000;
  static constexpr std::uint64_t shortest_baseline = 500;
  static constexpr std::uint64_t long_baseline = 8'000;
  static constexpr std::uint64_t widest_bracket = 1'000'000;  // other threads move the time on
  static constexpr std::uint64_t most_skew = 64;
};

}  // namespace

TEST_CASE("[A103] among threads a clock that follows the steady clock never goes backward along happens-before") {
  std::atomic<std::uint64_t> ticks{1'000'000};
  tidemark::detail::counter_clock<shared_source, tidemark::native_platform, short_pieces> clock{shared_source{&ticks}};
  std::atomic<std::uint64_t> shown{0};
  std::atomic<std::uint64_t> backward{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int reading = 0; reading < 100'000; ++reading) {
        std::uint64_t before = shown.load();
        const std::uint64_t found = clock.now();
        if (found < before) ++backward;
        while (before < found && !shown.compare_exchange_weak(before, found)) {
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(backward == 0);
}

#if defined(__x86_64__)

namespace {

const std::uint64_t read_before_main = tidemark::tsc_log_clock::now();

struct followed {
  judge<std::uint64_t (*)()> judged{tidemark::steady_log_clock::now};
  std::uint64_t migrations = 0;
};

/// Reads the counter's clock beside the steady clock, while another thread reads it all the time. Every 10 ms this
/// thread sleeps, moves to the next processor, and makes a burst of readings that takes longer than a piece of the
/// clock's line.
followed follow_for(std::chrono::milliseconds duration) {
  using clock = tidemark::tsc_log_clock;
  followed result;
  std::atomic<bool> ends{false};
  std::uint64_t backward_elsewhere = 0;
  std::thread other{[&] {
    std::uint64_t last = 0;
    while (!ends) {
      for (int reading = 0; reading < 1'000; ++reading) {
        const std::uint64_t now = clock::now();
        if (now < last) ++backward_elsewhere;
        last = now;
      }
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
  }};
  const auto end = std::chrono::steady_clock::now() + duration;
  int processor = sched_getcpu();
  for (unsigned round = 0; std::chrono::steady_clock::now() < end; ++round) {
    const pinned here{round};
    std::this_thread::sleep_for(std::chrono::milliseconds{8});
    const int found = sched_getcpu();
    if (found != processor) ++result.migrations;
    processor = found;
    for (int reading = 0; reading < 1'000; ++reading) {
      result.judged.read([] { return clock::to_nanoseconds(clock::now()); });
      let_pass(2'000);
    }
  }
  ends = true;
  other.join();
  CHECK(backward_elsewhere == 0);
  return result;
}

void check_followed(std::chrono::milliseconds duration) {
  const followed result = follow_for(duration);
  MESSAGE("readings ", result.judged.readings(), ", migrations ", result.migrations, ", at most ",
          result.judged.farthest(), " ns apart, backward ", result.judged.backward(), " times, the counter is ",
          std::string{tidemark::tsc_log_clock::uses_counter() ? "used" : "not used"});
  CHECK(result.judged.farthest() <= 1'000);
  CHECK(result.judged.backward() == 0);
}

}  // namespace

TEST_CASE("the time-stamp counter's clock can be read before main()") {
  CHECK(read_before_main != 0);
  CHECK(read_before_main < tidemark::tsc_log_clock::now());
  CHECK(read_before_main <= tidemark::steady_log_clock::now());
}

TEST_CASE("the time-stamp counter's clock stays within 1 microsecond of the steady clock, and never goes backward") {
  check_followed(std::chrono::seconds{1});
}

// For a person or a longer run: `test_log_clock --no-skip --test-case="*for two minutes*"`.
TEST_CASE("the time-stamp counter's clock stays within 1 microsecond of the steady clock for two minutes" *
          doctest::skip()) {
  check_followed(std::chrono::seconds{120});
}

#endif
