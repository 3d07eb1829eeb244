// SPDX-License-Identifier: BSL-1.0
//
// Model checks of waits for several timelines. Each check hands plain fields (`var`) from the signallers to the waiter.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/least_of.hpp>
#include <tidemark/fence/wait_many.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace {

using namespace tidemark;
using model::require_idle;
using model::some_time;
using model::stop_source;

using model::heap_shape;

using platform = TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using awaited_here = basic_awaited<platform>;

/// Two timelines, the data that each hands over, and waits for value 1 of both.
template <heap_shape Shape, class Platform = platform, model::spins Spin = model::spins::never>
struct two_timelines {
  std::array<model::shaped_progress_fence<Platform, Shape, Spin>, 2> timelines;
  std::array<payload, 2> data;

  void signal(unsigned which) {
    data[which].store(static_cast<int>(which) + 7);
    timelines[which].signal(1);
  }
  void require_data(std::size_t which) { MODEL_REQUIRE(data[which].load() == static_cast<int>(which) + 7); }

  template <class... Limits>
  wait_any_result any(Limits... limits) {
    if constexpr ((std::same_as<Limits, tidemark::deadline> || ...)) {
      return wait_any_until(both(), limits...);
    } else {
      return wait_any(both(), limits...);
    }
  }
  template <class... Limits>
  wait_status all(Limits... limits) {
    return wait_all(both(), limits...);
  }
  /// [trap 11] No registration is left.
  void after() {
    for (const auto& one : timelines) require_idle(one);
  }

 private:
  using awaited = basic_awaited<Platform>;
  std::array<awaited, 2> list_{awaited{timelines[0], 1}, awaited{timelines[1], 1}};
  std::span<const awaited> both() const { return list_; }
};

/// [A65] [trap 11] One timeline is signalled, the first or the second of the list. It ends the wait, and the waiter
/// leaves the other one.
template <unsigned Which, heap_shape Shape>
struct any_of_one_signalled : model::suite<2>, two_timelines<Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal(Which);
    } else {
      MODEL_REQUIRE((this->any() == wait_any_result{wait_status::reached, Which}));
      this->require_data(Which);
    }
  }
};

/// [A35] The waiter looks as often as the checker decides before it registers, for any and then for both.
template <heap_shape Shape>
struct spinning_waiter : model::suite<2>,
                         two_timelines<Shape, model::any_looks<platform>, model::spins::before_they_sleep> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
      this->signal(0);
    } else {
      const wait_any_result end = this->any();
      MODEL_REQUIRE(end == wait_status::reached && end.index < 2);
      this->require_data(end.index);
      MODEL_REQUIRE(this->all() == wait_status::reached);
      this->require_data(1 - end.index);
    }
  }
};

/// [trap 11] Two threads signal one timeline each. One of them ends the wait. The waiter leaves the other timeline, or
/// its signaller claims the waiter there, but never both.
template <heap_shape Shape>
struct any_of_two_signalled : model::suite<3>, two_timelines<Shape> {
  void thread(unsigned index) {
    if (index < 2) {
      this->signal(index);
    } else {
      const wait_any_result end = this->any();
      MODEL_REQUIRE(end == wait_status::reached && end.index < 2);
      this->require_data(end.index);
    }
  }
};

/// [A65] [trap 11] The waiter waits for both timelines. One thread signals them or two; one signal may come before the
/// wait begins.
template <unsigned Signallers, heap_shape Shape>
struct all_of_two : model::suite<Signallers + 1>, two_timelines<Shape> {
  void thread(unsigned index) {
    if (index == Signallers) {
      MODEL_REQUIRE(this->all() == wait_status::reached);
      this->require_data(0);
      this->require_data(1);
    } else if (Signallers == 1) {
      this->signal(1);
      this->signal(0);
    } else {
      this->signal(index);
    }
  }
};

/// [trap 11] One timeline is signalled twice and stands in the list twice. The wait still ends only after the other one
/// is signalled.
template <heap_shape Shape>
struct all_counts_nothing_twice : model::suite<2> {
  model::shaped_progress_fence<platform, Shape> jumping;
  model::shaped_progress_fence<platform, Shape> other;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      jumping.signal(1);
      jumping.signal(2);
      data.store(42);
      other.signal(1);
    } else {
      const awaited_here list[] = {{jumping, 1}, {other, 1}, {jumping, 2}};
      MODEL_REQUIRE(wait_all(list) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    require_idle(jumping);
    require_idle(other);
  }
};

/// [A120] The second timeline is poisoned and the first one is never signalled: both kinds of wait return `lost`.
template <bool All, heap_shape Shape>
struct one_is_lost : model::suite<2>, two_timelines<Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data[1].store(5);
      this->timelines[1].poison();
    } else {
      if (All) {
        MODEL_REQUIRE(this->all() == wait_status::lost);
      } else {
        MODEL_REQUIRE((this->any() == wait_any_result{wait_status::lost, 1}));
      }
      MODEL_REQUIRE(this->data[1].load() == 5);
    }
  }
  void after() {
    require_idle(this->timelines[0]);
    model::require_idle_after_poison(this->timelines[1]);
  }
};

/// [A120] The first timeline is poisoned and signalled afterwards, then the second one is signalled. A wait for both is
/// over when both are reached, or when it finds the first one lost: never before.
template <heap_shape Shape>
struct reached_after_its_poison : model::suite<2>, two_timelines<Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->timelines[0].poison();
      this->signal(0);
      this->signal(1);
    } else {
      const wait_status end = this->all();
      MODEL_REQUIRE(end == wait_status::reached || end == wait_status::lost);
      if (end == wait_status::lost) return;
      this->require_data(0);
      this->require_data(1);
    }
  }
  void after() {
    model::require_idle_after_poison(this->timelines[0]);
    require_idle(this->timelines[1]);
  }
};

/// [A14] A deadline passes beside a signal. A wait that returns `reached` has the data; one that returns `timeout`
/// leaves no registration behind.
template <heap_shape Shape>
struct any_in_time : model::suite<2>, two_timelines<Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal(1);
    } else {
      const wait_any_result end = this->any(some_time);
      MODEL_REQUIRE((end == wait_any_result{wait_status::reached, 1}) ||
                    (end == wait_any_result{wait_status::timeout, 2}));
      if (end == wait_status::reached) this->require_data(1);
    }
  }
};

/// A waiter does not miss a stop request when one of its timelines is signalled and the other one never is.
template <heap_shape Shape>
struct all_is_stopped : model::suite<2>, two_timelines<Shape> {
  stop_source<platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal(0);
      source.request_stop();
    } else {
      MODEL_REQUIRE(this->all(stop_source<platform>::token{source}) == wait_status::stopped);
    }
  }
};

/// [A14] [A120] One timeline is signalled, then the other one is poisoned, then a stop is requested, while the deadline
/// may pass at any moment. The wait was over with the signal, so it never returns `lost` or `stopped`.
template <heap_shape Shape>
struct signalled_before_the_rest : model::suite<2>, two_timelines<Shape> {
  stop_source<platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal(0);
      this->timelines[1].poison();
      source.request_stop();
    } else {
      const wait_any_result end = this->any(some_time, stop_source<platform>::token{source});
      MODEL_REQUIRE((end == wait_any_result{wait_status::reached, 0}) ||
                    (end == wait_any_result{wait_status::timeout, 2}));
      if (end == wait_status::reached) this->require_data(0);
    }
  }
  void after() {
    require_idle(this->timelines[0]);
    model::require_idle_after_poison(this->timelines[1]);
  }
};

/// [A120] One of two timelines is lost. A wait for the least of both goes on for the other one, and is lost then.
template <heap_shape Shape>
struct least_of_loses_one : model::suite<3>, two_timelines<Shape> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal(0);
    } else if (index == 1) {
      this->timelines[1].poison();
    } else {
      const least_of both{this->timelines[0], this->timelines[1]};
      MODEL_REQUIRE(both.wait(1) == wait_status::lost);
      MODEL_REQUIRE(both.current_value() >= 1);
      this->require_data(0);
    }
  }
  void after() {
    require_idle(this->timelines[0]);
    model::require_idle_after_poison(this->timelines[1]);
  }
};

using refused_later = model::refused_later<platform>;

/// [A31] [A65] Where the heavy barrier is refused, a signal may miss the waiter. Therefore the waiter looks again.
template <heap_shape Shape>
struct barrier_is_refused : model::suite<2> {
  std::array<model::shaped_progress_fence<refused_later, Shape>, 2> timelines;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timelines[1].signal(1);
    } else {
      const basic_awaited<refused_later> list[] = {{timelines[0], 1}, {timelines[1], 1}};
      MODEL_REQUIRE((wait_any(list) == wait_any_result{wait_status::reached, 1}));
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

template <heap_shape Shape>
using any_of_first_signalled = any_of_one_signalled<0, Shape>;
template <heap_shape Shape>
using any_of_second_signalled = any_of_one_signalled<1, Shape>;
template <heap_shape Shape>
using all_of_one_signaller = all_of_two<1, Shape>;
template <heap_shape Shape>
using all_of_two_signallers = all_of_two<2, Shape>;
template <heap_shape Shape>
using one_is_lost_to_all = one_is_lost<true, Shape>;
template <heap_shape Shape>
using one_is_lost_to_any = one_is_lost<false, Shape>;

}  // namespace

int main(int argc, char** argv) {
  using model::add_on_shapes, model::one_slot;
  std::vector<model::check> checks;
  add_on_shapes<any_of_first_signalled, one_slot, "any_of_one_signalled.first">(checks);
  add_on_shapes<any_of_second_signalled, one_slot, "any_of_one_signalled.second">(checks);
  add_on_shapes<spinning_waiter, one_slot, "spinning_waiter">(checks);
  add_on_shapes<any_of_two_signalled, one_slot, "any_of_two_signalled">(checks);
  add_on_shapes<all_of_one_signaller, one_slot, "all_of_two.one_signaller">(checks);
  add_on_shapes<all_of_two_signallers, one_slot, "all_of_two.two_signallers">(checks);
  add_on_shapes<all_counts_nothing_twice, model::two_slots, "all_counts_nothing_twice">(checks);
  add_on_shapes<one_is_lost_to_all, one_slot, "one_is_lost.all">(checks);
  add_on_shapes<one_is_lost_to_any, one_slot, "one_is_lost.any">(checks);
  add_on_shapes<reached_after_its_poison, one_slot, "reached_after_its_poison">(checks);
  add_on_shapes<any_in_time, one_slot, "any_in_time">(checks);
  add_on_shapes<all_is_stopped, one_slot, "all_is_stopped">(checks);
  add_on_shapes<signalled_before_the_rest, one_slot, "signalled_before_the_rest">(checks);
  add_on_shapes<least_of_loses_one, one_slot, "least_of_loses_one">(checks);
  add_on_shapes<barrier_is_refused, one_slot, "barrier_is_refused">(checks);
  return model::run(argc, argv, checks);
}
