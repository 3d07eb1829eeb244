// SPDX-License-Identifier: BSL-1.0
//
// How a queue waits for a timeline: what it looks at first, and when it says that it stalls.
#ifndef TIDEMARK_QUEUE_DETAIL_QUEUE_WAITS_HPP
#define TIDEMARK_QUEUE_DETAIL_QUEUE_WAITS_HPP

#include <cstdint>
#include <utility>

#include "../../fence/timeline.hpp"
#include "../../fence/wait.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// Looks once whether the timeline has reached `value`. Returns `reached`, `lost` or `timeout`.
template <class Timeline>
wait_status look(const Timeline& followed, std::uint64_t value) noexcept {
  if (followed.current_value() < value) return wait_status::timeout;
  return followed.wait_until(value, deadline{});  // a timeline that is lost shows the greatest value
}

/// Waits for the timeline; or looks once, where the limit is at_once.
template <class Timeline, class Token>
wait_status wait_or_look(const Timeline& followed, std::uint64_t value, deadline until, const Token& token) noexcept {
  if (until != at_once) return wait_on<timeline_platform<Timeline>>(followed, value, until, token);
  const wait_status status = look(followed, value);
  return status == wait_status::timeout && token.stop_requested() ? wait_status::stopped : status;
}

/// How a wait of a queue ended, and when it was seen to stall the queue; 0 if it was over already.
struct ended_wait {
  wait_status status;
  std::uint64_t observed;
};

/// Looks whether the timeline has reached `value`. If not, notes the time and waits. Calls `tell_stall(observed)` once,
/// before the first sleep.
template <class Clock, class Timeline, class TellStall, class... Limits>
ended_wait get_past(const Timeline& input, std::uint64_t value, const TellStall& tell_stall,
                    const Limits&... limits) noexcept {
  using awaited_platform = timeline_platform<Timeline>;
  const wait_status first = look(input, value);
  if (first != wait_status::timeout) return {first, 0};
  const std::uint64_t observed = Clock::now();
  bool is_told = false;
  const wait_status status = within<awaited_platform>(
      [&](deadline until, const auto& token) {
        const bool sleeps =
            until != at_once && !token.stop_requested() && (until == no_deadline || until > awaited_platform::now());
        if (sleeps && !std::exchange(is_told, true)) tell_stall(observed);
        return wait_or_look(input, value, until, token);
      },
      limits...);
  return {status, observed};
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_QUEUE_WAITS_HPP
