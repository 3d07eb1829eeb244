// SPDX-License-Identifier: BSL-1.0
// The checks of docs/guide-verify.md of a header that uses the standard library. The runner has the main().

#define MYPROJECT_CHECKED 1
#include "job_queue.hpp"

namespace {

using myproject::job_queue;
namespace sync = myproject::sync;
using tidemark::verify::expect;

/// Two jobs go through a queue that has room for one; then it is stopped.
template <class Queue>
struct hands_over : tidemark::verify::check<2> {
  Queue queue;

  void thread(unsigned index) {
    if (index == 0) {
      expect(queue.push(1) && queue.push(2), "it is not stopped yet");
      queue.stop();
    } else {
      expect(queue.pop() == 1 && queue.pop() == 2 && queue.pop() == 0, "jobs come in order, and then the end");
    }
  }
};
const tidemark::verify::checked<hands_over<job_queue<1>>> right{"job_queue"};

/// Whoever sleeps because the queue is empty is not told of a job.
struct tells_nobody : job_queue<1> {
  bool push(int job) {
    sync::unique_lock lock{mutex_};
    not_full_.wait(lock, [this] { return is_stopped() || count_ < 1; });
    if (is_stopped()) return false;
    add(job);
    return true;
  }
};
const tidemark::verify::twin<hands_over<tells_nobody>> silent{"notify forgotten"};

/// Looks whether there is a job before it has locked the mutex.
struct looks_too_soon : job_queue<1> {
  int pop() {
    const bool is_empty = count_ == 0;
    sync::unique_lock lock{mutex_};
    if (is_empty) not_empty_.wait(lock);
    if (count_ == 0) return 0;
    const int job = take();
    not_full_.notify_one();
    return job;
  }
};
const tidemark::verify::twin<hands_over<looks_too_soon>> hasty{"looks before it locks"};

/// Says that it is stopped while a thread is between its look and its sleep.
struct stops_without_the_lock : job_queue<1> {
  void stop() {
    stopped_.store(true, sync::memory_order_release);
    not_full_.notify_all();
    not_empty_.notify_all();
  }
};
const tidemark::verify::twin<hands_over<stops_without_the_lock>> abrupt{"stops without the lock"};

}  // namespace
