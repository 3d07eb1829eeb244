// SPDX-License-Identifier: BSL-1.0
//
// traced_logs: the logs of all queues of a device. When a trace is switched on, they grow first, all in one call.
//
//   tidemark::traced_logs logs;                                 one for each device
//   logs.add(tidemark::queue_id{3}, queue);                     beside collector.add(tidemark::queue_id{3}, queue)
//   logs.add(tidemark::queue_id{3}, events);                    likewise, if threads say what they have queued
//   logs.add(tidemark::queue_id{3}, work);                      likewise, if an engine says what it has executed
//   logs.grow(4096);                                            then let the tool read
//   logs.remove(tidemark::queue_id{3});                         before any of these is destroyed
//
// Either all logs grow or none does: all memory is allocated before the first queue is told. Each executor goes over to
// its new logs with its next entries, and readers go on in them; see queue_log.hpp. A log that has as many entries
// already stays. A log in memory of the program, given to set_log(), goes on in memory of the queue's own, so readers
// in other mappings (mapped_log.hpp) can't follow it.
//
// Not promised: that the executors go over at the same time.
#ifndef TIDEMARK_QUEUE_TRACED_LOGS_HPP
#define TIDEMARK_QUEUE_TRACED_LOGS_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "executed_work.hpp"
#include "queue.hpp"
#include "queue_log.hpp"
#include "queued_events.hpp"

namespace tidemark {

/// The logs of several queues, to be grown in one call; see the head of this file. Its owner must be the owner of all
/// of the queues, and of the events and the work, since it changes their logs: one thread at a time.
/// \tparam Platform  the platform of the queues
template <platform Platform = native_platform>
class basic_traced_logs {
 public:
  /// Adds a queue with the logs of its waits and signals, under a number that need not be its own. The queue must stay
  /// where it is until it is removed. Of an engine_queue add timeline(). Asserts that the queue was not added before,
  /// under any number. Otherwise nothing is added. Allocates, and throws what the allocation throws; then the queue is
  /// not added.
  template <class Progress, class Clock, class Notifier, class Recorder>
    requires(basic_queue<Progress, Clock, Notifier, Recorder>::has_logs &&
             std::same_as<typename basic_queue<Progress, Clock, Notifier, Recorder>::platform, Platform>)
  void add(queue_id id, basic_queue<Progress, Clock, Notifier, Recorder>& from) {
    add_to(queues_, {id, {&from.log_to_grow(fence_log_type::wait), &from.log_to_grow(fence_log_type::signal)}});
  }

  /// Adds what threads say that they have queued for a queue, or the work that was executed for it; each has one log.
  /// It must stay where it is until it is removed. Otherwise like the other add().
  template <class Clock>
  void add(queue_id id, basic_queued_events<Platform, Clock>& from) {
    add_to(events_, {id, {&from.log_}});
  }
  template <class Clock>
  void add(queue_id id, basic_executed_work<Platform, Clock>& from) {
    add_to(work_, {id, {&from.log_}});
  }

  /// Removes what was added with this number, if there is anything: a queue, its events, and its work. Its logs stay as
  /// they are.
  void remove(queue_id id) noexcept {
    std::erase_if(queues_, [&](const auto& one) { return one.id == id; });
    std::erase_if(events_, [&](const auto& one) { return one.id == id; });
    std::erase_if(work_, [&](const auto& one) { return one.id == id; });
  }

  /// Gives each log `entries` entries, if it has fewer. Returns how many logs grow, from their queues' next entries on.
  /// Asserts, also if no log is smaller, that a log can have this number, 2 to 2^31 - 1. Otherwise nothing grows.
  /// Allocates, and throws what the allocation throws; then nothing grows, either. The first entry in each log
  /// clears it, which takes time in proportion to its size.
  std::size_t grow(std::size_t entries = 4096) {
    if (!queue_log::can_have(entries) || !event_log::can_have(entries) || !work_log::can_have(entries)) return 0;
    auto queues = prepare(queues_, entries);
    auto events = prepare(events_, entries);
    auto work = prepare(work_, entries);
    return replace(queues) + replace(events) + replace(work);
  }

 private:
  using queue_log = basic_queue_log<Platform>;
  using event_log = detail::shared_log<Platform, queued_event>;
  using work_log = basic_queue_log<Platform, executed_piece>;
  template <class Log, std::size_t Count>
  struct traced {
    queue_id id;
    std::array<Log*, Count> logs;
  };
  template <class Log>
  using replacements = std::vector<std::pair<Log*, typename Log::prepared>>;

  template <class Log, std::size_t Count>
  static void add_to(std::vector<traced<Log, Count>>& all, const traced<Log, Count>& added) {
    const bool is_there = std::ranges::any_of(all, [&](const auto& one) { return one.logs == added.logs; });
    TIDEMARK_ASSERT(!is_there, "logs are added that are traced already");
    if (!is_there) all.push_back(added);
  }

  /// Returns a larger log for each that has fewer entries.
  /// \param entries  a number that a log can have
  template <class Log, std::size_t Count>
  static replacements<Log> prepare(const std::vector<traced<Log, Count>>& all, std::size_t entries) {
    replacements<Log> made;
    made.reserve(Count * all.size());
    for (const auto& one : all) {
      for (Log* const each : one.logs) {
        if (each->entries() < entries) made.emplace_back(each, each->prepare(entries));
      }
    }
    return made;
  }
  template <class Log>
  static std::size_t replace(replacements<Log>& made) noexcept {
    for (auto& [each, next] : made) each->replace(std::move(next));
    return made.size();
  }

  std::vector<traced<queue_log, 2>> queues_;
  std::vector<traced<event_log, 1>> events_;
  std::vector<traced<work_log, 1>> work_;
};

/// For tidemark::queue, and for queues with another progress on the same platform, or with another notifier.
using traced_logs = basic_traced_logs<>;

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_TRACED_LOGS_HPP
