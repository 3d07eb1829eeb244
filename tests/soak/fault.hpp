// SPDX-License-Identifier: BSL-1.0
//
// Mistakes made on purpose, so that a test can see the soak fail. Only the twin (TIDEMARK_SOAK_BROKEN) has them; in the
// soak itself has() is constant false.
#ifndef TIDEMARK_TESTS_SOAK_FAULT_HPP
#define TIDEMARK_TESTS_SOAK_FAULT_HPP

#include <array>
#include <chrono>
#include <cstdint>

#include <tidemark/platform/platform.hpp>

#ifndef TIDEMARK_SOAK_BROKEN
#define TIDEMARK_SOAK_BROKEN 0
#endif

namespace soak {

enum class fault : std::uint8_t {
  none,
  deaf,      ///< Some wake-ups are forgotten.
  early,     ///< A wait returns one value too early.
  hasty,     ///< The clock of the deadlines is behind.
  leaky,     ///< Raw heap: some registrations are never withdrawn.
  mute,      ///< Some signals of a raw heap release nobody.
  unfenced,  ///< The heavy barrier of the waiters is missing.
};

struct named_fault {
  const char* name;
  fault what;
};
inline constexpr std::array<named_fault, 6> faults{{{"deaf", fault::deaf},
                                                    {"early", fault::early},
                                                    {"hasty", fault::hasty},
                                                    {"leaky", fault::leaky},
                                                    {"mute", fault::mute},
                                                    {"unfenced", fault::unfenced}}};

inline constexpr bool can_be_broken = TIDEMARK_SOAK_BROKEN != 0;

#if TIDEMARK_SOAK_BROKEN
inline fault chosen_fault = fault::none;
#else
inline constexpr fault chosen_fault = fault::none;
#endif

inline bool has(fault which) { return can_be_broken && chosen_fault == which; }

/// Whether this thread's turn has come, every `period` times.
inline bool is_turn(unsigned period) {
  thread_local unsigned turn = 0;
  return ++turn % period == 0;
}

/// What the twin runs on: the platform, with the fault of its choice.
template <class Base>
struct faulty_platform : Base {
  using typename Base::sleepers;

  static bool heavy_barrier() noexcept { return has(fault::unfenced) || Base::heavy_barrier(); }
  static bool unpark(sleepers those, std::uint32_t count) noexcept {
    return (has(fault::deaf) && is_turn(8)) || Base::unpark(those, count);
  }
  static tidemark::deadline now() noexcept {
    return Base::now() - std::chrono::milliseconds{has(fault::hasty) ? 1 : 0};
  }
};

/// A platform that is right, and as unhelpful as it may be: wake-ups for no reason, and a system that refuses the heavy
/// barrier now and then.
template <class Base>
struct troubled_platform : Base {
  using typename Base::park_word;

  static bool heavy_barrier() noexcept {
    if (!Base::asymmetric || !is_turn(5)) return Base::heavy_barrier();
    Base::full_barrier();
    return false;
  }
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    return is_turn(3) || Base::park(word, expected, until);
  }
};

/// A system without the heavy barrier.
template <class Base>
struct refused_platform : Base {
  static bool heavy_barrier_available() noexcept { return !Base::asymmetric; }
  static bool heavy_barrier() noexcept {
    Base::full_barrier();
    return !Base::asymmetric;
  }
};

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_FAULT_HPP
