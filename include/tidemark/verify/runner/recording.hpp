// SPDX-License-Identifier: BSL-1.0
//
// How an operation gets into the record of a failing execution: first what a thread is about to do, then what became of
// it. All of it costs a branch while nothing is recorded.
#ifndef TIDEMARK_VERIFY_RUNNER_RECORDING_HPP
#define TIDEMARK_VERIFY_RUNNER_RECORDING_HPP

#include "../engine.hpp"
#include "execution.hpp"
#include "relacy.hpp"

namespace tidemark::verify::runner {

inline rl::debug_info info(const source_position& at) { return {at.function, at.file, at.line}; }

/// The time of the running thread, which each of its operations advances.
inline std::size_t own_time() { return static_cast<std::size_t>(rl::ctx().threadx_->own_acq_rel_order_); }

/// Notes what the running thread is about to do.
inline void intend(step_kind kind, const void* cell, value_type type, std::memory_order order,
                   const source_position& at) {
  if (!running.steps.recording()) [[likely]]
    return;
  const unsigned thread = engine::this_thread();
  auto& intent = running.steps.intents[thread];
  intent.pending = true;
  intent.what = {};
  intent.what.kind = kind;
  intent.what.in = running.now;
  intent.what.thread = static_cast<std::uint8_t>(thread);
  intent.what.cell = cell;
  intent.what.type = type;
  intent.what.order = order;
  intent.what.at = at;
}

/// Returns the number of the store that the running thread is about to make.
inline std::uint32_t number_store() {
  if (!running.steps.recording()) [[likely]]
    return 0;
  return running.steps.intents[engine::this_thread()].what.number = running.steps.next_number();
}

/// What was intended is done: `fill` completes the step.
template <class Fill>
void complete(Fill fill) {
  if (!running.steps.recording()) [[likely]]
    return;
  auto& intent = running.steps.intents[engine::this_thread()];
  intent.what.stamp = own_time();
  fill(intent.what);
  intent.pending = false;
  running.steps.add(intent.what);
}
inline void complete() {
  complete([](step&) {});
}

/// Notes what the running thread has seen of the others' times, before it may race with them.
inline void remember_clock() {
  if (!running.steps.recording()) [[likely]]
    return;
  const auto& thread = *rl::ctx().threadx_;
  auto& intent = running.steps.intents[engine::this_thread()];
  const auto threads = static_cast<unsigned>(rl::ctx().get_thread_count());
  for (unsigned i = 0; i < threads; ++i) intent.clock[i] = static_cast<std::size_t>(thread.acq_rel_order_[i]);
}

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_RECORDING_HPP
