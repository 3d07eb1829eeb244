// SPDX-License-Identifier: BSL-1.0
// Some in-order engines as tidemark queues, and the trace of what they did.
//
// An engine is a queue and the fence that shows its progress; both are known by the same number. One thread submits the
// work of all engines. Each engine is then run by one thread, which waits for other engines' fences and completes one
// piece of work after the other. When all threads have ended, collect() joins what was queued with what the logs of the
// queues say.
//
// What happens is streamed to a temporary file while the engines run, so that a long run loses nothing and needs no
// memory for it. Each engine collects the logs of all of them before its own could overflow.

#pragma once

#include "spool_file.hpp"

#include <tidemark/tidemark.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace support {

class engine_queues {
 public:
  // An engine's waiters sleep often: too often for a fence whose sleepers pay a system-wide barrier.
  using platform = tidemark::symmetric_platform;
  using clock = tidemark::default_log_clock;

  struct names {
    std::string engine;
    std::string fence;
  };

  /// @param is_traced  whether collect() will be called
  engine_queues(const std::vector<names>& engines, bool is_traced)
      : record_(is_traced ? std::make_unique<recording>() : nullptr) {
    for (const names& name : engines) {
      const auto number = static_cast<std::uint32_t>(engines_.size());
      lane& made = engines_.emplace_back(number, is_traced);
      if (!is_traced) continue;
      record_->logs.add(tidemark::queue_id{number}, made.queue);
      record_->file.name_queue(tidemark::queue_id{number}, name.engine);
      record_->file.name_fence(tidemark::fence_id{number}, name.fence);
    }
  }

  // ---- the thread that submits ----

  /// Submits one more piece of work to an engine, which ends with a signal of its fence. Returns false once the queues
  /// are aborted.
  [[nodiscard]] bool submit(std::uint32_t engine) {
    const auto make_visible = [&](std::uint64_t serial) {
      record(engine, tidemark::trace_event::signal_queued, engine, serial);
    };
    return static_cast<bool>(engines_[engine].queue.submit(make_visible));
  }

  /// The piece that is submitted next will wait for this value before it is done.
  void record_wait(std::uint32_t engine, std::uint32_t fence, std::uint64_t value) {
    record(engine, tidemark::trace_event::wait_queued, fence, value);
  }

  // ---- the thread of an engine ----

  /// Sleeps until the fence has reached the value.
  [[nodiscard]] tidemark::wait_status wait(std::uint32_t engine, std::uint32_t fence, std::uint64_t value) {
    return engines_[engine].queue.wait(engines_[fence].queue.progress(), value);
  }

  /// Says that the engine's next piece of work is done: its fence rises by one.
  void complete(std::uint32_t engine) {
    lane& own = engines_[engine];
    own.queue.complete();
    if (record_ && ++own.uncollected == traced_entries / 4) {
      own.uncollected = 0;
      const std::lock_guard guard(record_->mutex);
      record_->logs.collect(record_->file);
    }
  }

  // ---- any thread ----

  /// The fence, for a coroutine that awaits it. Once it is reached, wait() notes that in the log and does not sleep.
  [[nodiscard]] auto timeline(std::uint32_t fence) const { return engines_[fence].fence.view(); }

  [[nodiscard]] bool is_reached(std::uint32_t fence, std::uint64_t value) const {
    return engines_[fence].fence.is_reached(value);
  }

  /// Ends all waits that would not end otherwise, with `lost`.
  void abort() {
    for (lane& one : engines_) one.queue.abort();
  }

  // ---- when all have ended ----

  [[nodiscard]] std::uint64_t signal_count() const {
    std::uint64_t sum = 0;
    for (const lane& one : engines_) sum += one.fence.current_value();  // each signal has raised it by one
    return sum;
  }
  [[nodiscard]] std::uint64_t notify_count() {
    std::uint64_t sum = 0;
    for (lane& one : engines_) sum += one.queue.notifier().count;
    return sum;
  }

  /// Call it once.
  [[nodiscard]] tidemark::trace collect() {
    record_->logs.collect(record_->file);
    if (record_->file.close() != tidemark::trace_write_status::written) {
      throw std::runtime_error("cannot write the temporary file of the trace");
    }
    tidemark::trace result;
    if (!tidemark::read_trace_file(record_->spool.input(), result)) {
      throw std::runtime_error("cannot read the temporary file of the trace");
    }
    return result;
  }

 private:
  static constexpr std::size_t traced_entries =
      16'384;  // in each log: an engine waits twice for a piece of work at most

  /// Releases the waiters itself, as a queue without a hub does, and counts how often.
  struct counting_service {
    std::uint64_t count = 0;
    template <class Fence>
    void operator()(const tidemark::logged_fence<Fence>& due) noexcept {
      ++count;
      due.fence->release_due();
    }
  };
  using progress_type = tidemark::basic_progress_fence<platform>;
  using queue_type = tidemark::basic_queue<progress_type, clock, counting_service>;

  struct lane {
    lane(std::uint32_t number, bool is_traced) : queue(fence, {.progress = tidemark::fence_id{number}}) {
      if (is_traced) queue.enable_tracing(traced_entries);  // before the first command, so that nothing is lost
    }

    progress_type fence;
    queue_type queue;
    std::size_t uncollected = 0;  // pieces of work that this engine has done since it collected
  };

  /// What happened, on its way to the file. One thread at a time, by the mutex.
  struct recording {
    spool_file spool;
    tidemark::trace_file_writer file{spool.output()};
    tidemark::basic_log_collector<platform, clock> logs;
    std::mutex mutex;
  };

  void record(std::uint32_t engine, tidemark::trace_event kind, std::uint32_t fence, std::uint64_t value) {
    if (!record_) return;
    const std::uint64_t now = clock::to_nanoseconds(clock::now());
    const std::lock_guard guard(record_->mutex);
    record_->file.on_queued(tidemark::queue_id{engine}, kind, tidemark::fence_id{fence}, value, now);
  }

  std::unique_ptr<recording> record_;  // none if nothing is traced
  std::deque<lane> engines_;           // never moved: each queue has the address of its fence
};

}  // namespace support
