// SPDX-License-Identifier: BSL-1.0
//
// Platforms with faults, all of them allowed by the platform policy. A header that relies on more than the policy
// fails here.
//
//   seamed_platform  calls Visitor::visit(seam) before each operation of the policy, down to a single load
//   faulty_platform  has seams where threads are held up; parks that begin late, end late or end for no reason;
//                    wake-ups of more threads than intended; weak exchanges that fail for no reason; heavy barriers
//                    that are refused now and then, or always, and signals that then miss a waiter that has just
//                    registered
//
// A thread has faults while it has a `faults` object, whose random numbers come from a seed and a stream of the
// thread's own. Neither platform adds an atomic operation, which would order what the headers must order themselves.
#ifndef TIDEMARK_TESTS_SUPPORT_FAULTY_PLATFORM_HPP
#define TIDEMARK_TESTS_SUPPORT_FAULTY_PLATFORM_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include <tidemark/platform/platform.hpp>

#include "random.hpp"

namespace testing {

/// What a thread will do next.
enum class seam { load, store, exchange, light_barrier, heavy_barrier, full_barrier, park, unpark };

template <class Base, class Visitor>
struct seamed_platform : Base {
  template <class Word, class T>
  class seamed_word : public Word {
   public:
    using Word::Word;

    T load(std::memory_order order) const noexcept { return before(seam::load), Word::load(order); }
    void store(T value, std::memory_order order) noexcept { before(seam::store), Word::store(value, order); }
    T exchange(T value, std::memory_order order) noexcept {
      return before(seam::exchange), Word::exchange(value, order);
    }
    T fetch_add(T value, std::memory_order order) noexcept {
      return before(seam::exchange), Word::fetch_add(value, order);
    }
    T fetch_sub(T value, std::memory_order order) noexcept {
      return before(seam::exchange), Word::fetch_sub(value, order);
    }
    T fetch_and(T value, std::memory_order order) noexcept {
      return before(seam::exchange), Word::fetch_and(value, order);
    }
    T fetch_or(T value, std::memory_order order) noexcept {
      return before(seam::exchange), Word::fetch_or(value, order);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) noexcept {
      return before(seam::exchange), Word::compare_exchange_strong(expected, desired, success, failure);
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
      before(seam::exchange);
      if (Visitor::weak_exchange_fails()) {
        expected = Word::load(failure);
        return false;
      }
      return Word::compare_exchange_weak(expected, desired, success, failure);
    }
  };

  template <class T>
  using atomic = seamed_word<typename Base::template atomic<T>, T>;
  using park_word = seamed_word<typename Base::park_word, std::uint32_t>;
  using typename Base::sleepers;

  class double_word : public Base::double_word {
    using inner = typename Base::double_word;

   public:
    using inner::inner;

    std::uint64_t load_value(std::memory_order order) const noexcept {
      return before(seam::load), inner::load_value(order);
    }
    std::uint64_t load_version(std::memory_order order) const noexcept {
      return before(seam::load), inner::load_version(order);
    }
    bool is_below(std::uint64_t bound, std::memory_order order) const noexcept {
      before(seam::load);
      if (Base::asymmetric && order == std::memory_order_relaxed && Visitor::relaxed_look_misses()) return false;
      return inner::is_below(bound, order);
    }
    bool is_at_most(std::uint64_t bound, std::memory_order order) const noexcept {
      before(seam::load);
      if (Base::asymmetric && order == std::memory_order_relaxed && Visitor::relaxed_look_misses()) return false;
      return inner::is_at_most(bound, order);
    }
    /// Loads the version first; there is a seam between the two loads.
    tidemark::versioned load(std::memory_order order) const noexcept {
      const auto version = load_version(order);
      return {load_value(order), version};
    }
    bool compare_exchange_strong(tidemark::versioned& expected, tidemark::versioned desired, std::memory_order success,
                                 std::memory_order failure) noexcept {
      return before(seam::exchange), inner::compare_exchange_strong(expected, desired, success, failure);
    }
  };

  static void light_barrier() noexcept { before(seam::light_barrier), Base::light_barrier(); }
  static bool heavy_barrier() noexcept { return before(seam::heavy_barrier), Base::heavy_barrier(); }
  static void full_barrier() noexcept { before(seam::full_barrier), Base::full_barrier(); }
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    return before(seam::park), Base::park(word, expected, until);
  }
  static bool unpark(sleepers those, std::uint32_t count) noexcept {
    before(seam::unpark);
    return Base::unpark(those, count);
  }

 private:
  static void before(seam next) noexcept { Visitor::visit(next); }
};

/// How likely each fault is: once in so many times; 0 is never, 1 is always.
struct fault_odds {
  std::uint64_t slow = 0;      ///< The thread is held up at a seam.
  std::uint64_t spurious = 0;  ///< A park ends for no reason; an unpark wakes all threads.
  std::uint64_t weak = 0;      ///< A weak exchange fails for no reason.
  std::uint64_t refused = 0;   ///< The heavy barrier fails.
  bool missing = false;        ///< Fences that are constructed meanwhile find no heavy barrier.
  std::uint64_t missed = 0;    ///< A signal looks for waiters too early. Only if every barrier is refused.
};

struct fault_counts {
  std::uint64_t slow = 0;
  std::uint64_t spurious = 0;
  std::uint64_t weak = 0;
  std::uint64_t refused = 0;
  std::uint64_t missed = 0;
};

/// The faults of the thread that constructs this object, while the object lives.
class faults {
 public:
  faults(const fault_odds& odds, std::uint64_t seed, std::uint64_t stream)
      : odds_{odds}, random_{seed, stream}, outer_{std::exchange(mine_, this)} {}
  faults(const faults&) = delete;
  faults& operator=(const faults&) = delete;
  ~faults() { mine_ = outer_; }

  const fault_counts& counts() const { return counts_; }

  /// Returns the faults of this thread, or null.
  static faults* mine() noexcept { return mine_; }

  bool is_barrier_missing() const noexcept { return odds_.missing; }
  bool wakes_for_no_reason() noexcept { return strikes(odds_.spurious, counts_.spurious); }
  bool fails_weakly() noexcept { return strikes(odds_.weak, counts_.weak); }
  bool is_refused() noexcept { return strikes(odds_.refused, counts_.refused); }
  bool misses() noexcept { return strikes(odds_.missed, counts_.missed); }

  /// Delays this thread: mostly for a fraction of a microsecond, sometimes by its turn on the processor, sometimes
  /// long enough for other threads to fall asleep. No test relies on how long.
  void hold_up() noexcept {
    if (!strikes(odds_.slow, counts_.slow)) return;
    const std::uint64_t sort = random_.below(16);
    if (sort == 0) return std::this_thread::sleep_for(std::chrono::microseconds{random_.below(50)});
    if (sort < 4) return std::this_thread::yield();
    for (std::uint64_t moment = random_.below(64); moment > 0; --moment) tidemark::native_platform::pause();
  }

  /// Returns when a sleep that ends for no reason ends.
  std::chrono::microseconds short_sleep() noexcept { return std::chrono::microseconds{random_.below(30)}; }

 private:
  bool strikes(std::uint64_t odds, std::uint64_t& count) noexcept {
    if (odds == 0 || (odds > 1 && random_.below(odds) != 0)) return false;
    ++count;
    return true;
  }

  static inline thread_local faults* mine_ = nullptr;

  fault_odds odds_;
  fault_counts counts_;
  random_numbers random_;
  faults* outer_;
};

/// Holds threads up at seams.
struct fault_visitor {
  static void visit(seam) noexcept {
    if (faults* const mine = faults::mine()) mine->hold_up();
  }
  static bool weak_exchange_fails() noexcept {
    faults* const mine = faults::mine();
    return mine != nullptr && mine->fails_weakly();
  }
  static bool relaxed_look_misses() noexcept {
    faults* const mine = faults::mine();
    return mine != nullptr && mine->misses();
  }
};

template <class Base>
struct faulty_platform : seamed_platform<Base, fault_visitor> {
  using seamed = seamed_platform<Base, fault_visitor>;
  using typename seamed::park_word;
  using typename seamed::sleepers;

  static bool heavy_barrier_available() noexcept {
    const faults* const mine = faults::mine();
    return (mine == nullptr || !mine->is_barrier_missing()) && Base::heavy_barrier_available();
  }

  static bool heavy_barrier() noexcept {
    faults* const mine = faults::mine();
    if (mine == nullptr || !mine->is_refused()) return seamed::heavy_barrier();
    seamed::full_barrier();
    return false;
  }

  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    faults* const mine = faults::mine();
    if (mine == nullptr) return seamed::park(word, expected, until);
    if (mine->wakes_for_no_reason()) {
      const auto soon = Base::now() + mine->short_sleep();
      if (soon < until) Base::park(word, expected, soon);
      return true;
    }
    const bool woken = seamed::park(word, expected, until);
    mine->hold_up();
    return woken;
  }

  static bool unpark(sleepers those, std::uint32_t count) noexcept {
    faults* const mine = faults::mine();
    return seamed::unpark(those, mine != nullptr && mine->wakes_for_no_reason() ? UINT32_MAX : count);
  }
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_FAULTY_PLATFORM_HPP
