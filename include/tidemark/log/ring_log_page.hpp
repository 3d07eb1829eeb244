// SPDX-License-Identifier: BSL-1.0
//
// The memory of a ring log, which its producers and its readers share: a header and the slots. The head of ring_log.hpp
// says what lies where, and why.
//
// A page is needed by itself where a reader has no ring_log: in another process that has mapped the page, or in a tool
// that finds it in memory.
//
// The constructors assert that the number of entries is possible, or that the caller's memory is fit. Otherwise the log
// takes the nearest possible number of entries; it does not touch memory that is unfit, and allocates its own. They
// also assert that the first entry can have its number; see nearest_first().
#ifndef TIDEMARK_LOG_RING_LOG_PAGE_HPP
#define TIDEMARK_LOG_RING_LOG_PAGE_HPP

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

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/log_word.hpp"

namespace tidemark::detail {

// How an entry lies in its slot, word by word, and how the position of a log is packed into one word. The head of
// ring_log.hpp says what lies where, and why.

/// The words of a slot, in their order: the stamp, if the log has stamps and no word of the entry serves as one; with
/// several producers, the word that says which entry of this slot was dropped last; the entry.
/// \tparam StampInside  whether word `StampWord` of the entry serves as the stamp
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

/// Swaps the halves of a position on big-endian machines, so that its index comes first in memory. It is its own
/// inverse.
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

// The memory of a ring log: its header and its slots, inside the object or elsewhere. The head of ring_log.hpp says
// what lies where.

/// 40 bytes in front of the slots, with the same layout where integers of 64 bits are aligned to 4 (i386). The position
/// and the successor change, all else is constant.
template <class Word>
struct log_header {
  Word position;
  std::uint32_t type;
  std::uint32_t version;
  alignas(8) std::uint64_t number_of_entries;
  std::uint64_t first_sequence;
  Word successor;
};

/// With several producers, positions from here on are those of a log that is closed.
inline constexpr std::uint64_t closed_position = std::uint64_t{1} << 63;

/// What the header says of a log beside its size and its numbers.
struct log_kind {
  std::uint32_t type;
  std::uint32_t version;
};

/// Header and words inside the object.
template <class Word, std::size_t Words>
class inner_log_memory {
 public:
  using header_type = log_header<Word>;
  inner_log_memory(std::size_t, std::uint64_t position, log_kind kind, std::uint64_t entries, std::uint64_t first)
      : header_{Word{position}, kind.type, kind.version, entries, first, Word{std::uint64_t{0}}} {}
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

  outer_log_memory(std::size_t words, std::uint64_t position, log_kind kind, std::uint64_t entries, std::uint64_t first)
      : outer_log_memory(nullptr, words, position, kind, entries, first) {}
  /// \param memory  where the log lies; null allocates
  outer_log_memory(void* memory, std::size_t words, std::uint64_t position, log_kind kind, std::uint64_t entries,
                   std::uint64_t first)
      : header_{::new(memory != nullptr ? memory : ::operator new(bytes_for(words), alignment))
                    header_type{Word{position}, kind.type, kind.version, entries, first, Word{std::uint64_t{0}}}},
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

}  // namespace tidemark::detail

namespace tidemark {

/// What proves to a reader that an entry is whole.
enum class log_form {
  stamped,      ///< A stamp in each slot: all N entries are readable, and every loss is counted.
  header_only,  ///< The position alone: nothing is added to an entry, and N - 1 entries are readable. For one producer.
};

/// Names the place of a log in memory that several processes map, so that a reader elsewhere can find the log that
/// follows the one that it reads. What the number means is the program's: an offset, for example, or the number of a
/// mapping.
enum class log_location : std::uint64_t {};

/// No place: the log goes on where it is.
inline constexpr log_location no_log_location{0};
/// A place that readers elsewhere can't know, as that of memory that a queue has allocated for itself.
inline constexpr log_location unknown_log_location{UINT64_MAX};

/// Memory for a log, where readers elsewhere find it, and the word that tells them when the log is there. A directory
/// of logs gives it out (shared_logs.hpp). It converts to true if there is memory.
/// \tparam Word  the platform's atomic word of 64 bits
template <class Word>
struct log_place {
  std::span<std::byte> memory{};
  log_location at = no_log_location;
  Word* made = nullptr;  ///< Null: nobody asks.

  explicit operator bool() const noexcept { return at != no_log_location; }

  /// Says that the log is there. For its producer, after it has made the log and before its first entry. A queue that
  /// is given the place calls it. Progress: wait-free, one store.
  void tell_made() const noexcept {
    // (L26): release, pairs with (L27): the header and the slots. Not stronger: a reader that comes too early looks
    // again.
    if (made != nullptr) made->store(static_cast<std::uint64_t>(at), std::memory_order_release);
  }
};

/// The value of log_stamp_word that says "no word of the entry".
inline constexpr std::size_t no_stamp_word = static_cast<std::size_t>(-1);

/// The index of the 64-bit word of an Entry in which a stamped log keeps its stamp, counted from 0. By default there is
/// none, and the stamp stands before the entry. Specialize it, before the first log of such entries, for an Entry that
/// has a word to spare. What append() is given in that word is ignored, and read() returns the stamp there.
template <class Entry>
inline constexpr std::size_t log_stamp_word = no_stamp_word;

/// Header and slots. With a fixed N they are a part of this object and hold no address, so several processes may map
/// it; with N = std::dynamic_extent they lie elsewhere, with the same layout. Construct it before it is shared. It can
/// be neither copied nor moved.
/// \tparam Entry    trivially copyable
/// \tparam N        how many entries: 2 to most_entries, or std::dynamic_extent
/// \tparam Writers  several: any thread may append at any time; only the stamped form can do that
template <class Entry, std::size_t N, log_form Form, platform Platform, writers Writers = writers::one>
class alignas(cache_line) ring_log_page {
  static constexpr bool has_stamp = Form == log_form::stamped;
  static constexpr bool stamp_inside = has_stamp && log_stamp_word<Entry> != no_stamp_word;

 public:
  using entry_type = Entry;
  using platform_type = Platform;
  using word = typename Platform::template atomic<std::uint64_t>;
  using slot = detail::log_slot<Entry, has_stamp, Writers == writers::several, stamp_inside,
                                stamp_inside ? log_stamp_word<Entry> : 0>;
  static constexpr log_form form = Form;
  static constexpr writers producers = Writers;
  static constexpr bool is_fixed = N != std::dynamic_extent;
  static constexpr std::uint64_t most_entries = (std::uint64_t{1} << 31) - 1;
  /// Stands in the header: the version of the layout, 1; whether there are stamps, and several producers; and how many
  /// words a slot has. A reader elsewhere compares it with its own.
  static constexpr std::uint32_t version = 1u | (has_stamp ? 1u << 8 : 0u) |
                                           (Writers == writers::several ? 1u << 9 : 0u) |
                                           static_cast<std::uint32_t>(slot::size) << 16;
  static_assert(slot::size < 1u << 16, "an entry is too large for a log");
  static_assert(!is_fixed || (N >= 2 && N <= most_entries),
                "a ring log needs at least two entries and fewer than 2^31");
  static_assert(has_stamp || Writers == writers::one, "only stamps tell the entries of several producers apart");

  /// Allocates unless N is fixed, and throws what the allocation throws.
  /// \param entries         the capacity: N where N is fixed, otherwise a number that can_have() accepts (asserted)
  /// \param type            stands in the header for whoever finds the page; without a meaning to the log
  /// \param first_sequence  the number of the first entry, which nearest_first() must accept
  ring_log_page(std::size_t entries, std::uint32_t type, std::uint64_t first_sequence)
      : ring_log_page(checked{nearest_entries(entries), nullptr}, type, nearest_first(first_sequence)) {}
  /// In the caller's memory, which must outlive the page and be aligned to 8 bytes; as many entries as fit. The head of
  /// this file says what happens with unfit memory; then it may throw, too.
  ring_log_page(std::span<std::byte> memory, std::uint32_t type, std::uint64_t first_sequence)
    requires(!is_fixed)
      : ring_log_page(checked_memory(memory), type, nearest_first(first_sequence)) {}

  /// Returns the bytes that the header and `entries` slots take.
  static constexpr std::size_t bytes_for(std::size_t entries) noexcept {
    return sizeof(detail::log_header<word>) + entries * slot::size * sizeof(word);
  }
  /// Returns the number of entries of a log that takes `bytes` bytes: as many as fit, but most_entries at most. A log
  /// needs 2.
  static constexpr std::size_t entries_in(std::size_t bytes) noexcept {
    const std::size_t room = bytes < bytes_for(0) ? 0 : (bytes - bytes_for(0)) / (slot::size * sizeof(word));
    return static_cast<std::size_t>(std::min<std::uint64_t>(room, most_entries));
  }

  /// Asserts that `entries` is a possible number: at least 2, and at most most_entries or, with 32-bit addresses, what
  /// fits. A fixed N does not matter here. Returns whether it is possible.
  static bool can_have(std::size_t entries) noexcept {
    const bool is_possible = entries >= 2 && entries <= most_allocated;
    TIDEMARK_ASSERT(is_possible, "a ring log needs at least two entries and fewer than 2^31");
    return is_possible;
  }
  /// Asserts that a log can lie at this address: it is not null, and aligned to 8 bytes. Returns whether it can.
  static bool can_lie_in(const std::byte* memory) noexcept {
    const bool is_aligned = memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % alignof(word) == 0;
    TIDEMARK_ASSERT(is_aligned, "a ring log needs memory aligned to 8 bytes");
    return is_aligned;
  }
  /// Asserts that a log can have so many entries; with a fixed N, that the number is N. Returns that number, or the
  /// nearest one that a log can have.
  static std::size_t nearest_entries(std::size_t entries) noexcept {
    if constexpr (is_fixed) {
      TIDEMARK_ASSERT(entries == N, "a fixed ring log has N entries");
      return N;
    }
    return can_have(entries) ? entries : std::clamp<std::size_t>(entries, 2, most_allocated);
  }

  /// Asserts that the first entry can have this number: with several producers, one below 2^63. Returns the number, or
  /// without its top bit where that is not so.
  static std::uint64_t nearest_first(std::uint64_t first_sequence) noexcept {
    if constexpr (Writers == writers::one) return first_sequence;
    TIDEMARK_ASSERT(first_sequence < detail::closed_position,
                    "a ring log of several producers begins with a number below 2^63");
    return first_sequence % detail::closed_position;
  }

  std::uint64_t entries() const noexcept {
    if constexpr (is_fixed) return N;
    return memory_.header().number_of_entries;
  }
  std::uint32_t type() const noexcept { return memory_.header().type; }
  std::uint64_t first_sequence() const noexcept { return memory_.header().first_sequence; }

  /// Says that the log has come to its end, and where the next one is. After the last append, by the producer; of
  /// several producers by one, when the others append no more.
  void end_at(log_location next) noexcept {
    // (L22): release, pairs with (L23): all entries of this log, and the header of the next one, come before it.
    memory_.header().successor.store(static_cast<std::uint64_t>(next), std::memory_order_release);
  }

  // What producers and readers work on. An index must be below entries(), which is not checked.
  word& position() noexcept { return memory_.header().position; }
  const word& position() const noexcept { return memory_.header().position; }
  word* slot_at(std::uint64_t index) noexcept { return memory_.words() + index * slot::size; }
  const word* slot_at(std::uint64_t index) const noexcept { return memory_.words() + index * slot::size; }

 private:
  /// `most_entries`, or fewer where an address space has fewer bytes than those take.
  static constexpr std::size_t most_allocated = entries_in(SIZE_MAX);

  /// What a log is made of. `memory` is null where the log lies in its own memory.
  struct checked {
    std::size_t entries;
    std::byte* memory;
  };
  static checked checked_memory(std::span<std::byte> memory) noexcept {
    const std::size_t entries = entries_in(memory.size());
    const bool is_fit = can_have(entries) && can_lie_in(memory.data());
    return is_fit ? checked{entries, memory.data()} : checked{std::max<std::size_t>(entries, 2), nullptr};
  }

  ring_log_page(const checked& from, std::uint32_t type, std::uint64_t first_sequence)
    requires(is_fixed)
      : memory_{from.entries * slot::size, first_position(from.entries, first_sequence),
                detail::log_kind{type, version}, from.entries, first_sequence} {}
  ring_log_page(const checked& from, std::uint32_t type, std::uint64_t first_sequence)
    requires(!is_fixed)
      : memory_{from.memory,
                from.entries * slot::size,
                first_position(from.entries, first_sequence),
                detail::log_kind{type, version},
                from.entries,
                first_sequence} {}

  static constexpr std::uint64_t first_position(std::size_t entries, std::uint64_t first_sequence) noexcept {
    if (Writers == writers::several) return first_sequence;
    return detail::packed_position(first_sequence, entries);
  }

  std::conditional_t<is_fixed, detail::inner_log_memory<word, is_fixed ? N * slot::size : 1>,
                     detail::outer_log_memory<word>>
      memory_;
};

}  // namespace tidemark

#endif  // TIDEMARK_LOG_RING_LOG_PAGE_HPP
