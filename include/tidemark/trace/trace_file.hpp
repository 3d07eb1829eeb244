// SPDX-License-Identifier: BSL-1.0
//
// trace_file: a trace as a file that grows while the program runs, so that a long run needs no more memory than a short
// one.
//
//   trace_file_writer   receives what a trace receives, and writes it to a stream, about 64 KiB at a time
//   read_trace_file     tells a trace, or another target, what a file holds, in the same order
//
// A collector that is called often enough brings entries from the logs to the writer before they are overwritten:
//
//   std::ofstream file{"run.tidemark", std::ios::binary};
//   trace_file_writer writer{file};
//   collector.collect(writer);                                       now and then
//   if (writer.close() != trace_write_status::written) ...           at the end
//
// The format. The file begins with 16 bytes: "tidemark trace\n" and one byte for the version, 1. Records follow. Each
// has a byte for its kind, and numbers that take as many bytes as they need (detail/trace_bytes.hpp). A value or a time
// is written as its difference from the one before. An entry of a log takes about 10 bytes instead of 48. The last
// record has the number of the others. So a file that was cut off can be told from a whole one, and what precedes the
// cut can be read. All times are nanoseconds, whatever the clocks of the queues; 0 is no time.
//
// Not promised: that a reader notices changed bytes. It refuses what has no meaning, but a wrong value may look like a
// right one.
#ifndef TIDEMARK_TRACE_TRACE_FILE_HPP
#define TIDEMARK_TRACE_TRACE_FILE_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "../log/clock_correlation.hpp"
#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "detail/trace_bytes.hpp"
#include "trace_data.hpp"

namespace tidemark {

/// What can receive the content of a trace file: a `trace`, a trace_file_writer, or a type of the program's own. The
/// times of all events are nanoseconds. A target without set_clock(queue, clock) does not receive the clocks, and one
/// without name_process(name) not the name of the process. One without name_thread(queue, name) gets name_queue().
template <class Target>
concept trace_target = requires(Target& target, queue_id queue, fence_id fence, std::string name, std::uint64_t number,
                                trace_event event, fence_log_type log, const fence_log_entry& entry) {
  target.name_queue(queue, name);
  target.name_engine(queue, name);
  target.name_fence(fence, name);
  target.on_queued(queue, event, fence, number, number);
  target.template on_executed<steady_log_clock>(queue, entry);
  target.on_lost(queue, log, number, number);
  target.template on_work<steady_log_clock>(queue, std::string_view{name}, number, number);
};

/// Whether a stream has taken all that it was given.
enum class [[nodiscard]] trace_write_status : std::uint8_t {
  written,  ///< The stream has taken all that it was given; more may wait for a flush.
  refused,  ///< The stream has failed, for example because the disk is full. The file holds a beginning only.
};

template <>
inline constexpr auto detail::names_of<trace_write_status> = detail::names("written", "refused");

/// What a read has come to.
enum class trace_read_status : std::uint8_t {
  ended,  ///< The file is whole: the target has received everything.
  /// The file is cut off or empty, or its writer was not closed. The target has received what is before the cut.
  truncated,
  invalid,  ///< No trace file, one of another version, or a damaged one. The target has received what is before.
  /// The stream had failed before, for example because it was not open, or a read has failed, so that it is bad(). The
  /// target has received what is before.
  refused,
};

template <>
inline constexpr auto detail::names_of<trace_read_status> = detail::names("ended", "truncated", "invalid", "refused");

/// What read_trace_file() returns. It converts to true if the file is whole.
struct [[nodiscard]] trace_read_result {
  trace_read_status status = trace_read_status::invalid;
  std::uint64_t records = 0;  ///< how many the target has received

  explicit operator bool() const noexcept { return status == trace_read_status::ended; }
};

/// Writes what it receives to a stream. It has the functions of a trace that give it something, with the same
/// parameters and rules (trace.hpp), and is a `trace_sink`. It keeps about 64 KiB in memory, and as much more as the
/// longest name needs.
///
/// Errors: once the stream has failed, nothing more is written, and each record counts as dropped; status() says so.
/// What the stream throws, if its exceptions() allow it, passes through. So does std::bad_alloc for a name that does
/// not fit into the 64 KiB; then nothing of that record is written. Thread-safety: one thread at a time, for all
/// functions. Progress: as that of the stream. Allocates in the constructor, and for such names.
class trace_file_writer {
 public:
  /// \param stream  must be binary and at its end, and must outlive the writer. Nothing else may write to it meanwhile
  explicit trace_file_writer(std::ostream& stream) : stream_{stream} {
    buffer_.reserve(enough + longest_record + longest_usual_name);
    buffer_ = detail::trace_file_head;
  }
  trace_file_writer(const trace_file_writer&) = delete;
  trace_file_writer& operator=(const trace_file_writer&) = delete;
  /// Drops what was not flushed. A writer that was not closed leaves a file that is `truncated`.
  ~trace_file_writer() = default;

  /// As the functions of trace with these names.
  void name_queue(queue_id number, std::string_view name) { name_record(kind::queue_name, to_number(number), name); }
  void name_engine(queue_id number, std::string_view name) { name_record(kind::engine_name, to_number(number), name); }
  void name_fence(fence_id number, std::string_view name) { name_record(kind::fence_name, to_number(number), name); }

  void name_thread(queue_id number, std::string_view name) { name_record(kind::thread_name, to_number(number), name); }
  /// Says what the process is called that writes the file, for trace_merge.
  void name_process(std::string_view name) { name_record(kind::process_name, 0, name); }

  /// As trace::set_clock(). Call it again before close(), with what was measured by then.
  void set_clock(queue_id number, const clock_correlation& clock);

  /// As trace::on_queued().
  void on_queued(queue_id queue_number, trace_event event, fence_id fence_number, std::uint64_t value,
                 std::uint64_t nanoseconds);

  /// As trace::on_executed(). Asserts that the entry is wait_unblocked or signal_executed. Otherwise it becomes a
  /// signal.
  template <class Clock = default_log_clock>
  void on_executed(queue_id queue_number, const fence_log_entry& entry);

  /// As trace::on_lost().
  void on_lost(queue_id queue_number, fence_log_type log, std::uint64_t first_sequence, std::uint64_t count);

  /// As trace::on_work().
  template <class Clock = default_log_clock>
  void on_work(queue_id queue_number, std::string_view name, std::uint64_t begin, std::uint64_t end);

  /// Gives the stream all that was received, and flushes it. After a crash of the program the file holds what was
  /// flushed, and what the writer gave the stream in between, 64 KiB at a time.
  trace_write_status flush();

  /// Ends the file, and flushes it. Afterwards every function that writes a record asserts that the writer is open.
  /// Otherwise the record counts as dropped. A second call of close() does nothing and returns status().
  trace_write_status close();

  /// Returns whether the stream has taken all that it was given so far; more may be waiting for a flush. Progress:
  /// wait-free.
  trace_write_status status() const noexcept {
    return failed_ ? trace_write_status::refused : trace_write_status::written;
  }

  /// Returns how many received records may be missing in the file, because the stream failed or the writer was closed
  /// before. Progress: wait-free.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  using kind = detail::trace_record;
  static constexpr std::size_t enough = 65'536 - 128;
  static constexpr std::size_t longest_record = 64;  // without names
  static constexpr std::size_t longest_usual_name = 64;

  bool open(kind record, std::uint8_t flags = 0, std::size_t characters = 0);
  void complete();
  void spill();
  void name_record(kind record, std::uint32_t number, std::string_view name);
  void time(std::uint64_t nanoseconds) {
    if (nanoseconds != 0) detail::append_difference(buffer_, nanoseconds, state_.time);
  }
  static std::uint8_t times(std::uint64_t first, std::uint64_t second = 0) noexcept {
    return static_cast<std::uint8_t>((first != 0 ? detail::has_first_time : 0) |
                                     (second != 0 ? detail::has_second_time : 0));
  }

  std::ostream& stream_;
  std::string buffer_;
  detail::trace_file_state state_;
  std::uint64_t records_ = 0;   ///< how many were completed; all are in the file or in buffer_ unless some were dropped
  std::uint64_t buffered_ = 0;  ///< records in buffer_
  std::uint64_t dropped_ = 0;
  bool failed_ = false;
  bool closed_ = false;
};

/// Reads a trace file and tells the target everything in it, in the order in which the writer received it. It keeps 16
/// KiB of the file, and one record at a time.
/// \param stream  must be binary. It is read up to the end mark, and perhaps beyond it. What it throws passes through;
///                its exceptions() must not have failbit or eofbit, which the end of each file sets
/// \param target  usually a trace. What it throws passes through
/// Progress: as that of the stream and the target.
template <trace_target Target>
trace_read_result read_trace_file(std::istream& stream, Target& target);

// ---- writing --------------------------------------------------------------------------------------------------------

inline void trace_file_writer::set_clock(queue_id number, const clock_correlation& clock) {
  if (!open(kind::clock, 0, clock.readings().size() * 3 * detail::longest_number)) return;
  detail::append_number(buffer_, to_number(number));
  detail::append_number(buffer_, std::bit_cast<std::uint64_t>(clock.bounds().rate_ppm));
  detail::append_number(buffer_, std::bit_cast<std::uint64_t>(clock.bounds().wander_ppm));
  detail::append_number(buffer_, clock.readings().size());
  for (const correlated_reading& each : clock.readings()) {
    for (const std::uint64_t time : {each.before, each.time, each.after}) {
      detail::append_difference(buffer_, time, state_.time);
    }
  }
  complete();
}

inline void trace_file_writer::on_queued(queue_id queue_number, trace_event event, fence_id fence_number,
                                         std::uint64_t value, std::uint64_t nanoseconds) {
  const bool wait = event == trace_event::wait_queued;
  TIDEMARK_ASSERT(wait || event == trace_event::signal_queued, "only waits and signals are queued");
  if (!open(wait ? kind::wait_queued : kind::signal_queued, times(nanoseconds))) return;
  detail::append_number(buffer_, to_number(queue_number));
  detail::append_number(buffer_, to_number(fence_number));
  detail::append_difference(buffer_, value, state_.value);
  time(nanoseconds);
  complete();
}

template <class Clock>
void trace_file_writer::on_executed(queue_id queue_number, const fence_log_entry& entry) {
  const bool wait = entry.operation == fence_operation::wait_unblocked;
  TIDEMARK_ASSERT(wait || entry.operation == fence_operation::signal_executed, "the entry is no wait and no signal");
  const bool cancelled = is_cancelled(entry);
  const auto nanoseconds = [&](std::uint64_t ticks) {
    return cancelled || ticks == 0 ? 0 : Clock::to_nanoseconds(ticks);
  };
  const std::uint64_t observed = nanoseconds(entry.observed_timestamp);
  const std::uint64_t end = nanoseconds(entry.end_timestamp);
  const std::uint8_t flags = cancelled ? detail::is_cancelled_record : times(observed, end);
  if (!open(wait ? kind::wait_unblocked : kind::signal_executed, flags)) return;
  detail::append_number(buffer_, to_number(queue_number));
  detail::append_number(buffer_, to_number(entry.fence));
  detail::append_difference(buffer_, entry.fence_value, state_.value);
  time(observed);
  time(end);
  complete();
}

inline void trace_file_writer::on_lost(queue_id queue_number, fence_log_type log, std::uint64_t first_sequence,
                                       std::uint64_t count) {
  TIDEMARK_ASSERT(log == fence_log_type::wait || log == fence_log_type::signal, "a log is of waits or of signals");
  if (!open(log == fence_log_type::wait ? kind::waits_lost : kind::signals_lost)) return;
  detail::append_number(buffer_, to_number(queue_number));
  detail::append_number(buffer_, first_sequence);
  detail::append_number(buffer_, count);
  complete();
}

template <class Clock>
void trace_file_writer::on_work(queue_id queue_number, std::string_view name, std::uint64_t begin, std::uint64_t end) {
  TIDEMARK_ASSERT(!name.empty(), "a piece of work needs a name");
  const std::uint64_t from = begin == 0 ? 0 : Clock::to_nanoseconds(begin);
  const std::uint64_t to = end == 0 ? 0 : Clock::to_nanoseconds(end);
  if (!open(kind::work, times(from, to), name.size())) return;
  detail::append_number(buffer_, to_number(queue_number));
  time(from);
  time(to);
  detail::append_characters(buffer_, name.empty() ? "work" : name);
  complete();
}

inline void trace_file_writer::name_record(kind record, std::uint32_t number, std::string_view name) {
  if (!open(record, 0, name.size())) return;
  detail::append_number(buffer_, number);
  detail::append_characters(buffer_, name);
  complete();
}

/// Begins a record, unless it can't be written any more.
/// \param characters  how long its name is. There is room for them then, so that no part of a record is written where
///                    there is no memory
inline bool trace_file_writer::open(kind record, std::uint8_t flags, std::size_t characters) {
  TIDEMARK_ASSERT(!closed_, "a trace file was told something after it was closed");
  if (failed_ || closed_) {
    ++dropped_;
    return false;
  }
  if (characters > longest_usual_name) buffer_.reserve(buffer_.size() + longest_record + characters);
  buffer_ += static_cast<char>(static_cast<std::uint8_t>(record) | flags);
  return true;
}

inline void trace_file_writer::complete() {
  ++records_;
  ++buffered_;
  if (buffer_.size() >= enough) spill();
}

/// Gives the stream what is in the buffer, and flushes it: a stream may say only then that it has failed. If it throws,
/// it has failed.
inline void trace_file_writer::spill() {
  if (failed_) return;
  dropped_ += buffered_;
  failed_ = true;
  stream_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (stream_.good()) stream_.flush();
  failed_ = !stream_.good();
  buffer_.clear();
  if (!failed_) dropped_ -= buffered_;
  buffered_ = 0;
}

inline trace_write_status trace_file_writer::flush() {
  spill();
  return status();
}

inline trace_write_status trace_file_writer::close() {
  if (closed_ || failed_) return status();
  buffer_ += static_cast<char>(kind::end);
  detail::append_number(buffer_, records_);
  closed_ = true;
  return flush();
}

// ---- reading --------------------------------------------------------------------------------------------------------

namespace detail {

/// Reads the records of one file.
template <class Target>
class trace_file_reader {
 public:
  trace_file_reader(std::istream& stream, Target& target) : stream_{stream}, bytes_{stream}, target_{target} {}

  trace_read_result run() {
    if (!stream_) return {trace_read_status::refused, 0};
    for (const char expected : trace_file_head) {
      const auto found = static_cast<char>(bytes_.byte());
      if (bytes_.found() == trace_byte_reader::fault::none && found != expected) bytes_.fail();
    }
    while (bytes_.found() == trace_byte_reader::fault::none && !ended_) record();
    return {status(), records_};
  }

 private:
  trace_read_status status() const {
    if (bytes_.found() == trace_byte_reader::fault::wrong) return trace_read_status::invalid;
    if (bytes_.found() == trace_byte_reader::fault::none) return trace_read_status::ended;
    return stream_.bad() ? trace_read_status::refused : trace_read_status::truncated;
  }

  void record() {
    const std::uint8_t head = bytes_.byte();
    const auto kind = static_cast<trace_record>(head & 0x0FU);
    const bool may_be_cancelled = kind == trace_record::signal_executed || kind == trace_record::wait_unblocked;
    if (head >= 2 * has_second_time && (!may_be_cancelled || (head & 0xF0U) != is_cancelled_record)) bytes_.fail();
    if (kind == trace_record::end) {
      const std::uint64_t count = bytes_.number();
      if (count != records_) bytes_.fail();
      ended_ = true;
    } else if (kind <= trace_record::fence_name || kind == trace_record::process_name ||
               kind == trace_record::thread_name) {
      name(kind);
    } else if (kind <= trace_record::wait_unblocked) {
      event(kind, head);
    } else if (kind <= trace_record::signals_lost) {
      loss(kind);
    } else if (kind == trace_record::work) {
      work(head);
    } else if (kind == trace_record::clock) {
      clock();
    } else {
      bytes_.fail();
    }
  }

  /// Counts the record if it is whole. Returns whether it is whole: only then the target receives it.
  bool whole() {
    if (bytes_.found() != trace_byte_reader::fault::none) return false;
    ++records_;
    return true;
  }

  std::uint64_t time(bool known) { return known ? bytes_.difference(state_.time) : 0; }

  void name(trace_record kind) {
    const std::uint32_t number = bytes_.short_number();
    std::string text = bytes_.characters();
    if (!whole()) return;
    if (kind == trace_record::process_name) {
      if constexpr (requires { target_.name_process(text); }) target_.name_process(std::move(text));
    } else if (kind == trace_record::thread_name && has_threads) {
      if constexpr (has_threads) target_.name_thread(queue_id{number}, std::move(text));
    } else if (kind == trace_record::queue_name || kind == trace_record::thread_name) {
      target_.name_queue(queue_id{number}, std::move(text));
    } else if (kind == trace_record::engine_name) {
      target_.name_engine(queue_id{number}, std::move(text));
    } else {
      target_.name_fence(fence_id{number}, std::move(text));
    }
  }

  void event(trace_record kind, std::uint8_t head) {
    const queue_id queue{bytes_.short_number()};
    fence_log_entry entry;
    entry.fence = fence_id{bytes_.short_number()};
    entry.fence_value = bytes_.difference(state_.value);
    const std::uint64_t first = time((head & has_first_time) != 0);
    entry.end_timestamp = time((head & has_second_time) != 0);
    if ((head & is_cancelled_record) != 0) entry.end_timestamp = cancelled_timestamp;
    if (!whole()) return;
    if (kind <= trace_record::signal_queued) {
      const bool wait = kind == trace_record::wait_queued;
      target_.on_queued(queue, wait ? trace_event::wait_queued : trace_event::signal_queued, entry.fence,
                        entry.fence_value, first);
      return;
    }
    entry.observed_timestamp = first;
    entry.operation =
        kind == trace_record::wait_unblocked ? fence_operation::wait_unblocked : fence_operation::signal_executed;
    target_.template on_executed<steady_log_clock>(queue, entry);
  }

  void loss(trace_record kind) {
    const queue_id queue{bytes_.short_number()};
    const std::uint64_t first = bytes_.number();
    const std::uint64_t count = bytes_.number();
    const bool waits = kind == trace_record::waits_lost;
    if (whole()) target_.on_lost(queue, waits ? fence_log_type::wait : fence_log_type::signal, first, count);
  }

  void work(std::uint8_t head) {
    const queue_id queue{bytes_.short_number()};
    const std::uint64_t begin = time((head & has_first_time) != 0);
    const std::uint64_t end = time((head & has_second_time) != 0);
    const std::string name = bytes_.characters();
    if (name.empty()) bytes_.fail();
    if (whole()) target_.template on_work<steady_log_clock>(queue, std::string_view{name}, begin, end);
  }

  void clock() {
    const queue_id number{bytes_.short_number()};
    const double rate = std::bit_cast<double>(bytes_.number());
    const double wander = std::bit_cast<double>(bytes_.number());
    const bool is_bounded = rate >= 0 && wander >= 0;  // neither is NaN
    if (!is_bounded) bytes_.fail();
    clock_correlation found{is_bounded ? clock_bounds{.rate_ppm = rate, .wander_ppm = wander} : clock_bounds{}};
    for (std::uint64_t left = bytes_.number(); left != 0 && bytes_.found() == trace_byte_reader::fault::none; --left) {
      correlated_reading next;
      for (std::uint64_t* const each : {&next.before, &next.time, &next.after}) *each = bytes_.difference(state_.time);
      if (bytes_.found() == trace_byte_reader::fault::none && !found.add(next)) bytes_.fail();
    }
    if (!whole()) return;
    if constexpr (requires { target_.set_clock(number, found); }) target_.set_clock(number, found);
  }

  static constexpr bool has_threads =
      requires(Target& target, std::string name) { target.name_thread(queue_id{}, name); };

  std::istream& stream_;
  trace_byte_reader bytes_;
  Target& target_;
  trace_file_state state_;
  std::uint64_t records_ = 0;
  bool ended_ = false;
};

}  // namespace detail

template <trace_target Target>
trace_read_result read_trace_file(std::istream& stream, Target& target) {
  return detail::trace_file_reader<Target>{stream, target}.run();
}

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_TRACE_FILE_HPP
