// SPDX-License-Identifier: BSL-1.0
//
// The memory of a ring log: header and slots. The head of ring_log.hpp says what lies where, and why.
#ifndef TIDEMARK_DETAIL_LOG_PAGE_HPP
#define TIDEMARK_DETAIL_LOG_PAGE_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "../platform.hpp"
#include "log_word.hpp"

namespace tidemark {

/// What proves that an entry is whole, and who may append.
enum class log_form { stamped, header_only, many_producers };

inline constexpr std::size_t no_stamp_word = static_cast<std::size_t>(-1);

/// Which 64-bit word of an Entry is left to the log for its stamp; by default none, and the stamp stands before the
/// entry. Specialize it for entries that have a word to spare; readers find the stamp there.
template <class Entry>
inline constexpr std::size_t log_stamp_word = no_stamp_word;

namespace detail {

/// The words of an entry as they lie in its slot.
template <class Entry, log_form Form>
struct log_slot {
  static_assert(std::is_trivially_copyable_v<Entry>, "an entry is copied word by word");

  static constexpr std::size_t entry_words = (sizeof(Entry) + 7) / 8;
  static constexpr bool has_stamp = Form != log_form::header_only;
  static constexpr bool stamp_inside = has_stamp && log_stamp_word<Entry> != no_stamp_word;
  static_assert(!stamp_inside || log_stamp_word<Entry> < entry_words, "the stamp must be a word of the entry");

  /// Words before the entry: the stamp, if the entry has none to spare, and what was given up here.
  static constexpr std::size_t given_up = has_stamp && !stamp_inside ? 1 : 0;
  static constexpr std::size_t first_word = given_up + (Form == log_form::many_producers ? 1 : 0);
  static constexpr std::size_t stamp = stamp_inside ? first_word + log_stamp_word<Entry> : 0;
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

/// From a position with its index in the low half to the word that has the index first in memory, or back.
constexpr std::uint64_t index_first(std::uint64_t position) noexcept {
  return std::endian::native == std::endian::big ? std::rotl(position, 32) : position;
}

/// The word of the header for `written` entries: the index, then the wraps. Wraps are counted modulo 2^32.
constexpr std::uint64_t packed_position(std::uint64_t written, std::uint64_t entries) noexcept {
  return index_first((written / entries) << 32 | written % entries);
}
constexpr std::uint64_t unpacked_position(std::uint64_t position, std::uint64_t entries) noexcept {
  return (index_first(position) >> 32) * entries + (index_first(position) & 0xffff'ffff);
}

/// 40 bytes in front of the slots, laid out alike where integers of 64 bits are aligned to 4 (i386). All but the position
/// is constant.
template <class Word>
struct log_header {
  Word position;
  std::uint32_t type;
  alignas(8) std::uint64_t number_of_entries;
  std::uint64_t first_sequence;
  std::uint64_t reserved;
};

/// Header and words inside the object.
template <class Word, std::size_t Words>
class inner_log_memory {
 public:
  using header_type = log_header<Word>;
  inner_log_memory(std::size_t, std::uint64_t position, std::uint32_t type, std::uint64_t entries, std::uint64_t first)
      : header_{Word{position}, type, entries, first, 0} {}
  header_type& header() noexcept { return header_; }
  const header_type& header() const noexcept { return header_; }
  Word* words() noexcept { return words_; }
  const Word* words() const noexcept { return words_; }

 private:
  header_type header_;
  Word words_[Words];
};

/// Header and words in memory of their own: the caller's, or allocated.
template <class Word>
class outer_log_memory {
 public:
  using header_type = log_header<Word>;
  static constexpr std::align_val_t alignment{cache_line};

  static constexpr std::size_t bytes_for(std::size_t words) noexcept {
    return sizeof(header_type) + words * sizeof(Word);
  }

  outer_log_memory(std::size_t words, std::uint64_t position, std::uint32_t type, std::uint64_t entries,
                   std::uint64_t first)
      : outer_log_memory(nullptr, words, position, type, entries, first) {}
  /// In this memory, or, where it is null, in memory of its own.
  outer_log_memory(void* memory, std::size_t words, std::uint64_t position, std::uint32_t type, std::uint64_t entries,
                   std::uint64_t first)
      : header_{::new (memory != nullptr ? memory : ::operator new(bytes_for(words), alignment))
                    header_type{Word{position}, type, entries, first, 0}},
        words_{reinterpret_cast<Word*>(header_ + 1)},
        count_{words},
        is_owner_{memory == nullptr} {
    std::uninitialized_default_construct_n(words_, words);
  }
  outer_log_memory(const outer_log_memory&) = delete;
  outer_log_memory& operator=(const outer_log_memory&) = delete;
  ~outer_log_memory() {
    std::destroy_n(words_, count_);
    std::destroy_at(header_);
    if (is_owner_) ::operator delete(static_cast<void*>(header_), alignment);
  }
  header_type& header() const noexcept { return *header_; }
  Word* words() const noexcept { return words_; }

 private:
  header_type* header_;
  Word* words_;
  std::size_t count_;
  bool is_owner_;
};

}  // namespace detail

/// The memory of a log, which producers and readers share. With a fixed N it is a part of this object and holds no
/// address, so several processes may map it (A85); with N = std::dynamic_extent it is elsewhere, laid out alike.
/// Construct it before it is shared.
template <class Entry, std::size_t N, log_form Form, class Platform>
class alignas(cache_line) ring_log_page {
 public:
  using entry_type = Entry;
  using platform_type = Platform;
  using word = typename Platform::template atomic<std::uint64_t>;
  using slot = detail::log_slot<Entry, Form>;
  static constexpr log_form form = Form;
  static constexpr bool is_fixed = N != std::dynamic_extent;
  static constexpr std::uint64_t most_entries = (std::uint64_t{1} << 31) - 1;
  static_assert(!is_fixed || (N >= 2 && N <= most_entries), "a ring has at least two entries, and less than 2^31");

  /// \param entries         capacity, 2 to most_entries; what N says where it is fixed
  /// \param type            stands in the header for who finds the page; of no meaning to the log (A81)
  /// \param first_sequence  the number of the first entry
  ring_log_page(std::size_t entries, std::uint32_t type, std::uint64_t first_sequence)
      : ring_log_page(checked{nearest_entries(entries), nullptr}, type, first_sequence) {}
  /// In the caller's memory, which outlives the page and is aligned to 8; as many entries as fit.
  ring_log_page(std::span<std::byte> memory, std::uint32_t type, std::uint64_t first_sequence) requires(!is_fixed)
      : ring_log_page(checked_memory(memory), type, first_sequence) {}

  /// What `entries` take, in bytes, and the other way round.
  static constexpr std::size_t bytes_for(std::size_t entries) noexcept {
    return sizeof(detail::log_header<word>) + entries * slot::size * sizeof(word);
  }
  static constexpr std::size_t entries_in(std::size_t bytes) noexcept {
    return bytes < bytes_for(0) ? 0 : (bytes - bytes_for(0)) / (slot::size * sizeof(word));
  }

  // Misuse is asserted, and where the assertion returns, nothing is torn: a number of entries that no ring has is taken
  // for the nearest that one has, and memory that is unfit for a log is not touched, the log then lies in its own.

  /// Whether a ring can have so many entries, which is asserted.
  static bool can_have(std::size_t entries) noexcept {
    const bool is_possible = entries >= 2 && entries <= most_allocated;
    TIDEMARK_ASSERT(is_possible, "a ring has at least two entries, and less than 2^31");
    return is_possible;
  }
  /// Whether a log can lie at this address, which is asserted.
  static bool can_lie_in(const std::byte* memory) noexcept {
    const bool is_aligned = memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % alignof(word) == 0;
    TIDEMARK_ASSERT(is_aligned, "a log needs memory aligned to 8");
    return is_aligned;
  }
  static std::size_t nearest_entries(std::size_t entries) noexcept {
    return can_have(entries) ? entries : std::clamp<std::size_t>(entries, 2, most_allocated);
  }

  std::uint64_t entries() const noexcept {
    if constexpr (is_fixed) return N;
    return memory_.header().number_of_entries;
  }
  std::uint32_t type() const noexcept { return memory_.header().type; }
  std::uint64_t first_sequence() const noexcept { return memory_.header().first_sequence; }

  word& position() noexcept { return memory_.header().position; }
  const word& position() const noexcept { return memory_.header().position; }
  word* slot_at(std::uint64_t index) noexcept { return memory_.words() + index * slot::size; }
  const word* slot_at(std::uint64_t index) const noexcept { return memory_.words() + index * slot::size; }

 private:
  /// Where there are fewer bytes than most_entries take.
  static constexpr std::size_t most_allocated =
      static_cast<std::size_t>(std::min<std::uint64_t>(most_entries, entries_in(SIZE_MAX)));

  /// What a log is made of: null where it lies in its own memory.
  struct checked {
    std::size_t entries;
    std::byte* memory;
  };
  static checked checked_memory(std::span<std::byte> memory) noexcept {
    const std::size_t entries = entries_in(memory.size());
    const bool is_fit = can_have(entries) && can_lie_in(memory.data());
    return is_fit ? checked{entries, memory.data()}
                  : checked{std::clamp<std::size_t>(entries, 2, most_allocated), nullptr};
  }

  ring_log_page(const checked& from, std::uint32_t type, std::uint64_t first_sequence) requires(is_fixed)
      : memory_{from.entries * slot::size, first_position(from.entries, first_sequence), type, from.entries,
                first_sequence} {}
  ring_log_page(const checked& from, std::uint32_t type, std::uint64_t first_sequence) requires(!is_fixed)
      : memory_{
            from.memory,   from.entries * slot::size, first_position(from.entries, first_sequence), type, from.entries,
            first_sequence} {}

  static constexpr std::uint64_t first_position(std::size_t entries, std::uint64_t first_sequence) noexcept {
    if (Form == log_form::many_producers) return first_sequence;
    return detail::packed_position(first_sequence, entries);
  }

  std::conditional_t<is_fixed, detail::inner_log_memory<word, is_fixed ? N * slot::size : 1>,
                     detail::outer_log_memory<word>>
      memory_;
};

namespace detail {

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

template <class Page>
void load_words(const typename Page::word* from, typename Page::entry_type& entry) noexcept {
  using slot = typename Page::slot;
#pragma GCC unroll 8
  for (std::size_t word = 0; word < slot::entry_words; ++word) {
    slot::put_word(entry, word, load_log_word<typename Page::platform_type>(from[slot::first_word + word]));
  }
}

}  // namespace detail
}  // namespace tidemark

#endif  // TIDEMARK_DETAIL_LOG_PAGE_HPP
