// SPDX-License-Identifier: BSL-1.0
//
// engine_parts: lets submit_parts() (split/submit_parts.hpp) record the parts of a work item in a queue of an engine.
// Parts that must follow each other do so, because each enter() begins an unbroken run (unbroken_run.hpp), and the
// leave() after it ends the run.
//
//   tidemark::engine_parts recorded{queue, carry_out, draw};
//   if (!tidemark::submit_parts(parts, tidemark::part_scheduling::back_to_back, recorded)) ...
//   queue.submit();
//
//   back_to_back    all parts and their paging are one unbroken run: what unbroken_run promises holds from the first
//                   operation to the last command
//   full_packets    each part is an unbroken run with the paging before it; between two parts the engine may execute
//                   other queues
//
// Nothing is executed here, and nothing is submitted. If submit_parts() fails, the parts before are recorded. If it
// throws, some paging of the next part may be recorded, too. Then the program decides: queue.submit(), or
// queue.discard().
#ifndef TIDEMARK_ENGINE_ENGINE_PARTS_HPP
#define TIDEMARK_ENGINE_ENGINE_PARTS_HPP

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

#include "unbroken_run.hpp"

namespace tidemark {

/// A part_executor that records; see the head of this file. It never refuses a part. For the thread that records the
/// queue's commands. It can be neither copied nor moved.
/// \tparam Queue  a basic_engine_queue
template <class Queue, std::copy_constructible Page, std::invocable<std::uint64_t, std::uint64_t> Work>
class engine_parts {
 public:
  /// \param on    must outlive this object
  /// \param page  is copied into a command for each paging operation, and called there with the operation
  /// \param work  is copied into a command for each part, and called there with its begin and its end
  engine_parts(Queue& on, Page page, Work work) : queue_{on}, page_{std::move(page)}, work_{std::move(work)} {}
  engine_parts(const engine_parts&) = delete;
  engine_parts& operator=(const engine_parts&) = delete;
  ~engine_parts() = default;

  void enter() { run_.emplace(queue_); }
  void leave() noexcept { run_.reset(); }
  template <class Part>
  bool page(const Part& part) {
    for (const auto& operation : part.paging) run_->run(page_, operation);
    return true;
  }
  template <class Part>
  bool submit(const Part& part) {
    run_->run(work_, part.begin, part.end);
    return true;
  }

 private:
  Queue& queue_;
  Page page_;
  Work work_;
  std::optional<unbroken_run<Queue>> run_;
};
template <class Queue, class Page, class Work>
engine_parts(Queue&, Page, Work) -> engine_parts<Queue, Page, Work>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_ENGINE_PARTS_HPP
