// SPDX-License-Identifier: BSL-1.0
//
// The results and the options of the queues of engines.
#ifndef TIDEMARK_QUEUE_ENGINE_QUEUE_RESULTS_HPP
#define TIDEMARK_QUEUE_ENGINE_QUEUE_RESULTS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../log/ids.hpp"
#include "../platform/names.hpp"
#include "recorder.hpp"

namespace tidemark {

/// Which queues of an engine have their turn first.
enum class queue_priority : std::uint8_t { high, normal, low };

/// How waiters of a cross-domain fence wait (domain.hpp).
enum class domain_kind : std::uint8_t {
  native,  ///< They see the value: queues of engines park, and threads register with the fence.
  legacy,  ///< They are held on lists, until the domain learns that the value has changed.
};

/// The options of an engine's queue.
struct engine_queue_options {
  std::string_view name{};                        ///< For reports. The text must outlive the queue.
  fence_id progress{};                            ///< The number by which logs know the queue's progress.
  std::size_t log_entries = default_log_entries;  ///< See queue_options.
  queue_priority priority = queue_priority::normal;
  unsigned quantum = 8;                         ///< How many commands it executes in one turn, at least 1.
  domain_kind kind = domain_kind::native;       ///< With `legacy`, it waits as in a legacy domain. [A76]
  std::uint64_t most_submissions = UINT64_MAX;  ///< How many may be unfinished at a time, at least 1.
};

/// What the doorbell answers [A122].
enum class doorbell_status {
  accepted,  ///< The commands will be executed.
  retry,     ///< As many submissions are unfinished as may be. What was recorded stays; submit() may be called again.
  aborted,   ///< The queue was given up. What was recorded is dropped.
};

template <>
inline constexpr auto detail::names_of<doorbell_status> = detail::names("accepted", "retry", "aborted");
struct [[nodiscard]] doorbell_result {
  doorbell_status status;
  std::uint64_t serial;  ///< Of the submission, if it was accepted.

  explicit operator bool() const noexcept { return status == doorbell_status::accepted; }
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_ENGINE_QUEUE_RESULTS_HPP
