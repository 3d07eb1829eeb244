// SPDX-License-Identifier: BSL-1.0
//
// Words and fields over the standard library, a scope without cancellation, and the parts of which a platform's
// fallbacks are made (the lock-based double word, and parking on condition variables). The model checker has parts of
// its own (verify/relacy_portable_platform.hpp).
#ifndef TIDEMARK_PLATFORM_DETAIL_NATIVE_PRIMITIVES_HPP
#define TIDEMARK_PLATFORM_DETAIL_NATIVE_PRIMITIVES_HPP

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

namespace tidemark::detail {

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

/// lot_sleepers: lists the words of the threads that sleep on one condition variable. So a thread that wakes them can
/// say whether anybody slept on its word.
///
/// The lock of the lot guards the list. A woken thread stays listed until it has the lock again.
class lot_sleepers {
 public:
  /// A thread that sleeps, as long as this object exists. The lock must be held when it is made and when it goes.
  class sleeper {
   public:
    sleeper(lot_sleepers& there, const void* word) noexcept : there_{there}, word_{word}, next_{there.first_} {
      there.first_ = this;
    }
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;
    ~sleeper() {
      sleeper** at = &there_.first_;
      while (*at != this) at = &(*at)->next_;
      *at = next_;
    }

   private:
    friend lot_sleepers;
    lot_sleepers& there_;
    const void* const word_;
    sleeper* next_;
  };

  /// Returns whether a thread sleeps on the word.
  bool has(const void* word) const noexcept {
    for (const sleeper* one = first_; one != nullptr; one = one->next_) {
      if (one->word_ == word) return true;
    }
    return false;
  }

 private:
  sleeper* first_ = nullptr;
};

struct native_primitives {
  template <class T>
  using atomic = native_atomic<T>;

  static void yield() noexcept { std::this_thread::yield(); }

  /// std::condition_variable with deadlines of any size. Standard libraries convert a deadline to the system's own
  /// type (seconds of 32 bits, or a point of the system clock). There a distant deadline overflows and ends the sleep
  /// at once.
  class condition_variable {
   public:
    void wait(std::unique_lock<std::mutex>& lock) {
      const cancellation_delay delayed;
      changed_.wait(lock);
    }

    /// Returns `timeout` only when `until` has passed. Sleeps an hour at most: a longer sleep ends as if the thread
    /// was woken for no reason.
    std::cv_status wait_until(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point until) {
      const auto now = std::chrono::steady_clock::now();
      if (until <= now) return std::cv_status::timeout;
      const auto part = now + std::chrono::hours{1};
      const cancellation_delay delayed;
      changed_.wait_until(lock, until < part ? until : part);
      return std::chrono::steady_clock::now() < until ? std::cv_status::no_timeout : std::cv_status::timeout;
    }

    void notify_all() noexcept { changed_.notify_all(); }

   private:
    std::condition_variable changed_;
  };

  /// Where threads sleep that wait for a change of a word.
  struct lot {
    std::mutex guard;
    condition_variable changed;
    lot_sleepers sleepers;
  };
  /// A word and its lot, which it gets from the shared library that makes it.
  class park_word : public native_atomic<std::uint32_t> {
   public:
    park_word() noexcept : park_word{0} {}
    explicit park_word(std::uint32_t value) noexcept : native_atomic<std::uint32_t>{value}, lot_{choose_lot(this)} {}

   private:
    friend native_primitives;
    lot& lot_;
  };
  static lot& lot_of(const park_word& word) noexcept { return word.lot_; }

 private:
  using lot_table = std::array<lot, 64>;

  static lot& choose_lot(const void* word) noexcept {
    static lot_table& table = *::new (memory_of_lots()) lot_table;
    return table[(reinterpret_cast<std::uintptr_t>(word) / sizeof(park_word)) % table.size()];
  }
  /// Returns memory that is never freed. Detached threads may still sleep there while the process exits, and the
  /// destructor of a condition variable waits for its sleepers. And words may outlive the library that has made them: a
  /// thread whose code is in a plug-in may let a fence of the program grow. So the memory is not the library's own, if
  /// there is any other. A plug-in that is closed leaves it behind.
  static void* memory_of_lots() noexcept {
    alignas(lot_table) static std::byte last_resort[sizeof(lot_table)];
    void* const memory = ::operator new(sizeof(lot_table), std::nothrow);
    return memory != nullptr ? memory : last_resort;
  }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_NATIVE_PRIMITIVES_HPP
