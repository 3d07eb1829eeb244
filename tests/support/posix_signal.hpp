// SPDX-License-Identifier: BSL-1.0
//
// POSIX signals for tests: a temporary handler, and a thread that interrupts others at random moments.
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

/// Handles a signal while it lives. Without SA_RESTART in `flags`, an interrupted system call fails with EINTR.
class handling {
 public:
  handling(int number, void (*handler)(int), int flags = 0) : number_{number} {
    struct sigaction wanted{};
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
  struct sigaction before_{};
};

/// How often a handler ran that does nothing but interrupt.
inline std::atomic<std::uint64_t> interruptions{0};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
inline void count_interruption(int) { interruptions.fetch_add(1, std::memory_order_relaxed); }

/// Sends signals to random threads of `targets` until it is destroyed, which must be before the targets are joined.
/// The number of signals never exceeds what `most()` returns at that moment. An interruption can make up for a lost
/// wake-up, so a test that looks for lost wake-ups needs times without interruptions.
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
            std::this_thread::sleep_for(std::chrono::microseconds{random.below(200)});  // lets the targets go on
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
