// SPDX-License-Identifier: BSL-1.0
//
// trace_data: what a trace tells (trace.hpp): commands, gaps in the logs, and spans of work. Plain data.
//
// All times are nanoseconds; 0 means "not known".
#ifndef TIDEMARK_TRACE_TRACE_DATA_HPP
#define TIDEMARK_TRACE_TRACE_DATA_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "../log/fence_log.hpp"
#include "../log/ids.hpp"

namespace tidemark {

/// One wait or signal of a queue, as far as it is known. All times are nanoseconds, 0: not known.
struct trace_command {
  queue_id queue{};
  fence_id fence{};
  std::uint64_t value = 0;  ///< the value that was signalled or waited for
  fence_operation operation = fence_operation::signal_executed;
  bool queued = false;    ///< on_queued told of it
  bool executed = false;  ///< on_executed told of it
  /// It was queued, and on_executed told that it will never be executed.
  bool cancelled = false;
  /// Its time stamp is smaller than the last one recorded in its log, or its end_time is smaller than its
  /// observed_time. Neither must happen.
  bool backward = false;
  bool uncertain = false;  ///< its other half is not known, because entries of its log were lost
  std::uint64_t queued_time = 0;
  std::uint64_t observed_time = 0;  ///< when a wait was seen to stall its queue
  std::uint64_t end_time = 0;       ///< when the signal was executed, or when the wait ended
  /// How far these two may be from the true times, because the executor has a clock of its own (trace::set_clock()).
  std::uint64_t time_error = 0;
  std::optional<std::size_t> released_by;  ///< of a wait: the index of the signal that released it, if that is known

  friend bool operator==(const trace_command&, const trace_command&) = default;
};

/// A gap in a log: entries that were overwritten before they were read.
struct trace_loss {
  queue_id queue{};
  fence_log_type log = fence_log_type::wait;
  std::uint64_t first_sequence = 0;  ///< the number of the first lost entry
  std::uint64_t count = 0;           ///< how many entries were lost
  std::uint64_t time_before = 0;     ///< the last time in the log before the gap, in nanoseconds; 0: none
  std::uint64_t time_after = 0;      ///< the first time in the log after the gap, in nanoseconds; 0: none yet

  friend bool operator==(const trace_loss&, const trace_loss&) = default;
};

/// A span of time in which a queue worked: it executed commands that are no waits and no signals. If it is derived, the
/// queue may also have had nothing to do.
struct trace_work {
  queue_id queue{};
  /// What the queue did, as trace::on_work() received it. Empty if the span is derived from the logs. The characters
  /// are the trace's: they stay as long as it does, and do not move with a copy.
  std::string_view name;
  std::uint64_t begin_time = 0;  ///< never 0
  std::uint64_t end_time = 0;    ///< never 0, and not smaller than begin_time
  bool derived = false;          ///< nobody told of it: see trace_work.hpp

  friend bool operator==(const trace_work&, const trace_work&) = default;
};

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_TRACE_DATA_HPP
