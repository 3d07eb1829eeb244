// SPDX-License-Identifier: BSL-1.0
//
// Random numbers that are the same with every compiler and standard library, so that a seed printed by one build means
// the same schedule in another.
#ifndef TIDEMARK_TESTS_SOAK_NUMBERS_HPP
#define TIDEMARK_TESTS_SOAK_NUMBERS_HPP

#include <cstdint>

namespace soak {

/// The finalizer of SplitMix64.
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

class numbers {
 public:
  explicit constexpr numbers(std::uint64_t seed) : state_{seed} {}

  constexpr std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15); }

  /// From 0 to `bound` - 1.
  constexpr std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  constexpr bool one_in(std::uint64_t many) { return below(many) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_NUMBERS_HPP
