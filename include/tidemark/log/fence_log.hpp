// SPDX-License-Identifier: BSL-1.0
//
// fence_log: the entries of a queue's logs, which say what the queue did to its fences and when; and the rules for the
// time stamps in them.
//
// A queue keeps two ring logs, one for the waits that it got past and one for the signals that it executed. By default
// each is one page; logs of other sizes have the same layout. A queue with a direct_recorder has no logs. A third,
// verbose one is there once a tool has asked for it. The page, byte for byte:
//
//      0  u32 first_free_entry_index, u32 wraparound_count     one 64-bit atomic word
//      8  u32 type (fence_log_type), u32 version
//     16  u64 number_of_entries
//     24  u64 first_sequence, u64 successor (0 until the log is replaced: then where the next one is)
//     40  fence_log_entry[84], 48 bytes each                   4,072 of 4,096 bytes
//
// An entry belongs to the producer until the header has moved past it, and to the readers until it is overwritten. The
// time at which a processor recorded a command is not in it. A trace (trace.hpp) is told what was queued, and when, and
// joins that with the log.
//
// Not promised: that clocks of different machines agree; any order between the time stamps of different queues.
#ifndef TIDEMARK_LOG_FENCE_LOG_HPP
#define TIDEMARK_LOG_FENCE_LOG_HPP

#include <cstddef>
#include <cstdint>

#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "ids.hpp"
#include "ring_log.hpp"

namespace tidemark {

/// What a log holds; the header of its page says so. The third is there only once a tool has asked for it.
enum class fence_log_type : std::uint32_t { wait = 1, signal = 2, verbose = 3 };

/// What a queue did to a fence.
enum class fence_operation : std::uint32_t {
  signal_executed = 0,
  wait_unblocked = 1,
  wait_stalled = 2,     ///< verbose: a wait has stalled the queue since `observed_timestamp`; it is about to sleep
  signal_notified = 3,  ///< verbose: a signal found waiters due, and began to notify them at `end_timestamp`
};

template <>
inline constexpr auto detail::names_of<fence_operation> =
    detail::names("signal_executed", "wait_unblocked", "wait_stalled", "signal_notified");

/// Says whether a wait or a signal was queued. What a queue executed is said by a fence_operation instead.
enum class trace_event : std::uint32_t { wait_queued = 0, signal_queued = 1 };

template <>
inline constexpr auto detail::names_of<trace_event> = detail::names("wait_queued", "signal_queued");

/// Which entries the verbose log gets.
enum class verbose_events : std::uint32_t { none = 0, stalls = 1, notifications = 2, all = 3 };

/// One wait or signal of a queue. The time stamps are ticks of the queue's clock (log_clock.hpp).
struct fence_log_entry {
  std::uint64_t fence_value = 0;  ///< what was signalled, or what was waited for
  fence_id fence{};               ///< which fence it was
  fence_operation operation = fence_operation::signal_executed;
  std::uint64_t stamp = 0;  ///< the log writes it: the number of the entry plus 1, which proves that it is whole
  /// When a wait was seen to stall the queue; 0 for a wait that was over already, and for a signal.
  std::uint64_t observed_timestamp = 0;
  std::uint64_t reserved = 0;
  /// When it was executed, not when it was recorded. It is 0 if that is not known; see has_timestamp(). It is also 0 if
  /// the operation is wait_stalled, since such a wait has not ended yet. It is cancelled_timestamp if the operation was
  /// queued and will never be executed.
  std::uint64_t end_timestamp = 0;
};
static_assert(sizeof(fence_log_entry) == 48);

template <>
inline constexpr std::size_t log_stamp_word<fence_log_entry> = 2;

/// The `end_timestamp` of what was cancelled. No clock returns it.
inline constexpr std::uint64_t cancelled_timestamp = UINT64_MAX;

/// Returns whether the entry stands for a wait or a signal that was cancelled: it was never executed, and it says
/// nothing of the value of its fence.
[[nodiscard]] constexpr bool is_cancelled(const fence_log_entry& entry) noexcept {
  return entry.end_timestamp == cancelled_timestamp;
}

/// Returns whether the time of execution is known. Where it is not, the command may have been skipped: of several
/// executors that share a fence, for example, all but one may leave the write of its value out. So the fence need not
/// have reached `fence_value` by this entry.
[[nodiscard]] constexpr bool has_timestamp(const fence_log_entry& entry) noexcept {
  return entry.end_timestamp != 0 && !is_cancelled(entry);
}

/// A log in one page, as large as the logs of a queue are by default: 84 entries, one producer, all entries readable,
/// losses counted exactly. A queue keeps its logs in another type with the same layout, whose size can be chosen
/// (queue/queue_log.hpp).
template <platform Platform = native_platform>
using basic_fence_log = ring_log<fence_log_entry, 84, log_form::stamped, Platform>;
using fence_log = basic_fence_log<>;

static_assert(sizeof(basic_fence_log<>::page_type) == 4096);

// ---- the order of time stamps ---------------------------------------------------------------------------------------

/// How a time stamp relates to those before it.
enum class timestamp_verdict {
  in_order,      ///< not smaller than the last one that was recorded; equal is in order
  not_recorded,  ///< zero: whatever executed the command did not record a time
  backward,      ///< smaller than the last one that was recorded
  cancelled,     ///< cancelled_timestamp, which is no time either
};

template <>
inline constexpr auto detail::names_of<timestamp_verdict> =
    detail::names("in_order", "not_recorded", "backward", "cancelled");

/// Judges the time stamps of one log, entry by entry. For one thread at a time.
class timestamp_order {
 public:
  /// Returns how the next time stamp relates to the last one that was a time. The first such one is in order. A zero
  /// and the stamp of what was cancelled are no times: they are not too small, and no later time stamp is compared with
  /// them. The time stamp after a backward one is compared with that one, so that each fall is reported once.
  [[nodiscard]] timestamp_verdict judge(std::uint64_t timestamp) noexcept {
    if (timestamp == 0) return timestamp_verdict::not_recorded;
    if (timestamp == cancelled_timestamp) return timestamp_verdict::cancelled;
    const bool fell = timestamp < last_;
    last_ = timestamp;
    return fell ? timestamp_verdict::backward : timestamp_verdict::in_order;
  }

 private:
  std::uint64_t last_ = 0;
};

}  // namespace tidemark

#endif  // TIDEMARK_LOG_FENCE_LOG_HPP
