// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the fences. Each hands a plain field (`var`) from the signaller to the waiter, so that a missing
// order shows as a race, and a wake-up that is lost shows as a deadlock. Times and stops are those of the checker.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <new>

namespace {

using tidemark::wait_status;

using model::payload;
using model::require_idle;
using model::require_idle_after_poison;
using model::some_time;
using model::stop_source;

/// [A28] [A30] [A31] [A35] [A37] One signaller, one waiter: whether it comes too late, spins or sleeps, it returns with
/// the data. Where signals that took the slow path are counted, there is one at most (A7).
template <class Timeline>
struct one_signaller_one_waiter : model::suite<2> {
  Timeline timeline;
  payload<Timeline> data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      MODEL_REQUIRE(timeline.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    if constexpr (Timeline::options.statistics) MODEL_REQUIRE(timeline.notify_count() <= 1);
    require_idle(timeline);
  }
};

/// [A3] [A37] The value is advanced one by one; the waiter needs the last value, and the data of both.
template <class Timeline>
struct signalled_one_by_one : model::suite<2> {
  Timeline timeline;
  payload<Timeline> data[2];

  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned i = 0; i < 2; ++i) {
        data[i].store(7);
        MODEL_REQUIRE(timeline.signal_next() == i + 1);
      }
    } else {
      MODEL_REQUIRE(timeline.wait(2) == wait_status::reached);
      MODEL_REQUIRE(data[0].load() + data[1].load() == 14);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A19] [A20] [A37] Two waiters with different targets, signalled one after the other.
template <class Timeline>
struct one_signaller_two_waiters : model::suite<3> {
  Timeline timeline;
  payload<Timeline> data[2];

  void thread(unsigned index) {
    if (index == 0) {
      data[0].store(1);
      timeline.signal(1);
      data[1].store(2);
      timeline.signal(2);
    } else {
      MODEL_REQUIRE(timeline.wait(index) == wait_status::reached);
      for (unsigned i = 0; i < index; ++i) MODEL_REQUIRE(data[i].load() == static_cast<int>(i) + 1);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A29] [A37] Two signallers race; the waiter needs both values, and the data of both.
template <class Timeline>
struct two_signallers_one_waiter : model::suite<3> {
  Timeline timeline;
  payload<Timeline> data[2];

  void thread(unsigned index) {
    if (index < 2) {
      data[index].store(7);
      timeline.signal_next();
    } else {
      MODEL_REQUIRE(timeline.wait(2) == wait_status::reached);
      MODEL_REQUIRE(data[0].load() + data[1].load() == 14);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A29] [A37] Two signallers of different values, two waiters. A late lower value hands nothing over and harms nobody
/// (trap 13).
template <class Timeline>
struct two_signallers_two_waiters : model::suite<4> {
  Timeline timeline;
  payload<Timeline> data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(7);
      timeline.signal(2);
    } else if (index == 1) {
      timeline.signal(1);
    } else {
      MODEL_REQUIRE(timeline.wait(index - 1) == wait_status::reached);
      if (index == 3) MODEL_REQUIRE(data.load() == 7);
    }
  }
  void after() {
    MODEL_REQUIRE(timeline.current_value() == 2);
    require_idle(timeline);
  }
};

/// [A14] A deadline against a claim: reached brings the data, a timeout takes the waiter off the heap (trap 2).
template <class Timeline>
struct timeout_against_claim : model::suite<2> {
  Timeline timeline;
  payload<Timeline> data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      const wait_status status = timeline.wait_until(1, some_time);
      MODEL_REQUIRE(status == wait_status::reached || status == wait_status::timeout);
      if (status == wait_status::reached) MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A14] A time-out of the steady clock does not end a wait for a point of the system clock, which may have been set back:
/// that is a day away, whatever the checker's time-outs say.
template <class Timeline>
struct system_clock_decides : model::suite<2> {
  Timeline timeline;
  payload<Timeline> data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      const auto tomorrow = std::chrono::system_clock::now() + std::chrono::hours{24};
      MODEL_REQUIRE(timeline.wait_until(1, tomorrow) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A14] A stop request against a claim: one of the two ends the wait, and a waiter that was claimed has the data.
template <class Timeline>
struct stop_against_claim : model::suite<3> {
  Timeline timeline;
  payload<Timeline> data;
  stop_source<typename Timeline::platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else if (index == 1) {
      source.request_stop();
    } else {
      const wait_status status = timeline.wait(1, typename stop_source<typename Timeline::platform>::token{source});
      MODEL_REQUIRE(status == wait_status::reached || status == wait_status::stopped);
      if (status == wait_status::reached) MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle(timeline); }
};

/// A stop request is never missed by a waiter that nobody signals.
template <class Timeline>
struct stop_alone : model::suite<2> {
  Timeline timeline;
  stop_source<typename Timeline::platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      source.request_stop();
    } else {
      const wait_status status = timeline.wait(1, typename stop_source<typename Timeline::platform>::token{source});
      MODEL_REQUIRE(status == wait_status::stopped);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A28] The only slot is used twice, the second time perhaps while the first claimer still works on it (trap 10, ABA).
template <class Timeline>
struct slot_used_again : model::suite<2> {
  Timeline timeline;
  payload<Timeline> data[2];

  void thread(unsigned index) {
    if (index == 0) {
      data[0].store(1);
      timeline.signal(1);
      data[1].store(2);
      timeline.signal(2);
    } else {
      for (unsigned target = 1; target <= 2; ++target) {
        MODEL_REQUIRE(timeline.wait(target) == wait_status::reached);
        MODEL_REQUIRE(data[target - 1].load() == static_cast<int>(target));
      }
    }
  }
  void after() { require_idle(timeline); }
};

/// [A28] One slot, two waiters: one of them goes through the overflow lane.
template <class Timeline>
struct overflow_lane : model::suite<3> {
  Timeline timeline;
  payload<Timeline> data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      MODEL_REQUIRE(timeline.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A120] Poison releases a waiter whose value never comes.
template <class Timeline>
struct poison_alone : model::suite<2> {
  Timeline timeline;
  payload<Timeline> reason;

  void thread(unsigned index) {
    if (index == 0) {
      reason.store(5);
      timeline.poison();
    } else {
      MODEL_REQUIRE(timeline.wait(1) == wait_status::lost);
      MODEL_REQUIRE(reason.load() == 5);
    }
  }
  void after() {
    MODEL_REQUIRE(timeline.current_value() == UINT64_MAX);
    require_idle_after_poison(timeline);
  }
};

/// [A120] Poison beside a signal: the value that was reached stays reached, the one beyond it is lost (trap 34).
template <class Timeline>
struct poison_against_signal : model::suite<3> {
  Timeline timeline;
  payload<Timeline> data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else if (index == 1) {
      timeline.poison();
    } else {
      const wait_status status = timeline.wait(1);
      MODEL_REQUIRE(status == wait_status::reached || status == wait_status::lost);
      if (status == wait_status::reached) MODEL_REQUIRE(data.load() == 42);
      MODEL_REQUIRE(timeline.wait(2) == wait_status::lost);
    }
  }
  void after() {
    // In memory of the caller the signal may have come too late to be found again.
    const bool is_found = Timeline::options.storage == tidemark::value_storage::own;
    const wait_status status = timeline.wait(1);
    MODEL_REQUIRE(status == wait_status::reached || (status == wait_status::lost && !is_found));
    require_idle_after_poison(timeline);
  }
};

/// A stop in the overflow lane wakes all who share it, since nobody knows which of them is meant: the one that was stopped
/// is among them, and signals for the other. (The checker wakes the other one first.)
template <class Timeline>
struct stop_of_one_of_two : model::suite<3> {
  Timeline timeline;
  payload<Timeline> data;
  stop_source<typename Timeline::platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      source.request_stop();
    } else if (index == 2) {
      const wait_status status = timeline.wait(1, typename stop_source<typename Timeline::platform>::token{source});
      MODEL_REQUIRE(status == wait_status::stopped);
      data.store(42);
      timeline.signal(1);
    } else {
      MODEL_REQUIRE(timeline.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A120] A value that was reached before the poison stays reached, with its data, wherever the value then is.
template <class Timeline>
struct poison_after_signal : model::suite<2> {
  Timeline timeline;
  payload<Timeline> data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
      timeline.poison();
      timeline.signal(2);
    } else {
      MODEL_REQUIRE(timeline.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    MODEL_REQUIRE(timeline.wait(2) == wait_status::reached);
    MODEL_REQUIRE(timeline.wait(3) == wait_status::lost);
    require_idle_after_poison(timeline);
  }
};

// The build makes one program for each form of the barriers.
using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using model::heap_shape;

/// The fences of a shape, with waiters who look `Spins` times before they register.
template <heap_shape Shape, unsigned Spins, bool Statistics>
struct kinds {
  static constexpr tidemark::fence_options options = model::options_of(Shape, Spins, Statistics);
  using fence = model::shaped<tidemark::basic_fence<platform, options>, Shape>;
  using progress = model::shaped<tidemark::basic_progress_fence<platform, options>, Shape>;
};

/// Fences whose value lies in memory of the caller.
template <class Platform>
struct memory_of_caller {
  using word = typename Platform::template atomic<std::uint64_t>;
  alignas(word) std::array<std::byte, sizeof(word)> bytes;
  ~memory_of_caller() { std::launder(reinterpret_cast<word*>(bytes.data()))->~word(); }
};
template <template <class, tidemark::fence_options> class Fence>
struct placed
    : memory_of_caller<platform>,
      Fence<platform, {.capacity = 1, .arity = 2, .max_spins = 0, .storage = tidemark::value_storage::caller}> {
  using base = Fence<platform, {.capacity = 1, .arity = 2, .max_spins = 0, .storage = tidemark::value_storage::caller}>;
  placed() : base{this->bytes.data()} {}
  static std::uint64_t idle_value() { return platform::heavy_barrier_available() ? tidemark::no_waiter : 0; }
};

template <template <class> class Scenario, heap_shape Shape, model::name Name, unsigned Spins = 0,
          bool Statistics = false>
void add_fence(std::vector<model::check>& checks) {
  checks.push_back(model::make_check<Scenario<typename kinds<Shape, Spins, Statistics>::fence>, Name>());
}

template <template <class> class Scenario, heap_shape Shape, model::name Name, unsigned Spins = 0,
          bool Statistics = false>
void add_progress(std::vector<model::check>& checks) {
  checks.push_back(model::make_check<Scenario<typename kinds<Shape, Spins, Statistics>::progress>, Name>());
}

/// `Least` is the smallest heap of one level that the check makes sense on.
template <template <class> class Scenario, heap_shape Least, model::name Name, unsigned... Spins>
void add_fence_on_shapes(std::vector<model::check>& checks) {
  add_fence<Scenario, Least, Name + ".fence", Spins...>(checks);
  add_fence<Scenario, model::two_levels, Name + ".fence.two_levels", Spins...>(checks);
  add_fence<Scenario, model::in_lane, Name + ".fence.in_lane", Spins...>(checks);
  add_fence<Scenario, model::beside_lane, Name + ".fence.beside_lane", Spins...>(checks);
}

template <template <class> class Scenario, heap_shape Least, model::name Name, unsigned... Spins>
void add(std::vector<model::check>& checks) {
  add_fence_on_shapes<Scenario, Least, Name, Spins...>(checks);
  add_progress<Scenario, Least, Name + ".progress", Spins...>(checks);
  add_progress<Scenario, model::two_levels, Name + ".progress.two_levels", Spins...>(checks);
  add_progress<Scenario, model::in_lane, Name + ".progress.in_lane", Spins...>(checks);
  add_progress<Scenario, model::beside_lane, Name + ".progress.beside_lane", Spins...>(checks);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace model;
  std::vector<check> checks;
  add<one_signaller_one_waiter, one_slot, "one_signaller_one_waiter">(checks);
  add<one_signaller_one_waiter, one_slot, "spinning_waiter", 1>(checks);
  add_fence<one_signaller_one_waiter, one_slot, "learning_waiter.fence", 4, true>(checks);
  add_progress<one_signaller_one_waiter, one_slot, "learning_waiter.progress", 4, true>(checks);
  add<signalled_one_by_one, one_slot, "signalled_one_by_one">(checks);
  add<one_signaller_two_waiters, two_slots, "one_signaller_two_waiters">(checks);
  add<timeout_against_claim, one_slot, "timeout_against_claim">(checks);
  add_fence<system_clock_decides, one_slot, "system_clock_decides.fence">(checks);
  add_progress<system_clock_decides, one_slot, "system_clock_decides.progress">(checks);
  add<stop_against_claim, one_slot, "stop_against_claim">(checks);
  add<stop_alone, one_slot, "stop_alone">(checks);
  add<stop_of_one_of_two, two_slots, "stop_of_one_of_two">(checks);
  add<slot_used_again, one_slot, "slot_used_again">(checks);
  add<poison_alone, one_slot, "poison_alone">(checks);
  add<poison_against_signal, one_slot, "poison_against_signal">(checks);
  add_fence_on_shapes<two_signallers_one_waiter, one_slot, "two_signallers_one_waiter">(checks);
  add_fence_on_shapes<two_signallers_two_waiters, two_slots, "two_signallers_two_waiters">(checks);
  add<poison_after_signal, one_slot, "poison_after_signal">(checks);
  checks.push_back(
      make_check<poison_after_signal<placed<tidemark::basic_fence>>, "poison_after_signal.fence.placed">());
  checks.push_back(
      make_check<poison_after_signal<placed<tidemark::basic_progress_fence>>, "poison_after_signal.progress.placed">());
  checks.push_back(
      make_check<poison_against_signal<placed<tidemark::basic_fence>>, "poison_against_signal.fence.placed">());
  checks.push_back(make_check<poison_against_signal<placed<tidemark::basic_progress_fence>>,
                              "poison_against_signal.progress.placed">());
  // One of two waiters has a slot, the other one shares the lane.
  add_fence<overflow_lane, one_slot, "overflow_lane.fence">(checks);
  add_progress<overflow_lane, one_slot, "overflow_lane.progress">(checks);
  add_fence<overflow_lane, one_free, "overflow_lane.fence.two_levels">(checks);
  add_progress<overflow_lane, one_free, "overflow_lane.progress.two_levels">(checks);
  return model::run(argc, argv, checks);
}
