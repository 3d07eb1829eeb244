// SPDX-License-Identifier: BSL-1.0
//
// Memory that no code may use for a while: AddressSanitizer reports a use. Without it nothing happens.
#ifndef TIDEMARK_TESTS_SUPPORT_POISON_HPP
#define TIDEMARK_TESTS_SUPPORT_POISON_HPP

#include <cstddef>
#include <span>

#if defined(__SANITIZE_ADDRESS__)
#define TESTING_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TESTING_HAS_ASAN 1
#endif
#endif
#ifndef TESTING_HAS_ASAN
#define TESTING_HAS_ASAN 0
#endif

#if TESTING_HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace testing {

/// The memory must begin and end at multiples of 8 bytes, the unit of the sanitizer.
template <class T, std::size_t Extent>
void forbid([[maybe_unused]] std::span<T, Extent> memory) noexcept {
#if TESTING_HAS_ASAN
  __asan_poison_memory_region(memory.data(), memory.size_bytes());
#endif
}

template <class T, std::size_t Extent>
void allow([[maybe_unused]] std::span<T, Extent> memory) noexcept {
#if TESTING_HAS_ASAN
  __asan_unpoison_memory_region(memory.data(), memory.size_bytes());
#endif
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_POISON_HPP
