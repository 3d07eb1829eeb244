// SPDX-License-Identifier: BSL-1.0
//
// signal_origin: which queue signalled a fence, and when. A notification that names a fence does not say it; the logs
// of the queues do. A hub looks it up where its service asks for it.
//
//   const auto tell = [&](const tidemark::signal_origin& origin) noexcept { ... };
//   using service = tidemark::tells_origins<tidemark::self_serving, decltype(tell)>;
//   tidemark::basic_hub<tidemark::native_platform, service> hub{service{tell}};
//   hub.notify(output);          releases the waiters that are due, and then calls tell()
//
// The hub searches the signal logs of all queues of the fence's device, each from its newest entry back to the newest
// one of the fence that has a time stamp. Of these it takes the one with the greatest value; of equal values, the one
// that was executed first. An entry without a time stamp may be of a write that was skipped. It counts only if no other
// one is found, so a log without time stamps is searched to its oldest entry.
//
// Invariant: the search changes nothing. What the hub serves from the logs, and when, does not depend on it.
//
// Not promised: that an older signal of the fence is found; or one whose entry was overwritten, or lies in a log that
// was replaced and that the hub has read to its end; that the times of different queues are comparable.
#ifndef TIDEMARK_HUB_SIGNAL_ORIGIN_HPP
#define TIDEMARK_HUB_SIGNAL_ORIGIN_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "../log/fence_log.hpp"
#include "../log/ids.hpp"

namespace tidemark {

/// Where the newest signal of a fence came from, as the logs say.
struct signal_origin {
  fence_id fence{};
  /// The queue that signalled the fence. Nothing if no log of the fence's device has an entry of it: it was signalled
  /// without a queue, or by one of another device; or the entry was overwritten or cancelled, or lies in a log that was
  /// replaced and that the hub has read to its end. The rest has no meaning then.
  std::optional<queue_id> queue;
  engine_id engine{};                          ///< The engine that the queue runs on.
  fence_log_entry entry{};                     ///< The signal: its value, and in `end_timestamp` when it was executed.
  std::span<const fence_log_entry> last = {};  ///< The newest entries of the queue's signal log, the newest one last.
};

/// How many entries `signal_origin::last` has at most.
inline constexpr std::size_t most_last_entries = 16;

/// A service of a hub that asks where signals came from. A hub refuses a service whose on_signalled() may throw.
template <class Service>
concept asks_for_origins = requires(Service& service, const signal_origin& origin) {
  { service.on_signalled(origin) } noexcept;
};

/// A service that does what `Service` does, and tells the origins of signals to a callable of the program. The hub
/// calls it within a pass, in the thread that serves, once for each fence that was named since the last pass, after the
/// waiters of all these were released. It must not throw, and must not serve, remove or detach anything of the hub.
template <class Service, std::invocable<const signal_origin&> Listener>
class tells_origins : public Service {
 public:
  /// \param to  must outlive the hub
  explicit tells_origins(Listener& to, Service service = {}) noexcept : Service{std::move(service)}, to_{&to} {}
  /// Calls the callable. The hub calls this.
  void on_signalled(const signal_origin& origin) noexcept { (*to_)(origin); }

 private:
  Listener* to_;
};

namespace detail {

/// Whether a service that can be told an origin is one that asks for it.
template <class Service>
concept has_noexcept_listener = asks_for_origins<Service> || !requires(Service& service, const signal_origin& origin) {
  service.on_signalled(origin);
};

/// Returns the newest signal of a fence that a log has with a time stamp; if there is none, the newest one without. The
/// cursor of its reader stays where it is.
template <class Reader>
std::optional<fence_log_entry> newest_signal(const Reader& log, fence_id of,
                                             std::span<fence_log_entry> buffer) noexcept {
  std::optional<fence_log_entry> newest_untimed;
  std::uint64_t end = UINT64_MAX;
  for (;;) {
    const auto batch = log.look_back(buffer, end);
    if (batch.entries.empty()) return newest_untimed;
    for (std::size_t left = batch.entries.size(); left-- > 0;) {
      const fence_log_entry& entry = batch.entries[left];
      if (entry.fence != of || is_cancelled(entry)) continue;
      if (has_timestamp(entry)) return entry;
      if (!newest_untimed) newest_untimed = entry;
    }
    end = batch.first_sequence;
  }
}

/// Returns whether `one` is more likely than `other` the signal that brought the fence where it is.
inline bool is_better_origin(const fence_log_entry& one, const fence_log_entry& other) noexcept {
  if (has_timestamp(one) != has_timestamp(other)) return has_timestamp(one);
  if (one.fence_value != other.fence_value) return one.fence_value > other.fence_value;
  return one.end_timestamp < other.end_timestamp;
}

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_HUB_SIGNAL_ORIGIN_HPP
