// SPDX-License-Identifier: BSL-1.0
// Some in-order engines as tidemark queues, and the trace of what they did.
//
// An engine is a queue and the fence that shows its progress; both are known by the same number. One thread submits the
// work of all engines. Each engine is then run by one thread, which waits for other engines' fences and completes one
// piece of work after the other. When all threads have ended, collect() joins what was queued with what the logs of the
// queues say.
//
// The memory of a trace is bounded: of a long run it holds the last commands, and says how many came before them.

#pragma once

#include <tidemark/tidemark.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
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
  engine_queues(const std::vector<names>& engines, bool is_traced) : is_traced_(is_traced) {
    for (const names& name : engines) {
      const auto number = static_cast<std::uint32_t>(engines_.size());
      logs_.add(tidemark::queue_id{number}, engines_.emplace_back(name, number, is_traced).queue);
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
  void complete(std::uint32_t engine) { engines_[engine].queue.complete(); }

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
    tidemark::trace result;
    for (std::uint32_t number = 0; number < engines_.size(); ++number) {
      result.name_queue(tidemark::queue_id{number}, engines_[number].name.engine);
      result.name_fence(tidemark::fence_id{number}, engines_[number].name.fence);
    }
    for (const queued_command& command : queued_) {
      result.on_queued(tidemark::queue_id{command.engine}, command.kind, tidemark::fence_id{command.fence},
                       command.value, clock::to_nanoseconds(command.ticks));
    }
    logs_.collect(result);
    return result;
  }

 private:
  static constexpr std::size_t traced_entries = 16'384;  // in each log, at most

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
    lane(names given, std::uint32_t number, bool is_traced)
        : name(std::move(given)), queue(fence, {.progress = tidemark::fence_id{number}}) {
      if (is_traced) queue.enable_tracing(traced_entries);  // before the first command, so that nothing is lost
    }

    names name;
    progress_type fence;
    queue_type queue;
  };

  struct queued_command {
    std::uint32_t engine;
    tidemark::trace_event kind;
    std::uint32_t fence;
    std::uint64_t value;
    std::uint64_t ticks;
  };

  void record(std::uint32_t engine, tidemark::trace_event kind, std::uint32_t fence, std::uint64_t value) {
    if (!is_traced_) return;
    const queued_command command{engine, kind, fence, value, clock::now()};
    const std::size_t most = 2 * traced_entries * engines_.size();  // as many as all logs have
    if (queued_.size() < most) {
      queued_.push_back(command);
    } else {
      queued_[next_oldest_++ % most] = command;  // no value comes twice, so the others are joined as before
    }
  }

  bool is_traced_;
  std::deque<lane> engines_;  // never moved: each queue has the address of its fence
  tidemark::basic_log_collector<platform, clock> logs_;
  std::vector<queued_command> queued_;  // a ring once it is full
  std::size_t next_oldest_ = 0;
};

}  // namespace support
