// SPDX-License-Identifier: BSL-1.0
//
// A platform on which threads end at a moment of the checker's choice, as those of a process do that is killed: from
// then on nothing that the thread does has an effect, and whatever it loads is 0.
//
// So the code of a dead thread runs on alone, and must come to an end: loops of headers that wait for others need a
// bound, or a condition that a dead thread meets. What it returns means nothing: a check asks is_dead().
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_MORTAL_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_MORTAL_HPP

#include "model_check.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace model {

/// How many operations each thread of the running check has left.
class mortality {
 public:
  /// All threads live. Called when a check begins, and before what runs alone at its end.
  static void none_dies() { left().fill(immortal); }
  /// The calling thread has some of the next `most` operations left, or lives.
  static void may_die_within(unsigned most) {
    const unsigned chosen = tidemark::verify::engine::choose(most + 1);
    of_this_thread() = chosen == most ? immortal : chosen;
  }
  /// The calling thread goes on as another one, and lives.
  static void lives_again() { of_this_thread() = immortal; }
  static bool is_dead() { return of_this_thread() == 0; }
  /// Counts an operation. Returns whether it takes place.
  static bool lives() {
    unsigned& rest = of_this_thread();
    if (rest == 0) return false;
    if (rest != immortal) --rest;
    return true;
  }

 private:
  static constexpr unsigned immortal = ~0U;
  static std::array<unsigned, 8>& left() {
    static std::array<unsigned, 8> counts{};
    return counts;
  }
  static unsigned& of_this_thread() { return left()[tidemark::verify::engine::this_thread() % 8]; }
};

/// What a check with mortal threads derives from, before all members that are shared.
struct with_mortals {
  with_mortals() { mortality::none_dies(); }
};

template <class Platform>
struct mortal : Platform {
  using source_position = tidemark::verify::source_position;

  template <class T>
  class atomic : Platform::template atomic<T> {
    using base = typename Platform::template atomic<T>;
    friend mortal;

   public:
    using base::base;

    T load(std::memory_order order, source_position at = source_position::current()) const {
      return mortality::lives() ? base::load(order, at) : T{};
    }
    void store(T value, std::memory_order order, source_position at = source_position::current()) {
      if (mortality::lives()) base::store(value, order, at);
    }
    T exchange(T value, std::memory_order order, source_position at = source_position::current()) {
      return mortality::lives() ? base::exchange(value, order, at) : T{};
    }
    T fetch_add(T by, std::memory_order order, source_position at = source_position::current()) {
      return mortality::lives() ? base::fetch_add(by, order, at) : T{};
    }
    T fetch_sub(T by, std::memory_order order, source_position at = source_position::current()) {
      return mortality::lives() ? base::fetch_sub(by, order, at) : T{};
    }
    T fetch_and(T bits, std::memory_order order, source_position at = source_position::current()) {
      return mortality::lives() ? base::fetch_and(bits, order, at) : T{};
    }
    T fetch_or(T bits, std::memory_order order, source_position at = source_position::current()) {
      return mortality::lives() ? base::fetch_or(bits, order, at) : T{};
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                 source_position at = source_position::current()) {
      if (mortality::lives()) return base::compare_exchange_strong(expected, desired, success, failure, at);
      expected = static_cast<T>(~T{});
      return false;
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               source_position at = source_position::current()) {
      if (mortality::lives()) return base::compare_exchange_weak(expected, desired, success, failure, at);
      expected = static_cast<T>(~T{});
      return false;
    }
  };

  class double_word : Platform::double_word {
    using base = typename Platform::double_word;

   public:
    static constexpr bool is_always_lock_free = true;
    using base::base;

    std::uint64_t load_value(std::memory_order order, source_position at = source_position::current()) const {
      return mortality::lives() ? base::load_value(order, at) : 0;
    }
    std::uint64_t load_version(std::memory_order order, source_position at = source_position::current()) const {
      return mortality::lives() ? base::load_version(order, at) : 0;
    }
    bool is_below(std::uint64_t bound, std::memory_order order, source_position at = source_position::current()) const {
      return load_value(order, at) < bound;
    }
    bool is_at_most(std::uint64_t bound, std::memory_order order,
                    source_position at = source_position::current()) const {
      return load_value(order, at) <= bound;
    }
    tidemark::versioned load(std::memory_order order, source_position at = source_position::current()) const {
      return mortality::lives() ? base::load(order, at) : tidemark::versioned{};
    }
    bool compare_exchange_strong(tidemark::versioned& expected, tidemark::versioned desired, std::memory_order success,
                                 std::memory_order failure, source_position at = source_position::current()) {
      return mortality::lives() && base::compare_exchange_strong(expected, desired, success, failure, at);
    }
  };

  using park_word = atomic<std::uint32_t>;
  class sleepers {
   public:
    sleepers(park_word& word) noexcept : word_{&word} {}

   private:
    friend mortal;
    park_word* word_;
  };

  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until,
                   source_position at = source_position::current()) {
    return mortality::lives() && Platform::park(word, expected, until, at);
  }
  static bool unpark(sleepers those, std::uint32_t count, source_position at = source_position::current()) {
    typename Platform::park_word& word = *those.word_;
    return mortality::lives() && Platform::unpark(word, count, at);
  }
  static bool heavy_barrier(source_position at = source_position::current()) {
    return mortality::lives() ? Platform::heavy_barrier(at) : true;
  }
  static void full_barrier(source_position at = source_position::current()) {
    if (mortality::lives()) Platform::full_barrier(at);
  }
};

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_MORTAL_HPP
