// SPDX-License-Identifier: BSL-1.0
//
// The producer's side of a ring log: where the next entry goes, and in which order its words are written. The head of
// ring_log.hpp says what proves to a reader that an entry is whole.
#ifndef TIDEMARK_LOG_DETAIL_LOG_PRODUCER_HPP
#define TIDEMARK_LOG_DETAIL_LOG_PRODUCER_HPP

#include <atomic>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "log_slot.hpp"

namespace tidemark::detail {

/// The state of the one producer, which no reader looks at.
template <class Page>
class log_producer {
 public:
  explicit log_producer(const Page& page) noexcept
      : next_{index_first(packed_position(page.first_sequence(), page.entries()))},
        stamp_of_first_slot_{page.first_sequence() - page.first_sequence() % page.entries() + 1} {}

  void append(Page& page, const typename Page::entry_type& entry) noexcept {
    using platform = typename Page::platform_type;
    using slot = typename Page::slot;
    const std::uint64_t position = next_;
    const std::uint64_t index = position & 0xffff'ffff;
    const auto words = page.slot_at(index);
    if constexpr (slot::has_stamp) store_log_word<platform>(words[slot::stamp], stamp_of_first_slot_ + index);
    // (L3): the stamp, or the previous position, comes before the words. A reader that sees one of the words in (L2)
    // finds the stamp or the position after (L4); a reader that sees the stamp in (L17) finds the previous position. A
    // release store of the position in (L5) would not hold back the words of the next entry.
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_release);
    store_words<Page>(words, entry);
    next_ = after(position, page.entries());
    // (L5): release, pairs with (L6): the whole entry comes before it. Nothing later has to wait for it.
    page.position().store(index_first(next_), std::memory_order_release);
  }

  std::uint64_t written() const noexcept { return stamp_of_first_slot_ - 1 + (next_ & 0xffff'ffff); }

 private:
  std::uint64_t after(std::uint64_t position, std::uint64_t entries) noexcept {
    if ((position & 0xffff'ffff) + 1 < entries) return position + 1;
    stamp_of_first_slot_ += entries;
    return ((position >> 32) + 1) << 32;
  }

  // Where the page has 4096 bytes and this object follows it, as in fence_log, the address of next_ would share its low
  // 12 bits with the position, which was stored just before. Processors compare these bits first, so the load would
  // wait for the store (Zen 5: an append took 1.3 to 2.7 times as long). With a word between them it shares the bits
  // with a constant of the page.
  [[maybe_unused]] std::uint64_t apart_ = 0;
  std::uint64_t next_;                 // the position after the next append, its index in the low half
  std::uint64_t stamp_of_first_slot_;  // in this lap
};

/// With several producers the state is in the page.
template <class Page>
  requires(Page::producers == writers::several)
class log_producer<Page> {
 public:
  explicit log_producer(const Page&) noexcept {}

  void append(Page& page, const typename Page::entry_type& entry) noexcept {
    using platform = typename Page::platform_type;
    using slot = typename Page::slot;
    // (L10): relaxed alone: a number of its own for each entry. The stamp says what readers may see of the entry.
    const std::uint64_t sequence = page.position().fetch_add(1, std::memory_order_relaxed);
    const auto words = page.slot_at(sequence % page.entries());
    if (!own(words[slot::stamp], sequence)) return give_up(words[slot::given_up], sequence);
    // (L11): release, pairs with (L4) and (L21): the busy stamp comes before the words, as in (L3).
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_release);
    store_words<Page>(words, entry);
    // (L12): release: the whole entry comes before it; pairs with (L7), and with (L13) of the producer a lap later.
    words[slot::stamp].store(whole(sequence), std::memory_order_release);
  }

  static constexpr std::uint64_t busy(std::uint64_t sequence) noexcept { return 2 * sequence + 1; }
  static constexpr std::uint64_t whole(std::uint64_t sequence) noexcept { return 2 * sequence + 2; }

 private:
  /// Returns false where the producer of an older lap is still writing, or that of a newer lap was here.
  static bool own(typename Page::word& stamp, std::uint64_t sequence) noexcept {
    // (L14): relaxed alone, a first look: (L13) decides.
    std::uint64_t seen = stamp.load(std::memory_order_relaxed);
    if (seen % 2 != 0 || seen > busy(sequence)) return false;
    // (L13): acquire, pairs with (L12): the words of the previous entry are written before ours. Readers that see ours
    // find the stamp by (L11), so nothing is released here.
    return stamp.compare_exchange_strong(seen, busy(sequence), std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// Tells readers that have come to this entry not to wait for it. Of two entries that are dropped here the later one
  /// stands; readers of the earlier one see that they were lapped.
  static void give_up(typename Page::word& given_up, std::uint64_t sequence) noexcept {
    // (L15): relaxed alone: no data comes with it.
    std::uint64_t seen = given_up.load(std::memory_order_relaxed);
    while (seen < sequence + 1) {
      // (L16): relaxed alone, as (L15). It fails at most once for each other producer that is here.
      if (given_up.compare_exchange_strong(seen, sequence + 1, std::memory_order_relaxed, std::memory_order_relaxed))
        return;
    }
  }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOG_DETAIL_LOG_PRODUCER_HPP
