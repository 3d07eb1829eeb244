// SPDX-License-Identifier: BSL-1.0
//
// Waits for several timelines with limits of any kind, for tests that try the same with each of them.
#ifndef TIDEMARK_TESTS_SUPPORT_LIMITS_HPP
#define TIDEMARK_TESTS_SUPPORT_LIMITS_HPP

#include <chrono>

#include <tidemark/fence/wait_many.hpp>

namespace testing {

template <class T>
inline constexpr bool is_duration = false;
template <class Rep, class Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;
template <class T>
inline constexpr bool is_time_point = false;
template <class Clock, class Duration>
inline constexpr bool is_time_point<std::chrono::time_point<Clock, Duration>> = true;

/// Calls wait_all(), wait_all_for() or wait_all_until(), depending on the first limit.
template <class List, class... Limits>
tidemark::wait_status wait_all_within(const List& those, const Limits&... limits) {
  if constexpr ((is_duration<Limits> || ...)) {
    return tidemark::wait_all_for(those, limits...);
  } else if constexpr ((is_time_point<Limits> || ...)) {
    return tidemark::wait_all_until(those, limits...);
  } else {
    return tidemark::wait_all(those, limits...);
  }
}

/// Calls wait_any(), wait_any_for() or wait_any_until(), depending on the first limit.
template <class List, class... Limits>
tidemark::wait_any_result wait_any_within(const List& those, const Limits&... limits) {
  if constexpr ((is_duration<Limits> || ...)) {
    return tidemark::wait_any_for(those, limits...);
  } else if constexpr ((is_time_point<Limits> || ...)) {
    return tidemark::wait_any_until(those, limits...);
  } else {
    return tidemark::wait_any(those, limits...);
  }
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_LIMITS_HPP
