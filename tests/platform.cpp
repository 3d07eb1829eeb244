// SPDX-License-Identifier: BSL-1.0
//
// The platforms: words that are never torn, the double word, the two halves of the barrier, and parking.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/platform.hpp>

#include "support/counting_platform.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::forever;
using tidemark::versioned;

TYPE_TO_STRING_AS("native", tidemark::native_platform);
TYPE_TO_STRING_AS("symmetric", tidemark::symmetric_platform);
TYPE_TO_STRING_AS("portable", tidemark::portable_platform);
#define EVERY_PLATFORM tidemark::native_platform, tidemark::symmetric_platform, tidemark::portable_platform

namespace {

constexpr auto seq_cst = std::memory_order_seq_cst;
constexpr auto relaxed = std::memory_order_relaxed;

template <class Platform, class Word>
concept parks_on = requires(Word& word) {
  Platform::park(word, 0, forever);
};

}  // namespace

// ---- words ---------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A11] a 64-bit word is written and read whole", Platform, EVERY_PLATFORM) {
  using word = typename Platform::template atomic<std::uint64_t>;
  static_assert(sizeof(word) == 8 && alignof(word) == 8);
  constexpr std::uint64_t high = 0x0000'0001'0000'0000;
  constexpr std::uint64_t low = 0x0000'0000'FFFF'FFFF;
  word value{low};
  std::atomic<bool> done{false};
  std::thread writer{[&] {
    for (int i = 0; i < 300'000; ++i) {
      value.store(high, relaxed);
      value.store(low, relaxed);
    }
    done = true;
  }};
  std::uint64_t mixed = 0;
  while (!done) {
    const auto seen = value.load(relaxed);
    if (seen != high && seen != low) ++mixed;
  }
  writer.join();
  CHECK(mixed == 0);
}

TEST_CASE_TEMPLATE("an atomic does what its names say", Platform, EVERY_PLATFORM) {
  typename Platform::template atomic<std::uint64_t> word{5};
  CHECK(word.exchange(6, seq_cst) == 5);
  CHECK(word.fetch_add(4, seq_cst) == 6);
  CHECK(word.fetch_sub(2, seq_cst) == 10);
  CHECK(word.fetch_or(1, seq_cst) == 8);
  CHECK(word.fetch_and(3, seq_cst) == 9);
  std::uint64_t expected = 7;
  CHECK_FALSE(word.compare_exchange_strong(expected, 2, seq_cst, relaxed));
  CHECK(expected == 1);
  CHECK(word.compare_exchange_strong(expected, 2, seq_cst, relaxed));
  word.store(word.load(seq_cst) + 1, seq_cst);
  CHECK(word.load(seq_cst) == 3);
  CHECK(typename Platform::template atomic<std::uint32_t>{}.load(seq_cst) == 0);
  typename Platform::template var<int> field{3};
  field.store(field.load() + 1);
  CHECK(field.load() == 4);
}

TEST_CASE_TEMPLATE("a double word is exchanged only if both halves are the expected ones", Platform, EVERY_PLATFORM) {
  typename Platform::double_word word{7};
  static_assert(sizeof word == 16 || !Platform::double_word::is_always_lock_free);
  static_assert(alignof(typename Platform::double_word) == 16);
  CHECK(word.load(seq_cst) == versioned{7, 0});

  versioned expected{7, 1};
  CHECK_FALSE(word.compare_exchange_strong(expected, {8, 2}, seq_cst, relaxed));
  CHECK(expected == versioned{7, 0});
  expected = {6, 0};
  CHECK_FALSE(word.compare_exchange_strong(expected, {8, 1}, seq_cst, relaxed));
  CHECK(expected == versioned{7, 0});
  CHECK(word.compare_exchange_strong(expected, {UINT64_MAX, 1}, seq_cst, relaxed));
  CHECK(word.load_value(seq_cst) == UINT64_MAX);
  CHECK(word.load_version(seq_cst) == 1);

  int failures = 0;  // it never fails for no reason
  for (std::uint64_t version = 1; version <= 100'000; ++version) {
    expected = word.load(seq_cst);
    if (!word.compare_exchange_strong(expected, {version, version + 1}, seq_cst, relaxed)) ++failures;
  }
  CHECK(failures == 0);
  CHECK(word.load(seq_cst) == versioned{100'000, 100'001});
}

TEST_CASE_TEMPLATE("[A11] what a double word's exchange has compared was never half of one pair and half of another",
                   Platform, EVERY_PLATFORM) {
  typename Platform::double_word word{0};
  constexpr std::uint64_t last = 400'000;
  std::atomic<std::uint64_t> mismatched{0};
  std::atomic<std::uint64_t> succeeded{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (auto seen = word.load(seq_cst); seen.version < last;) {
        // `seen` may be torn here, but then this exchange fails and brings what is really there.
        const bool exchanged = word.compare_exchange_strong(seen, {seen.value + 3, seen.version + 1}, seq_cst, relaxed);
        if (exchanged) ++succeeded;
        if (!exchanged && seen.value != 3 * seen.version) ++mismatched;
        if (seen.version % 16 == 0) seen = word.load(seq_cst);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(mismatched == 0);
  CHECK(word.load(seq_cst) == versioned{3 * succeeded, succeeded});
  CHECK(succeeded >= last);
}

TEST_CASE("a platform says whether its double word is lock-free") {
  static_assert(!tidemark::portable_platform::double_word::is_always_lock_free);
  static_assert(tidemark::native_platform::double_word::is_always_lock_free ==
                tidemark::symmetric_platform::double_word::is_always_lock_free);
#if (defined(__x86_64__) || defined(__aarch64__)) && !TIDEMARK_HAS_TSAN
  CHECK(tidemark::native_platform::double_word::is_always_lock_free);
#else
  CHECK_FALSE(tidemark::native_platform::double_word::is_always_lock_free);
#endif
}

// ---- barriers ------------------------------------------------------------------------------------------------------

TEST_CASE("[A34] the symmetric forms have nothing to issue, and the native one says what it has") {
  static_assert(!tidemark::symmetric_platform::asymmetric && !tidemark::portable_platform::asymmetric);
  CHECK(tidemark::symmetric_platform::heavy_barrier_available());
  CHECK(tidemark::symmetric_platform::heavy_barrier());
  CHECK(tidemark::portable_platform::heavy_barrier());
  errno = 77;
  const bool ordered = tidemark::native_platform::heavy_barrier();
  const int error = errno;
  CHECK(ordered == tidemark::native_platform::heavy_barrier_available());
  CHECK(error == 77);
  if (!tidemark::native_platform::heavy_barrier_available()) MESSAGE("the system refuses membarrier");
}

TEST_CASE_TEMPLATE("[A30][A31][A34] of two who write and then read, at least one sees the other's write", Platform,
                   EVERY_PLATFORM) {
  // The signaller's side as in fence.hpp, S1 to S3, against the waiter's, W1 to W3.
  constexpr auto frequent_store = Platform::asymmetric ? std::memory_order_release : seq_cst;
  constexpr auto frequent_load = Platform::asymmetric ? relaxed : seq_cst;
  typename Platform::template atomic<std::uint64_t> value;
  typename Platform::template atomic<std::uint64_t> registered;
  std::atomic<std::uint64_t> round{0};
  std::atomic<std::uint64_t> finished{0};
  std::uint64_t frequent_saw = 0;
  std::uint64_t rare_saw = 0;
  std::thread frequent{[&] {
    for (std::uint64_t mine = 1;; ++mine) {
      await([&] { return round >= mine; });
      if (round == UINT64_MAX) return;
      value.store(mine, frequent_store);
      Platform::light_barrier();
      frequent_saw = registered.load(frequent_load);
      finished = mine;
    }
  }};
  repetitions races{200'000};
  std::uint64_t both_missed = 0;
  while (races.goes_on()) {
    const auto mine = races.done();
    round = mine;
    for (std::uint64_t delay = mine % 32; delay > 0; --delay) Platform::pause();
    registered.exchange(mine, seq_cst);
    const bool ordered = Platform::heavy_barrier();
    rare_saw = value.load(seq_cst);
    await([&] { return finished == mine; });
    if (ordered && frequent_saw != mine && rare_saw != mine) ++both_missed;
  }
  round = UINT64_MAX;
  frequent.join();
  MESSAGE(races.done() << " races");
  CHECK(both_missed == 0);
}

// ---- parking -------------------------------------------------------------------------------------------------------

TEST_CASE("[trap 8] a platform parks on 32-bit words only") {
  using tidemark::native_platform;
  using tidemark::portable_platform;
  static_assert(parks_on<native_platform, native_platform::atomic<std::uint32_t>>);
  static_assert(!parks_on<native_platform, native_platform::atomic<std::uint64_t>>);
  static_assert(parks_on<portable_platform, portable_platform::atomic<std::uint32_t>>);
  static_assert(!parks_on<portable_platform, portable_platform::atomic<std::uint64_t>>);
  CHECK(sizeof(native_platform::atomic<std::uint32_t>) == 4);
}

TEST_CASE_TEMPLATE("park returns at once when the word is another, and false only when its time has passed", Platform,
                   EVERY_PLATFORM) {
  typename Platform::template atomic<std::uint32_t> word{1};
  CHECK(Platform::park(word, 0, forever));
  for (const auto timeout : {0ns, 1ns, 999'999ns, 2'000'000ns}) {
    const auto until = Platform::now() + timeout;
    while (Platform::park(word, 1, until)) {
    }
    CHECK(Platform::now() >= until);
  }
  CHECK_FALSE(Platform::park(word, 1, tidemark::deadline{}));
  CHECK_FALSE(Platform::park(word, 1, tidemark::deadline{} - 1ns));
  CHECK_FALSE(Platform::park(word, 1, tidemark::deadline{} - 24h));
  errno = 77;
  Platform::park(word, 0, forever);
  Platform::park(word, 1, Platform::now());
  Platform::unpark(word, 1);  // nobody is there
  const int error = errno;
  CHECK(error == 77);
}

TEST_CASE_TEMPLATE("unpark wakes who sleeps on the word, one or all", Platform, EVERY_PLATFORM) {
  using counted = counting_platform<Platform>;
  typename Platform::template atomic<std::uint32_t> word{0};
  const watchdog dog{[&] { return "word " + std::to_string(word.load(seq_cst)); }};
  const auto sleep = [&] {
    while (word.load(seq_cst) == 0) counted::park(word, 0, forever);
  };
  background first{sleep};
  background second{sleep};
  CHECK(first.falls_asleep());
  CHECK(second.falls_asleep());
  word.store(1, seq_cst);
  counted::unpark(word, 1);
  await([&] { return first.has_returned() || second.has_returned(); });
  counted::unpark(word, 1);
  first.join();
  second.join();

  word.store(0, seq_cst);
  std::array<background, 3> all{background{sleep}, background{sleep}, background{sleep}};
  for (auto& one : all) CHECK(one.falls_asleep());
  word.store(1, seq_cst);
  counted::unpark(word, UINT32_MAX);
}

TEST_CASE_TEMPLATE("a word that changes before the sleep begins is never missed", Platform, EVERY_PLATFORM) {
  typename Platform::template atomic<std::uint32_t> word{0};
  const watchdog dog{[&] { return "word " + std::to_string(word.load(seq_cst)); }};
  constexpr std::uint32_t last = 4'000;  // even: the turn of the first, odd: that of the second
  const auto play = [&word](std::uint32_t mine) {
    for (;;) {
      const auto seen = word.load(seq_cst);
      if (seen >= last) return;
      if (seen % 2 == mine) {
        word.store(seen + 1, seq_cst);
        Platform::unpark(word, 1);
      } else {
        Platform::park(word, seen, forever);
      }
    }
  };
  std::thread second{[&] { play(1); }};
  play(0);
  second.join();
  CHECK(word.load(seq_cst) == last);
}
