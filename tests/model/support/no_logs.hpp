// SPDX-License-Identifier: BSL-1.0
//
// Queues of engines without logs, whose checks are elsewhere (queue/queue.cpp) and would only make the search longer.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_NO_LOGS_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_NO_LOGS_HPP

#include "model_check.hpp"
#include "shapes.hpp"

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/queue/notifier.hpp>
#include <tidemark/queue/recorder.hpp>

#include <cstdint>

namespace model {

struct forgets {
  template <class>
  void on_executed(tidemark::queue_id, const tidemark::fence_log_entry&) {}
  void on_lost(tidemark::queue_id, tidemark::fence_log_type, std::uint64_t, std::uint64_t) {}
};
using no_logs = tidemark::direct_recorder<forgets, tidemark::no_log_clock>;

template <class Platform>
using queue_without_logs =
    tidemark::basic_engine_queue<Platform, tidemark::no_log_clock, tidemark::self_service, no_logs>;

}  // namespace model

// Such a fence has no functions of its own that a signal calls.
template <class Fence, model::heap_shape Shape>
inline constexpr bool tidemark::detail::is_own_fence<model::shaped<Fence, Shape>> = true;

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_NO_LOGS_HPP
