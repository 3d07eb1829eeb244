// SPDX-License-Identifier: BSL-1.0
//
// Peer: std::atomic of C++20 with wait and notify_all. Every signal that meets a waiter wakes all of them. libstdc++
// keeps its waiters in a table of 16 entries, chosen by bits 2 to 5 of the address: a waiter on any other 64-byte
// aligned atomic makes notify_all enter the kernel.
#pragma once

#include <atomic>
#include <cstdint>

namespace bench {

class std_atomic_fence {
 public:
  void signal(std::uint64_t value) noexcept {
    current_.store(value, std::memory_order_release);
    current_.notify_all();
  }

  void wait(std::uint64_t target) noexcept {
    for (;;) {
      const std::uint64_t seen = current_.load(std::memory_order_acquire);
      if (seen >= target) {
        return;
      }
      current_.wait(seen, std::memory_order_acquire);
    }
  }

  std::uint64_t current_value() const noexcept { return current_.load(std::memory_order_acquire); }

 private:
  alignas(64) std::atomic<std::uint64_t> current_{0};
};

}  // namespace bench
