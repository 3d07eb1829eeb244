// SPDX-License-Identifier: BSL-1.0
//
// quiet_thread: a thread of the library's own, on which no handler of the program's signals runs, except for faults
// that the thread itself makes. It has the processors and the priority of the thread that starts it.
#ifndef TIDEMARK_FENCE_DETAIL_QUIET_THREAD_HPP
#define TIDEMARK_FENCE_DETAIL_QUIET_THREAD_HPP

#if defined(__linux__)

#include <csignal>

#include <pthread.h>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// One thread, started once. Whoever has started it calls join() before the object ends, except in the child of a fork,
/// which has no such thread.
class quiet_thread {
 public:
  quiet_thread() = default;
  quiet_thread(const quiet_thread&) = delete;
  quiet_thread& operator=(const quiet_thread&) = delete;

  /// Runs `run(with)` on the new thread. Returns 0, or the reason, as in errno.
  int start(void* (*run)(void*), void* with) noexcept {
    // Handlers of the program's run on its own threads, but for those of what this one does itself.
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, own);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int error = pthread_create(&thread_, nullptr, run, with);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
  }
  void join() noexcept {
    const cancellation_delay delayed;
    pthread_join(thread_, nullptr);
  }
  bool is_current() const noexcept {
    return pthread_equal(thread_, asked_anew<pthread_t>([]() noexcept { return pthread_self(); })) != 0;
  }

 private:
  pthread_t thread_{};
};

}  // namespace tidemark::detail

#endif

#endif  // TIDEMARK_FENCE_DETAIL_QUIET_THREAD_HPP
