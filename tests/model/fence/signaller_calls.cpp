// SPDX-License-Identifier: BSL-1.0
//
// Model checks of callables that signallers run: registrations against signals, cancellation, and who runs what.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/signaller_awaiter.hpp>
#include <tidemark/fence/signaller_callback.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace {

using tidemark::callback_state;
using tidemark::wait_status;

using model::heap_shape;
using model::require_idle;

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;

template <heap_shape Shape>
using timeline_of = model::shaped_callback_fence<platform, Shape>;

/// Whether a fence of this shape has a slot for a callable. In the lane it refuses them.
constexpr bool has_slot(heap_shape shape) {
  return shape.growth == tidemark::heap_growth::allowed || shape.bystanders < shape.capacity;
}
constexpr callback_state ran_or_refused(heap_shape shape) {
  return has_slot(shape) ? callback_state::ran : callback_state::refused;
}

/// A callable that requires the data of its signal and counts its runs.
struct counted {
  payload* data;
  payload* runs;
  void operator()() const {
    MODEL_REQUIRE(data->load() == 42);
    runs->store(runs->load() + 1);
  }
};

template <heap_shape Shape>
struct one_signal {
  timeline_of<Shape> timeline;
  payload data;
  payload runs;

  using callback = tidemark::signaller_callback<timeline_of<Shape>, counted>;

  void signal() {
    data.store(42);
    timeline.signal(1);
  }
};

/// [A19] [A34] [A37] A callable is registered while its value is signalled. It runs once, in one of the two threads,
/// and has the data.
template <heap_shape Shape>
struct called_against_signal : model::suite<2>, one_signal<Shape> {
  std::optional<typename one_signal<Shape>::callback> registered;

  void thread(unsigned index) {
    if (index == 0) return this->signal();
    registered.emplace(this->timeline, 1, counted{&this->data, &this->runs});
  }
  void after() {
    // In the lane it may have seen the value before it was refused.
    const callback_state how = registered->state();
    MODEL_REQUIRE(how == callback_state::ran || how == ran_or_refused(Shape));
    MODEL_REQUIRE(this->runs.load() == (how == callback_state::ran ? 1 : 0));
    registered.reset();
    require_idle(this->timeline);
    this->timeline.require_slots();
  }
};

/// [A31] [A34] The heavy barrier is refused, so that the signal may miss the callable. It runs all the same, or is
/// refused.
struct barrier_is_refused : model::suite<2> {
  using refused_later = model::refused_later<platform>;
  struct runs {
    barrier_is_refused* of;
    void operator()() const {
      MODEL_REQUIRE(of->data.load() == 42);
      of->ran.store(of->ran.load() + 1);
    }
  };
  using timeline_type = model::shaped_callback_fence<refused_later, model::one_slot>;
  timeline_type timeline;
  payload data;
  payload ran;
  std::optional<tidemark::signaller_callback<timeline_type, runs>> registered;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      registered.emplace(timeline, 1, runs{this});
    }
  }
  void after() {
    const callback_state how = registered->state();
    MODEL_REQUIRE(how == callback_state::ran || how == callback_state::refused);
    MODEL_REQUIRE(ran.load() == (how == callback_state::ran ? 1 : 0));
  }
};

/// [A14] [trap 10] [trap 11] A registration is destroyed while its value is signalled. Its callable has run and
/// returned, or never runs, and no signaller touches it afterwards.
template <heap_shape Shape>
struct call_cancelled_against_signal : model::suite<2>, one_signal<Shape> {
  void thread(unsigned index) {
    if (index == 0) return this->signal();
    typename one_signal<Shape>::callback registered(this->timeline, 1, counted{&this->data, &this->runs});
    const callback_state how = registered.cancel();
    MODEL_REQUIRE(this->runs.load() == (how == callback_state::ran ? 1 : 0));
    MODEL_REQUIRE(how != callback_state::waiting && how != callback_state::lost);
  }
  void after() {
    require_idle(this->timeline);
    this->timeline.require_slots();
  }
};

/// [trap 9] [trap 11] Of two callables of one value, one is cancelled while the signal runs both.
template <heap_shape Shape>
struct one_of_two_calls_is_cancelled : model::suite<2>, one_signal<Shape> {
  using callback = typename one_signal<Shape>::callback;
  static constexpr bool may_share_nothing = !has_slot(Shape);  // where the callables are refused
  payload first_runs;
  std::optional<callback> first;
  std::optional<callback> second;

  void before() {
    first.emplace(this->timeline, 1, counted{&this->data, &first_runs});
    second.emplace(this->timeline, 1, counted{&this->data, &this->runs});
  }
  void thread(unsigned index) {
    if (index == 0) return this->signal();
    const callback_state how = second->cancel();
    MODEL_REQUIRE(this->runs.load() == (how == callback_state::ran ? 1 : 0));
    second.reset();
  }
  void after() {
    MODEL_REQUIRE(first->state() == ran_or_refused(Shape));
    MODEL_REQUIRE(first_runs.load() == (has_slot(Shape) ? 1 : 0));
    first.reset();
    require_idle(this->timeline);
  }
};

/// [A19] [A29] [A37] Two threads signal. Each value's callable runs once, never two at a time, and that of the greater
/// value has the data of both signals.
template <heap_shape Shape>
struct two_signallers_call : model::suite<2> {
  struct runs {
    two_signallers_call* of;
    unsigned required;
    void operator()() const {
      for (unsigned i = 0; i < required; ++i) MODEL_REQUIRE(of->data[i].load() == 42);
      of->ran.store(of->ran.load() + 1);
    }
  };
  timeline_of<Shape> timeline;
  payload data[2];
  payload ran;
  std::optional<tidemark::signaller_callback<timeline_of<Shape>, runs>> registered[2];

  void before() {
    registered[0].emplace(timeline, 1, runs{this, 0});
    registered[1].emplace(timeline, 2, runs{this, 2});
  }
  void thread(unsigned index) {
    data[index].store(42);
    timeline.signal_next();
  }
  void after() {
    for (auto& one : registered) {
      MODEL_REQUIRE(one->state() == ran_or_refused(Shape));
      one.reset();
    }
    MODEL_REQUIRE(ran.load() == (has_slot(Shape) ? 2 : 0));
    require_idle(timeline);
  }
};

/// [A14] [A29] [trap 11] While two threads signal, a third one cancels the callable of the greater value. It has run or
/// was cancelled, and the other one runs in any case.
template <heap_shape Shape>
struct cancelled_beside_two_signallers : model::suite<3> {
  struct runs {
    payload* ran;
    void operator()() const { ran->store(ran->load() + 1); }
  };
  using callback = tidemark::signaller_callback<timeline_of<Shape>, runs>;
  timeline_of<Shape> timeline;
  payload ran[2];
  std::optional<callback> registered[2];

  void before() {
    for (unsigned i = 0; i < 2; ++i) registered[i].emplace(timeline, i + 1, runs{&ran[i]});
  }
  void thread(unsigned index) {
    if (index < 2) {
      timeline.signal_next();
    } else {
      const callback_state how = registered[1]->cancel();
      MODEL_REQUIRE(ran[1].load() == (how == callback_state::ran ? 1 : 0));
      registered[1].reset();
    }
  }
  void after() {
    MODEL_REQUIRE(registered[0]->state() == ran_or_refused(Shape));
    MODEL_REQUIRE(ran[0].load() == (has_slot(Shape) ? 1 : 0));
    registered[0].reset();
    require_idle(timeline);
  }
};

/// [trap 9] A callable signals its own fence, while another thread cancels what becomes due by that.
template <heap_shape Shape>
struct call_signals_its_fence : model::suite<2> {
  static constexpr bool may_share_nothing = !has_slot(Shape);  // where the callables are refused
  struct first_runs {
    call_signals_its_fence* of;
    void operator()() const {
      of->data.store(42);
      of->timeline.signal(2);
      // The other one does not run within that signal.
      of->data.store(43);
    }
  };
  struct second_runs {
    call_signals_its_fence* of;
    void operator()() const {
      MODEL_REQUIRE(of->data.load() == 43);
      of->ran.store(of->ran.load() + 1);
    }
  };
  timeline_of<Shape> timeline;
  payload data;
  payload ran;
  std::optional<tidemark::signaller_callback<timeline_of<Shape>, first_runs>> first;
  std::optional<tidemark::signaller_callback<timeline_of<Shape>, second_runs>> second;

  void before() {
    first.emplace(timeline, 1, first_runs{this});
    second.emplace(timeline, 2, second_runs{this});
  }
  void thread(unsigned index) {
    if (index == 0) {
      timeline.signal(1);
    } else {
      const callback_state how = second->cancel();
      MODEL_REQUIRE(ran.load() == (how == callback_state::ran ? 1 : 0));
      second.reset();
    }
  }
  void after() {
    MODEL_REQUIRE(first->state() == ran_or_refused(Shape));
    MODEL_REQUIRE(timeline.current_value() == (has_slot(Shape) ? 2 : 1));
    first.reset();
    require_idle(timeline);
  }
};

/// [A120] A timeline is poisoned while a callable is registered. It is told so once, and sees what was done before.
template <heap_shape Shape>
struct lost_against_call : model::suite<2> {
  struct told {
    lost_against_call* of;
    void operator()(wait_status how) const {
      MODEL_REQUIRE(how == wait_status::lost);
      MODEL_REQUIRE(of->data.load() == 42);
      of->runs.store(of->runs.load() + 1);
    }
  };
  timeline_of<Shape> timeline;
  payload data;
  payload runs;
  std::optional<tidemark::signaller_callback<timeline_of<Shape>, told>> registered;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.poison();
    } else {
      registered.emplace(timeline, 1, told{this});
    }
  }
  void after() {
    const callback_state how = registered->state();
    MODEL_REQUIRE(how == callback_state::lost || (!has_slot(Shape) && how == callback_state::refused));
    MODEL_REQUIRE(runs.load() == (how == callback_state::lost ? 1 : 0));
    registered.reset();
  }
};

// ---- coroutines -----------------------------------------------------------------------------------------------------

/// [A19] [A37] [trap 10] A coroutine awaits while its value is signalled. It goes on once, in one of the two threads,
/// with the data and with what it has written itself, and may end at once.
template <heap_shape Shape>
struct resumed_against_signal : model::suite<2>, one_signal<Shape> {
  /// A coroutine that notes when it is kept, so that it is a race if it is found too early.
  struct handle {
    handle() = default;
    explicit handle(resumed_against_signal& suite) : of{&suite} {}
    handle(const handle&) = default;
    handle& operator=(const handle& from) {
      of = from.of;
      of->kept.store(1);
      return *this;
    }
    void resume() const {
      MODEL_REQUIRE(of->kept.load() == 1);
      of->go_on();
    }
    resumed_against_signal* of = nullptr;
  };
  payload kept;
  std::optional<tidemark::signaller_awaiter<timeline_of<Shape>, handle>> awaiter;

  void thread(unsigned index) {
    if (index == 0) return this->signal();
    this->runs.store(1);
    awaiter.emplace(this->timeline, 1);
    if (awaiter->await_ready() || !awaiter->await_suspend(handle{*this})) go_on();
  }
  void go_on() {
    const wait_status how = awaiter->await_resume();
    MODEL_REQUIRE(how == wait_status::reached || (how == wait_status::timeout && !has_slot(Shape)));
    if (how == wait_status::reached) MODEL_REQUIRE(this->data.load() == 42);
    this->runs.store(this->runs.load() + 1);
    awaiter.reset();
  }
  void after() {
    MODEL_REQUIRE(this->runs.load() == 2);
    require_idle(this->timeline);
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<called_against_signal, model::one_slot, "called_against_signal">(checks);
  model::add_on_shapes<call_cancelled_against_signal, model::one_slot, "call_cancelled_against_signal">(checks);
  model::add_on_shapes<one_of_two_calls_is_cancelled, model::two_slots, "one_of_two_calls_is_cancelled">(checks);
  model::add_on_shapes<two_signallers_call, model::two_slots, "two_signallers_call">(checks);
  model::add_on_shapes<cancelled_beside_two_signallers, model::two_slots, "cancelled_beside_two_signallers">(checks);
  model::add_on_shapes<call_signals_its_fence, model::two_slots, "call_signals_its_fence">(checks);
  model::add_on_shapes<lost_against_call, model::one_slot, "lost_against_call">(checks);
  checks.push_back(model::make_check<barrier_is_refused, "barrier_is_refused">());
  model::add_on_shapes<resumed_against_signal, model::one_slot, "resumed_against_signal">(checks);
  return model::run(argc, argv, checks);
}
