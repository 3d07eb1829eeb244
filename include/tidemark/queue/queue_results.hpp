// SPDX-License-Identifier: BSL-1.0
//
// The options of a queue, and how submissions end.
#ifndef TIDEMARK_QUEUE_QUEUE_RESULTS_HPP
#define TIDEMARK_QUEUE_QUEUE_RESULTS_HPP

#include <cstddef>
#include <cstdint>

#include "../log/ids.hpp"
#include "../platform/names.hpp"
#include "recorder.hpp"

namespace tidemark {

/// The options of a queue.
struct queue_options {
  fence_id progress{};  ///< The number by which logs know the progress fence; a hub gives it another one (attach()).
  std::size_t log_entries = default_log_entries;  ///< How many entries each log has, 2 to 2^31 - 1; see log_recorder.
};

/// How a submission ended.
enum class submit_status {
  submitted,
  lost,  ///< The queue was aborted: the work was not made visible.
};

template <>
inline constexpr auto detail::names_of<submit_status> = detail::names("submitted", "lost");
struct [[nodiscard]] submit_result {
  submit_status status;
  std::uint64_t serial;  ///< Of the work, if it was submitted.

  explicit operator bool() const noexcept { return status == submit_status::submitted; }
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_QUEUE_RESULTS_HPP
