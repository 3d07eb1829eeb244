// SPDX-License-Identifier: BSL-1.0
//
// The platform policy: tidemark headers touch memory that threads share only through it.
//
// Every block is a template over a platform. A platform P supplies
//
//   P::atomic<T>          load, store, exchange, fetch_*, compare_exchange_*; each call names its memory order
//   P::var<T>             a plain field that one thread hands to another: load(), store()
//   P::double_word        {value, version}: compare_exchange_strong of both, load of both (version first), load_value,
//                         load_version, is_below(bound), which is load_value() < bound, and is_at_most(bound), which
//                         is load_value() <= bound
//   P::asymmetric         true: light_barrier() and heavy_barrier() together are the StoreLoad barrier of both sides;
//                         false: both sides use sequentially consistent accesses, and all three barriers are empty
//   P::light_barrier()    the frequent side of that barrier
//   P::heavy_barrier()    its rare side; returns false if the system has refused this call, and has then ordered the
//                         accesses of the calling thread alone
//   P::heavy_barrier_available()     returns false if the system refuses every call of heavy_barrier(); the answer
//                         never changes. Where it is true, the system may still refuse a single call
//   P::full_barrier()     a StoreLoad barrier of the calling thread alone, if P::asymmetric is true
//   P::thread_fence(order), P::has_thread_fences
//                         std::atomic_thread_fence, and whether relaxed accesses may rely on it; if not, no block
//                         calls thread_fence()
//   P::park_word          a P::atomic<std::uint32_t> on which threads can sleep
//   P::park(word, expected, deadline)
//                         sleeps while the word has the value `expected`; returns false only when the deadline has
//                         passed, and may return true for no reason. It must not miss a change that is followed by
//                         unpark()
//   P::sleepers           a handle to the threads that sleep on a word, made from the word by a conversion. It is made
//                         before a change that lets another thread destroy the word, and may be used when that is gone
//   P::unpark(sleepers, count)       wakes up to `count` of them; may wake more. Returns false only if it has woken
//                         none
//   P::parking            a type; platforms with the same one can sleep on each other's words
//   P::pause(), P::now()  a hint to the processor in a spin; the time of the steady clock
//   P::current_thread()   a value that no other running thread has, and that is the same in every shared library. A
//                         default value of its type belongs to no thread
//   P::spin_looks()       only where the clock stands still, as under a model checker: how often a waiter that may spin
//                         looks at the value before it sleeps
//   P::most_woken, P::most_helped, P::terms_of_hold, P::hints_in_word, P::objects_per_page
//                         optional: numbers that are so great that a test must lower them to get beyond them;
//                         waiter_heap.hpp, root_hold.hpp, mapped_pages.hpp and storage_parts.hpp have them
//   P::is_async_signal_safe          whether a signal handler may signal a fence of it without callbacks; optional
//
// The concept `platform` below checks the members that every block needs. Of the operations of P::atomic and
// P::double_word it checks load_value() alone: the compiler reports an error inside a block if another one is missing.
//
//   native_platform     the fastest of this machine. It is asymmetric if the program is built on a Linux that has
//                       membarrier(2); where the running system refuses it, heavy_barrier_available() is false
//   symmetric_platform  without membarrier(2): a thread that begins to wait makes no system call before it sleeps
//   portable_platform   symmetric, of the standard library alone (portable_platform.hpp)
//
// Under ThreadSanitizer all three use only what it models: native_platform is symmetric, and the double word is
// lock-based. TIDEMARK_FORCE_LOCKED_DOUBLE_WORD and TIDEMARK_FORCE_PORTABLE_PARKING each force one of the fallbacks of
// other systems, for tests. All files of a program must agree on ThreadSanitizer and on both macros. If they do not,
// most linkers refuse the program, because the platforms lie in an inline namespace that is named after their parts;
// detail/configuration.hpp names the exceptions. So the platforms must not be declared elsewhere.
//
// To count or to disturb operations, derive from a platform and hide its static members. The platform of the model
// checker is in <tidemark/verify/relacy_platform.hpp>.
// Not promised: lock-freedom where `P::double_word::is_always_lock_free` is false; and waits across processes, because
// a word on which a thread sleeps is private to its process: a signal of another process wakes nobody.
#ifndef TIDEMARK_PLATFORM_PLATFORM_HPP
#define TIDEMARK_PLATFORM_PLATFORM_HPP

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "assert.hpp"
#include "detail/barriers.hpp"
#include "detail/configuration.hpp"
#include "detail/double_word.hpp"
#include "detail/native_parts.hpp"
#include "detail/parking.hpp"

namespace tidemark::detail {

// as_integer: a conversion between integers that have the same type on some machines.

/// Returns the value as another integer. Without this function, -Wuseless-cast would warn of a static_cast where both
/// types are the same, and -Wconversion of a missing one where they differ.
template <class To, class From>
constexpr To as_integer(From value) noexcept {
  return static_cast<To>(value);
}

// busy_scope: while code of the user runs that must not call an object, the object says that it is busy.

/// Gives a state the value `busy`, and its earlier value back when the scope ends, also by an exception.
template <class State>
class busy_scope {
 public:
  busy_scope(State& of, State busy) noexcept : of_{of}, before_{std::exchange(of, busy)} {}
  busy_scope(const busy_scope&) = delete;
  busy_scope& operator=(const busy_scope&) = delete;
  ~busy_scope() { of_ = before_; }

 private:
  State& of_;
  const State before_;
};

template <class State>
busy_scope(State&, State) -> busy_scope<State>;

}  // namespace tidemark::detail

namespace tidemark {

/// The alignment in bytes at which two objects do not share a cache line.
inline constexpr std::size_t cache_line = 64;

/// The alignment in bytes at which what threads poll has no neighbour that slows it down. Processors of these kinds
/// fetch two lines at a time, an even one and the odd one behind it.
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
inline constexpr std::size_t polled_alignment = 2 * cache_line;
#else
inline constexpr std::size_t polled_alignment = cache_line;
#endif

/// A point in time of the steady clock, at which a wait ends.
using deadline = std::chrono::steady_clock::time_point;

/// The deadline of a wait without a time limit: it never passes.
using detail::no_deadline;

/// How many threads may call the functions that change a block. All blocks spell this choice in this way.
enum class writers : unsigned char {
  one,      ///< One at a time. Another thread may take over if the hand-over itself synchronizes.
  several,  ///< Any number at the same time.
};

/// Both halves of a double word: `value` and `version`.
using versioned = detail::versioned;

namespace detail {

/// The types of a platform. They come first, so that the errors about a type that is no platform stay short.
template <class P>
concept has_platform_types = requires { typename P::double_word; } && requires {
  typename P::template atomic<std::uint32_t>;
  typename P::template var<int>;
  typename P::parking;
  typename P::park_word;
  typename P::sleepers;
};

}  // namespace detail

/// The members that every block needs of its platform. The head of this file says what each of them does, and what this
/// concept leaves unchecked.
template <class P>
concept platform =
    detail::has_platform_types<P> && requires(typename P::park_word& word, typename P::double_word& pair,
                                              std::uint32_t expected, std::memory_order order, deadline until) {
      requires std::convertible_to<decltype(P::asymmetric), bool>;
      requires std::convertible_to<decltype(P::has_thread_fences), bool>;
      P::light_barrier();
      { P::heavy_barrier() } -> std::convertible_to<bool>;
      { P::heavy_barrier_available() } -> std::convertible_to<bool>;
      P::full_barrier();
      { pair.load_value(order) } -> std::convertible_to<std::uint64_t>;
      { P::park(word, expected, until) } -> std::convertible_to<bool>;
      { P::unpark(word, expected) } -> std::convertible_to<bool>;
      P::pause();
      { P::current_thread() } -> std::equality_comparable;
      { P::now() } -> std::convertible_to<deadline>;
    };

namespace detail {
inline namespace TIDEMARK_CONFIGURATION {

template <class Barriers, class Parking, class DoubleWord>
struct platform_of : Barriers, Parking {
  template <class T>
  using atomic = native_atomic<T>;
  template <class T>
  using var = native_var<T>;
  using double_word = DoubleWord;
  using parking = Parking;

  /// Whether a signal handler may signal a fence of this platform.
  static constexpr bool is_async_signal_safe = DoubleWord::is_always_lock_free && Parking::wakes_without_lock;

  /// False under ThreadSanitizer, which does not model fences; there each access names the order that it needs.
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

  static thread_identity current_thread() noexcept { return this_thread(); }

  static deadline now() noexcept { return std::chrono::steady_clock::now(); }
};

}  // namespace TIDEMARK_CONFIGURATION
}  // namespace detail

inline namespace TIDEMARK_CONFIGURATION {

struct native_platform
    : detail::platform_of<detail::native_barriers, detail::native_parking, detail::native_double_word> {};

struct symmetric_platform
    : detail::platform_of<detail::symmetric_barriers, detail::native_parking, detail::native_double_word> {};

}  // namespace TIDEMARK_CONFIGURATION

}  // namespace tidemark

#endif  // TIDEMARK_PLATFORM_PLATFORM_HPP
