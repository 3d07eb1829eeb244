// SPDX-License-Identifier: BSL-1.0
//
// loop_core: what a loop is made of, without its public face (wait_loop.hpp).
//
//   lock       protects all that is not named here; held for a few instructions, and while waits are registered
//   word       counts changes and the threads that sleep, which sleep on it (loop_word.hpp)
//   posted     a stack of work that other threads have posted
//   awaited    all waits, and a stack of those whose registrations were released (loop_registrations.hpp)
//   gate       lets some work have the loop to itself (loop_gate.hpp)
//
// A thread that runs the loop runs what is ready. When nothing is, it collects: it takes what was posted and released,
// and looks at the values of the timelines that are watched. Only when nothing is ready even then, it registers the
// least wait of each watched timeline with its fence, issues one barrier for all of them, looks once more at each
// value, and sleeps. So while the loop has something to run, signallers find no waiter and pay nothing.
//
// Why nothing is lost
// -------------------
// A signal against a registration is the handshake of fence.hpp: w1 is the registration of all timelines, w2 one
// barrier, w3 one look at each. Whoever registers does all three before it gives up the lock.
//
// Work that is pushed on one of the stacks, against a thread that goes to sleep: see loop_word.hpp.
//
// While a thread sleeps, any other thread that changes something registers what is watched. It wakes the sleeper only
// if there is something to run, or if the sleeper must wake up earlier than it knows. A timeline that can't be
// registered must be looked at again soon: as long as there is one, at least one of the sleepers does so.
//
// A thread that runs something short, such as the signals of a queue, may put all this off until it looks for more to
// run or begins something that may take long: it neither registers what is watched nor wakes a sleeper for what its own
// signals release. So a chain of queues, each of which waits for the one before, stays on one thread, and costs no
// system call although others sleep. It counts no change for what it leaves behind in this way, nor for work that is to
// go on later. A thread that is about to sleep looks for both, too, when it looks once more.
//
// A thread may also leave the loop and sleep elsewhere, as in poll() on the loop's descriptor (outside_sleep).
#ifndef TIDEMARK_LOOP_DETAIL_LOOP_CORE_HPP
#define TIDEMARK_LOOP_DETAIL_LOOP_CORE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../fence/tools/learning_spin.hpp"
#include "../../platform/assert.hpp"
#include "../../platform/platform.hpp"
#include "../../platform/tools/intrusive_lists.hpp"
#include "../../platform/tools/limits.hpp"
#include "../../platform/tools/park_lock.hpp"
#include "../tools/loop_operation.hpp"
#include "loop_gate.hpp"
#include "loop_registrations.hpp"
#include "loop_word.hpp"

namespace tidemark::detail {

/// loop_own_wakes: the wake-ups for what a thread's own signals release, while it runs a loop. It may put them off. One
/// thread of a loop can do so at a time: another one takes its place, and then the first one wakes others again.
template <platform Platform>
class loop_own_wakes {
 public:
  void put_off() noexcept {
    // (Y29): relaxed alone, like (Y30).
    who_.store(Platform::current_thread(), std::memory_order_relaxed);
  }
  void go_on() noexcept {
    // (Y31): relaxed alone, like (Y30).
    who_.store({}, std::memory_order_relaxed);
  }
  /// Whether the calling thread has put them off.
  bool are_put_off() const noexcept {
    // (Y30): relaxed alone: a thread compares with its own id, which only it stores, and no other data depends on it.
    return who_.load(std::memory_order_relaxed) == Platform::current_thread();
  }

 private:
  typename Platform::template atomic<decltype(Platform::current_thread())> who_{};
};

/// \tparam Operations  see loop_wait
/// \tparam Ticket      see loop_wait
/// \tparam WaitStatus  has the members `reached`, `timeout`, `stopped` and `lost`
template <platform Platform, class Operations, class Ticket, class WaitStatus>
class loop_core {
 public:
  using platform = Platform;
  using operation = loop_operation<Platform, Operations, Ticket, WaitStatus>;
  using wait = typename operation::wait;
  using work = loop_work<Platform>;
  using keeper = typename work::keeper;

  loop_core() = default;
  loop_core(const loop_core&) = delete;
  loop_core& operator=(const loop_core&) = delete;

  park_lock<Platform>& lock() noexcept { return lock_; }

  /// Pushes work that a thread is to run. Progress: lock-free, except for the system call that wakes. Any thread may
  /// call it.
  void post(work& posted) noexcept {
    posted_.push(posted, posted.next_posted);
    nudge();
  }

  /// The function of the wakers of all waits.
  static bool on_release(waker& self, release_reason) noexcept {
    auto& released = static_cast<wait&>(self);
    loop_core& of = *released.part_of.loop;
    of.awaited_.push_released(released);
    if (!of.own_wakes_.are_put_off()) of.nudge();
    // The thread that is woken may run something else before it withdraws the registration.
    return false;
  }

  // ---- a thread that signals in the course of its run ----

  /// From now on, what this thread's signals release wakes nobody. Soon it must call one of the next two.
  void put_wakes_off() noexcept { own_wakes_.put_off(); }
  /// Wakes a thread for what was released meanwhile.
  void make_up_for_wakes() noexcept {
    own_wakes_.go_on();
    if (awaited_.has_released()) nudge();
  }

  // ---- with the lock held ----

  /// Wakes nobody. What was released is found all the same: by this run(), once nothing is ready and before it returns;
  /// while something is ready, by the sleeper that was woken for it; and by a thread that is about to sleep.
  void drop_wakes() noexcept { own_wakes_.go_on(); }
  bool has_sleepers() const noexcept { return idle_ != 0; }
  /// Must be called before a thread runs something that may take long, and by other threads after a change: as long as
  /// a thread sleeps, each timeline is registered with its fence, or a sleeper looks at it again soon; and what is
  /// ready has woken somebody.
  void settle() noexcept {
    if (idle_ == 0) return;
    arm();
    const bool is_missed = awaited_.must_look_again() && looking_again_ == 0 && !looks_again_outside_;
    if (is_missed || has_turn()) nudge();
  }

  /// For work that begins to run, and settles: wakes a thread if there is more to run. Returns whether settle() must
  /// still be called, before anything that takes long.
  bool settle_in_part() noexcept {
    if (idle_ == 0) return false;
    if (ready_.is_empty()) return awaited_.has_unregistered();
    settle();
    return false;
  }

  /// Begins an operation. Its end is work of the loop, possibly at once.
  void begin(operation& added) noexcept {
    const bool is_first_timer = start(added);
    settle();
    // The sleepers don't know of this time.
    if (idle_ != 0 && is_first_timer) wake_all();
  }
  /// The same for an operation without a timer, in the course of a run. The run settles what follows from it.
  void begin_in_run(operation& added) noexcept { static_cast<void>(start(added)); }

  /// Ends an operation because it was stopped, unless its wait is over.
  void stop(operation& stopped) noexcept {
    if (stopped.phase == call_phase::idle) {
      stopped.is_stopped = true;
    } else if (stopped.phase == call_phase::waiting) {
      conclude(stopped, WaitStatus::stopped);
      settle();
    }
  }

  /// Takes an operation out that waits or is ready. Returns false if it runs, has run or was never begun.
  bool cancel(operation& cancelled) noexcept {
    if (cancelled.phase == call_phase::waiting) {
      take_out(cancelled);
      settle();
    } else if (cancelled.phase == call_phase::ready) {
      remove_ready(cancelled);
    } else {
      return false;
    }
    cancelled.phase = call_phase::over;
    return true;
  }

  /// Takes posted work out that has not run. Returns false if it runs, has run or was never posted.
  bool retract(work& posted) noexcept {
    take_posted();
    posted.is_posted_again = false;
    if (posted.phase != call_phase::ready) return false;
    remove_ready(posted);
    posted.phase = call_phase::over;
    return true;
  }

  /// Changes the rank of work, also of work that is ready.
  void set_rank(work& changed, std::uint8_t to) noexcept {
    if (changed.rank == to) return;
    if (changed.phase == call_phase::ready) return ready_.change_rank(changed, to);
    changed.rank = to;
  }

  /// For work that would wait now: looks at all that others wait for, and returns whether there is nothing to run.
  bool finds_nothing() noexcept {
    collect(at_once);
    if (is_stopped_ || gate_.is_closed() || !ready_.is_empty()) return false;
    settle();
    return ready_.is_empty();
  }
  /// Work that has run is to run again, when what is ready now has had its turn.
  void run_later(work& of) noexcept {
    of.phase = call_phase::ready;
    ready_.push_later(of);
  }
  /// Work that has run is to run again, and to have the loop to itself meanwhile. No other work begins before that.
  void run_alone(work& of) noexcept {
    of.phase = call_phase::ready;
    ready_.push_alone(of);
    gate_.close();
  }
  /// Posted work has run. It runs again if it was posted again meanwhile.
  void has_run(work& posted) noexcept {
    posted.phase = call_phase::over;
    if (!std::exchange(posted.is_posted_again, false)) return;
    make_ready(posted);
    settle();
  }

  /// What must be destroyed before the loop is.
  linked_queue<loop_guest>& guests() noexcept { return guests_; }
  /// Objects of operations that may be over: then they may outlive the loop, which notifies them when it is destroyed.
  linked_queue<loop_guest>& registrations() noexcept { return registrations_; }
  /// Wakes threads that wait for the end of some work, or for the end of what runs alone.
  lock_condition<Platform>& ends() noexcept { return ends_; }
  /// Waits until ends() was woken, for work that another thread runs. Asserts that the caller does not have the loop to
  /// itself: then the other work has called the loop, and that call does not return before the caller's work is over.
  void wait_for_end(keeper& kept) noexcept {
    TIDEMARK_ASSERT(!gate_.is_alone_here(), "a command of an engine-wide run waited for work that runs the loop");
    ends_.wait(kept);
  }

  /// Whether a call runs the loop: of this thread, or of any. Nobody may destroy it then.
  bool is_run_here() const noexcept { return gate_.has_call_here(); }
  bool is_run() const noexcept { return gate_.has_calls(); }
  /// Takes everything out, and drops it: also what is posted or begun by what it drops. So it returns when nothing of
  /// that posts or begins anything any more. Returns whether there was something that the loop's users own.
  bool clear(keeper& kept) {
    bool is_found = !guests_.is_empty();
    linked_queue<work> owned;
    for (bool has_more = true; has_more;) {
      if (clear_begun(owned, kept)) is_found = true;
      // Last, because what it captures may be the others. One by one, because it may begin others.
      work* const next = owned.take();
      has_more = next != nullptr;
      if (has_more) next->act(loop_action::drop, kept);
    }
    is_found = is_found || !guests_.is_empty();
    for (auto* those : {&guests_, &registrations_}) {
      while (loop_guest* const left = those->take()) left->has_lost_loop = true;
    }
    return is_found;
  }

  /// Whether work has the loop to itself. For that work, which needs no lock for it.
  bool runs_alone() const noexcept { return gate_.is_alone(); }

  /// A call that runs the loop, from its begin to its end. Calls of one thread may nest.
  class call : loop_call<Platform> {
   public:
    call(loop_core& of, keeper& kept) noexcept : core_{of}, kept_{kept} { core_.gate_.enter(*this); }
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call() { core_.end(*this, kept_); }

    /// Whether work that has the loop to itself has made this call. Then it must return at once.
    bool is_within_alone() const noexcept { return core_.gate_.is_alone_in(*this); }

   private:
    friend loop_core;

    loop_core& core_;
    keeper& kept_;
  };

  /// Runs what is ready, as soon as there is something: once, or again and again.
  /// \param until  `at_once` for a call that does not sleep
  /// \param kept   has the lock
  /// \param goes_on  is called after each run: whether to go on
  template <class Token, class GoesOn>
  loop_end run(call& here, deadline until, const Token& token, keeper& kept, const GoesOn& goes_on) {
    deadline passed = at_once;
    for (bool has_collected = false;;) {
      if (is_stopped_ || token.stop_requested()) return leave_run(loop_end::stopped);
      if (!has_turn()) {
        // Otherwise a call that does not sleep might never end.
        if (until == at_once && has_collected) return leave_run(loop_end::timeout);
        collect(passed);
        has_collected = true;
      } else if (until != at_once && ++runs_ % most_runs == 0) {
        // What others wait for is looked at even if there is always something to run.
        collect(passed);
      }
      if (work* const next = take_next(here)) {
        next->phase = call_phase::running;
        if (!next->settles) settle();
        here.is_in_work = true;
        next->act(loop_action::run, kept);
        here.is_in_work = false;
        if (gate_.is_alone_in(here)) end_alone();
        if (!goes_on()) return leave_run(loop_end::ran);
        if (until != no_deadline && until != at_once && Platform::now() >= until) return leave_run(loop_end::timeout);
        continue;
      }
      if (passed >= until || (until != no_deadline && Platform::now() >= until)) return leave_run(loop_end::timeout);
      passed = sleep(until, token, kept);
    }
  }

  void stop() noexcept {
    is_stopped_ = true;
    wake_all();
  }
  void restart() noexcept {
    is_stopped_ = false;
    if (is_left_) outside_->wake();
  }
  bool is_stopped() const noexcept { return is_stopped_; }

  /// Makes one thread that sleeps look again. Needs no lock.
  void nudge() noexcept {
    if (!word_.count()) return;
    spin_.waking();
    word_.wake(1);
  }
  /// Makes all threads that sleep look again. Needs no lock.
  void wake_all() noexcept {
    word_.count_for_all();
    word_.wake(UINT32_MAX);
  }

  // ---- a sleep outside, with the lock held ----

  /// Sets what a thread sleeps in that leaves the loop. Only once.
  void set_outside(outside_sleep& told) noexcept {
    outside_ = &told;
    word_.set_outside(told);
    told.wake();
  }
  outside_sleep* outside() const noexcept { return outside_; }
  /// A thread has come back.
  void come_back() noexcept {
    if (outside_ == nullptr) return;
    stay();
    outside_->clear();
  }
  /// A thread leaves. It is notified when it must come back, possibly at once.
  void leave() noexcept {
    if (outside_ == nullptr) return;
    stay();
    is_left_ = true;
    ++idle_;
    while (!is_stopped_) {
      collect(at_once);
      arm();
      if (has_turn()) return outside_->wake();
      outside_->set(next_look(no_deadline));
      looks_again_outside_ = awaited_.must_look_again();
      word_.leave();
      if (!has_news()) return;
      word_.come_back();
    }
  }

 private:
  using spin = learning_spin<Platform, 1'000'000>;

  static constexpr std::uint32_t most_runs = 64;

  /// Returns whether its timer is the first one now.
  bool start(operation& added) noexcept {
    added.loop = this;
    added.phase = call_phase::waiting;
    added.open = added.waits.size();
    for (wait& one : added.waits) {
      one.number = next_number_++;
      awaited_.insert(one);
    }
    const bool is_first_timer = added.timer != nullptr && timers_.insert(*added.timer, added);
    if (added.is_stopped || added.waits.empty()) conclude(added, WaitStatus::stopped);
    return is_first_timer;
  }
  /// Drops all that the loop's users own. Returns whether there was anything.
  /// \param owned  gets what the loop owns
  bool clear_begun(linked_queue<work>& owned, keeper& kept) {
    bool is_found = false;
    while (gather()) {
      // One by one, because what drops the one may take the others out.
      while (work* const next = ready_.take()) {
        next->phase = call_phase::over;
        if (next->is_owned) {
          owned.push(*next);
        } else {
          is_found = true;
          next->act(loop_action::drop, kept);
        }
      }
    }
    return is_found;
  }
  /// Makes all that waits ready, although it is not over. Returns whether anything is ready.
  bool gather() noexcept {
    const auto end = [&](operation& of) {
      if (of.phase == call_phase::waiting) make_ready(of);
    };
    take_posted();
    ready_.take_later();
    while (work* const next = ready_.take_alone()) ready_.push(*next);
    gate_.open();
    awaited_.clear([&](wait& one) { end(one.part_of); });
    while (operation* const next = timers_.late(no_deadline)) {
      timers_.remove(*next->timer);
      end(*next);
    }
    return !ready_.is_empty();
  }
  /// What this thread would have found next, another one must find.
  loop_end leave_run(loop_end how) noexcept {
    if (idle_ != 0) {
      collect(at_once);
      settle();
    }
    return how;
  }

  // ---- work that has the loop to itself ----

  /// Whether this thread may run something that is ready.
  bool has_turn() const noexcept { return gate_.is_closed() ? gate_.may_begin() : !ready_.is_empty(); }
  work* take_next(const call& here) noexcept {
    if (!gate_.is_closed()) return ready_.take();
    if (!gate_.may_begin()) return nullptr;
    gate_.begin(here);
    return ready_.take_alone();
  }
  [[gnu::cold]] void end_alone() noexcept {
    gate_.end(ready_.has_alone());
    if (held_back_ != 0) ends_.wake_all();
  }
  void remove_ready(work& removed) noexcept {
    ready_.remove(removed);
    if (!gate_.is_closed() || ready_.has_alone()) return;
    gate_.open();
    settle();
  }
  void end(call& over, keeper& kept) noexcept {
    if (gate_.is_closed()) [[unlikely]]
      return end_at_gate(over, kept);
    gate_.leave(over);
  }
  [[gnu::cold]] void end_at_gate(call& over, keeper& kept) noexcept {
    ++held_back_;
    while (gate_.holds_back(over)) ends_.wait(kept);
    --held_back_;
    gate_.leave(over);
    // What asks for the loop may have waited for the work of this call.
    settle();
  }

  // ---- what becomes ready ----

  void collect(deadline passed) noexcept {
    word_.look();
    take_posted();
    awaited_.take_released();
    awaited_.look(ends_all());
    expire(passed);
    ready_.take_later();
  }
  /// Whether there is something that came without the lock.
  bool has_news() const noexcept { return !posted_.is_empty() || awaited_.has_released(); }

  void make_ready(work& of) noexcept {
    of.phase = call_phase::ready;
    ready_.push(of);
  }

  void take_posted() noexcept {
    for (work* rest = posted_.take_in_order(&work::next_posted); rest != nullptr;) {
      work* const next = rest->next_posted.load();
      // No work is run by two threads at a time.
      if (rest->phase == call_phase::running) {
        rest->is_posted_again = true;
      } else {
        make_ready(*rest);
      }
      rest = next;
    }
  }

  auto ends_all() noexcept {
    return [this](wait& least) { end_all(least); };
  }
  /// Waits of a timeline are over.
  void end_all(wait& least) noexcept {
    for (wait* rest = &least; rest != nullptr;) {
      wait* const next = rest->links.later;
      end(*rest);
      rest = next;
    }
  }
  /// A wait is over. It may be the end of its operation.
  void end(wait& over) noexcept {
    operation& of = over.part_of;
    if (of.phase != call_phase::waiting) return;
    if (--of.open != 0 && of.needs != loop_needs::any && over.is_reached) return;
    take_out(of);
    of.conclude_by(over);
    make_ready(of);
  }

  /// Ends an operation.
  /// \param otherwise  its status if the values that it waits for are neither reached nor lost
  void conclude(operation& of, WaitStatus otherwise) noexcept {
    take_out(of);
    of.conclude(otherwise);
    make_ready(of);
  }
  void take_out(operation& of) noexcept {
    if (of.open != 0) take_waits_out(of);
    if (of.timer != nullptr) timers_.remove(*of.timer);
  }
  [[gnu::noinline]] void take_waits_out(operation& of) noexcept {
    for (wait& one : of.waits) {
      if (one.is_registered) awaited_.remove(one);
    }
  }

  // ---- time ----

  void expire(deadline passed) noexcept {
    if (timers_.next() == no_deadline) return;
    const deadline time = Platform::now();
    const deadline now = passed > time ? passed : time;
    while (operation* const late = timers_.late(now)) conclude(*late, WaitStatus::timeout);
  }

  // ---- sleep ----

  /// No thread sleeps outside.
  void stay() noexcept {
    if (!std::exchange(is_left_, false)) return;
    looks_again_outside_ = false;
    --idle_;
    word_.come_back();
  }

  /// Spins, and then sleeps, until there may be something to run. Returns the time that has certainly passed.
  template <class Token>
  deadline sleep(deadline until, const Token& token, keeper& kept) noexcept {
    const deadline limit = next_look(until);
    typename spin::wait spinning{spin_.memory()};
    // While it spins, it looks at the values, and registers with no fence.
    const auto finds_something = [&] {
      kept.lock();
      collect(at_once);
      const bool is_found = is_stopped_ || has_turn();
      kept.unlock();
      return is_found;
    };
    kept.unlock();
    const bool is_found = spinning.spin(limit, finds_something, [&] { return token.stop_requested(); });
    kept.lock();
    if (is_found) return at_once;
    spinning.sleeps();
    const deadline passed = park(until, token, spinning, kept);
    spinning.wakes();
    return passed;
  }
  template <class Token>
  deadline park(deadline until, const Token& token, typename spin::wait& spinning, keeper& kept) noexcept {
    arm();
    const std::uint32_t now = word_.begin_sleep();
    // Another thread may have left this without counting a change.
    ready_.take_later();
    deadline passed = at_once;
    if (!has_news() && !has_turn() && !is_stopped_ && !token.stop_requested()) {
      const deadline limit = next_look(until);
      const std::size_t looks_again = awaited_.must_look_again() ? 1 : 0;
      const std::uint64_t round = look_round_;
      ++idle_;
      looking_again_ += looks_again;
      {
        const typename keeper::without lock(kept);
        spinning.parks();
        if (!word_.sleep(now, limit)) passed = limit;
      }
      if (round == look_round_) looking_again_ -= looks_again;
      --idle_;
    }
    word_.end_sleep();
    return passed;
  }
  /// Returns when a thread must look again that sleeps until `until` at most.
  deadline next_look(deadline until) noexcept {
    const deadline first = timers_.next();
    const deadline limit = first < until ? first : until;
    return awaited_.must_look_again() ? look_again_before(limit, Platform::now(), look_interval_) : limit;
  }
  /// Registers what is watched.
  void arm() noexcept {
    awaited_.arm(ends_all());
    if (awaited_.must_look_again()) note_look_interval();
  }
  /// Notes how often somebody must look. If that is more often than before, none of the sleepers does so.
  void note_look_interval() noexcept {
    const auto needed = awaited_.look_interval();
    if (needed < look_interval_) {
      ++look_round_;
      looking_again_ = 0;
      looks_again_outside_ = false;
    }
    look_interval_ = needed;
  }

  park_lock<Platform> lock_;
  loop_word<Platform> word_;
  loop_own_wakes<Platform> own_wakes_;
  lock_condition<Platform> ends_;
  push_stack<Platform, work> posted_;
  loop_ready<work> ready_;
  loop_gate<Platform> gate_;
  loop_registrations<Platform, wait> awaited_;
  loop_timers<operation> timers_;
  linked_queue<loop_guest> guests_;
  linked_queue<loop_guest> registrations_;
  std::uint64_t next_number_ = 0;
  std::uint32_t runs_ = 0;
  std::size_t idle_ = 0;           // threads that sleep, also outside
  std::size_t held_back_ = 0;      // calls that return when nothing is alone any more: mostly none, and then nobody
                                   // must be woken, which is a system call
  std::size_t looking_again_ = 0;  // of those that sleep on the word: until they must look again, in this round
  std::uint64_t look_round_ = 0;   // rises when others must look more often than the sleepers do
  deadline::duration look_interval_ = detail::look_interval;  // what must be looked at again, at least so often
  outside_sleep* outside_ = nullptr;
  bool is_left_ = false;              // a thread sleeps outside
  bool looks_again_outside_ = false;  // until it must look again
  bool is_stopped_ = false;
  spin spin_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOOP_DETAIL_LOOP_CORE_HPP
