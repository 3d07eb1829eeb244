// SPDX-License-Identifier: BSL-1.0
//
// What a queue did to its fences, and when: the entries, the clocks and the rules of the two logs of a queue.
//
// A queue keeps two ring logs of one page each, one for the waits that it got past and one for the signals that it
// executed (A84). The page, byte for byte (A81):
//
//      0  u32 first_free_entry_index, u32 wraparound_count     one 64-bit atomic word
//      8  u32 type (1 waits, 2 signals), 4 bytes of nothing
//     16  u64 number_of_entries
//     24  u64 reserved[2]
//     40  fence_log_entry[84], 48 bytes each                   4,072 of 4,096 bytes
//
// An entry belongs to the producer until the header has moved past it, and to the readers until it is overwritten.
// Times of the processor that recorded a command are not in it (A93): what was queued, and when, is the business of the
// trace, which joins both (trace.hpp).
//
// Not promised: that clocks of different machines agree; that time stamps of different queues are in any order.
#ifndef TIDEMARK_FENCE_LOG_HPP
#define TIDEMARK_FENCE_LOG_HPP

#include <cstddef>
#include <cstdint>

#include "detail/tsc_clock.hpp"
#include "ring_log.hpp"

namespace tidemark {

/// What a log holds; the header of its page says so. The third is only there once a tool has asked for it (A119).
enum class fence_log_type : std::uint32_t { waits = 1, signals = 2, verbose = 3 };

/// What a queue did to a fence.
enum class fence_operation : std::uint32_t {
  signal_executed = 0,
  wait_unblocked = 1,
  wait_stalled = 2,     ///< verbose: the queue begins to sleep in a wait, since `observed_timestamp`
  signal_notified = 3,  ///< verbose: a signal found a waiter due, and begins to notify at `end_timestamp`
};

/// Which entries the verbose log gets (A119).
enum class verbose_events : std::uint32_t { none = 0, stalls = 1, notifications = 2, all = 3 };

/// One wait or signal of a queue (A81, A87).
struct fence_log_entry {
  std::uint64_t fence_value = 0;  ///< what was signalled, or what was waited for
  std::uint32_t fence = 0;        ///< the number by which the queue's owner knows the fence
  fence_operation operation = fence_operation::signal_executed;
  std::uint64_t stamp = 0;  ///< the log's own: the number of the entry plus 1, which proves that it is whole
  /// When a wait was seen to stall the queue; 0 for a wait that was over already, and for a signal (A91).
  std::uint64_t observed_timestamp = 0;
  std::uint64_t reserved = 0;
  std::uint64_t end_timestamp = 0;  ///< when it was executed, not when it was recorded (A87); 0: not known (A103)
};
static_assert(sizeof(fence_log_entry) == 48);

template <>
inline constexpr std::size_t log_stamp_word<fence_log_entry> = 2;

/// One log of a queue: a page of 84 entries, one producer, all entries readable, losses counted exactly.
template <class Platform = native_platform>
using basic_fence_log = ring_log<fence_log_entry, 84, log_form::stamped, Platform>;
using fence_log = basic_fence_log<>;

static_assert(sizeof(basic_fence_log<>::page_type) == 4096);

// ---- clocks ---------------------------------------------------------------------------------------------------------
//
// A clock has now(), which any thread may call, in ticks of its own, and to_nanoseconds(ticks). 0 is no time (A103).
//
// The two clocks that tell the time have one tick, the nanosecond, and one time line, so that both may stand in one
// trace, and beside what others stamp with std::chrono::steady_clock:
//
//   steady_log_clock  the steady clock itself. Readings are in the order of happens-before, among all threads.
//   tsc_log_clock     less than half its cost, within 1 microsecond of it; see there what is not promised.

/// std::chrono::steady_clock, in nanoseconds. Progress: wait-free.
struct steady_log_clock {
  static std::uint64_t now() noexcept { return detail::steady_nanoseconds(); }
  static std::uint64_t to_nanoseconds(std::uint64_t nanoseconds) noexcept { return nanoseconds; }
};

/// No time at all: each entry says "not known" (A103).
struct no_log_clock {
  static std::uint64_t now() noexcept { return 0; }
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) noexcept { return ticks; }
};

#if defined(__x86_64__)

/// The time-stamp counter, kept in step with steady_log_clock: once a millisecond a call reads both. Stays within 1
/// microsecond of it while NTP changes its speed by at most 500 ppm; detail/tsc_clock.hpp adds this up.
///
/// Readings of one thread never go backward. Not promised between threads: a processor may read the counter before
/// earlier loads have completed, so a reading may be smaller, by the time that such a load takes (100 ns were seen), than
/// one of another thread that happens-before it. Nor that a reading is exactly the steady clock's: what is stamped with
/// both may appear up to 1 microsecond out of order. steady_log_clock promises both.
struct tsc_log_clock {
  /// Progress: lock-free. Any thread, also in a signal handler, and before main().
  static std::uint64_t now() noexcept { return detail::process_tsc_clock.now(); }
  static std::uint64_t to_nanoseconds(std::uint64_t nanoseconds) noexcept { return nanoseconds; }

  /// False where this is the steady clock: the counter does not run at one speed, or the two clocks can't be read closely
  /// enough together. Once false it stays so in this process.
  [[nodiscard]] static bool uses_counter() noexcept { return detail::process_tsc_clock.uses_counter(); }
};

#endif

/// Signals must not appear executed before they were queued, so the one whose readings are ordered.
using default_log_clock = steady_log_clock;

// ---- the order of time stamps ---------------------------------------------------------------------------------------

/// What is to be said of a time stamp, given those before it.
enum class timestamp_verdict {
  in_order,      ///< not smaller than the one before; equal is in order (A103)
  not_recorded,  ///< zero: whoever executed the command did not write it down (A104)
  backward,      ///< smaller than the last one that was recorded (A105)
};

/// Judges the time stamps of one log, entry by entry. For one thread at a time.
class timestamp_order {
 public:
  /// A zero is no time, so it is neither too small nor what the next one is measured by (A104). After a backward one,
  /// time goes on from there, so that each fall is reported once (A105).
  [[nodiscard]] timestamp_verdict check(std::uint64_t timestamp) noexcept {
    if (timestamp == 0) return timestamp_verdict::not_recorded;
    const bool fell = timestamp < last_;
    last_ = timestamp;
    return fell ? timestamp_verdict::backward : timestamp_verdict::in_order;
  }

 private:
  std::uint64_t last_ = 0;
};

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_LOG_HPP
