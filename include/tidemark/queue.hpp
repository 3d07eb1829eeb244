// SPDX-License-Identifier: BSL-1.0
//
// queue: the timeline of an in-order executor. It gets past waits, executes signals, logs both, and says by its
// progress fence how many submissions are finished.
//
//   submitter (one at a time)           executor (one thread, in order)                       owner
//   serial = queue.submit(publish)      queue.wait(input, 3);  ... work ...                   wait_log(), signal_log()
//                                       queue.signal(output, 4);  queue.complete();           enable_tracing(), set_log()
//
// What a signal does, in this order (A95, A106, A107):
//
//   1. the value is stored        a thread that sees it sees the work that came before
//   2. the entry is logged        a thread that is notified finds it in the log (A96)
//   3. one StoreLoad barrier, then the monitored value is looked at; if a waiter is due, the notifier is called
//
// So a signal costs what it costs without a log and one entry more: in the asymmetric form no fence instruction.
//
// A signal that nobody waits for wakes nobody, but it stands in the log (A79). Each queue has two logs of one page, for
// the waits it got past and for the signals it executed (A84). Both overwrite: a queue never waits for its readers (A97,
// A102). A third, verbose one is there when a tool asks for it (A119).
//
// Serials: submit() stores the serial as last queued before the work becomes visible (A122), in the order of
// submission, so "serial n is finished" implies all before it (trap 13). Serial n is finished when the progress fence
// reaches n.
//
// Not promised: any order between entries of different queues; that a log reader sees an entry the moment after.
#ifndef TIDEMARK_QUEUE_HPP
#define TIDEMARK_QUEUE_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "detail/queue_log.hpp"
#include "fence.hpp"
#include "fence_log.hpp"

namespace tidemark {

/// A fence and the number by which logs and hubs know it.
template <class Fence>
struct logged_fence {
  Fence* fence;
  std::uint32_t id;
};
template <class Fence>
logged_fence(Fence*, std::uint32_t) -> logged_fence<Fence>;

/// The notifier of a queue without a hub: whoever signals releases the waiters.
struct self_service {
  template <class Fence>
  void operator()(const logged_fence<Fence>& due) const noexcept {
    due.fence->release_due();
  }
};

/// The recorder of a queue whose operations are known without a log, such as one that the caller itself steps (A83):
/// each is told to `sink` at once. Nothing is allocated.
/// \tparam Sink  on_wait(entry) and on_signal(entry), called by the executor. They must not throw: wait() and signal() are
///               noexcept, so an exception ends the program
template <class Sink>
class direct_recorder {
 public:
  explicit direct_recorder(Sink& sink) noexcept : sink_{&sink} {}
  void record_wait(const fence_log_entry& entry) noexcept { sink_->on_wait(entry); }
  void record_signal(const fence_log_entry& entry) noexcept { sink_->on_signal(entry); }

 private:
  Sink* sink_;
};

/// The recorder of other queues: two logs, which can't be left out (A118).
template <class Platform>
class log_recorder {
 public:
  /// 4 KiB each (A84).
  static constexpr std::size_t default_entries = 84;

  explicit log_recorder(std::size_t entries = default_entries)
      : waits_{fence_log_type::waits, entries}, signals_{fence_log_type::signals, entries} {}

  void record_wait(const fence_log_entry& entry) noexcept { waits_.append(entry); }
  void record_signal(const fence_log_entry& entry) noexcept { signals_.append(entry); }
  /// `entry()` is asked for if a tool wants that event.
  template <class Entry>
  void record_verbose(verbose_events event, const Entry& entry) noexcept {
    // (Q16): acquire, pairs with (Q17): the log is there as it was made.
    const std::uint32_t wanted = wanted_.load(std::memory_order_acquire);
    if ((wanted & static_cast<std::uint32_t>(event)) != 0) verbose_.load()->append(entry());
  }

  /// By the owner. The verbose log only after enable_verbose(), which is asserted; it is empty otherwise.
  basic_queue_log<Platform>& log(fence_log_type type) {
    if (type == fence_log_type::waits) return waits_;
    if (type == fence_log_type::signals) return signals_;
    TIDEMARK_ASSERT(own_verbose_, "the verbose log of a queue was never enabled");
    if (!own_verbose_) make_verbose(default_entries);
    return *own_verbose_;
  }

  /// By the owner. The log stays when the events are turned off.
  void enable_verbose(verbose_events events, std::size_t entries) {
    if (events != verbose_events::none) {
      if (own_verbose_) {
        own_verbose_->replace(entries);
      } else {
        make_verbose(entries);
      }
    }
    // (Q17): release, pairs with (Q16).
    wanted_.store(static_cast<std::uint32_t>(events), std::memory_order_release);
  }

 private:
  void make_verbose(std::size_t entries) {
    own_verbose_ = std::make_unique<basic_queue_log<Platform>>(fence_log_type::verbose, entries);
    verbose_.store(own_verbose_.get());
  }

  basic_queue_log<Platform> waits_;
  alignas(cache_line) basic_queue_log<Platform> signals_;
  std::unique_ptr<basic_queue_log<Platform>> own_verbose_;  // the owner's
  typename Platform::template var<basic_queue_log<Platform>*> verbose_;
  typename Platform::template atomic<std::uint32_t> wanted_;  // bits of verbose_events
};

/// \tparam Platform  of the progress fence and the logs
/// \tparam Clock     for the time stamps; see fence_log.hpp
/// \tparam Notifier  called with a logged fence that has a waiter due; must not throw; self_service, or a hub's (hub.hpp)
/// \tparam Recorder  log_recorder, or direct_recorder
template <class Platform = native_platform, class Clock = default_log_clock, class Notifier = self_service,
          class Recorder = log_recorder<Platform>>
class basic_queue {
 public:
  using platform = Platform;
  using progress_type = basic_progress_fence<Platform>;
  using reader_type = queue_log_reader<Platform>;
  static constexpr bool has_logs = requires(Recorder & made) { made.log(fence_log_type::waits); };

  /// \param progress  a fence of its own, which exists already and outlives the queue (A54); its value is the serial of
  ///                  the last piece of work that is finished
  /// \param recorder  what the recorder is made from; for logs, how many entries each has: 2 to 2^31 - 1, other numbers
  ///                  are asserted and taken for the nearest of these
  template <class... Arguments>
  explicit basic_queue(logged_fence<progress_type> progress, Notifier notifier = {}, Arguments&&... recorder)
      : progress_{progress},
        notifier_{std::move(notifier)},
        recorder_(std::forward<Arguments>(recorder)...),
        last_queued_{progress.fence->current_value()},
        is_aborted_{0} {}

  // ---- submitting: one thread at a time -----------------------------------------------------------------------------

  /// Gives the next serial to a piece of work and makes the work visible to the executor, in this order, by calling
  /// `make_visible(serial)`. Returns the serial, or 0 without a call once the queue is aborted. What `make_visible` throws
  /// goes through; it must not have made the work visible then, and the next submission gets the serial. (A122, trap 13)
  template <class MakeVisible>
  [[nodiscard]] std::uint64_t submit(MakeVisible&& make_visible) {
    // (Q9): acquire, for (Q14): what was done before abort() is visible to a submitter that is refused.
    if (is_aborted_.load(std::memory_order_acquire) != 0) return 0;
    // (Q10): relaxed alone: only the submitter writes it.
    const std::uint64_t serial = last_queued_.load(std::memory_order_relaxed) + 1;
    submission made{*this, serial};
    std::forward<MakeVisible>(make_visible)(serial);
    made.is_visible = true;
    // (Q12): relaxed alone, as (Q10).
    TIDEMARK_ASSERT(last_queued_.load(std::memory_order_relaxed) == serial, "two threads submit to a queue at once");
    return serial;
  }

  // ---- what was submitted and what is finished: any thread ----------------------------------------------------------

  /// Returns the serial of the last piece of work that was submitted. Progress: wait-free.
  [[nodiscard]] std::uint64_t last_queued() const noexcept {
    // (Q13): relaxed alone, see (Q11).
    return last_queued_.load(std::memory_order_relaxed);
  }

  /// Returns whether all that was submitted is finished; never true while work is visible that is not, and never true
  /// once the queue is aborted, since its work is not finished but given up (A122). Progress: wait-free.
  [[nodiscard]] bool is_idle() const noexcept {
    // The progress first: what is submitted after that look makes the last serial too large, not too small.
    const std::uint64_t finished = progress_.fence->current_value();
    return finished >= last_queued() && !progress_.fence->is_poisoned();
  }

  /// Returns true if the work of this serial is finished, and then what it did is visible; or if the queue was aborted,
  /// for every serial, since nobody need wait for it any more. wait_finished() tells the two apart. Progress: wait-free.
  [[nodiscard]] bool is_finished(std::uint64_t serial) const noexcept { return progress_.fence->is_reached(serial); }

  /// Blocks until the work of this serial is finished. Returns `reached`, or `lost` where the queue was aborted before.
  [[nodiscard]] wait_status wait_finished(std::uint64_t serial) const noexcept { return progress_.fence->wait(serial); }

  /// Blocks until all that was submitted before the call is finished: the way to end a queue. Returns `reached`, or `lost`
  /// where the queue was aborted before.
  [[nodiscard]] wait_status drain() const noexcept { return wait_finished(last_queued()); }

  /// The other way to end a queue: refuses further work and releases all threads that wait for progress, with `lost`. The
  /// executor must be stopped by other means; what it does meanwhile is still logged. Any thread, any number of times.
  void abort() noexcept {
    // (Q14): release, pairs with (Q9).
    is_aborted_.store(1, std::memory_order_release);
    progress_.fence->poison();
  }

  // ---- executing: one thread, in order ------------------------------------------------------------------------------

  /// Gets past a wait: blocks until the fence has reached `value`, then logs it. Returns as the fence's wait does: `reached`
  /// or `lost`. A wait that ends otherwise than with `reached` is not logged. (A86, A87, A91)
  template <class Fence>
  [[nodiscard]] wait_status wait(const logged_fence<Fence>& input, std::uint64_t value) noexcept {
    const auto may_stall = [] { return true; };
    return get_past(input, value, may_stall, [&] { return input.fence->wait(value); });
  }

  /// The same, or until `token` is triggered: `stopped`.
  template <class Fence, stop_token_like Token>
  [[nodiscard]] wait_status wait(const logged_fence<Fence>& input, std::uint64_t value, Token token) noexcept {
    const auto may_stall = [&] { return !token.stop_requested(); };
    return get_past(input, value, may_stall, [&] { return input.fence->wait(value, std::move(token)); });
  }

  /// The same for `timeout` at most: `timeout`. Zero or less looks once and does not block.
  template <class Fence, class Rep, class Period, stop_token_like... Token>
  [[nodiscard]] wait_status wait_for(const logged_fence<Fence>& input, std::uint64_t value,
                                     const std::chrono::duration<Rep, Period>& timeout, Token... token) noexcept {
    static_assert(sizeof...(Token) <= 1, "a wait has one stop token");
    const auto may_stall = [&] { return timeout > timeout.zero() && !(token.stop_requested() || ...); };
    return get_past(input, value, may_stall,
                    [&] { return input.fence->wait_for(value, timeout, std::move(token)...); });
  }

  /// The same until a point of the steady or the system clock at most: `timeout`. A point in the past looks once.
  template <class Fence, class TimeClock, class Duration, stop_token_like... Token>
  [[nodiscard]] wait_status wait_until(const logged_fence<Fence>& input, std::uint64_t value,
                                       const std::chrono::time_point<TimeClock, Duration>& at,
                                       Token... token) noexcept {
    static_assert(sizeof...(Token) <= 1, "a wait has one stop token");
    const auto may_stall = [&] { return at > TimeClock::now() && !(token.stop_requested() || ...); };
    return get_past(input, value, may_stall, [&] { return input.fence->wait_until(value, at, std::move(token)...); });
  }

  /// Signals a fence: value, entry, notification. Returns whether the value rose: for a fence that several threads signal
  /// false where it had come so far already, for a progress fence always true. The entry is written in both cases.
  /// Progress: as the fence's signal(), and one append. (A86, A87, A95)
  template <class Fence>
  bool signal(const logged_fence<Fence>& output, std::uint64_t value) noexcept {
    const bool raised = output.fence->publish(value);
    recorder_.record_signal({value, output.id, fence_operation::signal_executed, 0, 0, 0, Clock::now()});
    if (raised && output.fence->is_due(value)) [[unlikely]]
      notify(output, value);
    return raised;
  }

  /// The last command of a piece of work: signals the progress fence. Returns the serial that it reached (A54). Once for
  /// each submit(); a queue whose work comes without submit() counts what is finished.
  std::uint64_t complete() noexcept {
    const std::uint64_t serial = ++completed_;
    signal(progress_, serial);
    return serial;
  }

  /// For what the notifier has to know before the first signal.
  Notifier& notifier() noexcept { return notifier_; }

  // ---- the logs: the queue's owner, one thread at a time ------------------------------------------------------------

  /// Returns a new reader of one log, which begins with the oldest entry of the log that the queue writes now. Readers
  /// may go to other threads, and outlive the queue.
  [[nodiscard]] reader_type wait_log() requires(has_logs) { return recorder_.log(fence_log_type::waits).reader(); }
  [[nodiscard]] reader_type signal_log() requires(has_logs) { return recorder_.log(fence_log_type::signals).reader(); }

  /// From its next entry on the executor writes to a new log of so many entries, 2 to 2^31 - 1, or in this memory: aligned
  /// to 8 bytes, large enough for 2 entries, of no other log, and outliving the queue and its readers. Readers read the old
  /// log to its end first; numbers go on. Returns false where the number or the memory is none of these: that is asserted
  /// here, not in the executor, and the old log goes on. (A92)
  bool set_log(fence_log_type type, std::size_t entries) requires(has_logs) {
    return recorder_.log(type).replace(entries);
  }
  bool set_log(fence_log_type type, std::span<std::byte> memory) requires(has_logs) {
    return recorder_.log(type).replace(memory);
  }

  /// Call it before a tool begins to read: makes the logs so large that it need not hurry. Growing them when entries
  /// were lost would be too late. (A101, trap 20)
  void enable_tracing(std::size_t entries = 4096) requires(has_logs) {
    set_log(fence_log_type::waits, entries);
    set_log(fence_log_type::signals, entries);
  }

  /// Turns on what no tool needs all the time, in a third log, or off with `none`: waits that begin to stall, so that one
  /// sees what a queue hangs in; signals that found a waiter due. Costs nothing while it is off, and nothing where
  /// nobody stalls or is due. (A119)
  void enable_verbose(verbose_events events, std::size_t entries = Recorder::default_entries) requires(has_logs) {
    recorder_.enable_verbose(events, entries);
  }
  /// Returns a reader of that log, which must have been enabled before, and may be off again. Where it never was, which is
  /// asserted, the log is empty.
  [[nodiscard]] reader_type verbose_log() requires(has_logs) { return recorder_.log(fence_log_type::verbose).reader(); }

  /// Makes all entries that the executor had appended before visible to this thread. Needed only by readers that are not
  /// otherwise synchronized with the executor. On a symmetric platform it does nothing: there entries become visible by
  /// themselves, soon. (A109)
  static void flush_logs() noexcept {
    // (Q15): on the executor's thread the effect of (G2) behind its last (L5), which (L6) of this thread then finds.
    Platform::heavy_barrier();
  }

 private:
  /// A serial that is given away. If the work does not become visible, it is taken back.
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
    // (Q11): relaxed alone: comes before the work, and whatever makes the work visible makes this visible.
    last_queued_.store(serial, std::memory_order_relaxed);
  }

  /// Looks whether the fence has reached `value`; if not, notes the time and calls `wait`.
  template <class Fence, class MayStall, class Wait>
  wait_status get_past(const logged_fence<Fence>& input, std::uint64_t value, const MayStall& may_stall,
                       const Wait& wait) noexcept {
    std::uint64_t observed = 0;
    wait_status status = input.fence->wait_for(value, std::chrono::nanoseconds{0});
    if (status == wait_status::timeout) {
      observed = Clock::now();
      if (may_stall()) {
        record_verbose(verbose_events::stalls, [&] {
          return fence_log_entry{value, input.id, fence_operation::wait_stalled, 0, observed, 0, 0};
        });
      }
      status = wait();
    }
    if (status == wait_status::reached) {
      recorder_.record_wait({value, input.id, fence_operation::wait_unblocked, 0, observed, 0, Clock::now()});
    }
    return status;
  }

  template <class Entry>
  void record_verbose(verbose_events event, const Entry& entry) noexcept {
    if constexpr (has_logs) recorder_.record_verbose(event, entry);
  }

  template <class Fence>
  void notify(const logged_fence<Fence>& output, std::uint64_t value) noexcept {
    record_verbose(verbose_events::notifications, [&] {
      return fence_log_entry{value, output.id, fence_operation::signal_notified, 0, 0, 0, Clock::now()};
    });
    notifier_(output);
  }

  logged_fence<progress_type> progress_;
  [[no_unique_address]] Notifier notifier_;
  Recorder recorder_;
  std::uint64_t completed_ = progress_.fence->current_value();  // the executor's
  typename Platform::template atomic<std::uint64_t> last_queued_;
  typename Platform::template atomic<std::uint32_t> is_aborted_;
};

using queue = basic_queue<>;

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_HPP
