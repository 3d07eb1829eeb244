// SPDX-License-Identifier: BSL-1.0
//
// loop_descriptor: what makes the descriptor of a loop readable. It is an epoll descriptor over an eventfd, for what is
// to be run, and a timerfd, for the next deadline. A timerfd alone could do both, but each wake-up would set a timer.
//
// An io_uring polls it like any other descriptor. Where its kernel has a futex operation (Linux 6.7), it may sleep on a
// word instead (uring_word, below). Then nothing is written and read for a wake-up. That operation knows neither
// deadlines nor other descriptors, so while there are any, and whenever a thread sleeps here, the descriptor is used.
#ifndef TIDEMARK_LOOP_DETAIL_LOOP_DESCRIPTOR_HPP
#define TIDEMARK_LOOP_DETAIL_LOOP_DESCRIPTOR_HPP

#include <atomic>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// uring_word: the word on which an io_uring sleeps for a loop, in the place of the loop's descriptor.
///
///   [ told : 1 | armed : 1 ]
///
/// The kernel's operation sleeps while the word is `armed` and nothing else. So there are two ways to wake the loop's
/// thread, and at any time one of them is right: the word while it is armed, and otherwise the descriptor.
///
/// Why nothing is lost
/// -------------------
/// Whoever tells marks the word (Y22), whoever is about to sleep on it arms it (Y23), and both change the word in one
/// step. If the word was armed before it was told, its sleepers are woken, and an operation that only begins finds
/// another value than it expects. If it was told before, it is not armed, and the operation finds that as well. A word
/// that stops to be armed wakes its sleepers, whoever changes it. So an operation is never left asleep, and one that
/// was prepared long ago ends too early rather than too late.
///
/// A change of the two ways, by clear() and disarm(), may come between (Y22) and what follows it. Then the sleeper is
/// told by the way that was right before, once too often; and it looks at the loop after the change.
template <platform Platform>
class uring_word {
 public:
  using word = typename Platform::park_word;

  /// The value with which an operation sleeps.
  static constexpr std::uint32_t armed = 1;

  /// Returns the word on which an operation sleeps after arm().
  word& sleeps_on() noexcept { return word_; }

  /// Ends the sleep on the word, or the next one, if the word is armed. Otherwise it returns false, and the caller must
  /// make the descriptor readable. Any thread may call it.
  bool tell() noexcept {
    // (Y22): relaxed alone: what the sleeper is told of, it finds by the loop's own word. An exchange, so that of this
    // and (Y23) the later one finds the earlier one.
    if ((word_.fetch_or(told, std::memory_order_relaxed) & armed) == 0) return false;
    Platform::unpark(word_, UINT32_MAX);
    return true;
  }

  // ---- with the loop's lock held ----

  /// Lets operations sleep on the word. If it was told since clear(), they don't sleep.
  void arm() noexcept {
    std::uint32_t expected = 0;
    // (Y23): relaxed alone, like (Y22).
    word_.compare_exchange_strong(expected, armed, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  /// Forgets that it was told, and ends what sleeps on it. Returns whether tell() may have returned false since the
  /// last time.
  bool clear() noexcept { return (reset() & armed) == 0; }
  /// Ends what sleeps on the word. From now on the descriptor must be used. Returns whether that must be readable
  /// because the word was told before. A thread may also call it without the lock while no other one may arm the word.
  bool disarm() noexcept {
    // (Y24): relaxed alone: the lock orders what it looks for.
    return (word_.load(std::memory_order_relaxed) & armed) != 0 && reset() != armed;
  }

 private:
  static constexpr std::uint32_t told = 2;

  std::uint32_t reset() noexcept {
    // (Y25): relaxed alone, like (Y22): the thread leaves the loop afterwards (Y15).
    const std::uint32_t before = word_.exchange(0, std::memory_order_relaxed);
    // If it was told, whoever did that wakes them.
    if (before == armed) Platform::unpark(word_, UINT32_MAX);
    return before;
  }

  word word_{0};
};

}  // namespace tidemark::detail

#if defined(__linux__)

#include <array>
#include <chrono>
#include <cstddef>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../../platform/tools/intrusive_lists.hpp"
#include "loop_word.hpp"

namespace tidemark::detail {

inline namespace TIDEMARK_CONFIGURATION {

#if TIDEMARK_HAS_FUTEX
/// A platform that wakes operations of an io_uring.
struct uring_platform : native_platform {
  static bool unpark(sleepers those, std::uint32_t count) noexcept { return parking::unpark_operations(those, count); }
};
#else
using uring_platform = native_platform;
#endif

/// A descriptor of the user's, which the loop watches.
struct watched_descriptor {
  int descriptor;                         // -1 once it is not watched any more
  std::uint32_t events;                   // of epoll
  void (*on_ready)(watched_descriptor&);  // called with the loop's lock; not again before rearm()
  bool is_forgotten = false;              // the loop was destroyed before
  watched_descriptor* next = nullptr;
  watched_descriptor* previous = nullptr;
};

/// The loop's lock protects all but wake() and sleep().
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
      const errno_keeper kept;
      close();
    }
    return joint_;
  }

  void wake() noexcept override {
    if (!word_.tell()) make_readable();
  }
  void set(deadline at) noexcept override {
    // An io_uring may sleep on the word while another thread leaves the loop.
    disarm();
    if (at == set_) return;
    set_ = at;
    itimerspec when{};
    if (at != no_deadline) {
      // A time of 0 would stop the timer.
      const deadline::duration shortest{1};
      const deadline::duration since_boot = at.time_since_epoch() > shortest ? at.time_since_epoch() : shortest;
      const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
      when.it_value.tv_sec = as_integer<time_t>(seconds.count());
      when.it_value.tv_nsec = as_integer<long>((since_boot - seconds).count());
    }
    static_cast<void>(::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr));
  }
  void clear() noexcept override {
    const cancellation_delay delayed;
    std::uint64_t calls = 0;
    if (word_.clear()) static_cast<void>(!::read(event_, &calls, sizeof calls));
    if (set_ != no_deadline && ::read(timer_, &calls, sizeof calls) > 0) set_ = no_deadline;
    if (!watched_.is_empty()) collect();
  }
  void sleep(deadline until, deadline now) noexcept override {
    disarm();
    pollfd asked{};
    asked.fd = joint_;
    asked.events = POLLIN;
    const deadline::duration left = until > now ? until - now : deadline::duration{0};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    timespec most{};
    most.tv_sec = as_integer<time_t>(seconds.count());
    most.tv_nsec = as_integer<long>((left - seconds).count());
    const cancellation_delay delayed;
    static_cast<void>(::ppoll(&asked, 1, until == no_deadline ? nullptr : &most, nullptr));
  }

  // ---- an io_uring ----

  /// Lets an operation sleep on the word that is returned. Returns null if an operation must poll the descriptor, and
  /// ends those that sleep on the word.
  /// \param is_possible  no thread of the loop sleeps outside
  auto* arm(bool is_possible) noexcept {
    is_possible = is_possible && set_ == no_deadline && watched_.is_empty();
    is_possible ? word_.arm() : disarm();
    return is_possible ? &word_.sleeps_on() : nullptr;
  }
  /// Ends the operations that sleep on the word. From now on the descriptor is readable instead.
  void disarm() noexcept {
    if (word_.disarm()) make_readable();
  }

  // ---- descriptors of the user's ----

  /// Returns 0, or the reason why the system refuses it.
  int watch(watched_descriptor& added) noexcept {
    if (!control(EPOLL_CTL_ADD, added)) return thread_errno();
    watched_.push(added);
    return 0;
  }
  /// Watches it again after on_ready(). Does nothing after unwatch(): another watch may have the descriptor by then.
  void rearm(watched_descriptor& watched) noexcept {
    if (watched.descriptor >= 0) static_cast<void>(control(EPOLL_CTL_MOD, watched));
  }
  void unwatch(watched_descriptor& removed) noexcept {
    static_cast<void>(control(EPOLL_CTL_DEL, removed));
    removed.descriptor = -1;
    watched_.remove(removed);
  }
  /// Forgets all of them. Returns whether there were any.
  bool forget() noexcept {
    const bool is_found = !watched_.is_empty();
    while (watched_descriptor* const left = watched_.first()) {
      unwatch(*left);
      left->is_forgotten = true;
    }
    return is_found;
  }

 private:
  void make_readable() const noexcept {
    const cancellation_delay delayed;
    // It can only fail if so many wake-ups are there already that one more makes no difference.
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event_, &one, sizeof one));
  }
  bool join(int descriptor) const noexcept {
    epoll_event readable{};
    readable.events = EPOLLIN;
    readable.data.ptr = nullptr;
    return ::epoll_ctl(joint_, EPOLL_CTL_ADD, descriptor, &readable) == 0;
  }
  bool control(int operation, watched_descriptor& watched) const noexcept {
    epoll_event event{};
    event.events = watched.events | EPOLLONESHOT;
    event.data.ptr = &watched;
    return ::epoll_ctl(joint_, operation, watched.descriptor, &event) == 0;
  }
  /// Tells those that are ready. More than fit are found by the next call.
  void collect() noexcept {
    std::array<epoll_event, 64> events;
    const int found = ::epoll_wait(joint_, events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < found; ++i) {
      auto* const ready = static_cast<watched_descriptor*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (ready != nullptr) ready->on_ready(*ready);
    }
  }
  void close() noexcept {
    const cancellation_delay delayed;
    for (int* const descriptor : {&event_, &timer_, &joint_}) {
      if (*descriptor >= 0) ::close(*descriptor);
      *descriptor = -1;
    }
  }

  int event_ = -1;
  int timer_ = -1;
  int joint_ = -1;
  uring_word<uring_platform> word_;
  linked_queue<watched_descriptor> watched_;
  deadline set_ = no_deadline;  // the time at which the timer ends; no_deadline if it is stopped
};

}  // namespace TIDEMARK_CONFIGURATION

}  // namespace tidemark::detail

#endif

#endif  // TIDEMARK_LOOP_DETAIL_LOOP_DESCRIPTOR_HPP
