// SPDX-License-Identifier: BSL-1.0
//
// awaited: a timeline and the value to wait for. Waits for several timelines take a list of them (wait_many.hpp), and
// so does a loop (wait_loop.hpp).
//
//   wait_any({{upload, 12}, {compute, 40}});        a list in braces: each pair is an awaited
//
// The timeline is a fence, a progress_fence or a view of one; a timeline type of yours can't take part.
#ifndef TIDEMARK_FENCE_AWAITED_HPP
#define TIDEMARK_FENCE_AWAITED_HPP

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "../platform/platform.hpp"
#include "fence.hpp"
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

/// One timeline and the value to wait for. It is copyable, and its timeline must outlive it.
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

 private:
  friend detail::awaited_access;

  using operations = detail::wait_operations<Platform>;

  detail::awaited_target<operations> target_;
};

/// An awaited value of a fence, a progress_fence, or a view of one.
using awaited = basic_awaited<native_platform>;

namespace detail {

/// Whether a wait for several timelines can register with a timeline of this type.
template <class Timeline, class Platform>
concept awaitable_on = std::constructible_from<basic_awaited<Platform>, const Timeline&, std::uint64_t>;

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_AWAITED_HPP
