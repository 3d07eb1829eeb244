// SPDX-License-Identifier: BSL-1.0
//
// What the fuzz targets share: numbers out of the fuzzer's bytes, and a mistake that ends the program with a message.
#ifndef TIDEMARK_TESTS_FUZZ_INPUT_HPP
#define TIDEMARK_TESTS_FUZZ_INPUT_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// What libFuzzer calls, and replay.cpp. The name is libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

/// Ends with zeros.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : data_{data}, left_{size} {}

  bool is_empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  /// Less than `bound`, which is at most 2^16.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t high = bound > 256 ? byte() : 0;
    return (high * 256 + byte()) % bound;
  }
  bool flag() { return byte() % 2 != 0; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

/// With TIDEMARK_FUZZ_BROKEN the models make a mistake, which must be found.
#if defined(TIDEMARK_FUZZ_BROKEN)
inline constexpr bool model_is_broken = true;
#else
inline constexpr bool model_is_broken = false;
#endif

inline void require(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "the model says something else: %s\n", text);
  // An abort is what libFuzzer keeps the input for; a twin that is expected to find something ends without one.
  model_is_broken ? std::exit(1) : std::abort();
}

}  // namespace fuzz

#endif  // TIDEMARK_TESTS_FUZZ_INPUT_HPP
