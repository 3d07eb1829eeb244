// SPDX-License-Identifier: BSL-1.0
//
// A word of a log, or of a clock, that may be overwritten while it is read. These functions store and load it so that
// the reader can find out afterwards whether that happened: fences order the word against the word that tells, and
// where there are none, the accesses themselves do.
#ifndef TIDEMARK_PLATFORM_TOOLS_LOG_WORD_HPP
#define TIDEMARK_PLATFORM_TOOLS_LOG_WORD_HPP

#include <atomic>
#include <cstdint>

namespace tidemark::detail {

template <class Platform>
[[gnu::always_inline]] inline void store_log_word(typename Platform::template atomic<std::uint64_t>& to,
                                                  std::uint64_t value) noexcept {
  constexpr auto store_order = Platform::has_thread_fences ? std::memory_order_relaxed : std::memory_order_release;
  // (L1): a reader that loads the value in (L2) finds the stamp, position, work item or piece that was stored before
  // it. Relaxed where (L3), (S3) or (Z4) does that.
  to.store(value, store_order);
}

template <class Platform>
[[gnu::always_inline]] inline std::uint64_t load_log_word(
    const typename Platform::template atomic<std::uint64_t>& from) noexcept {
  constexpr auto load_order = Platform::has_thread_fences ? std::memory_order_relaxed : std::memory_order_acquire;
  // (L2): the other end of (L1). Relaxed where (L4), (S4) or (Z2) does that.
  return from.load(load_order);
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_TOOLS_LOG_WORD_HPP
