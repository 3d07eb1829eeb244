// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the fences. Each check hands a plain field (`var`) from the signaller to the waiter. So a missing
// order shows as a race, and a lost wake-up shows as a deadlock. Times and stops are those of the checker.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/awaited.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/looked_at.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <type_traits>

namespace {

using tidemark::wait_status;

using model::payload_of;
using model::require_idle;
using model::require_idle_after_poison;
using model::some_time;
using model::stop_source;

/// [A28] [A30] [A31] [A35] [A37] One signaller and one waiter. Whether the waiter comes after the signal, spins or
/// sleeps, it returns with the data. Where the fence counts the signals that take the slow path, there is at most one
/// [A7].
template <class Timeline>
struct one_signaller_one_waiter : model::suite<2> {
  Timeline timeline;
  payload_of<Timeline> data;

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

using refused_later = model::refused_later<tidemark::TIDEMARK_MODEL_PLATFORM>;

/// [A31] [A34] Where the heavy barrier is refused, a signal may miss the waiter, who looks again therefore.
template <model::heap_shape Shape>
struct barrier_is_refused : model::suite<2> {
  model::shaped_progress_fence<refused_later, Shape> timeline;
  refused_later::var<int> data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      MODEL_REQUIRE(timeline.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// [A3] [A37] The signaller advances the value twice by one. The waiter waits for the last value and reads the data of
/// both signals.
template <class Timeline>
struct signalled_one_by_one : model::suite<2> {
  Timeline timeline;
  payload_of<Timeline> data[2];

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

/// [A19] [A20] [A37] Two waiters with different targets; the signaller signals one after the other.
template <class Timeline>
struct one_signaller_two_waiters : model::suite<3> {
  Timeline timeline;
  payload_of<Timeline> data[2];

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

/// [A29] [A37] Two signallers race. The waiter waits for both values and reads the data of both.
template <class Timeline>
struct two_signallers_one_waiter : model::suite<3> {
  Timeline timeline;
  payload_of<Timeline> data[2];

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

/// [A29] [A37] Two signallers of different values, and two waiters. A lower value that comes late hands nothing over
/// and harms no waiter [trap 13].
template <class Timeline>
struct two_signallers_two_waiters : model::suite<4> {
  Timeline timeline;
  payload_of<Timeline> data;

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

/// [A14] A deadline passes while the signaller claims the waiter. A wait that returns `reached` has the data; one that
/// returns `timeout` has taken the waiter off the heap [trap 2].
template <class Timeline>
struct timeout_against_claim : model::suite<2> {
  Timeline timeline;
  payload_of<Timeline> data;

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

/// [A14] A time-out of the steady clock does not end a wait until a point of the system clock, because the system clock
/// may have been set back. Here that point is a day away, whatever the checker's time-outs say.
template <class Timeline>
struct system_clock_decides : model::suite<2> {
  Timeline timeline;
  payload_of<Timeline> data;

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

/// [A14] A stop is requested while the signaller claims the waiter. One of the two ends the wait, and a waiter that was
/// claimed has the data.
template <class Timeline>
struct stop_against_claim : model::suite<3> {
  Timeline timeline;
  payload_of<Timeline> data;
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

/// A waiter that is never signalled does not miss a stop request.
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

/// [A14] [A120] The value is signalled, then the timeline is poisoned, then a stop is requested, while the deadline may
/// pass at any moment. The wait was over before the poison and the stop, so it never returns `lost` or `stopped`.
template <class Timeline>
struct signalled_before_the_rest : model::suite<2> {
  Timeline timeline;
  payload_of<Timeline> data;
  stop_source<typename Timeline::platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
      timeline.poison();
      source.request_stop();
    } else {
      const typename stop_source<typename Timeline::platform>::token token{source};
      const wait_status status = timeline.wait_until(1, some_time, token);
      MODEL_REQUIRE(status == wait_status::reached || status == wait_status::timeout);
      if (status == wait_status::reached) MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle_after_poison(timeline); }
};

/// [A28] The waiter uses the only slot twice, the second time perhaps while the first claimer still works on it (ABA)
/// [trap 10].
template <class Timeline>
struct slot_used_again : model::suite<2> {
  Timeline timeline;
  payload_of<Timeline> data[2];

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
  void after() {
    if constexpr (Timeline::options.statistics) {
      MODEL_REQUIRE(timeline.notify_count() <= 2);
      MODEL_REQUIRE(timeline.overflow_count() <= 2);
    }
    require_idle(timeline);
  }
};

/// [A28] Two waiters share one slot, so one of them may enter the overflow lane.
template <class Timeline>
struct overflow_lane : model::suite<3> {
  Timeline timeline;
  payload_of<Timeline> data;

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
  payload_of<Timeline> reason;

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

/// [A120] One thread poisons the fence while another one signals it. A value that was reached stays reached, and the
/// one beyond it is lost [trap 34].
template <class Timeline>
struct poison_against_signal : model::suite<3> {
  Timeline timeline;
  payload_of<Timeline> data;

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
    // Where the value lies in memory of the caller, the signal may come too late to be found again.
    const bool is_found = Timeline::options.storage == tidemark::value_storage::own;
    const wait_status status = timeline.wait(1);
    MODEL_REQUIRE(status == wait_status::reached || (status == wait_status::lost && !is_found));
    require_idle_after_poison(timeline);
  }
};

/// [A120] While a poison moves the value out of memory of the caller, a look never finds less than another one before,
/// unless it finds the poison.
template <class Timeline>
struct looks_beside_poison : model::suite<2> {
  Timeline timeline;
  const tidemark::looked_at<Timeline> looked{timeline, std::chrono::seconds{1}};

  void thread(unsigned index) {
    if (index == 1) return timeline.poison();
    timeline.signal(1);
    MODEL_REQUIRE(timeline.current_value() >= 1);
    for (const tidemark::fence_state now : {timeline.state(), look()}) MODEL_REQUIRE(now.is_poisoned || now.value >= 1);
  }
  /// As a wait for several timelines looks, or a group.
  tidemark::fence_state look() const {
    return tidemark::detail::awaited_access::target_of(tidemark::basic_awaited<typename Timeline::platform>(looked, 1))
        .look();
  }
  void after() { MODEL_REQUIRE(timeline.current_value() == UINT64_MAX); }
};

/// A stop in the overflow lane wakes every waiter in it, because a stop does not know its waiter there. The stopped
/// waiter is among them, and it signals for the other one. (The checker wakes the other one first.)
template <class Timeline>
struct stop_of_one_of_two : model::suite<3> {
  Timeline timeline;
  payload_of<Timeline> data;
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

/// [A120] A value that was reached before the poison stays reached, with its data, wherever the value is kept.
template <class Timeline>
struct poison_after_signal : model::suite<2> {
  Timeline timeline;
  payload_of<Timeline> data;

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

enum class kind { fence, progress };

constexpr model::name suffix_of(kind which) {
  return which == kind::fence ? model::name{".fence"} : model::name{".progress"};
}

template <kind Kind, class Platform, tidemark::fence_options Options>
using fence_with = std::conditional_t<Kind == kind::fence, tidemark::basic_fence<Platform, Options>,
                                      tidemark::basic_progress_fence<Platform, Options>>;

/// A fence of a shape.
template <kind Kind, heap_shape Shape, class Platform, model::spins Spin, bool Statistics>
struct fence_of_shape {
  static constexpr tidemark::fence_options options = model::options_of(Shape, Spin, Statistics);
  using type = model::shaped<fence_with<Kind, Platform, options>, Shape>;
};
template <kind Kind, heap_shape Shape>
using fence_of = typename fence_of_shape<Kind, Shape, platform, model::spins::never, false>::type;
/// Its waiters look once before they register.
template <kind Kind, heap_shape Shape>
using spinning_fence = typename fence_of_shape<Kind, Shape, platform, model::spins::before_they_sleep, false>::type;

/// Its waiters look as often as the checker decides, and it counts.
template <kind Kind, heap_shape Shape>
using learning_fence =
    typename fence_of_shape<Kind, Shape, model::any_looks<platform>, model::spins::before_they_sleep, true>::type;

/// The memory of a value that the caller provides.
template <class Platform>
struct memory_of_caller {
  using word = typename Platform::template atomic<std::uint64_t>;
  alignas(word) std::array<std::byte, sizeof(word)> bytes;
  ~memory_of_caller() { std::launder(reinterpret_cast<word*>(bytes.data()))->~word(); }
};
constexpr tidemark::fence_options options_in_memory{
    .capacity = 1, .arity = 2, .max_spin_ns = 0, .storage = tidemark::value_storage::caller};
template <kind Kind>
using fence_in_memory = fence_with<Kind, platform, options_in_memory>;
template <kind Kind>
struct placed : memory_of_caller<platform>, fence_in_memory<Kind> {
  placed() : fence_in_memory<Kind>{this->bytes.data()} {}
  static std::uint64_t idle_value() { return platform::heavy_barrier_available() ? tidemark::no_waiter : 0; }
};

/// A scenario on a fence of any shape.
template <template <class> class Scenario, kind Kind, template <kind, heap_shape> class Fence>
struct scenario_of {
  template <heap_shape Shape>
  using on = Scenario<Fence<Kind, Shape>>;
};

/// One kind of fence on each shape. `Least` is the smallest heap of one level on which the check makes sense.
template <template <class> class Scenario, kind Kind, heap_shape Least, model::name Name,
          template <kind, heap_shape> class Fence = fence_of>
void add_kind_on_shapes(std::vector<model::check>& checks) {
  using scenario = scenario_of<Scenario, Kind, Fence>;
  model::add_on_shapes<scenario::template on, Least, Name + suffix_of(Kind)>(checks);
}

/// Both kinds of fences on each shape.
template <template <class> class Scenario, heap_shape Least, model::name Name,
          template <kind, heap_shape> class Fence = fence_of>
void add_on_shapes(std::vector<model::check>& checks) {
  add_kind_on_shapes<Scenario, kind::fence, Least, Name, Fence>(checks);
  add_kind_on_shapes<Scenario, kind::progress, Least, Name, Fence>(checks);
}

/// Both kinds of fences on one shape; `Fence` makes a fence of a kind.
template <template <class> class Scenario, template <kind> class Fence, model::name Name, model::name Suffix = "">
void add(std::vector<model::check>& checks) {
  checks.push_back(model::make_check<Scenario<Fence<kind::fence>>, Name + suffix_of(kind::fence) + Suffix>());
  checks.push_back(model::make_check<Scenario<Fence<kind::progress>>, Name + suffix_of(kind::progress) + Suffix>());
}

template <kind Kind>
using fence_of_one_slot = fence_of<Kind, model::one_slot>;
template <kind Kind>
using fence_with_one_free = fence_of<Kind, model::one_free>;
template <kind Kind>
using fence_that_grows = fence_of<Kind, model::growing>;

}  // namespace

int main(int argc, char** argv) {
  using model::one_slot, model::two_slots;
  std::vector<model::check> checks;
  add_on_shapes<one_signaller_one_waiter, one_slot, "one_signaller_one_waiter">(checks);
  add_on_shapes<one_signaller_one_waiter, one_slot, "spinning_waiter", spinning_fence>(checks);
  add_on_shapes<slot_used_again, one_slot, "learning_waiter", learning_fence>(checks);
  add_on_shapes<signalled_one_by_one, one_slot, "signalled_one_by_one">(checks);
  add_on_shapes<one_signaller_two_waiters, two_slots, "one_signaller_two_waiters">(checks);
  add_on_shapes<timeout_against_claim, one_slot, "timeout_against_claim">(checks);
  add_on_shapes<system_clock_decides, one_slot, "system_clock_decides">(checks);
  add_on_shapes<stop_against_claim, one_slot, "stop_against_claim">(checks);
  add_on_shapes<stop_alone, one_slot, "stop_alone">(checks);
  add_on_shapes<stop_of_one_of_two, two_slots, "stop_of_one_of_two">(checks);
  add_on_shapes<signalled_before_the_rest, one_slot, "signalled_before_the_rest">(checks);
  add_on_shapes<slot_used_again, one_slot, "slot_used_again">(checks);
  add_on_shapes<poison_alone, one_slot, "poison_alone">(checks);
  add_on_shapes<poison_against_signal, one_slot, "poison_against_signal">(checks);
  add<poison_against_signal, placed, "poison_against_signal", ".placed">(checks);
  add<looks_beside_poison, placed, "looks_beside_poison", ".placed">(checks);
  add_on_shapes<poison_after_signal, one_slot, "poison_after_signal">(checks);
  add<poison_after_signal, placed, "poison_after_signal", ".placed">(checks);
  model::add_on_shapes<barrier_is_refused, one_slot, "barrier_is_refused">(checks);
  // Only one signaller at a time may signal a progress fence.
  add_kind_on_shapes<two_signallers_one_waiter, kind::fence, one_slot, "two_signallers_one_waiter">(checks);
  add_kind_on_shapes<two_signallers_two_waiters, kind::fence, two_slots, "two_signallers_two_waiters">(checks);
  // A waiter finds no slot, and the heap grows while the signaller is at work.
  add<one_signaller_one_waiter, fence_that_grows, "one_signaller_one_waiter", ".growing">(checks);
  add<one_signaller_two_waiters, fence_that_grows, "one_signaller_two_waiters", ".growing">(checks);
  add<timeout_against_claim, fence_that_grows, "timeout_against_claim", ".growing">(checks);
  add<poison_alone, fence_that_grows, "poison_alone", ".growing">(checks);
  // One of the two waiters has a slot, the other one shares the lane.
  add<overflow_lane, fence_of_one_slot, "overflow_lane">(checks);
  add<overflow_lane, fence_with_one_free, "overflow_lane", ".two_levels">(checks);
  return model::run(argc, argv, checks);
}
