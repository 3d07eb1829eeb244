// SPDX-License-Identifier: BSL-1.0
//
// Peer: the 64-bit event count of Concurrency Kit, single producer, on real futexes. Its signal is an increment
// without a lock prefix that also tells whether anyone sleeps; if so, all sleepers are woken. Spin count and back-off
// are its defaults. Present only where the build found the library (TIDEMARK_HAVE_CK).
#pragma once

#ifdef TIDEMARK_HAVE_CK

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <ctime>

extern "C" {
#include <ck_ec.h>
}

namespace bench {

namespace ck {

inline int now(const ck_ec_ops*, timespec* out) { return ::clock_gettime(CLOCK_MONOTONIC, out); }

inline void wait32(const ck_ec_wait_state*, const std::uint32_t* address, std::uint32_t expected,
                   const timespec* deadline) {
  ::syscall(SYS_futex, address, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

// Sleeps on the low half; the event count exists on little-endian machines only.
inline void wait64(const ck_ec_wait_state*, const std::uint64_t* address, std::uint64_t expected,
                   const timespec* deadline) {
  ::syscall(SYS_futex, address, FUTEX_WAIT_BITSET_PRIVATE, static_cast<std::uint32_t>(expected), deadline, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

inline void wake32(const ck_ec_ops*, const std::uint32_t* address) {
  ::syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

inline void wake64(const ck_ec_ops*, const std::uint64_t* address) {
  ::syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

inline constexpr ck_ec_ops ops = {now, wait32, wait64, wake32, wake64, 0, 0, 0, 0};
inline constexpr ck_ec_mode single_producer = {&ops, true};

}  // namespace ck

class ck_ec_fence {
 public:
  // Precondition: `value` follows the current one. (The type only counts; the argument keeps the loops alike.)
  void signal(std::uint64_t) noexcept { ck_ec64_inc(&count_, &ck::single_producer); }

  void jump(std::uint64_t value) noexcept { ck_ec64_add(&count_, &ck::single_producer, value - current_value()); }

  void wait(std::uint64_t target) noexcept {
    for (;;) {
      const std::uint64_t seen = current_value();
      if (seen >= target) {
        return;
      }
      ck_ec64_wait(&count_, &ck::single_producer, seen, nullptr);
    }
  }

  std::uint64_t current_value() const noexcept { return ck_ec64_value(&count_); }

 private:
  alignas(64) ck_ec64 count_ = {0};
};

}  // namespace bench

#endif
