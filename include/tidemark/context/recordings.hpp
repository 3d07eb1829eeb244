// SPDX-License-Identifier: BSL-1.0
//
// context_recordings: knows which contexts are recording, so that a retire queue can tell when all recordings are over
// that may use an object. It is a submission queue; see memory/retire_queue.hpp.
//
//   epoch    rises by 1 with each last_queued(): the serial that it returns
//   began    for each context: the epoch at which its recording began, or 0 if it does not record
//   turns    for each context: rises with each end of a recording that a thread waits for. Threads sleep on it
//
// A serial is finished when no context is in a recording that began at this epoch or earlier. That is conservative: a
// recording that began just after last_queued() may still have the old epoch, and is then waited for, too.
//
// PRECONDITION, as for every retire queue: the beginning of each recording that uses the object happens-before the call
// of last_queued().
//
// Not promised: that a serial stays finished while a context begins to record at the same time. Whoever has found a
// serial finished once, under the precondition, need not look again.
#ifndef TIDEMARK_CONTEXT_RECORDINGS_HPP
#define TIDEMARK_CONTEXT_RECORDINGS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

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
    typename Platform::park_word turns_{0};
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

  /// Ends the recording. Asserts that the context records. What the recording did happens-before the return of
  /// is_finished() or wait_finished() that find it over. Progress: wait-free; a store, which is a full barrier, and one
  /// load if nobody waits.
  void end(std::size_t context) noexcept {
    TIDEMARK_ASSERT(is_recording(context), "a context ended a recording that it had not begun");
    line& own = lines_[context];
    // (CR4): seq_cst. Release, pairs with (CR5). And in the order of all seq_cst accesses, either (CR8) comes later and
    // finds that the recording is over, or (CR9) comes later than (CR7) and finds the waiter.
    own.began_.store(0, std::memory_order_seq_cst);
    // (CR9): seq_cst, pairs with (CR7).
    if (waiting_.load(std::memory_order_seq_cst) == 0) return;
    // (CR6): release, pairs with (CR12): a waiter that finds the new number finds that the recording is over.
    own.turns_.fetch_add(1, std::memory_order_release);
    Platform::unpark(own.turns_, UINT32_MAX);
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

  /// Blocks, parked, until is_finished(serial) was true of each context once. Returns `reached`.
  wait_status wait_finished(std::uint64_t serial) const noexcept { return wait_finished_until(serial, no_deadline); }

  /// The same until the deadline at most, and then returns `timeout`.
  wait_status wait_finished_until(std::uint64_t serial, deadline until) const noexcept {
    // (CR7): seq_cst, pairs with (CR9): see (CR4).
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    wait_status status = wait_status::reached;
    for (line& each : lines_) {
      if (!wait_for(each, serial, until)) {
        status = wait_status::timeout;
        break;
      }
    }
    // (CR11): relaxed alone: who finds a waiter that has left wakes nobody.
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return status;
  }

 private:
  static bool is_open(const line& asked, std::uint64_t serial) noexcept {
    // (CR5): acquire, pairs with (CR4) and with (CR3): what the recording did is visible.
    const std::uint64_t began = asked.began_.load(std::memory_order_acquire);
    return began != 0 && began <= serial;
  }

  static bool wait_for(line& asked, std::uint64_t serial, deadline until) noexcept {
    while (is_open(asked, serial)) {
      // (CR12): acquire, pairs with (CR6). Loaded before (CR8), so that a number that is new when it sleeps wakes it.
      const std::uint32_t turn = asked.turns_.load(std::memory_order_acquire);
      // (CR8): seq_cst, pairs with (CR4): see there.
      const std::uint64_t began = asked.began_.load(std::memory_order_seq_cst);
      if (began == 0 || began > serial) return true;
      if (!Platform::park(asked.turns_, turn, until)) return !is_open(asked, serial);
    }
    return true;
  }

  std::span<line> lines_;
  alignas(cache_line) mutable typename Platform::template atomic<std::uint64_t> epoch_{1};
  mutable typename Platform::template atomic<std::uint32_t> waiting_{0};
};

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_RECORDINGS_HPP
