// SPDX-License-Identifier: BSL-1.0
//
// engine_queue: an in-order queue of an engine. A thread records commands, and rings the doorbell; the engine's threads
// execute them (engine.hpp).
//
//   submitter (one thread at a time)        engine
//   wait(), run(), signal()                 executes the commands of a submission in order,
//   submit() -> accepted, retry, aborted    and then signals the progress of the queue: one for each submission
//
// What basic_queue says of serials, logs and notifications holds here, too: submit() stores the serial as last queued
// before the doorbell rings [A122]; waits and signals are logged where they are executed [A86].
//
// Lost timelines: a queue that waits for a timeline that is lost can't go on. It gives itself up, as abort() does: its
// progress is lost, and with it all waits for that. So a loss reaches exactly the queues that depend on it.
//
// Not promised: that a queue keeps to one thread. Its commands never run on two at the same time.
#ifndef TIDEMARK_QUEUE_ENGINE_QUEUE_HPP
#define TIDEMARK_QUEUE_ENGINE_QUEUE_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../fence/awaited.hpp"
#include "../fence/fence.hpp"
#include "../fence/wait.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/platform.hpp"
#include "engine.hpp"
#include "notifier.hpp"
#include "queue.hpp"

namespace tidemark {

/// Which queues of an engine have their turn first.
enum class queue_priority : std::uint8_t { high, normal, low };

/// How those wait who wait for a fence of several domains (domain.hpp).
enum class domain_kind : std::uint8_t {
  native,  ///< They see the value: queues of engines park, and threads register with the fence.
  legacy,  ///< They are held on lists, until the domain is told that the value has changed.
};

/// What a queue of an engine is told when it is made.
struct engine_queue_options {
  std::string_view name{};                        ///< For reports. The text must outlive the queue.
  fence_id progress{};                            ///< The number by which logs know the queue's progress.
  std::size_t log_entries = default_log_entries;  ///< See queue_options.
  queue_priority priority = queue_priority::normal;
  unsigned quantum = 8;                         ///< How many commands it executes in one turn, at least 1.
  domain_kind kind = domain_kind::native;       ///< With `legacy`, it waits as in a legacy domain. [A76]
  std::uint64_t most_submissions = UINT64_MAX;  ///< How many may be unfinished at a time.
};

/// What the doorbell answers [A122].
enum class doorbell_status {
  accepted,  ///< The commands will be executed.
  retry,     ///< As many submissions are unfinished as may be. What was recorded stays; submit() may be called again.
  aborted,   ///< The queue was given up. What was recorded is dropped.
};
struct [[nodiscard]] doorbell_result {
  doorbell_status status;
  std::uint64_t serial;  ///< Of the submission, if it was accepted.

  explicit operator bool() const noexcept { return status == doorbell_status::accepted; }
};

namespace detail {

/// The progress of a queue of an engine has few waiters as a rule, and there may be many queues.
inline constexpr fence_options engine_progress_options{.capacity = 2, .arity = 2, .layout = fence_layout::one_line};

/// Gives the queues access to parts of a fence of domains that are not public.
struct domain_access {
  /// Returns the fence that a queue waits for where its wait is not held.
  static auto native_of(const auto& fence) noexcept -> decltype(fence.native()) { return fence.native(); }
  /// Returns a wait of a queue of the kind, which must be held.
  static auto held_wait_of(const auto& fence, std::uint64_t value) noexcept -> decltype(fence.held_wait(value)) {
    return fence.held_wait(value);
  }
  static bool is_held(const auto& fence, domain_kind kind) noexcept { return fence.is_held(kind); }
};
template <class Fence>
concept is_of_domain = requires(const Fence& fence) { domain_access::native_of(fence); };
template <class Fence>
concept may_hold = requires(const Fence& fence) { domain_access::held_wait_of(fence, 0); };

}  // namespace detail

/// An in-order queue of an engine; see the head of this file. It can be neither copied nor moved.
/// \tparam Clock, Notifier, Recorder  as for basic_queue
template <platform Platform, log_clock Clock = default_log_clock, class Notifier = self_service,
          class Recorder = log_recorder<Platform>>
class basic_engine_queue : private detail::engine_member<Platform> {
 public:
  using platform = Platform;
  using engine_type = basic_engine<Platform>;
  using progress_type = basic_progress_fence<Platform, detail::engine_progress_options>;
  using timeline_type = basic_queue<progress_type, Clock, Notifier, Recorder>;

  /// Whether a queue of an engine can wait for the timeline: a fence, a progress_fence or a view of one.
  template <class Timeline>
  static constexpr bool is_awaited = engine_type::loop_type::template is_awaited<Timeline>;
  /// The same for a fence of domains: an attachment (domain.hpp) or a local_fence.
  template <class Fence>
  static constexpr bool is_awaited_in_domain = [] {
    if constexpr (detail::is_of_domain<Fence>) {
      using native = decltype(detail::domain_access::native_of(std::declval<const Fence&>()));
      return is_awaited<std::remove_cvref_t<native>>;
    } else {
      return false;
    }
  }();

  /// Makes a queue of `on`, which must outlive it. Allocates, and throws what the allocation throws. Any thread may
  /// make queues.
  explicit basic_engine_queue(engine_type& on, const engine_queue_options& options = {}, Notifier notifier = {})
    requires std::constructible_from<Recorder, std::size_t>
      : base(detail::engine_access::next_id(on), options.name, detail::engine_access::core_of(on),
             static_cast<std::uint8_t>(options.priority), quantum_of(options), this, calls_of_task),
        engine_{on},
        most_{options.most_submissions},
        kind_{options.kind},
        timeline_(progress_, {options.progress, options.log_entries}, std::move(notifier)) {
    detail::engine_access::add(on, member());
  }
  /// The same with a recorder of the caller's, such as a direct_recorder; `options.log_entries` is not used.
  basic_engine_queue(engine_type& on, const engine_queue_options& options, Notifier notifier, Recorder recorder)
      : base(detail::engine_access::next_id(on), options.name, detail::engine_access::core_of(on),
             static_cast<std::uint8_t>(options.priority), quantum_of(options), this, calls_of_task),
        engine_{on},
        most_{options.most_submissions},
        kind_{options.kind},
        timeline_(progress_, {options.progress, options.log_entries}, std::move(notifier), std::move(recorder)) {
    detail::engine_access::add(on, member());
  }
  /// Waits until the command that is executed now is over, and drops the others: drain() first, if they are to be
  /// executed. If some were not, the progress is lost. The queue's own work must not destroy it, which is asserted.
  ~basic_engine_queue() {
    detail::engine_access::remove(engine_, member());  // first, so that no report looks at it
    this->end();
    if (!timeline_.is_idle()) timeline_.abort();
  }

  /// Returns the number of the queue in reports.
  queue_id id() const noexcept { return base::id; }

  // ---- recording: one thread at a time ------------------------------------------------------------------------------
  //
  // What is recorded is executed once it is submitted. All these functions allocate now and then, and throw what the
  // allocation throws; then nothing is recorded.

  /// Records a wait for a value. The queue parks while it is missing; its engine goes on. [A6]
  /// \param input  a fence, a progress_fence or a view of one; it must outlive the wait
  template <class Timeline>
    requires is_awaited<Timeline>
  void wait(const logged_fence<Timeline>& input, std::uint64_t value) {
    const auto to = detail::awaited_access::target_of(basic_awaited<Platform>(*input.fence, value));
    command& made = begin(detail::command_kind::wait, input.id, to.fence, value);
    made.keep(to.operations);
    this->commands_.record();
  }
  /// The same for an attachment or a local_fence. If the domain or this queue is a legacy one, the domain holds the
  /// queue until it is told of the value. [A5] [A76]
  template <class Fence>
    requires is_awaited_in_domain<Fence>
  void wait(const logged_fence<Fence>& input, std::uint64_t value) {
    const auto& native = detail::domain_access::native_of(*input.fence);
    if constexpr (detail::may_hold<Fence>) {
      if (detail::domain_access::is_held(*input.fence, kind_)) return keep_held(input, value);
    }
    wait(logged_fence<const std::remove_cvref_t<decltype(native)>>{&native, input.id}, value);
  }
  template <class Timeline>
    requires(is_awaited<Timeline> || is_awaited_in_domain<Timeline>)
  void wait(const Timeline& input, std::uint64_t value) {
    wait(logged_fence<const Timeline>{&input, fence_id{}}, value);
  }

  /// Records a call of `work(arguments...)`, which are moved or copied into the queue. It must not throw: an exception
  /// ends the program. It should not block, because it has a thread of the engine. It may submit to this queue and to
  /// others.
  template <class Work, class... Arguments>
    requires std::invocable<std::decay_t<Work>&, std::decay_t<Arguments>&...>
  void run(Work&& work, Arguments&&... arguments) {
    keep_call(detail::command_kind::work, fence_id{}, nullptr, 0,
              [call = std::decay_t<Work>(std::forward<Work>(work)),
               with = std::tuple<std::decay_t<Arguments>...>(std::forward<Arguments>(arguments)...)](
                  basic_engine_queue&) mutable { std::apply(call, with); });
  }

  /// Records a signal: of a fence, or of another timeline that can be signalled. It must outlive the signal.
  template <class Fence>
    requires notified_fence<Fence> || signalled_timeline<Fence>
  void signal(const logged_fence<Fence>& output, std::uint64_t value) {
    keep_call(detail::command_kind::signal, output.id, address_of(*output.fence), value,
              [output, value](basic_engine_queue& self) { static_cast<void>(self.timeline_.signal(output, value)); });
  }
  template <class Fence>
    requires notified_fence<Fence> || signalled_timeline<Fence>
  void signal(Fence& output, std::uint64_t value) {
    signal(logged_fence<Fence>{&output, fence_id{}}, value);
  }

  /// Drops what was recorded and is not submitted.
  void discard() noexcept { this->commands_.discard(); }

  /// Submits what was recorded since the last submission, as one piece of work: gives it the next serial, stores that
  /// as last queued, makes the commands visible and rings the doorbell. Returns what the doorbell answers. Progress:
  /// lock-free, except for an allocation now and then, and for a system call if all threads of the engine sleep. [A122]
  doorbell_result submit() {
    if (timeline_.last_queued() - progress_.current_value() >= most_ && !progress_.is_poisoned()) {
      return {doorbell_status::retry, 0};
    }
    keep_call(detail::command_kind::finish, fence_id{}, nullptr, 0,
              [](basic_engine_queue& self) { self.timeline_.complete(); });
    const submit_result made = timeline_.submit([this](std::uint64_t) {
      this->commands_.publish();
      this->ring();
    });
    if (made) return {doorbell_status::accepted, made.serial};
    discard();
    return {doorbell_status::aborted, 0};
  }

  // ---- what was submitted and what is finished: any thread ----------------------------------------------------------

  /// Returns the timeline of the queue: its serials, its progress and its logs. Its functions for the executor and for
  /// submissions are this queue's own.
  timeline_type& timeline() noexcept { return timeline_; }
  const timeline_type& timeline() const noexcept { return timeline_; }

  /// Returns the progress, for other queues to wait for: its value is the serial of the last submission that is
  /// finished.
  [[nodiscard]] logged_fence<progress_type> progress() const noexcept { return timeline_.progress(); }
  [[nodiscard]] std::uint64_t last_queued() const noexcept { return timeline_.last_queued(); }
  [[nodiscard]] bool is_idle() const noexcept { return timeline_.is_idle(); }

  /// Waits until all that was submitted before the call is finished; see basic_queue::drain(). Blocking: not for the
  /// threads of the engine.
  template <stop_token_like Token = never_stops>
  wait_status drain(Token token = {}) const noexcept {
    return timeline_.drain(std::move(token));
  }
  template <class Rep, class Period, stop_token_like Token = never_stops>
  wait_status drain_for(const std::chrono::duration<Rep, Period>& timeout, Token token = {}) const noexcept {
    return timeline_.drain_for(timeout, std::move(token));
  }
  template <class TimeClock, class Duration, stop_token_like Token = never_stops>
  wait_status drain_until(const std::chrono::time_point<TimeClock, Duration>& at, Token token = {}) const noexcept {
    return timeline_.drain_until(at, std::move(token));
  }

  // ---- control: any thread ------------------------------------------------------------------------------------------

  /// Lets the queue execute nothing more after the command that is executed now, until resume(). It does not wait for
  /// that command. Submissions are accepted meanwhile, and a wait that is parked may end. Progress: takes the lock of
  /// the engine.
  void pause() noexcept { base::pause(); }
  void resume() noexcept { base::resume(); }

  /// Gives the queue up: refuses further submissions, and drops what it has not executed. Its progress is lost; no
  /// other timeline is. A command that is executed now is not interrupted. Any number of calls. Progress: takes the
  /// lock of the engine.
  void abort() noexcept { base::abort(); }

 private:
  using base = detail::engine_member<Platform>;
  using command = typename base::command;

  base& member() noexcept { return *this; }

  static unsigned quantum_of(const engine_queue_options& options) noexcept {
    TIDEMARK_ASSERT(options.quantum != 0, "a queue of an engine must execute at least one command in a turn");
    return options.quantum != 0 ? options.quantum : 1;
  }
  /// Returns the address by which reports know the timeline.
  template <class Fence>
  static const void* address_of(const Fence& output) noexcept {
    if constexpr (is_awaited<Fence>) {
      const auto to = detail::awaited_access::target_of(basic_awaited<Platform>(output, 0));
      return to.operations->timeline(to.fence);
    } else if constexpr (is_awaited_in_domain<Fence>) {
      return address_of(detail::domain_access::native_of(output));
    } else {
      return &output;
    }
  }

  command& begin(detail::command_kind kind, fence_id id, const void* at, std::uint64_t value) {
    command& made = this->commands_.next();
    made.kind = kind;
    made.id = id;
    made.fence = at;
    made.value.store(value);
    return made;
  }
  /// Records a command that calls `call(*this)`.
  template <class Call>
  void keep_call(detail::command_kind kind, fence_id id, const void* at, std::uint64_t value, Call call) {
    static constexpr typename command::call_table calls{
        [](command& of, void* self) { of.template kept<Call>()(*static_cast<basic_engine_queue*>(self)); },
        [](command& of) noexcept { of.template forget<Call>(); }};
    command& made = begin(kind, id, at, value);
    made.keep(std::move(call));
    made.calls.store(&calls);
    this->commands_.record();
  }

  /// Records a wait that the domain of the fence holds.
  template <class Fence>
  void keep_held(const logged_fence<Fence>& input, std::uint64_t value) {
    using held_wait = decltype(detail::domain_access::held_wait_of(*input.fence, value));
    static constexpr
        typename command::call_table calls{[](command& of, void* self) {
                                             static_cast<basic_engine_queue*>(self)->get_past_or_hold(
                                                 of.template kept<held_wait>(), of.id, of.value.load());
                                           },
                                           [](command& of) noexcept { of.template forget<held_wait>(); },
                                           [](command& of) noexcept { return of.template kept<held_wait>().look(); }};
    command& made = begin(detail::command_kind::held, input.id, address_of(*input.fence), value);
    made.keep(detail::domain_access::held_wait_of(*input.fence, value));
    made.calls.store(&calls);
    this->commands_.record();
  }

  static timeline_type& timeline_of(void* self) noexcept { return static_cast<basic_engine_queue*>(self)->timeline_; }
  static constexpr detail::engine_task_calls calls_of_task{
      [](void* self, fence_id input, std::uint64_t value) noexcept {
        return timeline_of(self).begin_stall(input, value);
      },
      [](void* self, fence_id input, std::uint64_t value, std::uint64_t observed) noexcept {
        timeline_of(self).end_wait(input, value, observed);
      },
      [](void* self) noexcept { timeline_of(self).abort(); }};

  engine_type& engine_;
  const std::uint64_t most_;
  const domain_kind kind_;
  progress_type progress_;
  timeline_type timeline_;
};

/// For engines that wait for fences of all kinds.
using engine = basic_engine<native_platform>;
using engine_queue = basic_engine_queue<native_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_ENGINE_QUEUE_HPP
