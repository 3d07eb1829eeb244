// SPDX-License-Identifier: BSL-1.0
//
// The two halves of an asymmetric StoreLoad barrier, and the symmetric form that replaces them.
//
// Two threads that each store one word and then load the other one's word need a StoreLoad barrier on both sides;
// otherwise each may miss the store of the other. In the asymmetric form the frequent side has a compiler barrier
// only, and the rare side interrupts every core that runs this process (`membarrier`, private expedited). At that
// moment the frequent side has either completed its store, or not begun its load.
//
// Between processes the rare side interrupts the cores that run a process which has registered for that (`membarrier`,
// global expedited). A frequent side in a process that has not registered is not reached, and must issue a full
// barrier.
#ifndef TIDEMARK_PLATFORM_DETAIL_BARRIERS_HPP
#define TIDEMARK_PLATFORM_DETAIL_BARRIERS_HPP

#include <atomic>

#include "configuration.hpp"
#include "native_parts.hpp"

#if TIDEMARK_HAS_MEMBARRIER
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tidemark::detail {

/// A template over what the machine and its system can do, so that the model checker can run it, too.
template <class Machine>
struct asymmetric_barriers {
  static constexpr bool asymmetric = true;

  static void light_barrier() noexcept {
    // (G1): a compiler barrier, the frequent side of (G2). A stronger one would be the instruction that this form
    // exists to avoid.
    Machine::compiler_fence(std::memory_order_seq_cst);
  }

  static bool heavy_barrier_available() noexcept { return Machine::can_interrupt(); }

  /// Returns false if the system has refused; only the accesses of this thread are ordered then.
  static bool heavy_barrier() noexcept {
    // (G2): on every running thread of the process, this has the effect of a seq_cst fence at the place of its (G1).
    if (Machine::can_interrupt() && Machine::interrupt_all()) return true;
    full_barrier();
    return false;
  }

  static void full_barrier() noexcept {
    // (G3): pairs with another (G3): one on the slow path of a signal, one in the waiter of a pinned fence; see (G2).
    // Nothing weaker keeps a later load behind an earlier store.
    Machine::thread_fence(std::memory_order_seq_cst);
  }
};

#if TIDEMARK_HAS_MEMBARRIER

/// Makes a call of membarrier(2). Returns its result, which is negative if the system has refused.
inline long membarrier_call(int command) noexcept {
  const errno_keeper kept;
  return syscall(SYS_membarrier, command, 0, 0);
}

struct linux_fences {
  static void compiler_fence(std::memory_order order) noexcept { std::atomic_signal_fence(order); }
  static void thread_fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }
};

struct linux_machine : linux_fences {
  /// Registers at the first call, which may come before main().
  static bool can_interrupt() noexcept {
    static const bool is_registered = call(register_private_expedited);
    return is_registered;
  }
  static bool interrupt_all() noexcept { return call(private_expedited); }

 private:
  // Commands of membarrier(2), as <linux/membarrier.h> numbers them.
  static constexpr int private_expedited = 1 << 3;
  static constexpr int register_private_expedited = 1 << 4;

  static bool call(int command) noexcept { return membarrier_call(command) == 0; }

  /// Registers while the program starts. That takes 3 to 10 microseconds, but 1 to 40 milliseconds once other threads
  /// run. It may come too late for a fence of another file that is made while the program starts, but that fence asks.
  static inline const bool registers_at_start = can_interrupt();
};

/// Interrupts every core that runs a registered process. The thread that does so needs no registration.
struct system_machine : linux_fences {
  static bool can_interrupt() noexcept {
    static const bool is_supported = (membarrier_call(query) & global_expedited) != 0;
    return is_supported;
  }
  static bool interrupt_all() noexcept { return membarrier_call(global_expedited) == 0; }

 private:
  static constexpr int query = 0;
  static constexpr int global_expedited = 1 << 1;
};

#endif

/// Both sides use sequentially consistent accesses, so there is no barrier left to issue. full_barrier() is empty,
/// too. So a load behind it that must not be older than a store before it has to be sequentially consistent itself,
/// as (H6), (H9) and (H16) are.
struct symmetric_barriers {
  static constexpr bool asymmetric = false;
  static void light_barrier() noexcept {}
  static constexpr bool heavy_barrier_available() noexcept { return true; }
  static bool heavy_barrier() noexcept { return true; }
  static void full_barrier() noexcept {}
};

#if TIDEMARK_HAS_MEMBARRIER
using native_barriers = asymmetric_barriers<linux_machine>;
/// For threads of several processes.
using system_barriers = asymmetric_barriers<system_machine>;
#else
using native_barriers = symmetric_barriers;
using system_barriers = symmetric_barriers;
#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_BARRIERS_HPP
