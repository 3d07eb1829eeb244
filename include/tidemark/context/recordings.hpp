// SPDX-License-Identifier: BSL-1.0
//
// context_recordings: knows which contexts are recording, so that a retire queue can tell when all recordings are over
// that may use an object. It is a submission queue; see memory/retire_queue.hpp.
//
//   epoch    rises by 1 with each last_queued(), which returns the value before
//   began    for each context: the epoch at which its recording began, or 0 if it does not record
//   ends     an event count: threads that wait try again when a recording ends
//
// A serial is finished when no context is in a recording that began at this epoch or earlier. That is conservative: a
// recording that began just after last_queued() may still have the old epoch, and is then waited for, too.
//
// PRECONDITION, as for every retire queue: the beginning of each recording that uses the object happens-before the call
// of last_queued().
//
// Not promised: that a serial stays finished. A context that begins to record meanwhile may still take an older epoch.
// Under the precondition, such a recording does not use the object, so whoever has found the serial finished once need
// not look again.
#ifndef TIDEMARK_CONTEXT_RECORDINGS_HPP
#define TIDEMARK_CONTEXT_RECORDINGS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "../fence/event_count.hpp"
#include "../fence/wait.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

/// The recordings of a fixed number of contexts; see the head of this file.
template <platform Platform = native_platform>
class context_recordings {
 public:
  using platform = Platform;

  /// What belongs to one context. It has a cache line of its own.
  class alignas(cache_line) line {
    friend context_recordings;
    typename Platform::template atomic<std::uint64_t> began_{0};
  };

  /// \param all  one line for each context; they must outlive this
  explicit context_recordings(std::span<line> all) noexcept : lines_{all} {}
  context_recordings(const context_recordings&) = delete;
  context_recordings& operator=(const context_recordings&) = delete;

  // ---- recording: the thread of the context -------------------------------------------------------------------------

  /// Begins a recording. Asserts that the context does not record. If it does, the recording goes on. Progress:
  /// wait-free, two loads and one store.
  void begin(std::size_t context) noexcept {
    const bool is_open = is_recording(context);
    TIDEMARK_ASSERT(!is_open, "a context began to record twice");
    if (is_open) return;  // a later epoch would let go what the recording has used
    // (CR1): relaxed, as (CR2) counts: that the recording began before last_queued() is what the caller orders.
    const std::uint64_t now = epoch_.load(std::memory_order_relaxed);
    // (CR3): release, pairs with (CR5): a thread that finds the later recording finds the end of the one before, too.
    lines_[context].began_.store(now, std::memory_order_release);
  }

  /// Ends the recording. Asserts that the context records. What the recording did happens-before the return of a call
  /// of is_finished() or wait_finished() that finds it over. Progress: wait-free; a store, and what
  /// event_count::notify() does: one load if nobody waits for any context.
  void end(std::size_t context) noexcept {
    TIDEMARK_ASSERT(is_recording(context), "a context ended a recording that it had not begun");
    // (CR4): release, pairs with (CR5). The event count orders it with its look for threads that wait.
    lines_[context].began_.store(0, std::memory_order_release);
    ends_.notify();
  }

  /// Returns whether the context records. For its thread.
  [[nodiscard]] bool is_recording(std::size_t context) const noexcept {
    // (CR10): relaxed alone: the context's thread reads what it has written.
    return lines_[context].began_.load(std::memory_order_relaxed) != 0;
  }

  // ---- for a retire queue: any thread -------------------------------------------------------------------------------

  /// Returns a serial that is finished when all recordings are over that began before. Progress: wait-free, one
  /// read-modify-write.
  [[nodiscard]] std::uint64_t last_queued() const noexcept {
    // (CR2): relaxed, for (CR1): a recording that began before has read this serial or an earlier one.
    return epoch_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Returns whether no recording is open that began at this serial or before. Progress: wait-free, a load for each
  /// context.
  [[nodiscard]] bool is_finished(std::uint64_t serial) const noexcept {
    for (const line& each : lines_) {
      if (is_open(each, serial)) return false;
    }
    return true;
  }

  /// Blocks, parked, until each context was found once without a recording that began at this serial or before. Returns
  /// `reached`.
  wait_status wait_finished(std::uint64_t serial) const noexcept { return wait_finished_until(serial, no_deadline); }

  /// The same until the deadline at most, and then returns `timeout`; or until `token` is triggered, and then returns
  /// `stopped`.
  template <stop_token_like Token = never_stops>
  wait_status wait_finished_until(std::uint64_t serial, deadline until, Token token = {}) const noexcept {
    std::size_t over = 0;  // the recordings of these contexts
    const auto look = [&]() noexcept {
      while (over < lines_.size() && !is_open(lines_[over], serial)) ++over;
      return over == lines_.size();
    };
    return ends_.wait_until(look, until, std::move(token));
  }

 private:
  static bool is_open(const line& asked, std::uint64_t serial) noexcept {
    // (CR5): acquire, pairs with (CR4) and with (CR3): what the recording did is visible.
    const std::uint64_t began = asked.began_.load(std::memory_order_acquire);
    return began != 0 && began <= serial;
  }

  std::span<line> lines_;
  alignas(cache_line) mutable typename Platform::template atomic<std::uint64_t> epoch_{1};
  mutable basic_event_count<Platform> ends_;
};

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_RECORDINGS_HPP
