// SPDX-License-Identifier: BSL-1.0
//
// How a wait ends, why a timeline may be lost, what may stop a wait, and the wait functions, which have the same form
// everywhere:
//
//   wait(target), wait(target, token)                           without a time limit
//   wait_for(target, duration), wait_for(..., token)            for this duration at most
//   wait_until(target, time_point), wait_until(..., token)      until a point of the steady or the system clock at most
//
// Other blocking operations of this library are named in the same way: x(), x_for(), x_until(), each with an optional
// stop token last, and try_x(), which never blocks.
#ifndef TIDEMARK_FENCE_WAIT_HPP
#define TIDEMARK_FENCE_WAIT_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"

namespace tidemark {

/// How a wait ended.
enum class [[nodiscard]] wait_status {
  reached,  ///< The timeline reached the target. Everything its signaller did before happens-before the return.
  timeout,  ///< The deadline passed first. A wait never times out early.
  stopped,  ///< The stop token was triggered first.
  lost,     ///< The timeline was poisoned before it reached the target.
};

template <>
inline constexpr auto detail::names_of<wait_status> = detail::names("reached", "timeout", "stopped", "lost");

/// Why a timeline is lost. A reason is an object of static lifetime. Compare reasons by `code`, as == does: a shared
/// library may have a copy of its own, at another address. The library must stay loaded as long as the timeline may be
/// asked.
///
///   inline constexpr tidemark::loss_reason device_removed{7, "the device was removed"};
///   drawn.poison(device_removed);
///   if (drawn.wait(8) == wait_status::lost && *drawn.loss() == device_removed) ...
///
/// So a timeline keeps a pointer, which other threads see whole or not at all.
struct loss_reason {
  /// Means what the program says, which gives each reason a code of its own. 0 and the codes from 0xFFFFFF00 on are
  /// reserved for the reasons of these headers.
  std::uint32_t code;
  const char* text;  ///< For people. It must live as long as the reason.

  /// Returns whether both have the same code.
  friend constexpr bool operator==(const loss_reason& a, const loss_reason& b) noexcept { return a.code == b.code; }
};

/// The reason of a poison() that names none.
inline constexpr loss_reason unnamed_loss{0, "poisoned"};

/// What a wait has seen when it ended.
struct [[nodiscard]] wait_value_result {
  wait_status status;
  /// The value that the timeline had reached: at least the target if `status` is `reached`, and less than it otherwise.
  /// A lost timeline shows UINT64_MAX; this is the value that it had really reached instead.
  std::uint64_t value;

  friend bool operator==(const wait_value_result&, const wait_value_result&) = default;
  friend bool operator==(const wait_value_result& result, wait_status expected) noexcept {
    return result.status == expected;
  }
};

/// How a wait for any of several timelines ended, and which of them ended it.
struct [[nodiscard]] wait_any_result {
  wait_status status;
  /// The position in the list of the timeline that was reached or is lost. The length of the list if no timeline has
  /// ended the wait, or if the list is empty.
  std::size_t index;

  friend bool operator==(const wait_any_result&, const wait_any_result&) = default;
  friend bool operator==(const wait_any_result& result, wait_status expected) noexcept {
    return result.status == expected;
  }
};

/// A token that can stop a wait: std::stop_token, or a type of yours with the same functions. Such a type must also
/// have a member template `callback_type<F>`, which does what std::stop_callback<F> does. The concept does not check
/// for it, because waits that only look at the token now and then do without it.
template <class Token>
concept stop_token_like = std::copyable<Token> && requires(const Token& token) {
  { token.stop_requested() } -> std::convertible_to<bool>;
};

/// The token of a wait that nothing stops.
using never_stops = detail::never_stops;

namespace detail {

// within<Platform>(wait, limits...) calls `wait(deadline, token)` and returns its result, which must be comparable
// with a wait_status. The limits are a duration or a point of the steady or the system clock, or none; then a token,
// or none.

template <class Platform, class Wait>
auto within(const Wait& wait) noexcept {
  return wait(no_deadline, never_stops{});
}
template <class Platform, class Wait, stop_token_like Token>
auto within(const Wait& wait, Token token) noexcept {
  return wait(no_deadline, std::move(token));
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
/// A change of the system clock during the wait is noticed at the deadline only. If the clock was set back, the wait
/// goes on; if it was set forward, the wait ends no earlier for that.
template <class Platform, class Wait, class Duration, stop_token_like Token = never_stops>
auto within(const Wait& wait, const std::chrono::time_point<std::chrono::system_clock, Duration>& at,
            Token token = {}) noexcept {
  for (;;) {
    const deadline until = deadline_of<Platform>(at);
    const bool has_passed = until == at_once;
    const auto result = wait(until, token);
    if (has_passed || !(result == wait_status::timeout)) return result;
  }
}

/// Whether a timeline says what it has really reached, also when it is lost.
template <class Timeline>
concept has_last_reached = requires(const Timeline& of) {
  { of.last_reached() } -> std::same_as<std::uint64_t>;
};

}  // namespace detail

/// The wait functions of the timeline `Derived`. They block. They throw nothing, and allocate nothing unless a waiter
/// finds no free slot and its fence may grow (fence_options.hpp), or a least_of has more than 64 timelines
/// (wait_many.hpp). Any thread may call them.
///
/// Each of them waits until the timeline has reached `target`. A target of 0 is reached at once; UINT64_MAX is a legal
/// target. What the signaller did before it signalled the target, or a later value, happens-before a return with
/// `reached`. If several outcomes are possible at the return, `reached` wins over `lost`, `lost` over `stopped`, and
/// `stopped` over `timeout`.
template <class Derived>
class waitable {
 public:
  /// Waits without a time limit. Returns `reached`; `stopped` if `token` is triggered first; `lost` if the timeline is
  /// poisoned and has not reached the target.
  template <stop_token_like Token = never_stops>
  wait_status wait(std::uint64_t target, Token token = {}) const noexcept {
    return self().wait_with(target, no_deadline, std::move(token));
  }

  /// Waits like wait(), but for the duration `timeout` at most, and returns `timeout` then. If the duration is zero or
  /// less, or is not a number, it only looks and does not sleep. If the duration is too long for the clock, it waits
  /// without a limit.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(std::uint64_t target, const std::chrono::duration<Rep, Period>& timeout,
                       Token token = {}) const noexcept {
    return self().wait_with(target, detail::deadline_of<typename Derived::platform>(timeout), std::move(token));
  }

  /// Waits like wait(), but until `at` at most, a point of the steady or the system clock, and returns `timeout`
  /// then. With a point in the past it does not sleep, but it may look several times. A change of the system clock
  /// during the wait is noticed at the deadline only: if the clock was set back, the wait goes on; if it was set
  /// forward, the wait ends no earlier for that.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_until(std::uint64_t target, const std::chrono::time_point<Clock, Duration>& at,
                         Token token = {}) const noexcept {
    const auto wait = [&](deadline until, Token with) { return self().wait_with(target, until, std::move(with)); };
    return detail::within<typename Derived::platform>(wait, at, std::move(token));
  }

  /// Waits like wait(). Then reads the value that the timeline has really reached, and returns it as well. If that
  /// value is at least the target, the status is `reached`, however the wait has ended. Only for timelines with a
  /// last_reached(), which `Self` is there for: clang before version 16 would ask while the timeline is incomplete.
  template <stop_token_like Token = never_stops, class Self = Derived>
  wait_value_result wait_value(std::uint64_t target, Token token = {}) const noexcept
    requires detail::has_last_reached<Self>
  {
    return with_value(target, wait(target, std::move(token)));
  }
  /// The same for wait_for().
  template <class Rep, class Period, stop_token_like Token = never_stops, class Self = Derived>
  wait_value_result wait_value_for(std::uint64_t target, const std::chrono::duration<Rep, Period>& timeout,
                                   Token token = {}) const noexcept
    requires detail::has_last_reached<Self>
  {
    return with_value(target, wait_for(target, timeout, std::move(token)));
  }
  /// The same for wait_until().
  template <class Clock, class Duration, stop_token_like Token = never_stops, class Self = Derived>
  wait_value_result wait_value_until(std::uint64_t target, const std::chrono::time_point<Clock, Duration>& at,
                                     Token token = {}) const noexcept
    requires detail::has_last_reached<Self>
  {
    return with_value(target, wait_until(target, at, std::move(token)));
  }

 protected:
  waitable() = default;
  waitable(const waitable&) = default;
  waitable& operator=(const waitable&) = default;
  ~waitable() = default;

 private:
  wait_value_result with_value(std::uint64_t target, wait_status status) const noexcept {
    const std::uint64_t value = self().last_reached();
    if (value >= target) return {wait_status::reached, value};
    // The wait has seen the target, and a poison that came at the same time has lost it (value_storage::caller).
    if (status == wait_status::reached) return {status, target};
    return {status, value};
  }
  const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }
};

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_WAIT_HPP
