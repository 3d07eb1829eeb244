// SPDX-License-Identifier: BSL-1.0
//
// Model checks of what processes share of a fence: the heap of waiters, and the signals and waits of attachments. Each
// thread stands for a process with one thread; some are killed at a moment of the checker's choice.
//
// That a process is dead, and that only one cleans up behind it, is known by locks of the kernel. Here a word says so,
// which the check writes when a thread has ended, and which one cleaner takes.
#include "support/attachments.hpp"
#include "support/model_check.hpp"
#include "support/mortal.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/shared_fence.hpp>
#include <tidemark/fence/wait.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace {

using namespace tidemark;
using namespace model::attachments;
using model::mortality;
using model::some_time;

using platform = mortal_platform;

/// [A28] [A30] [A37] One signaller, one waiter in another process. The waiter sleeps for ever if it is missed; where it
/// finds no slot, it looks again.
template <kind Kind, shape Shape>
struct handshake : model::suite<2>, processes<Kind, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->hand_over(0);
    } else {
      this->receive(1);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// [A19] [A20] Two waiters with different targets, and two signals.
template <kind Kind, shape Shape>
struct two_waiters : model::suite<3>, processes<Kind, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->hand_over(0);
      this->attached[0].signal(2);
    } else {
      this->receive(index, index);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// [A14] [trap 2] The deadline passes while the signal comes. Slots come back.
template <kind Kind, shape Shape>
struct timeout_against_pass : model::suite<3>, processes<Kind, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->hand_over(0);
    } else {
      const wait_status how = this->attached[index].wait(1, some_time);
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::timeout);
      if (how == wait_status::reached) MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// [A31] A signaller that the barrier does not reach pins the root before its first signal, while a waiter registers.
template <kind Kind, shape Shape>
struct pins_before_it_signals : model::suite<2>, processes<Kind, Shape, model::mortal<unregistered<checker>>> {
  void thread(unsigned index) {
    if (index == 0) {
      this->shared.heap.pin(5);
      this->hand_over(0);
      this->shared.heap.unpin(5);
    } else {
      this->receive(1);
    }
  }
  void after() {
    MODEL_REQUIRE(this->attached[0].notify_count() == 1);
    this->shared.require_idle();
  }
};

/// [A31] Whoever finds that a signaller has ended its pin comes after all that the signaller has looked at under it.
struct unpinned_after_its_last_look : model::suite<2>, processes<kind::progress, one_slot> {
  unpinned_after_its_last_look() { shared.heap.pin(5); }

  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(data.load() == 0);
      shared.heap.unpin(5);
    } else if (!shared.heap.is_pinned()) {
      data.store(1);
    }
  }
  void after() { shared.require_idle(); }
};

/// [A31] From the return of pin() on, the root is 0, whatever waiters come and go.
template <kind Kind, shape Shape>
struct pinned_at_once : model::suite<2>, processes<Kind, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->shared.heap.pin(5);
      MODEL_REQUIRE(this->shared.heap.monitored_value() == 0);
    } else {
      const detail::shared_ticket mine = this->shared.heap.add(2, 0, 7);
      MODEL_REQUIRE(this->shared.heap.withdraw(mine, 2));
    }
  }
};

/// [A14] A waiter does not miss a stop, with a slot or without one.
template <shape Shape>
struct stopped : model::suite<2>, processes<kind::fence, Shape> {
  model::stop_source<platform> source;
  payload before_stop;

  void thread(unsigned index) {
    if (index == 0) {
      before_stop.store(1);
      source.request_stop();
    } else {
      const model::stop_source<platform>::token token{source};
      MODEL_REQUIRE(this->attached[1].wait(1, no_deadline, token) == wait_status::stopped);
      MODEL_REQUIRE(before_stop.load() == 1);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// A signaller was killed behind its store. Whoever watches in the process of a waiter finds the value, and wakes it.
template <shape Shape>
struct value_is_told : model::suite<2>, processes<kind::progress, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      this->shared.value.store(1, std::memory_order_release);
      this->attached[1].look_for_all();
    } else {
      MODEL_REQUIRE(this->attached[1].wait(1) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// Sleepers of one process. The first one watches.
struct watched : model::with_mortals {
  struct nudge {
    void operator()() const noexcept {
      word->fetch_add(1, std::memory_order_release);
      platform::unpark(*word, 1);
    }
    platform::park_word* word;
  };
  using watch_type = detail::shared_watch<platform, nudge>;
  using sleeper = watch_type::sleeper;

  static constexpr std::chrono::seconds interval{1};
  static constexpr std::chrono::seconds patience{10};
  static constexpr deadline first_look{std::chrono::seconds{100}};
  static constexpr deadline second_look = first_look + interval;

  watch_type watch{interval, patience};
  std::array<platform::park_word, 3> words{0U, 0U, 0U};
  std::array<sleeper, 3> sleepers{sleeper{1, {&words[0]}}, sleeper{1, {&words[1]}}, sleeper{1, {&words[2]}}};
  payload data;

  watched() { watch.enter(sleepers[0]); }

  void look_and_leave() {
    MODEL_REQUIRE(watch.begin_look(sleepers[0], first_look));
    data.store(42);
    watch.leave(sleepers[0]);
  }
  /// Sleeps until it watches. Then it knows the time of the next look, or looks at once.
  void sleep_until_it_watches(unsigned index) {
    watch.enter(sleepers[index]);
    for (;;) {
      const std::uint32_t seen = words[index].load(std::memory_order_acquire);
      const deadline next = watch.next_look(sleepers[index]);
      if (next == second_look || next == deadline{}) break;
      MODEL_REQUIRE(next == second_look + patience || next == deadline{} + patience);
      platform::park(words[index], seen, no_deadline);
    }
    watch.leave(sleepers[index]);
    MODEL_REQUIRE(data.load() == 42);
    MODEL_REQUIRE(watch.next_look(sleepers[index]) == second_look + patience);
  }
};

/// The watcher leaves. The other sleeper takes over, also where it has asked before and is about to sleep.
struct watch_is_handed_over : model::suite<2>, watched {
  void thread(unsigned index) {
    if (index == 0) {
      look_and_leave();
    } else {
      sleep_until_it_watches(1);
    }
  }
};

/// The watcher leaves, and so does the next one, perhaps while it is handed the watch. A third sleeper takes over.
struct watch_is_handed_on : model::suite<3>, watched {
  void thread(unsigned index) {
    if (index == 0) {
      look_and_leave();
    } else if (index == 1) {
      watch.enter(sleepers[1]);
      watch.leave(sleepers[1]);
    } else {
      sleep_until_it_watches(2);
    }
  }
};

/// [A120] One thread of a process finds that nobody is left who may signal. Another one, which sleeps, learns of it.
template <shape Shape>
struct loss_is_told : model::suite<2>, processes<kind::progress, Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      this->shared.is_left.store(1, std::memory_order_release);
      this->attached[1].look_for_all();
    } else {
      MODEL_REQUIRE(this->attached[1].wait(1) == wait_status::lost);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// Two processes find bytes of 0, and make a heap of them at the same time. One is killed. A waiter of the other one is
/// found.
template <kind Kind, shape Shape>
struct made_of_zeros : model::suite<3>, processes<Kind, Shape> {
  made_of_zeros() { this->shared.fill_with_zeros(); }

  void thread(unsigned index) {
    if (index == 0) {
      mortality::may_die_within(40);
      this->shared.heap.prepare();
    } else if (index == 1) {
      this->shared.heap.prepare();
      this->hand_over(1);
    } else {
      this->shared.heap.prepare();
      this->receive(2);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// Of two processes that find bytes of 0, one may see that the other one has made a heap of them. It gets a slot, which
/// the root shows.
template <shape Shape>
struct made_by_another : model::suite<2>, processes<kind::fence, Shape> {
  made_by_another() { this->shared.fill_with_zeros(); }

  void thread(unsigned index) {
    this->shared.heap.prepare();
    if (index == 0) return;
    const detail::shared_ticket mine = this->shared.heap.add(2, 0, 7);
    MODEL_REQUIRE(mine.is_registered());
    MODEL_REQUIRE(this->shared.heap.monitored_value() <= 6);
    MODEL_REQUIRE(this->shared.heap.withdraw(mine, 2));
  }
  void after() { this->shared.require_idle(); }
};

/// A timeline that a block follows, and that was found lost by another thread: the last value is there.
struct latched_loss : model::suite<2>, model::with_mortals {
  struct source : waitable<source> {
    using platform = model::mortal<checker>;
    /// Whoever asks here has seen the last value. So the latch alone hands it to the others.
    bool is_lost() const noexcept { return lost.load(std::memory_order_acquire) != 0 && current_value() == 3; }
    std::uint64_t current_value() const noexcept { return value.load(std::memory_order_acquire); }
    bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }
    wait_status wait_with(std::uint64_t, deadline, never_stops) const noexcept { return wait_status::lost; }
    platform::atomic<std::uint32_t> lost{0};
    platform::atomic<std::uint64_t> value{0};
  } of;
  latched_fence<source> followed{of};

  void thread(unsigned index) {
    if (index == 0) {
      of.value.store(3, std::memory_order_relaxed);
      of.lost.store(1, std::memory_order_relaxed);
      MODEL_REQUIRE(followed.is_poisoned());
    } else if (followed.current_value() == UINT64_MAX) {
      MODEL_REQUIRE(followed.last_reached() == 3);
    }
  }
};

template <kind Kind, shape Shape>
struct waiter_is_killed : killed_waiter<processes<Kind, Shape>> {};
template <kind Kind, shape Shape>
struct signaller_is_killed : killed_signaller<processes<Kind, Shape>> {};

/// A signaller is killed. Whoever it has released without a wake is woken by somebody who looks at the value.
template <kind Kind, shape Shape>
struct released_by_the_dead : model::suite<3>, one_may_end<processes<Kind, Shape>> {
  void thread(unsigned index) {
    if (index == 0) {
      mortality::may_die_within(40);
      this->hand_over(0);
      this->ends();
    } else {
      // Its deadline stands for the watcher, which looks again.
      const wait_status how = this->attached[index].wait(1, some_time);
      if (how == wait_status::reached) MODEL_REQUIRE(this->data.load() == 42);
    }
  }
};

/// Somebody cleans up behind a dead waiter while a pass releases its leaf, and while another waiter comes and goes.
template <kind Kind, shape Shape>
struct cleaned_against_pass : model::suite<3>, processes<Kind, Shape> {
  detail::shared_ticket left = this->shared.heap.add(1, 0, 1);

  void thread(unsigned index) {
    if (index == 0) {
      this->shared.heap.clean(1);
    } else if (index == 1) {
      this->hand_over(1);
    } else {
      this->receive(2);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// The cleaner is killed, too, and another one begins again. A living waiter is not disturbed.
template <kind Kind, shape Shape>
struct cleaner_is_killed : model::suite<3>, one_may_end<processes<Kind, Shape>> {
  detail::shared_ticket left = this->shared.heap.add(1, 0, 1);

  void thread(unsigned index) {
    if (index == 0) {
      mortality::may_die_within(40);
      this->shared.heap.clean(1);
      this->ends();
    } else if (index == 1) {
      this->hand_over(1);
    } else {
      this->receive(2);
      this->clean_if_ended();
    }
  }
};

/// A slot changes hands, from a dead owner by a cleaner to a new one. The new one finds an empty leaf, and keeps its
/// own.
template <kind Kind, shape Shape>
struct slot_of_the_dead : model::suite<2>, processes<Kind, Shape> {
  detail::shared_ticket left = this->shared.heap.add(1, 0, 1);
  payload uses;

  void thread(unsigned index) {
    if (index == 0) {
      uses.store(1);
      this->shared.heap.clean(1);
    } else {
      const bool is_free = this->shared.heap.owner_of(0) == 0;
      const detail::shared_ticket mine = this->shared.heap.add(2, 0, 7);
      // Nobody else takes a slot, so one that is free can be armed at once.
      if (is_free) MODEL_REQUIRE(mine.is_registered());
      if (!mine.is_registered()) return;
      if (mine.slot == left.slot) MODEL_REQUIRE(uses.load() == 1);
      MODEL_REQUIRE(this->shared.heap.owner_of(mine.slot) == 2);
      MODEL_REQUIRE(this->shared.heap.monitored_word().load_value(std::memory_order_relaxed) <= 6);
      MODEL_REQUIRE(this->shared.heap.withdraw(mine, 2));
    }
  }
  void after() { this->shared.require_idle(); }
};

/// Whoever cleans up behind a process that lives empties leaves of sleepers: they sleep on. Nobody may do so, and this
/// check must fail.
struct cleaned_alive : model::suite<2>, processes<kind::fence, one_slot> {
  void thread(unsigned index) {
    if (index == 0) {
      shared.heap.clean(attached[1].number());
      attached[0].signal(1);
    } else {
      MODEL_REQUIRE(attached[1].wait(1) == wait_status::reached);
    }
  }
};

template <template <kind, shape> class Suite, shape Least, model::name Name>
void add_on_shapes(std::vector<model::check>& checks) {
  checks.push_back(model::make_check<Suite<kind::fence, Least>, Name + ".fence">());
  checks.push_back(model::make_check<Suite<kind::progress, Least>, Name + ".progress">());
  checks.push_back(model::make_check<Suite<kind::fence, two_levels>, Name + ".fence.two_levels">());
  checks.push_back(model::make_check<Suite<kind::progress, two_levels>, Name + ".progress.two_levels">());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  add_on_shapes<handshake, one_slot, "handshake">(checks);
  add_on_shapes<two_waiters, two_slots, "two_waiters">(checks);
  add_on_shapes<timeout_against_pass, two_slots, "timeout_against_pass">(checks);
  add_on_shapes<waiter_is_killed, two_slots, "waiter_is_killed">(checks);
  add_on_shapes<signaller_is_killed, one_slot, "signaller_is_killed">(checks);
  add_on_shapes<released_by_the_dead, two_slots, "released_by_the_dead">(checks);
  add_on_shapes<cleaned_against_pass, two_slots, "cleaned_against_pass">(checks);
  add_on_shapes<cleaner_is_killed, two_slots, "cleaner_is_killed">(checks);
  checks.push_back(model::make_check<slot_of_the_dead<kind::fence, one_slot>, "slot_of_the_dead">());
  checks.push_back(model::make_check<slot_of_the_dead<kind::fence, two_levels>, "slot_of_the_dead.two_levels">());
  checks.push_back(model::make_check<handshake<kind::fence, no_slot>, "beyond_the_slots">());
  checks.push_back(model::make_check<pins_before_it_signals<kind::progress, one_slot>, "pins_before_it_signals">());
  checks.push_back(
      model::make_check<pins_before_it_signals<kind::progress, two_levels>, "pins_before_it_signals.two_levels">());
  checks.push_back(model::make_check<pinned_at_once<kind::progress, one_slot>, "pinned_at_once">());
  checks.push_back(model::make_check<pinned_at_once<kind::progress, two_levels>, "pinned_at_once.two_levels">());
  checks.push_back(model::make_check<unpinned_after_its_last_look, "unpinned_after_its_last_look">());
  checks.push_back(model::make_check<stopped<one_slot>, "stopped">());
  checks.push_back(model::make_check<stopped<no_slot>, "stopped_without_slot">());
  checks.push_back(model::make_check<value_is_told<one_slot>, "value_is_told">());
  checks.push_back(model::make_check<value_is_told<no_slot>, "value_is_told_without_slot">());
  checks.push_back(model::make_check<loss_is_told<one_slot>, "loss_is_told">());
  checks.push_back(model::make_check<loss_is_told<no_slot>, "loss_is_told_without_slot">());
  checks.push_back(model::make_check<watch_is_handed_over, "watch_is_handed_over">());
  checks.push_back(model::make_check<watch_is_handed_on, "watch_is_handed_on">());
  checks.push_back(model::make_check<latched_loss, "latched_loss">());
  checks.push_back(model::make_check<made_of_zeros<kind::fence, one_slot>, "made_of_zeros">());
  checks.push_back(model::make_check<made_of_zeros<kind::fence, two_levels>, "made_of_zeros.two_levels">());
  checks.push_back(model::make_check<made_by_another<one_slot>, "made_by_another">());
  checks.push_back(model::make_check<made_by_another<two_levels>, "made_by_another.two_levels">());
  checks.push_back(model::make_check<cleaned_alive, "cleaned_alive">());
  return model::run(argc, argv, std::move(checks));
}
