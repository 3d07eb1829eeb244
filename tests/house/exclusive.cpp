// SPDX-License-Identifier: BSL-1.0
//
// A double word's compare-exchange, for check_exclusive.cmake to look at its AArch64 instructions.
#include <atomic>

#include <tidemark/platform/platform.hpp>

using tidemark::versioned;

// NOLINTNEXTLINE(misc-use-internal-linkage): its instructions are what is looked at
bool exchange(tidemark::native_platform::double_word& word, versioned& expected, versioned desired);
// NOLINTNEXTLINE(misc-use-internal-linkage)
bool exchange(tidemark::native_platform::double_word& word, versioned& expected, versioned desired) {
  return word.compare_exchange_strong(expected, desired, std::memory_order_seq_cst, std::memory_order_seq_cst);
}
