// SPDX-License-Identifier: BSL-1.0
//
// Peers: what a process can wait for that another one does, with one signaller and one waiter. Each is made before the
// fork; see ping_pong_of_processes() for what its members are called for.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <tidemark/fence/detail/shared_process.hpp>

#include "../support/processes.hpp"
#include "futex.hpp"

namespace bench {

/// What needs nothing to be done in a process.
struct same_in_all {
  void open_signaller() noexcept {}
  void open_waiter() noexcept {}
};

/// A word, and a system call for each signal and each wait: the floor of all that sleeps.
class shared_futex : public same_in_all {
 public:
  void signal(std::uint64_t value) noexcept {
    word_->store(static_cast<std::uint32_t>(value), std::memory_order_release);
    ::syscall(SYS_futex, &*word_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  void wait(std::uint64_t target) noexcept {
    while (!wait_until(target, nullptr)) {
    }
  }
  /// \param limit  a time of CLOCK_MONOTONIC, or null. When it has passed, this returns false
  bool wait_until(std::uint64_t target, const timespec* limit) noexcept {
    for (;;) {
      const std::uint32_t seen = word_->load(std::memory_order_acquire);
      if (seen >= target) return true;
      const long result =
          ::syscall(SYS_futex, &*word_, FUTEX_WAIT_BITSET, seen, limit, nullptr, FUTEX_BITSET_MATCH_ANY);
      if (result != 0 && errno == ETIMEDOUT) return false;
    }
  }

 private:
  shared_object<std::atomic<std::uint32_t>> word_{0U};
};

/// The same with a barrier of all processes that are registered for it before each sleep: the floor of a waiter whose
/// signaller has none. For a system that has this barrier.
class shared_futex_with_barrier : public same_in_all {
 public:
  void open_signaller() noexcept {
    if (!tidemark::detail::global_barrier::register_process()) fail("membarrier");
  }
  void signal(std::uint64_t value) noexcept { futex_.signal(value); }
  void wait(std::uint64_t target) noexcept {
    if (!tidemark::detail::global_barrier::issue()) fail("membarrier");
    futex_.wait(target);
  }

 private:
  shared_futex futex_;
};

/// A shared_futex whose sleeps end after 50 ms at most: the floor of a waiter that finds the value even where a
/// signaller was killed before the wake.
class shared_futex_with_limit : public same_in_all {
 public:
  void signal(std::uint64_t value) noexcept { futex_.signal(value); }
  void wait(std::uint64_t target) noexcept {
    while (!futex_.wait_until(target, &limit_)) {
      ::clock_gettime(CLOCK_MONOTONIC, &limit_);
      limit_.tv_nsec += 50'000'000;
      if (limit_.tv_nsec < 1'000'000'000) continue;
      limit_.tv_nsec -= 1'000'000'000;
      ++limit_.tv_sec;
    }
  }

 private:
  shared_futex futex_;
  timespec limit_{};
};

class posix_semaphore : public same_in_all {
 public:
  posix_semaphore() {
    if (::sem_init(&*semaphore_, 1, 0) != 0) fail("sem_init");
  }
  void signal(std::uint64_t) noexcept { ::sem_post(&*semaphore_); }
  void wait(std::uint64_t) noexcept {
    while (::sem_wait(&*semaphore_) != 0) {
    }
  }

 private:
  shared_object<sem_t> semaphore_;
};

/// A value under a mutex that survives the end of its owner, and a condition variable, which does not.
class robust_mutex : public same_in_all {
 public:
  robust_mutex() {
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    const bool is_made = ::pthread_mutexattr_init(&mutex) == 0 && ::pthread_condattr_init(&condition) == 0 &&
                         ::pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED) == 0 &&
                         ::pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST) == 0 &&
                         ::pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED) == 0 &&
                         ::pthread_mutex_init(&all_->mutex, &mutex) == 0 &&
                         ::pthread_cond_init(&all_->condition, &condition) == 0;
    if (!is_made) fail("a mutex that processes share");
  }
  void signal(std::uint64_t value) noexcept {
    lock();
    all_->value = value;
    ::pthread_cond_signal(&all_->condition);
    ::pthread_mutex_unlock(&all_->mutex);
  }
  void wait(std::uint64_t target) noexcept {
    lock();
    while (all_->value < target) {
      if (::pthread_cond_wait(&all_->condition, &all_->mutex) == EOWNERDEAD) ::pthread_mutex_consistent(&all_->mutex);
    }
    ::pthread_mutex_unlock(&all_->mutex);
  }

 private:
  struct words {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    std::uint64_t value = 0;
  };

  void lock() noexcept {
    if (::pthread_mutex_lock(&all_->mutex) == EOWNERDEAD) ::pthread_mutex_consistent(&all_->mutex);
  }

  shared_object<words> all_;
};

class event_descriptor : public same_in_all {
 public:
  event_descriptor() : descriptor_{::eventfd(0, EFD_CLOEXEC)} {
    if (descriptor_ < 0) fail("eventfd");
  }
  event_descriptor(const event_descriptor&) = delete;
  event_descriptor& operator=(const event_descriptor&) = delete;
  ~event_descriptor() { ::close(descriptor_); }

  void signal(std::uint64_t) noexcept {
    const std::uint64_t one = 1;
    if (::write(descriptor_, &one, sizeof one) < 0) fail("eventfd");
  }
  void wait(std::uint64_t target) noexcept {
    while (taken_ < target) {
      std::uint64_t got = 0;
      if (::read(descriptor_, &got, sizeof got) > 0) taken_ += got;
    }
  }

 private:
  int descriptor_;
  std::uint64_t taken_ = 0;
};

class pipe_way : public same_in_all {
 public:
  pipe_way() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) fail("pipe");
  }
  pipe_way(const pipe_way&) = delete;
  pipe_way& operator=(const pipe_way&) = delete;
  ~pipe_way() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  void signal(std::uint64_t) noexcept {
    if (::write(ends_[1], "x", 1) != 1) fail("pipe");
  }
  void wait(std::uint64_t) noexcept {
    char got = 0;
    while (::read(ends_[0], &got, 1) != 1) {
    }
  }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace bench
