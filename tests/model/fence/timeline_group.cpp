// SPDX-License-Identifier: BSL-1.0
//
// Model checks of a group of timelines: members come and go beside looks, waits, signals and losses. A member's
// timeline is destroyed as soon as it has left.
#include "support/gone.hpp"
#include "support/progress.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/timeline_group.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace {

using model::heap_shape;
using model::payload;
using model::platform;
using tidemark::wait_status;

using group_type = tidemark::basic_timeline_group<platform>;

/// A group, whose base has reached `Base` from the start, and two timelines that may become members.
template <heap_shape Shape, std::uint64_t Base>
struct grouped {
  using fence = model::progress_fence<Shape>;

  fence base;
  group_type group;
  std::array<std::optional<fence>, 2> timelines;
  std::array<std::optional<group_type::membership>, 2> members;
  payload memory;

  grouped() : group{base} {
    if (Base != 0) base.signal(Base);
    for (auto& one : timelines) one.emplace();
  }

  /// It counts from the value of the group, which may be less than that of the base.
  void add(std::size_t which) { members[which].emplace(group, *timelines[which], 0); }
  bool counts_from(std::size_t which, std::uint64_t from) { return *members[which] && members[which]->from() == from; }
  /// Ends a membership. The memory of the membership and of its timeline is used for something else.
  void remove(std::size_t which) {
    members[which]->leave();
    model::destroy(members[which]);
    model::destroy(timelines[which]);
  }
  void signal(std::size_t which, std::uint64_t value) { timelines[which]->signal(value); }

  void after() {
    for (auto& one : members) one.reset();
    model::require_idle(base);
    for (auto& one : timelines) {
      if (one) model::require_idle(*one);
    }
    MODEL_REQUIRE(group.current_value() == base.current_value());
  }
};

// ---- looks ----------------------------------------------------------------------------------------------------------

/// What the group shows never falls, also while a timeline is added that has reached nothing.
template <heap_shape Shape>
struct added_beside_looks : model::suite<3>, grouped<Shape, 0> {
  void thread(unsigned index) {
    if (index == 0) {
      this->base.signal(1);
      this->base.signal(2);
    } else if (index == 1) {
      this->add(0);
      MODEL_REQUIRE(this->group.current_value() == this->members[0]->from());
    } else {
      const std::uint64_t first = this->group.current_value();
      MODEL_REQUIRE(this->group.current_value() >= first);
    }
  }
};

/// Memory that a member uses, which is added beside a look: the look comes before, and then the member knows that the
/// memory is free, or the look waits for it.
template <heap_shape Shape>
struct used_beside_look : model::suite<3>, grouped<Shape, 0> {
  void thread(unsigned index) {
    if (index == 0) {
      this->base.signal(1);
    } else if (index == 1) {
      this->add(0);
      if (!this->counts_from(0, 0)) return;
      this->memory.store(7);
      this->signal(0, 1);
    } else {
      if (this->group.is_reached(1)) this->memory.store(8);
    }
  }
};

/// A timeline leaves and is destroyed beside the looks of two threads. What was done before is there.
template <heap_shape Shape>
struct gone_beside_looks : model::suite<3>, grouped<Shape, 0> {
  void before() {
    this->add(0);
    this->base.signal(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->memory.store(7);
      this->remove(0);
    } else {
      if (this->group.current_value() == 1) MODEL_REQUIRE(this->memory.load() == 7);
    }
  }
};

/// Two timelines come and go beside each other, and beside a look.
template <heap_shape Shape>
struct two_come_and_go : model::suite<3>, grouped<Shape, 1> {
  void thread(unsigned index) {
    if (index < 2) {
      this->add(index);
      MODEL_REQUIRE(this->counts_from(index, 1));
      this->remove(index);
    } else {
      MODEL_REQUIRE(this->group.current_value() == 1);
    }
  }
};

// ---- waits ----------------------------------------------------------------------------------------------------------

/// Memory that a member uses, which is added beside a wait: the wait ends before the member counts, or when the member
/// has finished.
template <heap_shape Shape>
struct used_beside_wait : model::suite<3>, grouped<Shape, 0> {
  void thread(unsigned index) {
    if (index == 0) {
      this->base.signal(1);
    } else if (index == 1) {
      this->add(0);
      if (!this->counts_from(0, 0)) return;
      this->memory.store(7);
      this->signal(0, 1);
    } else {
      MODEL_REQUIRE(this->group.wait(1) == wait_status::reached);
      this->memory.store(8);
    }
  }
};

/// A waiter only waits for a member that leaves, and whose timeline is destroyed then.
template <heap_shape Shape>
struct gone_while_awaited : model::suite<2>, grouped<Shape, 0> {
  void before() {
    this->add(0);
    this->base.signal(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->memory.store(7);
      this->remove(0);
    } else {
      MODEL_REQUIRE(this->group.wait(1) == wait_status::reached);
      MODEL_REQUIRE(this->memory.load() == 7);
    }
  }
};

/// The same with two waiters.
template <heap_shape Shape>
struct gone_while_two_wait : model::suite<3>, grouped<Shape, 0> {
  void before() {
    this->add(0);
    this->base.signal(1);
  }
  void thread(unsigned index) {
    if (index == 0) return this->remove(0);
    MODEL_REQUIRE(this->group.wait(1) == wait_status::reached);
  }
};

/// The timeline is signalled and then leaves. A waiter may be woken by either.
template <heap_shape Shape>
struct signalled_and_gone : model::suite<2>, grouped<Shape, 0> {
  void before() {
    this->add(0);
    this->base.signal(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->memory.store(7);
      this->signal(0, 1);
      this->remove(0);
    } else {
      MODEL_REQUIRE(this->group.wait(1) == wait_status::reached);
      MODEL_REQUIRE(this->memory.load() == 7);
    }
  }
};

/// One member leaves and the other one signals: the wait ends when both have happened. What was done before is there.
template <heap_shape Shape>
struct gone_and_signalled : model::suite<3>, grouped<Shape, 0> {
  payload other;

  void before() {
    this->add(0);
    this->add(1);
    this->base.signal(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->memory.store(7);
      this->remove(0);
    } else if (index == 1) {
      other.store(7);
      this->signal(1, 1);
    } else {
      MODEL_REQUIRE(this->group.wait(1) == wait_status::reached);
      MODEL_REQUIRE(this->memory.load() == 7 && other.load() == 7);
    }
  }
};

/// A wait may end at its deadline while the member leaves.
template <heap_shape Shape>
struct gone_in_time : model::suite<2>, grouped<Shape, 0> {
  void before() {
    this->add(0);
    this->base.signal(1);
  }
  void thread(unsigned index) {
    if (index == 0) return this->remove(0);
    const wait_status ended = this->group.wait_until(1, model::some_time);
    MODEL_REQUIRE(ended == wait_status::reached || ended == wait_status::timeout);
  }
};

/// A member leaves, and then the wait is stopped: it was reached before.
template <heap_shape Shape>
struct gone_before_stop : model::suite<2>, grouped<Shape, 0> {
  model::stop_source<platform> source;

  void before() {
    this->add(0);
    this->base.signal(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->remove(0);
      source.request_stop();
    } else {
      const model::stop_source<platform>::token token{source};
      MODEL_REQUIRE(this->group.wait(1, token) == wait_status::reached);
    }
  }
};

/// A stop alone ends a wait.
template <heap_shape Shape>
struct stopped : model::suite<2>, grouped<Shape, 0> {
  model::stop_source<platform> source;

  void before() { this->add(0); }
  void thread(unsigned index) {
    if (index == 0) return source.request_stop();
    const model::stop_source<platform>::token token{source};
    MODEL_REQUIRE(this->group.wait(1, token) == wait_status::stopped);
  }
};

/// The base passes by a member that counts as having reached the target from the start, and that signals nothing.
template <heap_shape Shape>
struct base_passes_member : model::suite<2>, grouped<Shape, 0> {
  void before() { this->members[0].emplace(this->group, *this->timelines[0], 1); }
  void thread(unsigned index) {
    if (index == 0) {
      this->memory.store(7);
      this->base.signal(2);
    } else {
      MODEL_REQUIRE(this->group.wait(1) == wait_status::reached);
      MODEL_REQUIRE(this->memory.load() == 7);
    }
  }
};

// ---- losses ---------------------------------------------------------------------------------------------------------

/// One member is lost and the other one signals: the wait is lost when both have happened.
template <heap_shape Shape>
struct lost_beside_signal : model::suite<3>, grouped<Shape, 1> {
  grouped<Shape, 1>::fence lost;
  group_type::membership loser{this->group, lost, 1};

  void before() {
    this->members[0].emplace(this->group, *this->timelines[0], 2);  // ahead of the other one
    this->base.signal(3);
  }
  void thread(unsigned index) {
    if (index == 0) {
      lost.poison();
    } else if (index == 1) {
      this->memory.store(7);
      this->signal(0, 3);
    } else {
      MODEL_REQUIRE(this->group.wait(3) == wait_status::lost);
      MODEL_REQUIRE(this->memory.load() == 7);
      MODEL_REQUIRE(this->group.current_value() == 3);
    }
  }
  void after() {
    model::require_idle_after_poison(lost);
    loser.leave();
    MODEL_REQUIRE(this->group.wait_until(3, tidemark::deadline{}) == wait_status::reached);
    grouped<Shape, 1>::after();
  }
};

/// A member is lost beside its departure and a wait.
template <heap_shape Shape>
struct lost_beside_departure : model::suite<3>, grouped<Shape, 0> {
  void before() {
    this->add(0);
    this->base.signal(1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->timelines[0]->poison();
    } else if (index == 1) {
      this->members[0]->leave();
    } else {
      const wait_status ended = this->group.wait(1);
      MODEL_REQUIRE(ended == wait_status::reached || ended == wait_status::lost);
      MODEL_REQUIRE(this->group.current_value() == 1);
    }
  }
  void after() {
    model::require_idle_after_poison(*this->timelines[0]);
    this->timelines[0].reset();
    grouped<Shape, 0>::after();
  }
};

/// The base is lost beside the add of a timeline: the group can't be joined any more, or the member counts.
template <heap_shape Shape>
struct base_lost_beside_add : model::suite<3>, grouped<Shape, 0> {
  void thread(unsigned index) {
    if (index == 0) {
      this->base.poison();
    } else if (index == 1) {
      this->members[0].emplace(this->group, *this->timelines[0]);
      MODEL_REQUIRE(this->group.current_value() == (*this->members[0] ? 0 : UINT64_MAX));
      if (!*this->members[0]) return;
      this->memory.store(7);
      this->signal(0, 1);
    } else {
      MODEL_REQUIRE(this->group.wait(1) == wait_status::lost);
      this->memory.store(8);
    }
  }
  void after() {
    model::require_idle_after_poison(this->base);
    model::require_idle(*this->timelines[0]);
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<added_beside_looks, model::one_slot, "added_beside_looks">(checks);
  model::add_on_shapes<used_beside_look, model::one_slot, "used_beside_look">(checks);
  model::add_on_shapes<gone_beside_looks, model::one_slot, "gone_beside_looks">(checks);
  model::add_on_shapes<two_come_and_go, model::one_slot, "two_come_and_go">(checks);
  model::add_on_shapes<used_beside_wait, model::one_slot, "used_beside_wait">(checks);
  model::add_on_shapes<gone_while_awaited, model::one_slot, "gone_while_awaited">(checks);
  model::add_on_shapes<gone_while_two_wait, model::two_slots, "gone_while_two_wait">(checks);
  model::add_on_shapes<signalled_and_gone, model::one_slot, "signalled_and_gone">(checks);
  model::add_on_shapes<gone_and_signalled, model::one_slot, "gone_and_signalled">(checks);
  model::add_on_shapes<gone_in_time, model::one_slot, "gone_in_time">(checks);
  model::add_on_shapes<gone_before_stop, model::one_slot, "gone_before_stop">(checks);
  model::add_on_shapes<stopped, model::one_slot, "stopped">(checks);
  model::add_on_shapes<base_passes_member, model::one_slot, "base_passes_member">(checks);
  model::add_on_shapes<lost_beside_signal, model::one_slot, "lost_beside_signal">(checks);
  model::add_on_shapes<lost_beside_departure, model::one_slot, "lost_beside_departure">(checks);
  model::add_on_shapes<base_lost_beside_add, model::one_slot, "base_lost_beside_add">(checks);
  return model::run(argc, argv, checks);
}
