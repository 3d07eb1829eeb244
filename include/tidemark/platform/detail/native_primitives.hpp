// SPDX-License-Identifier: BSL-1.0
//
// The parts of which a platform's fallbacks are made (the lock-based double word, and parking on condition
// variables): here those of the standard library. The model checker has parts of its own
// (verify/relacy_portable_platform.hpp).
#ifndef TIDEMARK_PLATFORM_DETAIL_NATIVE_PRIMITIVES_HPP
#define TIDEMARK_PLATFORM_DETAIL_NATIVE_PRIMITIVES_HPP

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>

#include "cancellation.hpp"
#include "lot_sleepers.hpp"
#include "native_atomic.hpp"

namespace tidemark::detail {

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
