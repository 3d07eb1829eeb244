// SPDX-License-Identifier: BSL-1.0
//
// The logs of a queue: their page byte for byte, the clocks, the order of time stamps, and the worked example of a wait
// on one queue for a signal of another.
#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/fence.hpp>
#include <tidemark/fence_log.hpp>

#include "support/pinned.hpp"
#include "support/random.hpp"
#include "support/simulated_clocks.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_log;
using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::fence_operation;
using tidemark::timestamp_order;
using tidemark::timestamp_verdict;

// ---- the page ------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t header_bytes = 40;
constexpr std::size_t entry_bytes = 48;
constexpr std::size_t entries = 84;
using image = std::array<unsigned char, header_bytes + entries * entry_bytes>;

template <class Value>
void put(image& page, std::size_t offset, Value value) {
  std::memcpy(page.data() + offset, &value, sizeof value);
}

fence_log_entry entry_of(std::uint64_t sequence) {
  fence_log_entry made;
  made.fence_value = 0x1111'0000'0000'0000 + sequence;
  made.fence = 0x2222'0000 + static_cast<std::uint32_t>(sequence);
  made.operation = sequence % 2 == 0 ? fence_operation::signal_executed : fence_operation::wait_unblocked;
  made.observed_timestamp = 0x3333'0000'0000'0000 + sequence;
  made.reserved = 0x4444'0000'0000'0000 + sequence;
  made.end_timestamp = 0x5555'0000'0000'0000 + sequence;
  return made;
}

/// What the page must be after `appended` entries, byte for byte, written down without the library's own types.
image expected_page(std::uint32_t type, std::uint64_t appended) {
  image page{};
  put(page, 0, static_cast<std::uint32_t>(appended % entries));
  put(page, 4, static_cast<std::uint32_t>(appended / entries));
  put(page, 8, type);
  put(page, 16, std::uint64_t{entries});
  for (std::uint64_t sequence = 0; sequence < appended; ++sequence) {
    const auto at = static_cast<std::size_t>(header_bytes + sequence % entries * entry_bytes);
    put(page, at, 0x1111'0000'0000'0000 + sequence);
    put(page, at + 8, static_cast<std::uint32_t>(0x2222'0000 + sequence));
    put(page, at + 12, static_cast<std::uint32_t>(sequence % 2));
    put(page, at + 16, sequence + 1);
    put(page, at + 24, 0x3333'0000'0000'0000 + sequence);
    put(page, at + 32, 0x4444'0000'0000'0000 + sequence);
    put(page, at + 40, 0x5555'0000'0000'0000 + sequence);
  }
  return page;
}

image page_of(const fence_log& log) {
  image page{};
  std::memcpy(page.data(), &log.page(), page.size());
  put(page, 12, std::uint32_t{0});  // belongs to nobody
  return page;
}

}  // namespace

TEST_CASE(
    "[A81][A84] a log of a queue is a page of 4,096 bytes: 40 of header, 84 entries of 48 bytes, each field in "
    "its place") {
  static_assert(sizeof(fence_log::page_type) == 4096);
  static_assert(sizeof(fence_log_entry) == entry_bytes);
  static_assert(std::is_trivially_copyable_v<fence_log_entry>);
  for (const auto type : {fence_log_type::waits, fence_log_type::signals}) {
    fence_log log{static_cast<std::uint32_t>(type)};
    std::uint64_t appended = 0;
    for (const std::uint64_t next : std::array<std::uint64_t, 7>{0, 1, 2, 83, 84, 85, 1000}) {
      for (; appended < next; ++appended) log.append(entry_of(appended));
      INFO("after ", appended, " entries");
      CHECK(page_of(log) == expected_page(static_cast<std::uint32_t>(type), appended));
    }
  }
}

TEST_CASE("[A81] waits are of type 1 and signals of type 2, signals are operation 0 and waits operation 1") {
  static_assert(static_cast<std::uint32_t>(fence_log_type::waits) == 1);
  static_assert(static_cast<std::uint32_t>(fence_log_type::signals) == 2);
  static_assert(static_cast<std::uint32_t>(fence_operation::signal_executed) == 0);
  static_assert(static_cast<std::uint32_t>(fence_operation::wait_unblocked) == 1);
  const fence_log log{static_cast<std::uint32_t>(fence_log_type::signals)};
  CHECK(log.page().type() == 2);
  CHECK(log.page().entries() == 84);
}

TEST_CASE("[A84][A98] all 84 entries of the page can be read, and each has its number plus 1 as its stamp") {
  fence_log log;
  auto reader = log.reader();
  for (std::uint64_t sequence = 0; sequence < 100; ++sequence) log.append(entry_of(sequence));
  std::array<fence_log_entry, 100> buffer;
  const auto batch = reader.read(buffer);
  CHECK(batch.lost == 16);
  CHECK(batch.first_sequence == 16);
  REQUIRE(batch.entries.size() == 84);
  for (std::uint64_t sequence = 16; const auto& found : batch.entries) {
    fence_log_entry expected = entry_of(sequence++);
    expected.stamp = sequence;
    CHECK(std::memcmp(&found, &expected, sizeof found) == 0);
  }
}

// ---- the worked example --------------------------------------------------------------------------------------------

TEST_CASE("[A86][A87][A91] queue A waits for a value that queue B signals: both logs tell when, on a common clock") {
  using clock = tidemark::steady_log_clock;
  constexpr std::uint32_t name = 7;
  constexpr std::uint64_t value = 5;
  tidemark::fence fence{value - 1};
  const watchdog dog = watch(fence);
  fence_log waits_of_a{static_cast<std::uint32_t>(fence_log_type::waits)};
  fence_log signals_of_b{static_cast<std::uint32_t>(fence_log_type::signals)};
  const std::uint64_t recorded = clock::now();
  std::atomic<bool> stalled{false};
  std::thread queue_a{[&] {
    const std::uint64_t observed = clock::now();
    stalled = true;
    CHECK(fence.wait(value) == tidemark::wait_status::reached);
    waits_of_a.append({value, name, fence_operation::wait_unblocked, 0, observed, 0, clock::now()});
  }};
  await([&] { return stalled.load(); });
  const std::uint64_t executed = clock::now();
  fence.signal(value);
  signals_of_b.append({value, name, fence_operation::signal_executed, 0, 0, 0, executed});
  queue_a.join();

  std::array<fence_log_entry, 2> buffer;
  auto of_a = waits_of_a.reader();
  REQUIRE(of_a.read(buffer).entries.size() == 1);
  const fence_log_entry wait = buffer[0];
  auto of_b = signals_of_b.reader();
  REQUIRE(of_b.read(buffer).entries.size() == 1);
  const fence_log_entry signal = buffer[0];
  for (const auto& each : {wait, signal}) {
    CHECK(each.fence == name);
    CHECK(each.fence_value == value);
  }
  CHECK(wait.operation == fence_operation::wait_unblocked);
  CHECK(signal.operation == fence_operation::signal_executed);
  CHECK(recorded <= wait.observed_timestamp);
  CHECK(wait.observed_timestamp <= signal.end_timestamp);
  CHECK(signal.end_timestamp <= wait.end_timestamp);
  CHECK(signal.observed_timestamp == 0);
}

// ---- clocks --------------------------------------------------------------------------------------------------------

namespace {

/// Lets the steady clock go on, however long that takes.
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
  timestamp_order order;
  CHECK(order.check(tidemark::no_log_clock::now()) == timestamp_verdict::not_recorded);
}

TEST_CASE("the steady clock of a log shows std::chrono::steady_clock's nanoseconds, and nothing beside them") {
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

TEST_CASE("[A91] the clock that logs have by default is the one that programs stamp what they queue with") {
  static_assert(std::is_same_v<tidemark::default_log_clock, tidemark::steady_log_clock>);
}

// ---- a clock that follows the steady clock by a counter ------------------------------------------------------------

namespace {

/// The native one, with something that happens to a thread while it owns a slot. ThreadSanitizer's platform has no fence,
/// and there nothing happens.
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
  random_numbers random{7};  // the same each time: the limits below are those of the arithmetic, not of luck

  std::uint64_t read() {
    return judged.read([this] { return clock.now(); });
  }
  /// Reads the clock for so long, at all distances from some nanoseconds to three pieces.
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
      subject.clocks.counter_reads - before - 1'000'000;  // each goes with a reading of the counter
  CHECK(steady_reads <= 2 * 100);
  CHECK(steady_reads >= 2 * 90);
}

TEST_CASE(
    "a clock that follows the steady clock stays within 1 microsecond when that one's speed is corrected by 500 ppm") {
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

TEST_CASE("a clock that follows the steady clock isn't misled where a thread is stopped between the two clocks") {
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

TEST_CASE("a clock that follows the steady clock is right at once after any time without a call") {
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
    "a counter that jumps makes a clock that follows the steady clock wrong for 2 ms at most, and never go backward") {
  constexpr std::uint64_t minute = 150'000'000'000;
  constexpr std::uint64_t piece = 2'500'000;
  // Subtracted from the counter: it stood still, went on, began anew, or fell back by no more than processors may differ.
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
    std::uint64_t shown = 0;  // by handlers that have returned: they happen-before what follows on this thread
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
    "where owners never come back to their slots, a clock that follows the steady clock becomes the steady clock" *
    doctest::skip(!tidemark::native_platform::has_thread_fences)) {
  static std::jmp_buf left;  // as by a signal handler that does not return
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
  CHECK(times == 7);  // one slot more has the piece
  subject.read_for(50'000'000);
  CHECK(subject.judged.farthest() <= rounding);
  CHECK(subject.judged.backward() == 0);
  CHECK_FALSE(subject.clock.uses_counter());
}

namespace {

/// Clocks for many threads: the counter goes on with each reading, the steady clock is its function.
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

/// Pieces of 2 microseconds, so that they end all the time.
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

/// Reads the counter's clock beside the steady clock: every 10 ms, each time on the next processor and after a sleep, a
/// burst of readings that goes on for longer than a piece of its line; while another thread reads it all the time.
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

// For a person or a longer run: `test_fence_log --no-skip --test-case="*for two minutes*"`.
TEST_CASE("the time-stamp counter's clock stays within 1 microsecond of the steady clock for two minutes" *
          doctest::skip()) {
  check_followed(std::chrono::seconds{120});
}

#endif

// ---- the order of time stamps --------------------------------------------------------------------------------------

namespace {

constexpr auto in_order = timestamp_verdict::in_order;
constexpr auto not_recorded = timestamp_verdict::not_recorded;
constexpr auto backward = timestamp_verdict::backward;

std::vector<timestamp_verdict> verdicts_on(const std::vector<std::uint64_t>& timestamps) {
  timestamp_order order;
  std::vector<timestamp_verdict> found;
  for (const std::uint64_t each : timestamps) found.push_back(order.check(each));
  return found;
}

}  // namespace

TEST_CASE("[A103] time stamps may rise or stay") {
  CHECK(verdicts_on({1, 2, 2, 2, 7, UINT64_MAX, UINT64_MAX}) == std::vector(7, in_order));
}

TEST_CASE("[A103][A104][trap 21] a zero is no step back, nor what the next is measured by") {
  CHECK(verdicts_on({5, 0, 6}) == std::vector{in_order, not_recorded, in_order});
  CHECK(verdicts_on({5, 0, 5}) == std::vector{in_order, not_recorded, in_order});
  CHECK(verdicts_on({5, 0, 0, 4}) == std::vector{in_order, not_recorded, not_recorded, backward});
}

TEST_CASE("[A104] a zero may come first, and all may be zero") {
  CHECK(verdicts_on({0, 1, 2}) == std::vector{not_recorded, in_order, in_order});
  CHECK(verdicts_on({0, 0, 0}) == std::vector(3, not_recorded));
}

TEST_CASE("[A105][trap 21] a step back is seen across a zero, and is reported once") {
  CHECK(verdicts_on({5, 0, 4}) == std::vector{in_order, not_recorded, backward});
  CHECK(verdicts_on({5, 0, 4, 4, 5}) == std::vector{in_order, not_recorded, backward, in_order, in_order});
  CHECK(verdicts_on({5, 4, 3, 6}) == std::vector{in_order, backward, backward, in_order});
}
