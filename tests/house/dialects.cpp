// SPDX-License-Identifier: BSL-1.0
//
// All that the headers write in assembler, for check_dialects.
#include <atomic>
#include <cstdint>

#include <tidemark/fence/fence.hpp>
#include <tidemark/log/log_clock.hpp>
#include <tidemark/platform/platform.hpp>

using tidemark::native_platform;

extern "C" {

bool is_below(const native_platform::double_word& word, std::uint64_t bound) {
  return word.is_below(bound, std::memory_order_relaxed);
}

bool is_at_most(const native_platform::double_word& word, std::uint64_t bound) {
  return word.is_at_most(bound, std::memory_order_relaxed);
}

bool exchange_both(native_platform::double_word& word, tidemark::versioned& expected, tidemark::versioned desired) {
  return word.compare_exchange_strong(expected, desired, std::memory_order_seq_cst, std::memory_order_seq_cst);
}

void wait_a_moment() { native_platform::pause(); }

std::uint64_t read_clock() { return tidemark::tsc_log_clock::now(); }

void signal_progress(tidemark::progress_fence& fence, std::uint64_t value) { fence.signal(value); }
}
