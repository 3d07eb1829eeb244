// SPDX-License-Identifier: BSL-1.0
//
// Model checks of signals of several fences at once. No waiter of any of the fences sleeps for ever.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/signal_all.hpp>
#include <tidemark/fence/signaller_callback.hpp>

#include <optional>

namespace {

using tidemark::wait_status;

using model::heap_shape;
using model::require_idle;

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;

template <heap_shape Shape>
using progress_of = model::shaped<tidemark::basic_progress_fence<platform, model::options_of(Shape)>, Shape>;

template <class First, class Second>
struct batch_of_two {
  First first;
  Second second;
  payload data;

  void signal() {
    data.store(42);
    MODEL_REQUIRE(tidemark::signal_all({{first, 1}, {second, 1}}) == 2);
  }
  template <class Fence>
  void wait(Fence& fence) {
    MODEL_REQUIRE(fence.wait(1) == wait_status::reached);
    MODEL_REQUIRE(data.load() == 42);
  }
};

/// [A28] [A37] One thread waits for a fence of a batch. `Second` is the one that comes last.
template <class First, class Second, bool IsSecond>
struct one_waits : model::suite<2>, batch_of_two<First, Second> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal();
    } else if constexpr (IsSecond) {
      this->wait(this->second);
      // The values are stored in the order of the list.
      MODEL_REQUIRE(this->first.is_reached(1));
    } else {
      this->wait(this->first);
    }
  }
  void after() {
    require_idle(this->first);
    require_idle(this->second);
  }
};
template <heap_shape Shape>
using first_progress = one_waits<progress_of<Shape>, progress_of<model::one_slot>, false>;
template <heap_shape Shape>
using second_progress = one_waits<progress_of<model::one_slot>, progress_of<Shape>, true>;
template <heap_shape Shape>
using second_fence = one_waits<progress_of<model::one_slot>, model::shaped_fence<platform, Shape>, true>;

/// [A19] [A28] [A37] A thread waits for each of the two fences.
struct each_has_a_waiter : model::suite<3>, batch_of_two<progress_of<model::one_slot>, progress_of<model::one_slot>> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal();
    } else if (index == 1) {
      this->wait(this->first);
    } else {
      this->wait(this->second);
    }
  }
  void after() {
    require_idle(this->first);
    require_idle(this->second);
  }
};

/// [A19] [A37] A callable of the first fence is registered while the batch is signalled. It runs once, and where the
/// batch runs it, the value of the second fence is there.
struct callable_of_batch : model::suite<2> {
  struct runs {
    callable_of_batch* of;
    void operator()() const {
      MODEL_REQUIRE(of->data.load() == 42);
      if (of->is_registered.load(std::memory_order_relaxed) != 0) MODEL_REQUIRE(of->second.is_reached(1));
      of->ran.store(of->ran.load() + 1);
    }
  };
  model::shaped_callback_fence<platform, model::one_slot> first;
  model::shaped_fence<platform, model::one_slot> second;
  payload data;
  payload ran;
  platform::atomic<std::uint32_t> is_registered{0};
  std::optional<tidemark::signaller_callback<decltype(first), runs>> registered;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      tidemark::signal_all({{first, 1}, {second, 1}});
    } else {
      registered.emplace(first, 1, runs{this});
      is_registered.store(1, std::memory_order_relaxed);
    }
  }
  void after() {
    MODEL_REQUIRE(ran.load() == 1);
    registered.reset();
    require_idle(first);
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<first_progress, model::one_slot, "first_progress">(checks);
  model::add_on_shapes<second_progress, model::one_slot, "second_progress">(checks);
  model::add_on_shapes<second_fence, model::one_slot, "second_fence">(checks);
  checks.push_back(model::make_check<each_has_a_waiter, "each_has_a_waiter">());
  checks.push_back(model::make_check<callable_of_batch, "callable_of_batch">());
  return model::run(argc, argv, checks);
}
