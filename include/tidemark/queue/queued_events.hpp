// SPDX-License-Identifier: BSL-1.0
//
// queued_events: what the threads that record commands say of one queue: which waits and signals they have queued, and
// when. Any thread says so, at the moment at which it records the command, perhaps minutes before the queue executes it
// and in another order.
//
//   tidemark::queued_events events;                          one for each queue
//   events.signal_queued(output_id, 4);                      any thread
//   collector.add(tidemark::queue_id{3}, events);            beside collector.add(tidemark::queue_id{3}, queue)
//
// The collector tells the events to its sink, and a trace joins each with the command that was executed, by queue,
// fence and value. The queue's own logs have no place for these times: its executor does not know them.
//
// The end of a submission is a signal of the queue's progress. If others wait for the progress, tell that this signal
// was queued, too: events.signal_queued(progress_id, serial). A report on hangs (trace_hangs.hpp) needs that.
//
// The events stand in a ring log of several writers (ring_log.hpp): no thread waits for another, and none of those that
// tell events allocates. The log overwrites, so it must be large enough for what is queued between two rounds of the
// collector. An event that was overwritten, or dropped because its entry was still being written, is counted and told
// as lost. A thread that is stopped while it writes an event holds the readers up at this event until the log, or one
// that has replaced it, has gone once around.
//
// While threads tell events, set_log() puts a larger log in the place of this one, and traced_logs does so for all
// queues of a device. The old log is read to its end first. It is not freed before this object is destroyed, because a
// thread may still be about to write there.
//
// Who calls what: any thread says what it has queued. The owner, one thread at a time, calls reader() and set_log().
//
// Invariant: from the oldest event on that is still there at add(), a sink that does not throw gets each event once, or
// it is counted as lost.
//
// Not promised: an order between events of different threads; their times say it. After a loss, a command may be joined
// with the wrong time of queueing if the queue has another one with the same operation, fence and value.
#ifndef TIDEMARK_QUEUE_QUEUED_EVENTS_HPP
#define TIDEMARK_QUEUE_QUEUED_EVENTS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/platform.hpp"
#include "detail/shared_log.hpp"

namespace tidemark {

template <platform Platform>
class basic_traced_logs;

/// That a wait or a signal was queued.
struct queued_event {
  std::uint64_t fence_value = 0;  ///< what will be signalled, or waited for
  fence_id fence{};
  trace_event event = trace_event::wait_queued;
  std::uint64_t timestamp = 0;  ///< when, in ticks of the clock; 0: not known
};

/// What takes queued events: a `trace` (trace.hpp), or a type of the program's own. The time is in nanoseconds. A sink
/// may also have on_queued_lost(queue, count), which says that `count` events are missing here.
template <class Sink>
concept queued_sink = requires(Sink& sink, queue_id queue, trace_event event, fence_id id, std::uint64_t number) {
  sink.on_queued(queue, event, id, number, number);
};

/// What is queued for one queue; see the head of this file. It can be neither copied nor moved.
/// \tparam Clock  stamps the events: a clock of the processor
template <platform Platform = native_platform, log_clock Clock = default_log_clock>
class basic_queued_events {
 public:
  using platform_type = Platform;
  using clock_type = Clock;
  using log_type = detail::shared_log<Platform, queued_event>;
  using reader_type = typename log_type::reader_type;

  /// Allocates, and throws what the allocation throws.
  /// \param entries  how many events are kept, 2 to 2^31 - 1. Asserts that; otherwise it takes the nearest of these
  explicit basic_queued_events(std::size_t entries = 4096) : log_{entries} {}

  /// Says that a wait, or a signal, of this fence was queued now. Any thread. Progress: wait-free, one reading of the
  /// clock and one append, which begins again for each time that the log is replaced meanwhile.
  void wait_queued(fence_id id, std::uint64_t value) noexcept { append(trace_event::wait_queued, id, value); }
  void signal_queued(fence_id id, std::uint64_t value) noexcept { append(trace_event::signal_queued, id, value); }

  /// Returns a reader that begins with the oldest event of the newest log. This object must outlive it. For the owner.
  [[nodiscard]] reader_type reader() const noexcept { return log_.reader(); }

  /// From now on threads write to a new log of so many events. Readers read the old log to its end first, and what they
  /// find no more is counted as lost. Returns true. Asserts that `entries` is 2 to 2^31 - 1. Otherwise returns false,
  /// and the old log goes on. For the owner. Allocates, and throws what the allocation throws; then the old log goes
  /// on, too. Each call takes memory that is freed only when this object is destroyed.
  bool set_log(std::size_t entries) {
    auto next = log_.prepare(entries);
    if (!next) return false;
    log_.replace(std::move(next));
    return true;
  }

 private:
  friend basic_traced_logs<Platform>;

  void append(trace_event event, fence_id id, std::uint64_t value) noexcept {
    log_.append({value, id, event, Clock::now()});
  }

  log_type log_;
};

using queued_events = basic_queued_events<>;

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_QUEUED_EVENTS_HPP
