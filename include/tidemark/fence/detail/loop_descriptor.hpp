// SPDX-License-Identifier: BSL-1.0
//
// loop_descriptor: what makes the descriptor of a loop readable. It is an epoll descriptor over an eventfd, for what is
// to be run, and a timerfd, for the next deadline. A timerfd alone could do both, but is ten times slower to wake.
//
// An io_uring polls it like any other descriptor. With its futex operation (Linux 6.7) a thread asleep in the ring runs
// again after the same time within 2 %, and the signaller's call takes as long. But that operation knows no deadlines.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_DESCRIPTOR_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_DESCRIPTOR_HPP

#if defined(__linux__)

#include <cerrno>
#include <chrono>
#include <cstdint>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../../platform/platform.hpp"
#include "loop_word.hpp"

namespace tidemark::detail {

class loop_descriptor final : public outside_sleep {
 public:
  loop_descriptor() = default;
  ~loop_descriptor() { close(); }

  /// Returns the descriptor, and makes it first if there is none; -1 if it can't, with the reason in errno.
  int open() noexcept {
    if (joint_ >= 0) return joint_;
    event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    joint_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (event_ < 0 || timer_ < 0 || joint_ < 0 || !join(event_) || !join(timer_)) {
      const int reason = errno;
      close();
      errno = reason;
    }
    return joint_;
  }

  void wake() noexcept override {
    // It can only fail if so many wake-ups are there already that one more makes no difference.
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event_, &one, sizeof one));
  }
  void set(deadline at) noexcept override {
    if (at == set_) return;
    set_ = at;
    itimerspec when{};
    if (at != forever) {
      // A time of 0 would stop the timer.
      const deadline::duration shortest{1};
      const deadline::duration since_boot = at.time_since_epoch() > shortest ? at.time_since_epoch() : shortest;
      const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
      when.it_value.tv_sec = static_cast<time_t>(seconds.count());
      when.it_value.tv_nsec = static_cast<long>((since_boot - seconds).count());
    }
    static_cast<void>(::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr));
  }
  void clear() noexcept override {
    std::uint64_t calls = 0;
    static_cast<void>(!::read(event_, &calls, sizeof calls));
    if (set_ != forever && ::read(timer_, &calls, sizeof calls) > 0) set_ = forever;
  }

 private:
  bool join(int descriptor) const noexcept {
    epoll_event readable{};
    readable.events = EPOLLIN;
    return ::epoll_ctl(joint_, EPOLL_CTL_ADD, descriptor, &readable) == 0;
  }
  void close() noexcept {
    for (int* const descriptor : {&event_, &timer_, &joint_}) {
      if (*descriptor >= 0) ::close(*descriptor);
      *descriptor = -1;
    }
  }

  int event_ = -1;
  int timer_ = -1;
  int joint_ = -1;
  deadline set_ = forever;  // the time at which the timer ends; forever if it is stopped
};

}  // namespace tidemark::detail

#endif

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_DESCRIPTOR_HPP
