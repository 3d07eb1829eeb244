// SPDX-License-Identifier: BSL-1.0
#ifndef TIDEMARK_FENCE_CALLBACK_STATE_HPP
#define TIDEMARK_FENCE_CALLBACK_STATE_HPP

#include <concepts>
#include <cstdint>

#include "../platform/names.hpp"
#include "wait.hpp"

namespace tidemark {

/// What has become of a registration of a callable, with a loop or with the signallers of a fence.
enum class callback_state : std::uint8_t {
  waiting,    ///< It waits, or its callable is running.
  ran,        ///< The value was reached, and the callable has returned or thrown.
  lost,       ///< The timeline was poisoned before. A callable that takes a wait_status received `lost`.
  cancelled,  ///< It was cancelled before. The callable has not run and never will.
  refused,    ///< Only with signallers: the fence could not take it. The callable has not run and never will.
};

template <>
inline constexpr auto detail::names_of<callback_state> =
    detail::names("waiting", "ran", "lost", "cancelled", "refused");

namespace detail {

/// Takes nothing, or how the wait has ended.
template <class Callable>
concept reached_callable = std::invocable<Callable&> || std::invocable<Callable&, wait_status>;

/// Calls a callable with how the wait has ended, `reached` or `lost`. One that takes nothing is not called if the
/// timeline is lost.
template <reached_callable Callable>
void call_reached(Callable& callable, wait_status how) {
  if constexpr (std::invocable<Callable&, wait_status>) {
    callable(how);
  } else if (how == wait_status::reached) {
    callable();
  }
}
/// Says whether there is nothing to call, so that the callable is not registered: never, but for links (link.hpp).
template <class Callable>
struct empty_callable {
  static constexpr bool is(const Callable&) noexcept { return false; }
};
/// What has become of it then.
constexpr callback_state state_after(wait_status how) noexcept {
  return how == wait_status::lost ? callback_state::lost : callback_state::ran;
}

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_CALLBACK_STATE_HPP
