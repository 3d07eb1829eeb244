// SPDX-License-Identifier: BSL-1.0
//
// POSIX signals for tests: a handler for a while, and a thread that interrupts others at random moments.
#ifndef TIDEMARK_TESTS_SUPPORT_POSIX_SIGNAL_HPP
#define TIDEMARK_TESTS_SUPPORT_POSIX_SIGNAL_HPP

#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "random.hpp"

namespace testing {

/// Handles a signal while it lives. Without SA_RESTART in `flags` a system call that is interrupted fails with EINTR.
class handling {
 public:
  handling(int number, void (*handler)(int), int flags = 0) : number_{number} {
    struct sigaction wanted {};
    wanted.sa_handler = handler;
    wanted.sa_flags = flags;
    sigemptyset(&wanted.sa_mask);
    REQUIRE(sigaction(number, &wanted, &before_) == 0);
  }
  handling(const handling&) = delete;
  handling& operator=(const handling&) = delete;
  ~handling() { sigaction(number_, &before_, nullptr); }

 private:
  int number_;
  struct sigaction before_ {};
};

/// For handlers that do nothing but interrupt: how often one ran.
inline std::atomic<std::uint64_t> interruptions{0};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
inline void count_interruption(int) { interruptions.fetch_add(1, std::memory_order_relaxed); }

/// Sends a signal to one of `targets` or another, until it is destroyed, which must be before the targets are joined.
/// Never more often than `most()` says at that moment: an interruption can make up for a lost wake-up, so that a test
/// that looks for these must at times be without.
class interrupter {
 public:
  interrupter(int number, std::vector<pthread_t> targets, std::uint64_t seed, std::function<std::uint64_t()> most)
      : thread_{[this, number, targets = std::move(targets), seed, most = std::move(most)] {
          random_numbers random{seed, 500};
          for (std::uint64_t sent = 0; !called_off_;) {
            if (sent < most()) {
              pthread_kill(targets[static_cast<std::size_t>(random.below(targets.size()))], number);
              ++sent;
            }
            std::this_thread::sleep_for(std::chrono::microseconds{random.below(200)});  // lets them do something, too
          }
        }} {}
  interrupter(const interrupter&) = delete;
  interrupter& operator=(const interrupter&) = delete;
  ~interrupter() {
    called_off_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> called_off_{false};
  std::thread thread_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_POSIX_SIGNAL_HPP
