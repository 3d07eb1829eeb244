// SPDX-License-Identifier: BSL-1.0
//
// lot_parking: parking (parking.hpp says what that is) with a mutex and a condition variable for each lot, by means of
// the standard library alone.
//
// It has a header of its own because only portable_platform and systems without futexes need it: <mutex> and
// <condition_variable> would be a tenth of all lines that a fence brings.
#ifndef TIDEMARK_PLATFORM_DETAIL_LOT_PARKING_HPP
#define TIDEMARK_PLATFORM_DETAIL_LOT_PARKING_HPP

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "native_parts.hpp"

namespace tidemark::detail {

/// Lists the words of the threads that sleep on one condition variable. So a thread that wakes them can say whether
/// anybody slept on its word.
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

/// The lots of this system. The model checker has its own (verify/relacy_portable_platform.hpp).
struct native_lots {
  /// std::condition_variable with deadlines of any size. Standard libraries convert a deadline to the system's own
  /// type (seconds of 32 bits, or a point of the system clock). There a distant deadline overflows and ends the sleep
  /// at once.
  class condition_variable {
   public:
    void wait(std::unique_lock<std::mutex>& lock) {
      const cancellation_delay delayed;
      changed_.wait(lock);
    }

    /// Returns `timeout` only when `until` has passed. Sleeps an hour at most, and then returns `no_timeout`, as after
    /// a wake-up for no reason.
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
  /// A word that refers to its lot, which is one of the lots of the shared library that has made the word.
  class park_word : public native_atomic<std::uint32_t> {
   public:
    park_word() noexcept : park_word{0} {}
    explicit park_word(std::uint32_t value) noexcept : native_atomic<std::uint32_t>{value}, lot_{choose_lot(this)} {}

   private:
    friend native_lots;
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

/// Parking with a mutex and a condition variable for each lot. Several words may share a lot, so unpark() wakes all
/// threads of the lot, if at least one of them sleeps on its word. Each word refers to its lot, so all threads find the
/// same lot, whatever shared library their code is in. Lots are never destroyed.
template <class Lots>
struct lot_parking {
  static constexpr bool wakes_without_lock = false;

  using lot = typename Lots::lot;
  using park_word = typename Lots::park_word;

  /// The threads that sleep on a word. It keeps the word's address and its lot, so the word may be gone.
  class sleepers {
   public:
    sleepers(park_word& word) noexcept : there_{&Lots::lot_of(word)}, word_{&word} {}

   private:
    friend lot_parking;
    lot* there_;
    const void* word_;
  };

  static bool park(park_word& word, std::uint32_t expected, steady_time until) noexcept {
    const errno_keeper kept;
    lot& there = Lots::lot_of(word);
    std::unique_lock<decltype(there.guard)> lock{there.guard};
    // (P1): relaxed alone, because the lock orders it: unpark() has taken the lock after the word changed, or will
    // take it once this thread sleeps. A stronger order would add nothing.
    if (word.load(std::memory_order_relaxed) != expected) return true;
    const lot_sleepers::sleeper here{there.sleepers, &word};
    if (until != no_deadline) return there.changed.wait_until(lock, until) == std::cv_status::no_timeout;
    there.changed.wait(lock);
    return true;
  }

  static bool unpark(sleepers those, std::uint32_t) noexcept {
    const errno_keeper kept;
    lot& there = *those.there_;
    bool is_asleep = false;
    {
      const std::lock_guard<decltype(there.guard)> lock{there.guard};
      is_asleep = there.sleepers.has(those.word_);
    }
    if (is_asleep) there.changed.notify_all();
    return is_asleep;
  }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_LOT_PARKING_HPP
