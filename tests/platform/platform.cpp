// SPDX-License-Identifier: BSL-1.0
//
// The platforms: words that are never torn, the double word, the two halves of the barrier, and parking.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/platform/platform.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/counting_platform.hpp"
#include "support/pinned.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::no_deadline;
using tidemark::versioned;

TYPE_TO_STRING_AS("native", tidemark::native_platform);
TYPE_TO_STRING_AS("symmetric", tidemark::symmetric_platform);
TYPE_TO_STRING_AS("portable", tidemark::portable_platform);
#define EVERY_PLATFORM tidemark::native_platform, tidemark::symmetric_platform, tidemark::portable_platform

namespace {

constexpr auto seq_cst = std::memory_order_seq_cst;
constexpr auto relaxed = std::memory_order_relaxed;

template <class Platform, class Word>
concept parks_on = requires(Word& word) { Platform::park(word, 0, no_deadline); };

}  // namespace

// ---- words ---------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A11] a 64-bit word is never torn", Platform, EVERY_PLATFORM) {
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

TEST_CASE_TEMPLATE("an atomic does what its functions are named after", Platform, EVERY_PLATFORM) {
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

TEST_CASE_TEMPLATE("a double word is exchanged only if both halves are as expected", Platform, EVERY_PLATFORM) {
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

  int failures = 0;  // which never occur for no reason
  for (std::uint64_t version = 1; version <= 100'000; ++version) {
    expected = word.load(seq_cst);
    if (!word.compare_exchange_strong(expected, {version, version + 1}, seq_cst, relaxed)) ++failures;
  }
  CHECK(failures == 0);
  CHECK(word.load(seq_cst) == versioned{100'000, 100'001});
}

namespace {

/// Compilers address the variables of such a function by a register of their choice, which must not be the exchange's.
template <class Word>
[[gnu::noinline]] bool exchanges_beside_moving_memory(Word& word, std::size_t bytes, versioned expected,
                                                      versioned desired) {
  alignas(64) volatile unsigned char aligned[64] = {};
  auto* const moving = static_cast<volatile unsigned char*>(__builtin_alloca(bytes));
  aligned[63] = 1;
  moving[bytes - 1] = 2;
  const bool is_exchanged = word.compare_exchange_strong(expected, desired, seq_cst, relaxed);
  return is_exchanged && aligned[63] == 1 && moving[bytes - 1] == 2;
}

}  // namespace

TEST_CASE_TEMPLATE("an exchange keeps the variables of its caller, wherever they lie", Platform, EVERY_PLATFORM) {
  typename Platform::double_word word{7};
  CHECK(exchanges_beside_moving_memory(word, 100, {7, 0}, {UINT64_MAX, 1}));
  CHECK(exchanges_beside_moving_memory(word, 200, {UINT64_MAX, 1}, {8, 2}));
  CHECK(word.load(seq_cst) == versioned{8, 2});
}

TEST_CASE_TEMPLATE("[A11] an exchange never compares half of one pair and half of another", Platform, EVERY_PLATFORM) {
  typename Platform::double_word word{0};
  constexpr std::uint64_t last = 400'000;
  // On AArch64 ldaxp is guaranteed to read both halves at once only if the stlxp after it succeeds.
#if defined(__aarch64__)
  constexpr bool failure_brings_one_pair = !Platform::double_word::is_always_lock_free;
#else
  constexpr bool failure_brings_one_pair = true;
#endif
  const auto is_torn = [](const versioned& pair) { return pair.value != 3 * pair.version; };
  std::atomic<std::uint64_t> torn_successes{0};
  std::atomic<std::uint64_t> torn_failures{0};
  std::atomic<std::uint64_t> succeeded{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (auto seen = word.load(seq_cst); seen.version < last;) {
        // `seen` may be torn here. This exchange fails then, and loads the pair that is there.
        const versioned compared = seen;
        const bool exchanged = word.compare_exchange_strong(seen, {seen.value + 3, seen.version + 1}, seq_cst, relaxed);
        if (exchanged) ++succeeded;
        if (exchanged && is_torn(compared)) ++torn_successes;
        if (!exchanged && is_torn(seen)) ++torn_failures;
        if (seen.version % 16 == 0) seen = word.load(seq_cst);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(torn_successes == 0);
  if (failure_brings_one_pair) CHECK(torn_failures == 0);
  CHECK(word.load(seq_cst) == versioned{3 * succeeded, succeeded});
  CHECK(succeeded >= last);
}

TEST_CASE_TEMPLATE("is_below() and is_at_most() compare a double word's value with a bound, for every memory order",
                   Platform, EVERY_PLATFORM) {
  constexpr std::uint64_t high = std::uint64_t{1} << 63;
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{41}, high - 1, high, UINT64_MAX}) {
    const typename Platform::double_word word{value};
    for (const std::uint64_t bound : {std::uint64_t{0}, std::uint64_t{41}, std::uint64_t{42}, high, UINT64_MAX}) {
      CHECK(word.is_below(bound, relaxed) == (value < bound));
      CHECK(word.is_below(bound, seq_cst) == (value < bound));
      CHECK(word.is_at_most(bound, relaxed) == (value <= bound));
      CHECK(word.is_at_most(bound, seq_cst) == (value <= bound));
    }
  }
}

TEST_CASE("a platform says whether its double word is lock-free") {
  static_assert(!tidemark::portable_platform::double_word::is_always_lock_free);
  static_assert(!tidemark::portable_platform::is_async_signal_safe);
  static_assert(!tidemark::native_platform::is_async_signal_safe ||
                tidemark::native_platform::double_word::is_always_lock_free);
  static_assert(tidemark::native_platform::double_word::is_always_lock_free ==
                tidemark::symmetric_platform::double_word::is_always_lock_free);
#if (defined(__x86_64__) || defined(__aarch64__)) && !TIDEMARK_HAS_TSAN && !defined(TIDEMARK_FORCE_LOCKED_DOUBLE_WORD)
  CHECK(tidemark::native_platform::double_word::is_always_lock_free);
#else
  CHECK_FALSE(tidemark::native_platform::double_word::is_always_lock_free);
#endif
}

// ---- barriers ------------------------------------------------------------------------------------------------------

TEST_CASE("[A34] the symmetric forms have no barrier to issue, and the native form says whether it has one") {
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

namespace {

/// A signaller's s1 to s3 against a waiter's w1 to w3 (fence.hpp), each on a processor of its own, and each word on a
/// cache line of its own. The frequent side has the word that it will read in its cache, as a signaller has. So its
/// read is over long before its write has left the processor, unless a barrier holds it back.
template <class Platform>
class store_load_race {
 public:
  store_load_race() : frequent_{[this] { write_often(); }} {}
  ~store_load_race() {
    round_.store(UINT64_MAX, seq_cst);
    frequent_.join();
  }
  store_load_race(const store_load_race&) = delete;
  store_load_race& operator=(const store_load_race&) = delete;

  /// Returns false if neither side has seen the other's write although the platform has a barrier.
  bool run(std::uint64_t mine) {
    round_.store(mine, seq_cst);
    linger(mine % 64 * 4);
    registered_.exchange(mine, seq_cst);
    const bool is_ordered = Platform::heavy_barrier();
    const auto seen = value_.load(seq_cst);
    await_soon([&] { return finished_.load(seq_cst) == mine; });
    return !is_ordered || seen == mine || frequent_saw_ == mine;
  }

 private:
  struct alignas(tidemark::cache_line) word : Platform::template atomic<std::uint64_t> {};
  static constexpr auto store_order = Platform::asymmetric ? std::memory_order_release : seq_cst;
  static constexpr auto load_order = Platform::asymmetric ? relaxed : seq_cst;

  static void linger(std::uint64_t moments) {
    for (std::uint64_t i = 0; i < moments; ++i) std::atomic_signal_fence(seq_cst);
  }

  void write_often() {
    const pinned elsewhere{1};
    for (std::uint64_t mine = 1;; ++mine) {
      await_soon([&] { return round_.load(seq_cst) >= mine; });
      if (round_.load(seq_cst) == UINT64_MAX) return;
      static_cast<void>(registered_.load(relaxed));
      linger(mine / 64 % 64);
      if constexpr (Platform::asymmetric) {
        value_.store(mine, store_order);
      } else {
        value_.exchange(mine, store_order);
      }
      Platform::light_barrier();
      frequent_saw_ = registered_.load(load_order);
      finished_.store(mine, seq_cst);
    }
  }

  word round_;
  word value_;
  word registered_;
  word finished_;
  std::uint64_t frequent_saw_ = 0;
  std::thread frequent_;
};

}  // namespace

TEST_CASE_TEMPLATE("[A30][A31][A34] of two threads that write and then read, at least one sees the other's write",
                   Platform, EVERY_PLATFORM) {
  // Without the heavy barrier the native form fails in about one of 200 races on x86-64.
  const pinned here{0};
  store_load_race<Platform> race;
  repetitions races{500'000};
  std::uint64_t both_missed = 0;
  while (races.goes_on()) both_missed += race.run(races.done()) ? 0U : 1U;
  MESSAGE(races.done() << " races");
  CHECK(both_missed == 0);
}

// ---- parking -------------------------------------------------------------------------------------------------------

TEST_CASE("[trap 8] a platform parks on 32-bit words only") {
  using tidemark::native_platform;
  using tidemark::portable_platform;
  static_assert(parks_on<native_platform, native_platform::park_word>);
  static_assert(!parks_on<native_platform, native_platform::atomic<std::uint64_t>>);
  static_assert(parks_on<portable_platform, portable_platform::park_word>);
  static_assert(!parks_on<portable_platform, portable_platform::atomic<std::uint32_t>>);
  static_assert(!parks_on<portable_platform, portable_platform::atomic<std::uint64_t>>);
#if TIDEMARK_HAS_FUTEX
  static_assert(std::is_same_v<native_platform::park_word, native_platform::atomic<std::uint32_t>>);
#endif
  CHECK(sizeof(native_platform::atomic<std::uint32_t>) == 4);
}

TEST_CASE_TEMPLATE("park returns at once if the word has another value, and false only when its deadline has passed",
                   Platform, EVERY_PLATFORM) {
  typename Platform::park_word word{1};
  CHECK(Platform::park(word, 0, no_deadline));
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
  Platform::park(word, 0, no_deadline);
  Platform::park(word, 1, Platform::now());
  Platform::unpark(word, 1);  // no thread sleeps there
  const int error = errno;
  CHECK(error == 77);
}

TEST_CASE_TEMPLATE("unpark wakes one thread or all threads that sleep on the word", Platform, EVERY_PLATFORM) {
  using counted = counting_platform<Platform>;
  typename Platform::park_word word{0};
  const watchdog dog{[&] { return "word " + std::to_string(word.load(seq_cst)); }};
  const auto sleep = [&] {
    while (word.load(seq_cst) == 0) counted::park(word, 0, no_deadline);
  };
  background first{sleep};
  background second{sleep};
  CHECK(first.falls_asleep());
  CHECK(second.falls_asleep());
  await([&] { return counted::unpark(word, 1); });  // it says that it has woken one, which sleeps again
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
  for (auto& one : all) one.join();
  CHECK_FALSE(counted::unpark(word, 1));  // nobody sleeps there any more
}

TEST_CASE_TEMPLATE("who wakes the sleepers of a word does not touch the word", Platform, EVERY_PLATFORM) {
  using word_type = typename Platform::park_word;
  alignas(word_type) std::array<std::byte, sizeof(word_type)> memory{};
  const auto end_life = [&](word_type* word) {
    word->~word_type();
    memory.fill(std::byte{0xff});
  };
  word_type* word = ::new (memory.data()) word_type{1};
  const typename Platform::sleepers those{*word};
  word->store(0, seq_cst);
  end_life(word);
  CHECK_FALSE(Platform::unpark(those, 1));

  // Another word in the same place: its sleepers may wake, and are not lost.
  using counted = counting_platform<Platform>;
  word = ::new (memory.data()) word_type{0};
  background sleeper{[&] {
    while (word->load(seq_cst) == 0) counted::park(*word, 0, no_deadline);
  }};
  CHECK(sleeper.falls_asleep());
  Platform::unpark(those, 1);
  word->store(1, seq_cst);
  Platform::unpark(*word, 1);
  sleeper.join();
  end_life(word);
}

TEST_CASE_TEMPLATE("a word that changes before the sleep begins is never missed", Platform, EVERY_PLATFORM) {
  typename Platform::park_word word{0};
  const watchdog dog{[&] { return "word " + std::to_string(word.load(seq_cst)); }};
  constexpr std::uint32_t last = 4'000;  // even: the first thread's turn, odd: the second one's
  const auto play = [&word](std::uint32_t mine) {
    for (;;) {
      const auto seen = word.load(seq_cst);
      if (seen >= last) return;
      if (seen % 2 == mine) {
        word.store(seen + 1, seq_cst);
        Platform::unpark(word, 1);
      } else {
        Platform::park(word, seen, no_deadline);
      }
    }
  };
  std::thread second{[&] { play(1); }};
  play(0);
  second.join();
  CHECK(word.load(seq_cst) == last);
}

TEST_CASE_TEMPLATE("a sleep with a distant deadline lasts until the wake-up", Platform, EVERY_PLATFORM) {
  // Beyond 2^31 and 2^32 seconds, which a 32-bit time_t can't hold, and up to the end of the clock.
  using std::chrono::seconds;
  using counted = counting_platform<Platform>;
  const auto now = Platform::now();
  for (const auto until : {now + 2h, now + seconds{INT32_MAX}, tidemark::deadline{seconds{std::int64_t{1} << 32} + 1ms},
                           tidemark::deadline{seconds{std::int64_t{3} << 31}}, no_deadline - 10s, no_deadline - 1ns}) {
    typename Platform::park_word word{0};
    const watchdog dog{[&] { return "word " + std::to_string(word.load(seq_cst)); }};
    bool ended_by_time = false;
    background sleeper{[&] {
      while (word.load(seq_cst) == 0 && !ended_by_time) ended_by_time = !counted::park(word, 0, until);
    }};
    CHECK(sleeper.falls_asleep());
    word.store(1, seq_cst);
    counted::unpark(word, 1);
    sleeper.join();
    CHECK_FALSE(ended_by_time);
  }
}

TEST_CASE_TEMPLATE("a sleep leaves errno as it was, however it ends", Platform, EVERY_PLATFORM) {
  using word_type = typename Platform::park_word;
  word_type first{1};
  const auto keeps_errno = [](const auto& call) {
    errno = 77;
    call();
    return errno == 77;
  };
  CHECK(keeps_errno([&] { Platform::park(first, 0, no_deadline); }));
  CHECK(keeps_errno([&] { Platform::park(first, 1, Platform::now() - 1ms); }));
  CHECK(keeps_errno([&] { Platform::park(first, 1, Platform::now() + 1ms); }));
  CHECK(keeps_errno([&] { Platform::park(first, 1, tidemark::deadline::min()); }));
  CHECK(keeps_errno([&] { Platform::unpark(first, 1); }));
}

// ---- threads -------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("a thread is told from all others that run", Platform, EVERY_PLATFORM) {
  using identity = decltype(Platform::current_thread());
  const identity mine = Platform::current_thread();
  identity of_other{};
  std::thread other{[&] { of_other = Platform::current_thread(); }};
  other.join();
  CHECK(mine == Platform::current_thread());
  CHECK_FALSE(mine == of_other);
  CHECK_FALSE(mine == identity{});
  CHECK_FALSE(of_other == identity{});
}
