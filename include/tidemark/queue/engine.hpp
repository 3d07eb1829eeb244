// SPDX-License-Identifier: BSL-1.0
//
// engine: a few threads that execute many in-order queues. A queue whose wait is not reached parks; the thread goes on
// with another queue.
//
//   tidemark::engine compute{{.threads = 2}};
//   tidemark::engine_queue blur{compute, {.name = "blur"}};
//
//   blur.wait(uploaded, 7);                    parks the queue, not a thread
//   blur.run(blur_tile, tile);
//   blur.signal(blurred, 7);
//   if (!blur.submit()) ...                    rings the doorbell: accepted, retry or aborted
//
// While a thread has something to execute, it looks at the values that the parked queues wait for, between two turns,
// and registers with no fence: a wait for a signal of the same engine costs no notification and no wake-up [A6]. Only a
// thread that finds nothing to execute registers the least target of each fence, and sleeps once, on one word, for all
// of them. A fence at which the engine has looked a few thousand times in vain is registered, too, because that costs
// less by then. Before a queue parks on a thread that has nothing else to execute, the thread looks at its value for
// about a microsecond, unless that was of no use lately: so two busy engines hand over nearly as fast as two threads
// that spin.
//
// The threads run a wait_loop, of which the queues are work: its callables, coroutines and tasks are executed by the
// same threads, between the turns of the queues.
//
// A turn ends after a number of commands (the quantum), when a value is missing, and when the queue is paused. Then
// the next queue has its turn: those of higher priority first, but after eight turns of others each queue that is ready
// has one. A command is never interrupted. So a signal that stands behind a wait, in any queue of the engine, never
// blocks the engine; why_waiting() says which queues wait for each other in a circle.
//
// Lifetime: an engine must outlive its queues. Its destructor stops its threads.
#ifndef TIDEMARK_QUEUE_ENGINE_HPP
#define TIDEMARK_QUEUE_ENGINE_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../fence/detail/loop_access.hpp"
#include "../fence/detail/park_lock.hpp"
#include "../fence/wait_loop.hpp"
#include "../log/ids.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "detail/engine_task.hpp"
#include "hang_report.hpp"

namespace tidemark {

/// What an engine is told when it is made.
struct engine_options {
  unsigned threads = 1;  ///< How many threads it starts. With 0, threads of the program run its loop().
};

namespace detail {

/// A queue, as its engine knows it.
template <platform Platform>
class engine_member : public engine_task<Platform> {
 public:
  const queue_id id;
  const std::string_view name;

 protected:
  template <class... Arguments>
  engine_member(queue_id of, std::string_view name_of, Arguments&&... arguments) noexcept
      : engine_task<Platform>(std::forward<Arguments>(arguments)...), id{of}, name{name_of} {}
  ~engine_member() = default;
};

/// Gives the queues access to parts of an engine that are not public.
struct engine_access {
  static auto& core_of(auto& of) noexcept { return of.core(); }
  static queue_id next_id(auto& of) noexcept { return of.next_id(); }
  static void add(auto& to, auto& added) { to.add(added); }
  static void remove(auto& from, auto& removed) noexcept { from.remove(removed); }
};

}  // namespace detail

/// Executes queues; see the head of this file. It can be neither copied nor moved.
/// \tparam Platform  of the loop: asymmetric if one of the fences is that the queues wait for
template <platform Platform>
class basic_engine {
 public:
  using platform = Platform;
  using loop_type = basic_wait_loop<Platform>;

  /// Starts the threads. Throws what the start of a thread throws.
  explicit basic_engine(const engine_options& options = {}) {
    threads_.reserve(options.threads);
    for (unsigned i = 0; i < options.threads; ++i) {
      threads_.emplace_back([this] { static_cast<void>(loop_.run()); });
    }
  }
  basic_engine(const basic_engine&) = delete;
  basic_engine& operator=(const basic_engine&) = delete;
  /// Stops and joins the threads. All queues must be gone, which is asserted.
  ~basic_engine() {
    TIDEMARK_ASSERT(queues_.empty(), "an engine was destroyed before its queues");
    loop_.stop();
    for (std::thread& each : threads_) each.join();
  }

  /// Returns the loop that the threads run. Callables, coroutines and tasks may use it, and threads of the program may
  /// run it, too.
  loop_type& loop() noexcept { return loop_; }

  /// Gives all queues up, as their abort() does: the fences that are their progress are lost, and no other. Queues that
  /// are made later are not concerned. Any thread may call it that makes or destroys no queue of the engine; nor may a
  /// callable that runs in a signaller because a progress is lost.
  void abort() noexcept {
    const detail::lock_keeper kept(members_lock_);
    for (member* each : queues_) each->abort();
  }

  /// Returns which queues wait for what, which queue of this engine has the signal next, and which of them wait for
  /// each other in a circle. What a queue executes just now is not looked into. Allocates, and throws what that throws.
  /// Any thread may call it. Progress: takes the locks of the engine; O(n) in the commands that are to be executed.
  [[nodiscard]] hang_report why_waiting() {
    std::vector<pending_queue> queues;
    std::map<std::uint64_t, std::uint64_t> values;
    {
      const detail::lock_keeper kept_members(members_lock_);
      const detail::lock_keeper kept(core().lock());
      for (member* each : queues_) {
        if (each->stands()) queues.push_back({each->id, each->name, pending_of(*each, values)});
      }
    }
    return find_hangs(queues, [&](std::uint64_t key) {
      const auto found = values.find(key);
      return found != values.end() ? found->second : 0;  // nobody waits for it
    });
  }

 private:
  friend detail::engine_access;

  using member = detail::engine_member<Platform>;

  auto& core() noexcept { return detail::loop_access::core_of(loop_); }

  /// Returns the waits and signals that a queue has not executed.
  /// \param values  gets what the fences have come to that are waited for
  static std::vector<pending_command> pending_of(member& of, std::map<std::uint64_t, std::uint64_t>& values) {
    std::vector<pending_command> found;
    of.for_each_pending([&](auto& each) {
      const bool is_wait = detail::is_wait(each.kind);
      if (!is_wait && each.kind != detail::command_kind::signal) return;
      const auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(each.fence));
      found.push_back({is_wait, key, each.id, each.value.load()});
      if (is_wait) values[key] = member::value_of(each);
    });
    return found;
  }

  queue_id next_id() noexcept {
    const detail::lock_keeper kept(members_lock_);
    return queue_id{next_id_++};
  }
  void add(member& added) {
    const detail::lock_keeper kept(members_lock_);
    added.place = queues_.size();
    queues_.push_back(&added);
  }
  void remove(member& removed) noexcept {
    const detail::lock_keeper kept(members_lock_);
    queues_[removed.place] = queues_.back();
    queues_[removed.place]->place = removed.place;
    queues_.pop_back();
  }

  loop_type loop_;
  detail::park_lock<Platform> members_lock_;
  std::vector<member*> queues_;
  std::uint32_t next_id_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_ENGINE_HPP
