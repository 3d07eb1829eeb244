// SPDX-License-Identifier: BSL-1.0
//
// Model checks of fences whose destructor waits for signallers (fence_options::joins_signallers). A thread destroys the
// fence as soon as it has seen what another one has signalled. An access to the fence after that is an error.
#include "support/gone.hpp"
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/signaller.hpp>

#include <optional>

namespace {

using tidemark::wait_status;

using model::heap_shape;
using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;

constexpr tidemark::fence_options joined_options(heap_shape shape) {
  tidemark::fence_options options = model::options_of(shape);
  options.joins_signallers = true;
  return options;
}

template <heap_shape Shape>
using joined_fence = model::shaped<tidemark::basic_fence<platform, joined_options(Shape)>, Shape>;
template <heap_shape Shape>
using joined_progress = model::shaped<tidemark::basic_progress_fence<platform, joined_options(Shape)>, Shape>;

/// A fence that a thread destroys, and what was done before the signal.
template <class Fence>
struct one_that_goes {
  std::optional<Fence> fence{std::in_place};
  payload data;

  void require(wait_status wanted, wait_status status) {
    MODEL_REQUIRE(status == wanted);
    MODEL_REQUIRE(data.load() == 42);
    model::destroy(fence);
  }
};

/// The waiter destroys the fence while its signaller may still be inside signal().
template <class Fence>
struct destroyed_by_waiter : model::suite<2>, one_that_goes<Fence> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      this->fence->signal(1);
    } else {
      this->require(wait_status::reached, this->fence->wait(1));
    }
  }
};
template <heap_shape Shape>
using destroyed_fence = destroyed_by_waiter<joined_fence<Shape>>;
template <heap_shape Shape>
using destroyed_progress = destroyed_by_waiter<joined_progress<Shape>>;

/// The signaller signals one by one, and the thread waits for the last value.
template <heap_shape Shape>
struct destroyed_after_two : model::suite<2>, one_that_goes<joined_progress<Shape>> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      this->fence->signal_next();
      this->fence->signal_next();
    } else {
      this->require(wait_status::reached, this->fence->wait(2));
    }
  }
};

/// [A128] The waiter is lost, and destroys the fence while the other thread may still be inside poison(). The reason is
/// there.
template <class Fence>
struct destroyed_when_lost : model::suite<2>, one_that_goes<Fence> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      tidemark::signaller{*this->fence};
    } else {
      const wait_status status = this->fence->wait(1);
      MODEL_REQUIRE(*this->fence->loss() == tidemark::signaller_gone);
      this->require(wait_status::lost, status);
    }
  }
};
template <heap_shape Shape>
using lost_fence = destroyed_when_lost<joined_fence<Shape>>;
template <heap_shape Shape>
using lost_progress = destroyed_when_lost<joined_progress<Shape>>;

/// [A29] Two signallers, whose values the waiter has both seen.
template <heap_shape Shape>
struct destroyed_after_both : model::suite<3>, one_that_goes<joined_fence<Shape>> {
  void thread(unsigned index) {
    if (index < 2) {
      if (index == 0) this->data.store(42);
      this->fence->signal_next();
    } else {
      this->require(wait_status::reached, this->fence->wait(2));
    }
  }
};

/// A waiter of a progress fence that has seen the value, and the poison of another thread. So it waits for the
/// signaller and for the other call. If it is lost before it has seen the value, the signaller may be anywhere.
template <heap_shape Shape>
struct destroyed_after_value_and_poison : model::suite<3>, one_that_goes<joined_progress<Shape>> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      this->fence->signal(1);
    } else if (index == 1) {
      this->fence->poison();
    } else {
      if (this->fence->wait(1) == wait_status::lost) return;
      this->require(wait_status::lost, this->fence->wait(2));
    }
  }
};

/// What a call does while it is inside is over when the destructor goes on. The call hands itself over by a fence of
/// its own, as by s1.
template <class Call>
struct last_touch : model::suite<2> {
  tidemark::detail::calls_inside<platform> calls;
  joined_fence<model::one_slot> seen;
  payload touched;

  void thread(unsigned index) {
    if (index == 0) {
      const Call inside{calls};
      seen.signal(1);
      touched.store(1);
    } else {
      MODEL_REQUIRE(seen.wait(1) == wait_status::reached);
      calls.await_end();
      MODEL_REQUIRE(touched.load() == 1);
      touched.store(2);
    }
  }
};

/// The same for two calls.
struct last_touch_of_two : model::suite<3> {
  tidemark::detail::calls_inside<platform> calls;
  joined_fence<model::one_slot> seen;
  payload touched[2];

  void thread(unsigned index) {
    if (index < 2) {
      const tidemark::detail::calls_inside<platform>::any_call inside{calls};
      seen.signal_next();
      touched[index].store(1);
    } else {
      MODEL_REQUIRE(seen.wait(2) == wait_status::reached);
      calls.await_end();
      MODEL_REQUIRE(touched[0].load() + touched[1].load() == 2);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  using model::make_check, model::one_slot;
  using calls = tidemark::detail::calls_inside<platform>;
  std::vector<model::check> checks{make_check<last_touch<calls::any_call>, "last_touch.any">(),
                                   make_check<last_touch<calls::one_call>, "last_touch.one">(),
                                   make_check<last_touch_of_two, "last_touch.two">()};
  model::add_on_shapes<destroyed_fence, one_slot, "destroyed_by_waiter.fence">(checks);
  model::add_on_shapes<destroyed_progress, one_slot, "destroyed_by_waiter.progress">(checks);
  model::add_on_shapes<destroyed_after_two, one_slot, "destroyed_after_two">(checks);
  model::add_on_shapes<lost_fence, one_slot, "destroyed_when_lost.fence">(checks);
  model::add_on_shapes<lost_progress, one_slot, "destroyed_when_lost.progress">(checks);
  model::add_on_shapes<destroyed_after_both, one_slot, "destroyed_after_both">(checks);
  model::add_on_shapes<destroyed_after_value_and_poison, one_slot, "destroyed_after_value_and_poison">(checks);
  return model::run(argc, argv, checks);
}
