// SPDX-License-Identifier: BSL-1.0
//
// engine_queue: an in-order queue of an engine. A thread records commands, and rings the doorbell; the engine's threads
// execute them (engine.hpp).
//
//   tidemark::engine_queue blur{compute, {.name = "blur"}};
//   blur.wait(uploaded, 3);                       parks the queue, not a thread
//   blur.run([&] { filter(image); });
//   blur.signal(blurred, 7);
//   auto rung = blur.submit();                    rung.serial: its number; or rung.status says why it was refused
//
//   submitter (one thread at a time)        engine
//   wait(), run(), signal()                 executes the commands of a submission in order,
//   submit() -> accepted, retry, aborted    and then signals the progress of the queue: one for each submission
//
// What basic_queue says of serials, logs and notifications holds here, too: submit() stores the serial as last queued
// before the doorbell rings; waits and signals are logged where they are executed.
//
// Progress: a timeline that the queue signals as the last command of each submission. Its value is the number of
// submissions that are finished, plus the value at which it began. A queue makes a fence of its own for that, which
// begins at 0, or takes a timeline that exists: a fence or a progress_fence, also one whose value lies in memory of the
// caller; an attachment of a domain; any other signalled_timeline.
//
//   tidemark::progress_fence drawn;
//   tidemark::basic_engine_queue draws{compute, drawn, {.name = "draws"}};    an engine_queue_with<progress_fence>
//
// The program owns such a timeline. It outlives the queue and all who wait for it. While the queue lives, nobody else
// signals it: not the program, and no other queue. Afterwards a new queue may take it, and goes on from its value.
//
// Older kind: a legacy_queue waits for fences of domains on their lists (domain.hpp), and keeps no logs. In a legacy
// domain all queues are without logs.
//
// Lost timelines: a queue that waits for a timeline that is lost can't go on. It gives itself up, as abort() does: its
// progress is lost, and with it all waits for that. So a loss reaches exactly the queues that depend on it. The
// progress is lost last: whoever learns of it knows that the queue executes nothing and looks at no fence any more. If
// it is a timeline of the program and somebody else loses it, the queue gives itself up, too: at the end of the next
// submission that it finishes, or in its next submit(). A queue that is parked goes on waiting until then.
//
// Given up: a queue that is aborted, that has given itself up or that is destroyed executes nothing more. In the turn
// that is under way, in later turns, or in its destructor, it drops what was submitted, and cancels it: each wait, each
// signal and each end of a submission stands in its logs as cancelled (cancelled_command.hpp). The cancelled entries
// are contiguous, from the first command that was not executed to the last that was accepted. Readers of the logs may
// outlive the queue. A queue is not reset: make a new one, which has its own number, logs and progress.
//
// Not promised: that a queue keeps to one thread. Its commands never run on two at the same time.
#ifndef TIDEMARK_ENGINE_ENGINE_QUEUE_HPP
#define TIDEMARK_ENGINE_ENGINE_QUEUE_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../fence/awaited.hpp"
#include "../fence/fence.hpp"
#include "../fence/fence_options.hpp"
#include "../fence/looked_at.hpp"
#include "../fence/signaller_callback.hpp"
#include "../fence/timeline.hpp"
#include "../fence/wait.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "../queue/cancelled_command.hpp"
#include "../queue/executed_work.hpp"
#include "../queue/log_reservation.hpp"
#include "../queue/logged_queue.hpp"
#include "../queue/notifier.hpp"
#include "../queue/queue.hpp"
#include "../queue/recorder.hpp"
#include "../queue/tools/domain_access.hpp"
#include "engine.hpp"

namespace tidemark {

/// Which queues of an engine have their turn first.
enum class queue_priority : std::uint8_t { high, normal, low };

/// How waiters of a cross-domain fence wait (domain.hpp).
enum class domain_kind : std::uint8_t {
  native,  ///< They see the value: queues of engines park, and threads register with the fence.
  legacy,  ///< They are held on lists, until the domain learns that the value has changed.
};

/// The options of an engine's queue.
struct engine_queue_options {
  std::string_view name{};                        ///< For reports. Must outlive the queue, and collectors of its work.
  fence_id progress{};                            ///< The number by which logs know the queue's progress.
  std::size_t log_entries = default_log_entries;  ///< See queue_options.
  queue_priority priority = queue_priority::normal;
  /// The most commands that it executes in one turn, at least 1. An unbroken run may take more.
  unsigned quantum = 8;
  std::uint64_t most_submissions = UINT64_MAX;  ///< How many may be unfinished at a time, at least 1.
};
/// The options of a legacy_queue: the same without those of logs.
struct legacy_queue_options {
  std::string_view name{};  ///< As above, and the others, too.
  fence_id progress{};      ///< The number by which its recorder knows the queue's progress.
  queue_priority priority = queue_priority::normal;
  unsigned quantum = 8;
  std::uint64_t most_submissions = UINT64_MAX;
};

/// Says, in the place of a progress, that the queue makes a fence of its own.
struct own_progress {};
/// What tells the progress of an engine's queue: `own_progress`, or the type of a timeline that the queue is given.
template <class Progress>
concept engine_queue_progress = std::same_as<Progress, own_progress> || signalled_timeline<Progress>;

/// What the doorbell answers.
enum class doorbell_status {
  accepted,  ///< The commands will be executed, unless the queue is given up before.
  retry,     ///< `most_submissions` are unfinished. What was recorded stays; submit() may be called again.
  aborted,   ///< The queue was given up. What was recorded is dropped.
};

template <>
inline constexpr auto detail::names_of<doorbell_status> = detail::names("accepted", "retry", "aborted");
struct [[nodiscard]] doorbell_result {
  doorbell_status status;
  std::uint64_t serial;  ///< Of the submission, if it was accepted.

  explicit operator bool() const noexcept { return status == doorbell_status::accepted; }
};

namespace detail {

/// The fence that a queue makes for its progress has few waiters as a rule, and there may be many queues. The program
/// does not choose its type, so the option for callables in the signaller is always on.
inline constexpr fence_options engine_progress_options{
    .capacity = 2, .arity = 2, .layout = fence_layout::one_line, .callbacks = true};

/// The progress of a queue: a timeline of the program; or its own fence.
template <platform Platform, class Progress>
struct engine_progress {
  using type = Progress;
  type& timeline;
};
template <platform Platform>
struct engine_progress<Platform, own_progress> {
  using type = basic_progress_fence<Platform, engine_progress_options>;
  type timeline{};
};

/// Whether a type is a fence of domains, or shows the value of one. Waits for such a one must respect its domain.
template <class T>
inline constexpr bool shows_domain = is_of_domain<T>;
template <class T>
inline constexpr bool shows_domain<timeline_view<T>> = shows_domain<T>;
template <class T>
inline constexpr bool shows_domain<looked_at<T>> = shows_domain<T>;

/// Gives unbroken_run access to parts of a queue that are not public.
struct unbroken_access {
  static auto begin(auto& queue, bool is_engine_wide) { return queue.begin_run(is_engine_wide); }
  static bool end(auto& queue, const auto& begun) noexcept { return queue.end_run(begun); }
};

}  // namespace detail

/// An in-order queue of an engine; see the head of this file. It can be neither copied nor moved.
/// \tparam Clock     as for basic_queue
/// \tparam Notifier  as for basic_queue
/// \tparam Recorder  as for basic_queue. A log_recorder has the platform of the progress
/// \tparam Progress  own_progress, or the type of the timeline that the queue is given
/// \tparam Kind      with `legacy`, the queue waits as in a legacy domain, and its recorder has no logs
template <platform Platform, log_clock Clock = default_log_clock, class Notifier = self_service,
          class Recorder = log_recorder<Platform>, engine_queue_progress Progress = own_progress,
          domain_kind Kind = domain_kind::native>
  requires(Kind == domain_kind::native || !logged_queue<Recorder, Platform>::has_logs)
class basic_engine_queue : private detail::engine_member<Platform> {
  using progress_holder = detail::engine_progress<Platform, Progress>;
  static constexpr bool takes_log_entries =
      Kind == domain_kind::native && std::constructible_from<Recorder, std::size_t>;
  static constexpr bool makes_recorder = takes_log_entries || std::default_initializable<Recorder>;

 public:
  using platform = Platform;
  using engine_type = basic_engine<Platform>;
  using progress_type = typename progress_holder::type;
  using timeline_type = basic_queue<progress_type, Clock, Notifier, Recorder>;
  using options_type = std::conditional_t<Kind == domain_kind::legacy, legacy_queue_options, engine_queue_options>;
  using work_type = basic_executed_work<Platform, Clock>;

  /// Whether a queue of an engine can wait for the timeline by itself. awaited.hpp lists these, but for attachments and
  /// what shows the value of one, which would hide the domain.
  template <class Timeline>
  static constexpr bool is_awaited =
      !detail::shows_domain<Timeline> && engine_type::loop_type::template is_awaited<Timeline>;
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

  /// Whether a queue of an engine can signal the timeline.
  template <class Fence>
  static constexpr bool is_signalled =
      notified_fence<Fence> || signalled_timeline<Fence> || detail::is_signalled_by_engines<Fence>;
  /// Whether the queue makes the fence of its progress.
  static constexpr bool owns_progress = std::same_as<Progress, own_progress>;

  /// Makes a queue of `on`, which must outlive it. Allocates, and throws what the allocation throws. Any thread may
  /// make queues.
  explicit basic_engine_queue(engine_type& on, const options_type& options = {}, Notifier notifier = {})
    requires(owns_progress && makes_recorder)
      : basic_engine_queue(nullptr, on, options, std::move(notifier)) {}
  /// The same with a recorder of the caller's, such as a direct_recorder; `options.log_entries` is not used.
  basic_engine_queue(engine_type& on, const options_type& options, Notifier notifier, Recorder recorder)
    requires(owns_progress)
      : basic_engine_queue(nullptr, on, options, std::move(notifier), std::move(recorder)) {}
  /// The same with `progress` in the place of a fence of its own; see the head of this file. Asserts that it is not
  /// lost. Otherwise the queue is made, and its submit() always returns `aborted`. If it is an attachment of a legacy
  /// domain, asserts that the queue keeps no logs.
  /// \param progress  must outlive the queue. Nobody else may signal it meanwhile: the queue asserts that it finds the
  ///                  value that it signalled last, each time that it finishes a submission; and in submit() and in
  ///                  the destructor, that the value is none that it has not submitted. Otherwise work counts as
  ///                  finished that is not
  basic_engine_queue(engine_type& on, Progress& progress, const options_type& options = {}, Notifier notifier = {})
    requires(!owns_progress && makes_recorder)
      : basic_engine_queue(&progress, on, options, std::move(notifier)) {
    take_over();
  }
  basic_engine_queue(engine_type& on, Progress& progress, const options_type& options, Notifier notifier,
                     Recorder recorder)
    requires(!owns_progress)
      : basic_engine_queue(&progress, on, options, std::move(notifier), std::move(recorder)) {
    take_over();
  }
  /// Waits until the command that is executed now is over, and gives the others up, as abort() does: drain() first, if
  /// they are to be executed. If some were not, the progress is lost. Meanwhile submit() to this queue returns
  /// `aborted`, also when that command calls it, or the destructor of something that a dropped command has captured.
  /// Asserts that neither the queue's own work destroys it, nor anything that runs within the loss of its progress. Two
  /// threads that destroy each other's queues in this way wait for each other for ever.
  ~basic_engine_queue() {
    // After an abort, another queue may have taken a progress that has no poison().
    TIDEMARK_ASSERT(owns_progress || this->is_given_up() || has_submitted_value(), signalled_by_other);
    timeline_.refuse();
    // First, so that abort() of the engine can only be at this queue already. Then stop_turns() waits for that, too.
    detail::engine_access::remove(engine_, member());
    this->stop_turns();
    this->give_up_rest();
    discard();
    if (progress_.timeline.current_value() < last_queued()) timeline_.abort();
  }

  /// Returns the number of the queue in reports.
  queue_id id() const noexcept { return base::id; }

  // ---- recording: one thread at a time ------------------------------------------------------------------------------
  //
  // What is recorded is executed once it is submitted. All these functions allocate now and then. They throw what that
  // throws, or what moving or copying a callable throws. If one throws, it has recorded nothing. A submit() that throws
  // has submitted nothing, and what was recorded before stays.
  //
  // A callable that is moved or copied into the queue must not use the functions of this part meanwhile. Nor must what
  // is destroyed when the queue drops commands that are not submitted: in discard(), in a submit() that returns
  // `aborted`, and in the destructor. Asserts that nothing does. Otherwise the call does nothing, and submit() returns
  // `aborted`.

  /// Records a wait for a value. The queue parks while it is missing; its engine goes on.
  /// \param input  a timeline of the list in fence/awaited.hpp; it must outlive the wait
  template <class Timeline>
    requires is_awaited<Timeline>
  void wait(const logged_fence<Timeline>& input, std::uint64_t value) {
    const auto to = detail::awaited_access::target_of(basic_awaited<Platform>(*input.fence, value));
    if (!this->commands_.is_free()) return;
    command& made = begin(detail::command_kind::wait, input.id, to.fence, to.target);
    made.keep(to.operations);
    this->commands_.record();
  }
  /// The same for an attachment or a local_fence. If the domain of the attachment or this queue is a legacy one, the
  /// domain holds the queue until it is told of the value. For a local_fence a queue always parks. Asserts that a queue
  /// with logs waits for no fence of a legacy domain. Otherwise it waits as in a native one.
  template <class Fence>
    requires is_awaited_in_domain<Fence>
  void wait(const logged_fence<Fence>& input, std::uint64_t value) {
    check_domain(*input.fence);
    if constexpr (detail::may_hold<Fence> && !timeline_type::has_logs) {
      if (detail::domain_access::is_held(*input.fence, Kind)) return keep_held(input, value);
    }
    wait(native_of(input), value);
  }
  /// The same for a timeline without a number: logs show 0.
  template <class Timeline>
    requires(is_awaited<Timeline> || is_awaited_in_domain<Timeline>)
  void wait(const Timeline& input, std::uint64_t value) {
    wait(logged_fence<const Timeline>{&input, fence_id{}}, value);
  }
  /// A looked_at without a name, or what can't be copied, would be gone before the wait.
  template <detail::needs_name Timeline>
  void wait(const Timeline&& gone, std::uint64_t value) = delete;

  /// Records a call of `work(arguments...)`, which are moved or copied into the queue. It must not throw: an exception
  /// ends the program. It should not block, because it has a thread of the engine. It may submit to this queue and to
  /// others.
  template <class Work, class... Arguments>
    requires std::invocable<std::decay_t<Work>&, std::decay_t<Arguments>&...>
  void run(Work&& work, Arguments&&... arguments) {
    run(named_work{}, std::forward<Work>(work), std::forward<Arguments>(arguments)...);
  }
  /// The same with a name for tell_work(). Its text is not copied, and must outlive what reads it (executed_work.hpp).
  template <class Work, class... Arguments>
    requires std::invocable<std::decay_t<Work>&, std::decay_t<Arguments>&...>
  void run(named_work named, Work&& work, Arguments&&... arguments) {
    const auto make = [&] {
      return [call = std::decay_t<Work>(std::forward<Work>(work)),
              with = std::tuple<std::decay_t<Arguments>...>(std::forward<Arguments>(arguments)...)](
                 basic_engine_queue&) mutable { std::apply(call, with); };
    };
    if constexpr (timeline_type::has_logs) {
      if (work_ != nullptr) return keep_told(named.name, make);
    }
    keep_call(detail::command_kind::work, fence_id{}, nullptr, 0, make);
  }

  /// From the next command on, whatever run() records is told to `work` when it is executed, for a trace; with null, to
  /// nobody. `work` belongs to this queue alone, and must outlive the commands.
  void tell_work(work_type* work) noexcept
    requires(timeline_type::has_logs)
  {
    if (this->commands_.is_free()) work_ = work;
  }

  /// Records a signal: of a fence, of a local_fence, or of another timeline that can be signalled. It must outlive the
  /// signal. Asserts that a queue with logs signals no fence of a legacy domain. Otherwise the signal is logged. The
  /// waiters of a local_fence are released here, and the notifier is not called for it.
  template <class Fence>
    requires is_signalled<Fence>
  void signal(const logged_fence<Fence>& output, std::uint64_t value) {
    check_domain(*output.fence);
    keep_call(detail::command_kind::signal, output.id, address_of(*output.fence), value,
              [&] { return [output, value](basic_engine_queue& self) { self.signal_now(output, value); }; });
  }
  template <class Fence>
    requires is_signalled<Fence>
  void signal(Fence& output, std::uint64_t value) {
    signal(logged_fence<Fence>{&output, fence_id{}}, value);
  }

  // The same with entries of the queue's logs that were reserved for the commands: timeline().wait_reserver() and
  // timeline().signal_reserver() reserve them. Record the commands in the order of the reservations. A reservation that
  // says `no_space` may be given, too. If a command is dropped before it was submitted, take its entry back
  // (log_reservation.hpp).

  template <class Timeline>
    requires(is_awaited<Timeline> && timeline_type::has_logs)
  void wait(const logged_fence<Timeline>& input, std::uint64_t value, const log_reservation& entry) {
    const auto to = detail::awaited_access::target_of(basic_awaited<Platform>(*input.fence, value));
    using awaited_fence = std::pair<const void*, decltype(to.operations)>;
    using content = reserved<awaited_fence>;
    static constexpr auto target_of = [](command& of) noexcept {
      const awaited_fence& its = of.template kept<content>().what;
      return decltype(to){its.first, its.second, of.value.load()};
    };
    static constexpr auto calls = calls_of<content>(
        [](command& of, void* self) {
          static_cast<basic_engine_queue*>(self)->get_past_or_park(of.id, target_of(of),
                                                                   &of.template kept<content>().entry);
        },
        [](command& of) noexcept { return target_of(of).look(); });
    keep(
        detail::command_kind::looked, input.id, to.operations->timeline(to.fence), to.target,
        [&] { return content{{to.fence, to.operations}, entry}; }, calls);
  }
  template <class Fence>
    requires(is_awaited_in_domain<Fence> && timeline_type::has_logs)
  void wait(const logged_fence<Fence>& input, std::uint64_t value, const log_reservation& entry) {
    check_domain(*input.fence);
    wait(native_of(input), value, entry);
  }
  template <class Timeline>
    requires((is_awaited<Timeline> || is_awaited_in_domain<Timeline>) && timeline_type::has_logs)
  void wait(const Timeline& input, std::uint64_t value, const log_reservation& entry) {
    wait(logged_fence<const Timeline>{&input, fence_id{}}, value, entry);
  }
  template <detail::needs_name Timeline>
  void wait(const Timeline&& gone, std::uint64_t value, const log_reservation& entry) = delete;
  template <class Fence>
    requires(is_signalled<Fence> && timeline_type::has_logs)
  void signal(const logged_fence<Fence>& output, std::uint64_t value, const log_reservation& entry) {
    check_domain(*output.fence);
    using content = reserved<Fence*>;
    static constexpr auto calls = calls_of<content>([](command& of, void* self) {
      const content& its = of.template kept<content>();
      static_cast<basic_engine_queue*>(self)->signal_now(logged_fence<Fence>{its.what, of.id}, of.value.load(),
                                                         its.entry);
    });
    keep(
        detail::command_kind::signal, output.id, address_of(*output.fence), value,
        [&] { return content{output.fence, entry}; }, calls);
  }
  template <class Fence>
    requires(is_signalled<Fence> && timeline_type::has_logs)
  void signal(Fence& output, std::uint64_t value, const log_reservation& entry) {
    signal(logged_fence<Fence>{&output, fence_id{}}, value, entry);
  }

  /// Lets the submit() that accepts what was recorded signal `queued` itself, before it returns. With a timeline beside
  /// the one that the commands signal, threads can wait until a signal was queued, and then until it is executed. This
  /// is no command: logs do not show it, and it is dropped with the commands. `queued` must outlive the submission.
  template <class Fence>
    requires signalled_timeline<Fence>
  void announce(Fence& queued, std::uint64_t value) {
    if (!this->commands_.is_free()) return;
    announced_.push_back({&queued, value, [](void* of, std::uint64_t reached) noexcept {
                            static_cast<void>(static_cast<Fence*>(of)->signal(reached));
                          }});
  }

  /// Drops what was recorded and is not submitted. Entries that were reserved for it must be taken back.
  void discard() noexcept {
    if (!this->commands_.is_free()) return;
    announced_.clear();
    this->commands_.discard();
  }

  /// Submits what was recorded since the last submission, as one piece of work: gives it the next serial, stores that
  /// as last queued, makes the commands visible and rings the doorbell. Returns what the doorbell answers. Progress:
  /// lock-free, except for an allocation now and then, and for a system call if a thread of the engine sleeps.
  doorbell_result submit() {
    if (!this->commands_.is_free()) return {doorbell_status::aborted, 0};
    if (is_full()) return {doorbell_status::retry, 0};
    keep_call(detail::command_kind::finish, fence_id{}, nullptr, 0,
              [] { return [](basic_engine_queue& self) { self.finish(); }; });
    return ring_for_it();
  }
  /// The same with an entry that was reserved for the signal of the progress. Only an accepted submission uses it up.
  doorbell_result submit(const log_reservation& entry)
    requires(timeline_type::has_logs)
  {
    if (!this->commands_.is_free()) return {doorbell_status::aborted, 0};
    if (is_full()) return {doorbell_status::retry, 0};
    using content = reserved<std::byte>;
    static constexpr auto calls = calls_of<content>([](command& of, void* self) {
      static_cast<basic_engine_queue*>(self)->finish(of.template kept<content>().entry);
    });
    keep(detail::command_kind::finish, fence_id{}, nullptr, 0, [&] { return content{{}, entry}; }, calls);
    return ring_for_it();
  }

  // ---- what was submitted and what is finished: any thread ----------------------------------------------------------

  /// Returns the timeline of the queue: its serials, its progress and its logs. Do not call its submit(), wait(),
  /// signal(), complete(), cancel() or abort(): this queue does.
  timeline_type& timeline() noexcept { return timeline_; }
  const timeline_type& timeline() const noexcept { return timeline_; }

  /// Returns the progress, for other queues and for threads to wait for: its value is the serial of the last submission
  /// that is finished. Only the queue itself signals it.
  [[nodiscard]] logged_fence<const progress_type> progress() const noexcept {
    const logged_fence<progress_type> own = timeline_.progress();
    return {own.fence, own.id};
  }
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

  /// Lets the queue execute nothing more after the command, or the unbroken run, that is executed now, until resume().
  /// Calls are not counted: one resume() ends any number of pauses. It does not wait for that command. Submissions are
  /// accepted meanwhile. A wait that is parked ends, or finds its timeline lost, only after resume(). Progress: takes
  /// the lock of the engine.
  void pause() noexcept { base::pause(); }
  void resume() noexcept { base::resume(); }

  /// Changes the priority of the queue, also while it has a turn, waits or is paused. It counts from the next choice of
  /// a queue on: a turn that is under way goes on to its end. If the queue is ready, it comes last among the ready
  /// queues of its new priority. The order of its own commands does not change. Asserts that there is such a priority.
  /// Otherwise it takes the lowest one. Progress: takes the lock of the engine.
  void set_priority(queue_priority priority) noexcept { base::set_rank(static_cast<std::uint8_t>(priority)); }
  /// Returns the priority that the queue has now. Progress: takes the lock of the engine.
  [[nodiscard]] queue_priority priority() const noexcept { return static_cast<queue_priority>(base::rank_of_turns()); }

  /// Gives the queue up: refuses further submissions, and drops what it has not executed. Its progress is lost; no
  /// other timeline is. A progress that was given to the queue is lost by its poison(), for good, so no other queue can
  /// take it over. If it has no such function, it stays as it is, and only this queue's drain() returns `lost`.
  ///
  /// A command that is executed now is not interrupted. Then the progress is lost at the end of that turn, which may
  /// drop some of the other commands first. So once drain() says `lost`, no command is executed, and no thread of the
  /// engine looks at a fence for which the queue has waited. Such a fence may be destroyed. But the drain() of a queue
  /// whose progress has no poison() may say so while the command is still executed. What the commands captured is
  /// destroyed in the turn that is under way, in later turns, or in the destructor of the queue. Any number of calls.
  /// Callables in the signaller of the progress may run in this call. Progress: takes the lock of the engine; otherwise
  /// as the poison() of the progress, and as these callables.
  void abort() noexcept { base::abort(); }

 private:
  friend detail::unbroken_access;

  using base = detail::engine_member<Platform>;
  using command = typename base::command;

  base& member() noexcept { return *this; }

  /// \param given     the progress, or null if the queue makes its own
  /// \param recorder  one, or none if the queue makes it
  template <class... Made>
  basic_engine_queue(Progress* given, engine_type& on, const options_type& options, Notifier&& notifier,
                     Made&&... recorder)
      : base(detail::engine_access::next_id(on), options.name, detail::engine_access::core_of(on),
             static_cast<std::uint8_t>(options.priority), quantum_of(options), this, calls_of_task),
        engine_{on},
        most_{most_of(options)},
        progress_(hold(given)),
        timeline_(make_timeline(progress_.timeline, options, std::move(notifier), std::forward<Made>(recorder)...)) {
    detail::engine_access::add(on, member());
  }
  static progress_holder hold([[maybe_unused]] Progress* given) noexcept {
    if constexpr (owns_progress) {
      return {};
    } else {
      return {*given};
    }
  }
  template <class... Made>
  static timeline_type make_timeline(progress_type& progress, const options_type& options, Notifier&& notifier,
                                     Made&&... recorder) {
    if constexpr (sizeof...(Made) != 0) {
      return timeline_type(progress, {.progress = options.progress}, std::move(notifier),
                           std::forward<Made>(recorder)...);
    } else if constexpr (takes_log_entries) {
      return timeline_type(progress, {options.progress, options.log_entries}, std::move(notifier));
    } else {
      return timeline_type(progress, {.progress = options.progress}, std::move(notifier), Recorder{});
    }
  }
  /// Begins with a progress that the program has given.
  void take_over() noexcept {
    check_domain(progress_.timeline);
    const bool is_lost = has_lost_progress();
    TIDEMARK_ASSERT(!is_lost, "a queue was given a progress that is lost");
    if (is_lost) timeline_.refuse();
  }
  /// Returns whether the progress is lost, also by somebody else.
  bool has_lost_progress() const noexcept { return progress_.timeline.current_value() == UINT64_MAX; }
  static constexpr const char* signalled_by_other = "somebody else has signalled the progress of a queue";
  /// Returns whether the progress has no value that this queue has not submitted. For the thread that submits, which
  /// does not know how many submissions are finished.
  bool has_submitted_value() const noexcept {
    const std::uint64_t found = progress_.timeline.current_value();
    return found <= last_queued() || found == UINT64_MAX;
  }
  /// Returns whether nobody else has signalled the progress. For the thread that executes.
  bool has_own_value() const noexcept {
    const std::uint64_t found = progress_.timeline.current_value();
    return found == detail::queue_access::finished_of(timeline_) || found == UINT64_MAX;
  }
  /// Ends a submission.
  template <class... Entry>
  void finish(const Entry&... entry) noexcept {
    TIDEMARK_ASSERT(owns_progress || has_own_value(), signalled_by_other);
    detail::queue_access::complete(timeline_, this->before_user_code(), entry...);
    if constexpr (!owns_progress) {
      if (has_lost_progress()) [[unlikely]]
        this->give_self_up();
    }
  }
  template <class Fence, class... Entry>
  void signal_now(const logged_fence<Fence>& output, std::uint64_t value, const Entry&... entry) noexcept {
    if constexpr (detail::is_signalled_by_engines<Fence>) {
      auto& native = detail::domain_access::signalled_of(*output.fence);
      detail::queue_access::signal_by_itself(timeline_, logged_fence{&native, output.id}, value,
                                             this->before_user_code(), entry...);
    } else {
      detail::queue_access::signal(timeline_, output, value, this->before_user_code(), entry...);
    }
  }
  /// Asserts that a queue with logs uses no fence of a legacy domain.
  template <class Fence>
  static void check_domain([[maybe_unused]] const Fence& used) noexcept {
    if constexpr (detail::may_hold<Fence> && timeline_type::has_logs) {
      TIDEMARK_ASSERT(!detail::domain_access::is_held(used, domain_kind::native),
                      "a queue with logs used a fence of a legacy domain");
    }
  }
  /// Returns the fence that a queue waits for where it is not held.
  template <class Fence>
  static auto native_of(const logged_fence<Fence>& input) noexcept {
    const auto& native = detail::domain_access::native_of(*input.fence);
    return logged_fence<const std::remove_cvref_t<decltype(native)>>{&native, input.id};
  }

  static unsigned quantum_of(const options_type& options) noexcept {
    TIDEMARK_ASSERT(options.quantum != 0, "a queue of an engine must execute at least one command in a turn");
    return options.quantum != 0 ? options.quantum : 1;
  }
  static std::uint64_t most_of(const options_type& options) noexcept {
    TIDEMARK_ASSERT(options.most_submissions != 0, "a queue of an engine must accept at least one submission");
    return options.most_submissions != 0 ? options.most_submissions : 1;
  }
  /// Returns the address by which reports know the timeline.
  template <class Fence>
  static const void* address_of(const Fence& output) noexcept {
    if constexpr (is_awaited_in_domain<Fence>) {
      return detail::name_of_timeline(detail::domain_access::native_of(output));
    } else {
      return detail::name_of_timeline(output);
    }
  }

  command& begin(detail::command_kind kind, fence_id named, const void* at, std::uint64_t value) {
    command& made = this->commands_.next();
    made.kind = kind;
    made.id = named;
    made.fence = at;
    made.value.store(value);
    return made;
  }
  bool is_full() const noexcept {
    const std::uint64_t queued = timeline_.last_queued();
    const std::uint64_t finished = progress_.timeline.current_value();  // the greatest value if the progress is lost
    return finished < queued && queued - finished >= most_ && !this->is_given_up();
  }
  doorbell_result ring_for_it() {
    TIDEMARK_ASSERT(owns_progress || has_submitted_value(), signalled_by_other);
    if constexpr (!owns_progress) {
      if (has_lost_progress()) [[unlikely]]
        abort();
    }
    const submit_result made = timeline_.submit([this](std::uint64_t) {
      this->commands_.publish();
      this->ring();
    });
    if (made) {
      // Taken out first: who is signalled may use this queue.
      for (const announcement& each : std::exchange(announced_, {})) each.signal(each.queued, each.value);
      return {doorbell_status::accepted, made.serial};
    }
    discard();
    return {doorbell_status::aborted, 0};
  }

  /// Records a command that calls `make()(*this)`.
  template <class Make>
  void keep_call(detail::command_kind kind, fence_id named, const void* at, std::uint64_t value, const Make& make) {
    using call_type = decltype(make());
    static constexpr typename command::call_table calls{
        [](command& of, void* self) { of.template kept<call_type>()(*static_cast<basic_engine_queue*>(self)); },
        [](command& of) noexcept { of.template forget<call_type>(); }};
    keep(kind, named, at, value, make, calls);
  }

  /// Records a command that calls `make()(*this)` and reports that. Where other commands have `fence` and `value`, this
  /// one has the address and the length of the name.
  template <class Make>
  void keep_told(std::string_view named, const Make& make) {
    struct told_call {
      work_type* to;
      decltype(make()) call;
    };
    static constexpr typename command::call_table calls{
        [](command& of, void* self) {
          told_call& its = of.template kept<told_call>();
          const std::string_view called{static_cast<const char*>(of.fence), static_cast<std::size_t>(of.value.load())};
          its.to->execute(called, [&] { its.call(*static_cast<basic_engine_queue*>(self)); });
        },
        [](command& of) noexcept { of.template forget<told_call>(); }};
    const std::string_view of_queue = base::name.empty() ? std::string_view{"work"} : base::name;
    const std::string_view called = named.empty() ? of_queue : named;
    keep(
        detail::command_kind::work, fence_id{}, called.data(), called.size(), [&] { return told_call{work_, make()}; },
        calls);
  }

  /// Records that an unbroken run begins here.
  auto begin_run(bool is_engine_wide) {
    static constexpr typename command::call_table calls{
        [](command&, void* self) { static_cast<basic_engine_queue*>(self)->base::begin_run(); },
        [](command&) noexcept {}};
    if (!this->commands_.is_free()) return this->commands_.nowhere();
    const auto kind = is_engine_wide ? detail::command_kind::alone : detail::command_kind::unbroken;
    begin(kind, fence_id{}, nullptr, 0).calls.store(&calls);
    this->commands_.record();
    return this->commands_.last();
  }
  bool end_run(const auto& begun) noexcept { return this->commands_.end_run(begun); }

  struct announcement {
    void* queued;
    std::uint64_t value;
    void (*signal)(void* of, std::uint64_t value) noexcept;
  };

  /// What a command keeps for which an entry of a log was reserved.
  template <class What>
  struct reserved {
    What what;
    log_reservation entry;
  };
  /// Returns the functions of a command that keeps a `Kept` with an entry.
  template <class Kept>
  static constexpr typename command::call_table calls_of(void (*run)(command&, void*),
                                                         fence_state (*look)(command&) noexcept = nullptr) {
    return {run, [](command& of) noexcept { of.template forget<Kept>(); }, look,
            [](command& of) noexcept -> const void* { return &of.template kept<Kept>().entry; }};
  }
  /// Records a command that keeps `make()`. What make() returns is built in its place and never moved. While make()
  /// runs, the queue must not be used.
  template <class Make>
  void keep(detail::command_kind kind, fence_id named, const void* at, std::uint64_t value, const Make& make,
            const typename command::call_table& calls) {
    if (!this->commands_.is_free()) return;
    const auto making = this->commands_.busy();
    command& made = begin(kind, named, at, value);
    made.keep_made(make);
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
                                                 of.template kept<held_wait>(), of.id, of.value.load(), nullptr);
                                           },
                                           [](command& of) noexcept { of.template forget<held_wait>(); },
                                           [](command& of) noexcept { return of.template kept<held_wait>().look(); }};
    keep(
        detail::command_kind::held, input.id, address_of(*input.fence), value,
        [&] { return detail::domain_access::held_wait_of(*input.fence, value); }, calls);
  }

  static log_reservation reserved_at(const void* entry) noexcept {
    return entry != nullptr ? *static_cast<const log_reservation*>(entry) : log_reservation{};
  }
  static timeline_type& timeline_of(void* self) noexcept { return static_cast<basic_engine_queue*>(self)->timeline_; }
  static constexpr detail::engine_task_calls calls_of_task{
      [](void* self, fence_id input, std::uint64_t value) noexcept {
        return timeline_of(self).begin_stall(input, value);
      },
      [](void* self, fence_id input, std::uint64_t value, std::uint64_t observed, const void* entry) noexcept {
        if constexpr (timeline_type::has_logs) {
          if (entry != nullptr) return timeline_of(self).end_wait(input, value, observed, reserved_at(entry));
        }
        timeline_of(self).end_wait(input, value, observed);
      },
      [](void* self, detail::command_kind kind, fence_id id, std::uint64_t value, const void* entry) noexcept {
        if (kind == detail::command_kind::work || detail::begins_run(kind)) return;
        const auto operation = detail::is_wait(kind)                  ? queue_operation::wait
                               : kind == detail::command_kind::finish ? queue_operation::complete
                                                                      : queue_operation::signal;
        timeline_of(self).cancel({operation, id, value, reserved_at(entry)});
      },
      [](void* self) noexcept { timeline_of(self).refuse(); },
      [](void* self) noexcept { timeline_of(self).abort(); },
      [](void* self) noexcept {
        const logged_fence<progress_type> known = timeline_of(self).progress();
        const std::uint64_t finished = detail::queue_access::finished_of(timeline_of(self));
        return detail::engine_task_progress{address_of(*known.fence), known.id, finished};
      }};

  engine_type& engine_;
  const std::uint64_t most_;
  work_type* work_ = nullptr;            // the submitter's
  std::vector<announcement> announced_;  // the submitter's
  progress_holder progress_;
  timeline_type timeline_;
};
template <platform Platform, signalled_timeline Progress>
basic_engine_queue(basic_engine<Platform>&, Progress&, const engine_queue_options& = {})
    -> basic_engine_queue<Platform, default_log_clock, self_service, log_recorder<timeline_platform<Progress>>,
                          Progress>;

/// For engines that wait for fences of all kinds.
using engine = basic_engine<native_platform>;
using engine_queue = basic_engine_queue<native_platform>;
/// An engine_queue whose progress is a timeline that the program has made. Where the type need not be named, write
/// `basic_engine_queue name{engine, progress}`.
template <signalled_timeline Progress>
using engine_queue_with = basic_engine_queue<native_platform, default_log_clock, self_service,
                                             log_recorder<timeline_platform<Progress>>, Progress>;

/// A queue of the older kind: domains hold its waits, and it has no logs. `Recorder` may be a direct_recorder, so that
/// a trace learns of its waits and signals as they are executed.
template <platform Platform, log_clock Clock = default_log_clock, class Notifier = self_service,
          class Recorder = no_recorder, engine_queue_progress Progress = own_progress>
using basic_legacy_queue = basic_engine_queue<Platform, Clock, Notifier, Recorder, Progress, domain_kind::legacy>;
/// One that tells nobody what it executes.
using legacy_queue = basic_legacy_queue<native_platform, no_log_clock>;

}  // namespace tidemark

#endif  // TIDEMARK_ENGINE_ENGINE_QUEUE_HPP
