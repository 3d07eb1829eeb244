// SPDX-License-Identifier: BSL-1.0
//
// signaller_calls: the callables of a fence that its signallers run. Each has a slot in the fence's heap.
//
//   released   a stack of calls whose registrations were released; the passes that release them push them
//   due        calls that were taken from it, in the order of their targets
//
// A pass only pushes. When it is over, its thread runs what is due, without the lock. If another thread does so
// already, or this thread further up its stack, that one runs these calls, too. So the calls of a fence run one at a
// time, and a callable that signals its own fence does not run the next ones within itself.
//
// Calls of different fences do run within each other. A thread could put off what its nested signals make due. But then
// those signals would return before it has run, and would use their fences after they have returned: so nobody could
// tell when such a fence may be destroyed.
//
// Why no call is lost: whoever pushes takes the lock afterwards. Whoever runs the calls looks at the stack with the
// lock before it says that it has ended. Either it finds the call then, or the pusher finds that nobody runs them.
//
// Cancel against run: as long as the call is registered, the exchange of its leaf decides; then the lock does.
#ifndef TIDEMARK_FENCE_DETAIL_SIGNALLER_CALLS_HPP
#define TIDEMARK_FENCE_DETAIL_SIGNALLER_CALLS_HPP

#include <cstdint>
#include <optional>

#include "../../platform/platform.hpp"
#include "../../platform/tools/intrusive_lists.hpp"
#include "../../platform/tools/park_lock.hpp"
#include "../../platform/tools/user_call.hpp"
#include "../tools/waker.hpp"

namespace tidemark::detail {

template <platform Platform, class Ticket>
class signaller_calls;

/// One call. The lock protects all but the link of the stack.
/// \tparam Ticket  a registration in the fence's heap
template <platform Platform, class Ticket>
class signaller_call : public waker {
 public:
  using keeper = lock_keeper<park_lock<Platform>>;
  struct order {
    static wait_links<signaller_call>& links(signaller_call& of) noexcept { return of.links; }
    static bool comes_before(const signaller_call& a, const signaller_call& b) noexcept {
      return a.target != b.target ? a.target < b.target : a.number < b.number;
    }
  };

  /// Runs it. What it calls may destroy it.
  /// \param kept  has the lock, and gives it up meanwhile
  void run(keeper& kept) noexcept { run_(*this, kept); }

  /// Wakes threads that wait until it has run.
  lock_condition<Platform>& ends() noexcept { return ends_; }
  void wait_for_end(keeper& kept) noexcept { ends_.wait(kept); }

  std::uint64_t target;
  std::uint64_t number = 0;  // in the order of registration
  call_phase phase = call_phase::idle;
  std::optional<Ticket> ticket;
  wait_links<signaller_call> links;
  typename Platform::template var<signaller_call*> next_released{nullptr};

 protected:
  using calls_of_fence = signaller_calls<Platform, Ticket>;
  using run_function = void (*)(signaller_call&, keeper&) noexcept;
  signaller_call(calls_of_fence& calls, std::uint64_t of_value, run_function runs) noexcept
      : waker{&on_release, waker_caller::signaller}, target{of_value}, calls_{calls}, run_{runs} {}
  signaller_call(const signaller_call&) = delete;
  signaller_call& operator=(const signaller_call&) = delete;
  /// It must be cancelled. If it runs nevertheless, its callable destroys it.
  ~signaller_call() {
    if (phase == call_phase::running) call_.destroyed();
  }

  /// Those of the fence.
  calls_of_fence& calls() const noexcept { return calls_; }

  /// For the run function: calls `callable` without the lock. Afterwards `end` is called with the lock, unless the
  /// callable has destroyed this.
  template <class Callable, class End>
  void call_and_end(keeper& kept, Callable& callable, const End& end) noexcept {
    call_(*this, kept, callable, end);
  }
  /// Waits until it does not run, if another thread runs it. Returns false if this thread runs it.
  bool wait_until_returned(keeper& kept) noexcept { return call_.wait_for_end(*this, kept, phase); }

 private:
  static bool on_release(waker& self, release_reason) noexcept {
    auto& of = static_cast<signaller_call&>(self);
    of.calls_.push(of);
    return false;
  }

  calls_of_fence& calls_;
  run_function run_;
  user_call<Platform> call_;
  lock_condition<Platform> ends_;
};

/// The calls of one fence.
template <platform Platform, class Ticket>
class signaller_calls {
 public:
  using call = signaller_call<Platform, Ticket>;
  using keeper = typename call::keeper;

  park_lock<Platform>& lock() noexcept { return lock_; }

  /// A pass has released this call, and will call run(). Progress: lock-free.
  void push(call& released) noexcept { released_.push(released, released.next_released); }

  /// Runs what is due. Must be called after the pass, by the thread that has pushed.
  void run(auto& heap) noexcept {
    keeper kept(lock_);
    if (is_running_) return;
    is_running_ = true;
    runner_ = Platform::current_thread();
    for (;;) {
      take_released(heap);
      call* const next = due_.least();
      if (next == nullptr) break;
      due_.remove(*next);
      next->phase = call_phase::running;
      next->run(kept);
    }
    is_running_ = false;
  }

  /// Returns whether this thread runs calls, further up its stack.
  bool runs_in_this_thread() noexcept {
    const keeper kept(lock_);
    return is_running_ && runner_ == Platform::current_thread();
  }

  // ---- with the lock held ----

  void add(call& added, const Ticket& registration) noexcept {
    added.number = next_number_++;
    added.ticket = registration;
    added.phase = call_phase::waiting;
  }

  /// Takes a call out that waits or is to run. Returns false if it runs or has run.
  bool cancel(auto& heap, call& cancelled) noexcept {
    if (cancelled.phase == call_phase::waiting && !end_registration(heap, cancelled)) take_released(heap);
    if (cancelled.phase == call_phase::ready) {
      due_.remove(cancelled);
    } else if (cancelled.phase != call_phase::waiting) {
      return false;
    }
    cancelled.phase = call_phase::over;
    return true;
  }

  /// Puts a call that waits among those that are due, because its value is there, or because no pass would release it.
  /// If a pass has released it, that pass has pushed it, and it comes from the stack: a call that waits always has its
  /// registration. In the lane, a pass pushes nothing. run() must follow.
  void take_due(auto& heap, call& waiting) noexcept {
    const bool is_pushed_if_released = !waiting.ticket->is_in_lane();
    if (!end_registration(heap, waiting) && is_pushed_if_released) return take_released(heap);
    waiting.phase = call_phase::ready;
    due_.insert(waiting);
  }

 private:
  /// Frees the slots before anything runs.
  void take_released(auto& heap) noexcept {
    call* rest = released_.take();
    while (rest != nullptr) {
      call* const next = rest->next_released.load();
      if (rest->ticket) end_registration(heap, *rest);
      rest->phase = call_phase::ready;
      due_.insert(*rest);
      rest = next;
    }
  }
  /// Returns whether the call was withdrawn before it was released.
  static bool end_registration(auto& heap, call& of) noexcept {
    const bool is_withdrawn = heap.withdraw(*of.ticket);
    of.ticket.reset();
    return is_withdrawn;
  }

  push_stack<Platform, call> released_;
  park_lock<Platform> lock_;
  bool is_running_ = false;
  decltype(Platform::current_thread()) runner_{};
  ordered_waits<call, typename call::order> due_;
  std::uint64_t next_number_ = 0;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SIGNALLER_CALLS_HPP
