// SPDX-License-Identifier: BSL-1.0
//
// wait_loop: waits without a thread for each. Callables and coroutines wait for timelines, and the threads that run the
// loop run them when their values are reached.
//
//   tidemark::wait_loop loop;
//   auto drawn = loop.on_reached(uploaded, 3, [&] { draw(); });           runs when `uploaded` has reached 3
//   auto told = loop.on_reached(uploaded, 4, [](wait_status how) {});     runs also when `uploaded` is lost
//   co_await loop.reached(uploaded, 5);                                   in a coroutine
//   loop.post([&] { show(); });                                           runs soon; from any thread
//   loop.run_for(10ms);                                                   runs what is ready, and sleeps in between
//   loop.descriptor()                                                     readable when poll() should be called
//
// Any number of waits for a timeline cost its fence one slot: the loop keeps them in the order of their targets, and
// registers only the least one. While none of its threads sleeps the loop registers none as a rule, and looks at the
// values itself. A signal that does not reach the least target costs nothing more. One that reaches it wakes the loop
// at most once, however many waits end.
//
// Nothing is allocated for a wait: it lies in the object that on_reached() returns, or in the coroutine's frame. Nor is
// it for a task (make_task()), which may be posted again and again; post() allocates what it keeps. Two things allocate
// all the same: the table in which the loop finds a timeline grows from the 129th timeline on, and a fence without a
// free slot may grow. Without memory the loop only becomes slower.
//
// Order: of the waits for one timeline that are found to be over together, the lowest target runs first, and of equal
// targets the one that was registered first. Nothing is promised for several timelines, or where several threads run
// the loop.
//
// Threads: any thread may call any function of a loop. Any number may run it at the same time; each runs what it finds.
// A lock protects the loop's data. It is not held while a callable runs, and signallers never take it.
//
// A callable may do anything but destroy the loop (asserted): it may signal, register, cancel, destroy its own
// registration, post, and stop the loop. It may run the loop, too, and should return soon, because what is ready waits
// for it, unless other threads run the loop. If it throws, run() and its kin pass the exception on. Its registration
// counts as run then, nothing else is lost, and run() may be called again. The same is true of what comes out of a
// coroutine when the loop resumes it. A callable may itself resume a coroutine that then awaits the loop. That
// coroutine waits from its co_await on, even if the callable throws afterwards. It may be resumed before the callable
// has returned: by another thread that runs the loop, or by the callable if that runs the loop.
//
// The loop of an engine: if a callable runs the loop, its call returns only behind an engine-wide run that goes on
// (unbroken_run.hpp). So poll() and the timed calls may block there.
//
// Lifetime: a fence must outlive the registrations for it. All registrations that wait, all tasks, all watches of
// descriptors and all suspended coroutines should be gone before the loop is: its destructor asserts that. Those that
// are left are cancelled, and may be destroyed later; such a coroutine is never resumed. A registration that has run,
// was cancelled or is lost may outlive the loop, and keeps its state. Last, the destructor destroys the callables that
// were posted and have not run; they never run. Code of yours that runs because of that, such as the destructor of a
// capture, may use the loop once more. What it posts is destroyed, too, and what it registers is cancelled, too, and so
// on: the loop's destructor returns only when nothing is left. If such code leaves a new registration, task or
// suspended coroutine behind, the assertion fails as well. The destructor never returns if each such object posts or
// begins another one. While the destructor runs, no other thread may be in a call of the loop, such as run(), post() or
// on_reached(), nor in a `co_await` that suspends in the loop: schedule(), reached() and its kin. For example, a post()
// may still use the loop after another thread has run its callable: that the callable has run does not say that the
// call is over. After a fork the child must not use the loop.
//
// A coroutine may be destroyed while it is suspended in the loop, if no other thread runs the loop. Under the same
// condition, a callable that the loop runs may do so, too. The coroutine takes itself out.
//
// fence/awaited.hpp lists the timelines that a loop can wait for. The loop looks at a timeline's value once in a
// millisecond where it can't register: the heap is full and must not grow, there is no memory, or the system refuses
// the heavy barrier. At a looked_at it looks by its interval.
#ifndef TIDEMARK_LOOP_WAIT_LOOP_HPP
#define TIDEMARK_LOOP_WAIT_LOOP_HPP

#include <array>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "../fence/awaited.hpp"
#include "../fence/callback_state.hpp"
#include "../fence/wait.hpp"
#include "../fence/waiter_heap.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"
#include "../platform/tools/user_call.hpp"
#include "descriptor_watch.hpp"
#include "detail/loop_core.hpp"
#include "detail/loop_descriptor.hpp"
#include "detail/loop_runner.hpp"
#include "loop_task.hpp"
#include "tools/loop_operation.hpp"

namespace tidemark::detail {

/// posted_call: a callable in memory that a loop owns, for one call.
template <platform Platform, class Callable>
class posted_call : public loop_work<Platform> {
 public:
  explicit posted_call(Callable&& callable) : loop_work<Platform>{&act, true}, callable_(std::move(callable)) {}

 private:
  using keeper = typename loop_work<Platform>::keeper;

  static void act(loop_work<Platform>& of, loop_action what, keeper& kept) {
    // What it captures may use the loop when it is destroyed, too.
    const typename keeper::without lock(kept);
    const std::unique_ptr<posted_call> self(static_cast<posted_call*>(&of));
    if (what == loop_action::run) self->callable_();
  }

  Callable callable_;
};

// What a coroutine awaits on a loop. All of it lies in the coroutine's frame.

/// Suspends a coroutine until `Count` values are reached or any of them is, until the deadline or until the stop. The
/// loop resumes it. One coroutine at a time may await it (asserted); another one goes on at once, with `timeout`, and
/// leaves the first one alone.
/// \tparam Core    the loop's
/// \tparam Result  makes the result of the `co_await` of the operation
template <class Core, std::size_t Count, class Token, class Result>
class loop_awaiter : private loop_waits<Core, Count, Token> {
 public:
  /// \param targets  an array of `Count` awaited targets
  loop_awaiter(Core& on, loop_needs what, const auto& targets, deadline until, Token token) noexcept
      : base(on, what, &act, targets, std::move(token)) {
    this->end_at(until);
  }
  /// A coroutine may be destroyed while it is suspended, if no other thread runs the loop.
  ~loop_awaiter() {
    if (is_suspended_) cancel();
  }

  bool await_ready() noexcept { return !is_suspended_ && this->is_reached_already(); }
  /// The operation begins here, even if it is the loop that has resumed the coroutine. It can't wait until that
  /// resumption has returned to the loop: whatever runs in it next may block, run the loop or throw.
  bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    TIDEMARK_ASSERT(!is_suspended_, "an awaitable of a loop was awaited by two coroutines at once");
    if (is_suspended_) return false;
    suspended_ = suspended;
    is_suspended_ = true;
    this->phase = call_phase::idle;  // it may have been awaited before; a stop that comes now is kept
    this->listen();
    this->begin();
    // From here on another thread may resume the coroutine, which may destroy this object.
    return true;
  }
  auto await_resume() noexcept {
    // Then it is another coroutine, which has not suspended.
    if (is_suspended_) [[unlikely]]
      return Result{}(wait_status::timeout, Count);
    this->stop_listening();
    return Result{}(this->status, this->index);
  }

 private:
  using base = loop_waits<Core, Count, Token>;
  using operation = typename Core::operation;
  using keeper = typename Core::keeper;

  [[gnu::noinline]] void cancel() noexcept {
    const keeper kept(this->core().lock());
    static_cast<void>(this->core().cancel(*this));
  }

  static void act(typename Core::work& of, loop_action what, keeper& kept) {
    auto& self = static_cast<loop_awaiter&>(static_cast<operation&>(of));
    self.phase = call_phase::over;
    self.is_suspended_ = false;
    if (what == loop_action::drop) {
      // The token may be triggered when there is no loop any more.
      const typename keeper::without lock(kept);
      return self.stop_listening();
    }
    const std::coroutine_handle<> suspended = self.suspended_;
    const typename keeper::without lock(kept);
    suspended.resume();
  }

  std::coroutine_handle<> suspended_;
  bool is_suspended_ = false;  // and the loop is there; needs no lock, unlike the phase
};

/// Suspends a coroutine, which a thread that runs the loop resumes soon. One coroutine at a time may await it
/// (asserted); another one goes on at once, and leaves the first one alone.
template <class Core>
class loop_switch : private Core::work {
 public:
  explicit loop_switch(Core& to) noexcept : Core::work(&act), core_{to} {}
  /// A coroutine may be destroyed while it is suspended, if no other thread runs the loop.
  ~loop_switch() {
    if (is_suspended_) retract();
  }

  static constexpr bool await_ready() noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    TIDEMARK_ASSERT(!is_suspended_, "an awaitable of a loop was awaited by two coroutines at once");
    if (is_suspended_) return false;
    suspended_ = suspended;
    is_suspended_ = true;
    core_.post(*this);
    return true;
  }
  static constexpr void await_resume() noexcept {}

 private:
  [[gnu::noinline]] void retract() noexcept {
    const typename Core::keeper kept(core_.lock());
    core_.retract(*this);
  }

  static void act(typename Core::work& of, loop_action what, typename Core::keeper& kept) {
    auto& self = static_cast<loop_switch&>(of);
    self.phase = call_phase::over;
    self.is_suspended_ = false;
    if (what == loop_action::drop) return;
    const std::coroutine_handle<> suspended = self.suspended_;
    const typename Core::keeper::without lock(kept);
    suspended.resume();
  }

  Core& core_;
  std::coroutine_handle<> suspended_;
  bool is_suspended_ = false;  // and the loop is there; needs no lock, unlike the phase
};

}  // namespace tidemark::detail

namespace tidemark {

/// How a call that runs a loop has ended.
enum class [[nodiscard]] run_status {
  ran,      ///< It has run one callable or coroutine. Only run_one() and its timed forms return it.
  timeout,  ///< The deadline has passed.
  stopped,  ///< The loop was stopped, or the caller's token was triggered.
};

template <>
inline constexpr auto detail::names_of<run_status> = detail::names("ran", "timeout", "stopped");

template <platform Platform>
class basic_loop;
template <platform Platform>
class basic_wait_loop;

namespace detail {

template <class Platform>
using core_of_loop = loop_core<Platform, wait_operations<Platform>, waiter_ticket, wait_status>;

}  // namespace detail

/// A callable that a loop runs when a timeline has reached a target. It is cancelled when it is destroyed. It can't be
/// moved, because the loop knows where it is. A container makes it in its place, as std::list::emplace_back() does.
/// \tparam Callable  takes nothing; or a wait_status, which is `reached` or `lost`. One that takes nothing is not
///                   called if the timeline is lost
template <platform Platform, detail::reached_callable Callable>
class basic_callback : private detail::core_of_loop<Platform>::operation, private detail::loop_guest {
 public:
  /// Registers the callable. It may run before the constructor has returned, on another thread. Progress: takes the
  /// loop's lock; O(1) if targets of the timeline rise from call to call, otherwise O(log n), amortized. If the loop
  /// sleeps, it registers with the fence, too. Any thread may call it.
  basic_callback(basic_loop<Platform>& on, const basic_awaited<Platform>& until, Callable callable)
      : operation(detail::loop_needs::any, &act),
        callable_(std::move(callable)),
        wait_(detail::awaited_access::target_of(until), *this, &core::on_release) {
    core& of = detail::loop_access::core_of(on);
    this->waits = std::span{&wait_, 1};
    const keeper kept(of.lock());
    of.registrations().push(*this);
    if (detail::empty_callable<Callable>::is(callable_)) {
      this->loop = &of;
      this->phase = detail::call_phase::over;
      result_ = callback_state::cancelled;
      return;
    }
    of.begin(*this);
  }
  basic_callback(const basic_callback&) = delete;
  basic_callback& operator=(const basic_callback&) = delete;
  /// Cancels it. If its callable runs on another thread, this waits until it has returned. The callable itself may
  /// destroy the registration, and must not use its own captures afterwards.
  ~basic_callback() {
    if (this->has_lost_loop) return;
    {
      core& of = *this->loop;
      keeper kept(of.lock());
      static_cast<void>(end(of, kept));
      of.registrations().remove(*this);
    }
    if (this->phase == detail::call_phase::running) call_.destroyed();
  }

  /// Cancels the registration, if its callable has not begun to run, and returns what has become of it: `ran`, `lost`
  /// or `cancelled`; `waiting` if the callable itself is the caller. If the callable runs on another thread, this waits
  /// until it has returned. Any thread may call it. Progress: takes the loop's lock.
  callback_state cancel() noexcept {
    if (this->has_lost_loop) return result_;
    core& of = *this->loop;
    keeper kept(of.lock());
    return end(of, kept);
  }

  /// Returns what has become of the registration. Any thread may call it. Progress: takes the loop's lock.
  callback_state state() const noexcept {
    if (this->has_lost_loop) return result_;
    const keeper kept(this->loop->lock());
    return result_;
  }

 private:
  using core = detail::core_of_loop<Platform>;
  using operation = typename core::operation;
  using keeper = typename core::keeper;

  callback_state end(core& of, keeper& kept) noexcept {
    if (of.cancel(*this)) {
      result_ = callback_state::cancelled;
    } else if (!call_.wait_for_end(of, kept, this->phase)) {
      return callback_state::waiting;
    }
    return result_;
  }
  static void act(typename core::work& of, detail::loop_action what, keeper& kept) {
    auto& self = static_cast<basic_callback&>(static_cast<operation&>(of));
    if (what == detail::loop_action::drop) {
      self.phase = detail::call_phase::over;
      self.result_ = callback_state::cancelled;
      return;
    }
    const wait_status how = self.operation::status;
    const auto call = [&] { detail::call_reached(self.callable_, how); };
    self.call_(*self.loop, kept, call, [&] {
      self.result_ = detail::state_after(how);
      self.phase = detail::call_phase::over;
    });
  }

  Callable callable_;
  typename operation::wait wait_;
  detail::user_call<Platform> call_;
  callback_state result_ = callback_state::waiting;
};

/// The part of a loop that is for those who wait on it or run it. It runs callables and coroutines when timelines have
/// reached their targets. Only its owner can stop it: the program, if it is a basic_wait_loop; or an engine.
/// \tparam Platform  the platform of the waits. It must be asymmetric if the platform of one of the timelines is, and
///                   let threads sleep in the same way as all of these
template <platform Platform>
class basic_loop {
 public:
  using platform = Platform;

  /// Whether a timeline can be awaited on this loop; fence/awaited.hpp lists those that can.
  template <class Timeline>
  static constexpr bool is_awaited = std::constructible_from<basic_awaited<Platform>, const Timeline&, std::uint64_t>;

  basic_loop(const basic_loop&) = delete;
  basic_loop& operator=(const basic_loop&) = delete;

  /// Registers a callable, see basic_callback.
  template <detail::reached_callable Callable>
  [[nodiscard]] auto on_reached(const basic_awaited<Platform>& until, Callable callable) {
    return basic_callback<Platform, Callable>(*this, until, std::move(callable));
  }
  template <class Timeline, detail::reached_callable Callable>
  [[nodiscard]] auto on_reached(const Timeline& timeline, std::uint64_t target, Callable callable)
    requires is_awaited<Timeline>
  {
    return on_reached(basic_awaited<Platform>(timeline, target), std::move(callable));
  }
  /// A looked_at without a name, or what can't be copied, would be gone before the wait is over.
  template <detail::needs_name Timeline, class Callable>
  void on_reached(const Timeline&& gone, std::uint64_t target, Callable callable) = delete;

  /// Returns what a coroutine can `co_await`: that suspends it until the timeline has reached the target. A thread that
  /// runs the loop resumes it, or it goes on at once if the target was reached before. The `co_await` returns a
  /// wait_status, as waitable::wait() does. Throws nothing, and allocates only what the head of this file says. What is
  /// returned may be awaited again and again, by one coroutine at a time (asserted): another one goes on at once, and
  /// its `co_await` returns `timeout`. Any thread may await. Progress: as for a registration of a callable; two loads
  /// if the target was reached before.
  template <class Timeline, stop_token_like Token = never_stops>
  [[nodiscard]] auto reached(const Timeline& timeline, std::uint64_t target, Token token = {}) noexcept
    requires is_awaited<Timeline>
  {
    return awaiter_of(basic_awaited<Platform>(timeline, target), no_deadline, std::move(token));
  }
  /// The same for the duration `timeout` at most, from this call on. The `co_await` returns `timeout` then.
  template <class Timeline, class Rep, class Period, stop_token_like Token = never_stops>
  [[nodiscard]] auto reached_for(const Timeline& timeline, std::uint64_t target,
                                 const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept
    requires is_awaited<Timeline>
  {
    return awaiter_of(basic_awaited<Platform>(timeline, target), detail::deadline_of<Platform>(timeout),
                      std::move(token));
  }
  /// The same until `at` at most, a point of the steady or the system clock. A later change of the system clock has no
  /// effect.
  template <class Timeline, class Clock, class Duration, stop_token_like Token = never_stops>
  [[nodiscard]] auto reached_until(const Timeline& timeline, std::uint64_t target,
                                   const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept
    requires is_awaited<Timeline>
  {
    return awaiter_of(basic_awaited<Platform>(timeline, target), detail::deadline_of<Platform>(at), std::move(token));
  }

  /// Suspends a coroutine until all values are reached, or one of the timelines is lost. The `co_await` returns a
  /// wait_status, as wait_all() does; at once with an empty list. Throws nothing, and allocates only what the head of
  /// this file says. Like that of reached(), the result is for one coroutine at a time. Any thread may await. Progress:
  /// as for `Count` registrations of callables.
  /// \param those  for example `std::array{awaited{upload, 12}, awaited{compute, 40}}`
  template <std::size_t Count, stop_token_like Token = never_stops>
  [[nodiscard]] auto all_of(const std::array<basic_awaited<Platform>, Count>& those, Token token = {}) noexcept {
    return all_awaiter(those, no_deadline, std::move(token));
  }
  /// The same for the duration `timeout` at most.
  template <std::size_t Count, class Rep, class Period, stop_token_like Token = never_stops>
  [[nodiscard]] auto all_of_for(const std::array<basic_awaited<Platform>, Count>& those,
                                const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return all_awaiter(those, detail::deadline_of<Platform>(timeout), std::move(token));
  }
  /// The same until `at` at most, a point of the steady or the system clock.
  template <std::size_t Count, class Clock, class Duration, stop_token_like Token = never_stops>
  [[nodiscard]] auto all_of_until(const std::array<basic_awaited<Platform>, Count>& those,
                                  const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    return all_awaiter(those, detail::deadline_of<Platform>(at), std::move(token));
  }

  /// Suspends a coroutine until one of the values is reached, or one of the timelines is lost. The `co_await` returns a
  /// wait_any_result, as wait_any() does. An empty list counts as reached: the coroutine goes on at once. In all else
  /// it is like all_of().
  template <std::size_t Count, stop_token_like Token = never_stops>
  [[nodiscard]] auto any_of(const std::array<basic_awaited<Platform>, Count>& those, Token token = {}) noexcept {
    return any_awaiter(those, no_deadline, std::move(token));
  }
  /// The same for the duration `timeout` at most.
  template <std::size_t Count, class Rep, class Period, stop_token_like Token = never_stops>
  [[nodiscard]] auto any_of_for(const std::array<basic_awaited<Platform>, Count>& those,
                                const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return any_awaiter(those, detail::deadline_of<Platform>(timeout), std::move(token));
  }
  /// The same until `at` at most, a point of the steady or the system clock.
  template <std::size_t Count, class Clock, class Duration, stop_token_like Token = never_stops>
  [[nodiscard]] auto any_of_until(const std::array<basic_awaited<Platform>, Count>& those,
                                  const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    return any_awaiter(those, detail::deadline_of<Platform>(at), std::move(token));
  }

  /// Suspends a coroutine that awaits the result. A thread that runs the loop resumes it soon. The result may be
  /// awaited again and again, by one coroutine at a time (asserted): another one goes on at once. Progress: lock-free,
  /// except for a system call if the loop sleeps.
  [[nodiscard]] auto schedule() noexcept { return detail::loop_switch<core>(core_); }

  /// Lets the loop run the callable once, soon, and allocates the memory in which it is kept until then. Throws
  /// std::bad_alloc, or what the callable's move throws; nothing is posted then. Progress: lock-free but for the
  /// allocation, and a system call if the loop sleeps. Any thread may call it.
  template <std::invocable Callable>
  void post(Callable callable) {
    core_.post(*new detail::posted_call<Platform, Callable>(std::move(callable)));
  }
  /// Returns a task of this loop, see basic_loop_task.
  template <std::invocable Callable>
  [[nodiscard]] auto make_task(Callable callable) {
    return basic_loop_task<Platform, Callable>(*this, std::move(callable));
  }

  /// Runs what is ready, and sleeps while nothing is, until the loop is stopped or the token is triggered. Returns
  /// `stopped`. Throws what a callable throws. Several threads may call it at the same time.
  template <stop_token_like Token = never_stops>
  run_status run(Token token = {}) {
    return run_all(no_deadline, token);
  }
  /// Runs like run(), but for the duration `timeout` at most, and returns `timeout` then. If the time ends while a
  /// callable runs, it returns after that one, even if more is ready. With zero or less it runs what poll() would run,
  /// and does not sleep. Called by work of an engine, it may return later: behind an engine-wide run.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  run_status run_for(const std::chrono::duration<Rep, Period>& timeout, Token token = {}) {
    return run_all(detail::deadline_of<Platform>(timeout), token);
  }
  /// Runs like run(), but until `at` at most, a point of the steady or the system clock, and returns `timeout` then. A
  /// later change of the system clock has no effect. With a point that has passed when it is called, it runs what
  /// poll() would run, and does not sleep. Called by work of an engine, it may return later: behind an engine-wide run.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  run_status run_until(const std::chrono::time_point<Clock, Duration>& at, Token token = {}) {
    return run_all(detail::at_once_if_passed<Platform>(detail::deadline_of<Platform>(at)), token);
  }

  /// Runs one callable or coroutine, and sleeps until one is ready. Returns `ran` if it has run one, or `stopped`. A
  /// registration that is lost counts as run, even if its callable is not called. Throws what it throws.
  template <stop_token_like Token = never_stops>
  run_status run_one(Token token = {}) {
    return run_next(no_deadline, token);
  }
  /// Runs like run_one(), but sleeps for the duration `timeout` at most, and returns `timeout` then. With zero or less
  /// it does not sleep, and runs one if one is ready. Called by work of an engine, it may return later: behind an
  /// engine-wide run.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  run_status run_one_for(const std::chrono::duration<Rep, Period>& timeout, Token token = {}) {
    return run_next(detail::deadline_of<Platform>(timeout), token);
  }
  /// Runs like run_one(), but sleeps until `at` at most, and returns `timeout` then. With a point that has passed it
  /// does not sleep, and runs one if one is ready. Called by work of an engine, it may return later: behind an
  /// engine-wide run.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  run_status run_one_until(const std::chrono::time_point<Clock, Duration>& at, Token token = {}) {
    return run_next(detail::deadline_of<Platform>(at), token);
  }

  /// Runs what is ready now, without sleeping, and returns how many callables and coroutines that were; 0 after stop().
  /// A registration that is lost counts, even if its callable is not called. What becomes ready meanwhile may run, too.
  /// Throws what a callable throws. Does not block, unless work of an engine calls it: it returns behind an engine-wide
  /// run that goes on.
  std::size_t poll() {
    keeper kept(core_.lock());
    std::size_t ran = 0;
    runner_.run_ready(never_stops{}, kept, [&] { return ++ran != 0; });
    return ran;
  }

#if defined(__linux__)
  /// Returns a descriptor for poll(), epoll, io_uring and the like, which is readable when there may be something to
  /// run: also when a deadline has passed. Then poll() should be called. It is readable at first. It belongs to the
  /// loop, is always the same, and must not be read or closed. Returns -1 if the system refuses it, with the reason in
  /// errno, and a later call tries again; or if an executor runs the loop (ENOTSUP). An io_uring has a cheaper way, see
  /// loop_uring_wait. Any thread may call it. Progress: takes the loop's lock.
  int descriptor() noexcept {
    const keeper kept(core_.lock());
    if (core_.outside() != nullptr && core_.outside() != &descriptor_) {
      detail::thread_errno() = ENOTSUP;
      return -1;
    }
    const int opened = descriptor_.open();
    if (opened >= 0 && core_.outside() == nullptr) core_.set_outside(descriptor_);
    return opened;
  }

  /// Runs the callable whenever the descriptor is readable, see descriptor_watch. This works in run() and its kin,
  /// which sleep until a fence or a descriptor has something for them; nobody needs to watch descriptor() for it.
  template <std::invocable Callable>
  [[nodiscard]] auto on_readable(int watched, Callable callable) {
    return descriptor_watch<basic_loop, Callable>(*this, watched, descriptor_readiness::readable, std::move(callable));
  }
  /// The same whenever the descriptor is writable.
  template <std::invocable Callable>
  [[nodiscard]] auto on_writable(int watched, Callable callable) {
    return descriptor_watch<basic_loop, Callable>(*this, watched, descriptor_readiness::writable, std::move(callable));
  }
#endif

 protected:
  basic_loop() = default;
  ~basic_loop() {
    keeper kept(core_.lock());
    TIDEMARK_ASSERT(!core_.is_run_here(), "a loop was destroyed by code that it runs");
    TIDEMARK_ASSERT(!core_.is_run(), "a loop was destroyed while another thread runs it");
    bool is_found = core_.clear(kept);
#if defined(__linux__)
    is_found = descriptor_.forget() || is_found;
#endif
    TIDEMARK_ASSERT(!is_found, "a loop was destroyed before its registrations and its posted work");
    static_cast<void>(is_found);
  }

 private:
  friend detail::loop_access;
  friend basic_wait_loop<Platform>;
  using core = detail::core_of_loop<Platform>;
  using keeper = typename core::keeper;

  struct status_alone {
    wait_status operator()(wait_status status, std::size_t) const noexcept { return status; }
  };
  struct status_and_index {
    wait_any_result operator()(wait_status status, std::size_t index) const noexcept { return {status, index}; }
  };
  template <class Result, std::size_t Count, class Token>
  auto awaiter(detail::loop_needs needs, const std::array<basic_awaited<Platform>, Count>& those, deadline until,
               Token token) noexcept {
    using target = std::remove_cvref_t<decltype(detail::awaited_access::target_of(those[0]))>;
    struct targets {
      const target& operator[](std::size_t i) const noexcept { return detail::awaited_access::target_of(of[i]); }
      const std::array<basic_awaited<Platform>, Count>& of;
    };
    return detail::loop_awaiter<core, Count, Token, Result>(core_, needs, targets{those}, until, std::move(token));
  }
  template <class Token>
  auto awaiter_of(const basic_awaited<Platform>& one, deadline until, Token token) noexcept {
    const std::array<basic_awaited<Platform>, 1> those = {one};
    return awaiter<status_alone>(detail::loop_needs::any, those, until, std::move(token));
  }
  auto all_awaiter(const auto& those, deadline until, auto token) noexcept {
    return awaiter<status_alone>(detail::loop_needs::all, those, until, std::move(token));
  }
  auto any_awaiter(const auto& those, deadline until, auto token) noexcept {
    return awaiter<status_and_index>(detail::loop_needs::any, those, until, std::move(token));
  }

  template <class Token>
  run_status run_next(deadline until, const Token& token) {
    return run(until, token, [] { return false; });
  }
  template <class Token>
  run_status run_all(deadline until, const Token& token) {
    return run(until, token, [] { return true; });
  }
  template <class Token, class GoesOn>
  run_status run(deadline until, const Token& token, const GoesOn& goes_on) {
    const auto wake = [this] { core_.wake_all(); };
    const typename detail::stop_callback_for<Token, std::remove_const_t<decltype(wake)>>::type stopping(token, wake);
    keeper kept(core_.lock());
    switch (runner_.run(until, token, kept, goes_on)) {
      case detail::loop_end::ran:
        return run_status::ran;
      case detail::loop_end::timeout:
        return run_status::timeout;
      default:
        return run_status::stopped;
    }
  }

#if defined(__linux__)
  detail::loop_descriptor descriptor_;
#endif
  mutable core core_;
  detail::loop_runner<core> runner_{core_};
};

/// A loop of the program's, which can be stopped.
/// \tparam Platform  see basic_loop
template <platform Platform>
class basic_wait_loop : public basic_loop<Platform> {
  using keeper = typename basic_loop<Platform>::keeper;

 public:
  basic_wait_loop() = default;

  /// Calls that begin from now on until restart() return at once: run(), run_one() and their timed forms return
  /// `stopped`, and poll() returns 0. Calls in progress end, too, unless restart() comes before they have noticed it; a
  /// callable that runs is not interrupted. Any thread may call it. Progress: takes the loop's lock.
  void stop() noexcept {
    const keeper kept(this->core_.lock());
    this->core_.stop();
  }
  /// Lets the loop run again after stop(). Any thread may call it. Progress: takes the loop's lock.
  void restart() noexcept {
    const keeper kept(this->core_.lock());
    this->core_.restart();
  }
  /// Returns whether stop() was called, and restart() was not. Any thread may call it. Progress: takes the loop's lock.
  bool is_stopped() const noexcept {
    const keeper kept(this->core_.lock());
    return this->core_.is_stopped();
  }
};

/// A loop for fences of all kinds.
using wait_loop = basic_wait_loop<native_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_LOOP_WAIT_LOOP_HPP
