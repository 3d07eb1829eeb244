// SPDX-License-Identifier: BSL-1.0
//
// log_collector: reads what is new in the logs of several queues, for a tool that follows what happens.
//
//   log_collector collector;                                    once for each queue: collector.add(queue_id{3}, queue);
//   collector.collect(trace);                                   now and then, or when a hub has been notified
//
// It also collects what threads said that they have queued: collector.add(queue_id{3}, events); see queued_events.hpp.
// And it collects the work that engines executed: collector.add(queue_id{3}, work); see executed_work.hpp. Threads that
// are recorded are read like queues: collector.add(recorder); see thread_recorder.hpp.
//
// Logs of another process's queues are read beside those of its own: collector.add(reader), with a shared_logs_reader
// (log/shared_logs.hpp), which gives that process's queues and fences the numbers that they have here. So the sink is
// told one sequence, and the number of a queue says of which process it is.
//
// One round:
//
//   1. The collector asks each log, also those of queued events and of work, whether it has something new. That takes
//      two loads at most, and a few more for logs of other processes.
//   2. If any has, one heavy barrier makes visible what was appended to it since. If none has, the round ends here.
//      On a symmetric platform, and where the system refuses it, the barrier has no effect: what it would have made
//      visible may be found only by a later round.
//   3. It reads, each to its end or as far as collect() is allowed to: of the queues' logs those that had something
//      new, and of the queued events and the work all. First it reads what was queued, then the work, and then of each
//      queue the waits before the signals; those of other processes last. For these it also looks for new logs.
//
// It tells what it finds to a sink (trace_sink in recorder.hpp):
//
//   sink.template on_executed<Clock>(queue, entry)              each entry, in the order of its log
//   sink.on_lost(queue, log, first_sequence, count)             entries that were overwritten, at their place
//   sink.on_queued(queue, event, fence, value, nanoseconds)     each queued event, if the sink has this function
//   sink.on_queued_lost(queue, count)                           queued events that are missing, likewise
//   sink.template on_work<Clock>(queue, name, begin, end)       each piece of work, if the sink has this function
//   sink.on_work_lost(queue, count)                             pieces that are missing, likewise
//
// A sink may throw. The exception goes through collect(). In that log, the next round begins with the entry, or the
// loss, at which the sink threw, tells it again, and goes on with what follows. So nothing is lost, and only what the
// sink did not take is told twice. A sink that does not throw is told each entry once.
//
// The verbose log is not collected.
//
// Not promised: that a round finds an entry that has just been appended to a log that showed nothing new yet (a later
// round finds it); any order between entries of different logs.
#ifndef TIDEMARK_QUEUE_LOG_COLLECTOR_HPP
#define TIDEMARK_QUEUE_LOG_COLLECTOR_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../fence/timeline.hpp"
#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../log/tools/log_directory.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "executed_work.hpp"
#include "queue.hpp"
#include "queue_log.hpp"
#include "queued_events.hpp"
#include "recorder.hpp"
#include "thread_recorder.hpp"

namespace tidemark {

/// What one round has found.
struct collected_entries {
  std::size_t logs = 0;           ///< How many logs had something new, or something that a sink had not taken.
  std::uint64_t entries = 0;      ///< Entries given to the sink.
  std::uint64_t lost = 0;         ///< Lost entries that the sink was called for, with on_lost().
  std::uint64_t queued = 0;       ///< Queued events given to the sink.
  std::uint64_t queued_lost = 0;  ///< How many queued events are missing, even if the sink has no on_queued_lost().
  std::uint64_t work = 0;         ///< Pieces of work given to the sink.
  std::uint64_t work_lost = 0;    ///< How many pieces of work are missing, likewise.

  friend bool operator==(const collected_entries&, const collected_entries&) = default;
};

namespace detail {

/// A reader of the logs of another process, such as shared_logs_reader.
template <class Logs, class Platform>
concept has_directory = requires(Logs& logs) {
  { logs.followed() } -> std::same_as<log_directory_reader<Platform>&>;
};

}  // namespace detail

/// Collects the logs of several queues; see the head of this file. One thread at a time may use a collector. That
/// thread need not be one of the queues' threads. Asserts that no sink calls the collector that calls it. Otherwise
/// that call does nothing.
/// \tparam Platform  the platform of the queues
/// \tparam Clock     the clock of the queues; the sink is called with it as a template argument
template <platform Platform = native_platform, log_clock Clock = default_log_clock>
class basic_log_collector {
 public:
  /// Adds a queue: from now on collect() reads both logs of it, from the oldest entries that they still have. The sink
  /// gets `id` with each entry. The queue must have a log_recorder. Only the queue's owner may call it. The collector
  /// may outlive the queue. Of a queue that is added twice the sink gets each entry twice. Allocates, and throws what
  /// the allocation throws; then the queue is not added.
  template <class Progress, class Notifier>
    requires std::same_as<timeline_platform<Progress>, Platform>
  void add(queue_id id, basic_queue<Progress, Clock, Notifier>& from) {
    if (!is_free()) return;
    if (logs_.capacity() - logs_.size() < 2) logs_.reserve(2 * logs_.size() + 2);
    logs_.push_back({id, fence_log_type::wait, from.wait_log()});
    logs_.push_back({id, fence_log_type::signal, from.signal_log()});
  }

  /// Adds what threads say that they have queued for a queue: from now on collect() reads it, from the oldest event
  /// that its log still has, if the sink has on_queued(). Only the owner of `from` may call it. `from` must outlive the
  /// collector, or be removed. Otherwise like the other add().
  void add(queue_id id, const basic_queued_events<Platform, Clock>& from) {
    if (is_free()) queued_.push_back({id, from.reader()});
  }

  /// Adds the work that an engine executes for a queue: from now on collect() reads it, from the oldest piece that its
  /// log still has, if the sink has on_work(). Only the owner of `from` may call it. The collector may outlive `from`.
  /// Otherwise like the add() before.
  void add(queue_id id, basic_executed_work<Platform, Clock>& from) {
    if (is_free()) work_.push_back({id, from.reader()});
  }

  /// Adds a thread that is recorded, with the recorder's number: from now on collect() reads what it has queued and
  /// what it has executed. `from` must outlive the collector, or be removed. Otherwise like the first add().
  void add(basic_thread_recorder<Platform, Clock>& from) {
    if (!is_free()) return;
    if (logs_.capacity() - logs_.size() < 2) logs_.reserve(2 * logs_.size() + 2);
    add(from.id(), from.queued());
    logs_.push_back({from.id(), fence_log_type::wait, from.wait_log()});
    logs_.push_back({from.id(), fence_log_type::signal, from.signal_log()});
  }

  /// Adds the logs of another process's queues, which a shared_logs_reader has (log/shared_logs.hpp): from now on
  /// collect() reads those of waits and of signals, from the oldest entries that they still have. The sink gets the
  /// numbers that the reader gives to that process's queues and fences; nothing else should have these. That process
  /// must use the same clock, which is not checked. The reader must outlive the collector, or be removed, and nobody
  /// else may use it meanwhile. Otherwise like the first add().
  template <detail::has_directory<Platform> Logs>
  void add(Logs& from) {
    if (is_free()) others_.push_back({&from.followed()});
  }
  /// Removes it, if it was added. What was not collected of it is not told any more. Allocates nothing.
  template <detail::has_directory<Platform> Logs>
  void remove(Logs& from) {
    if (is_free()) std::erase_if(others_, [&](const other& one) { return one.from == &from.followed(); });
  }

  /// Removes what was added with this id, if there is anything. What was not collected of it is not told any more.
  /// Allocates nothing, but may free logs.
  void remove(queue_id id) {
    if (!is_free()) return;
    std::erase_if(logs_, [&](const log& one) { return one.id == id; });
    std::erase_if(queued_, [&](const auto& one) { return one.id == id; });
    std::erase_if(work_, [&](const auto& one) { return one.id == id; });
  }

  /// Makes one round, and returns what it told. What a round told before its sink threw is not counted. It reads at
  /// most `most` entries of each log, and up to 64 more, so that a producer that is faster than the sink can't keep the
  /// caller here; the next round goes on. Allocates nothing, but may free logs that were replaced. Progress: as the
  /// sink's functions; makes at most one heavy barrier.
  template <trace_sink<Clock> Sink>
  collected_entries collect(Sink& sink, std::uint64_t most = 65'536) {
    collected_entries found;
    if (!is_free()) return found;
    const collection here{is_collecting_};
    for (log& one : logs_) {
      one.changed = one.untold || one.reader.has_new();
      found.logs += one.changed ? 1 : 0;
    }
    if constexpr (queued_sink<Sink>) {
      for (const auto& one : queued_) found.logs += one.has_new() ? 1U : 0U;
    }
    if constexpr (work_sink<Sink, Clock>) {
      for (const auto& one : work_) found.logs += one.has_new() ? 1U : 0U;
    }
    for (other& one : others_) found.logs += one.look();
    if (found.logs == 0) return found;
    // Before another log needs the batch.
    for (log& one : logs_) {
      if (one.untold) tell(one, sink, found);
    }
    for (other& one : others_) {
      if (one.untold) tell(one, sink, found);
    }
    // (Q18): on the executors' threads the effect of (G2) behind their last (L5), which (L6) of this thread then finds.
    Platform::heavy_barrier();
    if constexpr (queued_sink<Sink>) {
      for (auto& one : queued_) tell_queued(one, sink, most, found);
    }
    if constexpr (work_sink<Sink, Clock>) {
      for (auto& one : work_) tell_work(one, sink, most, found);
    }
    for (log& one : logs_) {
      if (one.changed) read(one, one.reader, sink, most, found);
    }
    for (other& one : others_) read(one, sink, most, found);
    return found;
  }

 private:
  /// Marks a round as under way. The mark is taken back where a sink throws, too.
  class collection {
   public:
    explicit collection(bool& is_collecting) noexcept : is_collecting_{is_collecting} { is_collecting_ = true; }
    collection(const collection&) = delete;
    collection& operator=(const collection&) = delete;
    ~collection() { is_collecting_ = false; }

   private:
    bool& is_collecting_;
  };
  bool is_free() const noexcept {
    TIDEMARK_ASSERT(!is_collecting_, "a sink called the collector that calls it");
    return !is_collecting_;
  }

  struct log {
    queue_id id;
    fence_log_type type;
    queue_log_reader<Platform> reader;
    bool changed = false;  ///< in this round
    /// batch_ has entries of this log that were not told: of one log at most, and between rounds only after a sink
    /// threw.
    bool untold = false;
  };

  /// The logs of another process, and which of them is read.
  struct other {
    /// Returns how many logs have something new, or something that a sink had not taken.
    std::size_t look() noexcept {
      from->look();
      std::size_t changed = untold ? 1 : 0;
      for (std::size_t i = 0; i < from->logs(); ++i) changed += is_collected(i) && from->has_new(i) ? 1U : 0U;
      return changed;
    }
    bool is_collected(std::size_t number) const noexcept {
      const fence_log_type of = from->at(number).type;
      return of == fence_log_type::wait || of == fence_log_type::signal;
    }

    detail::log_directory_reader<Platform>* from;
    queue_id id{};
    fence_log_type type{};
    bool untold = false;  ///< as that of a log
  };
  /// One log of another process, as a reader.
  struct other_reader {
    bool has_new() const noexcept { return from->has_new(number); }
    auto read(std::span<fence_log_entry> buffer) noexcept { return from->read(number, buffer); }

    detail::log_directory_reader<Platform>* from;
    std::size_t number;
  };

  /// Entries of one log on their way to the sink.
  struct batch {
    std::array<fence_log_entry, 64> entries;
    std::size_t size = 0;
    std::size_t told = 0;
    std::uint64_t lost = 0;  ///< before them, and not told yet
    std::uint64_t first_sequence = 0;
  };

  /// A log whose entries are told one by one, and the entry that is on its way to the sink.
  template <class Log>
  struct told_log {
    bool has_new() const noexcept { return untold != 0 || lost != 0 || reader.has_new(); }

    queue_id id;
    typename Log::reader_type reader;
    std::array<typename Log::reader_type::entry_type, 1> next{};
    std::size_t untold = 0;  ///< how many of `next`
    std::uint64_t lost = 0;  ///< before it, and not told yet
  };
  using queued_log = told_log<basic_queued_events<Platform, Clock>>;
  using work_log = told_log<basic_executed_work<Platform, Clock>>;

  /// Calls `lose(count)` and `tell(entry)` for what is new. A step counts as done when the call for it has returned, as
  /// in tell(). If the call throws, the next round makes it again.
  template <class Log, class Lose, class Tell>
  static void tell_each(told_log<Log>& from, std::uint64_t most, const Lose& lose, const Tell& tell) {
    for (std::uint64_t told = 0; told < most; ++told) {
      if (from.untold == 0 && from.lost == 0) {
        const auto brought = from.reader.read(from.next);
        from.untold = brought.entries.size();
        from.lost = brought.lost;
        if (from.untold == 0 && from.lost == 0) return;
      }
      if (from.lost != 0) {
        lose(from.lost);
        from.lost = 0;
      }
      if (from.untold == 0) continue;
      tell(from.next[0]);
      from.untold = 0;
    }
  }
  template <class Sink>
  static void tell_queued(queued_log& from, Sink& sink, std::uint64_t most, collected_entries& found) {
    const auto lose = [&](std::uint64_t count) {
      if constexpr (requires { sink.on_queued_lost(from.id, count); }) sink.on_queued_lost(from.id, count);
      found.queued_lost += count;
    };
    tell_each(from, most, lose, [&](const queued_event& event) {
      const std::uint64_t time = event.timestamp == 0 ? 0 : Clock::to_nanoseconds(event.timestamp);
      sink.on_queued(from.id, event.event, event.fence, event.fence_value, time);
      ++found.queued;
    });
  }
  template <class Sink>
  static void tell_work(work_log& from, Sink& sink, std::uint64_t most, collected_entries& found) {
    const auto lose = [&](std::uint64_t count) {
      if constexpr (requires { sink.on_work_lost(from.id, count); }) sink.on_work_lost(from.id, count);
      found.work_lost += count;
    };
    tell_each(from, most, lose, [&](const executed_piece& piece) {
      sink.template on_work<Clock>(from.id, piece.name, piece.begin, piece.end);
      ++found.work;
    });
  }

  template <class Sink>
  void read(other& from, Sink& sink, std::uint64_t most, collected_entries& found) {
    for (std::size_t i = 0; i < from.from->logs(); ++i) {
      if (!from.is_collected(i)) continue;
      from.id = from.from->at(i).queue;
      from.type = from.from->at(i).type;
      other_reader reader{from.from, i};
      read(from, reader, sink, most, found);
    }
  }
  template <class Log, class Reader, class Sink>
  void read(Log& from, Reader& reader, Sink& sink, std::uint64_t most, collected_entries& found) {
    for (std::uint64_t batches = 0; batches <= most / batch_.entries.size() && reader.has_new(); ++batches) {
      const auto brought = reader.read(batch_.entries);
      batch_.size = brought.entries.size();
      batch_.told = 0;
      batch_.lost = brought.lost;
      batch_.first_sequence = brought.first_sequence;
      from.untold = true;
      tell(from, sink, found);
    }
  }

  /// Each step is noted when the sink has returned from it.
  template <class Log, class Sink>
  void tell(Log& from, Sink& sink, collected_entries& found) {
    if (batch_.lost != 0) {
      sink.on_lost(from.id, from.type, batch_.first_sequence - batch_.lost, batch_.lost);
      found.lost += std::exchange(batch_.lost, 0);
    }
    for (; batch_.told < batch_.size; ++batch_.told, ++found.entries) {
      sink.template on_executed<Clock>(from.id, batch_.entries[batch_.told]);
    }
    from.untold = false;
  }

  std::vector<log> logs_;
  std::vector<queued_log> queued_;
  std::vector<work_log> work_;
  std::vector<other> others_;
  batch batch_;
  bool is_collecting_ = false;
};

/// For tidemark::queue, and for queues with another progress on the same platform, or with another notifier.
using log_collector = basic_log_collector<>;

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_LOG_COLLECTOR_HPP
