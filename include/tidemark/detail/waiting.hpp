// SPDX-License-Identifier: BSL-1.0
//
// What every object that can be waited on offers: the public wait functions, written once, in terms of one `wait_status
// Derived::wait_with(target, deadline, stop_token)`; and how durations, time points and stop tokens, the limits of a
// wait, become a deadline and a token.
#ifndef TIDEMARK_DETAIL_WAITING_HPP
#define TIDEMARK_DETAIL_WAITING_HPP

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <version>

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

#include "parking.hpp"

namespace tidemark {

/// How a wait ended.
enum class [[nodiscard]] wait_status{
    reached,  ///< The awaited value was reached, and all that its signaller did before is visible.
    timeout,  ///< The deadline passed first; never early.
    stopped,  ///< The stop token was triggered first.
    lost,     ///< The timeline was poisoned below the awaited value, which will not be reached any more.
};

/// What may stop a wait: std::stop_token, or any type of the same shape that names its own `callback_type<F>`.
template <class Token>
concept stop_token_like = std::copyable<Token> && requires(const Token& token) {
  { token.stop_requested() } -> std::convertible_to<bool>;
};

namespace detail {

/// The token of a wait that nobody stops.
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

/// A deadline that has passed before any clock is read: look once, never sleep.
inline constexpr deadline at_once = deadline::min();

/// Seconds, wide enough that no clock's range overflows. Exact to the nanosecond for long only where a long double is
/// wider than a double: for comparisons with limits alone.
using wide_seconds = std::chrono::duration<long double>;

/// A positive duration that the clock can express, in its ticks, rounded up.
template <class Rep, class Period>
constexpr deadline::duration ticks(const std::chrono::duration<Rep, Period>& duration) noexcept {
  constexpr std::intmax_t per_second = deadline::period::den;
  static_assert(deadline::period::num == 1);
  // A whole number of ticks in each unit, or of units in each tick: exact, and nothing overflows. What comes as floating
  // point does not come here: in its own precision the conversion of a `duration<float>` may be milliseconds short.
  constexpr bool is_multiple =
      per_second % Period::den == 0 && Period::num <= std::numeric_limits<std::intmax_t>::max() / per_second;
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
    // Where neighbouring numbers are a quarter of a tick apart or more, a greater one: this may have been rounded down.
    if (count >= 0.25L / limits::epsilon()) count += count * limits::epsilon();
    const auto whole = static_cast<deadline::rep>(count);
    return deadline::duration{whole} + deadline::duration{static_cast<long double>(whole) < count ? 1 : 0};
  }
}

/// In ticks of the clock, rounded up. What is too long for the clock is `max()`, what is not positive (or not a number)
/// is `min()`.
template <class Rep, class Period>
constexpr deadline::duration clamped_ticks(const std::chrono::duration<Rep, Period>& duration) noexcept {
  if (!(duration > duration.zero())) return deadline::duration::min();
  // In floating point nothing overflows; a second to spare is more than is rounded away.
  constexpr wide_seconds longest = wide_seconds{deadline::duration::max()} - wide_seconds{1};
  if (wide_seconds{duration} >= longest) return deadline::duration::max();
  return ticks(duration);
}

/// The deadline `timeout` from now, rounded up; what the clock can't express is `forever`, what is not positive (or not
/// a number) is `at_once`.
template <class Rep, class Period>
constexpr deadline deadline_after(const std::chrono::duration<Rep, Period>& timeout, deadline now) noexcept {
  const deadline::duration rest = clamped_ticks(timeout);
  if (rest == deadline::duration::min()) return at_once;
  return rest >= forever - now ? forever : now + rest;
}

/// A steady time point as a deadline, rounded up; what the clock can't express is `forever` or `at_once`.
template <class Duration>
constexpr deadline deadline_at(const std::chrono::time_point<std::chrono::steady_clock, Duration>& at) noexcept {
  return deadline{clamped_ticks(at.time_since_epoch())};
}

// within<Platform>(wait, limits...) calls `wait(deadline, token)`, whose result can be compared with a
// wait_status. The limits are a duration, a point of the steady or the system clock, or nothing; then a token, or nothing.

template <class Platform, class Wait>
auto within(const Wait& wait) noexcept {
  return wait(forever, never_stops{});
}
template <class Platform, class Wait, stop_token_like Token>
auto within(const Wait& wait, Token token) noexcept {
  return wait(forever, std::move(token));
}
template <class Platform, class Wait, class Rep, class Period, stop_token_like Token = never_stops>
auto within(const Wait& wait, const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
  return wait(deadline_after(timeout, Platform::now()), std::move(token));
}
template <class Platform, class Wait, class Duration, stop_token_like Token = never_stops>
auto within(const Wait& wait, const std::chrono::time_point<std::chrono::steady_clock, Duration>& at,
            Token token = {}) noexcept {
  return wait(deadline_at(at), std::move(token));
}
/// Changes of the system clock while waiting are noticed at the end: never early, late if it is set back.
template <class Platform, class Wait, class Duration, stop_token_like Token = never_stops>
auto within(const Wait& wait, const std::chrono::time_point<std::chrono::system_clock, Duration>& at,
            Token token = {}) noexcept {
  // Whole ticks, so that the difference is exact. A point in the time before 1970 has passed.
  const deadline::duration end = clamped_ticks(at.time_since_epoch());
  for (;;) {
    const auto now =
        std::chrono::duration_cast<deadline::duration>(std::chrono::system_clock::now().time_since_epoch());
    const bool has_passed = end <= now;
    deadline until = at_once;
    if (!has_passed) until = end == end.max() ? forever : deadline_after(end - now, Platform::now());
    const auto result = wait(until, token);
    if (has_passed || !(result == wait_status::timeout)) return result;
  }
}

/// The wait functions of `Derived`. All are blocking, all may be called from any thread, none allocates or throws.
///
/// Each waits until the timeline has reached `target`. A target of 0 is reached at once (A123); UINT64_MAX is a legal
/// target. What the signaller did before it signalled the target, or a later value, happens before the return with
/// `reached`.
template <class Derived>
class waitable {
 public:
  /// Waits for ever. Returns `reached`, or `lost` once the timeline is poisoned.
  wait_status wait(std::uint64_t target) const noexcept { return wait_within(target); }

  /// Waits until `token` is triggered at most. Returns `reached`, `stopped` or `lost`. A stop that comes together with
  /// the awaited value loses.
  template <stop_token_like Token>
  wait_status wait(std::uint64_t target, Token token) const noexcept {
    return wait_within(target, std::move(token));
  }

  /// Waits for `timeout` at most. Zero or less looks once and does not sleep; a timeout that the clock can't express
  /// waits for ever. Returns `reached`, `timeout` or `lost`.
  template <class Rep, class Period>
  wait_status wait_for(std::uint64_t target, const std::chrono::duration<Rep, Period>& timeout) const noexcept {
    return wait_within(target, timeout);
  }

  /// The same, or until `token` is triggered.
  template <class Rep, class Period, stop_token_like Token>
  wait_status wait_for(std::uint64_t target, const std::chrono::duration<Rep, Period>& timeout,
                       Token token) const noexcept {
    return wait_within(target, timeout, std::move(token));
  }

  /// Waits until a point of the steady or the system clock at most. A point in the past looks once. Changes of the
  /// system clock while waiting are noticed at the end: never early, late if it is set back. Returns `reached`,
  /// `timeout` or `lost`.
  template <class Clock, class Duration>
  wait_status wait_until(std::uint64_t target, const std::chrono::time_point<Clock, Duration>& at) const noexcept {
    return wait_within(target, at);
  }

  /// The same, or until `token` is triggered.
  template <class Clock, class Duration, stop_token_like Token>
  wait_status wait_until(std::uint64_t target, const std::chrono::time_point<Clock, Duration>& at,
                         Token token) const noexcept {
    return wait_within(target, at, std::move(token));
  }

 protected:
  waitable() = default;
  ~waitable() = default;

 private:
  template <class... Limits>
  wait_status wait_within(std::uint64_t target, const Limits&... limits) const noexcept {
    const auto wait = [&](deadline until, auto token) {
      return static_cast<const Derived&>(*this).wait_with(target, until, std::move(token));
    };
    return within<typename Derived::platform>(wait, limits...);
  }
};

}  // namespace detail
}  // namespace tidemark

#endif  // TIDEMARK_DETAIL_WAITING_HPP
