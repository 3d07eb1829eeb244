// SPDX-License-Identifier: BSL-1.0
//
// link: when one timeline reaches a value, another one is signalled; and if the first one is lost, so is the other.
//
//   auto linked = tidemark::link(decoded, 100, shown, 1);          when `decoded` reaches 100, `shown` is signalled 1
//   auto owned = tidemark::link(decoded, 100, tidemark::signaller{shown}, 1);
//                                                                  the same, and `shown` can't wait in vain
//   auto on_loop = tidemark::link(loop, decoded, 100, shown, 1);   a thread that runs the loop signals
//
// The first two run in the thread whose signal reaches the value, as a callable in the signaller does: what
// signaller_callback.hpp says of a callable holds for the signal of a link, and `decoded` needs
// fence_options::callbacks. If the value is reached already, link() signals itself. With a loop, `decoded` is anything
// that the loop's on_reached() takes, if it has loss(). What was done before the signal of the first timeline
// happens-before the return of a wait for the second one.
//
// Loss. If the first timeline is lost before it has reached the value, the second one is poisoned, with the same
// reason. So a loss goes along a chain of links, and whoever waits at its end learns where it began. If the second one
// is lost, the first one is not: links go in one direction.
//
// The handle that link() returns is a registration, and says what has become of it: `waiting`; `ran` once the second
// timeline was signalled; `lost` once it was poisoned; `refused` where nobody would signal it (see
// signaller_callback.hpp), or `cancelled`.
//
//   - If it is destroyed or cancelled while it waits, the link is cut: the second timeline is neither signalled nor
//     poisoned by it, now or later. If the signal is under way in another thread, that waits until it is over.
//   - If the link has a signaller (signaller.hpp) in the place of the second timeline, it has the duty to signal, too:
//     a link that is destroyed without having signalled, also one that was refused or cancelled, poisons the second
//     timeline with the reason `signaller_gone`. Asserts that the signaller holds a timeline. Without assertions, the
//     link of one that holds none does nothing, and is `refused` from the start, or `cancelled` on a loop.
//
// Lifetime. The first timeline must outlive the handle. The second one must live until the handle is destroyed, or is
// cancelled, or its state() is `ran` or `lost`. A second timeline that joins_signallers (fence_options.hpp) may also be
// destroyed as soon as a value, or a loss, is seen that only this link can have brought: it waits until the signal of
// the link has ended, and the link does not touch it afterwards.
//
// Circles are allowed. A chain of links takes stack as a chain of callables does; long ones belong on a loop.
//
// Not checked: that a progress_fence as the second timeline has no other signaller at that moment.
#ifndef TIDEMARK_FENCE_LINK_HPP
#define TIDEMARK_FENCE_LINK_HPP

#include <concepts>
#include <cstdint>
#include <utility>

#include "../platform/assert.hpp"
#include "awaited.hpp"
#include "fence.hpp"
#include "signaller.hpp"
#include "signaller_callback.hpp"
#include "timeline.hpp"
#include "tools/fence_operations.hpp"
#include "wait.hpp"

namespace tidemark {

namespace detail {

/// The end of a link: a timeline of somebody else.
template <class To>
class link_end {
 public:
  using value_type = typename signaller<To>::value_type;

  explicit link_end(To& to) noexcept : to_{&to} {}
  static constexpr bool is_empty() noexcept { return false; }
  void signal(value_type value) noexcept { static_cast<void>(to_->signal(value)); }
  void poison(const loss_reason& why) noexcept { to_->poison(why); }

 private:
  To* to_;
};
/// The same with the duty to signal it.
template <class To>
class link_end<signaller<To>> {
 public:
  using value_type = typename signaller<To>::value_type;

  explicit link_end(signaller<To>&& to) noexcept : to_(std::move(to)) {
    TIDEMARK_ASSERT(!is_empty(), "link() was given a signaller that holds no fence");
  }
  /// Whether there is nothing to signal: the signaller has given its timeline up, or was moved from.
  bool is_empty() const noexcept { return to_.fence_ == nullptr; }
  void signal(value_type value) noexcept { static_cast<void>(to_.signal_last(value)); }
  void poison(const loss_reason& why) noexcept { to_.poison(why); }

 private:
  signaller<To> to_;
};

/// What a link does when its first timeline has reached the value, or is lost.
template <class From, class To>
class link_call {
 public:
  using value_type = typename link_end<To>::value_type;

  link_call(const From& from, link_end<To> to, value_type value) noexcept
      : from_{&from}, to_(std::move(to)), value_{value} {}

  bool is_empty() const noexcept { return to_.is_empty(); }
  void operator()(wait_status how) noexcept {
    if (how == wait_status::reached) return to_.signal(value_);
    const loss_reason* const why = from_->loss();
    to_.poison(why != nullptr ? *why : unnamed_loss);
  }

 private:
  const From* from_;
  link_end<To> to_;
  value_type value_;
};
template <class From, class To>
link_call(const From&, link_end<To>, typename link_end<To>::value_type) -> link_call<From, To>;

template <class From, class To>
struct empty_callable<link_call<From, To>> {
  static bool is(const link_call<From, To>& of) noexcept { return of.is_empty(); }
};

/// Returns the timeline itself, also of a view, which need not outlive a link.
template <class Timeline>
const Timeline* linked_timeline(const Timeline& from) noexcept {
  return &from;
}
template <class Timeline>
const Timeline* linked_timeline(const timeline_view<Timeline>& from) noexcept {
  return &fence_access::followed(from);
}

/// What a link can begin at: it says why it is lost.
template <class From>
concept loses_with_reason = requires(const From& from) {
  { from.loss() } -> std::convertible_to<const loss_reason*>;
};
/// What a callable in the signaller can be registered with.
template <class From>
concept links_in_signaller = loses_with_reason<From> && requires(const From& from, void (*call)(wait_status)) {
  call_in_signaller(from, std::uint64_t{}, call);
};
/// A loop that takes callables for such a timeline.
template <class Loop, class From>
concept links_on_loop = loses_with_reason<From> && requires(Loop& on, const From& from, void (*call)(wait_status)) {
  on.on_reached(from, std::uint64_t{}, call);
};

}  // namespace detail

/// Signals `to` with `to_value` when `from` has reached `from_value`; poisons it if `from` is lost before. See the head
/// of this file. Returns the registration, a signaller_callback. Allocates nothing, unless `from` has no free slot and
/// may grow. Any thread may call it. Progress: as for a signaller_callback, and for the signal of `to` if it is made
/// here.
/// \param from  a fence with fence_options::callbacks, or a view of one
/// \param to    what a signaller can signal (signaller.hpp)
template <detail::links_in_signaller From, signalled_or_lost To>
[[nodiscard]] auto link(const From& from, std::uint64_t from_value, To& to,
                        typename signaller<To>::value_type to_value) noexcept {
  const auto& of = *detail::linked_timeline(from);
  return call_in_signaller(of, from_value, detail::link_call{of, detail::link_end<To>{to}, to_value});
}
/// The same for the handle of a signaller, which the link keeps: it poisons the timeline if it is destroyed without
/// having signalled it. Asserts that the signaller holds a timeline.
template <detail::links_in_signaller From, signalled_or_lost To>
[[nodiscard]] auto link(const From& from, std::uint64_t from_value, signaller<To>&& to,
                        typename signaller<To>::value_type to_value) noexcept {
  const auto& of = *detail::linked_timeline(from);
  return call_in_signaller(of, from_value,
                           detail::link_call{of, detail::link_end<signaller<To>>{std::move(to)}, to_value});
}

/// What can't be copied would be gone before the link has signalled.
template <detail::needs_name From, class To, class Value>
void link(const From&& gone, std::uint64_t from_value, To&& to, Value to_value) = delete;

/// The same on a loop: a thread that runs `on` signals. Returns what the loop's on_reached() returns, and throws what
/// that throws; a signaller poisons its timeline then.
/// \param from  what the loop's on_reached() takes, and has loss()
template <class Loop, detail::loses_with_reason From, signalled_or_lost To>
  requires detail::links_on_loop<Loop, From>
[[nodiscard]] auto link(Loop& on, const From& from, std::uint64_t from_value, To& to,
                        typename signaller<To>::value_type to_value) {
  const auto& of = *detail::linked_timeline(from);
  return on.on_reached(of, from_value, detail::link_call{of, detail::link_end<To>{to}, to_value});
}
template <class Loop, detail::loses_with_reason From, signalled_or_lost To>
  requires detail::links_on_loop<Loop, From>
[[nodiscard]] auto link(Loop& on, const From& from, std::uint64_t from_value, signaller<To>&& to,
                        typename signaller<To>::value_type to_value) {
  const auto& of = *detail::linked_timeline(from);
  return on.on_reached(of, from_value, detail::link_call{of, detail::link_end<signaller<To>>{std::move(to)}, to_value});
}

/// A looked_at without a name, or what can't be copied, would be gone before the link has signalled.
template <class Loop, detail::needs_name Timeline, class To, class Value>
void link(Loop& on, const Timeline&& gone, std::uint64_t from_value, To&& to, Value to_value) = delete;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_LINK_HPP
