// SPDX-License-Identifier: BSL-1.0
//
// Converts the limits of a wait: a duration or a time point becomes a deadline of the steady clock, and a stop token a
// callback that ends the wait.
#ifndef TIDEMARK_PLATFORM_TOOLS_LIMITS_HPP
#define TIDEMARK_PLATFORM_TOOLS_LIMITS_HPP

#include <chrono>
#include <cstdint>
#include <limits>
#include <version>

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

#include "../platform.hpp"

namespace tidemark::detail {

/// The token of a wait that nothing stops.
struct never_stops {
  template <class Callback>
  struct callback_type {
    callback_type(never_stops, const Callback&) noexcept {}
  };
  static constexpr bool stop_requested() noexcept { return false; }
};

template <class Token, class Callback>
struct stop_callback_for {
  using type = typename Token::template callback_type<Callback>;
};

#if defined(__cpp_lib_jthread)
template <class Callback>
struct stop_callback_for<std::stop_token, Callback> {
  using type = std::stop_callback<Callback>;
};
#endif

/// A deadline that has passed before any clock is read: a wait with it only looks and never sleeps.
inline constexpr deadline at_once = (deadline::min)();

/// Seconds, with a range in which no clock's range overflows. Long times are exact to the nanosecond only where a
/// long double is wider than a double, so this is for comparisons with limits alone.
using wide_seconds = std::chrono::duration<long double>;

/// Returns a positive duration that the clock can express in the clock's ticks, rounded up.
template <class Rep, class Period>
constexpr deadline::duration ticks(const std::chrono::duration<Rep, Period>& duration) noexcept {
  constexpr std::intmax_t per_second = deadline::period::den;
  static_assert(deadline::period::num == 1);
  // If a unit has a whole number of ticks, or a tick a whole number of units, the conversion is exact and never
  // overflows. Floating point must not be converted in its own precision: a `duration<float>` may come out
  // milliseconds short.
  constexpr bool is_multiple =
      per_second % Period::den == 0 && Period::num <= (std::numeric_limits<std::intmax_t>::max)() / per_second;
  constexpr bool is_fraction = Period::num == 1 && Period::den % per_second == 0;
  if constexpr (!std::chrono::treat_as_floating_point_v<Rep> && (is_multiple || is_fraction)) {
    return std::chrono::ceil<deadline::duration>(duration);
  } else {
    long double count;
    if constexpr (is_multiple || is_fraction) {
      count = std::chrono::duration<long double, deadline::period>{duration}.count();
    } else {
      count = wide_seconds{duration}.count() * static_cast<long double>(per_second);
    }
    using limits = std::numeric_limits<long double>;
    // Where neighbouring numbers are a quarter of a tick apart or more, take a greater one: this one may have been
    // rounded down.
    if (count >= 0.25L / limits::epsilon()) count += count * limits::epsilon();
    const auto whole = static_cast<deadline::rep>(count);
    return deadline::duration{whole} + deadline::duration{static_cast<long double>(whole) < count ? 1 : 0};
  }
}

/// Returns a duration in ticks of the clock, rounded up; `max()` if it is too long for the clock, and `min()` if it
/// is not positive or not a number.
template <class Rep, class Period>
constexpr deadline::duration clamped_ticks(const std::chrono::duration<Rep, Period>& duration) noexcept {
  if (!(duration > duration.zero())) return (deadline::duration::min)();
  // In floating point nothing overflows. A second to spare is more than rounding can lose.
  constexpr wide_seconds longest = wide_seconds{(deadline::duration::max)()} - wide_seconds{1};
  if (wide_seconds{duration} >= longest) return (deadline::duration::max)();
  return ticks(duration);
}

/// Returns the deadline that is `timeout` from now, rounded up; `no_deadline` if the clock can't express it, and
/// `at_once` if the timeout is not positive or not a number.
template <class Rep, class Period>
constexpr deadline deadline_after(const std::chrono::duration<Rep, Period>& timeout, deadline now) noexcept {
  const deadline::duration rest = clamped_ticks(timeout);
  if (rest == (deadline::duration::min)()) return at_once;
  return rest >= no_deadline - now ? no_deadline : now + rest;
}

/// Returns a point of the steady clock as a deadline, rounded up; `no_deadline` or `at_once` if the clock can't express
/// it.
template <class Duration>
constexpr deadline deadline_at(const std::chrono::time_point<std::chrono::steady_clock, Duration>& at) noexcept {
  return deadline{clamped_ticks(at.time_since_epoch())};
}

/// Returns the limit of a wait as a deadline: of a duration, or of a point of the steady or the system clock.
template <class Platform, class Rep, class Period>
deadline deadline_of(const std::chrono::duration<Rep, Period>& timeout) noexcept {
  return deadline_after(timeout, Platform::now());
}
template <class Platform, class Duration>
deadline deadline_of(const std::chrono::time_point<std::chrono::steady_clock, Duration>& at) noexcept {
  return deadline_at(at);
}
template <class Platform, class Duration>
deadline deadline_of(const std::chrono::time_point<std::chrono::system_clock, Duration>& at) noexcept {
  // In whole ticks, so that the difference is exact. A point before 1970 has passed.
  const deadline::duration end = clamped_ticks(at.time_since_epoch());
  const auto now = std::chrono::duration_cast<deadline::duration>(std::chrono::system_clock::now().time_since_epoch());
  if (end <= now) return at_once;
  return end == (end.max)() ? no_deadline : deadline_after(end - now, Platform::now());
}

/// Returns the next whole multiple of `interval` on the steady clock, whose time must not be below 0. Threads that look
/// again in each interval wake up together then, also in different processes, so a processor that rests is woken less
/// often.
constexpr deadline next_moment(deadline now, deadline::duration interval) noexcept {
  return deadline{(now.time_since_epoch() / interval + 1) * interval};
}

/// Returns the deadline, or `at_once` if it has passed.
template <class Platform>
deadline at_once_if_passed(deadline until) noexcept {
  return until != no_deadline && until <= Platform::now() ? at_once : until;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_TOOLS_LIMITS_HPP
