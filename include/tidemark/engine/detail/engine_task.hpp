// SPDX-License-Identifier: BSL-1.0
//
// engine_task: a queue of an engine as work of the engine's loop: its turns, and what it does between them.
//
//   rests ---(doorbell)---> ready ---> has its turn ---(a value is missing)---> parked on the loop ---> ready
//     ^                                   |   |---(its quantum is over)--------> ready, behind the others
//     |-----(nothing is to be executed)---|   |---(it is paused)---------------> held, until it is resumed
//                                             |---(an engine-wide run begins)--> ready, to run alone (loop_gate.hpp)
//
// An engine-wide run begins in a turn of its own, for which the loop lets no other work begin, and which ends with the
// run. Nobody waits within a turn for that: the thread goes on, and the last thread whose work is over has the turn. So
// two such runs come one after the other.
//
// Why no submission is lost
// -------------------------
// The submitter publishes commands, and then sets the doorbell (QE3). If it was set before, the queue has not come to
// rest, and will look again. Otherwise the submitter gives the queue to the loop. A queue that finds nothing to execute
// clears the doorbell (QE4) and looks once more. Both are exchanges of one word. If (QE3) comes before (QE4), the queue
// finds the commands. If it comes after, the submitter finds the doorbell clear.
//
// Why nobody looks at a fence once the progress is lost
// -----------------------------------------------------
// A queue looks at a fence in its turn. While it is parked, the loop does; while it is held, the domain. abort() marks
// the queue with the loop's lock. If the queue has its turn, the end of the turn sees the mark with the lock, and loses
// the progress. If not, abort() ends the wait with the lock, and loses the progress itself. Before that, either of them
// takes a wait back that a domain knows. A turn that begins later sees the mark first.
#ifndef TIDEMARK_ENGINE_DETAIL_ENGINE_TASK_HPP
#define TIDEMARK_ENGINE_DETAIL_ENGINE_TASK_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "../../fence/awaited.hpp"
#include "../../log/ids.hpp"
#include "../../loop/tools/loop_operation.hpp"
#include "../../loop/wait_loop.hpp"
#include "../../platform/assert.hpp"
#include "../../platform/platform.hpp"
#include "../../platform/tools/user_call.hpp"
#include "command_list.hpp"

namespace tidemark::detail {

/// The progress of a queue: what names the timeline in reports, how logs know it, and what it has come to.
struct engine_task_progress {
  const void* at;
  fence_id id;
  std::uint64_t value;
};

/// What a queue does for its commands, on the thread that has its turn, and to give itself up. No virtual functions: a
/// queue whose destruction begins may have a turn. `entry` is the log_reservation of a command, or null.
struct engine_task_calls {
  std::uint64_t (*begin_stall)(void* self, fence_id id, std::uint64_t value) noexcept;
  void (*end_wait)(void* self, fence_id id, std::uint64_t value, std::uint64_t observed, const void* entry) noexcept;
  void (*cancel)(void* self, command_kind kind, fence_id id, std::uint64_t value, const void* entry) noexcept;
  void (*refuse)(void* self) noexcept;  // what is submitted from now on
  void (*lose)(void* self) noexcept;    // its progress
  engine_task_progress (*progress)(void* self) noexcept;
};

template <platform Platform>
class engine_task : protected core_of_loop<Platform>::operation {
 public:
  using core = core_of_loop<Platform>;
  using command = queue_command<Platform>;
  using commands = command_list<Platform>;

  engine_task(const engine_task&) = delete;
  engine_task& operator=(const engine_task&) = delete;

  // ---- any thread ----

  void pause() noexcept {
    const keeper kept(core_.lock());
    set(paused);
  }
  void resume() noexcept { clear(paused); }
  /// Changes which queues have their turns before and after this one.
  void set_rank(std::uint8_t rank_of_turns) noexcept {
    const keeper kept(core_.lock());
    core_.set_rank(*this, existing(rank_of_turns));
  }
  static std::uint8_t existing(std::uint8_t rank_of_turns) noexcept {
    TIDEMARK_ASSERT(rank_of_turns < loop_ranks, "a queue has a priority that does not exist");
    return rank_of_turns < loop_ranks ? rank_of_turns : std::uint8_t{loop_ranks - 1};
  }
  std::uint8_t rank_of_turns() const noexcept {
    const keeper kept(core_.lock());
    return this->rank;
  }
  /// Gives the queue up: it drops what it has not executed. Its progress is lost once it looks at no fence any more.
  /// \param others  a lock that the caller has, and that is given up, too, while code of the user may run. The queue
  ///                stays until it is taken again; null if there is none
  void abort(typename core::keeper* others = nullptr) noexcept {
    calls_.refuse(self_);
    keeper kept(core_.lock());
    set(aborted | owes_loss);
    if (this->phase == call_phase::running) return;
    bool goes_on = core_.retract(*this) || std::exchange(is_held_, false);
    if (this->phase == call_phase::waiting) goes_on = core_.cancel(*this);
    // As in a turn, so that there is no other one, and the queue stays until the waiters know.
    this->phase = call_phase::running;
    runner_ = Platform::current_thread();
    lose(kept, others);
    core_.has_run(*this);
    if (goes_on) {
      core_.run_later(*this);
      core_.nudge();
    }
    tell_of_end();
  }

  // ---- with the loop's lock ----

  /// Returns whether the queue stands still, so that its commands can be looked at.
  bool stands() const noexcept { return this->phase != call_phase::running; }
  /// Returns whether the queue executes nothing any more.
  bool is_given_up() const noexcept { return (look_at_control() & aborted) != 0; }
  /// Calls `act` with each command that is not executed.
  template <class Act>
  void for_each_pending(const Act& act) {
    commands_.for_each(act);
  }
  /// Returns what names the timeline of a wait or a signal: the same for the same timeline.
  static const void* timeline_at(command& of) noexcept {
    return of.kind == command_kind::wait ? awaited_of(of).operations->timeline(of.fence) : of.fence;
  }
  engine_task_progress progress_of_queue() const noexcept { return calls_.progress(self_); }
  /// Returns what the fence has come to for which a command waits.
  static std::uint64_t value_of(command& wait) noexcept {
    if (wait.kind != command_kind::wait) return wait.calls.load()->look(wait).value;
    return awaited_of(wait).look().value;
  }

  std::size_t place = 0;  // among the queues of the engine, under the lock of these

 protected:
  using operation = typename core::operation;
  using keeper = typename core::keeper;
  using operations = wait_operations<Platform>;

  /// \param quantum  how many commands it executes in one turn
  /// \param self     what the commands and `calls` are called with
  engine_task(core& on, std::uint8_t rank_of_turns, unsigned quantum, void* self,
              const engine_task_calls& calls) noexcept
      : operation(loop_needs::any, &act),
        core_{on},
        wait_({nullptr, nullptr, 0}, *this, &core::on_release),
        quantum_{quantum},
        self_{self},
        calls_{calls} {
    this->waits = std::span{&wait_, 1};
    this->rank = existing(rank_of_turns);
    this->settles = true;
  }
  ~engine_task() = default;

  /// Must be called before the queue is destroyed. Waits for the end of a turn; there is no other one.
  void stop_turns() noexcept {
    keeper kept(core_.lock());
    set(aborted);
    while (this->phase == call_phase::running) {
      TIDEMARK_ASSERT(runner_ != Platform::current_thread(), "a queue was destroyed by its own work");
      is_awaited_ = true;
      core_.wait_for_end(kept);
    }
    if (!core_.retract(*this) && this->phase == call_phase::waiting) static_cast<void>(core_.cancel(*this));
    is_held_ = false;
  }
  /// Gives up what was submitted and not executed, after the last turn, when nobody else looks at the commands. The
  /// domain of the first one may know it as a wait that it holds, and may still let the queue go.
  void give_up_rest() noexcept {
    while (command* const first = commands_.front()) give_up(*first);
  }

  /// Gives the queue up in its own turn, which then drops the rest and loses the progress.
  void give_self_up() noexcept {
    calls_.refuse(self_);
    set(aborted | owes_loss);
  }

  /// Returns whether a wait is over, and logs or ends what that means.
  /// \param now    the state of the fence, at which it has just looked
  /// \param entry  see engine_task_calls
  bool gets_past(command_kind kind, fence_id id, std::uint64_t target, const fence_state& now,
                 const void* entry) noexcept {
    if (now.has_reached(target)) {
      calls_.end_wait(self_, id, target, std::exchange(is_stalled_, false) ? observed_ : 0, entry);
      return true;
    }
    if (now.is_poisoned) {
      give_self_up();
      calls_.cancel(self_, kind, id, target, entry);
      return true;
    }
    if (!std::exchange(is_stalled_, true)) observed_ = calls_.begin_stall(self_, id, target);
    return false;
  }

  /// Executes a wait that is held: gets past it, or lets the queue stand still until the wait is over. Then it is
  /// executed again.
  template <class Wait>
  void get_past_or_hold(Wait& one, fence_id id, std::uint64_t target, const void* entry) noexcept {
    is_known_ = false;
    if (gets_past(command_kind::held, id, target, one.look(), entry)) return;
    set(held);  // before anybody may take it back
    is_known_ = one.begin(this, [](void* self) noexcept { static_cast<engine_task*>(self)->clear(held); });
    is_unfinished_ = is_known_;
    if (is_unfinished_) return;
    // (QE12): relaxed alone, like (QE9): nobody else has learnt of it.
    control_.fetch_and(~held, std::memory_order_relaxed);
    static_cast<void>(gets_past(command_kind::held, id, target, one.look(), entry));
  }
  /// Executes a wait that looks at the timeline by itself: gets past it, or lets the queue park.
  void get_past_or_park(fence_id id, const awaited_target<operations>& to, const void* entry) noexcept {
    is_unfinished_ = !gets_past(command_kind::looked, id, to.target, to.look(), entry);
    if (is_unfinished_) wait_.to = to;
  }

  /// Returns what a command that is short must call before code of the user runs in it.
  auto before_user_code() noexcept {
    return [this]() noexcept { settle(); };
  }

  /// Executes the command that begins an unbroken run: lets the turn go on with the whole run.
  void begin_run() noexcept { is_unfinished_ = true; }

  /// Tells the executor that commands were published.
  void ring() noexcept {
    // (QE3): acq_rel. Release, pairs with (QE4): the queue finds what was published. Acquire, pairs with (QE4): the
    // links of its last turn are free. Not stronger: no other word is involved.
    if (doorbell_.exchange(1, std::memory_order_acq_rel) == 0) core_.post(*this);
  }

  commands commands_;

 private:
  enum class turn_end { rests, parks, goes_on, is_held, needs_engine };

  static constexpr unsigned most_futile = 4;   // Then it lingers
  static constexpr unsigned tried_again = 16;  // only at each sixteenth wait.
  static constexpr unsigned most_looks = [] {
    if constexpr (requires { Platform::spin_looks(); }) {
      return 1U;  // under a model checker
    } else {
      return 64U;
    }
  }();

  static constexpr std::uint32_t paused = 1;
  static constexpr std::uint32_t aborted = 2;
  static constexpr std::uint32_t held = 4;
  static constexpr std::uint32_t owes_loss = 8;  // of its progress

  static void act(typename core::work& of, loop_action what, keeper& kept) {
    auto& self = static_cast<engine_task&>(static_cast<operation&>(of));
    if (what == loop_action::drop) {
      self.phase = call_phase::over;
      return;
    }
    self.runner_ = Platform::current_thread();
    turn_end end = turn_end::rests;
    do {
      self.may_put_off_ = self.core_.has_sleepers();
      self.owes_ = self.core_.settle_in_part();
      {
        const typename keeper::without lock(kept);
        end = self.take_turn();
      }
      if (std::exchange(self.puts_off_, false)) self.core_.drop_wakes();
    } while (end == turn_end::parks && self.may_linger());
    if ((self.look_at_control() & owes_loss) != 0) self.lose(kept);
    self.after_turn(end);
    self.tell_of_end();
  }
  /// Loses the progress. In a turn, when the queue waits for nothing any more but for what a domain knows.
  void lose(keeper& kept, keeper* others = nullptr) noexcept {
    // Callables may run because of the loss.
    core_.make_up_for_wakes();
    core_.settle();
    // (QE14): relaxed alone, like (QE9).
    control_.fetch_and(~owes_loss, std::memory_order_relaxed);
    const typename keeper::without lock(kept);
    std::optional<typename keeper::without> other_lock;
    if (others != nullptr) other_lock.emplace(*others);
    if (is_known_) give_up(*commands_.front());
    calls_.lose(self_);
  }
  void tell_of_end() noexcept {
    if (std::exchange(is_awaited_, false)) core_.ends().wake_all();
  }
  void after_turn(turn_end end) noexcept {
    switch (end) {
      case turn_end::rests:
        return core_.has_run(*this);
      case turn_end::parks:
        // Otherwise it would wait although it was aborted meanwhile.
        return (look_at_control() & aborted) != 0 ? core_.run_later(*this) : core_.begin_in_run(*this);
      case turn_end::goes_on:
        return core_.run_later(*this);
      case turn_end::needs_engine:
        return (look_at_control() & aborted) != 0 ? core_.run_later(*this) : core_.run_alone(*this);
      default:  // is_held
        this->phase = call_phase::over;
        is_held_ = true;
        if (!stands_still(look_at_control())) let_go();
    }
  }
  /// Whether a queue whose value is missing is to wait for it in its turn for a moment: if its thread has nothing else
  /// to run, and its values come at once now and then.
  bool may_linger() noexcept {
    if (!core_.finds_nothing()) return false;
    ++futile_;
    lingers_ = futile_ <= most_futile || futile_ % tried_again == 0;
    return lingers_;
  }
  /// Looks at the value for about a microsecond, and gets past the wait if it comes. So a hand-over between two threads
  /// that are busy takes little longer than a cache line takes from one to the other. Once a value has come in this
  /// way, the queue lingers at its next waits, too, at most until its quantum is over.
  bool gets_past_soon(command& first) noexcept {
    commands_.give_back();
    if (!lingers_) return false;
    for (unsigned looks = 0; looks < most_looks; ++looks) {
      const fence_state now = wait_.to.look();
      if (now.is_over(wait_.to.target)) {
        futile_ = 0;
        return gets_past(first.kind, first.id, wait_.to.target, now, first.entry());
      }
      Platform::pause();
    }
    return lingers_ = false;
  }
  static bool stands_still(std::uint32_t control) noexcept {
    return (control & aborted) == 0 && (control & (paused | held)) != 0;
  }
  void clear(std::uint32_t what) noexcept {
    const keeper kept(core_.lock());
    // (QE9): relaxed alone: the lock orders it.
    control_.fetch_and(~what, std::memory_order_relaxed);
    let_go();
  }
  /// Gives a queue that is held another turn.
  void let_go() noexcept {
    if (!std::exchange(is_held_, false)) return;
    core_.run_later(*this);
    core_.nudge();
  }

  turn_end take_turn() noexcept {
    for (unsigned executed = 0; executed < quantum_;) {
      const std::uint32_t control = look_at_control();
      if (stands_still(control)) return turn_end::is_held;
      command* const first = commands_.front();
      if (first == nullptr) {
        commands_.give_back();
        if (comes_to_rest()) return turn_end::rests;
        continue;
      }
      if ((control & aborted) != 0) {
        settle();
        give_up(*first);
        ++executed;
        continue;
      }
      if (!execute(*first)) {
        if (first->kind == command_kind::held) return turn_end::is_held;
        if (begins_run(first->kind)) {
          if (first->kind == command_kind::alone && first->value.load() != 0) return execute_alone(*first);
          executed += execute_run(*first);
          continue;
        }
        if (!gets_past_soon(*first)) return turn_end::parks;
      }
      first->drop();
      commands_.pop();
      ++executed;
    }
    return turn_end::goes_on;
  }
  /// Executes an engine-wide run if the turn has the engine to itself. Otherwise the queue needs another turn.
  [[gnu::cold]] turn_end execute_alone(command& begins) noexcept {
    if (!core_.runs_alone()) return turn_end::needs_engine;
    // Nobody can run what the signals release before the run is over.
    if (!std::exchange(puts_off_, true)) core_.put_wakes_off();
    execute_run(begins);
    return turn_end::goes_on;
  }
  /// Executes an unbroken run, up to its end or to an abort. Nothing else ends it: there is no wait in it. Returns how
  /// much of the quantum it takes.
  [[gnu::cold]] unsigned execute_run(command& begins) noexcept {
    const std::uint64_t size = begins.value.load();
    begins.drop();
    commands_.pop();
    for (std::uint64_t left = size; left != 0; --left) {
      command& first = *commands_.front();
      if ((look_at_control() & aborted) != 0) {
        give_up(first);
        continue;
      }
      first.calls.load()->run(first, self_);
      first.drop();
      commands_.pop();
    }
    return static_cast<unsigned>(std::min<std::uint64_t>(size + 1, quantum_));
  }
  /// Says that the first command will never be executed, and drops it.
  [[gnu::cold]] void give_up(command& first) noexcept {
    calls_.cancel(self_, first.kind, first.id, first.value.load(), first.entry());
    first.drop();
    commands_.pop();
    is_known_ = false;
  }
  /// Returns false if the command is a wait whose value is missing.
  bool execute(command& first) noexcept {
    if (first.kind != command_kind::wait) {
      if (may_put_off_) put_off_until_work(first.kind);
      first.calls.load()->run(first, self_);
      return !std::exchange(is_unfinished_, false);
    }
    const awaited_target<operations> to = awaited_of(first);
    if (gets_past(command_kind::wait, first.id, to.target, to.look(), nullptr)) return true;
    wait_.to = to;
    return false;
  }
  /// As long as this thread only makes signals, threads that sleep are not woken for what these release, and nothing is
  /// registered for them: mostly its queue waits next, and then it looks at the values and goes on itself. Work may
  /// take long, so that is settled before it begins. So may code of the user that runs in a signal.
  void put_off_until_work(command_kind of) noexcept {
    if (of == command_kind::looked) return;
    if (of != command_kind::signal && of != command_kind::finish) return settle();
    if (!std::exchange(puts_off_, true)) core_.put_wakes_off();
  }
  void settle() noexcept {
    if (std::exchange(puts_off_, false)) core_.make_up_for_wakes();
    if (!std::exchange(owes_, false)) return;
    const keeper kept(core_.lock());
    core_.settle();
  }
  /// Returns what a command waits for that is a `wait`.
  static awaited_target<operations> awaited_of(command& wait) noexcept {
    return {wait.fence, wait.template kept<const operations*>(), wait.value.load()};
  }
  /// Returns false if there is something to execute after all.
  bool comes_to_rest() noexcept {
    // (QE4): acq_rel, pairs with (QE3), for the reasons given there.
    doorbell_.exchange(0, std::memory_order_acq_rel);
    if (commands_.front() == nullptr) return true;
    // (QE11): relaxed alone: what was published is found already. If a submitter has set the doorbell meanwhile, it has
    // given the queue to the loop.
    return doorbell_.exchange(1, std::memory_order_relaxed) != 0;
  }

  std::uint32_t look_at_control() const noexcept {
    // (QE8): acquire, pairs with (QE10): what a queue drops finds what was done before abort(). Not stronger: beside
    // that it only ends a turn early, and whatever follows is done with the lock.
    return control_.load(std::memory_order_acquire);
  }
  void set(std::uint32_t what) noexcept {
    // (QE10): release, pairs with (QE8). Not stronger, like (QE8).
    control_.fetch_or(what, std::memory_order_release);
  }

  core& core_;
  typename operation::wait wait_;
  typename Platform::template atomic<std::uint32_t> doorbell_{0};  // 0: it rests
  typename Platform::template atomic<std::uint32_t> control_{0};
  const unsigned quantum_;
  void* const self_;
  const engine_task_calls& calls_;
  unsigned futile_ = 0;  // waits at which it was to linger, since a value came
  bool lingers_ = false;
  std::uint64_t observed_ = 0;  // when its wait was seen to stall
  bool is_stalled_ = false;
  bool is_held_ = false;
  bool is_unfinished_ = false;  // the command of this turn: its value is missing, or others must follow it at once
  bool is_known_ = false;       // a domain knows the first command, and may let the queue go
  bool is_awaited_ = false;
  bool may_put_off_ = false;  // in this turn, as the next two
  bool owes_ = false;         // registrations
  bool puts_off_ = false;
  decltype(Platform::current_thread()) runner_{};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_ENGINE_DETAIL_ENGINE_TASK_HPP
