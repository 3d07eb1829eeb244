// SPDX-License-Identifier: BSL-1.0
//
// recorder: where a queue writes the waits that it got past, the signals that it executed, and what was cancelled of
// both.
//
//   log_recorder      a log of the waits, one of the signals, and a verbose one on request. The default
//   direct_recorder   tells each operation to a sink at once, and keeps no log
//   no_recorder       keeps no log, and tells nobody
#ifndef TIDEMARK_QUEUE_RECORDER_HPP
#define TIDEMARK_QUEUE_RECORDER_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/platform.hpp"
#include "log_reservation.hpp"
#include "queue_log.hpp"

namespace tidemark {

/// What a queue tells its waits and signals to. The queue's executor calls both functions, in the order of the
/// operations. They must not throw, and must take no longer than an entry of a log: they run in the middle of a wait or
/// a signal, and an engine may put off the wake-ups of other threads meanwhile.
///
/// A recorder that has a function log() is taken for one with logs (basic_queue::has_logs). It then needs all that
/// log_recorder has, which is not checked.
template <class Recorder>
concept recorder = requires(Recorder& made, const fence_log_entry& entry) {
  { made.record_wait(entry) } noexcept;
  { made.record_signal(entry) } noexcept;
};

/// What takes the entries of queues: a `trace` (trace.hpp), or a type of the program's own. A log_collector and a
/// direct_recorder tell entries to it.
///
///   sink.template on_executed<Clock>(queue, entry)          a wait or a signal; its time stamps are ticks of `Clock`.
///                                                           If is_cancelled(entry) is true, it has no times
///   sink.on_lost(queue, log, first_sequence, count)         entries that were overwritten before they were read
template <class Sink, class Clock = default_log_clock>
concept trace_sink = log_clock<Clock> && requires(Sink& sink, queue_id queue, const fence_log_entry& entry,
                                                  fence_log_type log, std::uint64_t number) {
  sink.template on_executed<Clock>(queue, entry);
  sink.on_lost(queue, log, number, number);
};

/// How many entries a log has by default: as many as fit into 4 KiB with the log's header.
inline constexpr std::size_t default_log_entries = 84;

/// The recorder of a queue whose operations are known without a log, such as a queue that the program itself steps. The
/// executor tells each operation to the sink at once. Nothing is allocated.
///
/// The sink must not throw here: wait() and signal() of a queue are noexcept, so an exception ends the program.
/// on_lost() is never called. If a sink serves several queues, all their executors call it, possibly at the same time.
/// \tparam Clock  must be the queue's clock, which is not checked: the sink takes the time stamps for ticks of `Clock`
template <class Sink, log_clock Clock = default_log_clock>
  requires trace_sink<Sink, Clock>
class direct_recorder {
 public:
  /// \param sink  must outlive the queue
  /// \param id    how the sink knows the queue
  direct_recorder(Sink& sink, queue_id id) noexcept : sink_{&sink}, id_{id} {}
  void record_wait(const fence_log_entry& entry) noexcept { sink_->template on_executed<Clock>(id_, entry); }
  void record_signal(const fence_log_entry& entry) noexcept { sink_->template on_executed<Clock>(id_, entry); }

 private:
  Sink* sink_;
  queue_id id_;
};

/// The recorder of a queue without logs whose operations nobody wants to know, such as a legacy_queue
/// (engine/engine_queue.hpp). Nothing is allocated.
struct no_recorder {
  void record_wait(const fence_log_entry&) noexcept {}
  void record_signal(const fence_log_entry&) noexcept {}
};

/// The default recorder: two logs, and a verbose one once it is enabled.
template <platform Platform>
class log_recorder {
 public:
  /// Allocates, and throws what the allocation throws.
  /// \param entries  of each log: 2 to 2^31 - 1. Asserts that; otherwise it takes the nearest of these
  explicit log_recorder(std::size_t entries = default_log_entries)
      : waits_{fence_log_type::wait, entries}, signals_{fence_log_type::signal, entries} {}

  /// Appends the entry to the log of the waits or of the signals. For the executor. Progress: as that of
  /// basic_queue_log::append().
  void record_wait(const fence_log_entry& entry) noexcept { waits_.append(entry); }
  void record_signal(const fence_log_entry& entry) noexcept { signals_.append(entry); }
  /// The same for an entry that may have been reserved; see basic_queue_log::commit().
  void commit_wait(const log_reservation& reserved, const fence_log_entry& entry) noexcept {
    waits_.commit(reserved, entry);
  }
  void commit_signal(const log_reservation& reserved, const fence_log_entry& entry) noexcept {
    signals_.commit(reserved, entry);
  }
  /// Returns which turn must be committed next in the log of the waits, and which one in that of the signals; see
  /// log_reservation.hpp. For the executor.
  [[nodiscard]] std::array<std::uint64_t, 2> next_turns() const noexcept {
    return {waits_.next_turn(), signals_.next_turn()};
  }
  /// Writes `entry()` to the verbose log if that event is turned on. `entry()` must not throw, and is not called
  /// otherwise. For the executor.
  template <class Entry>
  void record_verbose(verbose_events event, const Entry& entry) noexcept {
    // (Q16): acquire, pairs with (Q17): the log is there as it was made.
    const std::uint32_t wanted = wanted_.load(std::memory_order_acquire);
    if ((wanted & static_cast<std::uint32_t>(event)) != 0) verbose_.load()->append(entry());
  }

  /// Returns which events are turned on. What the owner did before it turned them on happens-before the return. Any
  /// thread. Progress: wait-free, one load.
  [[nodiscard]] verbose_events verbose_wanted() const noexcept {
    // (Q19): acquire, pairs with (Q17): a thread that finds events turned on finds what the owner has made ready.
    return static_cast<verbose_events>(wanted_.load(std::memory_order_acquire));
  }

  /// Returns one of the logs. For the owner. Asserts that the verbose log was enabled. Otherwise this function makes an
  /// empty one, of default_log_entries: it allocates then, and throws what the allocation throws.
  basic_queue_log<Platform>& log(fence_log_type type) {
    if (type == fence_log_type::wait) return waits_;
    if (type == fence_log_type::signal) return signals_;
    TIDEMARK_ASSERT(own_verbose_, "the verbose log of a queue was never enabled");
    if (!own_verbose_) make_verbose(default_log_entries);
    return *own_verbose_;
  }

  /// Turns these events on and all others off. For the owner. Each call that turns events on makes a new verbose log of
  /// `entries` entries, which takes the place of the last one, as replace() does. It allocates, and throws what the
  /// allocation throws; then nothing is changed. Asserts that the number of entries is possible. If it is not, the
  /// events are turned on all the same: a verbose log that is there stays, and a first one gets the nearest possible
  /// number. `none` turns all events off; then the log stays, and `entries` is not used.
  void enable_verbose(verbose_events events, std::size_t entries) {
    if (events != verbose_events::none) {
      if (own_verbose_) {
        own_verbose_->replace(entries);
      } else {
        make_verbose(entries);
      }
    }
    // (Q17): release, pairs with (Q16) and (Q19).
    wanted_.store(static_cast<std::uint32_t>(events), std::memory_order_release);
  }

 private:
  void make_verbose(std::size_t entries) {
    own_verbose_ = std::make_unique<basic_queue_log<Platform>>(fence_log_type::verbose, entries);
    verbose_.store(own_verbose_.get());
  }

  basic_queue_log<Platform> waits_;
  alignas(cache_line) basic_queue_log<Platform> signals_;
  std::unique_ptr<basic_queue_log<Platform>> own_verbose_;  // the owner's
  typename Platform::template var<basic_queue_log<Platform>*> verbose_;
  typename Platform::template atomic<std::uint32_t> wanted_;  // bits of verbose_events
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_RECORDER_HPP
