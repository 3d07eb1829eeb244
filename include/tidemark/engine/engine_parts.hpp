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
// The runs are engine-wide: no thread of the engine executes another queue meanwhile. With unbroken_scope::one_thread
// they are not: then the other threads of an engine with several go on, and only the thread of the run executes nothing
// else.
//
// Nothing is executed here, and nothing is submitted. If submit_parts() fails, the parts before are recorded. If it
// throws, or a prologue leaks, some paging of the next part may be recorded, too. Then the program decides:
// queue.submit(), or queue.discard().
#ifndef TIDEMARK_ENGINE_ENGINE_PARTS_HPP
#define TIDEMARK_ENGINE_ENGINE_PARTS_HPP

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "unbroken_run.hpp"

namespace tidemark {

/// For engine_parts: the commands behind a cut rely on no state that must be set up again.
struct no_prologue {};

/// A part_executor that records; see the head of this file. It never refuses a part. For the thread that records the
/// queue's commands. It can be neither copied nor moved.
/// \tparam Queue     a basic_engine_queue
/// \tparam Prologue  no_prologue, or a callable that records a prologue
template <class Queue, std::copy_constructible Page, std::invocable<std::uint64_t, std::uint64_t> Work,
          class Prologue = no_prologue>
class engine_parts {
 public:
  /// \param on     must outlive this object
  /// \param page   is copied into a command for each paging operation, and called there with the operation
  /// \param work   is copied into a command for each part, and called there with its begin and its end
  /// \param scope  what executes nothing else meanwhile
  engine_parts(Queue& on, Page page, Work work, unbroken_scope scope = unbroken_scope::whole_engine)
    requires std::same_as<Prologue, no_prologue>
      : queue_{on}, page_{std::move(page)}, work_{std::move(work)}, scope_{scope} {}
  /// The same with a prologue, which sets up again, before each part but the first one, what the part relies on.
  /// \param prologue  is called by submit_parts() with the unbroken_run, to record commands; the part; and the
  ///                  split_prologue, to note which slots these commands bind again
  engine_parts(Queue& on, Page page, Work work, Prologue prologue, unbroken_scope scope = unbroken_scope::whole_engine)
    requires(!std::same_as<Prologue, no_prologue>)
      : queue_{on}, page_{std::move(page)}, work_{std::move(work)}, scope_{scope}, prologue_{std::move(prologue)} {}
  engine_parts(const engine_parts&) = delete;
  engine_parts& operator=(const engine_parts&) = delete;
  ~engine_parts() = default;

  void enter() { run_.emplace(queue_, scope_); }
  void leave() noexcept { run_.reset(); }
  template <class Part>
  bool page(const Part& part) {
    for (const auto& operation : part.paging) run_->run(page_, operation);
    return true;
  }
  template <class Part, class Its>
    requires(!std::same_as<Prologue, no_prologue>)
  bool prologue(const Part& part, Its& its) {
    static_assert(std::invocable<Prologue&, unbroken_run<Queue>&, const Part&, Its&>,
                  "a prologue takes the unbroken_run, the part and the split_prologue");
    prologue_(*run_, part, its);
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
  const unbroken_scope scope_;
  [[no_unique_address]] Prologue prologue_{};
  std::optional<unbroken_run<Queue>> run_;
};
template <class Queue, class Page, class Work>
engine_parts(Queue&, Page, Work) -> engine_parts<Queue, Page, Work>;
template <class Queue, class Page, class Work>
engine_parts(Queue&, Page, Work, unbroken_scope) -> engine_parts<Queue, Page, Work>;
template <class Queue, class Page, class Work, class Prologue>
engine_parts(Queue&, Page, Work, Prologue) -> engine_parts<Queue, Page, Work, Prologue>;
template <class Queue, class Page, class Work, class Prologue>
engine_parts(Queue&, Page, Work, Prologue, unbroken_scope) -> engine_parts<Queue, Page, Work, Prologue>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_ENGINE_PARTS_HPP
