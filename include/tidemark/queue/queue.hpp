// SPDX-License-Identifier: BSL-1.0
//
// queue: the timeline of an in-order executor. It gets past waits, executes signals, logs both, and says by its
// progress fence how many submissions are finished.
//
//   tidemark::progress_fence finished;
//   tidemark::queue queue{finished, {.progress = tidemark::fence_id{7}}};
//
//   submitter (one at a time)           executor (one thread, in order)                       owner
//   queue.submit(make_visible)          queue.wait(input, 3); ... work ... wait_log(), signal_log()
//                                       queue.signal(output, 4); queue.complete(); enable_tracing(), set_log()
//
// What the signal of a fence does, in this order:
//
//   1. it stores the value        a thread that sees the value sees the work that came before
//   2. it logs the entry          a thread that is notified finds the entry in the log
//   3. after one StoreLoad barrier it looks at the monitored value, and calls the notifier if a waiter is due
//
// For a `fence` whose value did not rise, there is no step 3; for a `progress_fence` there always is. The log adds one
// entry to what a signal costs, and no second StoreLoad barrier. On x86-64 a signal in the asymmetric form that finds
// no waiter due takes no fence instruction, with the log or without it.
//
// With any other timeline, signal() does the whole notification, and the queue can't take it apart. So the queue logs
// the entry first and then signals: a thread that is notified still finds the entry, but a reader may find the entry
// before the value is there. The notifier is not called.
//
// A signal that nobody waits for wakes nobody, but it is logged. Each queue has two logs, for the waits that it got
// past and for the signals that it executed. By default each log is one page. Both overwrite: a queue never waits for
// its readers. A third, verbose log is there once a tool has asked for it. A queue with a direct_recorder has no logs
// (recorder.hpp).
//
// Commands that are recorded before they are executed may reserve their entries (log_reservation.hpp), and commands
// that will never be executed are cancelled, which stands in the logs, too (cancelled_command.hpp).
//
// Serials: submit() stores the serial as last queued before the work becomes visible, in the order of submission, so
// "serial n is finished" implies all before it. Serial n is finished when the progress fence reaches n.
//
// Lifetime. Work may count as finished while the executor is still inside complete(), where it then writes the entry
// and calls the notifier. A queue must be destroyed only after the executor and all other threads have left its
// functions, for example after they were joined: drain() alone is not enough. Readers of its logs may outlive it.
//
// Not promised: any order between entries of different queues; that a log reader sees an entry at once.
#ifndef TIDEMARK_QUEUE_QUEUE_HPP
#define TIDEMARK_QUEUE_QUEUE_HPP

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "../fence/wait.hpp"
#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "cancelled_command.hpp"
#include "log_reservation.hpp"
#include "logged_queue.hpp"
#include "notifier.hpp"
#include "recorder.hpp"

namespace tidemark {

/// The options of a queue.
struct queue_options {
  fence_id progress{};  ///< The number by which logs know the progress fence; a hub gives it another one (attach()).
  std::size_t log_entries = default_log_entries;  ///< How many entries each log has, 2 to 2^31 - 1; see log_recorder.
};

/// How a submission ended.
enum class submit_status {
  submitted,
  lost,  ///< The queue was aborted: the work was not made visible.
};

template <>
inline constexpr auto detail::names_of<submit_status> = detail::names("submitted", "lost");
struct [[nodiscard]] submit_result {
  submit_status status;
  std::uint64_t serial;  ///< Of the work, if it was submitted.

  explicit operator bool() const noexcept { return status == submit_status::submitted; }
};

/// Why the progress timeline of a queue is lost if abort() names no other reason.
inline constexpr loss_reason queue_aborted{0xFFFF'FF01, "the queue was aborted"};

}  // namespace tidemark

namespace tidemark::detail {

// How a queue waits for a timeline: what it looks at first, and when it says that it stalls.

/// Looks once whether the timeline has reached `value`. Returns `reached`, `lost` or `timeout`.
template <class Timeline>
wait_status look(const Timeline& followed, std::uint64_t value) noexcept {
  if (followed.current_value() < value) return wait_status::timeout;
  return followed.wait_until(value, deadline{});  // a timeline that is lost shows the greatest value
}

/// Waits for the timeline; or looks once, where the limit is at_once.
template <class Timeline, class Token>
wait_status wait_or_look(const Timeline& followed, std::uint64_t value, deadline until, const Token& token) noexcept {
  if (until != at_once) return wait_on<timeline_platform<Timeline>>(followed, value, until, token);
  const wait_status status = look(followed, value);
  return status == wait_status::timeout && token.stop_requested() ? wait_status::stopped : status;
}

/// How a wait of a queue ended, and when it was seen to stall the queue; 0 if it was over already.
struct ended_wait {
  wait_status status;
  std::uint64_t observed;
};

/// Looks whether the timeline has reached `value`. If not, notes the time and waits. Calls `tell_stall(observed)` once,
/// before the first sleep.
template <class Clock, class Timeline, class TellStall, class... Limits>
ended_wait get_past(const Timeline& input, std::uint64_t value, const TellStall& tell_stall,
                    const Limits&... limits) noexcept {
  using awaited_platform = timeline_platform<Timeline>;
  const wait_status first = look(input, value);
  if (first != wait_status::timeout) return {first, 0};
  const std::uint64_t observed = Clock::now();
  bool is_told = false;
  const wait_status status = within<awaited_platform>(
      [&](deadline until, const auto& token) {
        const bool sleeps =
            until != at_once && !token.stop_requested() && (until == no_deadline || until > awaited_platform::now());
        if (sleeps && !std::exchange(is_told, true)) tell_stall(observed);
        return wait_or_look(input, value, until, token);
      },
      limits...);
  return {status, observed};
}

/// Signals for the executor of an engine. Calls `before_user_code()` before a signal runs code of the user.
struct queue_access {
  static void signal(auto& queue, const auto& output, std::uint64_t value, const auto& before_user_code,
                     const auto&... entry) noexcept {
    queue.signal_telling(output, value, before_user_code, entry...);
  }
  /// The same for a fence whose waiters the executor releases itself, whatever the notifier is.
  static void signal_by_itself(auto& queue, const auto& output, std::uint64_t value, const auto& before_user_code,
                               const auto&... entry) noexcept {
    const self_service by_itself;
    queue.signal_by(by_itself, output, value, before_user_code, entry...);
  }
  static void complete(auto& queue, const auto& before_user_code, const auto&... entry) noexcept {
    queue.complete_telling(before_user_code, entry...);
  }
  /// Returns the serial of the last piece of work that is finished or cancelled.
  static std::uint64_t finished_of(const auto& queue) noexcept { return queue.completed_; }
};

}  // namespace tidemark::detail

namespace tidemark {

/// An in-order queue; see the head of this file. It follows and signals `Progress`, whose value is the serial of the
/// last piece of work that is finished. A queue can be neither copied nor moved.
///
/// \tparam Progress  any timeline that the queue can signal. If it has a function poison(), abort() calls it
/// \tparam Clock     stamps the entries
/// \tparam Notifier  is called with a fence that has a waiter due: self_service, or a hub's (hub.hpp)
/// \tparam Recorder  log_recorder or direct_recorder
template <signalled_timeline Progress = progress_fence, log_clock Clock = default_log_clock,
          class Notifier = self_service,
          recorder Recorder = log_recorder<typename detail::platform_of_timeline<Progress>::type>>
  requires notifier<Notifier, Progress>
class basic_queue : public logged_queue<Recorder, timeline_platform<Progress>> {
  using logs = logged_queue<Recorder, timeline_platform<Progress>>;

 public:
  using platform = timeline_platform<Progress>;
  using progress_type = Progress;
  using logs::has_logs;

  /// Allocates the logs, and throws what the allocation throws.
  /// \param progress  signalled by complete() of this queue alone, which is not checked. It must outlive the queue.
  ///                  Serials go on from its value. It must not be poisoned or lost already, which is not checked. If
  ///                  it is lost later without abort(), submit() does not notice that
  explicit basic_queue(Progress& progress, const queue_options& options = {}, Notifier notifier = {})
    requires std::constructible_from<Recorder, std::size_t>
      : logs{options.log_entries},
        progress_{&progress, options.progress},
        notifier_{std::move(notifier)},
        last_queued_{progress.current_value()},
        is_aborted_{0} {}
  /// The same with a recorder of the caller's, such as a direct_recorder; `options.log_entries` is not used.
  basic_queue(Progress& progress, const queue_options& options, Notifier notifier, Recorder recorder)
    requires std::move_constructible<Recorder>
      : logs{std::move(recorder)},
        progress_{&progress, options.progress},
        notifier_{std::move(notifier)},
        last_queued_{progress.current_value()},
        is_aborted_{0} {}

  // ---- submitting: one thread at a time -----------------------------------------------------------------------------

  /// Gives the next serial to a piece of work, stores it as last queued, and makes the work visible to the executor by
  /// calling `make_visible(serial)`. Returns `submitted` and the serial; `lost`, without a call, once the queue is
  /// aborted. An exception of `make_visible` goes through. It must not have made the work visible then, and the next
  /// submission gets the serial. `make_visible` must not submit to this queue (asserted).
  template <class MakeVisible>
  submit_result submit(MakeVisible&& make_visible) {
    if (is_aborted()) return {submit_status::lost, 0};
    // (Q10): relaxed alone: only the submitter writes it.
    const std::uint64_t serial = last_queued_.load(std::memory_order_relaxed) + 1;
    submission made{*this, serial};
    std::forward<MakeVisible>(make_visible)(serial);
    made.is_visible = true;
    // (Q12): relaxed alone, as (Q10).
    TIDEMARK_ASSERT(last_queued_.load(std::memory_order_relaxed) == serial, "two threads submit to a queue at once");
    return {submit_status::submitted, serial};
  }

  // ---- what was submitted and what is finished: any thread ----------------------------------------------------------

  /// Returns the serial of the last piece of work that was submitted. A submission counts from just before its
  /// `make_visible` is called, and no longer counts if that throws. Progress: wait-free.
  [[nodiscard]] std::uint64_t last_queued() const noexcept {
    // (Q13): relaxed alone, see (Q11).
    return last_queued_.load(std::memory_order_relaxed);
  }

  /// Returns whether all submitted work is finished. Never returns true while the calling thread can see work that is
  /// not finished. Returns false once the queue is aborted or the progress timeline is lost, although is_finished()
  /// then returns true for every serial: such work is given up, not finished. Progress: as that of the timeline's
  /// current_value().
  [[nodiscard]] bool is_idle() const noexcept {
    // The progress is read first. What is submitted after that makes the last serial too large, never too small.
    const std::uint64_t finished = progress_.fence->current_value();
    return finished >= last_queued() && finished != lost_value && !is_aborted();
  }

  /// Returns true if the work of this serial is finished; then everything that the work did happens-before the return.
  /// Once the queue is aborted or the progress timeline is lost, returns true for every serial, because waiting for the
  /// work is of no use then. What the work did need not be visible then. wait_finished() tells the two cases apart.
  /// Progress: as that of the timeline's current_value().
  [[nodiscard]] bool is_finished(std::uint64_t serial) const noexcept {
    if (progress_.fence->current_value() >= serial) return true;
    return !can_be_poisoned && is_aborted();
  }

  /// Waits until the work of this serial is finished, or until `token` is triggered. Returns `reached`; `stopped` by
  /// the token; `lost` if the queue is aborted or the progress timeline is lost, and the work is not finished. If the
  /// executor finishes the work after the abort, a later call may return `reached`. What the work did happens-before a
  /// return with `reached`. If the progress timeline has no poison(), or its wait_until() takes no stop token, the wait
  /// looks at the token once in a millisecond. Blocking.
  template <stop_token_like Token = never_stops>
  wait_status wait_finished(std::uint64_t serial, Token token = {}) const noexcept {
    return wait_within(serial, std::move(token));
  }
  /// The same, but waits for the duration `timeout` at most, and returns the status `timeout` then. With a duration of
  /// zero or less it does not sleep.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_finished_for(std::uint64_t serial, const std::chrono::duration<Rep, Period>& timeout,
                                Token token = {}) const noexcept {
    return wait_within(serial, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class TimeClock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_finished_until(std::uint64_t serial, const std::chrono::time_point<TimeClock, Duration>& at,
                                  Token token = {}) const noexcept {
    return wait_within(serial, at, std::move(token));
  }

  /// Waits until all work is finished that was submitted before the call, as wait_finished() does: the normal way to
  /// end a queue. Work that is submitted later is not waited for. There is one exception: if drain() begins during a
  /// submission whose `make_visible` throws, it waits for the next submission, which gets that serial. The executor may
  /// still be inside complete() after the return; see "Lifetime" in the head of this file. Blocking.
  template <stop_token_like Token = never_stops>
  wait_status drain(Token token = {}) const noexcept {
    return wait_within(last_queued(), std::move(token));
  }
  /// The same, but waits for the duration `timeout` at most, and returns the status `timeout` then. With a duration of
  /// zero or less it does not sleep.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  wait_status drain_for(const std::chrono::duration<Rep, Period>& timeout, Token token = {}) const noexcept {
    return wait_within(last_queued(), timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class TimeClock, class Duration, stop_token_like Token = never_stops>
  wait_status drain_until(const std::chrono::time_point<TimeClock, Duration>& at, Token token = {}) const noexcept {
    return wait_within(last_queued(), at, std::move(token));
  }

  /// The other way to end a queue: refuses further work, and makes wait_finished() and drain() return `lost` for work
  /// that is not finished. A submission that has already begun may still succeed. If the progress timeline can be
  /// poisoned, this poisons it, so all its waiters are released at once. With any other timeline, wait_finished() and
  /// drain() notice the abort within a millisecond, and other waiters of the timeline do not. The executor's waits go
  /// on: the program must stop the executor by other means, and what the executor does meanwhile is still logged. Any
  /// thread may call it, any number of times. Progress: as the timeline's poison(); wait-free if it has none.
  /// \param why  why the progress timeline is lost, an object of static lifetime. It is passed to the timeline's
  ///             poison() if that takes a reason
  void abort(const loss_reason& why = queue_aborted) noexcept {
    refuse();
    if constexpr (requires { progress_.fence->poison(why); }) {
      progress_.fence->poison(why);
    } else if constexpr (can_be_poisoned) {
      progress_.fence->poison();
    }
  }
  void abort(const loss_reason&&) = delete;  // a reason has static lifetime
  /// The first step of abort(): refuses further work. It is for an executor that ends its own wait before anybody
  /// learns of the abort. If the progress timeline can be poisoned, no wait notices that. Otherwise wait_finished() and
  /// drain() may return `lost` from now on. abort() must follow. Progress: wait-free.
  void refuse() noexcept {
    // (Q14): release, pairs with (Q9).
    is_aborted_.store(1, std::memory_order_release);
  }

  /// Returns the progress fence and its number, for other queues to wait for. Must not be called while name_progress()
  /// or a hub's attach() sets the number.
  [[nodiscard]] logged_fence<Progress> progress() const noexcept { return progress_; }

  // ---- executing: one thread, in order ------------------------------------------------------------------------------

  // Pass the reservation to an operation whose log entry was reserved when it was recorded; log_reservation.hpp says
  // more. With a reservation that says `no_space`, an operation does what it does without one.

  /// Gets past a wait: waits until the timeline has reached `value`, or until `token` is triggered, and then logs the
  /// wait. Returns as the timeline's own wait does: `reached`, `stopped` or `lost`. Only a wait that returns `reached`
  /// is logged, and uses up a reservation. The timeline's functions must not throw. Blocking.
  template <timeline Timeline, stop_token_like Token = never_stops>
  wait_status wait(const logged_fence<Timeline>& input, std::uint64_t value, Token token = {}) noexcept {
    return get_past(input, value, ending(input, value), std::move(token));
  }
  template <timeline Timeline, stop_token_like Token = never_stops>
  wait_status wait(const logged_fence<Timeline>& input, std::uint64_t value, const log_reservation& entry,
                   Token token = {}) noexcept
    requires(has_logs)
  {
    return get_past(input, value, ending(input, value, entry), std::move(token));
  }
  /// The same, but waits for the duration `timeout` at most, and returns the status `timeout` then. With a duration of
  /// zero or less it does not sleep, but may look several times.
  template <timeline Timeline, class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(const logged_fence<Timeline>& input, std::uint64_t value,
                       const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return get_past(input, value, ending(input, value), timeout, std::move(token));
  }
  template <timeline Timeline, class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(const logged_fence<Timeline>& input, std::uint64_t value, const log_reservation& entry,
                       const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept
    requires(has_logs)
  {
    return get_past(input, value, ending(input, value, entry), timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`. With a point in the
  /// past it does not sleep, but may look several times.
  template <timeline Timeline, class TimeClock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_until(const logged_fence<Timeline>& input, std::uint64_t value,
                         const std::chrono::time_point<TimeClock, Duration>& at, Token token = {}) noexcept {
    return get_past(input, value, ending(input, value), at, std::move(token));
  }
  template <timeline Timeline, class TimeClock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_until(const logged_fence<Timeline>& input, std::uint64_t value, const log_reservation& entry,
                         const std::chrono::time_point<TimeClock, Duration>& at, Token token = {}) noexcept
    requires(has_logs)
  {
    return get_past(input, value, ending(input, value, entry), at, std::move(token));
  }

  /// The steps of wait(), for an executor that does something else while the value is not there. begin_stall() returns
  /// the time at which the wait was seen to stall, and tells the verbose log of it. end_wait() logs the wait, whose
  /// value must have been reached; `observed` is that time, or 0 for a wait that did not stall. Progress: as that of
  /// basic_queue_log::append().
  std::uint64_t begin_stall(fence_id input, std::uint64_t value) noexcept {
    const std::uint64_t observed = Clock::now();
    tell_stall(input, value, observed);
    return observed;
  }
  void end_wait(fence_id input, std::uint64_t value, std::uint64_t observed) noexcept {
    logs::record_wait(value, input, observed, Clock::now());
  }
  void end_wait(fence_id input, std::uint64_t value, std::uint64_t observed, const log_reservation& entry) noexcept
    requires(has_logs)
  {
    logs::record_wait(value, input, observed, Clock::now(), entry);
  }

  /// Signals a fence: value, entry, notification; or another timeline: entry, then its signal(), which must not throw;
  /// see the head of this file. Returns whether the value rose, as publish() of the fence or signal() of the timeline
  /// says. That is false for a `fence` that had already come so far, and always true for a `progress_fence` and where
  /// signal() returns no bool. The entry is written in every case. Progress: as the timeline's signal(), one append,
  /// and one call of the notifier if a waiter of a fence is due. The notifier of a hub that serves itself may run the
  /// hub's passes in that call.
  template <class Fence>
    requires notified_fence<Fence> || signalled_timeline<Fence>
  bool signal(const logged_fence<Fence>& output, std::uint64_t value) noexcept {
    return signal_telling(output, value, detail::does_nothing{});
  }
  template <class Fence>
    requires(has_logs && (notified_fence<Fence> || signalled_timeline<Fence>))
  bool signal(const logged_fence<Fence>& output, std::uint64_t value, const log_reservation& entry) noexcept {
    return signal_telling(output, value, detail::does_nothing{}, entry);
  }

  /// Signals the progress fence, as the last command of a piece of work. Returns the serial that is finished now. Call
  /// it once for each submit() that succeeded, which is not checked. A queue whose work never comes through submit()
  /// only counts what is finished: last_queued(), is_idle() and drain() do not know of that work. Progress: as that of
  /// signal().
  std::uint64_t complete() noexcept { return complete_telling(detail::does_nothing{}); }
  std::uint64_t complete(const log_reservation& entry) noexcept
    requires(has_logs)
  {
    return complete_telling(detail::does_nothing{}, entry);
  }

  /// Gives up the work with the serials `first` to `last`: none of it will be executed. Writes an entry for each of
  /// `commands`, which are the waits, the signals and the ends of that work, in their order. Then writes one for each
  /// end that is not among them. All have cancelled_timestamp in the place of the time. Nothing is signalled and nobody
  /// is released.
  ///
  /// Returns `cancelled` and the number of entries. Returns `refused`, and writes nothing, where something would be
  /// left out: `first` is not the serial that complete() would return next; or `last` is less than `first` - 1; or
  /// `last` is less than last_queued(): take over all submitted work before you cancel; or there are more ends than
  /// serials; or the reserved entries among the commands are not, in their order, the next ones of their logs.
  ///
  /// Not checked: a command whose entry was reserved must be among `commands`; and if work comes through submit(),
  /// `last` must have been submitted.
  ///
  /// Work that was cancelled does not become finished by itself: drain() goes on waiting for it, until later work is
  /// finished or abort() is called. Progress: one append for each entry.
  cancel_result cancel_from(std::uint64_t first, std::uint64_t last,
                            std::span<const cancelled_command> commands = {}) noexcept {
    if (first != completed_ + 1 || last < completed_ || last < last_queued() || !are_next(commands, last)) {
      return {cancel_status::refused, 0};
    }
    for (const cancelled_command& given_up : commands) cancel(given_up);
    const std::uint64_t ends = last - completed_;
    while (completed_ < last) cancel({});
    return {cancel_status::cancelled, commands.size() + ends};
  }

  /// The step of cancel_from() for one command, for an executor that comes upon the commands one by one, as that of an
  /// engine does. It must give up in this way, in their order, all commands from this one to the last that was queued,
  /// and execute none of them, which is not checked. Progress: one append.
  void cancel(const cancelled_command& given_up) noexcept {
    if (given_up.operation == queue_operation::wait) {
      logs::record_wait(given_up.value, given_up.fence, 0, cancelled_timestamp, given_up.entry);
    } else {
      const bool ends = given_up.operation == queue_operation::complete;
      const std::uint64_t value = ends ? ++completed_ : given_up.value;
      logs::record_signal(value, ends ? progress_.id : given_up.fence, cancelled_timestamp, given_up.entry);
    }
  }

  // ---- wiring: before the first signal ------------------------------------------------------------------------------

  /// Returns the notifier, which the queue calls in the executor's thread.
  Notifier& notifier() noexcept { return notifier_; }
  /// Changes the number by which logs know the progress fence. basic_hub::attach() does so. No other thread may call
  /// progress() meanwhile.
  void name_progress(fence_id id) noexcept { progress_.id = id; }

 private:
  friend detail::queue_access;

  using logs::recorder_;
  static constexpr bool can_be_poisoned = requires(Progress& progress) { progress.poison(); };
  /// What a timeline shows that is lost.
  static constexpr std::uint64_t lost_value = UINT64_MAX;

  /// A serial that is given to a piece of work. It is taken back if the work does not become visible.
  struct submission {
    submission(basic_queue& to, std::uint64_t given) noexcept : queue{to}, serial{given} {
      queue.set_last_queued(serial);
    }
    submission(const submission&) = delete;
    submission& operator=(const submission&) = delete;
    ~submission() {
      if (!is_visible) queue.set_last_queued(serial - 1);
    }
    basic_queue& queue;
    std::uint64_t serial;
    bool is_visible = false;
  };

  void set_last_queued(std::uint64_t serial) noexcept {
    // (Q11): relaxed alone: it comes before the work, and whatever makes the work visible makes this visible.
    last_queued_.store(serial, std::memory_order_relaxed);
  }

  bool is_aborted() const noexcept {
    // (Q9): acquire, pairs with (Q14): what happened before abort() is visible to a thread that learns of it here.
    return is_aborted_.load(std::memory_order_acquire) != 0;
  }

  template <class... Limits>
  wait_status wait_within(std::uint64_t serial, const Limits&... limits) const noexcept {
    return detail::within<platform>(
        [&](deadline until, const auto& token) { return wait_for_progress(serial, until, token); }, limits...);
  }
  template <class Token>
  wait_status wait_for_progress(std::uint64_t serial, deadline until, const Token& token) const noexcept {
    if constexpr (can_be_poisoned) {
      return detail::wait_or_look(*progress_.fence, serial, until, token);
    } else {
      // Nothing but this loop notices that the queue is aborted.
      if (until == detail::at_once) until = deadline{};
      for (;;) {
        const bool ends = is_aborted() || token.stop_requested();
        const deadline limit = ends ? deadline{} : detail::look_again_before(until, platform::now());
        const wait_status status = progress_.fence->wait_until(serial, limit);
        if (status != wait_status::timeout) return status;
        if (is_aborted()) return wait_status::lost;
        if (token.stop_requested()) return wait_status::stopped;
        if (limit == until) return wait_status::timeout;
      }
    }
  }

  /// Waits, and writes the entry by `record(observed)`: when the wait was seen to stall, or 0.
  template <class Timeline, class Record, class... Limits>
  wait_status get_past(const logged_fence<Timeline>& input, std::uint64_t value, const Record& record,
                       const Limits&... limits) noexcept {
    const auto stall = [&](std::uint64_t observed) { tell_stall(input.id, value, observed); };
    const detail::ended_wait ended = detail::get_past<Clock>(*input.fence, value, stall, limits...);
    if (ended.status == wait_status::reached) record(ended.observed);
    return ended.status;
  }
  template <class Timeline, class... Entry>
  auto ending(const logged_fence<Timeline>& input, std::uint64_t value, const Entry&... entry) noexcept {
    return [this, id = input.id, value, &entry...](std::uint64_t observed) { end_wait(id, value, observed, entry...); };
  }

  void tell_stall(fence_id input, std::uint64_t value, std::uint64_t observed) noexcept {
    record_verbose(verbose_events::stalls,
                   [&] { return fence_log_entry{value, input, fence_operation::wait_stalled, 0, observed, 0, 0}; });
  }

  /// Signals. Calls `before_user_code()` before it runs code of the user. Code of the recorder and of the clock does
  /// not count. `entry` may be the reserved one.
  template <class Fence, class... Entry>
  bool signal_telling(const logged_fence<Fence>& output, std::uint64_t value, const auto& before_user_code,
                      const Entry&... entry) noexcept {
    return signal_by(notifier_, output, value, before_user_code, entry...);
  }
  template <class Fence, class... Entry>
  bool signal_by(auto& notifier, const logged_fence<Fence>& output, std::uint64_t value, const auto& before_user_code,
                 const Entry&... entry) noexcept {
    const auto record = [&] { logs::record_signal(value, output.id, Clock::now(), entry...); };
    if constexpr (!detail::is_own_fence<Fence>) before_user_code();
    if constexpr (notified_fence<Fence>) {
      const bool raised = output.fence->publish(value);
      record();
      if (raised && output.fence->is_due(value)) [[unlikely]]
        notify(notifier, output, value, before_user_code);
      return raised;
    } else {
      record();
      if constexpr (requires {
                      { output.fence->signal(value) } -> std::same_as<bool>;
                    }) {
        return output.fence->signal(value);
      } else {
        output.fence->signal(value);
        return true;
      }
    }
  }

  template <class... Entry>
  std::uint64_t complete_telling(const auto& before_user_code, const Entry&... entry) noexcept {
    const std::uint64_t serial = ++completed_;
    signal_telling(progress_, serial, before_user_code, entry...);
    return serial;
  }

  /// Returns whether these may be the commands that come next, up to the end of the work `last`.
  bool are_next(std::span<const cancelled_command> commands, std::uint64_t last) noexcept {
    std::uint64_t ends = 0;
    std::array<std::uint64_t, 2> turns{};
    if constexpr (has_logs) turns = recorder_.next_turns();
    for (const cancelled_command& one : commands) {
      ends += one.operation == queue_operation::complete ? 1 : 0;
      std::uint64_t& turn = turns[one.operation == queue_operation::wait ? 0 : 1];
      if (one.entry && one.entry.turn != turn++) return false;
    }
    return ends <= last - completed_;
  }

  template <class Entry>
  void record_verbose(verbose_events event, const Entry& entry) noexcept {
    if constexpr (has_logs) recorder_.record_verbose(event, entry);
  }

  template <class Fence>
  void notify(auto& notifier, const logged_fence<Fence>& output, std::uint64_t value,
              const auto& before_user_code) noexcept {
    record_verbose(verbose_events::notifications, [&] {
      return fence_log_entry{value, output.id, fence_operation::signal_notified, 0, 0, 0, Clock::now()};
    });
    detail::notify_telling(notifier, output, before_user_code);
  }

  logged_fence<Progress> progress_;
  [[no_unique_address]] Notifier notifier_;
  std::uint64_t completed_ = progress_.fence->current_value();  // the executor's
  typename platform::template atomic<std::uint64_t> last_queued_;
  typename platform::template atomic<std::uint32_t> is_aborted_;
};

using queue = basic_queue<>;

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_QUEUE_HPP
