// SPDX-License-Identifier: BSL-1.0
//
// Platforms that derive from another one and hide its static members, to count or to disturb the operations of a
// header.
//
//   counting_platform  counts barriers, parks and unparks. Its counters are read-modify-writes, which order memory on
//                      some machines. So it shows how often an operation happens, but not that the orders suffice.
//   looking_platform   counts how often a thread looks at an atomic word: its loads, and what changes it
//   hooked_platform    calls a function of the test at a chosen point, in the thread that is at that point
#ifndef TIDEMARK_TESTS_SUPPORT_COUNTING_PLATFORM_HPP
#define TIDEMARK_TESTS_SUPPORT_COUNTING_PLATFORM_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include <tidemark/platform/platform.hpp>

namespace testing {

/// Where a `background` thread (threads.hpp) is told that it is inside park().
inline thread_local std::atomic<bool>* inside_park = nullptr;

struct event_counts {
  std::uint64_t light_barriers = 0;
  std::uint64_t heavy_barriers = 0;
  std::uint64_t full_barriers = 0;
  std::uint64_t parks = 0;
  std::uint64_t unparks = 0;
};

template <class Base>
struct counting_platform : Base {
  using typename Base::park_word;
  using typename Base::sleepers;

  static void light_barrier() noexcept {
    light_barriers.fetch_add(1, std::memory_order_relaxed);
    Base::light_barrier();
  }
  static bool heavy_barrier() noexcept {
    heavy_barriers.fetch_add(1, std::memory_order_relaxed);
    return Base::heavy_barrier();
  }
  static void full_barrier() noexcept {
    full_barriers.fetch_add(1, std::memory_order_relaxed);
    Base::full_barrier();
  }
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    parks.fetch_add(1, std::memory_order_relaxed);
    if (inside_park != nullptr) inside_park->store(true);
    const bool woken = Base::park(word, expected, until);
    if (inside_park != nullptr) inside_park->store(false);
    return woken;
  }
  static bool unpark(sleepers those, std::uint32_t count) noexcept {
    unparks.fetch_add(1, std::memory_order_relaxed);
    return Base::unpark(those, count);
  }

  static event_counts counts() noexcept {
    return {light_barriers.load(), heavy_barriers.load(), full_barriers.load(), parks.load(), unparks.load()};
  }

  static inline std::atomic<std::uint64_t> light_barriers{0};
  static inline std::atomic<std::uint64_t> heavy_barriers{0};
  static inline std::atomic<std::uint64_t> full_barriers{0};
  static inline std::atomic<std::uint64_t> parks{0};
  static inline std::atomic<std::uint64_t> unparks{0};
};

/// What a counting platform has counted since this object was constructed.
template <class Platform>
class meter {
 public:
  std::uint64_t light_barriers() const { return Platform::counts().light_barriers - start_.light_barriers; }
  std::uint64_t heavy_barriers() const { return Platform::counts().heavy_barriers - start_.heavy_barriers; }
  std::uint64_t full_barriers() const { return Platform::counts().full_barriers - start_.full_barriers; }
  std::uint64_t parks() const { return Platform::counts().parks - start_.parks; }
  std::uint64_t unparks() const { return Platform::counts().unparks - start_.unparks; }

 private:
  event_counts start_ = Platform::counts();
};

/// For tests with one thread at a time.
template <class Base>
struct looking_platform : Base {
  static inline std::uint64_t looks = 0;

  template <class Word, class T>
  struct looking : Word {
    using order = std::memory_order;

    using Word::Word;
    T load(order how) const noexcept { return ++looks, Word::load(how); }
    T exchange(T value, order how) noexcept { return ++looks, Word::exchange(value, how); }
    T fetch_add(T value, order how) noexcept { return ++looks, Word::fetch_add(value, how); }
    T fetch_sub(T value, order how) noexcept { return ++looks, Word::fetch_sub(value, how); }
    T fetch_and(T value, order how) noexcept { return ++looks, Word::fetch_and(value, how); }
    T fetch_or(T value, order how) noexcept { return ++looks, Word::fetch_or(value, how); }
    bool compare_exchange_strong(T& expected, T desired, order success, order failure) noexcept {
      return ++looks, Word::compare_exchange_strong(expected, desired, success, failure);
    }
    bool compare_exchange_weak(T& expected, T desired, order success, order failure) noexcept {
      return ++looks, Word::compare_exchange_weak(expected, desired, success, failure);
    }
  };

  template <class T>
  using atomic = looking<typename Base::template atomic<T>, T>;
  using park_word = looking<typename Base::park_word, std::uint32_t>;
};

/// A function of the test that runs once, the next time that a thread gets to its point.
class hook {
 public:
  template <class Body>
  hook& operator=(Body body) {
    body_ = std::move(body);
    return *this;
  }
  bool has_run() const { return body_ == nullptr; }
  void run() {
    if (body_ != nullptr) std::exchange(body_, nullptr)();
  }

 private:
  std::function<void()> body_;
};

/// For tests with one thread at a time. Each hook runs just before its operation.
template <class Base>
struct hooked_platform : counting_platform<Base> {
  using counted = counting_platform<Base>;
  using typename counted::park_word;
  using typename counted::sleepers;

  static void light_barrier() noexcept {
    at_light_barrier.run();
    counted::light_barrier();
  }
  static bool heavy_barrier() noexcept {
    at_heavy_barrier.run();
    return counted::heavy_barrier();
  }
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    at_park.run();
    return counted::park(word, expected, until);
  }
  static bool unpark(sleepers those, std::uint32_t count) noexcept {
    at_unpark.run();
    return counted::unpark(those, count);
  }
  static tidemark::deadline now() noexcept {
    at_now.run();
    return counted::now();
  }

  static inline hook at_light_barrier;
  static inline hook at_heavy_barrier;
  static inline hook at_park;
  static inline hook at_unpark;
  static inline hook at_now;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_COUNTING_PLATFORM_HPP
