// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the hold of the root (fence/detail/root_hold.hpp): waiters that rely on it while it begins, while it
// ends, and while the next one begins. The terms are as small as a check needs them.
#include "support/holds.hpp"
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/signal_all.hpp>

#include <cstdint>
#include <type_traits>

namespace {

using tidemark::wait_status;
using tidemark::detail::hold_state;
using tidemark::detail::hold_terms;

using model::after_one_release, model::at_once, model::at_once_and_for_long;
using model::begin_hold;
using model::heap_shape;
using model::holding;
using model::payload_of;
using model::some_time;
using model::stop_source;

using base = tidemark::TIDEMARK_MODEL_PLATFORM;

enum class kind { fence, progress };

constexpr model::name suffix_of(kind which) {
  return which == kind::fence ? model::name{".fence"} : model::name{".progress"};
}

template <kind Kind, heap_shape Shape, class Platform>
using fence_of =
    model::shaped<std::conditional_t<Kind == kind::fence, tidemark::basic_fence<Platform, model::options_of(Shape)>,
                                     tidemark::basic_progress_fence<Platform, model::options_of(Shape)>>,
                  Shape>;

/// A fence whose root is held when the check begins.
template <class Fence>
struct held : Fence {
  held() {
    begin_hold(this->heap());
    MODEL_REQUIRE(this->heap().hold().holds());
  }
};

/// Whatever the hold is, the monitored value is exact; and so is the root, unless it is held.
template <class Timeline>
void require_quiet(Timeline& timeline, std::uint64_t value = Timeline::idle_value()) {
  const auto& heap = timeline.heap();
  MODEL_REQUIRE(heap.monitored_value() == value);
  const std::uint64_t root = heap.monitored_word().load_value(std::memory_order_seq_cst);
  MODEL_REQUIRE(root == (heap.hold().keeps_root_low() ? 0 : value));
}

/// What the checks share: the fence, open for their requirements, and the data of two signals.
template <class Timeline>
struct scene {
  struct open : Timeline {
    using Timeline::heap;
  } timeline;
  payload_of<Timeline> data[2];

  void signal(unsigned value) {
    data[value - 1].store(40 + static_cast<int>(value));
    timeline.signal(value);
  }
  void require_data(unsigned value) {
    for (unsigned i = 0; i < value; ++i) MODEL_REQUIRE(data[i].load() == 41 + static_cast<int>(i));
  }
  void wait(unsigned value) {
    MODEL_REQUIRE(timeline.wait(value) == wait_status::reached);
    require_data(value);
  }
  void after() { require_quiet(timeline); }
};

/// [A28] [A31] [A37] Of two waiters for one value, one may rely on the hold that the other one begins.
template <class Timeline>
struct one_value : model::suite<3>, scene<Timeline> {
  void thread(unsigned index) { index == 0 ? this->signal(1) : this->wait(1); }
};

/// [A28] [A31] [A37] The value comes in a batch with that of another fence, whose signals issue no full barrier.
template <class Timeline>
struct in_batch : model::suite<2>, scene<Timeline> {
  model::shaped<tidemark::basic_progress_fence<base, model::options_of(model::one_slot)>, model::one_slot> other;

  void thread(unsigned index) {
    if (index == 1) return this->wait(1);
    this->data[0].store(41);
    MODEL_REQUIRE(tidemark::signal_all({{this->timeline, 1}, {other, 1}}) == 2);
  }
};

/// [A28] [A31] [A37] The first of two signals is in vain, and may end the hold on which the waiter relies.
template <class Timeline>
struct second_value : model::suite<2>, scene<Timeline> {
  void thread(unsigned index) {
    if (index == 1) return this->wait(2);
    this->signal(1);
    this->signal(2);
  }
};

/// [A28] [A31] [A37] The same, and another waiter, which may begin the next hold.
template <class Timeline>
struct second_value_for_two : model::suite<3>, scene<Timeline> {
  void thread(unsigned index) {
    if (index != 0) return this->wait(2);
    this->signal(1);
    this->signal(2);
  }
};

/// [A19] [A28] [A37] The waiter waits twice, so that releases are counted, too.
template <class Timeline>
struct both_values : model::suite<2>, scene<Timeline> {
  void thread(unsigned index) {
    for (unsigned value = 1; value <= 2; ++value) index == 0 ? this->signal(value) : this->wait(value);
  }
};

/// [A14] [A28] [A37] A waiter that began a hold is delayed until that hold has ended, and the next one has begun. It
/// must not take that one for its own.
template <class Timeline>
struct delayed_beginner : model::suite<3>, scene<Timeline> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
      this->signal(2);
    } else {
      if (index == 1) {
        const wait_status status = this->timeline.wait_until(model::never_signalled, some_time);
        MODEL_REQUIRE(status == wait_status::timeout);
      }
      this->wait(2);
    }
  }
};

/// [A29] [A37] Two signallers count their passes.
template <class Timeline>
struct two_signallers : model::suite<3>, scene<Timeline> {
  void thread(unsigned index) {
    if (index == 2) return this->wait(2);
    this->data[index].store(41 + static_cast<int>(index));
    this->timeline.signal_next();
  }
};

/// [A14] A deadline may pass beside the end of the hold. Another waiter begins the next one.
template <class Timeline>
struct deadline_beside_end : model::suite<3>, scene<Timeline> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
      this->signal(2);
    } else if (index == 1) {
      const wait_status status = this->timeline.wait_until(2, some_time);
      MODEL_REQUIRE(status == wait_status::reached || status == wait_status::timeout);
      if (status == wait_status::reached) this->require_data(2);
    } else {
      this->wait(2);
    }
  }
};

/// [A14] A stop is requested beside the end of the hold.
template <class Timeline>
struct stop_beside_end : model::suite<3>, scene<Timeline> {
  stop_source<typename Timeline::platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
      this->signal(2);
    } else if (index == 1) {
      source.request_stop();
    } else {
      const wait_status status =
          this->timeline.wait(2, typename stop_source<typename Timeline::platform>::token{source});
      MODEL_REQUIRE(status == wait_status::reached || status == wait_status::stopped);
      if (status == wait_status::reached) this->require_data(2);
    }
  }
};

/// [A14] [A15] The only waiter may leave while its hold ends. The root is right afterwards.
template <class Timeline>
struct left_beside_end : model::suite<2>, scene<Timeline> {
  void thread(unsigned index) {
    if (index == 0) return this->signal(1);
    MODEL_REQUIRE(this->timeline.wait_until(2, some_time) == wait_status::timeout);
  }
};

/// [A120] The fence is poisoned beside the end of the hold.
template <class Timeline>
struct poison_beside_end : model::suite<3>, scene<Timeline> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
    } else if (index == 1) {
      this->timeline.poison();
    } else {
      MODEL_REQUIRE(this->timeline.wait(2) == wait_status::lost);
    }
  }
  void after() { require_quiet(this->timeline, tidemark::no_waiter); }
};

/// [A28] [A37] A signal by steps forbids holds, while one waiter relies on one and another one may begin one.
template <class Timeline>
struct forbidden : model::suite<3>, scene<Timeline> {
  void thread(unsigned index) {
    if (index != 0) return this->wait(2);
    for (unsigned value = 1; value <= 2; ++value) {
      this->data[value - 1].store(40 + static_cast<int>(value));
      static_cast<void>(this->timeline.publish(value));
      if (this->timeline.is_due(value)) this->timeline.release_due();
    }
  }
  void after() {
    MODEL_REQUIRE(this->timeline.heap().hold().is_forbidden());
    require_quiet(this->timeline);
  }
};

/// [A31] [A34] The heavy barrier of the waiter that begins a hold is refused. No other waiter relies on that hold.
template <class Timeline>
struct barrier_is_refused : model::suite<3>, scene<Timeline> {
  void thread(unsigned index) { index == 0 ? this->signal(1) : this->wait(1); }
};

enum class change { begin, end, forbid };

/// [A12] [A33] The hold of a heap begins, ends or is forbidden, while a waiter comes and goes. When all is quiet, the
/// root has seen all of it.
template <heap_shape Shape, class Platform, change What>
struct quiet_after : model::suite<2> {
  model::shaped_heap<Platform, Shape> heap;

  quiet_after() {
    if (What != change::begin) begin_hold(heap);
  }
  void thread(unsigned index) {
    if (index == 1) {
      static_cast<void>(heap.withdraw(heap.add(5)));
    } else if (What == change::begin) {
      hold_state hold = heap.hold();
      MODEL_REQUIRE(heap.begin_hold(hold));
    } else if (What == change::end) {
      heap.count_pass(false);
    } else {
      heap.forbid_hold();
    }
  }
  void after() {
    MODEL_REQUIRE(heap.hold().keeps_root_low() == (What == change::begin));
    MODEL_REQUIRE(heap.monitored_value() == heap.idle_value());
    const std::uint64_t root = heap.monitored_word().load_value(std::memory_order_seq_cst);
    MODEL_REQUIRE(root == (What == change::begin ? 0 : heap.idle_value()));
  }
};

/// [trap 10] One thread begins a hold and is delayed. Another one ends that hold and begins the next, which nobody else
/// may confirm.
template <heap_shape Shape>
struct begun_by_two : model::suite<2> {
  model::shaped_heap<holding<at_once>, Shape> heap;

  void thread(unsigned index) {
    if (index == 1) heap.count_pass(false);
    hold_state hold = heap.hold();
    if (!heap.begin_hold(hold)) return;
    if (index == 1) MODEL_REQUIRE(!heap.hold().holds());
    heap.finish_beginning(hold, true);
  }
};

template <change What>
struct quiet {
  template <heap_shape Shape>
  struct on : quiet_after<Shape, holding<at_once>, What> {};
};

template <template <class> class Scenario, kind Kind, class Platform, bool IsHeld>
struct scenario_of {
  template <heap_shape Shape>
  using fence = fence_of<Kind, Shape, Platform>;
  template <heap_shape Shape>
  struct on : Scenario<std::conditional_t<IsHeld, held<fence<Shape>>, fence<Shape>>> {};
};

template <template <class> class Scenario, hold_terms Terms, bool IsHeld, heap_shape Least, model::name Name,
          class Base = base>
void add(std::vector<model::check>& checks) {
  using of_fence = scenario_of<Scenario, kind::fence, holding<Terms, Base>, IsHeld>;
  using of_progress = scenario_of<Scenario, kind::progress, holding<Terms, Base>, IsHeld>;
  model::add_on_shapes<of_fence::template on, Least, Name + suffix_of(kind::fence)>(checks);
  model::add_on_shapes<of_progress::template on, Least, Name + suffix_of(kind::progress)>(checks);
}

}  // namespace

int main(int argc, char** argv) {
  using model::one_slot, model::two_slots;
  std::vector<model::check> checks;
  add<one_value, at_once_and_for_long, false, two_slots, "begins">(checks);
  add<one_value, at_once, false, two_slots, "begins_and_ends">(checks);
  add<one_value, at_once_and_for_long, true, two_slots, "relied_on">(checks);
  add<in_batch, at_once_and_for_long, true, one_slot, "batch_relied_on">(checks);
  add<in_batch, at_once, false, one_slot, "batch_begins_and_ends">(checks);
  add<second_value, after_one_release, true, one_slot, "ends">(checks);
  add<second_value, at_once, false, one_slot, "begun_and_ended">(checks);
  add<second_value_for_two, after_one_release, true, two_slots, "ends_for_two">(checks);
  add<second_value_for_two, at_once, true, two_slots, "ends_beside_next">(checks);
  add<delayed_beginner, at_once, false, two_slots, "delayed_beginner">(checks);
  add<both_values, after_one_release, false, one_slot, "released_twice">(checks);
  add<deadline_beside_end, at_once, true, two_slots, "deadline_beside_end">(checks);
  add<stop_beside_end, at_once, true, one_slot, "stop_beside_end">(checks);
  add<poison_beside_end, at_once, true, one_slot, "poison_beside_end">(checks);
  add<forbidden, at_once, true, two_slots, "forbidden">(checks);
  add<barrier_is_refused, at_once_and_for_long, false, two_slots, "barrier_is_refused", model::refused_later<base>>(
      checks);
  add<left_beside_end, after_one_release, true, one_slot, "left_beside_end">(checks);
  model::add_on_shapes<quiet<change::begin>::on, one_slot, "quiet_after_begin">(checks);
  model::add_on_shapes<quiet<change::end>::on, one_slot, "quiet_after_end">(checks);
  model::add_on_shapes<quiet<change::forbid>::on, one_slot, "quiet_after_forbid">(checks);
  model::add_on_shapes<begun_by_two, one_slot, "begun_by_two">(checks);
  // Only one signaller at a time may signal a progress fence.
  using two_signal = scenario_of<two_signallers, kind::fence, holding<at_once>, true>;
  model::add_on_shapes<two_signal::on, one_slot, "two_signallers.fence">(checks);
  return model::run(argc, argv, checks);
}
