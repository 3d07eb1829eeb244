// SPDX-License-Identifier: BSL-1.0
//
// senders: waits on a loop as senders, in the shape of P2300, which is std::execution, and the loop as a scheduler.
//
//   auto uploading = when_reached(loop, uploaded, 3);             a sender: nothing happens yet
//   auto operation = uploading.connect(receiver);
//   operation.start();
//
// Then a thread that runs the loop calls one function of the receiver, once:
//
//   set_value()             the value is reached
//   set_error(wait_status)  `lost`: the timeline was poisoned before; `timeout`: the deadline passed before
//   set_stopped()           the receiver's stop token was triggered before, or the loop is destroyed
//
// `loop_scheduler(loop).schedule()` is a sender that completes soon, on such a thread.
//
// With std::execution, or where <stdexec/execution.hpp> is found, they use the names of that library, so that its
// algorithms take them, as in `when_reached(loop, uploaded, 3) | stdexec::then(draw)`. All translation units of a
// program must find the same. A receiver is one of that library, or a movable type that has these functions; if it can
// be stopped, it also has get_stop_token(), see stop_token_like.
//
// They are tested with receivers of our own. A test with stdexec is built where CMake finds that library, which no
// machine of ours has had yet; nor has std::execution been tried.
//
// An operation allocates nothing, because the wait lies in it. But a fence without a free slot may grow, and so may the
// loop's table of timelines (wait_loop.hpp). A sender may be copied, and connected any number of times. The timelines
// and the loop must outlive the operation, which must stay where it is. Asserts that it lives until it has completed. A
// function of the receiver may destroy the operation, and start others. If set_stopped() starts an operation while the
// loop is destroyed, this operation is stopped, too. So if each stop starts another one, the loop's destructor never
// returns. No other thread may be in start() while the loop is destroyed: start() may still use the loop when the
// operation has completed already. What a function throws comes out of the call that runs the loop. While the loop is
// destroyed, the thread that destroys it calls set_stopped(), and an exception of that ends the program.
#ifndef TIDEMARK_LOOP_SENDERS_HPP
#define TIDEMARK_LOOP_SENDERS_HPP

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../fence/awaited.hpp"
#include "../fence/wait.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"
#include "../platform/tools/user_call.hpp"
#include "detail/sender_vocabulary.hpp"
#include "tools/loop_operation.hpp"
#include "wait_loop.hpp"

namespace tidemark {

namespace detail {

/// What a sender waits for. Only a wait for any of several values tells the receiver which of them was reached.
enum class sender_waits : std::uint8_t { one, all, any };

/// When a sender's wait ends: a duration counts from the start of its operation.
struct sender_limit {
  template <class Rep, class Period>
  static constexpr sender_limit within(const std::chrono::duration<Rep, Period>& timeout) noexcept {
    return {.timeout = clamped_ticks(timeout)};
  }
  template <class Platform>
  deadline at_start() const noexcept {
    return timeout == (deadline::duration::max)() ? at : deadline_after(timeout, Platform::now());
  }

  deadline::duration timeout = (deadline::duration::max)();
  deadline at = no_deadline;
};

template <class Receiver>
using stop_token_for = std::remove_cvref_t<decltype(stop_token_of(std::declval<const Receiver&>()))>;

}  // namespace detail

/// A sender's operation that waits for values.
template <platform Platform, detail::sender_waits For, std::size_t Count, class Receiver>
class reached_operation
    : private detail::loop_waits<detail::core_of_loop<Platform>, Count, detail::stop_token_for<Receiver>> {
 public:
  using operation_state_concept = detail::operation_state_tag;

  /// Made by a sender's connect().
  reached_operation(basic_loop<Platform>& on, const auto& targets, detail::sender_limit limit, Receiver to)
      : base(detail::loop_access::core_of(on),
             For == detail::sender_waits::any ? detail::loop_needs::any : detail::loop_needs::all, &act, targets,
             detail::stop_token_of(to)),
        limit_{limit},
        receiver_(std::move(to)) {}
  /// Asserts that the operation has completed, if it was started.
  ~reached_operation() {
    TIDEMARK_ASSERT(this->phase == detail::call_phase::idle || this->phase == detail::call_phase::over,
                    "a sender's operation was destroyed before it has completed");
  }

  /// Begins to wait. Asserts that it is called once; a further call does nothing. The operation may complete on another
  /// thread before this returns. Progress: takes the loop's lock, see basic_callback. Any thread may call it.
  void start() & noexcept {
    TIDEMARK_ASSERT(this->phase == detail::call_phase::idle, "a sender's operation was started twice");
    if (this->phase != detail::call_phase::idle) return;
    this->end_at(limit_.template at_start<Platform>());
    this->listen();
    this->begin();
  }

 private:
  using core = detail::core_of_loop<Platform>;
  using base = detail::loop_waits<core, Count, detail::stop_token_for<Receiver>>;
  using operation = typename core::operation;
  using keeper = typename core::keeper;

  static void act(typename core::work& of, detail::loop_action what, keeper& kept) {
    auto& self = static_cast<reached_operation&>(static_cast<operation&>(of));
    self.phase = detail::call_phase::over;
    const typename keeper::without lock(kept);
    self.stop_listening();
    self.complete(what == detail::loop_action::run ? self.status : wait_status::stopped);
  }
  void complete(wait_status how) {
    switch (how) {
      case wait_status::reached:
        if constexpr (For == detail::sender_waits::any) {
          return detail::complete_with_value(receiver_, this->index);
        } else {
          return detail::complete_with_value(receiver_);
        }
      case wait_status::stopped:
        return detail::complete_stopped(receiver_);
      default:  // timeout, lost
        return detail::complete_with_error(receiver_, how);
    }
  }

  detail::sender_limit limit_;
  Receiver receiver_;
};

template <platform Platform>
class loop_scheduler;

/// A sender that completes when values are reached.
template <platform Platform, detail::sender_waits For, std::size_t Count>
class reached_sender {
 public:
  using sender_concept = detail::sender_tag;
  using completion_signatures =
      typename std::conditional_t<For == detail::sender_waits::any, detail::completes<wait_status, std::size_t>,
                                  detail::completes<wait_status>>::signatures;

  /// The same as `completion_signatures`, for libraries that ask in this way.
  template <class Self, class... Env>
  static consteval auto get_completion_signatures() noexcept {
    return completion_signatures();
  }

  /// Made by the functions below.
  reached_sender(basic_loop<Platform>& on, const std::array<basic_awaited<Platform>, Count>& those,
                 detail::sender_limit limit) noexcept
      : loop_{&on}, those_{those}, limit_{limit} {}

  /// Returns an operation that tells the receiver how the wait has ended, once it is started.
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver to) const {
    struct targets {
      const auto& operator[](std::size_t i) const noexcept { return detail::awaited_access::target_of(of[i]); }
      const std::array<basic_awaited<Platform>, Count>& of;
    };
    return reached_operation<Platform, For, Count, Receiver>(*loop_, targets{those_}, limit_, std::move(to));
  }
  /// Says that the sender completes on the loop.
  auto get_env() const noexcept { return detail::sender_attributes<loop_scheduler<Platform>>{loop_scheduler(*loop_)}; }

 private:
  basic_loop<Platform>* loop_;
  std::array<basic_awaited<Platform>, Count> those_;
  detail::sender_limit limit_;
};

/// A sender's operation that hands over to a loop.
template <platform Platform, class Receiver>
class schedule_operation : private detail::loop_work<Platform> {
 public:
  using operation_state_concept = detail::operation_state_tag;

  /// Made by a sender's connect().
  schedule_operation(basic_loop<Platform>& on, Receiver to)
      : detail::loop_work<Platform>(&act), loop_{on}, receiver_(std::move(to)) {}
  /// Asserts that the operation has completed, if it was started.
  ~schedule_operation() {
    TIDEMARK_ASSERT(this->phase == detail::call_phase::idle || this->phase == detail::call_phase::over,
                    "a sender's operation was destroyed before it has completed");
  }

  /// Lets the loop complete the operation soon. Asserts that it is called once; a further call does nothing. Progress:
  /// lock-free, except for a system call if the loop sleeps. Any thread may call it.
  void start() & noexcept {
    TIDEMARK_ASSERT(this->phase == detail::call_phase::idle, "a sender's operation was started twice");
    if (this->phase != detail::call_phase::idle) return;
    this->phase = detail::call_phase::waiting;
    detail::loop_access::core_of(loop_).post(*this);
  }

 private:
  using keeper = typename detail::loop_work<Platform>::keeper;

  static void act(detail::loop_work<Platform>& of, detail::loop_action what, keeper& kept) {
    auto& self = static_cast<schedule_operation&>(of);
    self.phase = detail::call_phase::over;
    const typename keeper::without lock(kept);
    if (what == detail::loop_action::drop || detail::stop_token_of(self.receiver_).stop_requested()) {
      detail::complete_stopped(self.receiver_);
    } else {
      detail::complete_with_value(self.receiver_);
    }
  }

  basic_loop<Platform>& loop_;
  Receiver receiver_;
};

/// A sender that completes soon, on a thread that runs the loop; with set_stopped() if the receiver's stop token was
/// triggered by then.
template <platform Platform>
class schedule_sender {
 public:
  using sender_concept = detail::sender_tag;
  using completion_signatures = typename detail::completes<void>::signatures;

  /// The same as `completion_signatures`, for libraries that ask in this way.
  template <class Self, class... Env>
  static consteval auto get_completion_signatures() noexcept {
    return completion_signatures();
  }

  /// Made by loop_scheduler::schedule().
  explicit schedule_sender(basic_loop<Platform>& on) noexcept : loop_{&on} {}

  /// Returns an operation that tells the receiver when it is on the loop, once it is started.
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver to) const {
    return schedule_operation<Platform, Receiver>(*loop_, std::move(to));
  }
  /// Says that the sender completes on the loop.
  auto get_env() const noexcept { return detail::sender_attributes<loop_scheduler<Platform>>{loop_scheduler(*loop_)}; }

 private:
  basic_loop<Platform>* loop_;
};

/// A loop as a scheduler. It is copyable, and the loop must outlive it.
template <platform Platform>
class loop_scheduler : public detail::scheduler_attributes {
 public:
  using scheduler_concept = detail::scheduler_tag;

  explicit loop_scheduler(basic_loop<Platform>& on) noexcept : loop_{&on} {}

  /// Returns a sender that completes on the loop.
  [[nodiscard]] auto schedule() const noexcept { return schedule_sender<Platform>(*loop_); }

  friend bool operator==(const loop_scheduler&, const loop_scheduler&) = default;

 private:
  basic_loop<Platform>* loop_;
};

namespace detail {

template <class Platform>
auto sender_of(basic_loop<Platform>& on, const basic_awaited<Platform>& one, sender_limit limit) noexcept {
  return reached_sender<Platform, sender_waits::one, 1>(on, std::array{one}, limit);
}

}  // namespace detail

/// Returns a sender that completes when the timeline has reached the target.
template <platform Platform, class Timeline>
[[nodiscard]] auto when_reached(basic_loop<Platform>& on, const Timeline& timeline, std::uint64_t target) noexcept
  requires(basic_loop<Platform>::template is_awaited<Timeline>)
{
  return detail::sender_of(on, basic_awaited<Platform>(timeline, target), {});
}
/// The same, but for the duration `timeout` at most from the start of the operation. It completes with set_error() and
/// `timeout` then.
template <platform Platform, class Timeline, class Rep, class Period>
[[nodiscard]] auto when_reached_for(basic_loop<Platform>& on, const Timeline& timeline, std::uint64_t target,
                                    const std::chrono::duration<Rep, Period>& timeout) noexcept
  requires(basic_loop<Platform>::template is_awaited<Timeline>)
{
  return detail::sender_of(on, basic_awaited<Platform>(timeline, target), detail::sender_limit::within(timeout));
}
/// The same, but until `at` at most, a point of the steady or the system clock. A later change of the system clock has
/// no effect.
template <platform Platform, class Timeline, class Clock, class Duration>
[[nodiscard]] auto when_reached_until(basic_loop<Platform>& on, const Timeline& timeline, std::uint64_t target,
                                      const std::chrono::time_point<Clock, Duration>& at) noexcept
  requires(basic_loop<Platform>::template is_awaited<Timeline>)
{
  return detail::sender_of(on, basic_awaited<Platform>(timeline, target),
                           detail::sender_limit{.at = detail::deadline_of<Platform>(at)});
}

/// Returns a sender that completes when all values are reached, or one of the timelines is lost. With an empty list it
/// completes with set_value() soon.
/// \param those  for example `std::array{awaited{upload, 12}, awaited{compute, 40}}`
template <platform Platform, std::size_t Count>
[[nodiscard]] auto when_all_reached(basic_loop<Platform>& on,
                                    const std::array<basic_awaited<Platform>, Count>& those) noexcept {
  return reached_sender<Platform, detail::sender_waits::all, Count>(on, those, {});
}
/// Returns a sender that completes when one of the values is reached, or when one of the timelines is lost before that.
/// Its set_value() is given the position in the list of a value that was reached, as a std::size_t. With an empty list
/// it completes soon, and the position is 0.
template <platform Platform, std::size_t Count>
[[nodiscard]] auto when_any_reached(basic_loop<Platform>& on,
                                    const std::array<basic_awaited<Platform>, Count>& those) noexcept {
  return reached_sender<Platform, detail::sender_waits::any, Count>(on, those, {});
}

}  // namespace tidemark

#endif  // TIDEMARK_LOOP_SENDERS_HPP
