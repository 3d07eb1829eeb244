// SPDX-License-Identifier: BSL-1.0
//
// cancellation_delay: a scope in which pthread_cancel() does not end the thread.
//
// Sleeping on a condition variable, poll(), read(), write(), close() and joining a thread are cancellation points. They
// end a cancelled thread by unwinding its stack, as by an exception. A function that must not throw would end the
// program instead. So each of them stands in such a scope. The cancellation waits until the thread comes to a
// cancellation point of the program's. A futex is not one, so the platforms do the same.
#ifndef TIDEMARK_PLATFORM_DETAIL_CANCELLATION_HPP
#define TIDEMARK_PLATFORM_DETAIL_CANCELLATION_HPP

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

namespace tidemark::detail {

#if defined(PTHREAD_CANCEL_DISABLE)

class cancellation_delay {
 public:
  cancellation_delay() noexcept { static_cast<void>(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_)); }
  cancellation_delay(const cancellation_delay&) = delete;
  cancellation_delay& operator=(const cancellation_delay&) = delete;
  ~cancellation_delay() {
    int disabled = 0;
    static_cast<void>(pthread_setcancelstate(before_, &disabled));
  }

 private:
  int before_ = 0;
};

#else

/// Threads can't be cancelled here.
class cancellation_delay {
 public:
  cancellation_delay() noexcept {}
  cancellation_delay(const cancellation_delay&) = delete;
  cancellation_delay& operator=(const cancellation_delay&) = delete;
  ~cancellation_delay() {}
};

#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_CANCELLATION_HPP
