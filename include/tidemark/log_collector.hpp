// SPDX-License-Identifier: BSL-1.0
//
// log_collector: reads what is new in the logs of several queues, as a tool does that follows what happens.
//
//   log_collector collector;                                    once for each queue:  collector.add(3, queue);
//   collector.collect(trace);                                   now and then, or when a hub has been notified
//
// One round (A108):
//
//   1. each log is asked by one load whether it has something new
//   2. if any has, one heavy barrier makes visible what was appended to it since; if none has, nothing is done (A109)
//   3. those that had are read to their ends, waits before signals; the others are not touched
//
// What it finds it tells to a sink in the words of trace.hpp:
//
//   sink.template on_executed<Clock>(number, entry)             each entry, in the order of its log
//   sink.on_lost(number, log, first_sequence, count)            entries that were overwritten before, at their place
//
// A sink may throw. What it throws goes through collect(); the next round begins with the entry, or the loss, at which the
// sink threw, which it is told again, and goes on with what follows. So nothing is lost, and only what the sink did not
// take is told twice. Without a sink that threw each entry is told once.
//
// Not promised: entries that have just been appended to a log which showed nothing new yet; they are the next round's.
// Nor any order between logs.
#ifndef TIDEMARK_LOG_COLLECTOR_HPP
#define TIDEMARK_LOG_COLLECTOR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fence_log.hpp"
#include "queue.hpp"

namespace tidemark {

/// What one round has found.
struct collected_entries {
  std::size_t logs = 0;  ///< that had something new
  std::uint64_t entries = 0;
  std::uint64_t lost = 0;

  friend bool operator==(const collected_entries&, const collected_entries&) = default;
};

/// For one thread at a time, which need not be the queues'. Allocates in add() only; what that throws goes through, and the
/// queue is not added.
/// \tparam Platform  of the queues
/// \tparam Clock     of the queues, for the sink
template <class Platform = native_platform, class Clock = default_log_clock>
class basic_log_collector {
 public:
  /// From now on both logs of a queue are read, from the oldest entries that they still have on. The sink will know it by
  /// this number. By the queue's owner; the collector may outlive the queue.
  template <class Notifier>
  void add(std::uint32_t number, basic_queue<Platform, Clock, Notifier>& from) {
    if (logs_.capacity() - logs_.size() < 2) logs_.reserve(2 * logs_.size() + 2);
    logs_.push_back({number, fence_log_type::waits, from.wait_log()});
    logs_.push_back({number, fence_log_type::signals, from.signal_log()});
  }

  /// Forgets the queues of this number, and what was not collected of them.
  void remove(std::uint32_t number) {
    std::erase_if(logs_, [&](const log& one) { return one.number == number; });
  }

  /// One round. Returns what it has told; what a round told before its sink threw is in no count. Of each log at most
  /// `most` entries and a few are read, so that a producer that is faster than the sink can't keep the caller here; the
  /// next round goes on. Progress: one heavy barrier at most, otherwise the sink's.
  template <class Sink>
  collected_entries collect(Sink& sink, std::uint64_t most = 65'536) {
    collected_entries found;
    for (log& one : logs_) {
      one.changed = one.untold || one.reader.has_new();
      found.logs += one.changed ? 1 : 0;
    }
    if (found.logs == 0) return found;
    // Before another log needs the batch.
    for (log& one : logs_) {
      if (one.untold) tell(one, sink, found);
    }
    // (Q18): on the executors' threads the effect of (G2) behind their last (L5), which (L6) of this thread then finds.
    Platform::heavy_barrier();
    for (log& one : logs_) {
      if (one.changed) read(one, sink, most, found);
    }
    return found;
  }

 private:
  struct log {
    std::uint32_t number;
    fence_log_type type;
    queue_log_reader<Platform> reader;
    bool changed = false;  ///< in this round
    bool untold = false;   ///< batch_ is of this log; of one at most, and between rounds only after a sink has thrown
  };

  /// Entries of one log on their way to the sink.
  struct batch {
    std::array<fence_log_entry, 64> entries;
    std::size_t size = 0;
    std::size_t told = 0;
    std::uint64_t lost = 0;  ///< before them, and not told yet
    std::uint64_t first_sequence = 0;
  };

  template <class Sink>
  void read(log& from, Sink& sink, std::uint64_t most, collected_entries& found) {
    for (std::uint64_t batches = 0; batches <= most / batch_.entries.size() && from.reader.has_new(); ++batches) {
      const auto brought = from.reader.read(batch_.entries);
      batch_.size = brought.entries.size();
      batch_.told = 0;
      batch_.lost = brought.lost;
      batch_.first_sequence = brought.first_sequence;
      from.untold = true;
      tell(from, sink, found);
    }
  }

  /// Each step is noted when the sink has returned from it.
  template <class Sink>
  void tell(log& from, Sink& sink, collected_entries& found) {
    if (batch_.lost != 0) {
      sink.on_lost(from.number, from.type, batch_.first_sequence - batch_.lost, batch_.lost);
      found.lost += std::exchange(batch_.lost, 0);
    }
    for (; batch_.told < batch_.size; ++batch_.told, ++found.entries) {
      sink.template on_executed<Clock>(from.number, batch_.entries[batch_.told]);
    }
    from.untold = false;
  }

  std::vector<log> logs_;
  batch batch_;
};

/// For tidemark::queue, and queues that differ from it in their notifier.
using log_collector = basic_log_collector<>;

}  // namespace tidemark

#endif  // TIDEMARK_LOG_COLLECTOR_HPP
