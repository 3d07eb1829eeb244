// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the retire queue: nobody frees what is still used, and everything is freed once.
#include "support/model_check.hpp"

#include <tidemark/fence.hpp>
#include <tidemark/retire_queue.hpp>

#include <array>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using progress_fence = tidemark::basic_progress_fence<platform, tidemark::fence_options{.capacity = 1, .arity = 2}>;

/// What a queue is to a retire queue, and nothing else: the checks have room for few operations.
class small_queue {
 public:
  using platform = ::platform;

  void submit() { last_queued_.store(1, std::memory_order_relaxed); }
  void complete() { progress_.signal(1); }
  void abort() { progress_.poison(); }

  std::uint64_t last_queued() const { return last_queued_.load(std::memory_order_relaxed); }
  bool is_finished(std::uint64_t serial) const { return progress_.is_reached(serial); }
  tidemark::wait_status wait_finished(std::uint64_t serial) const { return progress_.wait(serial); }

 private:
  platform::atomic<std::uint64_t> last_queued_;
  progress_fence progress_;
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
template <unsigned Objects>
struct stand {
  small_queue queue;
  tidemark::retire_queue<small_queue> reclaimer{queue};
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

/// [B7] The synchronous form returns after the last use.
struct retired_and_waited_for : model::suite<2>, stand<1> {
  void thread(unsigned index) {
    if (index == 0) {
      execute();
    } else {
      reclaimer.retire_and_wait(objects[0], destroy{});
      MODEL_REQUIRE(objects[0].disposed == 1);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<used_retired_and_drained<false>, "used_retired_and_drained">(),
                        model::make_check<two_retire, "two_retire">(),
                        model::make_check<handed_over, "handed_over">(),
                        model::make_check<retired_and_waited_for, "retired_and_waited_for">(),
                        model::make_check<used_retired_and_drained<true>, "aborted">(),
                    });
}
