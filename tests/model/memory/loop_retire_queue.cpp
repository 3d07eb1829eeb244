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
using tidemark::run_status;
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

  void submit(std::uint64_t serial = 1) { last_queued_.store(serial, std::memory_order_relaxed); }
  void complete(std::uint64_t serial = 1) { progress_.signal(serial); }
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
    while (reclaimer->size() != 0) MODEL_REQUIRE(loop.run_one() == run_status::ran);
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
      static_cast<void>(this->reclaimer->drain());
      MODEL_REQUIRE(this->used.disposals.load() == 1);
    } else {
      static_cast<void>(this->loop.run_one_until(model::some_time));
    }
  }
  void after() { this->end(); }
};

/// [B4] [B5] A thread drains, and nobody runs the loop. It waits for both queues.
template <heap_shape Shape>
struct drained_of_two_queues : model::suite<2>, stand<Shape> {
  void before() {
    this->begin(2);
    MODEL_REQUIRE(this->reclaimer->retire(this->used, destroy{}));
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->finish(0);
      this->finish(1);
    } else {
      static_cast<void>(this->reclaimer->drain());
      MODEL_REQUIRE(this->used.disposals.load() == 1);
    }
  }
  void after() { this->end(); }
};

/// [B4] [B5] A thread drains, and nobody runs the loop. The first queue's work goes on when an object has been disposed
/// of for which only the second queue matters.
template <heap_shape Shape>
struct drained_in_turn : model::suite<2>, stand<Shape> {
  struct first_object : object {
    small_queue<Shape>* then = nullptr;
  };
  struct destroy_first {
    void operator()(object& which) const noexcept {
      destroy{}(which);
      static_cast<first_object&>(which).then->complete();
    }
  };
  first_object first;

  void before() {
    this->begin(0);
    first.then = &this->queues[0];
    for (auto& each : this->queues) MODEL_REQUIRE(this->reclaimer->add_queue(each));
    this->queues[1].submit();
    MODEL_REQUIRE(this->reclaimer->retire(first, destroy_first{}));
    this->queues[0].submit();
    MODEL_REQUIRE(this->reclaimer->retire(this->used, destroy{}));
  }
  void thread(unsigned index) {
    if (index == 0) return this->finish(1);
    static_cast<void>(this->reclaimer->drain());
    MODEL_REQUIRE(first.disposals.load() == 1 && this->used.disposals.load() == 1);
  }
  void after() { this->end(); }
};

/// [B3] [B6] The work of the queues never ends. A thread writes an object that it does not use, and retires it. The
/// loop's thread disposes of it, and not of the object that the work uses.
template <heap_shape Shape>
struct assumed_not_in_use : model::suite<2>, stand<Shape> {
  object in_use;

  void before() {
    this->begin(2);
    in_use.content.store(7);
    MODEL_REQUIRE(this->reclaimer->retire(in_use, destroy{}));
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->used.content.store(7);
      MODEL_REQUIRE(this->reclaimer->retire(this->used, destroy{}, tidemark::assume_not_in_use));
    } else {
      while (this->used.disposals.load() == 0) MODEL_REQUIRE(this->loop.run_one() == run_status::ran);
    }
  }
  void after() {
    MODEL_REQUIRE(in_use.disposals.load() == 0);
    for (auto& each : this->queues) each.complete();
    this->end();
    MODEL_REQUIRE(in_use.disposals.load() == 1);
  }
};

/// [B7] A thread destroys the object at once, which the work of both queues uses. Nobody runs the loop.
template <heap_shape Shape>
struct destroyed_at_once : model::suite<3>, stand<Shape> {
  void before() { this->begin(2); }
  void thread(unsigned index) {
    if (index < 2) return this->finish(index);
    MODEL_REQUIRE(this->reclaimer->destroy(this->used, destroy{}));
    MODEL_REQUIRE(this->used.disposals.load() == 1);
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

/// [B4] [B5] The object still stands in the first queue's list when a second object passes that queue by, and waits for
/// the second queue's next serial. So the first one comes to the second queue late, with the lower serial.
template <heap_shape Shape>
struct late_at_second_queue : model::suite<2>, stand<Shape> {
  object other;

  void before() {
    this->begin(2);
    other.content.store(7);
    MODEL_REQUIRE(this->reclaimer->retire(this->used, destroy{}));
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->finish(0);
      this->queues[1].submit(2);
      MODEL_REQUIRE(this->reclaimer->retire(other, destroy{}));
      this->finish(1);
    } else {
      while (this->used.disposals.load() == 0) MODEL_REQUIRE(this->loop.run_one() == run_status::ran);
    }
  }
  void after() {
    MODEL_REQUIRE(other.disposals.load() == 0);
    this->queues[1].complete(2);
    static_cast<void>(this->reclaimer->drain());
    MODEL_REQUIRE(other.disposals.load() == 1);
    this->end();
  }
};

/// An object whose disposer needs the suite.
template <class Suite>
struct object_of : object {
  Suite* suite = nullptr;
};
template <class Suite>
Suite& suite_of(object& which) {
  return *static_cast<object_of<Suite>&>(which).suite;
}

/// [B5] A thread drains while another one disposes of the only object. Meanwhile a second one is retired, by the
/// disposer or by the queue's thread, and must wait for work. Nobody runs the loop then.
template <bool ByDisposer>
struct retired_beside_drain : model::suite<3>, stand<one_slot> {
  struct destroy_first {
    void operator()(object& which) const noexcept {
      destroy{}(which);
      if (ByDisposer) suite_of<retired_beside_drain>(which).retire_second();
    }
  };
  object_of<retired_beside_drain> first;

  void retire_second() { MODEL_REQUIRE(reclaimer->retire(used, destroy{})); }
  void before() {
    first.content.store(7);
    first.suite = this;
    this->begin(0);
    MODEL_REQUIRE(reclaimer->retire(first, destroy_first{}));
    queues[0].submit();
    MODEL_REQUIRE(reclaimer->add_queue(queues[0]));
  }
  void thread(unsigned index) {
    if (index == 0) {
      if (!ByDisposer) retire_second();
      this->finish(0);
    } else if (index == 1) {
      static_cast<void>(reclaimer->drain());
      MODEL_REQUIRE(first.disposals.load() == 1);
    } else {
      static_cast<void>(loop.poll());
    }
  }
  void after() {
    if (!ByDisposer) static_cast<void>(reclaimer->drain());
    MODEL_REQUIRE(first.disposals.load() == 1 && reclaimer->size() == 0);
    this->end();
  }
};

/// [B5] The disposal of the first object ends when that of the second one has begun, in another thread. If that thread
/// has drained before the second object was retired, it need not wait for the third one, which the disposer of the
/// second retires, and which is free at once. So it may leave. The thread that has drained afterwards may sleep then.
struct left_by_another_drain : model::suite<3>, stand<one_slot> {
  struct destroy_first {
    void operator()(object& which) const noexcept {
      destroy{}(which);
      static_cast<void>(suite_of<left_by_another_drain>(which).has_begun.wait(1));
    }
  };
  struct destroy_second {
    void operator()(object& which) const noexcept {
      auto& suite = suite_of<left_by_another_drain>(which);
      destroy{}(which);
      suite.has_begun.signal(1);
      MODEL_REQUIRE(suite.reclaimer->retire(suite.used, destroy{}));
    }
  };
  object_of<left_by_another_drain> first;
  object_of<left_by_another_drain> second;
  model::progress_fence<one_slot> has_begun;

  void before() {
    first.suite = this;
    second.suite = this;
    this->begin(0);
    MODEL_REQUIRE(reclaimer->retire(first, destroy_first{}));
  }
  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(loop.poll());
    } else if (index == 1) {
      static_cast<void>(reclaimer->drain());
      MODEL_REQUIRE(first.disposals.load() == 1);
    } else {
      MODEL_REQUIRE(reclaimer->retire(second, destroy_second{}));
      static_cast<void>(reclaimer->drain());
      MODEL_REQUIRE(second.disposals.load() == 1 && used.disposals.load() == 1);
    }
  }
  void after() {
    MODEL_REQUIRE(reclaimer->size() == 0);
    this->end();
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<retired_against_completion, one_slot, "retired_against_completion">(checks);
  model::add_on_shapes<two_queues, one_slot, "two_queues">(checks);
  model::add_on_shapes<drained_beside_loop, one_slot, "drained_beside_loop">(checks);
  model::add_on_shapes<removed_beside_loop, one_slot, "removed_beside_loop">(checks);
  checks.push_back(model::make_check<assumed_not_in_use<one_slot>, "assumed_not_in_use">());
  checks.push_back(model::make_check<assumed_not_in_use<model::two_levels>, "assumed_not_in_use.two_levels">());
  model::add_on_shapes<destroyed_at_once, one_slot, "destroyed_at_once">(checks);
  checks.push_back(model::make_check<drained_of_two_queues<one_slot>, "drained_of_two_queues">());
  checks.push_back(model::make_check<drained_of_two_queues<model::two_levels>, "drained_of_two_queues.two_levels">());
  checks.push_back(model::make_check<drained_in_turn<one_slot>, "drained_in_turn">());
  checks.push_back(model::make_check<drained_in_turn<model::two_levels>, "drained_in_turn.two_levels">());
  checks.push_back(model::make_check<late_at_second_queue<one_slot>, "late_at_second_queue">());
  checks.push_back(model::make_check<late_at_second_queue<model::two_levels>, "late_at_second_queue.two_levels">());
  checks.push_back(model::make_check<late_at_second_queue<model::in_lane>, "late_at_second_queue.in_lane">());
  checks.push_back(model::make_check<retired_beside_drain<true>, "retired_beside_drain.by_disposer">());
  checks.push_back(model::make_check<retired_beside_drain<false>, "retired_beside_drain.by_another">());
  checks.push_back(model::make_check<left_by_another_drain, "left_by_another_drain">());
  return model::run(argc, argv, checks);
}
