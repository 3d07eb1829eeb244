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

/// Seconds, wide enough that no clock's range overflows and no nanosecond is rounded away.
using wide_seconds = std::chrono::duration<long double>;

/// In ticks of the clock, rounded up. Floating-point durations go through the wide form: in their own precision the
/// conversion of a `duration<float>` may come out milliseconds short.
template <class Rep, class Period>
deadline::duration ticks(const std::chrono::duration<Rep, Period>& duration) noexcept {
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    return std::chrono::ceil<deadline::duration>(wide_seconds{duration});
  } else {
    return std::chrono::ceil<deadline::duration>(duration);
  }
}

/// The deadline `timeout` from now, rounded up; what the clock can't express is `forever`, what is not positive (or not
/// a number) is `at_once`.
template <class Rep, class Period>
deadline deadline_after(const std::chrono::duration<Rep, Period>& timeout, deadline now) noexcept {
  if (!(timeout > timeout.zero())) return at_once;
  // Compared in floating point, where nothing overflows, with a second to spare for its rounding.
  if (wide_seconds{timeout} >= wide_seconds{forever - now} - wide_seconds{1}) return forever;
  return now + ticks(timeout);
}

/// A steady time point as a deadline, rounded up; what the clock can't express is `forever` or `at_once`.
template <class Duration>
deadline deadline_at(const std::chrono::time_point<std::chrono::steady_clock, Duration>& at) noexcept {
  const wide_seconds since_epoch{at.time_since_epoch()};
  if (since_epoch >= wide_seconds{forever.time_since_epoch()} - wide_seconds{1}) return forever;
  if (!(since_epoch > since_epoch.zero())) return at_once;
  return deadline{ticks(at.time_since_epoch())};
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
  for (;;) {
    const wide_seconds left =
        wide_seconds{at.time_since_epoch()} - wide_seconds{std::chrono::system_clock::now().time_since_epoch()};
    const auto result = within<Platform>(wait, left, token);
    if (!(result == wait_status::timeout) || left <= left.zero()) return result;
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
