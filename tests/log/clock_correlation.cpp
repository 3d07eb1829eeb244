// SPDX-License-Identifier: BSL-1.0
//
// clock_correlation: offset and rate of a clock, and that no time is farther from the true one than it states.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include <tidemark/log/clock_correlation.hpp>

#include "support/random.hpp"

using namespace testing;
using tidemark::clock_correlation;
using tidemark::correlated_reading;
using tidemark::correlated_time;

namespace {

/// A clock that is 1,000 ppm fast and began at another time.
constexpr std::uint64_t fast(std::uint64_t steady) { return 7'000'000'000 + steady + steady / 1000; }

/// The steady clock as an executor's, which is behind it by a second.
struct late_clock {
  static std::uint64_t now() noexcept { return tidemark::steady_log_clock::now() - 1'000'000'000; }
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) noexcept { return ticks; }
};

/// Returns how far a correlated time is from the true one.
std::uint64_t distance(const correlated_time& of, std::uint64_t steady) {
  return of.nanoseconds < steady ? steady - of.nanoseconds : of.nanoseconds - steady;
}

}  // namespace

TEST_CASE("[A130] two readings give offset and rate, and times between them are exact to the width of the readings") {
  clock_correlation clock{{.rate_ppm = 0, .wander_ppm = 0}};
  CHECK(clock.add({1'000'000, fast(1'000'100), 1'000'200}));
  CHECK(clock.rate() == 1.0);
  CHECK(clock.add({1'001'000'000, fast(1'001'000'050), 1'001'000'100}));
  CHECK(clock.rate() == doctest::Approx(1 / 1.001));
  CHECK(clock.offset() == static_cast<std::int64_t>(1'001'000'050 - fast(1'001'000'050)));
  for (std::uint64_t steady = 1'000'100; steady < 1'001'000'050; steady += 999'983) {
    const correlated_time found = clock.to_steady(fast(steady));
    CHECK(distance(found, steady) <= 3);
    CHECK(found.error >= 50);
    CHECK(found.error <= 102);
  }
}

TEST_CASE(
    "[A130] without a second reading a clock has the rate of the steady clock, and its error grows with the time") {
  clock_correlation clock{{.rate_ppm = 1'000, .wander_ppm = 0}};
  CHECK(clock.to_steady(5).error == UINT64_MAX);
  CHECK(clock.to_steady(5).nanoseconds == 5);
  REQUIRE(clock.add({2'000'000'000, fast(2'000'000'000), 2'000'000'000}));
  CHECK(clock.to_steady(0) == correlated_time{0, 0});
  for (const std::uint64_t steady : {1'000'000'000ULL, 2'000'000'000ULL, 2'000'001'000ULL, 3'000'000'000ULL}) {
    const correlated_time found = clock.to_steady(fast(steady));
    CHECK(distance(found, steady) <= found.error);
    CHECK(found.error <= 2 + 1'001'000);
  }
  CHECK(clock.to_steady(fast(2'000'000'000)).error == 2);
  CHECK(clock.to_steady(1).nanoseconds == 1);  // not before the beginning of the steady clock
}

TEST_CASE(
    "[A130] a time that the steady clock can't show becomes its first or its last one, and is never small again") {
  clock_correlation late;
  REQUIRE(late.add({UINT64_MAX - 10, 1'000, UINT64_MAX - 10}));
  CHECK(late.to_steady(1'005).nanoseconds == UINT64_MAX - 5);
  CHECK(late.to_steady(1'010).nanoseconds == UINT64_MAX);
  CHECK(late.to_steady(1'100).nanoseconds == UINT64_MAX);
  clock_correlation early;
  REQUIRE(early.add({10, 1'000, 10}));
  CHECK(early.to_steady(995).nanoseconds == 5);
  CHECK(early.to_steady(990).nanoseconds == 1);
  CHECK(early.to_steady(1).nanoseconds == 1);
  clock_correlation slow;
  REQUIRE(slow.add({1'000, 10, 1'000}));
  REQUIRE(slow.add({1'000'000'000'000'000, 11, 1'000'000'000'000'000}));
  CHECK(slow.to_steady(UINT64_MAX) == correlated_time{UINT64_MAX, UINT64_MAX});
  clock_correlation fresh;
  REQUIRE(fresh.add({5, UINT64_MAX, 5}));
  CHECK(fresh.to_steady(1) == correlated_time{1, UINT64_MAX});
}

TEST_CASE("[A130] a reading that is not later than the last one, or whose steady times fall, is not added") {
  clock_correlation clock;
  CHECK_FALSE(clock.add({10, 5, 9}));
  CHECK(clock.add({10, 5, 20}));
  CHECK_FALSE(clock.add({30, 5, 40}));
  CHECK_FALSE(clock.add({10, 6, 20}));
  CHECK(clock.add({10, 6, 22}));
  CHECK(clock.readings() == std::vector<correlated_reading>{{10, 5, 20}, {10, 6, 22}});
}

TEST_CASE("[A130] no time is farther from the true one than the stated error, whatever the readings and the rate") {
  for (int round = 0; round < 200; ++round) {
    random_numbers random{fresh_seed()};
    const double wander = static_cast<double>(random.below(50)) + 1;
    const double rate = 1 + (static_cast<double>(random.below(2'000)) - 1'000) * 1e-6;
    // The rate is fast by `wander` in one millisecond and slow by it in the next, so its mean stays what it is.
    const auto device = [&](std::uint64_t steady) {
      const auto in_period = static_cast<double>(steady % 2'000'000);
      const double swing = in_period < 1'000'000 ? in_period : 2'000'000 - in_period;
      return static_cast<std::uint64_t>(5e9 + static_cast<double>(steady) * rate + swing * wander * 1e-6);
    };
    // Twice the wander, because the mean between two readings may itself be off by it.
    clock_correlation clock{{.rate_ppm = 1'000 + wander, .wander_ppm = 2.1 * wander}};
    for (std::uint64_t steady = 1'000'000'000; steady < 1'020'000'000; steady += 500'000 + random.below(9'000'000)) {
      const std::uint64_t before = random.below(400);
      const std::uint64_t after = random.below(400);
      CHECK(clock.add({steady - before, device(steady), steady + after}));
    }
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t steady = 990'000'000 + random.below(50'000'000);
      const correlated_time found = clock.to_steady(device(steady));
      CHECK(distance(found, steady) <= found.error);
      CHECK(found.error < 1'000'000);
    }
  }
}

TEST_CASE("[A130] a clock is measured against the steady clock") {
  clock_correlation clock;
  REQUIRE(clock.measure<late_clock>());
  while (!clock.measure<late_clock>(1)) {
  }
  CHECK(clock.readings().size() == 2);
  const correlated_reading& last = clock.readings().back();
  CHECK(last.before <= last.time + 1'000'000'000);
  CHECK(last.time + 1'000'000'000 <= last.after);
  const auto width = static_cast<std::int64_t>(last.after - last.before);
  CHECK(std::llabs(clock.offset() - 1'000'000'000) <= width);
}
