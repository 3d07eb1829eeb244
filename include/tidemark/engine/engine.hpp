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
// A thread that has something to execute registers with no fence. It looks at the values that the parked queues wait
// for once all ready queues have had a turn, before a queue parks, and after 64 turns at the latest. So a wait for a
// signal of the same engine costs no notification and no wake-up. Fences are registered in three cases. A thread that
// finds nothing to execute registers the least target of each fence, and sleeps once, on one word, for all of them.
// While some threads sleep, a thread that is about to begin work registers them first, so that a signal can wake a
// sleeper. A fence at which the engine has looked a few thousand times in vain is registered because that costs less by
// then. As a rule, a signal of a queue wakes no sleeper at once. The thread that executed it first looks at what the
// signal has released, and wakes a sleeper only before it begins other work, or for what it can't execute itself. So a
// chain of queues stays on one thread. Before a queue parks on a thread that has nothing else to execute, the thread
// looks at its value for about a microsecond, unless that was of no use lately: so two busy engines hand over nearly as
// fast as two threads that spin.
//
// Some code of yours counts as work although run() did not record it: it may block, and the engine has one thread less
// meanwhile. That is what a signal of a queue runs (the signal() of a timeline of your own, a callable or a coroutine
// in the signaller, see signaller_callback.hpp, or a notifier), and the destruction of what a queue drops when it is
// given up. Recorders and clocks do not count as work: a call of one must take no longer than writing an entry of a
// log.
//
// The threads run a wait_loop, and the queues are work of that loop. Its callables, coroutines and tasks are executed
// by the same threads, between the turns of the queues. What one of these throws on a thread of the engine ends the
// program (std::terminate), because there is no caller to whom it could be passed on.
//
// A turn ends after a number of commands (the quantum, beyond which only an unbroken run goes on), when a value is
// missing, and when the queue is paused. Among the ready queues, those of higher priority come first, but a priority
// with a ready queue is passed over for at most eight turns. A queue whose quantum is over has its next turn when all
// queues that are ready now have had one, as a rule, also those of lower priority. Queues of one priority take turns. A
// command is never interrupted. A queue that waits parks and keeps no thread, so it never blocks the queue that has the
// signal which it needs; why_waiting() says which queues wait for each other in a circle, also across several engines.
//
// Lifetime: an engine must outlive its queues. Its destructor stops its threads.
#ifndef TIDEMARK_ENGINE_ENGINE_HPP
#define TIDEMARK_ENGINE_ENGINE_HPP

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../fence/capabilities.hpp"
#include "../log/ids.hpp"
#include "../loop/tools/loop_operation.hpp"
#include "../loop/wait_loop.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/park_lock.hpp"
#include "detail/engine_task.hpp"
#include "hang_report.hpp"

namespace tidemark {

/// The options of an engine.
struct engine_options {
  unsigned threads = 1;     ///< How many threads it starts. With 0, threads of the program run its loop().
  std::string_view name{};  ///< For reports. The text must outlive the engine.
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
  static auto& members_lock_of(auto& of) noexcept { return of.members_lock_; }
  static void look_at(auto& engine, engine_id number, auto& found) { engine.look(number, found); }
};

/// Threads that run a loop. It stops the loop and joins them when it is destroyed.
template <class Loop>
class loop_threads {
 public:
  explicit loop_threads(Loop& of) noexcept : loop_{of} {}
  loop_threads(const loop_threads&) = delete;
  loop_threads& operator=(const loop_threads&) = delete;
  ~loop_threads() {
    loop_.stop();
    const cancellation_delay delayed;
    for (std::thread& each : threads_) each.join();
  }

  void start(unsigned count) {
    threads_.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this] { static_cast<void>(loop_.run()); });
    }
  }

 private:
  Loop& loop_;
  std::vector<std::thread> threads_;
};

/// Returns how a report knows a timeline: by its address.
inline std::uint64_t timeline_key(const void* timeline) noexcept {
  return as_integer<std::uint64_t>(reinterpret_cast<std::uintptr_t>(timeline));
}

/// The values of the fences that queues wait for, by the fences' keys.
using fence_values = std::unordered_map<std::uint64_t, std::uint64_t>;

/// What engines have to execute, as long as their locks are kept.
struct engine_picture {
  std::vector<pending_queue> queues;
  fence_values values;
  std::size_t not_seen = 0;
};

/// Calls `act` with these locks, which it takes one after the other.
template <platform Platform, class Act>
void with_locks(std::span<park_lock<Platform>* const> locks, const Act& act) {
  if (locks.empty()) return act();
  const lock_keeper kept(*locks[0]);
  with_locks(locks.subspan(1), act);
}

}  // namespace detail

/// Executes queues; see the head of this file. It can be neither copied nor moved.
/// \tparam Platform  of the loop. It must be asymmetric if the queues wait for a fence of an asymmetric platform
template <platform Platform>
class basic_engine {
 public:
  using platform = Platform;
  using loop_type = basic_loop<Platform>;

  /// Starts the threads. Throws what the start of a thread throws, for example std::system_error. Then the threads that
  /// it has started are stopped and joined first. In a program without exceptions, a thread that can't be started ends
  /// the program. An engine with 0 threads starts none, and throws nothing.
  explicit basic_engine(const engine_options& options = {}) : name_{options.name} { threads_.start(options.threads); }
  /// Returns an engine as the constructor makes it; or nothing if a thread can't be started. In a program without
  /// exceptions, that ends the program here, too. Throws nothing.
  [[nodiscard]] static std::optional<basic_engine> make(const engine_options& options = {}) noexcept {
#if defined(__cpp_exceptions)
    try {
      return std::optional<basic_engine>{std::in_place, options};
    } catch (const std::exception&) {
      return std::nullopt;
    }
#else
    return std::optional<basic_engine>{std::in_place, options};
#endif
  }
  basic_engine(const basic_engine&) = delete;
  basic_engine& operator=(const basic_engine&) = delete;
  /// Stops and joins the threads. Asserts that all queues are gone.
  ~basic_engine() { TIDEMARK_ASSERT(queues_.empty(), "an engine was destroyed before its queues"); }

  /// Returns which of the features that `host` has enabled the engines of this type have. Any thread may call it.
  static feature_offers offers(const feature_host& host) noexcept {
    feature_offers those;
    if (Platform::asymmetric && Platform::heavy_barrier_available()) those.add_if_enabled<asymmetric_barriers>(host);
    those.add_if_enabled<signal_logs>(host);
    those.add_if_enabled<serials_32>(host);
    return those;
  }
  /// Negotiates what the program relies on (fence/capabilities.hpp). Throws and allocates nothing. Any thread may call
  /// it, also before there is an engine.
  /// \tparam Requested  features, or if_there or with_bits of them
  template <class... Requested>
  static negotiate_result<Requested...> negotiate(const feature_host& host = every_feature) noexcept {
    return tidemark::negotiate<Requested...>(host, offers(host));
  }

  /// Returns the loop that the threads run. Callables, coroutines and tasks may use it, and threads of the program may
  /// run it, too. Nobody but the engine can stop it; a thread of the program leaves its run() by a stop token, or calls
  /// poll() instead.
  loop_type& loop() noexcept { return loop_; }

  /// Gives all queues up, as their abort() does: the fences that are their progress are lost, and no other. Queues that
  /// are made later are not concerned. Any thread may call it, any number of times. A callable in the signaller that
  /// runs because a progress is lost may use the engine: it may make queues, destroy others than the one that is lost,
  /// and call why_waiting() and abort(). If such a callable calls abort(), that call may run further callables. Several
  /// queues are then being lost in this thread at once, and none of these may be destroyed (asserted). Two threads
  /// whose callables, or whose work, destroy each other's queues wait for each other for ever. Progress: takes the
  /// locks of the engine.
  void abort() noexcept {
    detail::lock_keeper kept(members_lock_);
    const queue_id later{next_id_};
    // From the last to the first. While the lock is given up, queues may come and go. Each comes at the end, and each
    // that goes is replaced by the last one. So none that is not aborted yet moves to where others were aborted.
    for (std::size_t left = queues_.size(); left != 0; left = (std::min)(left - 1, queues_.size())) {
      member& next = *queues_[left - 1];
      if (next.id < later) next.abort(&kept);
    }
  }

  /// Returns which queues wait for what, which queue of this engine has the signal that each of them needs, and which
  /// of them wait for each other in a circle. A submission that is not finished is a signal of the queue's progress. A
  /// queue that executes something just now is not looked into. Allocates, and throws what that throws. Any thread may
  /// call it. Progress: takes the locks of the engine, O(n) in the commands that are to be executed; and after that O(n
  /// log n).
  [[nodiscard]] hang_report why_waiting();

 private:
  friend detail::engine_access;

  using member = detail::engine_member<Platform>;

  auto& core() noexcept { return detail::loop_access::core_of(loop_); }

  /// Adds what the queues have not executed. With the locks of all engines that are looked at.
  void look(engine_id self, detail::engine_picture& into) {
    for (member* each : queues_) {
      if (!each->stands()) {
        ++into.not_seen;
      } else if (!each->is_given_up()) {  // otherwise it waits for nothing, and the fences may be gone
        into.queues.push_back(
            {{each->id, std::string(each->name), self, std::string(name_)}, pending_of(*each, into.values)});
      }
    }
  }
  /// Returns the waits and signals that a queue has not executed. The end of a submission signals its progress.
  /// \param values  receives the values of the fences that the queue waits for
  static std::vector<pending_command> pending_of(member& of, detail::fence_values& values) {
    std::vector<pending_command> found;
    detail::engine_task_progress progress = of.progress_of_queue();
    of.for_each_pending([&](auto& each) {
      if (each.kind == detail::command_kind::finish) {
        found.push_back({false, detail::timeline_key(progress.at), progress.id, ++progress.value});
        return;
      }
      const bool is_wait = detail::is_wait(each.kind);
      if (!is_wait && each.kind != detail::command_kind::signal) return;
      const std::uint64_t key = detail::timeline_key(member::timeline_at(each));
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

  const std::string_view name_;
  basic_wait_loop<Platform> loop_;
  detail::park_lock<Platform> members_lock_;
  std::vector<member*> queues_;
  std::uint32_t next_id_ = 0;
  detail::loop_threads<basic_wait_loop<Platform>> threads_{
      loop_};  // last, so that they are joined before anything else goes
};

namespace detail {

/// Makes the report of why_waiting(), with all locks.
/// \param more  further locks, which are taken last, in the order of their addresses
/// \param look  called with the picture when all locks are taken, to add what these protect
template <platform Platform, class Look>
hang_report report_on(std::span<basic_engine<Platform>* const> engines, std::span<park_lock<Platform>* const> more,
                      const Look& look) {
  using lock = park_lock<Platform>;
  std::vector<lock*> locks;
  for (basic_engine<Platform>* each : engines) locks.push_back(&engine_access::members_lock_of(*each));
  for (basic_engine<Platform>* each : engines) locks.push_back(&engine_access::core_of(*each).lock());
  locks.insert(locks.end(), more.begin(), more.end());
  // Those of each kind in the order of their addresses, so that several calls do not wait for each other in a circle.
  const auto middle = locks.begin() + static_cast<std::ptrdiff_t>(engines.size());
  std::sort(locks.begin(), middle, std::less<lock*>{});
  std::sort(middle, middle + static_cast<std::ptrdiff_t>(engines.size()), std::less<lock*>{});
  std::sort(middle + static_cast<std::ptrdiff_t>(engines.size()), locks.end(), std::less<lock*>{});
  locks.erase(std::unique(locks.begin(), locks.end()), locks.end());

  engine_picture found;
  with_locks<Platform>(locks, [&] {
    for (std::size_t i = 0; i < engines.size(); ++i) {
      const auto before = engines.first(i);
      if (std::find(before.begin(), before.end(), engines[i]) != before.end()) continue;
      engine_access::look_at(*engines[i], engine_id{static_cast<std::uint32_t>(i)}, found);
    }
    look(found);
  });
  hang_report report = find_hangs(found.queues, [&](std::uint64_t key) {
    const auto value = found.values.find(key);
    return value != found.values.end() ? value->second : 0;  // nobody waits for it
  });
  report.not_seen = found.not_seen;
  return report;
}

}  // namespace detail

/// The same as why_waiting() of one engine for the queues of several, at one moment. So where a queue waits for a
/// signal of another engine's queue, the report names that queue, and a circle across engines is found. The reports
/// number the engines in the order of the call. An engine that is named twice is looked at once. Allocates, and throws
/// what that throws. Any thread may call it. Progress: takes the locks of all these engines, so they stand still
/// meanwhile, O(n) in the commands that are to be executed; and after that O(n log n).
template <platform Platform>
[[nodiscard]] hang_report why_waiting(std::span<basic_engine<Platform>* const> engines) {
  return detail::report_on<Platform>(engines, {}, [](const detail::engine_picture&) {});
}
template <platform Platform, std::same_as<basic_engine<Platform>>... More>
[[nodiscard]] hang_report why_waiting(basic_engine<Platform>& first, More&... more) {
  const std::array<basic_engine<Platform>*, 1 + sizeof...(More)> engines{&first, &more...};
  return why_waiting<Platform>(std::span<basic_engine<Platform>* const>(engines));
}

template <platform Platform>
hang_report basic_engine<Platform>::why_waiting() {
  return tidemark::why_waiting(*this);
}

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_ENGINE_HPP
