// SPDX-License-Identifier: BSL-1.0
// A queue of an engine, and what a trace is told of it: when its commands were queued, and what work it did.
//
// One thread records the commands of all lanes; it also makes and destroys them, and collects the trace.

#pragma once

#include <tidemark/tidemark.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace command_processor {

/// Numbers queues and fences, knows their names, and keeps the trace if there is one.
class registry {
 public:
  explicit registry(bool is_traced) : is_traced_(is_traced) {}

  [[nodiscard]] bool is_traced() const { return is_traced_; }
  tidemark::trace& trace() { return trace_; }
  tidemark::log_collector& logs() { return logs_; }

  tidemark::fence_id add_fence(const std::string& name) {
    const tidemark::fence_id id{next_fence_++};
    trace_.name_fence(id, name);
    return id;
  }
  tidemark::queue_id add_queue(const std::string& engine, const std::string& name) {
    const tidemark::queue_id id{next_queue_++};
    trace_.name_queue(id, name);
    trace_.name_engine(id, engine);
    return id;
  }

  /// Reads the logs of the queues, also of those that are gone. Nothing is overwritten if it is called for each command
  /// buffer: of these at most 64 are unfinished, and each takes three entries.
  void collect() {
    if (is_traced_) logs_.collect(trace_);
  }

 private:
  const bool is_traced_;
  std::uint32_t next_fence_ = 0;
  std::uint32_t next_queue_ = 0;
  tidemark::trace trace_;
  tidemark::log_collector logs_;
};

class lane {
 public:
  using clock = tidemark::default_log_clock;

  lane(registry& known_to, tidemark::engine& on, const std::string& engine, std::string name, unsigned quantum)
      : registry_(known_to),
        name_(std::move(name)),
        id_(registry_.add_queue(engine, name_)),
        progress_(registry_.add_fence(name_ + " done")) {
    queue_.emplace(on, tidemark::engine_queue_options{
                           .name = name_, .progress = progress_, .log_entries = 256, .quantum = quantum});
    if (registry_.is_traced()) registry_.logs().add(id_, queue_->timeline());
  }
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;
  /// Waits for the command that is executed now, and drops the others.
  ~lane() {
    queue_.reset();
    for (const span& each : spans_) registry_.trace().on_work<clock>(id_, each.what, each.begin, each.end);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Also when the queue refuses work, but still executes a command, and loses its progress only after that.
  [[nodiscard]] bool is_lost() const { return is_refused_ || queue_->progress().fence->is_poisoned(); }

  /// \param what  names the work in the trace, and is a literal
  template <class Work>
  void run(const char* what, Work work) {
    if (!registry_.is_traced()) return queue_->run(std::move(work));
    queue_->run([this, what, call = std::move(work)]() mutable {
      const std::uint64_t begin = clock::now();
      call();
      spans_.push_back({what, begin, clock::now()});
    });
  }
  template <class Timeline>
  void wait(const tidemark::logged_fence<Timeline>& input, std::uint64_t value) {
    queue_->wait(input, value);
    note(tidemark::trace_event::wait_queued, input.id, value);
  }
  /// Waits for a submission of another queue.
  void wait(const lane& other, std::uint64_t serial) { wait(other.queue_->progress(), serial); }

  template <class Fence>
  void signal(const tidemark::logged_fence<Fence>& output, std::uint64_t value) {
    queue_->signal(output, value);
    note(tidemark::trace_event::signal_queued, output.id, value);
  }
  tidemark::doorbell_result submit() {
    const std::uint64_t now = clock::now();  // before the engine may execute it
    const tidemark::doorbell_result rung = queue_->submit();
    if (rung) note(tidemark::trace_event::signal_queued, progress_, rung.serial, now);
    is_refused_ = !rung;
    return rung;
  }

  template <class Rep, class Period>
  [[nodiscard]] tidemark::wait_status wait_finished_for(std::uint64_t serial,
                                                        const std::chrono::duration<Rep, Period>& timeout) const {
    return queue_->timeline().wait_finished_for(serial, timeout);
  }

 private:
  struct span {
    const char* what;
    std::uint64_t begin;
    std::uint64_t end;
  };

  void note(tidemark::trace_event what, tidemark::fence_id fence, std::uint64_t value,
            std::uint64_t now = clock::now()) {
    if (!registry_.is_traced()) return;
    registry_.trace().on_queued(id_, what, fence, value, clock::to_nanoseconds(now));
  }

  registry& registry_;
  const std::string name_;
  const tidemark::queue_id id_;
  const tidemark::fence_id progress_;
  std::vector<span> spans_;  // of the queue's commands, of which one at a time is executed
  bool is_refused_ = false;  // the last submission was
  std::optional<tidemark::engine_queue> queue_;
};

}  // namespace command_processor
