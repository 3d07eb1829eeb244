// SPDX-License-Identifier: BSL-1.0
//
// How a block of one writer waits for its memory: it tries; while the memory is in use it sleeps until the timeline has
// reached the value that helps first; then it tries again. Blocks of several writers use waiting_for_space.hpp.
#ifndef TIDEMARK_MEMORY_DETAIL_RETRYING_HPP
#define TIDEMARK_MEMORY_DETAIL_RETRYING_HPP

#include <cstdint>
#include <utility>

#include "../../fence/wait.hpp"

namespace tidemark::detail {

/// The result of an attempt in the form that within() needs: it can be compared with a wait_status.
template <class Result>
struct attempted {
  Result result;
  friend bool operator==(const attempted& made, wait_status) noexcept {
    return made.result.status == decltype(made.result.status)::timeout;
  }
};

/// Calls `attempt(target)` until the status of its result is not `busy`. A busy attempt must have set `target`, for
/// which this function then waits with `followed.wait(target, deadline, token)`. Returns the result of the last
/// attempt; its status is `timeout` or `stopped` where the wait has ended in that way. A timeline that is lost shows
/// UINT64_MAX, so that nothing is in use any more: the next attempt finds that.
/// \tparam Platform  tells the time
template <class Platform, class Followed, class Attempt, class... Limits>
auto retry_while_busy(const Followed& followed, const Attempt& attempt, const Limits&... limits) noexcept {
  using outcome = attempted<decltype(attempt(std::declval<std::uint64_t&>()))>;
  using status = decltype(outcome{}.result.status);
  const auto wait = [&](deadline until, const auto& token) noexcept -> outcome {
    for (;;) {
      std::uint64_t target = 0;
      outcome made{attempt(target)};
      if (made.result.status != status::busy) return made;
      switch (followed.wait(target, until, token)) {
        case wait_status::stopped:
          made.result.status = status::stopped;
          return made;
        case wait_status::timeout:
          made.result.status = status::timeout;
          return made;
        default:  // reached, lost
          break;
      }
    }
  };
  return within<Platform>(wait, limits...).result;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_RETRYING_HPP
