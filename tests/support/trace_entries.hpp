// SPDX-License-Identifier: BSL-1.0
//
// Entries of fence logs, for tests of traces.
#ifndef TIDEMARK_TESTS_SUPPORT_TRACE_ENTRIES_HPP
#define TIDEMARK_TESTS_SUPPORT_TRACE_ENTRIES_HPP

#include <cstdint>

#include <tidemark/log/fence_log.hpp>

namespace testing {

/// A clock whose ticks are nanoseconds, for entries that are made by hand.
struct nanosecond_clock {
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) { return ticks; }
};

inline tidemark::fence_log_entry signal_entry(tidemark::fence_id fence, std::uint64_t value, std::uint64_t end) {
  tidemark::fence_log_entry entry;
  entry.fence = fence;
  entry.fence_value = value;
  entry.operation = tidemark::fence_operation::signal_executed;
  entry.end_timestamp = end;
  return entry;
}

inline tidemark::fence_log_entry wait_entry(tidemark::fence_id fence, std::uint64_t value, std::uint64_t observed,
                                            std::uint64_t end) {
  tidemark::fence_log_entry entry = signal_entry(fence, value, end);
  entry.operation = tidemark::fence_operation::wait_unblocked;
  entry.observed_timestamp = observed;
  return entry;
}

/// Returns an entry as it stands in a log of this type. A wait did not stall.
inline tidemark::fence_log_entry entry_of(tidemark::fence_log_type log, tidemark::fence_id fence, std::uint64_t value,
                                          std::uint64_t end) {
  const bool wait = log == tidemark::fence_log_type::wait;
  return wait ? wait_entry(fence, value, 0, end) : signal_entry(fence, value, end);
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_TRACE_ENTRIES_HPP
