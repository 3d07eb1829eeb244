// SPDX-License-Identifier: BSL-1.0
//
// logged_queue: what a queue offers beside executing: its logs, for the queue's owner; and for the threads that record
// commands, what they must know of the logs. It is a base of basic_queue (queue.hpp).
//
//   auto signals = queue.signal_log();                         a reader, which may go to another thread
//   queue.set_log(tidemark::fence_log_type::signal, 1024);    replaces a log while the queue works
//   auto entries = queue.signal_reserver();                    reserves entries of commands that are recorded
//   queue.enable_verbose(tidemark::verbose_events::stalls);    and any thread asks verbose_wanted()
//
// A queue whose recorder keeps no log has none of these functions but verbose_wanted().
#ifndef TIDEMARK_QUEUE_LOGGED_QUEUE_HPP
#define TIDEMARK_QUEUE_LOGGED_QUEUE_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../platform/platform.hpp"
#include "log_reservation.hpp"
#include "queue_log.hpp"
#include "recorder.hpp"

namespace tidemark {

template <platform Platform>
class basic_traced_logs;

/// The logs of a queue; see the head of this file. All functions are for the queue's owner, one thread at a time,
/// unless they say something else. The executor may be at work meanwhile.
template <recorder Recorder, platform Platform>
class logged_queue {
 public:
  using reader_type = queue_log_reader<Platform>;
  using reserver_type = basic_log_reserver<Platform>;
  /// Whether the queue has logs that can be read; see the concept `recorder`.
  static constexpr bool has_logs = requires(Recorder& made) { made.log(fence_log_type::wait); };

  /// Returns which events of the verbose log are turned on, for threads that record commands and leave out what nobody
  /// wants to see. What the owner did before it turned them on happens-before the return. Returns `none` where the
  /// queue has no logs. Any thread. Progress: wait-free, one load.
  [[nodiscard]] verbose_events verbose_wanted() const noexcept {
    if constexpr (has_logs) {
      return recorder_.verbose_wanted();
    } else {
      return verbose_events::none;
    }
  }

  /// Returns a new reader of one log, which begins with the oldest entry of the log that the queue writes to now.
  /// Readers may go to other threads, and may outlive the queue.
  [[nodiscard]] reader_type wait_log()
    requires(has_logs)
  {
    return recorder_.log(fence_log_type::wait).reader();
  }
  [[nodiscard]] reader_type signal_log()
    requires(has_logs)
  {
    return recorder_.log(fence_log_type::signal).reader();
  }
  /// The same for the verbose log, which must have been enabled before, and may be off again. Asserts that it was
  /// enabled. Otherwise this makes an empty log: it allocates, and throws what the allocation throws.
  [[nodiscard]] reader_type verbose_log()
    requires(has_logs)
  {
    return recorder_.log(fence_log_type::verbose).reader();
  }

  /// Returns what reserves entries for waits, or for signals, that are recorded now and executed later. It goes to the
  /// thread that records, and may outlive the queue. Asserts that it is asked for once. Otherwise entries of both
  /// reservers may be committed out of turn. log_reservation.hpp says more.
  [[nodiscard]] reserver_type wait_reserver()
    requires(has_logs)
  {
    return recorder_.log(fence_log_type::wait).reserver();
  }
  [[nodiscard]] reserver_type signal_reserver()
    requires(has_logs)
  {
    return recorder_.log(fence_log_type::signal).reserver();
  }
  /// Returns how the reserved entries of a log were committed. Exact while the executor is not within a function of the
  /// queue. In the verbose log no entries are reserved; as for verbose_log(), it must have been enabled.
  [[nodiscard]] log_commits commits(fence_log_type type)
    requires(has_logs)
  {
    return recorder_.log(type).commits();
  }

  /// From its next entry on the executor writes to a new log of `entries` entries, 2 to 2^31 - 1. Readers read the old
  /// log to its end first; numbers go on. Asserts in this call, not later in the executor, that a log can have this
  /// number. Otherwise returns false, and the old log goes on. In all other cases it returns true. For the verbose log
  /// asserts also that it was enabled. Otherwise an empty verbose log is made first, as by verbose_log(). Allocates,
  /// and throws what the allocation throws. The executor's next entry clears the whole new log, which takes time in
  /// proportion to its size. The old log is freed when the queue is destroyed, or earlier by a later call that replaces
  /// the same log again, or makes a reader or a reserver of it. A reader or a reserver that has not left the old log
  /// keeps it.
  bool set_log(fence_log_type type, std::size_t entries)
    requires(has_logs)
  {
    return recorder_.log(type).replace(entries);
  }
  /// The same with a log in this memory, which must be aligned to 8 bytes, be large enough for 2 entries, belong to no
  /// other log, and outlive the queue, its readers and what reserves entries. The log has as many entries as fit.
  /// Misaligned or too small memory is refused in the same way. This allocates, too. The executor makes the log there
  /// with its next entry, so whoever opens it in another mapping must do so after that.
  ///
  /// `at` says to a reader in another mapping, which has only the memory of the old log, where the new one is; see
  /// log/mapped_log.hpp. Asserts that it is not no_log_location. Otherwise returns false, and the old log goes on. The
  /// memory of the old log must stay as it is until these readers have left it.
  bool set_log(fence_log_type type, std::span<std::byte> memory, log_location at = unknown_log_location)
    requires(has_logs)
  {
    return recorder_.log(type).replace(memory, at);
  }
  /// The same at a place that a directory of logs has given out, so that readers of other processes find the log there
  /// (log/shared_logs.hpp). Returns false, and the old log goes on, where the directory had none to give. The directory
  /// must outlive the queue, its readers and what reserves entries.
  bool set_log(fence_log_type type, const typename basic_queue_log<Platform>::place& at)
    requires(has_logs)
  {
    return recorder_.log(type).replace(at);
  }

  /// Gives both logs `entries` entries, so that a tool need not hurry. Call it before the tool begins to read: growing
  /// the logs when entries were lost would be too late. With traced_logs one call does so for several queues. Does what
  /// set_log() does, for the waits and then for the signals: logs in memory of the program go on in memory of the
  /// queue's own, where readers in other mappings can't follow. Asserts that the number is possible. Otherwise the old
  /// logs go on. If an allocation throws, the log of the waits may be replaced already.
  void enable_tracing(std::size_t entries = 4096)
    requires(has_logs)
  {
    set_log(fence_log_type::wait, entries);
    set_log(fence_log_type::signal, entries);
  }

  /// Turns on the events of the third, verbose log: waits that begin to stall, so that a tool sees what a queue hangs
  /// in, and signals that find a waiter due. `none` turns them off. Any other value makes a new log of so many entries;
  /// log_recorder::enable_verbose() says more. A wait that does not stall and a signal that finds no waiter due pay
  /// nothing for the verbose log. Others pay one load while it is off.
  void enable_verbose(verbose_events events, std::size_t entries = default_log_entries)
    requires(has_logs)
  {
    recorder_.enable_verbose(events, entries);
  }

  /// Makes all entries that the executor appended before visible to this thread. Only readers need it that are not
  /// otherwise synchronized with the executor. On a symmetric platform it does nothing: there entries soon become
  /// visible without it. Where the system refuses the heavy barrier, it has no effect. Any thread may call it.
  static void flush_logs() noexcept {
    // (Q15): on the executor's thread the effect of (G2) behind its last (L5), which (L6) of this thread then finds.
    Platform::heavy_barrier();
  }

 private:
  friend basic_traced_logs<Platform>;
  basic_queue_log<Platform>& log_to_grow(fence_log_type type)
    requires(has_logs)
  {
    return recorder_.log(type);
  }

 protected:
  explicit logged_queue(std::size_t entries) : recorder_(entries) {}
  explicit logged_queue(Recorder&& made) : recorder_(std::move(made)) {}
  logged_queue(const logged_queue&) = delete;
  logged_queue& operator=(const logged_queue&) = delete;
  ~logged_queue() = default;

  // For the executor: write an entry, of a time of execution `end` or cancelled_timestamp.
  void record_wait(std::uint64_t value, fence_id id, std::uint64_t observed, std::uint64_t end) noexcept {
    recorder_.record_wait({value, id, fence_operation::wait_unblocked, 0, observed, 0, end});
  }
  void record_signal(std::uint64_t value, fence_id id, std::uint64_t end) noexcept {
    recorder_.record_signal({value, id, fence_operation::signal_executed, 0, 0, 0, end});
  }
  /// The same for an entry that may have been reserved. Without logs the reservation is not looked at.
  void record_wait(std::uint64_t value, fence_id id, std::uint64_t observed, std::uint64_t end,
                   const log_reservation& entry) noexcept {
    if constexpr (has_logs) {
      recorder_.commit_wait(entry, {value, id, fence_operation::wait_unblocked, 0, observed, 0, end});
    } else {
      record_wait(value, id, observed, end);
    }
  }
  void record_signal(std::uint64_t value, fence_id id, std::uint64_t end, const log_reservation& entry) noexcept {
    if constexpr (has_logs) {
      recorder_.commit_signal(entry, {value, id, fence_operation::signal_executed, 0, 0, 0, end});
    } else {
      record_signal(value, id, end);
    }
  }

  Recorder recorder_;
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_LOGGED_QUEUE_HPP
