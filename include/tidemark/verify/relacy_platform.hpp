// SPDX-License-Identifier: BSL-1.0
//
// The platforms of the model checker. Every tidemark block, and any protocol that is built on one, runs under them
// unchanged.
//
//   relacy_platform            asymmetric: light_barrier() is nothing, heavy_barrier() is Relacy's system-wide fence
//   relacy_symmetric_platform  both sides are sequentially consistent, and the barriers are empty
//   relacy_pinned_platform     asymmetric with the heavy barrier refused: the fallback of native_platform
//   relacy_unfenced_platform   symmetric, without std::atomic_thread_fence: what ThreadSanitizer gets
//   relacy_portable_platform   symmetric, with the fallbacks of portable_platform; see relacy_portable_platform.hpp
//
// Relacy itself is compiled in the runner, and not seen here.
//
// Where this is stricter than a machine, and where it is not:
//   - The halves of a double word are loaded separately, so torn pairs occur.
//   - Parking synchronizes nothing, so a sleep does not hide a missing release or acquire.
//   - In the random search a sleeper may wake for no reason. A deadline may pass at any moment.
//   - If more threads sleep on a word than unpark() wakes, it wakes those with the lowest numbers. No other choice is
//     tried. On relacy_portable_platform it wakes all of them.
//   - A compare-exchange that fails has no stronger order than one that succeeds. For example, `acquire` becomes
//     `relaxed` where success is `release`. So a check may fail where a machine can't.
//   - A load finds one of the last three values of an atomic, and in an exhaustive search one of the last two.
//   - A sequentially consistent access and a sequentially consistent fence of another thread are not ordered with each
//     other, though the language orders them. So a check may fail where a machine can't.
#ifndef TIDEMARK_VERIFY_RELACY_PLATFORM_HPP
#define TIDEMARK_VERIFY_RELACY_PLATFORM_HPP

#include <atomic>
#include <cstdint>

#include "check.hpp"
// Behind the assertion of check.hpp.
#include "../platform/platform.hpp"

namespace tidemark::verify {

/// A double word: exchanged as a whole, loaded by halves.
class relacy_double_word {
 public:
  static constexpr bool is_always_lock_free = true;

  explicit relacy_double_word(std::uint64_t value) : pair_{value} {}

  std::uint64_t load_value(std::memory_order order, source_position at = source_position::current()) const {
    return pair_.load_first(order, at);
  }
  std::uint64_t load_version(std::memory_order order, source_position at = source_position::current()) const {
    return pair_.load_second(order, at);
  }
  bool is_below(std::uint64_t bound, std::memory_order order, source_position at = source_position::current()) const {
    return load_value(order, at) < bound;
  }
  bool is_at_most(std::uint64_t bound, std::memory_order order, source_position at = source_position::current()) const {
    return load_value(order, at) <= bound;
  }
  versioned load(std::memory_order order, source_position at = source_position::current()) const {
    const std::uint64_t version = load_version(order, at);
    return {load_value(order, at), version};
  }

  // A thread that reads the new version must not find the old value beside it, so the value is exchanged first.
  bool compare_exchange_strong(versioned& expected, versioned desired, std::memory_order success,
                               std::memory_order failure, source_position at = source_position::current()) {
    std::uint64_t found[2] = {expected.value, expected.version};
    const bool exchanged = pair_.compare_exchange(found, {desired.value, desired.version}, success, failure, at);
    if (!exchanged) expected = {found[0], found[1]};
    return exchanged;
  }

 private:
  engine::word_pair pair_;
};

/// The parts of which the asymmetric barriers of a platform are made. The compiler fence is empty, because the checker
/// executes every operation at its place. With `Refused` the system-wide fence is not available.
template <bool Refused>
struct relacy_machine {
  static void compiler_fence(std::memory_order, source_position at = source_position::current()) {
    engine::at_barrier(engine::barrier::light, at);
  }
  static void thread_fence(std::memory_order order, source_position at = source_position::current()) {
    engine::thread_fence(order, at);
  }
  static constexpr bool can_interrupt() noexcept { return !Refused; }
  static bool interrupt_all(source_position at = source_position::current()) {
    engine::everywhere_fence(at);
    return true;
  }
};

enum class barrier_form { asymmetric, symmetric, refused };

/// A platform. A barrier has the source position of its caller, so each call can be weakened by itself.
template <barrier_form Form>
struct basic_relacy_platform : relacy_machine<Form == barrier_form::refused> {
  template <class T>
  using atomic = verify::atomic<T>;
  template <class T>
  using var = verify::var<T>;
  using double_word = relacy_double_word;
  using parking = basic_relacy_platform;
  using park_word = verify::atomic<std::uint32_t>;

  class sleepers {
   public:
    sleepers(park_word& word) noexcept : word_{&word} {}

   private:
    friend basic_relacy_platform;
    park_word* word_;
  };

  static constexpr bool asymmetric = Form != barrier_form::symmetric;
  static constexpr bool has_thread_fences = true;

  static void light_barrier(source_position at = source_position::current()) {
    if constexpr (asymmetric) {
      engine::at_barrier(engine::barrier::light, at);
      barriers::light_barrier();
    }
  }
  static constexpr bool heavy_barrier_available() noexcept { return Form != barrier_form::refused; }

  static bool heavy_barrier(source_position at = source_position::current()) {
    if constexpr (!asymmetric) return true;
    const engine::barrier_change change = engine::at_barrier(engine::barrier::heavy, at);
    if (change == engine::barrier_change::removed) return heavy_barrier_available();
    if (change == engine::barrier_change::own_thread) {
      constexpr auto strongest = std::memory_order_seq_cst;
      engine::thread_fence(strongest, at);
      return heavy_barrier_available();
    }
    return barriers::heavy_barrier();
  }

  static void full_barrier(source_position at = source_position::current()) {
    if constexpr (asymmetric) {
      if (engine::at_barrier(engine::barrier::full, at) == engine::barrier_change::none) barriers::full_barrier();
    }
  }

  static bool park(park_word& word, std::uint32_t expected, deadline until,
                   source_position at = source_position::current()) {
    return word.park(expected, until != no_deadline, at);
  }
  static bool unpark(sleepers those, std::uint32_t count, source_position at = source_position::current()) {
    return those.word_->unpark(count, at);
  }

  static void pause(source_position at = source_position::current()) { engine::yield(at); }
  /// The threads of a simulation are one thread of the system.
  static unsigned current_thread() { return engine::this_thread() + 1; }
  /// A waiter that may spin looks once before it sleeps.
  static constexpr unsigned spin_looks() noexcept { return 1; }
  /// Time stands still; the scheduler decides when a deadline passes.
  static constexpr deadline now() noexcept { return deadline{}; }

 private:
  using barriers = tidemark::detail::asymmetric_barriers<relacy_machine<Form == barrier_form::refused>>;
};

/// A platform without fences that order relaxed accesses: blocks behave as under ThreadSanitizer.
struct unfenced_relacy_platform : basic_relacy_platform<barrier_form::symmetric> {
  static constexpr bool has_thread_fences = false;
};

}  // namespace tidemark::verify

namespace tidemark {

using relacy_platform = verify::basic_relacy_platform<verify::barrier_form::asymmetric>;
using relacy_symmetric_platform = verify::basic_relacy_platform<verify::barrier_form::symmetric>;
using relacy_pinned_platform = verify::basic_relacy_platform<verify::barrier_form::refused>;
using relacy_unfenced_platform = verify::unfenced_relacy_platform;

}  // namespace tidemark

#endif  // TIDEMARK_VERIFY_RELACY_PLATFORM_HPP
