// SPDX-License-Identifier: BSL-1.0
//
// mapped_pages: how many pages of a window are mapped, and hints which ones. A map that looks for free pages passes
// over all pages that have a hint, 64 at a time or more.
//
//   level 1   [ 0 1 . . ]                  a bit for each word below: all bits of that word are set
//               |  \_______
//   level 0   [ 1 0 1 1 ] [ 1 1 1 1 ]      a bit for each page: the page is mapped
//
// Here a word has four bits. The words of level 0 come first, then those of level 1, and so on up to a single word.
//
// Who writes: the count, any thread that maps or gives back; a hint, a thread that has passed a page that is mapped,
// and a thread that gives the page back. Maps leave hints only where they have passed pages: a map that finds free
// pages at once only reads them.
//
// A hint that is missing is harmless: it costs a look at the page's word, which the caller keeps. A hint that is wrong
// hides a page that was given back. Only a call of note() or give_back() that is under way can have left it, and one of
// these calls takes it back before it returns. For the caller's word of a page and the hint of the page:
//
//      give_back   the word says that the page is free     note   the hint is set             (J18)
//                  the pages are counted   (J6)                   nothing is counted          (J17)
//                  the hint is looked at   (J19)                   the word is looked at, by the caller
//
// (J6) and (J17) are read-modify-writes of one word. So one of them comes first, and what its thread wrote before is
// seen by the other thread. For a word and the bit above it:
//
//      clear       a bit of the word is cleared   (J16)     set    the bit above is set        (J13)
//                  the bit above is looked at     (J15)            the word is looked at       (J14)
//
// All four are sequentially consistent: so at least one of the two threads sees what the other one did.
//
// Not promised: that no hint is wrong while such calls are under way. A thread that does not find what it counted on
// must look at all pages.
#ifndef TIDEMARK_MEMORY_DETAIL_MAPPED_PAGES_HPP
#define TIDEMARK_MEMORY_DETAIL_MAPPED_PAGES_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform>
class mapped_pages {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;

  static constexpr std::size_t bits_in_word = [] {
    if constexpr (requires { Platform::hints_in_word; }) {
      return Platform::hints_in_word;
    } else {
      return std::size_t{64};
    }
  }();
  static_assert(std::has_single_bit(bits_in_word) && bits_in_word >= 2 && bits_in_word <= 64);

  /// Returns how many words a window of `pages` pages needs.
  static constexpr std::size_t words_for(std::size_t pages) noexcept {
    std::size_t sum = 0;
    for (std::size_t words = words_above(pages);; words = words_above(words)) {
      sum += words;
      if (words <= 1) return sum;
    }
  }
  static constexpr std::uint64_t bit_of(std::size_t index) noexcept { return std::uint64_t{1} << index % bits_in_word; }

  /// No page is mapped.
  /// \param words  words_for(pages) of them
  mapped_pages(std::size_t pages, std::unique_ptr<word[]> words) noexcept : words_{std::move(words)} {
    std::size_t first = 0;
    for (std::size_t size = words_above(pages);; size = words_above(size)) {
      levels_[height_++] = {first, size};
      if (size <= 1) return;
      first += size;
    }
  }

  // ---- the count ---------------------------------------------------------------------------------------------------

  /// Returns how many pages are mapped, or counted by maps under way.
  std::size_t count() const noexcept {
    // (J4): relaxed alone, for looking.
    return count_.load(std::memory_order_relaxed);
  }
  /// Counts `pages` pages as mapped. Returns false, and counts nothing, where more than `most` would be mapped.
  bool add(std::size_t pages, std::size_t most) noexcept {
    std::size_t seen = count();
    do {
      if (pages > most - seen) return false;
      // (J5): acquire, pairs with (J6): pages that are counted as unmapped are found to be so. Not stronger: a count
      // hands nothing over.
    } while (!count_.compare_exchange_weak(seen, seen + pages, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }
  /// Takes back the count of pages that were counted but not taken.
  void remove(std::size_t pages) noexcept {
    // (J7): relaxed alone: other threads gave back the pages that may be counted on now, and their (J6) reaches (J5)
    // through this operation.
    count_.fetch_sub(pages, std::memory_order_relaxed);
  }

  // ---- the hints ---------------------------------------------------------------------------------------------------

  /// Returns the first page from `from` on that has no hint; or a number that no page has.
  std::size_t next_without_hint(std::size_t from) const noexcept {
    if (!is_there(0, from)) return SIZE_MAX;
    const std::uint64_t missing = missing_at(0, from);
    return missing != 0 ? in_word(from, missing) : next_behind(from / bits_in_word + 1);
  }

  /// Leaves hints for pages that the caller has found mapped.
  /// \param index      of the word in which they have their bits
  /// \param is_mapped  is called with each page: whether it still is mapped
  template <class IsMapped>
  [[gnu::noinline]] void note(std::size_t index, std::uint64_t pages, const IsMapped& is_mapped) noexcept {
    word& hints = at_level(0, index);
    // (J18): relaxed, (J17) is behind it.
    const std::uint64_t before = hints.fetch_or(pages, std::memory_order_relaxed);
    if (before != all && (before | pages) == all) set_above(0, index);
    // (J17): acquire, pairs with (J6): the words of pages that were counted before this. Release, pairs with (J6): the
    // hints for threads that count later. Not stronger: the head says why these two suffice.
    count_.fetch_add(0, std::memory_order_acq_rel);
    std::uint64_t free = 0;
    for (std::uint64_t left = pages; left != 0; left &= left - 1) {
      const std::uint64_t bit = left & (~left + 1);
      if (!is_mapped(index * bits_in_word + static_cast<std::size_t>(std::countr_zero(bit)))) free |= bit;
    }
    if (free != 0) clear(index, free);
  }

  /// Counts pages as unmapped. Their words say already that they are free, or when they will be.
  /// \param index  of the word in which they have their bits
  /// \param pages  their bits, and `number` says how many they are
  void give_back(std::size_t index, std::uint64_t pages, std::size_t number) noexcept {
    clear(index, pages);
    // (J6): release, pairs with (J5) and (J17): the words of these pages, and that they have no hints. Acquire, pairs
    // with (J17): hints that were left meanwhile.
    count_.fetch_sub(number, std::memory_order_acq_rel);
    clear(index, pages);
  }

 private:
  struct level_words {
    std::size_t first = 0;
    std::size_t size = 0;
  };

  static constexpr std::uint64_t all = UINT64_MAX >> (64 - bits_in_word);
  static constexpr std::size_t digits = std::numeric_limits<std::size_t>::digits;
  static constexpr std::size_t most_levels = digits / (std::bit_width(bits_in_word) - 1) + 1;

  static constexpr std::size_t words_above(std::size_t bits) noexcept {
    return bits / bits_in_word + (bits % bits_in_word != 0 ? 1 : 0);
  }
  std::size_t first_of(std::size_t level) const noexcept { return level == 0 ? 0 : levels_[level].first; }
  word& at_level(std::size_t level, std::size_t index) const noexcept { return words_[first_of(level) + index]; }

  bool is_there(std::size_t level, std::size_t at) const noexcept { return at / bits_in_word < levels_[level].size; }
  /// Returns the bits that are not set in the word that has the bit `at`, from that one on. Behind the last page they
  /// are not set either.
  std::uint64_t missing_at(std::size_t level, std::size_t at) const noexcept {
    // (J8): relaxed alone: a hint. What was given back before the caller counted it is seen, (J5) has brought that.
    const std::uint64_t hints = at_level(level, at / bits_in_word).load(std::memory_order_relaxed);
    return ~hints & all & (all << at % bits_in_word);
  }
  /// Returns the first of some bits in the word that has the bit `at`.
  static std::size_t in_word(std::size_t at, std::uint64_t bits) noexcept {
    return at / bits_in_word * bits_in_word + static_cast<std::size_t>(std::countr_zero(bits));
  }

  /// Returns the first page without a hint that has its bit in the word `index` or behind it.
  [[gnu::noinline]] std::size_t next_behind(std::size_t index) const noexcept {
    std::size_t level = 1;
    std::size_t at = index;
    while (level < height_ && is_there(level, at)) {
      const std::uint64_t missing = missing_at(level, at);
      if (missing == 0) {
        ++level;
        at = at / bits_in_word + 1;
        continue;
      }
      at = in_word(at, missing);
      if (level == 0) return at;
      --level;
      at *= bits_in_word;
    }
    return SIZE_MAX;
  }

  /// Sets the bit above a word of which all bits are set.
  void set_above(std::size_t level, std::size_t index) noexcept {
    if (level + 1 == height_) return;
    const std::uint64_t bit = bit_of(index);
    // (J13): seq_cst, before (J14), against (J16) and (J15).
    const std::uint64_t before = at_level(level + 1, index / bits_in_word).fetch_or(bit, std::memory_order_seq_cst);
    if (before != all && (before | bit) == all) set_above(level + 1, index / bits_in_word);
    // (J14): seq_cst, after (J13), against (J16) and (J15).
    if (at_level(level, index).load(std::memory_order_seq_cst) != all) clear_above(level, index);
  }

  /// Takes back the hints of some pages, and then what stands above.
  void clear(std::size_t index, std::uint64_t pages) noexcept {
    word& hints = at_level(0, index);
    // (J19): relaxed: the first look is a guess, and before the second one (J6) has brought what counts.
    if ((hints.load(std::memory_order_relaxed) & pages) == 0) [[likely]]
      return;
    clear_found(index, pages);
  }
  /// Apart, so that a retire that finds no hints stays short.
  [[gnu::noinline]] void clear_found(std::size_t index, std::uint64_t pages) noexcept {
    clear_bits(at_level(0, index), pages);
    clear_above(0, index);
  }
  /// Clears the bit above a word of which a bit was cleared, and then what stands above that one.
  void clear_above(std::size_t level, std::size_t index) noexcept {
    while (++level < height_) {
      const std::uint64_t bit = bit_of(index);
      index /= bits_in_word;
      word& above = at_level(level, index);
      // (J15): seq_cst, after (J16), against (J13) and (J14).
      if ((above.load(std::memory_order_seq_cst) & bit) == 0) return;
      clear_bits(above, bit);
    }
  }
  static void clear_bits(word& of, std::uint64_t bits) noexcept {
    // (J16): seq_cst, before (J15), against (J13) and (J14).
    of.fetch_and(~bits, std::memory_order_seq_cst);
  }

  const std::unique_ptr<word[]> words_;
  std::size_t height_ = 0;
  std::array<level_words, most_levels> levels_{};
  alignas(cache_line) typename Platform::template atomic<std::size_t> count_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_MAPPED_PAGES_HPP
