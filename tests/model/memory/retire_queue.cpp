// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the retire queue: no object is freed while it is still used, and each object is freed once.
#include "support/progress.hpp"

#include <tidemark/memory/retire_queue.hpp>

#include <array>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::platform;

/// A queue with only what a retire queue needs of it, because the checks have room for few operations.
template <heap_shape Shape>
class small_queue {
 public:
  using platform = model::platform;

  void submit() { last_queued_.store(1, std::memory_order_relaxed); }
  void complete() { progress_.signal(1); }
  void abort() { progress_.poison(); }

  std::uint64_t last_queued() const { return last_queued_.load(std::memory_order_relaxed); }
  bool is_finished(std::uint64_t serial) const { return progress_.is_reached(serial); }
  tidemark::wait_status wait_finished(std::uint64_t serial) const { return progress_.wait(serial); }

 private:
  platform::atomic<std::uint64_t> last_queued_;
  model::progress_fence<Shape> progress_;
};

struct object : tidemark::retire_hook<1, platform> {
  payload content;
  int disposed = 0;
};
struct destroy {
  void operator()(object& which) const noexcept {
    which.content.store(-1);
    ++which.disposed;
  }
};

/// A queue, and objects that its work uses.
template <unsigned Objects, heap_shape Shape = one_slot>
struct stand {
  small_queue<Shape> queue;
  tidemark::retire_queue<small_queue<Shape>> reclaimer{queue};
  std::array<object, Objects> objects;

  void before() {
    for (object& one : objects) one.content.store(7);
    queue.submit();
  }
  /// Acts as the executor, which uses the objects.
  void use() {
    for (object& one : objects) MODEL_REQUIRE(one.content.load() == 7);
  }
  void execute() {
    use();
    queue.complete();
  }
  void after() {
    MODEL_REQUIRE(reclaimer.drain() == tidemark::wait_status::reached);
    for (const object& one : objects) MODEL_REQUIRE(one.disposed == 1);
  }
};

/// [B3] [B5] [trap 28] [A120] One thread retires an object and drains while the executor uses the object; another
/// thread drains too. The use ends with the work, or the queue is aborted after its executor has stopped.
template <bool Aborted>
struct used_retired_and_drained : model::suite<3>, stand<1> {
  void thread(unsigned index) {
    if (index == 0) {
      use();
      Aborted ? queue.abort() : queue.complete();
    } else if (index == 1) {
      reclaimer.retire(objects[0], destroy{});
      reclaimer.reclaim();
    } else {
      reclaimer.reclaim();
    }
  }
};

/// [B5] Two threads retire objects and drain. No object is lost, and none is freed twice.
struct two_retire : model::suite<3>, stand<3> {
  void thread(unsigned index) {
    if (index == 0) {
      execute();
    } else if (index == 1) {
      reclaimer.retire(objects[0], destroy{});
      reclaimer.retire(objects[1], destroy{});
      reclaimer.reclaim(1);
    } else {
      reclaimer.retire(objects[2], destroy{});
      reclaimer.reclaim();
    }
  }
};

/// Two threads write objects that no queue uses. The third thread, which disposes of the objects, sees what they wrote.
struct handed_over : model::suite<3>, stand<2> {
  void thread(unsigned index) {
    if (index < 2) {
      objects[index].content.store(7);
      reclaimer.retire(objects[index], destroy{}, {0});
    } else {
      reclaimer.reclaim();
    }
  }
};

/// [B3] [B6] The work of the queue never ends. A thread writes an object that it does not use, and retires it. Others
/// dispose of it, and not of the object that the work uses.
struct assumed_not_in_use : model::suite<3>, stand<2> {
  void before() {
    stand<2>::before();
    reclaimer.retire(objects[1], destroy{});
  }
  void thread(unsigned index) {
    if (index == 0) {
      objects[0].content.store(7);
      MODEL_REQUIRE(reclaimer.retire(objects[0], destroy{}, tidemark::assume_not_in_use));
    } else {
      reclaimer.reclaim();
    }
  }
  void after() {
    reclaimer.reclaim();
    MODEL_REQUIRE(objects[0].disposed == 1 && objects[1].disposed == 0);
    queue.complete();
    stand<2>::after();
  }
};

/// [B7] The synchronous form returns after the last use. Others wait for the same value; on the heap of one slot they
/// share the lane.
template <unsigned Others, heap_shape Shape>
struct retired_and_waited_for_beside : model::suite<2 + Others>, stand<1, Shape> {
  void thread(unsigned index) {
    if (index == 0) return this->execute();
    if (index > 1) return MODEL_REQUIRE(this->queue.wait_finished(1) == tidemark::wait_status::reached);
    MODEL_REQUIRE(this->reclaimer.destroy(this->objects[0], destroy{}));
    MODEL_REQUIRE(this->objects[0].disposed == 1);
  }
};

/// [B5] drain() waits for the last use and then disposes of all objects, including those that a disposer retires.
template <unsigned Others, heap_shape Shape>
struct finished_beside : model::suite<2 + Others>, stand<2, Shape> {
  struct retire_next {
    void operator()(object& which) const noexcept {
      auto& self = static_cast<first_object&>(which);
      destroy{}(self);
      self.reclaimer->retire(*self.next, destroy{});
    }
  };
  struct first_object : object {
    tidemark::retire_queue<small_queue<Shape>>* reclaimer = nullptr;
    object* next = nullptr;
  };
  first_object first;

  void before() {
    stand<2, Shape>::before();
    first.content.store(7);
    first.reclaimer = &this->reclaimer;
    first.next = &this->objects[0];
  }
  void thread(unsigned index) {
    if (index == 0) return this->execute();
    if (index > 1) return MODEL_REQUIRE(this->queue.wait_finished(1) == tidemark::wait_status::reached);
    this->reclaimer.retire(first, retire_next{});
    this->reclaimer.retire(this->objects[1], destroy{});
    MODEL_REQUIRE(this->reclaimer.drain() == tidemark::wait_status::reached);
    require_disposed();
  }
  void after() { require_disposed(); }
  void require_disposed() const {
    MODEL_REQUIRE(first.disposed == 1 && this->objects[0].disposed == 1 && this->objects[1].disposed == 1);
  }
};

template <heap_shape Shape>
using retired_and_waited_for = retired_and_waited_for_beside<0, Shape>;
template <heap_shape Shape>
using finished_beside_executor = finished_beside<0, Shape>;

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks{
      model::make_check<used_retired_and_drained<false>, "used_retired_and_drained">(),
      model::make_check<two_retire, "two_retire">(),
      model::make_check<handed_over, "handed_over">(),
      model::make_check<assumed_not_in_use, "assumed_not_in_use">(),
      model::make_check<retired_and_waited_for_beside<1, one_slot>, "retired_beside_a_waiter">(),
      model::make_check<finished_beside<1, one_slot>, "finished_beside_a_waiter">(),
      model::make_check<used_retired_and_drained<true>, "aborted">(),
  };
  model::add_on_shapes<retired_and_waited_for, one_slot, "retired_and_waited_for">(checks);
  model::add_on_shapes<finished_beside_executor, one_slot, "finished_beside_executor">(checks);
  return model::run(argc, argv, checks);
}
