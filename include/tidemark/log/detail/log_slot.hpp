// SPDX-License-Identifier: BSL-1.0
//
// How an entry lies in its slot, word by word, and how the position of a log is packed into one word. The head of
// ring_log.hpp says what lies where, and why.
#ifndef TIDEMARK_LOG_DETAIL_LOG_SLOT_HPP
#define TIDEMARK_LOG_DETAIL_LOG_SLOT_HPP

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "log_word.hpp"

namespace tidemark::detail {

/// The words of a slot: the stamp, unless a word of the entry is left to it; the word that names a dropped entry, where
/// there are several producers; the entry.
/// \tparam StampInside  whether word `StampWord` of the entry is left to the stamp
template <class Entry, bool HasStamp, bool HasGivenUp, bool StampInside, std::size_t StampWord>
struct log_slot {
  static_assert(std::is_trivially_copyable_v<Entry>, "an entry is copied word by word");

  static constexpr std::size_t entry_words = (sizeof(Entry) + 7) / 8;
  static constexpr bool has_stamp = HasStamp;
  static_assert(!StampInside || StampWord < entry_words, "the stamp must be a word of the entry");

  static constexpr std::size_t given_up = HasStamp && !StampInside ? 1 : 0;
  static constexpr std::size_t first_word = given_up + (HasGivenUp ? 1 : 0);
  static constexpr std::size_t stamp = StampInside ? first_word + StampWord : 0;
  static constexpr std::size_t size = first_word + entry_words;

  static constexpr bool is_stamp(std::size_t word) noexcept { return has_stamp && first_word + word == stamp; }

  static std::uint64_t word_of(const Entry& entry, std::size_t word) noexcept {
    std::uint64_t found = 0;
    std::memcpy(&found, reinterpret_cast<const std::byte*>(&entry) + 8 * word, bytes_of(word));
    return found;
  }
  static void put_word(Entry& entry, std::size_t word, std::uint64_t value) noexcept {
    std::memcpy(reinterpret_cast<std::byte*>(&entry) + 8 * word, &value, bytes_of(word));
  }

 private:
  static constexpr std::size_t bytes_of(std::size_t word) noexcept {
    return std::min<std::size_t>(8, sizeof(Entry) - 8 * word);
  }
};

/// Turns a position with its index in the low half into the word that has the index first in memory, and back.
constexpr std::uint64_t index_first(std::uint64_t position) noexcept {
  return std::endian::native == std::endian::big ? std::rotl(position, 32) : position;
}

/// Returns the position word for `written` entries: the index, then the wraps, which are counted modulo 2^32.
constexpr std::uint64_t packed_position(std::uint64_t written, std::uint64_t entries) noexcept {
  return index_first((written / entries) << 32 | written % entries);
}
/// Returns how many entries, modulo `entries` * 2^32, a position word stands for.
constexpr std::uint64_t unpacked_position(std::uint64_t position, std::uint64_t entries) noexcept {
  return (index_first(position) >> 32) * entries + (index_first(position) & 0xffff'ffff);
}

/// Writes all words of an entry but the stamp.
template <class Page>
[[gnu::always_inline]] inline void store_words(typename Page::word* to,
                                               const typename Page::entry_type& entry) noexcept {
  using slot = typename Page::slot;
#pragma GCC unroll 8
  for (std::size_t word = 0; word < slot::entry_words; ++word) {
    if (!slot::is_stamp(word))
      store_log_word<typename Page::platform_type>(to[slot::first_word + word], slot::word_of(entry, word));
  }
}

/// Reads all words of an entry, the stamp too if it is one of them.
template <class Page>
void load_words(const typename Page::word* from, typename Page::entry_type& entry) noexcept {
  using slot = typename Page::slot;
#pragma GCC unroll 8
  for (std::size_t word = 0; word < slot::entry_words; ++word) {
    slot::put_word(entry, word, load_log_word<typename Page::platform_type>(from[slot::first_word + word]));
  }
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOG_DETAIL_LOG_SLOT_HPP
