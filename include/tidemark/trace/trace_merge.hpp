// SPDX-License-Identifier: BSL-1.0
//
// trace_merge: the traces of several processes as one. Each process writes a file (trace_file.hpp); the files are
// merged later, in any program.
//
//   trace_merge both{{.shared = {fence_id{7}}}};           fences that the processes share, by their numbers
//   both.add("decoder", first_file);
//   both.add("player", second_file);
//   write_trace_page(both.result(), page);
//
// Times. The files must have been written on one machine since it was last started: std::chrono::steady_clock is one
// clock for all its processes there (CLOCK_MONOTONIC on Linux).
//
// Numbers. Each process has numbers of its own for its queues and fences. In the merged trace each queue gets another
// number, and so does each fence, but for the shared ones: of these, the same number in all processes is one fence,
// which keeps its number. So an arrow leads from a signal in one process to a wait in another.
//
// Names. The engine of each queue gets the name of the process in front of its own: "decoder: copy engine". Queues
// without an engine stand in a group with the name of the process, and its threads in another one.
//
// What is not noticed: files of different machines or starts, and processes of the same name, whose engines become one.
#ifndef TIDEMARK_TRACE_TRACE_MERGE_HPP
#define TIDEMARK_TRACE_TRACE_MERGE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../log/clock_correlation.hpp"
#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "trace.hpp"
#include "trace_file.hpp"

namespace tidemark {

/// What a merge must know of the processes.
struct trace_merge_options {
  std::vector<fence_id> shared;  ///< The numbers of the fences that are the same in all processes.
};

/// Merges trace files; see the head of this file. One thread at a time. Allocates, and throws what that throws.
class trace_merge {
 public:
  explicit trace_merge(trace_merge_options options = {}) : shared_{std::move(options.shared)} {}

  /// Adds what a file holds. Returns what read_trace_file() returns; what could be read of a file that is not whole is
  /// in the result, too. Progress: as that of read_trace_file().
  /// \param process  its name, in the place of the one that the file has (trace_file_writer::name_process())
  /// \param stream   as for read_trace_file()
  trace_read_result add(std::string_view process, std::istream& stream) { return read(std::string(process), stream); }
  /// The same with the name that the file has, or "process 1", "process 2" and so on.
  trace_read_result add(std::istream& stream) { return read({}, stream); }

  /// Returns the merged trace. The reference is valid as long as this object; add() changes what it refers to.
  /// Progress: wait-free.
  [[nodiscard]] const trace& result() const noexcept { return result_; }

  /// Returns which number a queue has in the result; nothing if its file does not tell of it.
  /// \param process  the place of its file among the calls of add(), from 0
  [[nodiscard]] std::optional<queue_id> queue_of(std::size_t process, queue_id number) const {
    if (process >= queues_.size()) return std::nullopt;
    const auto found = queues_[process].find(number);
    return found != queues_[process].end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  /// Receives what a file holds, and tells the result the same with other numbers.
  class renumbering {
   public:
    explicit renumbering(trace_merge& to) : to_{to}, queues_{to.queues_.back()} {}

    void name_process(std::string name) { process_ = std::move(name); }
    void name_queue(queue_id number, std::string name) { to_.result_.name_queue(queue(number), std::move(name)); }
    void name_thread(queue_id number, std::string name) { to_.result_.name_thread(queue(number), std::move(name)); }
    void name_engine(queue_id number, std::string name) { engines_[queue(number)] = std::move(name); }
    void name_fence(fence_id number, std::string name) { to_.result_.name_fence(fence(number), std::move(name)); }
    void set_clock(queue_id number, clock_correlation clock) { to_.result_.set_clock(queue(number), std::move(clock)); }
    void on_queued(queue_id number, trace_event event, fence_id id, std::uint64_t value, std::uint64_t nanoseconds) {
      to_.result_.on_queued(queue(number), event, fence(id), value, nanoseconds);
    }
    template <class Clock>
    void on_executed(queue_id number, fence_log_entry entry) {
      entry.fence = fence(entry.fence);
      to_.result_.on_executed<Clock>(queue(number), entry);
    }
    void on_lost(queue_id number, fence_log_type log, std::uint64_t first_sequence, std::uint64_t count) {
      to_.result_.on_lost(queue(number), log, first_sequence, count);
    }
    template <class Clock>
    void on_work(queue_id number, std::string_view name, std::uint64_t begin, std::uint64_t end) {
      to_.result_.on_work<Clock>(queue(number), name, begin, end);
    }

    /// Names the engines of all queues, when the name of the process is known.
    void end(std::string process) {
      if (process.empty()) process = process_;
      if (process.empty()) process = "process " + std::to_string(to_.queues_.size());
      for (const auto& [old, number] : queues_) {
        const std::string own = engines_[number].empty() ? to_.result_.engine_name(number) : engines_[number];
        std::string in_process = process;
        if (!own.empty()) in_process.append(": ").append(own);
        to_.result_.name_engine(number, std::move(in_process));
      }
    }

   private:
    queue_id queue(queue_id number) {
      const auto [found, is_new] = queues_.try_emplace(number, queue_id{to_.next_queue_});
      if (!is_new) return found->second;
      ++to_.next_queue_;
      to_.result_.name_queue(found->second, "queue " + std::to_string(to_number(number)));  // unless it has a name
      return found->second;
    }
    fence_id fence(fence_id number) {
      if (to_.is_shared(number)) return number;
      while (to_.is_shared(fence_id{to_.next_fence_})) ++to_.next_fence_;
      const auto [found, is_new] = fences_.try_emplace(number, fence_id{to_.next_fence_});
      if (!is_new) return found->second;
      ++to_.next_fence_;
      to_.result_.name_fence(found->second, "fence " + std::to_string(to_number(number)));  // unless it has a name
      return found->second;
    }

    trace_merge& to_;
    std::map<queue_id, queue_id>& queues_;
    std::map<fence_id, fence_id> fences_;
    std::map<queue_id, std::string> engines_;  // by the number in the result
    std::string process_;
  };

  bool is_shared(fence_id number) const { return std::find(shared_.begin(), shared_.end(), number) != shared_.end(); }

  trace_read_result read(std::string process, std::istream& stream) {
    queues_.emplace_back();
    renumbering target{*this};
    const trace_read_result found = read_trace_file(stream, target);
    target.end(std::move(process));
    return found;
  }

  const std::vector<fence_id> shared_;
  trace result_;
  std::vector<std::map<queue_id, queue_id>> queues_;  // of each process: the number in its file, and in the result
  std::uint32_t next_queue_ = 0;
  std::uint32_t next_fence_ = 0;
};

}  // namespace tidemark

#endif  // TIDEMARK_TRACE_TRACE_MERGE_HPP
