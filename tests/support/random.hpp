// SPDX-License-Identifier: BSL-1.0
//
// Random numbers that can be repeated: each use prints its seed, and TIDEMARK_TEST_SEED sets the seed.
#ifndef TIDEMARK_TESTS_SUPPORT_RANDOM_HPP
#define TIDEMARK_TESTS_SUPPORT_RANDOM_HPP

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <type_traits>

namespace testing {

/// Returns the seed of a test, which is printed if the test is verbose or fails.
inline std::uint64_t fresh_seed() {
  const char* const wanted = std::getenv("TIDEMARK_TEST_SEED");
  const std::uint64_t seed = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device{}();
  MESSAGE("TIDEMARK_TEST_SEED=" << seed);
  return seed;
}

class random_numbers {
 public:
  /// Several streams of one seed, one for each thread.
  explicit random_numbers(std::uint64_t seed, std::uint64_t stream = 0) : engine_{seed + stream * 0x9E3779B97F4A7C15} {}

  /// Returns a number from 0 to `bound` - 1, of the type of the bound.
  template <class Bound>
  auto below(Bound bound) {
    using result = std::conditional_t<std::is_same_v<Bound, std::size_t>, std::size_t, std::uint64_t>;
    return static_cast<result>(engine_() % static_cast<std::uint64_t>(bound));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_RANDOM_HPP
