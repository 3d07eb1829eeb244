// SPDX-License-Identifier: BSL-1.0
//
// The platform policy: the only way in which a tidemark header touches memory that threads share.
//
// Every block is a template over a platform. A platform P supplies
//
//   P::atomic<T>      load, store, exchange, fetch_*, compare_exchange_*; each call names its memory order
//   P::var<T>         a plain field that one thread hands to another: load(), store()
//   P::double_word    {value, version}: compare_exchange_strong of both, load of both (version first), load_value,
//                     load_version, and is_below(bound): load_value() < bound
//   P::asymmetric     true: light_barrier() and heavy_barrier() together are the StoreLoad barrier of both sides;
//                     false: both sides use sequentially consistent accesses and the barriers are empty
//   P::light_barrier(), P::heavy_barrier(), P::heavy_barrier_available(), P::full_barrier()
//   P::has_thread_fences, P::thread_fence(order)      std::atomic_thread_fence, where relaxed accesses may rely on it
//   P::park(word, expected, deadline), P::unpark(word, count)      on a P::atomic<std::uint32_t>
//   P::park_any(places, deadline), P::parking                      on several; the type whose words can be mixed
//   P::pause(), P::now()
//
//   native_platform     the best of this machine: asymmetric where Linux has membarrier(2)
//   symmetric_platform  a waiter that registers makes no system call; what ThreadSanitizer gets
//   portable_platform   the standard library alone: lock-based double word, condition variables to sleep on
//
// Under ThreadSanitizer all three use only what it models: native_platform is the symmetric one, and the double word is
// the lock-based one. So a program built with -fsanitize=thread needs no suppression for tidemark, and a race that is
// reported there is one of the program's own data. TIDEMARK_FORCE_LOCKED_DOUBLE_WORD and
// TIDEMARK_FORCE_PORTABLE_PARKING force the fallbacks of other systems, one by one, to test with them.
//
// To count or to disturb operations, derive from a platform and hide its static members (see tests/support).
// The model checker's platform is in <tidemark/verify/relacy_platform.hpp>.
//
// Not promised: lock-freedom where `P::double_word::is_always_lock_free` is false; waits across processes, on any of
// these platforms. A thread sleeps on a futex or a condition variable that is private to its process, so that a signal
// of another process wakes nobody, even where what the two share lies in shared memory.
#ifndef TIDEMARK_PLATFORM_HPP
#define TIDEMARK_PLATFORM_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "detail/assert.hpp"
#include "detail/barriers.hpp"
#include "detail/double_word.hpp"
#include "detail/native_atomic.hpp"
#include "detail/parking.hpp"

namespace tidemark {

/// Two objects this far apart never share a cache line (A21).
inline constexpr std::size_t cache_line = 64;

namespace detail {

template <class Barriers, class Parking, class DoubleWord>
struct platform_of : Barriers, Parking {
  template <class T>
  using atomic = native_atomic<T>;
  template <class T>
  using var = native_var<T>;
  using double_word = DoubleWord;
  using parking = Parking;

  /// Whether a signal handler may signal a fence.
  static constexpr bool is_async_signal_safe = DoubleWord::is_always_lock_free && Parking::wakes_without_lock;

  /// False under ThreadSanitizer, which does not know fences: there each access has the order that it needs.
  static constexpr bool has_thread_fences = !TIDEMARK_HAS_TSAN;
#if !TIDEMARK_HAS_TSAN
  static void thread_fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }
#endif

  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" : : : "memory");
#endif
  }

  static deadline now() noexcept { return std::chrono::steady_clock::now(); }
};

}  // namespace detail

struct native_platform
    : detail::platform_of<detail::native_barriers, detail::native_parking, detail::native_double_word> {};

struct symmetric_platform
    : detail::platform_of<detail::symmetric_barriers, detail::native_parking, detail::native_double_word> {};

struct portable_platform
    : detail::platform_of<detail::symmetric_barriers, detail::lot_parking<detail::native_primitives>,
                          detail::locked_double_word<detail::native_primitives>> {};

}  // namespace tidemark

#endif  // TIDEMARK_PLATFORM_HPP
