// SPDX-License-Identifier: BSL-1.0
//
// What all platforms of this system are made of: words and fields over the standard library, points in time, what tells
// threads apart, and scopes for system calls.
#ifndef TIDEMARK_PLATFORM_DETAIL_NATIVE_PARTS_HPP
#define TIDEMARK_PLATFORM_DETAIL_NATIVE_PARTS_HPP

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

#if defined(_WIN32)
// As <windows.h> declares it, which defines too many macros.
extern "C" __declspec(dllimport) unsigned long __stdcall GetCurrentThreadId();
#endif

namespace tidemark::detail {

using steady_time = std::chrono::steady_clock::time_point;
inline constexpr steady_time no_deadline = (steady_time::max)();

/// Returns what `ask` returns about the thread that asks. The system declares that the answer never changes. Clang 14
/// relies on that even where a coroutine goes on in another thread (g++ 12 and Clang 19 don't), so it must not see who
/// is asked.
template <class Answer>
Answer asked_anew(Answer (*ask)() noexcept) noexcept {
#if defined(__clang__)
  asm volatile("" : "+r"(ask));
#endif
  return ask();
}

// thread_identity: what tells threads apart. It must come from the system. Of a variable of these headers, such as a
// thread_local, each shared library may have a copy of its own, so a thread would have another mark in each of them. On
// Windows the same holds for the standard library.
#if defined(_WIN32)
using thread_identity = unsigned long;
inline thread_identity this_thread() noexcept { return ::GetCurrentThreadId(); }
#else
using thread_identity = std::thread::id;
inline thread_identity this_thread() noexcept {
  return asked_anew<thread_identity>([]() noexcept { return std::this_thread::get_id(); });
}
#endif

/// The errno of the thread that asks. The headers must not name errno elsewhere: the system declares that its place
/// never changes, too, so a call that is inlined into a coroutine would read or write that of the former thread.
inline int& thread_errno() noexcept {
  return asked_anew<int&>([]() noexcept -> int& { return errno; });
}

/// Restores errno at the end of its scope.
class errno_keeper {
 public:
  errno_keeper() = default;
  errno_keeper(const errno_keeper&) = delete;
  errno_keeper& operator=(const errno_keeper&) = delete;
  ~errno_keeper() { at_ = kept_; }

 private:
  int& at_ = thread_errno();
  const int kept_ = at_;
};

// cancellation_delay: a scope in which pthread_cancel() does not end the thread.
//
// Sleeping on a condition variable, poll(), read(), write(), close() and joining a thread are cancellation points. They
// end a cancelled thread by unwinding its stack, as by an exception. A function that must not throw would end the
// program instead. So each of them stands in such a scope. The cancellation waits until the thread comes to a
// cancellation point of the program's. A futex is not one, so the platforms do the same.

#if defined(PTHREAD_CANCEL_DISABLE)

class cancellation_delay {
 public:
  cancellation_delay() noexcept { static_cast<void>(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_)); }
  cancellation_delay(const cancellation_delay&) = delete;
  cancellation_delay& operator=(const cancellation_delay&) = delete;
  ~cancellation_delay() {
    int disabled = 0;
    static_cast<void>(pthread_setcancelstate(before_, &disabled));
  }

 private:
  int before_ = 0;
};

#else

/// Threads can't be cancelled here.
class cancellation_delay {
 public:
  cancellation_delay() noexcept {}
  cancellation_delay(const cancellation_delay&) = delete;
  cancellation_delay& operator=(const cancellation_delay&) = delete;
  ~cancellation_delay() {}
};

#endif

/// std::atomic without defaults: every operation names its memory order, and no operator hides one. Every platform's
/// `atomic<T>` must have this shape; that of the model checker has it, too.
template <class T>
class native_atomic {
 public:
  static_assert(sizeof(T) >= 4, "smaller words are not lock-free on every machine (RISC-V, for one)");
  static_assert(std::atomic<T>::is_always_lock_free, "a shared word must never be torn");

  constexpr native_atomic() noexcept : value_{} {}
  constexpr explicit native_atomic(T value) noexcept : value_{value} {}
  native_atomic(const native_atomic&) = delete;
  native_atomic& operator=(const native_atomic&) = delete;

  T load(std::memory_order order) const noexcept { return value_.load(order); }
  void store(T value, std::memory_order order) noexcept { value_.store(value, order); }
  T exchange(T value, std::memory_order order) noexcept { return value_.exchange(value, order); }
  T fetch_add(T value, std::memory_order order) noexcept { return value_.fetch_add(value, order); }
  T fetch_sub(T value, std::memory_order order) noexcept { return value_.fetch_sub(value, order); }
  T fetch_and(T value, std::memory_order order) noexcept { return value_.fetch_and(value, order); }
  T fetch_or(T value, std::memory_order order) noexcept { return value_.fetch_or(value, order); }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return value_.compare_exchange_weak(expected, desired, success, failure);
  }

  /// Returns the word itself, for parking only: the operating system waits on its address.
  std::atomic<T>& underlying() noexcept { return value_; }

 private:
  std::atomic<T> value_;
};

/// A plain field that one thread hands to another. Here it is just a T; the model checker checks it for races.
template <class T>
class native_var {
 public:
  native_var() noexcept : value_{} {}
  explicit native_var(T value) noexcept : value_{value} {}
  native_var(const native_var&) = delete;
  native_var& operator=(const native_var&) = delete;

  T load() const noexcept { return value_; }
  void store(T value) noexcept { value_ = std::move(value); }

 private:
  T value_;
};

/// The words of which the lock-based double word is made here. The model checker has its own
/// (verify/relacy_portable_platform.hpp).
struct native_words {
  template <class T>
  using atomic = native_atomic<T>;

  static void yield() noexcept { std::this_thread::yield(); }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_NATIVE_PARTS_HPP
