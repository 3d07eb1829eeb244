// SPDX-License-Identifier: BSL-1.0
// A small GPU. Three engines execute command buffers, in three stages:
//
//   copy      1 thread,  1 queue      read      file blocks into upload memory
//   compute   2 threads, 4 queues     pack      upload memory into output memory; buffer n is in queue n mod 4
//   present   1 thread,  1 queue      write     output memory to the archive, buffer after buffer; signals `written`
//
// Each stage of a buffer waits for the stage before, by the progress of its queue, and nothing else orders them.
//
// Losing an engine. Its queues are lost, and with them those that wait for theirs; no others. So what is lost is a
// stage and all stages behind it. Their queues are made anew, and what was not written is recorded again from that
// stage on. The memory of a buffer is in use until `written` has its number. The program has that fence itself, so it
// is not lost with any queue.

#pragma once

#include "archive.hpp"
#include "lane.hpp"
#include "options.hpp"

#include <tidemark/tidemark.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace command_processor {

/// An open file, for as long as commands may read it.
class source_file : public tidemark::retire_queue<tidemark::fence_view>::hook {
 public:
  source_file(const file_tree& tree, std::size_t number)
      : file_(support::open_input((tree.root / tree.files[number].path).string())), entry_(tree.files[number]) {}

  [[nodiscard]] const file_tree::file& entry() const { return entry_; }

  void read(std::uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
      const auto count = ::pread(file_.descriptor(), to.data(), to.size(), static_cast<off_t>(offset));
      if (count == 0) throw std::runtime_error("'" + file_.name() + "' has become shorter");
      if (count < 0 && errno != EINTR) support::fail("read", file_.name());
      if (count < 0) continue;
      to = to.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
  }

 private:
  support::open_file file_;
  const file_tree::file& entry_;
};

/// A block, and the memory that its commands use.
struct block_command {
  const source_file* file;
  block which;
  std::span<std::byte> content;
  std::span<std::byte> output;
  std::size_t packed_size = 0;

  void read() const { file->read(which.offset, content); }
  void pack() { packed_size = pack_block(file->entry(), which, content, output); }
};

struct command_buffer {
  std::uint64_t number;  // from 1 on
  std::vector<block_command> blocks;
  std::array<std::uint64_t, all_stages.size()> serials{};  // of its submission to each stage
};

/// Queues wait for each other.
class deadlock : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Keeps the first exception of commands, which must not throw themselves. Then the others do nothing.
class first_failure {
 public:
  template <class Work>
  void attempt(const Work& work) noexcept {
    if (has_failed_) return;
    try {
      work();
    } catch (...) {
      const std::lock_guard guard(mutex_);
      if (!failure_) failure_ = std::current_exception();
      has_failed_ = true;
    }
  }
  void rethrow() {
    const std::lock_guard guard(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// For one thread, which records.
class processor {
 public:
  /// \param written  is poisoned in the end, when no command uses any memory
  processor(registry& known_to, support::open_file& archive, tidemark::fence& written, const options& chosen)
      : registry_(known_to),
        archive_(archive),
        written_{&written, registry_.add_fence("written")},
        blocks_(chosen.blocks) {
    for (const planned_loss& each : chosen.losses) losses_.emplace_back(each);
    make_lanes(stage::read);
  }
  processor(const processor&) = delete;
  processor& operator=(const processor&) = delete;
  ~processor() {
    end_lanes(stage::read);
    written_.fence->poison();
  }

  void submit(command_buffer made) {
    command_buffer& kept = unfinished_.emplace_back(std::move(made));
    if (!record(kept, stage::read)) recover();
    registry_.collect();
  }

  /// Returns when fewer command buffers are unfinished, or none. Throws what a command has thrown.
  void wait_for_oldest() {
    if (unfinished_.empty()) return;
    const lane& writing = *lanes_of(stage::write)[0];
    const std::uint64_t serial = unfinished_.front().serials[static_cast<std::size_t>(stage::write)];
    const tidemark::wait_status status = writing.wait_finished_for(serial, patience);
    if (status == tidemark::wait_status::timeout) look_for_cycles();
    if (status == tidemark::wait_status::lost) recover();
    forget_written();
    failure_.rethrow();
  }
  void finish() {
    while (!unfinished_.empty()) wait_for_oldest();
  }

  /// Lets two queues wait for each other, which is never right.
  void plant_deadlock() {
    lane& one = *lanes_of(stage::pack)[0];
    lane& other = *lanes_of(stage::pack)[1];
    const tidemark::logged_fence first{&planted_[0], registry_.add_fence("planted by " + one.name())};
    const tidemark::logged_fence second{&planted_[1], registry_.add_fence("planted by " + other.name())};
    one.wait(second, 1);
    one.signal(first, 1);
    other.wait(first, 1);
    other.signal(second, 1);
    if (!one.submit() || !other.submit()) throw std::runtime_error("the compute engine is lost");
  }

  /// Returns what was to be lost and was not. To be asked when all is finished.
  [[nodiscard]] std::vector<planned_loss> missing_losses() const {
    std::vector<planned_loss> missing;
    for (const loss& each : losses_) {
      if (each.has_happened == 0) missing.push_back(each.plan);
    }
    return missing;
  }
  [[nodiscard]] std::uint64_t recorded_again() const { return recorded_again_; }
  [[nodiscard]] std::uint64_t submissions(stage of) const { return submissions_[static_cast<std::size_t>(of)]; }

 private:
  using lanes = std::vector<std::unique_ptr<lane>>;
  struct loss {
    explicit loss(const planned_loss& planned) : plan(planned) {}
    planned_loss plan;
    std::atomic<int> has_happened = 0;  // not a bool: RISC-V has no exchange of a byte
  };

  static constexpr std::size_t pack_queues = 4;
  static constexpr std::chrono::milliseconds patience{250};  // before it looks whether queues wait for each other

  tidemark::engine& engine_for(stage of) { return engines_[static_cast<std::size_t>(of)]; }
  lanes& lanes_of(stage of) { return lanes_[static_cast<std::size_t>(of)]; }
  lane& lane_for(stage of, const command_buffer& buffer) {
    lanes& all = lanes_of(of);
    return *all[buffer.number % all.size()];
  }

  /// Makes the queues of a stage and of those behind it.
  void make_lanes(stage from) {
    for (const stage each : all_stages) {
      if (each < from) continue;
      const std::size_t count = each == stage::pack ? pack_queues : 1;
      for (std::size_t i = 1; i <= count; ++i) lanes_of(each).push_back(make_lane(each, i));
    }
  }
  std::unique_ptr<lane> make_lane(stage of, std::size_t number) {
    // A turn is as long as a command buffer: the engine finishes it before it goes on with another queue.
    const auto quantum = static_cast<unsigned>(blocks_ + 3);  // two for waits and signals, one for the end
    std::string name = name_of(of);
    if (of == stage::pack) name += " " + std::to_string(number);
    if (recoveries_ != 0) name += " #" + std::to_string(recoveries_ + 1);
    return std::make_unique<lane>(registry_, engine_for(of), engine_of(of), std::move(name), quantum);
  }
  /// Ends the last stage first: its queues may wait for those of the stages before.
  void end_lanes(stage from) {
    for (auto each = all_stages.rbegin(); each != all_stages.rend(); ++each) {
      if (*each >= from) lanes_of(*each).clear();
    }
  }

  /// Records the stages of a buffer, and rings the doorbells. Returns false as soon as a queue was lost.
  bool record(command_buffer& buffer, stage from) {
    for (const stage each : all_stages) {
      if (each < from) continue;
      lane& on = lane_for(each, buffer);
      ++submissions_[static_cast<std::size_t>(each)];
      record_commands(buffer, each, on);
      const tidemark::doorbell_result rung = on.submit();
      if (!rung) return false;
      buffer.serials[static_cast<std::size_t>(each)] = rung.serial;
    }
    return true;
  }
  void record_commands(command_buffer& buffer, stage of, lane& on) {
    if (of != stage::read) {
      const auto before = static_cast<stage>(static_cast<std::size_t>(of) - 1);
      on.wait(lane_for(before, buffer), buffer.serials[static_cast<std::size_t>(before)]);
    }
    if (of == stage::write) {
      on.run("write a buffer", [this, &buffer] { failure_.attempt([&] { write(buffer); }); });
      record_losses(of, on);
      on.signal(written_, buffer.number);
      return;
    }
    for (block_command& each : buffer.blocks) {
      if (of == stage::read) {
        on.run("read a block", [this, &each] { failure_.attempt([&] { each.read(); }); });
      } else {
        on.run("pack a block", [this, &each] { failure_.attempt([&] { each.pack(); }); });
      }
      if (&each == &buffer.blocks.front()) record_losses(of, on);
    }
  }
  void write(const command_buffer& buffer) {
    for (const block_command& each : buffer.blocks) archive_.write(each.output.first(each.packed_size));
    last_written_ = buffer.number;
  }

  /// The engine is lost in the middle of a submission. If the command is dropped, because another engine is lost
  /// before, the next submission has it, too.
  void record_losses(stage of, lane& on) {
    for (loss& each : losses_) {
      if (each.plan.of != of || submissions(of) < each.plan.submission || each.has_happened != 0) continue;
      on.run("lose the engine", [this, &each] {
        if (each.has_happened.exchange(1) == 0) engine_for(each.plan.of).abort();
      });
    }
  }

  /// Records again what is lost. It may find that one more engine was lost meanwhile. Then it begins anew, with the
  /// first stage that any of the engines has lost, because some buffers were not recorded again yet.
  void recover() {
    stage from = stage::write;
    for (bool is_done = false; !is_done;) {
      ++recoveries_;
      from = std::min(from, first_lost());
      end_lanes(from);
      // Perhaps a buffer was written, and only the signal was dropped.
      written_.fence->signal(last_written_);
      forget_written();
      make_lanes(from);
      is_done = true;
      for (command_buffer& each : unfinished_) {
        ++recorded_again_;
        is_done = record(each, from);
        if (!is_done) break;
      }
    }
  }
  stage first_lost() {
    for (const stage each : all_stages) {
      for (const auto& one : lanes_of(each)) {
        if (one->is_lost()) return each;
      }
    }
    throw std::logic_error("no queue is lost");
  }

  void forget_written() {
    while (!unfinished_.empty() && unfinished_.front().number <= written_.fence->current_value()) {
      unfinished_.pop_front();
    }
  }

  void look_for_cycles() {
    std::string text;
    const auto report = std::apply([](auto&... each) { return tidemark::why_waiting(each...); }, engines_);
    for (const auto& cycle : report.cycles) {
      for (const tidemark::hanging_wait& wait : cycle) {
        text += "\n  '" + wait.queue.name + "' waits for " + std::to_string(wait.value) + " of '" +
                registry_.trace().fence_name(wait.fence) + "', which is at " + std::to_string(wait.current_value) +
                "; '" + wait.held_by.value().name + "' has the signal";
      }
    }
    if (!text.empty()) throw deadlock("queues wait for each other:" + text);
  }

  registry& registry_;
  support::open_file& archive_;
  const tidemark::logged_fence<tidemark::fence> written_;
  const std::size_t blocks_;  // of a command buffer, at most
  std::deque<loss> losses_;   // commands have their addresses
  first_failure failure_;
  std::uint64_t last_written_ = 0;  // of the write queue's commands, and of recover(), when there are none
  std::array<tidemark::fence, 2> planted_;
  std::deque<command_buffer> unfinished_;  // commands have their addresses
  std::array<std::uint64_t, all_stages.size()> submissions_{};
  std::uint64_t recoveries_ = 0;
  std::uint64_t recorded_again_ = 0;
  std::array<tidemark::engine, all_stages.size()> engines_{
      tidemark::engine{{.threads = 1}}, tidemark::engine{{.threads = 2}}, tidemark::engine{{.threads = 1}}};
  std::array<lanes, all_stages.size()> lanes_;
};

}  // namespace command_processor
