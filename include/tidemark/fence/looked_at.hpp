// SPDX-License-Identifier: BSL-1.0
//
// looked_at: a timeline of yours that can't say when it has reached a value, for waits that would have to know: with
// other timelines (wait_many.hpp), on a loop, by a sender or by a queue of an engine. Whoever waits for it looks at its
// value again and again, after an interval that you state. Between two looks the thread sleeps, and all else that it
// waits for wakes it.
//
//   const tidemark::looked_at card{counter_of_card, 500us};
//   wait_any({{card, 12}, {upload, 40}});
//
// The price: until the value is reached, a thread wakes up once in each interval, and the wait ends up to an interval
// late. A loop looks for all its waits at once, and as often as the shortest interval says. A timeline that can say
// when it has reached a value should be a hooked_timeline instead (hooked_timeline.hpp).
//
// Its own wait functions are those of the timeline inside, and so are its values and its loss: it is a timeline, too.
//
// None of the functions of the timeline inside throws, and those that look use none of the loops, waits and queues that
// may wait for it. A loop calls these with its lock held. A lock that they take must not be held while the program
// calls a loop, a wait or a queue. If the timeline is lost, waits ask its last_reached(), or a wait_until() with a
// deadline that has passed, as they ask a hooked_timeline.
#ifndef TIDEMARK_FENCE_LOOKED_AT_HPP
#define TIDEMARK_FENCE_LOOKED_AT_HPP

#include <chrono>
#include <concepts>
#include <cstdint>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"
#include "timeline.hpp"
#include "wait.hpp"

namespace tidemark {

/// A timeline and how often waits look at it. It keeps a copy of the timeline if that is std::copyable, otherwise a
/// pointer. It is copyable itself; a copy is the same timeline. Waits, loops, queues and groups keep its address, not a
/// copy, unlike those of a view: so give it a name, and let it outlive them. Any thread may use it.
template <timeline Timeline>
class looked_at : public waitable<looked_at<Timeline>> {
 public:
  using platform = timeline_platform<Timeline>;

  /// Asserts that the interval is above zero; otherwise it counts as a millisecond. One of more than a day counts as a
  /// day.
  template <class Rep, class Period>
  looked_at(const Timeline& timeline, const std::chrono::duration<Rep, Period>& interval) noexcept
      : followed_{timeline}, interval_{ticks_of(interval)} {}
  /// A timeline that can't be copied would be gone.
  template <class Rep, class Period>
  looked_at(const Timeline&& gone, const std::chrono::duration<Rep, Period>& interval)
    requires(!std::copyable<Timeline>)
  = delete;

  /// Returns the timeline's current_value(). Progress: as that.
  std::uint64_t current_value() const noexcept { return followed_.current_value(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return followed_.is_reached(target); }
  /// Returns the timeline's is_poisoned(). Only for timelines that have that function.
  bool is_poisoned() const noexcept
    requires requires(const Timeline& followed) { followed.is_poisoned(); }
  {
    return followed_.get().is_poisoned();
  }
  /// Returns the timeline's loss(); see fence.hpp. Only for timelines that have that function.
  const loss_reason* loss() const noexcept
    requires requires(const Timeline& followed) { followed.loss(); }
  {
    return followed_.get().loss();
  }
  /// Returns the timeline's last_reached(). Only for timelines that have that function.
  std::uint64_t last_reached() const noexcept
    requires detail::has_last_reached<Timeline>
  {
    return followed_.get().last_reached();
  }

  /// Returns after what time waits look again.
  std::chrono::steady_clock::duration interval() const noexcept { return interval_; }

 private:
  friend waitable<looked_at>;
  friend detail::fence_access;

  using ticks = std::chrono::steady_clock::duration;

  template <class Rep, class Period>
  static ticks ticks_of(const std::chrono::duration<Rep, Period>& interval) noexcept {
    const ticks stated = detail::clamped_ticks(interval);
    TIDEMARK_ASSERT(stated > ticks::zero(), "the interval of a looked_at must be above zero");
    if (stated <= ticks::zero()) return detail::look_interval;
    constexpr ticks longest = std::chrono::hours{24};
    return stated < longest ? stated : longest;
  }

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    return followed_.wait(target, until, token);
  }
  const Timeline& shown() const noexcept { return followed_.get(); }

  detail::follower<Timeline> followed_;
  ticks interval_;
};

template <timeline Timeline, class Rep, class Period>
looked_at(const Timeline&, const std::chrono::duration<Rep, Period>&) -> looked_at<Timeline>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_LOOKED_AT_HPP
