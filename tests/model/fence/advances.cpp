// SPDX-License-Identifier: BSL-1.0
//
// Model checks of callables that run at each advance of a value, and of links between timelines.
#include "support/gone.hpp"
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/each_advance.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/fence/signaller.hpp>

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

constexpr bool has_slot(heap_shape shape) {
  return shape.growth == tidemark::heap_growth::allowed || shape.bystanders < shape.capacity;
}

/// What a callable has been called with. Its fields are plain, so two calls at once are a race.
struct calls_so_far {
  payload last;
  payload losses;
  payload refusals;

  void note(std::uint64_t value, wait_status how) {
    if (how == wait_status::lost) return losses.store(losses.load() + 1);
    if (how == wait_status::timeout) return refusals.store(refusals.load() + 1);
    MODEL_REQUIRE(losses.load() == 0 && refusals.load() == 0);
    MODEL_REQUIRE(static_cast<int>(value) > last.load());
    last.store(static_cast<int>(value));
  }
};

/// A callable that requires the data of each value that it has.
struct advanced {
  payload* data;
  calls_so_far* calls;
  void operator()(std::uint64_t value, wait_status how) const {
    if (how == wait_status::reached) MODEL_REQUIRE(data[value - 1].load() == 42);
    calls->note(value, how);
  }
};

template <heap_shape Shape>
struct advancing {
  timeline_of<Shape> timeline;
  payload data[2];
  calls_so_far calls;

  using callback = tidemark::advance_callback<timeline_of<Shape>, advanced>;

  advanced callable() { return advanced{data, &calls}; }
  void signal(std::uint64_t value) {
    data[value - 1].store(42);
    timeline.signal(value);
  }
};

/// [A19] [A34] [A37] A callable is registered while two values are signalled one after the other. It has the last one,
/// and each at most once.
template <heap_shape Shape>
struct advance_against_signals : model::suite<2>, advancing<Shape> {
  std::optional<typename advancing<Shape>::callback> registered;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
      this->signal(2);
    } else {
      registered.emplace(this->timeline, 0, this->callable());
    }
  }
  void after() {
    if (has_slot(Shape)) {
      MODEL_REQUIRE(registered->state() == callback_state::waiting);
      MODEL_REQUIRE(this->calls.last.load() == 2 && this->calls.refusals.load() == 0);
    } else {
      MODEL_REQUIRE(registered->state() == callback_state::refused);
      MODEL_REQUIRE(this->calls.refusals.load() == 1);
    }
    registered.reset();
    require_idle(this->timeline);
    this->timeline.require_slots();
  }
};

/// [A19] [A29] [A37] Two threads signal. The callable has the greatest value, and never runs beside itself.
template <heap_shape Shape>
struct advanced_by_two : model::suite<2> {
  timeline_of<Shape> timeline;
  payload data[2];
  calls_so_far calls;
  struct sees_both {
    advanced_by_two* of;
    void operator()(std::uint64_t value, wait_status how) const {
      if (value == 2) MODEL_REQUIRE(of->data[0].load() == 42 && of->data[1].load() == 42);
      of->calls.note(value, how);
    }
  };
  std::optional<tidemark::advance_callback<timeline_of<Shape>, sees_both>> registered;

  void before() { registered.emplace(timeline, 0, sees_both{this}); }
  void thread(unsigned index) {
    data[index].store(42);
    timeline.signal_next();
  }
  void after() {
    MODEL_REQUIRE(calls.last.load() == (has_slot(Shape) ? 2 : 0));
    registered.reset();
    require_idle(timeline);
  }
};

/// [A14] [trap 10] [trap 11] A registration is destroyed while values are signalled. It has run and returned, or never
/// runs, and no signaller touches it afterwards.
template <heap_shape Shape>
struct advance_destroyed : model::suite<2>, advancing<Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
      this->signal(2);
    } else {
      std::optional<typename advancing<Shape>::callback> registered;
      registered.emplace(this->timeline, 0, this->callable());
      const callback_state how = registered->cancel();
      MODEL_REQUIRE(how == (has_slot(Shape) ? callback_state::cancelled : callback_state::refused));
      // No call comes any more, which would be a race.
      this->calls.last.store(100);
      model::destroy(registered);
    }
  }
  void after() {
    MODEL_REQUIRE(this->calls.last.load() == 100);
    require_idle(this->timeline);
    this->timeline.require_slots();
  }
};

/// [A14] [trap 10] Two threads signal. While one of them runs a callable, the other one releases a second callable,
/// which is registered and destroyed at that moment. No signaller touches that one afterwards.
struct advance_destroyed_beside_call : model::suite<3> {
  using timeline_type = timeline_of<model::two_slots>;
  timeline_type timeline;
  calls_so_far first;
  calls_so_far second;

  struct noted {
    calls_so_far* calls;
    void operator()(std::uint64_t value, wait_status how) const { calls->note(value, how); }
  };
  using callback = tidemark::advance_callback<timeline_type, noted>;
  std::optional<callback> registered;

  void before() { registered.emplace(timeline, 0, noted{&first}); }
  void thread(unsigned index) {
    if (index < 2) {
      timeline.signal_next();
    } else {
      std::optional<callback> other;
      other.emplace(timeline, 1, noted{&second});
      MODEL_REQUIRE(other->cancel() == callback_state::cancelled);
      second.last.store(100);  // no call comes any more, which would be a race
      model::destroy(other);
    }
  }
  void after() {
    MODEL_REQUIRE(first.last.load() == 2 && second.last.load() == 100);
    registered.reset();
    require_idle(timeline);
    timeline.require_slots();
  }
};

/// [A120] A value is signalled, and then the timeline is poisoned, while a callable is registered. It has both, in this
/// order.
template <heap_shape Shape>
struct advance_lost : model::suite<2>, advancing<Shape> {
  std::optional<typename advancing<Shape>::callback> registered;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
      this->timeline.poison();
    } else {
      registered.emplace(this->timeline, 0, this->callable());
    }
  }
  void after() {
    const callback_state how = registered->state();
    if (has_slot(Shape)) {
      MODEL_REQUIRE(how == callback_state::lost);
      MODEL_REQUIRE(this->calls.last.load() == 1 && this->calls.losses.load() == 1);
    } else {
      MODEL_REQUIRE(how == callback_state::lost || how == callback_state::refused);
    }
    registered.reset();
  }
};

/// [A31] [A34] The heavy barrier is refused at some registration. The callable has the last value, or learns that it
/// is refused.
struct advance_is_refused : model::suite<2> {
  using timeline_type = model::shaped_callback_fence<model::refused_later<platform>, model::one_slot>;
  timeline_type timeline;
  payload data[2];
  calls_so_far calls;
  std::optional<tidemark::advance_callback<timeline_type, advanced>> registered;

  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned i = 0; i < 2; ++i) {
        data[i].store(42);
        timeline.signal(i + 1);
      }
    } else {
      registered.emplace(timeline, 0, advanced{data, &calls});
    }
  }
  void after() {
    const callback_state how = registered->state();
    MODEL_REQUIRE(calls.refusals.load() == (how == callback_state::refused ? 1 : 0));
    MODEL_REQUIRE(how == callback_state::refused || (how == callback_state::waiting && calls.last.load() == 2));
  }
};

// ---- links ----------------------------------------------------------------------------------------------------------

constexpr tidemark::loss_reason removed{7, "removed"};

using first_timeline = timeline_of<model::one_slot>;
using second_timeline = model::shaped_fence<platform, model::one_slot>;
using link_type =
    decltype(tidemark::link(std::declval<const first_timeline&>(), 1, std::declval<second_timeline&>(), 1));
using owning_link = decltype(tidemark::link(std::declval<const first_timeline&>(), 1,
                                            std::declval<tidemark::signaller<second_timeline>>(), 1));

/// Makes a link in the place of an optional, since it can't be moved.
template <class Link>
struct made_link {
  template <class... Arguments>
  explicit made_link(Arguments&&... arguments) : link(tidemark::link(std::forward<Arguments>(arguments)...)) {}
  Link link;
};

/// [A37] A link is made while its value is signalled. Who waits at its other end has the data.
struct link_hands_over : model::suite<3> {
  first_timeline from;
  second_timeline to;
  payload data;
  std::optional<made_link<link_type>> linked;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      from.signal(1);
    } else if (index == 1) {
      linked.emplace(from, 1U, to, 1U);
    } else {
      MODEL_REQUIRE(to.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    MODEL_REQUIRE(linked->link.state() == callback_state::ran);
    linked.reset();
    require_idle(from);
    require_idle(to);
  }
};

/// [A37] The same without a thread that waits.
struct link_is_made : model::suite<2> {
  first_timeline from;
  second_timeline to;
  std::optional<made_link<link_type>> linked;

  void thread(unsigned index) {
    if (index == 0) {
      from.signal(1);
    } else {
      linked.emplace(from, 1U, to, 1U);
    }
  }
  void after() { MODEL_REQUIRE(to.is_reached(1) && linked->link.state() == callback_state::ran); }
};

/// [A120] The first timeline is lost while the link is made. Who waits at its other end learns why.
struct link_hands_on_loss : model::suite<3> {
  first_timeline from;
  second_timeline to;
  payload data;
  std::optional<made_link<link_type>> linked;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      from.poison(removed);
    } else if (index == 1) {
      linked.emplace(from, 1U, to, 1U);
    } else {
      MODEL_REQUIRE(to.wait(1) == wait_status::lost);
      MODEL_REQUIRE(to.loss() == &removed);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { MODEL_REQUIRE(linked->link.state() == callback_state::lost); }
};

/// [trap 10] A link is cut while its value is signalled, and its second timeline goes. Nobody touches it afterwards.
struct link_is_cut : model::suite<2> {
  first_timeline from;
  std::optional<second_timeline> to{std::in_place};
  std::optional<made_link<link_type>> linked;

  void before() { linked.emplace(from, 1U, *to, 1U); }
  void thread(unsigned index) {
    if (index == 0) {
      from.signal(1);
    } else {
      const callback_state how = linked->link.cancel();
      MODEL_REQUIRE(to->is_reached(1) == (how == callback_state::ran));
      model::destroy(to);
      linked.reset();
    }
  }
};

/// [A120] A link with the duty to signal is destroyed while its value is signalled. Who waits never waits in vain.
struct owning_link_goes : model::suite<3> {
  first_timeline from;
  second_timeline to;
  std::optional<made_link<owning_link>> linked;

  void before() { linked.emplace(from, 1U, tidemark::signaller{to}, 1U); }
  void thread(unsigned index) {
    if (index == 0) {
      from.signal(1);
    } else if (index == 1) {
      linked.reset();
    } else if (to.wait(1) == wait_status::lost) {
      MODEL_REQUIRE(to.loss() == &tidemark::signaller_gone);
    }
  }
  void after() { MODEL_REQUIRE(to.is_poisoned() != (to.last_reached() == 1)); }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<advance_against_signals, model::one_slot, "advance_against_signals">(checks);
  model::add_on_shapes<advanced_by_two, model::one_slot, "advanced_by_two">(checks);
  model::add_on_shapes<advance_destroyed, model::one_slot, "advance_destroyed">(checks);
  model::add_on_shapes<advance_lost, model::one_slot, "advance_lost">(checks);
  checks.push_back(model::make_check<advance_destroyed_beside_call, "advance_destroyed_beside_call">());
  checks.push_back(model::make_check<advance_is_refused, "advance_is_refused">());
  checks.push_back(model::make_check<link_hands_over, "link_hands_over">());
  checks.push_back(model::make_check<link_is_made, "link_is_made">());
  checks.push_back(model::make_check<link_hands_on_loss, "link_hands_on_loss">());
  checks.push_back(model::make_check<link_is_cut, "link_is_cut">());
  checks.push_back(model::make_check<owning_link_goes, "owning_link_goes">());
  return model::run(argc, argv, checks);
}
