// SPDX-License-Identifier: BSL-1.0
//
// linked_sort: sorts entries by the links that lie in them, so nothing is allocated.
//
// Many entries are distributed by the digits of their keys, from the lowest digit on. That looks at each entry a few
// times, where a comparison of entries in random order would look at it once for each doubling of their number. A few
// entries, keys that are far apart, and those with equal keys are merged: the ascending runs that there are, in pairs.
#ifndef TIDEMARK_FENCE_DETAIL_LINKED_SORT_HPP
#define TIDEMARK_FENCE_DETAIL_LINKED_SORT_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tidemark::detail {

/// \tparam Traits  `next(Entry&)` returns the link as an Entry*&, `comes_before(const Entry&, const Entry&)` is a
///                 strict order in which no two entries are equal, and `key(const Entry&)` is a number that never falls
///                 in it
template <class Entry, class Traits>
class linked_sort {
 public:
  /// Returns the first entry of the sorted list.
  /// \param first  the first of the entries, the last of which links to null
  /// \param count  of the entries
  static Entry* sorted(Entry* first, std::size_t count) noexcept {
    if (count < most_buckets) return merged_runs(first);
    std::uint64_t least = UINT64_MAX;
    std::uint64_t greatest = 0;
    for (Entry* one = first; one != nullptr; one = Traits::next(*one)) {
      const std::uint64_t key = Traits::key(*one);
      if (key < least) least = key;
      if (key > greatest) greatest = key;
    }
    const auto bits = static_cast<unsigned>(std::bit_width(greatest - least));
    // Merging takes a pass for each bit of their number.
    if (2 * bits <= bits_of_digit * static_cast<unsigned>(std::bit_width(count))) {
      for (unsigned shift = 0; shift < bits; shift += bits_of_digit) first = distributed(first, least, shift);
    }
    return merged_runs(first);
  }

 private:
  static constexpr unsigned bits_of_digit = 8;
  static constexpr std::size_t most_buckets = std::size_t{1} << bits_of_digit;

  /// Sorts by one digit of the keys. Entries with the same digit keep their order.
  static Entry* distributed(Entry* first, std::uint64_t least, unsigned shift) noexcept {
    std::array<Entry*, most_buckets> firsts{};
    std::array<Entry*, most_buckets> lasts;
    for (Entry* one = first; one != nullptr; one = Traits::next(*one)) {
      const std::size_t digit = ((Traits::key(*one) - least) >> shift) % most_buckets;
      (firsts[digit] != nullptr ? Traits::next(*lasts[digit]) : firsts[digit]) = one;
      lasts[digit] = one;
    }
    Entry* result = nullptr;
    for (std::size_t digit = most_buckets; digit-- != 0;) {
      if (firsts[digit] == nullptr) continue;
      Traits::next(*lasts[digit]) = result;
      result = firsts[digit];
    }
    return result;
  }

  /// Merges ascending runs, always two of similar length. One run alone is passed over once.
  static Entry* merged_runs(Entry* first) noexcept {
    std::array<Entry*, 64> pending{};  // at i: what 2^i runs were merged into
    std::size_t used = 0;
    while (first != nullptr) {
      Entry* run = first;
      first = cut_run(*run);
      if (first == nullptr && used == 0) return run;
      std::size_t i = 0;
      for (; pending[i] != nullptr; ++i) run = merged(std::exchange(pending[i], nullptr), run);
      pending[i] = run;
      if (used <= i) used = i + 1;
    }
    Entry* result = nullptr;
    for (std::size_t i = 0; i < used; ++i) result = merged(pending[i], result);
    return result;
  }
  /// Ends the run that begins with an entry, and returns what comes after it.
  static Entry* cut_run(Entry& first) noexcept {
    Entry* last = &first;
    while (Traits::next(*last) != nullptr && Traits::comes_before(*last, *Traits::next(*last)))
      last = Traits::next(*last);
    return std::exchange(Traits::next(*last), nullptr);
  }
  static Entry* merged(Entry* one, Entry* other) noexcept {
    Entry* result = nullptr;
    Entry** end = &result;
    while (one != nullptr && other != nullptr) {
      Entry*& lesser = Traits::comes_before(*one, *other) ? one : other;
      *end = lesser;
      end = &Traits::next(*lesser);
      lesser = *end;
    }
    *end = one != nullptr ? one : other;
    return result;
  }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LINKED_SORT_HPP
