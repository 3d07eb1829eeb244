// SPDX-License-Identifier: BSL-1.0
//
// thread_hangs: why_waiting() of engines and of threads that are recorded (queue/thread_recorder.hpp), at one moment.
//
//   hang_report report = why_waiting(compute, copy, decoder, writer);     engines and recorders, in any order
//
// A thread stands in the report as a queue does (reported_queue::is_thread). If it sleeps in a recorded wait, that wait
// is what it has to execute first; what it has announced by will_signal() comes after that, in the order of the calls.
// So a queue may wait for a thread, and a thread for a queue, and a circle through both is found.
//
// A thread that does not sleep in a recorded wait is expected to make its announced signals. What it waits for in
// another way is not known. A signal that it has not announced counts as from outside of the report: it may still end a
// wait for which the report names no holder.
#ifndef TIDEMARK_ENGINE_THREAD_HANGS_HPP
#define TIDEMARK_ENGINE_THREAD_HANGS_HPP

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "../platform/platform.hpp"
#include "../platform/tools/park_lock.hpp"
#include "../queue/thread_recorder.hpp"
#include "engine.hpp"
#include "hang_report.hpp"

namespace tidemark {

namespace detail {

/// Adds a thread as it stands. With its lock.
template <platform Platform>
void look_at_thread(basic_recorded_thread<Platform>& thread, engine_picture& into) {
  reported_queue named{.id = thread.id(), .name = thread.name(), .engine = {}, .engine_name = {}, .is_thread = true};
  pending_queue& made = into.queues.emplace_back(pending_queue{std::move(named), {}});
  thread_access::look_at(
      thread,
      [&](const void* at, fence_id id, std::uint64_t value, std::uint64_t current) {
        made.commands.push_back({true, timeline_key(at), id, value});
        into.values[timeline_key(at)] = current;
      },
      [&](const void* at, fence_id id, std::uint64_t value) {
        made.commands.push_back({false, timeline_key(at), id, value});
      });
}

template <class T, class Platform>
concept reported_object =
    std::same_as<T, basic_engine<Platform>> || std::derived_from<T, basic_recorded_thread<Platform>>;

}  // namespace detail

/// Returns who waits for what, and the circles, of the queues of all these engines and of all these threads. An engine
/// or a thread that is named twice is looked at once. Allocates, and throws what that throws. Any thread may call it.
/// Progress: takes the locks of all engines and recorders, so engines stand still meanwhile, and recorded threads do
/// where a wait begins or ends to sleep, O(n) in the commands that are to be executed; and after that O(n log n).
template <platform Platform>
[[nodiscard]] hang_report why_waiting(std::span<basic_engine<Platform>* const> engines,
                                      std::span<basic_recorded_thread<Platform>* const> threads) {
  std::vector<detail::park_lock<Platform>*> locks;
  for (basic_recorded_thread<Platform>* each : threads) locks.push_back(&detail::thread_access::lock_of(*each));
  return detail::report_on<Platform>(engines, locks, [&](detail::engine_picture& into) {
    for (auto each = threads.begin(); each != threads.end(); ++each) {
      if (std::find(threads.begin(), each, *each) == each) detail::look_at_thread(**each, into);
    }
  });
}

/// The same of engines and recorders in any order, at least one of which is a recorder.
template <class First, class... More, platform Platform = typename First::platform>
  requires(detail::reported_object<First, Platform> && (detail::reported_object<More, Platform> && ...) &&
           (std::derived_from<First, basic_recorded_thread<Platform>> ||
            (std::derived_from<More, basic_recorded_thread<Platform>> || ...)))
[[nodiscard]] hang_report why_waiting(First& first, More&... more) {
  std::vector<basic_engine<Platform>*> engines;
  std::vector<basic_recorded_thread<Platform>*> threads;
  const auto add = [&](auto& each) {
    if constexpr (std::same_as<std::remove_reference_t<decltype(each)>, basic_engine<Platform>>) {
      engines.push_back(&each);
    } else {
      threads.push_back(&each);
    }
  };
  add(first);
  (add(more), ...);
  return why_waiting<Platform>(std::span<basic_engine<Platform>* const>(engines),
                               std::span<basic_recorded_thread<Platform>* const>(threads));
}

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_THREAD_HANGS_HPP
