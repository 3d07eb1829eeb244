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
// `park_any(places, deadline)` sleeps while each of up to `max_parking_places` words is what it is expected to be. Where
// the system can't do that (Linux before 5.16, sandboxes, other systems), it sleeps on the first and wakes for no reason
// within a millisecond.
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
#include <optional>
#include <span>

#include "native_atomic.hpp"
#include "native_primitives.hpp"

#if defined(__linux__) && !defined(TIDEMARK_FORCE_PORTABLE_PARKING)
#include <linux/futex.h>
#include <linux/time_types.h>
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
#if TIDEMARK_HAS_FUTEX && defined(SYS_futex_waitv) && defined(FUTEX_32)
#define TIDEMARK_HAS_FUTEX_WAITV 1
#else
#define TIDEMARK_HAS_FUTEX_WAITV 0
#endif

namespace tidemark {

/// A point of the steady clock; `forever` never comes.
using deadline = std::chrono::steady_clock::time_point;
inline constexpr deadline forever = deadline::max();

/// A word to sleep on, and what it is expected to be.
template <class Word>
struct parking_place {
  Word* word;
  std::uint32_t expected;
};
inline constexpr std::size_t max_parking_places = 64;

namespace detail {

/// For who may have missed a wake-up: a millisecond from now, or the deadline if that comes first.
inline deadline look_again_before(deadline until, deadline now) noexcept {
  const deadline soon = now + std::chrono::milliseconds{1};
  return until < soon ? until : soon;
}

/// park_any() of who can sleep on one word only.
template <class Parking, class Word>
bool park_on_first(std::span<const parking_place<Word>> places, deadline until) noexcept {
  if (places.size() == 1) return Parking::park(*places[0].word, places[0].expected, until);
  const deadline soon = look_again_before(until, std::chrono::steady_clock::now());
  return Parking::park(*places[0].word, places[0].expected, soon) || soon != until;
}

#if TIDEMARK_HAS_FUTEX

struct futex_parking {
  /// Whether unpark() may be called from a signal handler, and in the child of a fork for those who slept before it.
  static constexpr bool wakes_without_lock = true;

  using word_type = native_atomic<std::uint32_t>;

  static bool park(word_type& word, std::uint32_t expected, deadline until) noexcept {
    const int saved = errno;
    struct timespec at {};
    if (!to_kernel(until, at)) return false;
    // WAIT_BITSET takes an absolute time of the monotonic clock, which is the steady clock here, so that a wake-up for
    // no reason can't stretch the wait.
    const long result = syscall(SYS_futex, &word.underlying(), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                until == forever ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
    const bool timed_out = result != 0 && errno == ETIMEDOUT;
    errno = saved;
    return !timed_out;
  }

  static bool park_any(std::span<const parking_place<word_type>> places, deadline until) noexcept {
#if TIDEMARK_HAS_FUTEX_WAITV
    if (places.size() > 1) {
      if (const std::optional<bool> woken = park_on_all(places, until)) return *woken;
    }
#endif
    return park_on_first<futex_parking>(places, until);
  }

  static void unpark(word_type& word, std::uint32_t count) noexcept {
    constexpr auto most = static_cast<std::uint32_t>(std::numeric_limits<int>::max());
    const int saved = errno;
    syscall(SYS_futex, &word.underlying(), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count < most ? count : most, nullptr,
            nullptr, 0);
    errno = saved;
  }

 private:
  /// False for a time that has passed before the clock began.
  template <class Time>
  static bool to_kernel(deadline until, Time& at) noexcept {
    if (until == forever) return true;
    const auto since_epoch = until.time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
    if (seconds.count() < 0) return false;
    at.tv_sec = static_cast<decltype(at.tv_sec)>(seconds.count());
    at.tv_nsec = static_cast<decltype(at.tv_nsec)>(std::chrono::nanoseconds{since_epoch - seconds}.count());
    return true;
  }

#if TIDEMARK_HAS_FUTEX_WAITV
  /// Nothing where the system refuses.
  static std::optional<bool> park_on_all(std::span<const parking_place<word_type>> places, deadline until) noexcept {
    const int saved = errno;
    struct __kernel_timespec at {};
    if (!to_kernel(until, at)) return false;
    struct futex_waitv waiters[max_parking_places];
    for (std::size_t i = 0; i < places.size(); ++i) {
      waiters[i] = {places[i].expected, reinterpret_cast<std::uintptr_t>(&places[i].word->underlying()),
                    FUTEX_32 | FUTEX_PRIVATE_FLAG, 0};
    }
    const long result = syscall(SYS_futex_waitv, waiters, static_cast<unsigned>(places.size()), 0U,
                                until == forever ? nullptr : &at, CLOCK_MONOTONIC);
    const int error = result >= 0 ? 0 : errno;
    errno = saved;
    if (error == 0 || error == EAGAIN || error == EINTR) return true;  // woken; already changed; for no reason
    if (error == ETIMEDOUT) return false;
    return {};
  }
#endif
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

  static bool park_any(std::span<const parking_place<word_type>> places, deadline until) noexcept {
    return park_on_first<lot_parking>(places, until);
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
