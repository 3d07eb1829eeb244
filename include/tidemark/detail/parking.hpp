// SPDX-License-Identifier: BSL-1.0
//
// Where a thread sleeps: on a 32-bit word, never on the 64-bit value (a futex compares 32 bits, and equality misses a
// value that was there only for a moment).
//
// `park(word, expected, deadline)` sleeps while the word is `expected`, and returns false only when the deadline has
// passed. It may return true for no reason. `unpark(word, count)` wakes up to `count` of those who sleep on the word. A
// changed word is never missed: between the comparison and the sleep no unpark() that follows a change can slip
// through.
//
// Linux has futexes for this. Elsewhere, and where TIDEMARK_FORCE_PORTABLE_PARKING is defined (to test it; the same way
// in every translation unit of a program), condition variables take their place.
#ifndef TIDEMARK_DETAIL_PARKING_HPP
#define TIDEMARK_DETAIL_PARKING_HPP

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

#include "native_atomic.hpp"
#include "native_primitives.hpp"

#if defined(__linux__) && !defined(TIDEMARK_FORCE_PORTABLE_PARKING)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#endif

#if defined(__linux__) && !defined(TIDEMARK_FORCE_PORTABLE_PARKING) && defined(SYS_futex)
#define TIDEMARK_HAS_FUTEX 1
#else
#define TIDEMARK_HAS_FUTEX 0
#endif

namespace tidemark {

/// A point of the steady clock; `forever` never comes.
using deadline = std::chrono::steady_clock::time_point;
inline constexpr deadline forever = deadline::max();

namespace detail {

#if TIDEMARK_HAS_FUTEX

struct futex_parking {
  /// Whether unpark() may be called from a signal handler, and in the child of a fork for those who slept before it.
  static constexpr bool wakes_without_lock = true;

  static bool park(native_atomic<std::uint32_t>& word, std::uint32_t expected, deadline until) noexcept {
    const int saved = errno;
    struct timespec at {};
    if (until != forever) {
      const auto since_epoch = until.time_since_epoch();
      const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
      if (seconds.count() < 0) return false;
      at.tv_sec = static_cast<std::time_t>(seconds.count());
      at.tv_nsec = static_cast<long>(std::chrono::nanoseconds{since_epoch - seconds}.count());
    }
    // WAIT_BITSET takes an absolute time of the monotonic clock, which is the steady clock here, so that a wake-up for
    // no reason can't stretch the wait.
    const long result = syscall(SYS_futex, &word.underlying(), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                until == forever ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
    const bool timed_out = result != 0 && errno == ETIMEDOUT;
    errno = saved;
    return !timed_out;
  }

  static void unpark(native_atomic<std::uint32_t>& word, std::uint32_t count) noexcept {
    constexpr auto most = static_cast<std::uint32_t>(std::numeric_limits<int>::max());
    const int saved = errno;
    syscall(SYS_futex, &word.underlying(), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count < most ? count : most, nullptr,
            nullptr, 0);
    errno = saved;
  }
};

#endif

/// With nothing but a mutex and a condition variable for each lot. Words may share a lot, so unpark() wakes all who sleep
/// there.
template <class Primitives>
struct lot_parking {
  static constexpr bool wakes_without_lock = false;

  using lot = typename Primitives::lot;
  using word_type = typename Primitives::template atomic<std::uint32_t>;

  static bool park(word_type& word, std::uint32_t expected, deadline until) noexcept {
    lot& there = Primitives::lot_of(word);
    std::unique_lock lock{there.guard};
    // (P1): relaxed, because the lock orders it: unpark() took the lock after the word had changed, or will take it
    // after this thread sleeps. Stronger alone buys nothing.
    if (word.load(std::memory_order_relaxed) != expected) return true;
    if (until != forever) return there.changed.wait_until(lock, until) == std::cv_status::no_timeout;
    there.changed.wait(lock);
    return true;
  }

  static void unpark(word_type& word, std::uint32_t) noexcept {
    lot& there = Primitives::lot_of(word);
    { const std::lock_guard lock{there.guard}; }
    there.changed.notify_all();
  }
};

#if TIDEMARK_HAS_FUTEX
using native_parking = futex_parking;
#else
using native_parking = lot_parking<native_primitives>;
#endif

}  // namespace detail
}  // namespace tidemark

#endif  // TIDEMARK_DETAIL_PARKING_HPP
