// SPDX-License-Identifier: BSL-1.0
//
// executed_work: what the engine says of one of its queues: which work it executed between the waits and the signals,
// and when each piece began and ended.
//
//   tidemark::executed_work work;                            one for each queue; it must outlive what is recorded
//   blur.tell_work(&work);                                   from the next command on
//   blur.run(tidemark::named_work{"tile"}, blur_tile, tile);
//   collector.add(blur.id(), work);                          beside collector.add(blur.id(), blur.timeline())
//
// The collector tells the pieces to its sink, and a trace shows them beside the waits and the signals of the queue:
// trace::on_work(). In the time between them the queue had no turn, was paused, had nothing to execute, or executed
// work that is not told. A queue that is parked shows as a wait that has stalled, from the time at which it parked.
//
// Each piece takes two readings of the clock and one append, by the thread of the engine that executes it. A queue that
// tells nobody of its work pays nothing for that when it executes.
//
// The pieces are kept in a log (queue_log.hpp) that overwrites, so it must be large enough for what is executed between
// two rounds of the collector. A piece that was overwritten is counted as lost. A sink with on_work_lost() gets the
// count; a trace has no such function. While the queue works, set_log() puts a larger log in the place of this one, and
// traced_logs does so for all queues of a device.
//
// Who calls what: the queue's executor calls execute(). The owner, one thread at a time, calls reader() and set_log().
// A log that was replaced is freed when the owner, the executor and all readers have left it; see queue_log.hpp.
//
// Commands that are dropped are not executed, so they are not reported.
#ifndef TIDEMARK_QUEUE_EXECUTED_WORK_HPP
#define TIDEMARK_QUEUE_EXECUTED_WORK_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/platform.hpp"
#include "queue_log.hpp"

namespace tidemark {

/// What a piece of work is called, the same for all work of one kind. The text must outlive the collector's last round;
/// as a literal does. Without a name, a piece is called as its queue is, or "work" if that has none either.
struct named_work {
  std::string_view name;
};

template <platform Platform>
class basic_traced_logs;

/// A piece of work that was executed. Both times are ticks of the queue's clock.
struct executed_piece {
  std::string_view name;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What takes pieces of work: a `trace` (trace.hpp), or a type of the program's own. A sink may also have
/// on_work_lost(queue, count), which says that `count` pieces are missing here. The sink gets both times in ticks;
/// Clock::to_nanoseconds() turns them into nanoseconds.
template <class Sink, class Clock = default_log_clock>
concept work_sink =
    log_clock<Clock> && requires(Sink& sink, queue_id queue, std::string_view name, std::uint64_t number) {
      sink.template on_work<Clock>(queue, name, number, number);
    };

/// What one queue executed; see the head of this file. It can be neither copied nor moved.
/// \tparam Clock  the queue's
template <platform Platform = native_platform, log_clock Clock = default_log_clock>
class basic_executed_work {
 public:
  using platform_type = Platform;
  using clock_type = Clock;
  using log_type = basic_queue_log<Platform, executed_piece>;
  using reader_type = typename log_type::reader_type;

  /// Allocates, and throws what the allocation throws.
  /// \param pieces  how many are kept, 2 to 2^31 - 1. Asserts that; otherwise it takes the nearest of these
  explicit basic_executed_work(std::size_t pieces = 4096) : log_{pieces} {}

  /// Calls `work()`, and notes that it was executed; nothing is noted if it throws. For the executor of one queue.
  /// Progress: as that of `work`, beside two readings of the clock and one append. The first piece in a new log also
  /// clears that log, and may free the old one.
  template <class Work>
  void execute(std::string_view name, Work&& work) {
    const std::uint64_t begin = Clock::now();
    work();
    log_.append({name, begin, Clock::now()});
  }

  /// Returns a reader that begins with the oldest piece of the log that is written now. The reader may outlive this
  /// object. For the owner. Allocates nothing, but may free logs that were replaced.
  [[nodiscard]] reader_type reader() noexcept { return log_.reader(); }

  /// From its next piece on the executor writes to a new log of so many pieces. Readers read the old log to its end
  /// first, and what they find no more is counted as lost. Returns true. Asserts that `pieces` is 2 to 2^31 - 1.
  /// Otherwise returns false, and the old log goes on. For the owner. Allocates, and throws what the allocation throws;
  /// then the old log goes on, too.
  bool set_log(std::size_t pieces) { return log_.replace(pieces); }

 private:
  friend basic_traced_logs<Platform>;

  log_type log_;
};

using executed_work = basic_executed_work<>;

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_EXECUTED_WORK_HPP
