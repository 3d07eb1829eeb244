// SPDX-License-Identifier: BSL-1.0
//
// What a program tells a hub beside fences and queues, what it gets back, and what a hub counts (hub.hpp).
#ifndef TIDEMARK_QUEUE_HUB_RESULTS_HPP
#define TIDEMARK_QUEUE_HUB_RESULTS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../log/ids.hpp"
#include "../platform/names.hpp"
#include "hub_notifier.hpp"
#include "notifier.hpp"

namespace tidemark {

/// Which calls of notify_all() look at a fence. Every call looks at the native fences, but only notify_all(true) looks
/// at the legacy ones [A62]. All other notifications treat both kinds alike.
enum class fence_kind { native, legacy };

/// One fence of a batch.
struct fence_update {
  fence_id fence;
  std::uint64_t value;
};

/// What a hub counts.
enum class hub_event {
  pass,         ///< A pass over the marks.
  scan,         ///< A scan of all fences that was asked for.
  overrun,      ///< A scan of the fences of a device because entries of a queue were lost.
  value_read,   ///< A fence was released by its current value.
  log_release,  ///< An entry was served by the value in the log.
  stale,        ///< A programming error: a fence or a queue was named that is not in the hub [A57].
  skipped,      ///< An entry in a log was left out: its fence is not in the hub, or no longer. That is no error.
  cancelled,    ///< An entry in a log was left out: what it stands for was cancelled [A124].
};

template <>
inline constexpr auto detail::names_of<hub_event> =
    detail::names("pass", "scan", "overrun", "value_read", "log_release", "stale", "skipped", "cancelled");
/// How many kinds of events there are.
inline constexpr std::size_t hub_events = 8;

struct hub_add_options {
  fence_kind kind = fence_kind::native;
  device_id device{};  ///< The device that the fence belongs to.
};
enum class hub_add_status { added, no_space };

template <>
inline constexpr auto detail::names_of<hub_add_status> = detail::names("added", "no_space");
/// What add() returns. It converts to true if the fence was added. If not, `fence.id` is 0, which no hub ever gives to
/// a fence.
template <class Fence>
struct [[nodiscard]] hub_add_result {
  hub_add_status status;
  logged_fence<Fence> fence;

  explicit operator bool() const noexcept { return status == hub_add_status::added; }
};

struct hub_attach_options {
  notify_style style = notify_style::by_queue;  ///< Used only for a queue with a hub_notifier.
  std::uint32_t engine = 0;                     ///< The engine that the queue runs on, for notify_engine().
  device_id device{};                           ///< The device of the queue and of its progress fence.
};
enum class hub_attach_status { attached, no_space };

template <>
inline constexpr auto detail::names_of<hub_attach_status> = detail::names("attached", "no_space");
/// What attach() returns. It converts to true if the queue was attached. If not, `queue` has no meaning: the number in
/// it may be that of another queue.
struct [[nodiscard]] hub_attach_result {
  hub_attach_status status;
  queue_id queue{};                  ///< For notify_queue().
  std::optional<fence_id> progress;  ///< The progress fence, if it was added.

  explicit operator bool() const noexcept { return status == hub_attach_status::attached; }
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_HUB_RESULTS_HPP
