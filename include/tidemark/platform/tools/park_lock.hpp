// SPDX-License-Identifier: BSL-1.0
//
// park_lock: a lock of one word, on which threads sleep that can't have it. It is made of the platform, so that what it
// protects can be model-checked.
//
//   0  free      1  taken      2  taken, and threads may sleep on the word
//
// Not promised: fairness.
#ifndef TIDEMARK_PLATFORM_TOOLS_PARK_LOCK_HPP
#define TIDEMARK_PLATFORM_TOOLS_PARK_LOCK_HPP

#include <atomic>
#include <cstdint>

#include "../platform.hpp"

namespace tidemark::detail {

template <platform Platform>
class park_lock {
 public:
  park_lock() = default;
  park_lock(const park_lock&) = delete;
  park_lock& operator=(const park_lock&) = delete;

  /// Blocks while another thread has the lock.
  void lock() noexcept {
    std::uint32_t before = free;
    // (O1): acquire, pairs with (O3): what the lock protects is as the last owner has left it. Not stronger: only what
    // the lock protects is ordered by it. A failure is relaxed, because it only leads to the next attempt.
    if (word_.compare_exchange_strong(before, taken, std::memory_order_acquire, std::memory_order_relaxed)) return;
    for (unsigned looks = 0; looks < most_looks && before == taken; ++looks) {
      Platform::pause();
      before = free;
      // (O4): acquire, pairs with (O3), like (O1), also in the order of a failure.
      if (word_.compare_exchange_weak(before, taken, std::memory_order_acquire, std::memory_order_relaxed)) return;
    }
    // (O2): acquire, pairs with (O3). Another thread may sleep, too, so the word stays at `awaited` while this one has
    // the lock. Not stronger, like (O1).
    while (word_.exchange(awaited, std::memory_order_acquire) != free) Platform::park(word_, awaited, no_deadline);
  }

  void unlock() noexcept {
    // Whoever has the lock next may destroy it.
    const typename Platform::sleepers those{word_};
    // (O3): release, pairs with (O1) (O2) (O4). Not stronger: the exchange alone decides whether a thread sleeps.
    if (word_.exchange(free, std::memory_order_release) == awaited) Platform::unpark(those, 1);
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t taken = 1;
  static constexpr std::uint32_t awaited = 2;
  static constexpr unsigned most_looks = [] {
    if constexpr (requires { Platform::spin_looks(); }) {
      return 1U;  // under a model checker
    } else {
      return 100U;
    }
  }();

  typename Platform::park_word word_{free};
};

/// Has the lock for the life of the object, but for the time between unlock() and lock().
template <class Lock>
class lock_keeper {
 public:
  explicit lock_keeper(Lock& kept) noexcept : lock_{kept} { lock_.lock(); }
  lock_keeper(const lock_keeper&) = delete;
  lock_keeper& operator=(const lock_keeper&) = delete;
  ~lock_keeper() { lock_.unlock(); }

  void unlock() noexcept { lock_.unlock(); }
  void lock() noexcept { lock_.lock(); }

  /// Gives the lock up for the life of this object.
  class without {
   public:
    explicit without(lock_keeper& kept) noexcept : kept_{kept} { kept_.unlock(); }
    without(const without&) = delete;
    without& operator=(const without&) = delete;
    ~without() { kept_.lock(); }

   private:
    lock_keeper& kept_;
  };

 private:
  Lock& lock_;
};
template <class Lock>
lock_keeper(Lock&) -> lock_keeper<Lock>;

/// Wakes threads that have the lock, look for something that it protects, and do not find it.
template <platform Platform>
class lock_condition {
 public:
  /// Gives the lock up, sleeps until wake_all() is called, and takes the lock. It may return early. Returns false only
  /// if the deadline has passed.
  bool wait(lock_keeper<park_lock<Platform>>& kept, deadline until = no_deadline) noexcept {
    // (O5): relaxed alone: the lock orders it.
    const std::uint32_t seen = calls_.load(std::memory_order_relaxed);
    const typename lock_keeper<park_lock<Platform>>::without lock(kept);
    return Platform::park(calls_, seen, until);
  }
  /// Must be called with the lock.
  void wake_all() noexcept {
    // (O6): relaxed alone, like (O5).
    calls_.fetch_add(1, std::memory_order_relaxed);
    Platform::unpark(calls_, UINT32_MAX);
  }

 private:
  typename Platform::park_word calls_{0};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_TOOLS_PARK_LOCK_HPP
