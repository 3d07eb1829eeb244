// SPDX-License-Identifier: BSL-1.0
//
// The memory of a ring log, which its producers and its readers share: a header and the slots. The head of ring_log.hpp
// says what lies where, and why.
//
// A page is needed by itself where a reader has no ring_log: in another process that has mapped the page [A85], or in a
// tool that finds it in memory.
//
// Asserts that a log can have the number of entries or the memory that it is given. Otherwise the log works
// nevertheless: it takes the nearest possible number of entries; and it does not touch memory that is unfit, but
// allocates its own.
#ifndef TIDEMARK_LOG_RING_LOG_PAGE_HPP
#define TIDEMARK_LOG_RING_LOG_PAGE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "../platform/platform.hpp"
#include "detail/log_memory.hpp"
#include "detail/log_slot.hpp"

namespace tidemark {

/// What proves to a reader that an entry is whole.
enum class log_form {
  stamped,      ///< A stamp in each slot: all N entries are readable, and every loss is counted.
  header_only,  ///< The position alone: nothing is added to an entry, and N - 1 entries are readable. For one producer.
};

/// The value of log_stamp_word that says "no word of the entry".
inline constexpr std::size_t no_stamp_word = static_cast<std::size_t>(-1);

/// The index of the 64-bit word of an Entry in which a stamped log keeps its stamp, counted from 0. By default there is
/// none, and the stamp stands before the entry. Specialize it, before the first log of such entries, for an Entry that
/// has a word to spare. What append() is given in that word is ignored, and read() returns the stamp there.
template <class Entry>
inline constexpr std::size_t log_stamp_word = no_stamp_word;

/// Header and slots. With a fixed N they are a part of this object and hold no address, so several processes may map it
/// [A85]; with N = std::dynamic_extent they lie elsewhere, with the same layout. Construct it before it is shared. It
/// can be neither copied nor moved.
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
  static_assert(!is_fixed || (N >= 2 && N <= most_entries),
                "a ring log needs at least two entries and fewer than 2^31");
  static_assert(has_stamp || Writers == writers::one, "only stamps tell the entries of several producers apart");

  /// Allocates unless N is fixed, and throws what the allocation throws.
  /// \param entries         the capacity, a number that can_have() accepts; of a fixed page N (asserted)
  /// \param type            stands in the header for whoever finds the page; without a meaning to the log [A81]
  /// \param first_sequence  the number of the first entry
  ring_log_page(std::size_t entries, std::uint32_t type, std::uint64_t first_sequence)
      : ring_log_page(checked{nearest_entries(entries), nullptr}, type, first_sequence) {}
  /// In the caller's memory, which must outlive the page and be aligned to 8 bytes; as many entries as fit. The head of
  /// this file says what happens with unfit memory; then it may throw, too.
  ring_log_page(std::span<std::byte> memory, std::uint32_t type, std::uint64_t first_sequence)
    requires(!is_fixed)
      : ring_log_page(checked_memory(memory), type, first_sequence) {}

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

  /// Asserts that `entries` is a possible number: 2 to most_entries, or with 32-bit addresses to what fits. A fixed N
  /// does not matter here. Returns whether it is possible.
  static bool can_have(std::size_t entries) noexcept {
    const bool is_possible = entries >= 2 && entries <= most_allocated;
    TIDEMARK_ASSERT(is_possible, "a ring log needs at least two entries and fewer than 2^31");
    return is_possible;
  }
  /// Asserts that a log can lie at this address: it is not null, and aligned to 8 bytes. Returns whether it can, where
  /// the assertion returns.
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

  std::uint64_t entries() const noexcept {
    if constexpr (is_fixed) return N;
    return memory_.header().number_of_entries;
  }
  std::uint32_t type() const noexcept { return memory_.header().type; }
  std::uint64_t first_sequence() const noexcept { return memory_.header().first_sequence; }

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
      : memory_{from.entries * slot::size, first_position(from.entries, first_sequence), type, from.entries,
                first_sequence} {}
  ring_log_page(const checked& from, std::uint32_t type, std::uint64_t first_sequence)
    requires(!is_fixed)
      : memory_{
            from.memory,   from.entries * slot::size, first_position(from.entries, first_sequence), type, from.entries,
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
