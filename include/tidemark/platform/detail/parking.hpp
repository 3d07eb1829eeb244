// SPDX-License-Identifier: BSL-1.0
//
// Parking: how threads sleep. A thread sleeps on a 32-bit word, never on the 64-bit value, because a futex compares
// 32 bits, and because a test for equality would miss a value that was there only for a moment.
//
// `park(word, expected, deadline)` sleeps while the word has the value `expected`. It returns false only when the
// deadline has passed, and it may return true for no reason. `unpark(sleepers, count)` wakes up to `count` threads that
// sleep on the word, and returns false if it has woken none. A change of the word is never missed: if a thread changes
// the word and then calls unpark(), the sleeper either sees the change or is woken.
//
// The change may let another thread destroy the word. So `sleepers` are made before it, and unpark() does not touch the
// word. If another word has the same address by then, its sleepers may wake for no reason.
//
// On Linux these are futexes. Where a sandbox refuses them, park() sleeps for a millisecond at most and returns as if
// it was woken for no reason: the deadline holds, and a change is noticed a millisecond late. Condition variables
// (lot_parking.hpp) replace them on other systems, and where TIDEMARK_FORCE_PORTABLE_PARKING is defined, for tests.
//
// No function here changes errno or is a cancellation point of pthread_cancel().
//
// Futexes of the usual kind are private to one process. Those of shared_parking are not: a thread of any process that
// has mapped the word can wake, also one that may only read it, and each process may have the word at its own address.
//
// Not promised: wake-ups between processes with native_parking. Nor wake-ups where a sandbox begins to refuse futexes
// after other threads have gone to sleep, or refuses them to some threads of a process only: a thread that sleeps in
// the kernel then is not woken.
#ifndef TIDEMARK_PLATFORM_DETAIL_PARKING_HPP
#define TIDEMARK_PLATFORM_DETAIL_PARKING_HPP

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>

#include "configuration.hpp"
#include "native_parts.hpp"

#if TIDEMARK_HAS_FUTEX
#include <linux/futex.h>
#include <linux/types.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#else
#include "lot_parking.hpp"
#endif

namespace tidemark::detail {

/// After what time a thread must look again that may have missed a wake-up.
inline constexpr steady_time::duration look_interval = std::chrono::milliseconds{1};

/// Returns when a thread must look again that may have missed a wake-up: after the interval, or at its deadline if that
/// comes first.
inline steady_time look_again_before(steady_time until, steady_time now,
                                     steady_time::duration interval = look_interval) noexcept {
  const steady_time soon = now + interval;
  return until < soon ? until : soon;
}

#if TIDEMARK_HAS_FUTEX

/// A time as a system call takes it: with 64 bits (`__kernel_timespec`, which the headers of older systems lack), or
/// with the bits of the machine, however many `time_t` has.
template <class Integer>
struct kernel_time {
  Integer seconds;
  Integer nanoseconds;
};

/// How a system call that sleeps has ended.
enum class sleep_end {
  woken,      ///< By unpark(), because the word had another value, or for no reason.
  timed_out,  ///< The deadline has passed.
  refused,    ///< The thread did not sleep, or the sleep could not last until the deadline.
};

/// Whose threads sleep on a word.
enum class futex_scope {
  process,  ///< Those of one process. The kernel finds the word by its address.
  machine,  ///< Those of any process that has mapped the word. The kernel finds it by its page, which costs a little.
};

template <futex_scope Scope>
struct basic_futex_parking {
  /// Whether a thread can wake the threads of other processes that sleep on the same word.
  static constexpr bool wakes_other_processes = Scope == futex_scope::machine;
  /// Whether unpark() may be called from a signal handler, and park() and unpark() in the child of a fork while other
  /// threads of the parent slept, on any word.
  static constexpr bool wakes_without_lock = true;

  using park_word = native_atomic<std::uint32_t>;

  /// Of the word there is only the address.
  class sleepers {
   public:
    sleepers(park_word& word) noexcept : word_{&word.underlying()} {}

   private:
    friend basic_futex_parking;
    std::atomic<std::uint32_t>* word_;
  };

  static bool park(park_word& word, std::uint32_t expected, steady_time until) noexcept {
    const errno_keeper kept;
    sleep_end end = sleep_end::refused;
#if defined(SYS_futex_time64)
    end = sleep_on<std::int64_t>(SYS_futex_time64, word, expected, until);
#endif
#if defined(SYS_futex)
    if (end == sleep_end::refused) end = sleep_on<__kernel_long_t>(SYS_futex, word, expected, until);
#endif
    return end == sleep_end::refused ? doze(until) : end == sleep_end::woken;
  }

  static bool unpark(sleepers those, std::uint32_t count) noexcept {
    return wake(FUTEX_WAKE | scope_flag, those, count);
  }
  /// Wakes operations of an io_uring. They sleep without the private flag: Linux 6.18 does not find one with it that
  /// began before the process had a second thread.
  static bool unpark_operations(sleepers those, std::uint32_t count) noexcept { return wake(FUTEX_WAKE, those, count); }

 private:
  static constexpr int scope_flag = Scope == futex_scope::process ? FUTEX_PRIVATE_FLAG : 0;

  static bool wake(int what, sleepers those, std::uint32_t count) noexcept {
    constexpr auto most = static_cast<std::uint32_t>((std::numeric_limits<int>::max)());
    const errno_keeper kept;
#if defined(SYS_futex)
    constexpr long call = SYS_futex;
#else
    constexpr long call = SYS_futex_time64;
#endif
    return syscall(call, those.word_, what, count < most ? count : most, nullptr, nullptr, 0) > 0;
  }

  /// Converts a deadline that is not `no_deadline`. The kernel refuses a time before its clock began, and a time that
  /// `Integer` can't hold is cut.
  template <class Integer>
  static kernel_time<Integer> to_kernel(steady_time until) noexcept {
    const auto since_epoch = std::chrono::nanoseconds{until.time_since_epoch()};
    if (since_epoch.count() < 0) return {0, 0};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
    constexpr Integer most = (std::numeric_limits<Integer>::max)();
    if (seconds.count() > most) return {most, 0};
    return {static_cast<Integer>(seconds.count()), static_cast<Integer>((since_epoch - seconds).count())};
  }

  /// Reads errno. If the deadline was cut, it has not passed yet when the kernel says that it has.
  template <class Integer>
  static sleep_end end_of(long result, steady_time until) noexcept {
    if (result >= 0) return sleep_end::woken;
    const int error = thread_errno();
    if (error == EAGAIN || error == EINTR) return sleep_end::woken;
    if (error != ETIMEDOUT) return sleep_end::refused;
    const bool is_cut = std::chrono::floor<std::chrono::seconds>(until.time_since_epoch()).count() >
                        (std::numeric_limits<Integer>::max)();
    return is_cut ? sleep_end::refused : sleep_end::timed_out;
  }

  /// Makes the system call `call`, which takes its time as a kernel_time<Integer>.
  template <class Integer>
  static sleep_end sleep_on(long call, park_word& word, std::uint32_t expected, steady_time until) noexcept {
    kernel_time<Integer> at{};
    if (until != no_deadline) at = to_kernel<Integer>(until);
    // WAIT_BITSET takes an absolute time of the monotonic clock, which is the steady clock here. So a wake-up for no
    // reason can't make the wait longer.
    const long result = syscall(call, &word.underlying(), FUTEX_WAIT_BITSET | scope_flag, expected,
                                until == no_deadline ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
    return end_of<Integer>(result, until);
  }

  /// Sleeps where futexes are refused. Nothing can wake this thread, so it sleeps for a millisecond at most, and its
  /// caller looks again.
  static bool doze(steady_time until) noexcept {
    const steady_time now = std::chrono::steady_clock::now();
    if (until <= now) return false;
    const cancellation_delay delayed;
    std::this_thread::sleep_for(look_again_before(until, now) - now);
    return std::chrono::steady_clock::now() < until;
  }
};

using futex_parking = basic_futex_parking<futex_scope::process>;
/// For words that several processes have mapped.
using shared_parking = basic_futex_parking<futex_scope::machine>;

#endif

#if TIDEMARK_HAS_FUTEX
using native_parking = futex_parking;
#else
using native_parking = lot_parking<native_lots>;
#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_PARKING_HPP
