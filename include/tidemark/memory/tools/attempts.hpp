// SPDX-License-Identifier: BSL-1.0
//
// attempts: how a block waits for its memory. It tries; while the memory is in use it sleeps until the timeline has
// reached the value that helps first, or until another thread gives something back; then it tries again.
//
// An attempt is called with a `target` and returns a result with a status. The status `busy`, or `no_space`, says that
// it has failed. Then it has set `target` to the value of the timeline that helps first, or has left it as it was if
// no value does.
#ifndef TIDEMARK_MEMORY_TOOLS_ATTEMPTS_HPP
#define TIDEMARK_MEMORY_TOOLS_ATTEMPTS_HPP

#include <cstdint>
#include <utility>

#include "../../fence/event_count.hpp"
#include "../../fence/timeline.hpp"
#include "../../fence/wait.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// No value of the timeline helps, only what another thread gives back.
inline constexpr std::uint64_t no_value_helps = UINT64_MAX;

/// For a block of one writer, where only the timeline helps: waits until the status is not `busy`. Returns the result
/// of the last attempt; its status is `timeout` or `stopped` where the wait has ended in that way. A timeline that is
/// lost shows UINT64_MAX, so that nothing is in use any more: the next attempt finds that.
/// \tparam Platform  tells the time
template <class Platform, class Followed, class Attempt, class... Limits>
auto retry_while_busy(const Followed& followed, const Attempt& attempt, const Limits&... limits) noexcept {
  using result = decltype(attempt(std::declval<std::uint64_t&>()));
  using status = decltype(result::status);
  result made{};
  const auto wait = [&](deadline until, const auto& token) noexcept {
    for (;;) {
      std::uint64_t target = 0;
      made = attempt(target);
      if (made.status != status::busy) return wait_status::reached;
      const wait_status ended = followed.wait(target, until, token);
      if (ended == wait_status::stopped || ended == wait_status::timeout) return ended;
    }
  };
  const wait_status ended = within<Platform>(wait, limits...);
  if (ended == wait_status::stopped) made.status = status::stopped;
  if (ended == wait_status::timeout) made.status = status::timeout;
  return made;
}

/// For a block of several writers: waits until the status is neither `busy` nor `no_space`. Returns the result of the
/// last attempt. Its status is `timeout` or `stopped` where the wait has ended in that way; and `lost` if the timeline
/// is lost, and the status was `no_space`.
/// \param given_back  is notified by each thread that gives something back
template <platform Platform, timeline Timeline, class Attempt, class... Limits>
auto wait_for_space(basic_event_count<Platform>& given_back, const follower<Timeline>& followed, const Attempt& attempt,
                    const Limits&... limits) noexcept {
  using result = decltype(attempt(std::declval<std::uint64_t&>()));
  using status = decltype(result::status);
  result made{};
  const auto attempt_once = [&]() noexcept -> attempt_result {
    std::uint64_t target = no_value_helps;
    made = attempt(target);
    if (made.status == status::no_space) return attempt_result::again_at(target);
    if (made.status != status::busy) return true;
    return target != no_value_helps ? attempt_result::again_at(target) : attempt_result::again();
  };
  const auto wait = [&](deadline until, const auto& token) noexcept {
    return given_back.wait_until(followed.get(), attempt_once, until, token);
  };
  switch (within<Platform>(wait, limits...)) {
    case wait_status::timeout:
      made.status = status::timeout;
      break;
    case wait_status::stopped:
      made.status = status::stopped;
      break;
    case wait_status::lost:
      made.status = status::lost;
      break;
    default:  // reached
      break;
  }
  return made;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_TOOLS_ATTEMPTS_HPP
