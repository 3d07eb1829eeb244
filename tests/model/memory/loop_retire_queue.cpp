// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the retire queue on a loop: no object is freed while it is still used, and each object is freed once.
#include "support/progress.hpp"
#include "support/waiting.hpp"

#include <tidemark/memory/loop_retire_queue.hpp>

#include <array>
#include <optional>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::platform;
using tidemark::wait_status;

using wait_loop = tidemark::basic_wait_loop<platform>;
using reclaimer_type = tidemark::basic_loop_retire_queue<platform, 2>;

/// A queue with only what a retire queue needs of it, because the checks have room for few operations.
template <heap_shape Shape>
class small_queue {
 public:
  using platform = model::platform;
  struct named_progress {
    model::progress_fence<Shape>* fence;
  };

  void submit() { last_queued_.store(1, std::memory_order_relaxed); }
  void complete() { progress_.signal(1); }
  void abort() { progress_.poison(); }

  std::uint64_t last_queued() const { return last_queued_.load(std::memory_order_relaxed); }
  bool is_finished(std::uint64_t serial) const { return progress_.is_reached(serial) || progress_.is_poisoned(); }
  wait_status wait_finished(std::uint64_t serial) const { return progress_.wait(serial); }
  named_progress progress() const { return {&progress_}; }

 private:
  platform::atomic<std::uint64_t> last_queued_;
  mutable model::progress_fence<Shape> progress_;
};

struct object : reclaimer_type::hook {
  payload content;
  payload disposals;
};
struct destroy {
  void operator()(object& which) const noexcept {
    which.content.store(-1);
    which.disposals.store(which.disposals.load() + 1);
  }
};

/// Two queues, and an object that the work of both uses.
template <heap_shape Shape>
struct stand {
  std::array<small_queue<Shape>, 2> queues;
  wait_loop loop;
  std::optional<reclaimer_type> reclaimer;
  object used;

  void begin(std::size_t count) {
    reclaimer.emplace(loop);
    used.content.store(7);
    for (std::size_t i = 0; i < count; ++i) {
      queues[i].submit();
      MODEL_REQUIRE(reclaimer->add_queue(queues[i]));
    }
  }
  /// Acts as an executor, which uses the object.
  void finish(std::size_t which) {
    MODEL_REQUIRE(used.content.load() == 7);
    queues[which].complete();
  }
  void run_until_disposed() {
    while (reclaimer->size() != 0) MODEL_REQUIRE(loop.run_one() == wait_status::reached);
  }
  void end() {
    MODEL_REQUIRE(used.disposals.load() == 1);
    reclaimer.reset();
  }
};

/// [B5] An object is retired while the queue that uses it finishes.
template <heap_shape Shape>
struct retired_against_completion : model::suite<2>, stand<Shape> {
  void before() { this->begin(1); }
  void thread(unsigned index) {
    if (index == 0) return this->finish(0);
    MODEL_REQUIRE(this->reclaimer->retire(this->used, destroy{}));
    this->run_until_disposed();
  }
  void after() { this->end(); }
};

/// [B5] Two queues use the object.
template <heap_shape Shape>
struct two_queues : model::suite<3>, stand<Shape> {
  void before() {
    this->begin(2);
    MODEL_REQUIRE(this->reclaimer->retire(this->used, destroy{}));
  }
  void thread(unsigned index) {
    if (index < 2) return this->finish(index);
    this->run_until_disposed();
  }
  void after() { this->end(); }
};

/// [B5] A thread drains while another one runs the loop. The object is disposed of once, by one of them.
template <heap_shape Shape>
struct drained_beside_loop : model::suite<3>, stand<Shape> {
  void before() {
    this->begin(1);
    MODEL_REQUIRE(this->reclaimer->retire(this->used, destroy{}));
  }
  void thread(unsigned index) {
    if (index == 0) return this->finish(0);
    if (index == 1) {
      this->reclaimer->drain();
      MODEL_REQUIRE(this->used.disposals.load() == 1);
    } else {
      static_cast<void>(this->loop.run_one_until(model::some_time));
    }
  }
  void after() { this->end(); }
};

/// A queue is removed as soon as its work is finished, while the loop runs. What has waited for it goes on.
template <heap_shape Shape>
struct removed_beside_loop : model::suite<2>, stand<Shape> {
  void before() {
    this->begin(1);
    MODEL_REQUIRE(this->reclaimer->retire(this->used, destroy{}));
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->finish(0);
      MODEL_REQUIRE(this->reclaimer->remove_queue(this->queues[0]));
    } else {
      this->run_until_disposed();
    }
  }
  void after() { this->end(); }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<retired_against_completion, one_slot, "retired_against_completion">(checks);
  model::add_on_shapes<two_queues, one_slot, "two_queues">(checks);
  model::add_on_shapes<drained_beside_loop, one_slot, "drained_beside_loop">(checks);
  model::add_on_shapes<removed_beside_loop, one_slot, "removed_beside_loop">(checks);
  return model::run(argc, argv, checks);
}
