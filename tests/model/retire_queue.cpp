// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the retire queue: nobody frees what is still used, and everything is freed once.
#include "support/progress.hpp"

#include <tidemark/retire_queue.hpp>

#include <array>

namespace {

using model::deep_progress_fence;
using model::payload;
using model::platform;
using model::progress_fence;

/// What a queue is to a retire queue, and nothing else: the checks have room for few operations.
template <class Fence>
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
  Fence progress_;
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

/// One queue, and objects that it uses.
template <unsigned Objects, class Fence = progress_fence>
struct stand {
  small_queue<Fence> queue;
  tidemark::retire_queue<small_queue<Fence>> reclaimer{queue};
  std::array<object, Objects> objects;

  void before() {
    for (object& one : objects) one.content.store(7);
    queue.submit();
  }
  /// By the executor.
  void use() {
    for (object& one : objects) MODEL_REQUIRE(one.content.load() == 7);
  }
  void execute() {
    use();
    queue.complete();
  }
  void after() {
    reclaimer.finish();
    for (const object& one : objects) MODEL_REQUIRE(one.disposed == 1);
  }
};

/// [B3] [B5] [trap 28] [A120] An object is retired and looked for while it is used; another thread drains too. The use ends
/// with the work, or the queue is aborted after its executor was stopped.
template <bool Aborted>
struct used_retired_and_drained : model::suite<3>, stand<1> {
  void thread(unsigned index) {
    if (index == 0) {
      use();
      Aborted ? queue.abort() : queue.complete();
    } else if (index == 1) {
      reclaimer.retire(objects[0], destroy{});
      reclaimer.drain();
    } else {
      reclaimer.drain();
    }
  }
};

/// [B5] Two retire, and one of them drains meanwhile: nothing is lost, and nothing is freed twice.
struct two_retire : model::suite<3>, stand<3> {
  void thread(unsigned index) {
    if (index == 0) {
      execute();
    } else if (index == 1) {
      reclaimer.retire(objects[0], destroy{});
      reclaimer.retire(objects[1], destroy{});
      reclaimer.drain(1);
    } else {
      reclaimer.retire(objects[2], destroy{});
      reclaimer.drain();
    }
  }
};

/// What two threads did with objects that no queue uses is visible to the third one, which disposes of them.
struct handed_over : model::suite<3>, stand<2> {
  void thread(unsigned index) {
    if (index < 2) {
      objects[index].content.store(7);
      reclaimer.retire(objects[index], destroy{}, {0});
    } else {
      reclaimer.drain();
    }
  }
};

/// [B7] The synchronous form returns after the last use. Others wait for the same value: the fence of one slot has them in its
/// lane.
template <class Fence, unsigned Others>
struct retired_and_waited_for : model::suite<2 + Others>, stand<1, Fence> {
  void thread(unsigned index) {
    if (index == 0) return this->execute();
    if (index > 1) return MODEL_REQUIRE(this->queue.wait_finished(1) == tidemark::wait_status::reached);
    this->reclaimer.retire_and_wait(this->objects[0], destroy{});
    MODEL_REQUIRE(this->objects[0].disposed == 1);
  }
};

/// [B5] finish() waits for the last use, and then disposes of it; also of what a disposer retires.
template <class Fence, unsigned Others>
struct finished_beside_executor : model::suite<2 + Others>, stand<2, Fence> {
  struct retire_next {
    void operator()(object& which) const noexcept {
      auto& self = static_cast<first_object&>(which);
      destroy{}(self);
      self.reclaimer->retire(*self.next, destroy{});
    }
  };
  struct first_object : object {
    tidemark::retire_queue<small_queue<Fence>>* reclaimer = nullptr;
    object* next = nullptr;
  };
  first_object first;

  void before() {
    stand<2, Fence>::before();
    first.content.store(7);
    first.reclaimer = &this->reclaimer;
    first.next = &this->objects[0];
  }
  void thread(unsigned index) {
    if (index == 0) return this->execute();
    if (index > 1) return MODEL_REQUIRE(this->queue.wait_finished(1) == tidemark::wait_status::reached);
    this->reclaimer.retire(first, retire_next{});
    this->reclaimer.retire(this->objects[1], destroy{});
    this->reclaimer.finish();
    require_disposed();
  }
  void after() { require_disposed(); }
  void require_disposed() const {
    MODEL_REQUIRE(first.disposed == 1 && this->objects[0].disposed == 1 && this->objects[1].disposed == 1);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(
      argc, argv,
      {
          model::make_check<used_retired_and_drained<false>, "used_retired_and_drained">(),
          model::make_check<two_retire, "two_retire">(),
          model::make_check<handed_over, "handed_over">(),
          model::make_check<retired_and_waited_for<progress_fence, 0>, "retired_and_waited_for">(),
          model::make_check<retired_and_waited_for<progress_fence, 1>, "retired_and_waited_for.lane">(),
          model::make_check<retired_and_waited_for<deep_progress_fence, 0>, "retired_and_waited_for.deep">(),
          model::make_check<finished_beside_executor<progress_fence, 0>, "finished_beside_executor">(),
          model::make_check<finished_beside_executor<progress_fence, 1>, "finished_beside_executor.lane">(),
          model::make_check<finished_beside_executor<deep_progress_fence, 0>, "finished_beside_executor.deep">(),
          model::make_check<used_retired_and_drained<true>, "aborted">(),
      });
}
