// SPDX-License-Identifier: BSL-1.0
//
// awaited: a timeline and the value to wait for. Waits for several timelines take a list of them (wait_many.hpp), and
// so does a loop (wait_loop.hpp).
//
//   wait_any({{upload, 12}, {compute, 40}});        a list in braces: each pair is an awaited
//
// The timeline is one of these, or a view of one:
//
//   a fence or a progress_fence
//   an attachment of a domain (engine/domain.hpp)
//   a fence32 or a progress_fence32; the value is a serial of it, extended when the awaited is made
//   a fence that processes share, as a followed_fence (followed_fence.hpp)
//   a timeline of yours that calls a hook (hooked_timeline.hpp)
//   any other timeline, as a looked_at: waits look at it by an interval that you state (looked_at.hpp)
//
// A rewindable_fence can't take part: whoever is woken looks at the values, and its value may have been set back. A
// rewindable_target of it can (rewindable_target.hpp): it remembers that its value was reached.
#ifndef TIDEMARK_FENCE_AWAITED_HPP
#define TIDEMARK_FENCE_AWAITED_HPP

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "fence.hpp"
#include "hooked_timeline.hpp"
#include "looked_at.hpp"
#include "timeline.hpp"
#include "tools/fence_operations.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

namespace detail {

/// Whether a wait on `Platform` may include a timeline on `Other`: the waiter can sleep on the words of both, and
/// issues the barrier that the timeline needs.
template <class Platform, class Other>
concept can_wait_for =
    std::same_as<typename Platform::parking, typename Other::parking> && (Platform::asymmetric || !Other::asymmetric);

/// The first of the platforms that is asymmetric; the first one if none is. A wait on it may include fences of all that
/// park as it does.
template <class First, class...>
struct waiting_platform {
  using type = First;
};
template <class First, class Second, class... Others>
  requires(!First::asymmetric)
struct waiting_platform<First, Second, Others...> {
  using rest = typename waiting_platform<Second, Others...>::type;
  using type = std::conditional_t<rest::asymmetric, rest, First>;
};

/// The table of functions of the fences that a wait on `Platform` may include.
template <class Platform>
using wait_operations = fence_operations<typename Platform::template atomic<std::uint32_t>, waiter_ticket>;

/// Never called: takes what is a fence or a progress_fence, and nothing else.
template <platform Platform, fence_options Options>
void takes_fence(const fence_core<Platform, Options>&);

/// Whether waits ask a timeline of the program's by its own functions.
template <class>
inline constexpr bool is_looked_at = false;
template <class Timeline>
inline constexpr bool is_looked_at<looked_at<Timeline>> = true;
/// What keeps a timeline keeps the address of one of these. So one without a name would be gone too early.
template <class T>
concept needs_name = is_looked_at<T> || !std::copyable<T>;
template <class T>
concept timeline_of_program = hooked_timeline<T> || is_looked_at<T>;

/// Whether an object is not a fence, and a fence inside it keeps its waiters: an attachment of a domain.
template <class T>
concept has_fence_inside = requires(const T& holder) { fence_access::fence_in(holder); };

/// Whether a timeline has 32-bit serials, which stand for values of a fence inside it.
template <class T>
concept timeline_of_serials = requires(const T& of, std::uint32_t serial) {
  { of.extended(serial) } -> std::same_as<std::uint64_t>;
  of.view();
};

template <platform Platform, fence_options Options>
const void* name_of_fence(const fence_core<Platform, Options>& named) noexcept {
  return fence_access::timeline(named);
}
/// Returns what names a timeline in reports: the same address for it and all that show its values, such as views and
/// the attachments of one fence.
template <class Timeline>
const void* name_of_timeline(const Timeline& named) noexcept {
  if constexpr (requires { fence_access::shown_by(named); }) {
    return name_of_timeline(fence_access::shown_by(named));
  } else if constexpr (has_fence_inside<Timeline>) {
    return name_of_fence(fence_access::fence_in(named));
  } else if constexpr (timeline_of_serials<Timeline>) {
    return name_of_timeline(named.view());
  } else if constexpr (requires { name_of_fence(named); }) {
    return name_of_fence(named);
  } else {
    return &named;
  }
}

/// Makes hooks, and the tickets of registrations with timelines of the program's.
struct hook_access {
  static timeline_hook hook_of(waker& called) noexcept { return timeline_hook{called}; }
  /// A ticket whose registration is null counts as one in the lane: nobody wakes its waiter.
  static waiter_ticket ticket_of(void* registration) noexcept {
    return {registration, registration != nullptr ? 0 : waiter_ticket::lane, {}};
  }
  static void* registration_of(const waiter_ticket& ticket) noexcept { return ticket.block_; }
};

/// What waits ask a timeline of the program's.
template <class Timeline>
struct asked_timeline {
  static const Timeline& at(const void* self) noexcept { return *static_cast<const Timeline*>(self); }
  static bool has_reached(const Timeline& of, std::uint64_t target) noexcept {
    if constexpr (has_last_reached<Timeline>) {
      return of.last_reached() >= target;
    } else {
      const std::uint64_t value = of.current_value();
      return value >= target && (value != UINT64_MAX || had_reached(of, target));
    }
  }
  static bool is_over(const Timeline& of, std::uint64_t target) noexcept {
    // The greatest value if it is lost.
    return of.current_value() >= target || has_reached(of, target);
  }
  static fence_state look(const Timeline& of) noexcept {
    // First, so that a value is seen that was reached before the loss.
    const std::uint64_t value = of.current_value();
    if constexpr (has_last_reached<Timeline>) {
      const bool seems_lost = is_lost_at(of, value);
      const std::uint64_t reached = of.last_reached();
      if (seems_lost) return {reached, reached != UINT64_MAX};
      // A loss that has come since may have left the last value behind (value_storage::caller).
      return {(std::max)(value, reached), false};
    } else {
      if (value != UINT64_MAX || had_reached(of, UINT64_MAX)) return {value, false};
      return {greatest_reached(of), true};
    }
  }
  static waiter_ticket add(const Timeline& of, std::uint64_t target, waker& woken) noexcept {
    if constexpr (hooked_timeline<Timeline>) {
      return hook_access::ticket_of(of.add_hook(target, hook_access::hook_of(woken)));
    } else {
      return hook_access::ticket_of(nullptr);
    }
  }
  static bool withdraw(const Timeline& of, const waiter_ticket& ticket) noexcept {
    if constexpr (hooked_timeline<Timeline>) {
      if (!ticket.is_in_lane()) return of.remove_hook(hook_access::registration_of(ticket));
    }
    return true;
  }
  static deadline::duration look_interval(const Timeline& of) noexcept {
    if constexpr (is_looked_at<Timeline>) {
      return of.interval();
    } else {
      return detail::look_interval;
    }
  }

 private:
  static bool is_lost_at(const Timeline& of, std::uint64_t value) noexcept {
    if constexpr (requires { of.is_poisoned(); }) {
      return of.is_poisoned();
    } else {
      return value == UINT64_MAX;
    }
  }
  /// Whether a timeline that shows UINT64_MAX had reached the target before it was lost, if it is lost.
  static bool had_reached(const Timeline& of, std::uint64_t target) noexcept {
    return of.wait_until(target, deadline{}) == wait_status::reached;
  }
  /// Finds what a lost timeline had reached. It does not change any more.
  [[gnu::cold]] static std::uint64_t greatest_reached(const Timeline& of) noexcept {
    std::uint64_t reached = 0;
    for (std::uint64_t missing = UINT64_MAX; missing - reached > 1;) {
      const std::uint64_t middle = reached + (missing - reached) / 2;
      (had_reached(of, middle) ? reached : missing) = middle;
    }
    return reached;
  }
};

/// The table of a timeline of the program's.
template <class Operations, timeline_of_program Timeline>
constexpr Operations operations_of_program() noexcept {
  using asked = asked_timeline<Timeline>;
  return {.is_asymmetric = false,
          .has_reached = [](const void* self,
                            std::uint64_t target) noexcept { return asked::has_reached(asked::at(self), target); },
          .look = [](const void* self) noexcept { return asked::look(asked::at(self)); },
          .timeline = [](const void* self) noexcept { return name_of_timeline(asked::at(self)); },
          .is_over = [](const void* self,
                        std::uint64_t target) noexcept { return asked::is_over(asked::at(self), target); },
          .is_pinned = [](const void*) noexcept { return false; },
          .add = [](const void* self, std::uint64_t target,
                    waker* woken) noexcept { return asked::add(asked::at(self), target, *woken); },
          .withdraw = [](const void* self,
                         const waiter_ticket& ticket) noexcept { return asked::withdraw(asked::at(self), ticket); },
          .learnt = [](const void*) noexcept -> typename Operations::memory_type* { return nullptr; },
          .look_interval = [](const void* self) noexcept { return asked::look_interval(asked::at(self)); },
          .is_of_program = true};
}
template <class Operations, class Timeline>
inline constexpr Operations program_operations_of = operations_of_program<Operations, Timeline>();

/// Gives access to what an awaited names.
struct awaited_access {
  static const auto& target_of(const auto& one) noexcept { return one.target_; }
  /// Returns the same timeline with another value to wait for.
  static auto with_target(auto one, std::uint64_t target) noexcept {
    one.target_.target = target;
    return one;
  }
};

}  // namespace detail

/// One timeline and the value to wait for; the head of this file lists the timelines. It is copyable, and its timeline
/// must outlive it.
/// \tparam Platform  the platform of the wait. It must be asymmetric if one of the timelines is, and park as all of
///                   them do.
template <platform Platform>
class basic_awaited {
 public:
  using platform = Platform;

  /// A fence or a progress_fence, and the value to wait for.
  template <class Other, fence_options Options>
  basic_awaited(const detail::fence_core<Other, Options>& one, std::uint64_t target) noexcept
    requires(detail::can_wait_for<Platform, Other>)
      : target_{&one, &detail::wait_operations_of<operations, detail::fence_core<Other, Options>>, target} {}
  /// A view of a fence or of a progress_fence, and the value to wait for.
  template <class Fence>
  basic_awaited(const timeline_view<Fence>& view, std::uint64_t target) noexcept
    requires(detail::can_wait_for<Platform, typename Fence::platform> &&
             requires(const Fence& followed) { detail::takes_fence(followed); })
      : basic_awaited(detail::fence_access::followed(view), target) {}
  /// A timeline of the program's that calls a hook, or that is looked at, and the value to wait for.
  template <detail::timeline_of_program Timeline>
  basic_awaited(const Timeline& one, std::uint64_t target) noexcept
      : target_{&one, &detail::program_operations_of<operations, Timeline>, target} {}
  /// A looked_at without a name would be gone before the wait.
  template <class Timeline>
  basic_awaited(const looked_at<Timeline>&& gone, std::uint64_t target) = delete;
  /// An attachment of a domain, and the value to wait for.
  template <detail::has_fence_inside Holder>
  basic_awaited(const Holder& one, std::uint64_t target) noexcept
    requires(detail::can_wait_for<Platform, typename Holder::platform>)
      : basic_awaited(detail::fence_access::fence_in(one), target) {}
  /// A view of one of these, and the value to wait for.
  template <class Timeline>
    requires detail::timeline_of_program<Timeline> ||
             detail::has_fence_inside<Timeline>
             basic_awaited(const timeline_view<Timeline>& view, std::uint64_t target) noexcept
               requires(std::constructible_from<basic_awaited, const Timeline&, std::uint64_t>)
      : basic_awaited(detail::fence_access::followed(view), target) {}
  /// A fence32 or a progress_fence32, and the serial to wait for: it stands for the value that the timeline's
  /// extended() returns now. Asserts that it has 32 bits; with NDEBUG its low 32 bits count.
  template <detail::timeline_of_serials Timeline>
  basic_awaited(const Timeline& one, std::uint64_t serial) noexcept
    requires(detail::can_wait_for<Platform, typename Timeline::platform>)
      : basic_awaited(one.view(), one.extended(serial_of(serial))) {}

 private:
  friend detail::awaited_access;

  using operations = detail::wait_operations<Platform>;

  static std::uint32_t serial_of(std::uint64_t serial) noexcept {
    TIDEMARK_ASSERT(serial <= UINT32_MAX, "a serial of a 32-bit timeline has 32 bits");
    return static_cast<std::uint32_t>(serial);
  }

  detail::awaited_target<operations> target_;
};

/// An awaited value of a timeline.
using awaited = basic_awaited<native_platform>;

namespace detail {

/// Whether a wait for several timelines can register with a timeline of this type.
template <class Timeline, class Platform>
concept awaitable_on = std::constructible_from<basic_awaited<Platform>, const Timeline&, std::uint64_t>;

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_AWAITED_HPP
