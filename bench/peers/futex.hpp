// SPDX-License-Identifier: BSL-1.0
//
// Peer: the bare Linux futex. The floor of everything that parks: one word, one system call to sleep on it, one to
// wake a sleeper. As a fence it wakes on every signal, because it knows nothing about its waiters.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace bench {

// Sleeps while `word` holds `expected`; returns on a wake-up, on a changed value and on a signal.
// `deadline` is absolute on CLOCK_MONOTONIC; null means forever.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       const timespec* deadline = nullptr) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// A gate that opens once. Holds threads back without touching anything that is measured.
class futex_gate {
 public:
  void pass() noexcept {
    while (open_.load(std::memory_order_acquire) == 0) {
      futex_wait(open_, 0);
    }
  }

  void open() noexcept {
    open_.store(1, std::memory_order_release);
    futex_wake(open_, INT_MAX);
  }

 private:
  std::atomic<std::uint32_t> open_{0};
};

// One waiter that may be due: store, then an unconditional wake. The others, whose targets are never due, sleep on
// another word, so that none of them costs the waker anything but what so many sleeping threads cost the kernel.
class futex_fence {
 public:
  void signal(std::uint64_t value) noexcept {
    word_.store(static_cast<std::uint32_t>(value), std::memory_order_release);
    futex_wake(word_, 1);
    if (value >= never_due) [[unlikely]]
      others_.open();
  }

  void wait(std::uint64_t target) noexcept {
    if (target >= never_due) return others_.pass();
    const auto wanted = static_cast<std::uint32_t>(target);
    for (;;) {
      const std::uint32_t seen = word_.load(std::memory_order_acquire);
      if (static_cast<std::int32_t>(seen - wanted) >= 0) {
        return;
      }
      futex_wait(word_, seen);
    }
  }

 private:
  static constexpr std::uint64_t never_due = std::uint64_t{1} << 32;

  std::atomic<std::uint32_t> word_{0};
  alignas(64) futex_gate others_;
};

}  // namespace bench
