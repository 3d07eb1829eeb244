// SPDX-License-Identifier: BSL-1.0
//
// thread_recorder: the waits and signals of one thread, in the same picture as those of queues. A thread records only
// what it does through its recorder, so a fence that is used without one has not one instruction more.
//
//   tidemark::thread_recorder decoder{tidemark::queue_id{7}, "decoder"};     one for each thread
//   decoder.wait(tidemark::logged_fence{&loaded, loaded_id}, 3);             in place of loaded.wait(3)
//   decoder.signal(tidemark::logged_fence{&decoded, decoded_id}, 3);         in place of decoded.signal(3)
//   collector.add(decoder);                                                  as a queue, with the recorder's number
//
// To a trace the thread is a queue with that number: its waits were queued when they began, and a wait that stalled is
// a box until its end. A wait that ended without its value (timeout, stopped, lost) counts as cancelled. A signal
// counts as queued when will_signal() announced it, otherwise when it is made.
//
// why_waiting() (engine/thread_hangs.hpp) knows what a recorded thread waits for, and which signals it has announced,
// so it finds circles of threads and queues. What a thread does not announce counts as from outside.
//
//   unrecorded_thread   has the same functions, and does nothing but what they are for. A program that takes its
//                       recorders by an alias or a template parameter pays nothing where it does not record.
//
// Who calls what: the thread calls wait(), signal(), will_signal() and will_not_signal(), and the collector reads the
// logs. Any thread may ask why_waiting(). A lock protects what it asks for. The thread takes it only for a wait that
// sleeps, and for announced signals.
//
// Not promised: an order between entries of different threads; their times say it.
#ifndef TIDEMARK_QUEUE_THREAD_RECORDER_HPP
#define TIDEMARK_QUEUE_THREAD_RECORDER_HPP

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../fence/awaited.hpp"
#include "../fence/timeline.hpp"
#include "../fence/wait.hpp"
#include "../log/fence_log.hpp"
#include "../log/ids.hpp"
#include "../log/log_clock.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/park_lock.hpp"
#include "notifier.hpp"
#include "queue.hpp"
#include "queue_log.hpp"
#include "queued_events.hpp"
#include "recorder.hpp"

namespace tidemark {

namespace detail {

struct thread_access;

}  // namespace detail

/// A recorded thread as why_waiting() knows it: its name, what it waits for, and which signals it has announced.
template <platform Platform>
class basic_recorded_thread {
 public:
  using platform = Platform;

  basic_recorded_thread(const basic_recorded_thread&) = delete;
  basic_recorded_thread& operator=(const basic_recorded_thread&) = delete;

  /// Returns the number and the name of the thread. Any thread. Progress: wait-free.
  [[nodiscard]] queue_id id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 protected:
  basic_recorded_thread(queue_id id, std::string_view name) : id_{id}, name_{name} {}
  ~basic_recorded_thread() = default;

  // For the thread. Those that change something take the lock.

  template <class Timeline>
  void fall_asleep(const logged_fence<Timeline>& input, std::uint64_t value) noexcept {
    const detail::lock_keeper kept(lock_);
    sleeping_.timeline.store(input.fence);
    sleeping_.name.store(detail::name_of_timeline(*input.fence));
    sleeping_.value_of.store([](const void* at) { return static_cast<const Timeline*>(at)->current_value(); });
    sleeping_.id.store(input.id);
    sleeping_.value.store(value);
  }
  /// Before the caller may destroy the timeline: whoever looks at it has the lock.
  void wake_up() noexcept {
    const detail::lock_keeper kept(lock_);
    sleeping_.timeline.store(nullptr);
  }
  template <class Fence>
  void announce(const logged_fence<Fence>& output, std::uint64_t value) {
    const detail::lock_keeper kept(lock_);
    announced_.push_back({name_of(output), output.id, value});
  }
  /// Returns the name under which a signal of this timeline is announced. It outlives the timeline.
  template <class Fence>
  static const void* name_of(const logged_fence<Fence>& output) noexcept {
    return detail::name_of_timeline(*output.fence);
  }
  /// The thread alone changes the announced ones, so it looks at them without the lock.
  bool is_announced(const void* name, std::uint64_t value) const noexcept {
    return find(announced_, name, value) != announced_.end();
  }
  void take_back(const void* name, std::uint64_t value) noexcept {
    const auto found = find(announced_, name, value);
    if (found == announced_.end()) return;
    const detail::lock_keeper kept(lock_);
    announced_.erase(found);
  }

 private:
  friend detail::thread_access;

  struct announced_signal {
    const void* name;  // of the timeline, in reports
    fence_id id;
    std::uint64_t value;
  };
  /// The wait in which the thread sleeps. The timeline is there as long as this is set. The words are the platform's,
  /// so that a model checker sees who touches them.
  struct sleeping_wait {
    typename Platform::template var<const void*> timeline{nullptr};  // null: none
    typename Platform::template var<const void*> name{nullptr};      // in reports
    typename Platform::template var<std::uint64_t (*)(const void*)> value_of{nullptr};
    typename Platform::template var<fence_id> id{fence_id{}};
    typename Platform::template var<std::uint64_t> value{0};
  };

  template <class Signals>
  static auto find(Signals& in, const void* name, std::uint64_t value) noexcept {
    return std::find_if(in.begin(), in.end(),
                        [&](const announced_signal& one) { return one.name == name && one.value == value; });
  }

  const queue_id id_;
  const std::string name_;
  detail::park_lock<Platform> lock_;
  sleeping_wait sleeping_;
  std::vector<announced_signal> announced_;
};

namespace detail {

/// Lets a report look at a thread.
struct thread_access {
  static auto& lock_of(auto& of) noexcept { return of.lock_; }
  /// Calls `wait(name, id, value, current value)` if the thread sleeps in a wait, and then `signal(name, id, value)`
  /// for each announced signal. The name is that of the timeline in reports. With the lock.
  static void look_at(auto& of, const auto& wait, const auto& signal) {
    if (const void* const timeline = of.sleeping_.timeline.load()) {
      const fence_id id = of.sleeping_.id.load();
      const std::uint64_t value = of.sleeping_.value.load();
      const auto value_of = of.sleeping_.value_of.load();
      wait(of.sleeping_.name.load(), id, value, value_of(timeline));
    }
    for (const auto& each : of.announced_) signal(each.name, each.id, each.value);
  }
};

/// Signals a timeline as a thread does, and calls `record()` between the value and the notification where the timeline
/// allows that, otherwise before the signal.
template <class Fence, class Record>
bool signal_recording(const logged_fence<Fence>& output, std::uint64_t value, const Record& record) noexcept {
  if constexpr (notified_fence<Fence>) {
    const bool raised = output.fence->publish(value);
    record();
    if (raised && output.fence->is_due(value)) [[unlikely]]
      self_service{}(output);
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

}  // namespace detail

/// Records one thread; see the head of this file. It can be neither copied nor moved.
/// \tparam Clock  stamps the entries
template <platform Platform = native_platform, log_clock Clock = default_log_clock>
class basic_thread_recorder : public basic_recorded_thread<Platform> {
  using base = basic_recorded_thread<Platform>;

 public:
  using clock_type = Clock;
  using reader_type = queue_log_reader<Platform>;
  /// Whether waits and signals are recorded.
  static constexpr bool is_recording = true;

  /// Allocates, and throws what the allocation throws.
  /// \param id       the number by which collectors and traces know the thread, other than that of any queue
  /// \param name     of the thread, for reports
  /// \param entries  how many waits, and how many signals, are kept: 2 to 2^31 - 1. Asserts that; otherwise it takes
  ///                 the nearest of these
  explicit basic_thread_recorder(queue_id id, std::string_view name = {}, std::size_t entries = 1024)
      : base{id, name}, logs_{entries}, queued_{entries <= most_entries ? 2 * entries : entries} {}

  // ---- the thread ---------------------------------------------------------------------------------------------------

  /// Waits until the timeline has reached `value`, or until `token` is triggered, and records the wait. Returns as the
  /// timeline's own wait does: `reached`, `stopped` or `lost`. The timeline's functions must not throw. Blocking.
  template <timeline Timeline, stop_token_like Token = never_stops>
  wait_status wait(const logged_fence<Timeline>& input, std::uint64_t value, Token token = {}) noexcept {
    return wait_within(input, value, std::move(token));
  }
  /// The same, but waits for the duration `timeout` at most, and returns the status `timeout` then.
  template <timeline Timeline, class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(const logged_fence<Timeline>& input, std::uint64_t value,
                       const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return wait_within(input, value, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <timeline Timeline, class TimeClock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_until(const logged_fence<Timeline>& input, std::uint64_t value,
                         const std::chrono::time_point<TimeClock, Duration>& at, Token token = {}) noexcept {
    return wait_within(input, value, at, std::move(token));
  }

  /// The two steps of a wait that the thread makes in another way, such as a read from a pipe whose other end is
  /// another process. begin_wait() returns the time, which end_wait() takes when the value is there. Each begin needs
  /// its end, which is not checked. Reports do not know of such a wait. Progress: one or two readings of the clock and
  /// one append.
  std::uint64_t begin_wait(fence_id input, std::uint64_t value) noexcept {
    queued_.wait_queued(input, value);
    return Clock::now();
  }
  void end_wait(fence_id input, std::uint64_t value, std::uint64_t begun) noexcept {
    logs_.record_wait({value, input, fence_operation::wait_unblocked, 0, begun, 0, Clock::now()});
  }

  /// Signals the timeline, and records the signal. Returns whether the value rose, as publish() of the fence or
  /// signal() of the timeline says; always true where that returns no bool. Progress: as the timeline's signal(), and
  /// two appends; takes the lock if this one was announced.
  template <class Fence>
    requires notified_fence<Fence> || signalled_timeline<Fence>
  bool signal(const logged_fence<Fence>& output, std::uint64_t value) noexcept {
    const void* const name = base::name_of(output);
    const bool was_announced = base::is_announced(name, value);
    if (!was_announced) queued_.signal_queued(output.id, value);
    const bool has_risen = detail::signal_recording(output, value, [&] {
      logs_.record_signal({value, output.id, fence_operation::signal_executed, 0, 0, 0, Clock::now()});
    });
    // Not before: a report would find neither the value nor who signals it. The timeline may be gone.
    if (was_announced) base::take_back(name, value);
    return has_risen;
  }

  /// Announces that this thread will signal the value, after what it waits for then and after what it has announced
  /// before. So a report can say that others wait for this thread. The signal of that value ends the announcement, and
  /// so does will_not_signal(); otherwise it stays. The timeline must outlive it. Allocates, and throws what the
  /// allocation throws; then nothing is announced. Progress: takes the lock.
  template <class Fence>
  void will_signal(const logged_fence<Fence>& output, std::uint64_t value) {
    base::announce(output, value);
    queued_.signal_queued(output.id, value);
  }

  /// Takes back what was announced, and records the signal as cancelled. Does nothing if the value is not announced.
  /// Progress: one append; takes the lock if the value was announced.
  template <class Fence>
  void will_not_signal(const logged_fence<Fence>& output, std::uint64_t value) noexcept {
    const void* const name = base::name_of(output);
    if (!base::is_announced(name, value)) return;
    base::take_back(name, value);
    logs_.record_signal({value, output.id, fence_operation::signal_executed, 0, 0, 0, cancelled_timestamp});
  }

  // ---- collectors: any thread ---------------------------------------------------------------------------------------

  /// Return readers of the waits that ended, and of the signals that were made, which begin with the oldest entry. They
  /// may outlive this object. One thread at a time may call these, and queued().
  [[nodiscard]] reader_type wait_log() { return logs_.log(fence_log_type::wait).reader(); }
  [[nodiscard]] reader_type signal_log() { return logs_.log(fence_log_type::signal).reader(); }
  /// Returns what was queued, for a collector, which this object must outlive.
  [[nodiscard]] const basic_queued_events<Platform, Clock>& queued() const noexcept { return queued_; }

 private:
  static constexpr std::size_t most_entries = (std::size_t{1} << 30) - 1;

  template <class Timeline, class... Limits>
  wait_status wait_within(const logged_fence<Timeline>& input, std::uint64_t value, const Limits&... limits) noexcept {
    queued_.wait_queued(input.id, value);
    bool sleeps = false;
    const auto sleep = [&](std::uint64_t) {
      sleeps = true;
      base::fall_asleep(input, value);
    };
    const detail::ended_wait ended = detail::get_past<Clock>(*input.fence, value, sleep, limits...);
    if (sleeps) base::wake_up();
    const bool reached = ended.status == wait_status::reached;
    logs_.record_wait({value, input.id, fence_operation::wait_unblocked, 0, reached ? ended.observed : 0, 0,
                       reached ? Clock::now() : cancelled_timestamp});
    return ended.status;
  }

  log_recorder<Platform> logs_;
  basic_queued_events<Platform, Clock> queued_;
};

using thread_recorder = basic_thread_recorder<>;

/// Has the functions of a thread_recorder that a thread calls, and records nothing: each does what the timeline's own
/// function does, with the same instructions. A program writes its threads for either type.
class unrecorded_thread {
 public:
  static constexpr bool is_recording = false;

  template <timeline Timeline, stop_token_like Token = never_stops>
  wait_status wait(const logged_fence<Timeline>& input, std::uint64_t value, Token token = {}) noexcept {
    if constexpr (requires { input.fence->wait(value, std::move(token)); }) {
      return input.fence->wait(value, std::move(token));
    } else {
      return wait_within(input, value, std::move(token));
    }
  }
  template <timeline Timeline, class Rep, class Period, stop_token_like Token = never_stops>
  wait_status wait_for(const logged_fence<Timeline>& input, std::uint64_t value,
                       const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    if constexpr (requires { input.fence->wait_for(value, timeout, std::move(token)); }) {
      return input.fence->wait_for(value, timeout, std::move(token));
    } else {
      return wait_within(input, value, timeout, std::move(token));
    }
  }
  template <timeline Timeline, class TimeClock, class Duration, stop_token_like Token = never_stops>
  wait_status wait_until(const logged_fence<Timeline>& input, std::uint64_t value,
                         const std::chrono::time_point<TimeClock, Duration>& at, Token token = {}) noexcept {
    if constexpr (requires { input.fence->wait_until(value, at, std::move(token)); }) {
      return input.fence->wait_until(value, at, std::move(token));
    } else {
      return wait_within(input, value, at, std::move(token));
    }
  }
  template <class Fence>
    requires notified_fence<Fence> || signalled_timeline<Fence>
  bool signal(const logged_fence<Fence>& output, std::uint64_t value) noexcept {
    if constexpr (requires {
                    { output.fence->signal(value) } -> std::same_as<bool>;
                  }) {
      return output.fence->signal(value);
    } else {
      output.fence->signal(value);
      return true;
    }
  }
  template <class Fence>
  void will_signal(const logged_fence<Fence>&, std::uint64_t) noexcept {}
  template <class Fence>
  void will_not_signal(const logged_fence<Fence>&, std::uint64_t) noexcept {}
  std::uint64_t begin_wait(fence_id, std::uint64_t) noexcept { return 0; }
  void end_wait(fence_id, std::uint64_t, std::uint64_t) noexcept {}

 private:
  template <class Timeline, class... Limits>
  static wait_status wait_within(const logged_fence<Timeline>& input, std::uint64_t value,
                                 const Limits&... limits) noexcept {
    return detail::within<timeline_platform<Timeline>>(
        [&](deadline until, const auto& token) { return detail::wait_or_look(*input.fence, value, until, token); },
        limits...);
  }
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_THREAD_RECORDER_HPP
