// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the shadow of a monitored value: signals that ring only above it, against waits that lower it, and
// against the co-processor, which raises it. Plain data are handed over.
#include "support/gone.hpp"
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/engine/shadowed_fence.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using model::heap_shape;
using tidemark::wait_status;

/// A fence with the loops of its co-processor and its processor, and with the bystanders of its shape.
template <heap_shape Shape>
struct shadowed {
  struct fence_type : tidemark::basic_shadowed_fence<platform, model::options_of(Shape)> {
    using base = tidemark::basic_shadowed_fence<platform, model::options_of(Shape)>;
    using base::base;
    /// They register with the heap alone; the waiter who comes and goes is reported.
    void register_others() {
      model::register_bystanders<Shape>(this->heap());
      come_and_go(model::never_signalled);
    }
    /// A waiter for 1 comes and goes. The shadow stays at 0.
    void leave_shadow_behind() {
      come_and_go(1);
      MODEL_REQUIRE(this->shadow() == 0);
    }
    void come_and_go(std::uint64_t target) {
      this->heap().withdraw(tidemark::detail::fence_access::add(*this, target, nullptr));
    }
  };

  /// Does what is left for the co-processor and the processor, one after the other.
  void run_loops() {
    while (coprocessor.poll() + processor.poll() != 0) {
    }
  }
  std::uint64_t idle_value() const { return platform::heavy_barrier_available() ? model::idle_value_of(Shape) : 0; }
  /// What must be true in the end.
  void require_rest() {
    run_loops();
    MODEL_REQUIRE(fence.monitored_value() == idle_value());
    MODEL_REQUIRE(fence.shadow() <= fence.monitored_value());
    MODEL_REQUIRE(fence.counts().interrupts <= fence.counts().looks);
    MODEL_REQUIRE(fence.counts().looks <= fence.counts().rings);
  }

  tidemark::basic_wait_loop<platform> coprocessor;
  tidemark::basic_wait_loop<platform> processor;
  fence_type fence{coprocessor, processor};
  payload data;
};

/// [A30] [A31] [A125] A signal rings, or the waiter sees its value. The signalling thread runs the loops, too.
template <heap_shape Shape>
struct signal_against_wait : model::suite<2>, shadowed<Shape> {
  void before() { this->fence.register_others(); }
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      MODEL_REQUIRE(this->fence.signal(1));
      this->run_loops();
    } else {
      MODEL_REQUIRE(this->fence.wait(1) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->require_rest(); }
};

/// [A30] [A125] The co-processor and the processor have a thread of their own, which is busy with an earlier value.
template <heap_shape Shape>
struct ring_against_wait : model::suite<3>, shadowed<Shape> {
  void before() {
    this->fence.register_others();
    this->fence.leave_shadow_behind();
    MODEL_REQUIRE(this->fence.signal(1));
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      MODEL_REQUIRE(this->fence.signal(2));
      this->run_loops();
    } else if (index == 1) {
      MODEL_REQUIRE(this->fence.wait(2) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    } else {
      this->run_loops();
    }
  }
  void after() { this->require_rest(); }
};

/// [A30] [A125] Two threads wait for different values. A copy for one of them does not hide the other one.
template <heap_shape Shape>
struct two_wait : model::suite<3>, shadowed<Shape> {
  void before() { this->fence.register_others(); }
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      MODEL_REQUIRE(this->fence.signal(1));
      this->run_loops();
      MODEL_REQUIRE(this->fence.signal(2));
      this->run_loops();
    } else {
      MODEL_REQUIRE(this->fence.wait(index) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->require_rest(); }
};

/// [A120] [A125] The timeline is lost while a thread waits.
template <heap_shape Shape>
struct lost_against_wait : model::suite<2>, shadowed<Shape> {
  void before() { this->fence.register_others(); }
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      this->fence.poison();
    } else {
      MODEL_REQUIRE(this->fence.wait(1) == wait_status::lost);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->run_loops(); }
};

/// [A125] The fence is destroyed while its loops look, with a ring and an interrupt on their way.
struct destroyed_against_loops : model::suite<2> {
  tidemark::basic_wait_loop<platform> coprocessor;
  tidemark::basic_wait_loop<platform> processor;
  std::optional<tidemark::basic_shadowed_fence<platform, model::options_of(model::one_slot)>> fence;

  void before() {
    fence.emplace(coprocessor, processor);
    // A waiter for 1, who is still there when the co-processor looks.
    const auto waiting = tidemark::detail::fence_access::add(*fence, 1, nullptr);
    MODEL_REQUIRE(fence->signal(1));
    static_cast<void>(waiting);
  }
  void thread(unsigned index) {
    if (index == 0) {
      model::destroy(fence);
    } else {
      static_cast<void>(coprocessor.poll());
      static_cast<void>(processor.poll());
    }
  }
  void after() { MODEL_REQUIRE(coprocessor.poll() + processor.poll() == 0); }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<signal_against_wait, model::one_slot, "signal_against_wait">(checks);
  model::add_on_shapes<ring_against_wait, model::one_slot, "ring_against_wait">(checks);
  model::add_on_shapes<two_wait, model::two_slots, "two_wait">(checks);
  model::add_on_shapes<lost_against_wait, model::one_slot, "lost_against_wait">(checks);
  checks.push_back(model::make_check<destroyed_against_loops, "destroyed_against_loops">());
  return model::run(argc, argv, checks);
}
