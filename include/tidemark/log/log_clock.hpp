// SPDX-License-Identifier: BSL-1.0
//
// The clocks that stamp the entries of a log.
//
//   steady_log_clock   the steady clock itself. Readings are in the order of happens-before, among all threads. The
//                      default
//   tsc_log_clock      costs less than half, and stays within 1 microsecond of the steady clock; see its comment for
//                      what it does not promise
//   no_log_clock       no time at all
//
// A clock has ticks of its own, which to_nanoseconds() turns into nanoseconds. 0 is no time on any clock. The first two
// have the nanosecond as their tick and share one time line. So both may stand in one trace, beside what others stamp
// with std::chrono::steady_clock.
#ifndef TIDEMARK_LOG_LOG_CLOCK_HPP
#define TIDEMARK_LOG_LOG_CLOCK_HPP

#include <concepts>
#include <cstdint>

#include "detail/tsc_clock.hpp"

namespace tidemark {

/// What a queue asks of the clock that stamps its entries. Any thread may call both functions. now() returns ticks of
/// the clock, never UINT64_MAX, and must not throw; to_nanoseconds() turns ticks into nanoseconds.
template <class Clock>
concept log_clock = requires(std::uint64_t ticks) {
  { Clock::now() } noexcept -> std::same_as<std::uint64_t>;
  { Clock::to_nanoseconds(ticks) } -> std::same_as<std::uint64_t>;
};

/// std::chrono::steady_clock, in nanoseconds. Progress: as that of std::chrono::steady_clock::now().
struct steady_log_clock {
  static std::uint64_t now() noexcept { return detail::steady_nanoseconds(); }
  static std::uint64_t to_nanoseconds(std::uint64_t nanoseconds) noexcept { return nanoseconds; }
};

/// No time at all: now() returns 0, so each entry says "not known". to_nanoseconds() returns what it is given.
struct no_log_clock {
  static std::uint64_t now() noexcept { return 0; }
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) noexcept { return ticks; }
};

#if defined(__x86_64__)

inline namespace TIDEMARK_CONFIGURATION {

/// The time-stamp counter of x86-64. Other machines do not have this clock. It is kept in step with steady_log_clock:
/// once a millisecond a call reads both. It stays within 1 microsecond of that clock while NTP changes its speed by at
/// most 500 ppm; log/detail/tsc_clock.hpp adds this up. The counter jumps when the machine was suspended or moved. The
/// clock may be wrong then for about 1 millisecond. It does not recognize a jump of less than 8 microseconds, which may
/// show for up to 10 milliseconds. From the first call on, and again after each jump, the clock measures the counter's
/// speed for 8 milliseconds. If the counter jumps during these 8 milliseconds, the clock may be wrong for up to about a
/// quarter of a second.
///
/// Readings of one thread never go backward, unless the counter itself steps back by about a millisecond or less. (It
/// recognizes a larger step back, and begins anew where it was.) Two more things are not promised; steady_log_clock
/// promises both:
///
///   - Order between threads. A processor may read the counter before earlier loads have completed. So a reading may be
///     smaller than one of another thread that happens-before it, by as long as such a load takes (100 ns were seen).
///   - That a reading is exactly the steady clock's. What is stamped with both clocks may appear up to 1 microsecond
///     out of order.
///
/// A shared library that hides its symbols has a clock of its own. Each of them is as exact as said above. But readings
/// that one thread takes in two libraries may go backward, by at most 2 microseconds.
struct tsc_log_clock {
  /// Progress: lock-free. Any thread may call it, also in a signal handler and before main().
  static std::uint64_t now() noexcept { return detail::process_tsc_clock.now(); }
  static std::uint64_t to_nanoseconds(std::uint64_t nanoseconds) noexcept { return nanoseconds; }

  /// Returns false once this clock has become the steady clock for ever; true before, also while it still measures the
  /// counter's speed. It becomes the steady clock if the counter does not run at one speed, if the two clocks could not
  /// be read closely enough together, or if several threads were stopped at once while they compared the clocks. False
  /// stays false in this process; true may become false. Any thread may call it. Progress: lock-free; it calls now().
  [[nodiscard]] static bool uses_counter() noexcept { return detail::process_tsc_clock.uses_counter(); }
};

}  // namespace TIDEMARK_CONFIGURATION

#endif

/// Signals must not appear executed before they were queued, so the default is the clock whose readings are ordered.
using default_log_clock = steady_log_clock;

}  // namespace tidemark

#endif  // TIDEMARK_LOG_LOG_CLOCK_HPP
