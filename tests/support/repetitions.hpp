// SPDX-License-Identifier: BSL-1.0
//
// How often a race is repeated: a given number of times, or as often as this machine can in about a second.
#ifndef TIDEMARK_TESTS_SUPPORT_REPETITIONS_HPP
#define TIDEMARK_TESTS_SUPPORT_REPETITIONS_HPP

#include <chrono>
#include <cstdint>

namespace testing {

class repetitions {
 public:
  explicit repetitions(std::uint64_t most) : most_{most} {}

  /// Returns whether another repetition must follow, and counts it. The first call always returns true.
  bool goes_on() {
    if (done_ == most_ || (done_ > 0 && std::chrono::steady_clock::now() >= end_)) return false;
    ++done_;
    return true;
  }
  std::uint64_t done() const { return done_; }

 private:
  std::uint64_t most_;
  std::uint64_t done_ = 0;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds{1};
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_REPETITIONS_HPP
