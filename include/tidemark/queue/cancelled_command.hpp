// SPDX-License-Identifier: BSL-1.0
//
// cancelled_command: what an executor tells its queue of commands that were queued and will never be executed.
//
//   queue.cancel_from(3, 5, commands)          the work with the serials 3 to 5; 5 was queued last
//
// The queue writes an entry for each command, with cancelled_timestamp in the place of the time. So a reader of the log
// can tell what was given up from what was forgotten. Cancelled entries are contiguous: from the first command that was
// not executed to the last one that was queued. They release nobody: no value is signalled.
#ifndef TIDEMARK_QUEUE_CANCELLED_COMMAND_HPP
#define TIDEMARK_QUEUE_CANCELLED_COMMAND_HPP

#include <cstdint>

#include "../log/ids.hpp"
#include "../platform/names.hpp"
#include "log_reservation.hpp"

namespace tidemark {

/// The functions of a queue that execute a command.
enum class queue_operation { wait, signal, complete };

template <>
inline constexpr auto detail::names_of<queue_operation> = detail::names("wait", "signal", "complete");

/// A command that will never be executed.
struct cancelled_command {
  queue_operation operation = queue_operation::complete;
  fence_id fence{};         ///< Not used with `complete`.
  std::uint64_t value = 0;  ///< What it waits for or signals. Not used with `complete`.
  log_reservation entry{};  ///< If an entry was reserved for it.
};

enum class cancel_status {
  cancelled,
  refused,  ///< This is not exactly what comes next, to the end; cancel_from() says more. No entry was written.
};

template <>
inline constexpr auto detail::names_of<cancel_status> = detail::names("cancelled", "refused");
struct [[nodiscard]] cancel_result {
  cancel_status status;
  std::uint64_t entries;  ///< How many entries were written.

  explicit operator bool() const noexcept { return status == cancel_status::cancelled; }
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_CANCELLED_COMMAND_HPP
