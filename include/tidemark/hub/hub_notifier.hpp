// SPDX-License-Identifier: BSL-1.0
//
// hub_notifier: the notifier of a queue that belongs to a hub. basic_hub::attach() sets it, with the style in which the
// queue notifies.
#ifndef TIDEMARK_HUB_HUB_NOTIFIER_HPP
#define TIDEMARK_HUB_HUB_NOTIFIER_HPP

#include "../log/ids.hpp"
#include "../platform/platform.hpp"
#include "../queue/notifier.hpp"

namespace tidemark {

namespace detail {

/// Releases the waiters of a fence that no pass of a hub would find.
template <class Fence>
void release_here(const logged_fence<Fence>& due) noexcept {
  // (U29): for a pinned fence, as (F4): the signal comes before the search for waiters. Nothing weaker does.
  Fence::platform::full_barrier();
  due.fence->release_due_after_barrier();
}

}  // namespace detail

/// What a queue tells its hub about a signal that has a waiter due.
enum class notify_style {
  by_queue,  ///< Which queue it was: the hub serves its log alone. Of a fence of another device it tells as by_fence.
  by_fence,  ///< Which fence it was.
  by_scan,   ///< Only that some fence has a waiter due: the hub looks at all of them, legacy ones too.
};

/// Tells a hub whose waiters may be due. The hub must outlive every signal of the queue. Asserts that no signal finds a
/// waiter due before the queue is attached. Otherwise the queue's executor releases the waiters.
/// \tparam Hub  the very type of the hub, a basic_hub
template <class Hub>
class hub_notifier {
 public:
  /// Makes a notifier that belongs to no hub yet. attach() sets the hub, the style and the queue.
  hub_notifier() noexcept = default;

  /// Notifies the hub as the style says, by notify_queue(), notify(fence_id) or notify_all(true). The queue calls it in
  /// the executor's thread. Asserts that the fence is in the hub under its number. Otherwise the executor releases the
  /// waiters, and the hub counts that as stale. In a hub that serves itself the call may make passes.
  template <class Fence>
  void operator()(const logged_fence<Fence>& due) const noexcept {
    TIDEMARK_ASSERT(hub_ != nullptr, "a queue signals before it is attached to its hub");
    if (hub_ == nullptr) [[unlikely]]
      return detail::release_here(due);
    hub_->notify_due(due, style_, queue_);
  }

 private:
  friend Hub;

  hub_notifier(Hub& owner, notify_style style, queue_id own) noexcept : hub_{&owner}, style_{style}, queue_{own} {}

  Hub* hub_ = nullptr;
  notify_style style_ = notify_style::by_queue;
  queue_id queue_{};
};

namespace detail {

template <class Notifier>
inline constexpr bool is_hub_notifier = false;
template <class Hub>
inline constexpr bool is_hub_notifier<hub_notifier<Hub>> = true;

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_HUB_HUB_NOTIFIER_HPP
