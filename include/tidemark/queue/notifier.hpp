// SPDX-License-Identifier: BSL-1.0
//
// notifier: what a queue calls when a signal has a waiter due.
//
// A queue takes a fence's signal in steps: it stores the value (publish) and writes the log entry. If the value rose,
// it looks whether a waiter may be due (is_due). If so, it calls its notifier in the executor's thread. The notifier
// must see to it that the waiters are released: by itself (self_service), or by a hub that it tells (hub_notifier,
// hub.hpp).
#ifndef TIDEMARK_QUEUE_NOTIFIER_HPP
#define TIDEMARK_QUEUE_NOTIFIER_HPP

#include <concepts>
#include <cstdint>

#include "../fence/fence.hpp"
#include "../fence/fence_options.hpp"
#include "../log/ids.hpp"
#include "../platform/platform.hpp"
#include "tools/domain_access.hpp"

namespace tidemark {

/// A fence, or any other timeline, and the number by which logs and hubs know it. The fence must outlive this.
template <class Fence>
struct logged_fence {
  Fence* fence;
  fence_id id;
};
template <class Fence>
logged_fence(Fence*, fence_id) -> logged_fence<Fence>;

/// A fence whose signal can be taken in steps, so that a hub or a queue can release its waiters: `fence`,
/// `progress_fence` and their like. fence.hpp says what each step does. A hub's signal_batch() calls is_due() even if
/// publish() has returned false. None of the functions may throw, which is not checked. With self_service the fence
/// needs release_due(), too.
template <class Fence>
concept notified_fence = platform<typename Fence::platform> && requires(Fence& fence, std::uint64_t value) {
  { fence.publish(value) } -> std::same_as<bool>;
  { fence.is_due(value) } -> std::same_as<bool>;
  { fence.release_due_after_barrier() } -> std::same_as<std::size_t>;
  { fence.release_due_after_barrier(value) } -> std::same_as<std::size_t>;
};

/// What a queue calls with a fence that has a waiter due. It must not throw. `Fence` is the queue's progress. A queue
/// that signals other fences calls the notifier with these too; for them this concept is not checked.
template <class Notifier, class Fence = progress_fence>
concept notifier = requires(Notifier& notify, const logged_fence<Fence>& due) {
  { notify(due) } noexcept;
};

/// The notifier of a queue without a hub: the executor itself releases the waiters that are due, by the release_due()
/// of the fence. Progress: as that of release_due().
struct self_service {
  template <class Fence>
  void operator()(const logged_fence<Fence>& due) const noexcept {
    due.fence->release_due();
  }
};

namespace detail {

/// Whether callables that are due (signaller_callback.hpp) are the only code of the user that a signal of the fence
/// runs. False of a type that is derived from a fence, which may have functions of its own.
template <class Fence>
inline constexpr bool is_own_fence = is_of_domain<Fence>;  // a fence of a domain has no callables
template <platform Platform, fence_options Options>
inline constexpr bool is_own_fence<basic_fence<Platform, Options>> = true;
template <platform Platform, fence_options Options>
inline constexpr bool is_own_fence<basic_progress_fence<Platform, Options>> = true;

/// Calls a notifier. Before code of the user runs in it, `before_user_code()` is called.
template <class Notifier, class Fence>
void notify_telling(Notifier& notify, const logged_fence<Fence>& due, const auto& before_user_code) noexcept {
  if constexpr (!std::same_as<Notifier, self_service> || !is_own_fence<Fence>) {
    before_user_code();
    notify(due);
  } else if constexpr (is_of_domain<Fence>) {
    notify(due);
  } else {
    static_cast<void>(due.fence->release_due(before_user_code));
  }
}

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_NOTIFIER_HPP
