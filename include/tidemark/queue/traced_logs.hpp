// SPDX-License-Identifier: BSL-1.0
//
// traced_logs: the logs of all queues of a device. When a trace is switched on, they grow first, all in one call.
//
//   tidemark::traced_logs logs;                                 one for each device
//   logs.add(tidemark::queue_id{3}, queue);                     beside collector.add(tidemark::queue_id{3}, queue)
//   logs.grow(4096);                                            then let the tool read
//   logs.remove(tidemark::queue_id{3});                         before the queue is destroyed
//
// Either all logs grow or none does: all memory is allocated before the first queue is told. Each executor goes over to
// its new logs with its next entries, and readers go on in them; see queue_log.hpp. A log that has as many entries
// already stays.
//
// Not promised: that the executors go over at the same time.
#ifndef TIDEMARK_QUEUE_TRACED_LOGS_HPP
#define TIDEMARK_QUEUE_TRACED_LOGS_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../platform/platform.hpp"
#include "queue.hpp"
#include "queue_log.hpp"

namespace tidemark {

/// The logs of several queues, to be grown in one call; see the head of this file. Its owner must be the owner of all
/// of the queues, since it changes their logs: one thread at a time.
/// \tparam Platform  the platform of the queues
template <platform Platform = native_platform>
class basic_traced_logs {
 public:
  /// Adds a queue with the logs of its waits and signals, under a number that need not be its own. The queue must stay
  /// where it is until it is removed. Of an engine_queue add timeline(). Allocates, and throws what the allocation
  /// throws; then the queue is not added.
  template <class Progress, class Clock, class Notifier, class Recorder>
    requires(basic_queue<Progress, Clock, Notifier, Recorder>::has_logs &&
             std::same_as<typename basic_queue<Progress, Clock, Notifier, Recorder>::platform, Platform>)
  void add(queue_id id, basic_queue<Progress, Clock, Notifier, Recorder>& from) {
    queues_.push_back({id, {&from.log_to_grow(fence_log_type::wait), &from.log_to_grow(fence_log_type::signal)}});
  }

  /// Removes what was added with this number, if there is anything. Its logs stay as they are.
  void remove(queue_id id) noexcept {
    std::erase_if(queues_, [&](const traced& one) { return one.id == id; });
  }

  /// Gives each log `entries` entries, if it has fewer. Returns how many logs grow, from their queues' next entries on.
  /// Asserts that a log can have this number, 2 to 2^31 - 1. Otherwise nothing grows. Allocates, and throws what the
  /// allocation throws; then nothing grows, either. The first entry in each log clears it, which takes time in
  /// proportion to its size.
  std::size_t grow(std::size_t entries = 4096) {
    std::vector<std::pair<log*, prepared>> made;
    made.reserve(2 * queues_.size());
    for (const traced& one : queues_) {
      for (log* const each : one.logs) {
        if (each->entries() >= entries) continue;
        prepared next = each->prepare(entries);
        if (!next) return 0;
        made.emplace_back(each, std::move(next));
      }
    }
    for (auto& [each, next] : made) each->replace(std::move(next));
    return made.size();
  }

 private:
  using log = basic_queue_log<Platform>;
  using prepared = typename log::prepared;
  struct traced {
    queue_id id;
    std::array<log*, 2> logs;
  };

  std::vector<traced> queues_;
};

/// For tidemark::queue, and for queues with another progress on the same platform, or with another notifier.
using traced_logs = basic_traced_logs<>;

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_TRACED_LOGS_HPP
