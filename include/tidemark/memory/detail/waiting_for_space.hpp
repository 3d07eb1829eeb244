// SPDX-License-Identifier: BSL-1.0
//
// How a block of several writers waits for memory that another thread has, or that the executor still uses. It tries.
// While it gets nothing, it sleeps until another thread gives something back (space_waiters.hpp), or until the timeline
// has reached the value that helps first. Then it tries again.
//
// A waiter sleeps on one word for both: it registers with the heap of the fence that the block follows, and its release
// advances the word of the space_waiters. The registration is fence.hpp's w1; the barrier is w2 and v2 at once; and the
// value is looked at once more before each sleep, which is w3. Where no value helps, the waiter registers for the
// greatest one, so that the loss of the timeline wakes it.
//
// A waiter that can't register looks again every millisecond: where the fence is full and does not grow (it must not,
// or there is no memory), and where the block follows a timeline of the program's own. So does a waiter whose barrier
// was refused. For a value of the program's own timeline it sleeps in the timeline's wait_until(), so that a signal
// wakes it at once, and what other threads give back is found within a millisecond.
#ifndef TIDEMARK_MEMORY_DETAIL_WAITING_FOR_SPACE_HPP
#define TIDEMARK_MEMORY_DETAIL_WAITING_FOR_SPACE_HPP

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "../../fence/detail/fence_operations.hpp"
#include "../../fence/detail/learning_spin.hpp"
#include "../../fence/fence.hpp"
#include "../../fence/timeline.hpp"
#include "../../fence/wait.hpp"
#include "../../fence/waiter_heap.hpp"
#include "retrying.hpp"
#include "space_waiters.hpp"

namespace tidemark::detail {

template <platform Platform, fence_options Options>
const fence_core<Platform, Options>* as_fence(const fence_core<Platform, Options>& followed) noexcept {
  return &followed;
}

/// Returns the fence behind a timeline, with whose heap a waiter can register; null if there is none.
template <class Timeline>
auto fence_behind(const Timeline& followed) noexcept {
  if constexpr (requires { as_fence(followed); }) {
    return as_fence(followed);
  } else {
    return nullptr;
  }
}
template <class Timeline>
auto fence_behind(const timeline_view<Timeline>& view) noexcept {
  return fence_behind(fence_access::followed(view));
}

/// No value of the timeline helps, only what another thread gives back.
inline constexpr std::uint64_t no_value_helps = UINT64_MAX;

template <platform Platform, timeline Timeline, class Attempt>
class space_wait {
  using result = std::invoke_result_t<const Attempt&, std::uint64_t&, bool>;
  using status = decltype(result::status);

 public:
  space_wait(space_waiters<Platform>& waiters, const follower<Timeline>& followed, const Attempt& attempt) noexcept
      : waiters_{waiters}, followed_{followed}, attempt_{attempt} {}

  template <class Token>
  attempted<result> operator()(deadline until, const Token& token) noexcept {
    for (;;) {
      // Before the attempt, so that it finds what was given back before the stop.
      const bool is_stopped = token.stop_requested();
      if (try_once() || is_stopped) return end(is_stopped);
      if (until == at_once || (until != no_deadline && until <= Platform::now())) return end(false);
      if constexpr (has_heap) {
        spinning_wait<Platform> spinning{target_ == no_value_helps ? nullptr : fence_access::learnt(fence())};
        const auto is_reached = [this] { return fence_access::has_reached(fence(), target_); };
        if (spinning.spin(until, is_reached, [&] { return token.stop_requested(); })) continue;
        spinning.sleeps();
        const auto ended = sleep(until, token, spinning);
        spinning.wakes();
        return ended;
      } else {
        return doze(until, token);
      }
    }
  }

 private:
  static constexpr bool has_heap = !std::is_null_pointer_v<decltype(fence_behind(std::declval<const Timeline&>()))>;
  using waiter = typename space_waiters<Platform>::waiter;

  const auto& fence() const noexcept { return *fence_behind(followed_.get()); }

  /// Returns whether the wait is over.
  bool try_once() noexcept {
    for (;;) {
      target_ = no_value_helps;
      made_ = attempt_(target_, is_again_);
      is_again_ = true;
      if (made_.status != status::busy && made_.status != status::no_space) return true;
      if (target_ != no_value_helps || followed_.current_value() != UINT64_MAX) return false;
      if (std::exchange(is_at_end_, true)) break;
      // Only an attempt that began after the loss shows that something is missing besides.
    }
    if (made_.status == status::busy) return false;
    made_.status = status::lost;
    return true;
  }

  /// Returns the result of the last attempt, or why the wait ends without memory.
  attempted<result> end(bool is_stopped) noexcept {
    if (made_.status == status::busy || made_.status == status::no_space)
      made_.status = is_stopped ? status::stopped : status::timeout;
    return {made_};
  }

  /// The registration of the waiter with the fence: from w1 on, until it is destroyed.
  class registration {
   public:
    registration(const space_wait& of, waiter& woken) noexcept : of_{of}, target_{of.awaited_value()} {
      if (!target_ || *target_ == 0) return;
      ticket_ = fence_access::add(of_.fence(), *target_, &woken);
      // The lane would not wake this thread.
      if (ticket_->is_in_lane()) withdraw();
    }
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    ~registration() { withdraw(); }

    /// Returns whether the fence wakes the waiter when it must.
    bool is_complete() const noexcept { return ticket_ || !target_; }
    /// Returns whether the fence may miss the waiter if the heavy barrier was refused.
    bool needs_barrier() const noexcept {
      if (!ticket_) return false;
      const auto& fence = of_.fence();
      return std::remove_cvref_t<decltype(fence)>::platform::asymmetric && !fence_access::heap(fence).is_pinned();
    }
    std::optional<std::uint64_t> target() const noexcept { return target_; }
    /// w3.
    bool is_over() const noexcept { return target_ && fence_access::is_over(of_.fence(), *target_); }
    void withdraw() noexcept {
      if (ticket_) fence_access::heap(of_.fence()).withdraw(*ticket_);
      ticket_.reset();
    }

   private:
    const space_wait& of_;
    const std::optional<std::uint64_t> target_;
    std::optional<waiter_ticket> ticket_;
  };

  /// Returns for which value of the timeline the waiter waits now: for the greatest one if only the loss of the
  /// timeline matters, and for nothing after that.
  std::optional<std::uint64_t> awaited_value() const noexcept {
    if (is_at_end_) return std::nullopt;
    return target_;
  }

  /// Waits, from v1 to the end of the wait.
  template <class Token>
  attempted<result> sleep(deadline until, const Token& token, spinning_wait<Platform>& spinning) noexcept {
    waiter counted{waiters_};
    const auto nudge = [this] { waiters_.wake_all(); };
    const typename stop_callback_for<Token, std::remove_const_t<decltype(nudge)>>::type stop_callback(token, nudge);
    for (bool is_late = false;;) {
      registration registered{*this, counted};
      const bool wakes_in_time = counted.order(registered.needs_barrier()) && registered.is_complete();
      do {
        const std::uint32_t seen = counted.changes();
        const bool is_stopped = token.stop_requested();
        // Before the attempt, which may take long: a waiter that was released must withdraw without delay.
        if (registered.is_over()) registered.withdraw();
        if (try_once() || is_stopped || is_late) return end(is_stopped);
        if (awaited_value() != registered.target()) break;
        if (registered.is_over()) continue;
        const deadline limit = wakes_in_time ? until : look_again_before(until, Platform::now());
        spinning.parks();
        is_late = !counted.park(seen, limit) && limit == until;
      } while (true);
    }
  }

  /// Waits where the waiter can't register.
  template <class Token>
  attempted<result> doze(deadline until, const Token& token) noexcept {
    waiter counted{waiters_};
    // So that it seldom misses what is given back. Where the barrier is refused, it looks again soon anyway.
    static_cast<void>(counted.order(false));
    for (bool is_late = false;;) {
      const std::uint32_t seen = counted.changes();
      const bool is_stopped = token.stop_requested();
      if (try_once() || is_stopped || is_late) return end(is_stopped);
      const deadline limit = look_again_before(until, Platform::now());
      const bool is_in_time = target_ == no_value_helps ? counted.park(seen, limit)
                                                        : followed_.wait(target_, limit) != wait_status::timeout;
      is_late = !is_in_time && limit == until;
    }
  }

  space_waiters<Platform>& waiters_;
  const follower<Timeline>& followed_;
  const Attempt& attempt_;
  result made_{};
  std::uint64_t target_ = no_value_helps;
  bool is_again_ = false;
  bool is_at_end_ = false;  // the timeline is lost
};

/// Calls `attempt(target, is_again)` until the status of its result is neither `busy` nor `no_space`, and sleeps in
/// between. Such an attempt sets `target` to the value of the timeline that helps first, or leaves it as it is if no
/// value does. `is_again` is false the first time. Returns the result of the last attempt. Its status is `timeout` or
/// `stopped` where the wait has ended in that way; and `lost` if the timeline is lost, and the status was `no_space`.
template <platform Platform, timeline Timeline, class Attempt, class... Limits>
auto wait_for_space(space_waiters<Platform>& waiters, const follower<Timeline>& followed, const Attempt& attempt,
                    const Limits&... limits) noexcept {
  space_wait<Platform, Timeline, Attempt> wait{waiters, followed, attempt};
  return within<Platform>([&](deadline until, const auto& token) { return wait(until, token); }, limits...).result;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_WAITING_FOR_SPACE_HPP
