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
// Not promised: entries that have just been appended to a log which showed nothing new yet; they are the next round's.
// Nor any order between logs.
#ifndef TIDEMARK_LOG_COLLECTOR_HPP
#define TIDEMARK_LOG_COLLECTOR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
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

/// For one thread at a time, which need not be the queues'. Allocates in add() only.
/// \tparam Platform  of the queues
/// \tparam Clock     of the queues, for the sink
template <class Platform = native_platform, class Clock = default_log_clock>
class basic_log_collector {
 public:
  /// From now on both logs of a queue are read, from the oldest entries that they still have on. The sink will know it by
  /// this number. By the queue's owner; the collector may outlive the queue.
  template <class Notifier>
  void add(std::uint32_t number, basic_queue<Platform, Clock, Notifier>& from) {
    logs_.reserve(logs_.size() + 2);
    logs_.push_back({number, fence_log_type::waits, from.wait_log(), false});
    logs_.push_back({number, fence_log_type::signals, from.signal_log(), false});
  }

  /// Forgets the queues of this number, and what was not collected of them.
  void remove(std::uint32_t number) {
    std::erase_if(logs_, [&](const log& one) { return one.number == number; });
  }

  /// One round. Of each log at most `most` entries and a few are read, so that a producer that is faster than the sink
  /// can't keep the caller here; the next round goes on. Progress: one heavy barrier at most, otherwise the sink's.
  template <class Sink>
  collected_entries collect(Sink& sink, std::uint64_t most = 65'536) {
    collected_entries found;
    for (log& one : logs_) {
      one.changed = one.reader.has_new();
      found.logs += one.changed ? 1 : 0;
    }
    if (found.logs == 0) return found;
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
    bool changed;  ///< in this round
  };

  template <class Sink>
  static void read(log& from, Sink& sink, std::uint64_t most, collected_entries& found) {
    std::array<fence_log_entry, 64> buffer;
    for (std::uint64_t batches = 0; batches <= most / buffer.size() && from.reader.has_new(); ++batches) {
      const auto batch = from.reader.read(buffer);
      if (batch.lost != 0) sink.on_lost(from.number, from.type, batch.first_sequence - batch.lost, batch.lost);
      for (const fence_log_entry& entry : batch.entries) sink.template on_executed<Clock>(from.number, entry);
      found.entries += batch.entries.size();
      found.lost += batch.lost;
    }
  }

  std::vector<log> logs_;
};

/// For tidemark::queue, and queues that differ from it in their notifier.
using log_collector = basic_log_collector<>;

}  // namespace tidemark

#endif  // TIDEMARK_LOG_COLLECTOR_HPP
