// SPDX-License-Identifier: BSL-1.0
//
// How blocks that lend memory wait for it: they try, and while something is in use they sleep until the fence has reached the
// value that helps first, and try again.
#ifndef TIDEMARK_DETAIL_RETRYING_HPP
#define TIDEMARK_DETAIL_RETRYING_HPP

#include <cstdint>
#include <utility>

#include "waiting.hpp"

namespace tidemark::detail {

/// What an attempt came to, as within() wants it.
template <class Result, auto NotNow>
struct attempted {
  Result result;
  friend bool operator==(const attempted& made, wait_status) noexcept { return made.result.status == NotNow; }
};

/// Calls `attempt(awaited)`, which sets what to wait for where the status of its result is `NotNow`, until that is another
/// one, or the limits are reached: then it is still `NotNow`, or `Stopped`. Once the fence is poisoned nothing is in use any
/// more, and the next attempt tells.
template <auto NotNow, auto Stopped, class View, class Attempt, class... Limits>
auto retry_while(const View& finished, const Attempt& attempt, const Limits&... limits) noexcept {
  using outcome = attempted<decltype(attempt(std::declval<std::uint64_t&>())), NotNow>;
  const auto wait = [&](deadline until, auto token) noexcept -> outcome {
    for (;;) {
      std::uint64_t awaited = 0;
      outcome made{attempt(awaited)};
      if (made.result.status != NotNow) return made;
      switch (finished.wait_until(awaited, until, token)) {
        case wait_status::reached:
        case wait_status::lost:
          break;
        case wait_status::stopped:
          made.result.status = Stopped;
          return made;
        case wait_status::timeout:
          return made;
      }
    }
  };
  return within<typename View::platform>(wait, limits...).result;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_RETRYING_HPP
