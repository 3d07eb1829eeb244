// SPDX-License-Identifier: BSL-1.0
//
// What a splitter says is to be done before a part of a work item, and how it adds up.
#ifndef TIDEMARK_DETAIL_SPLIT_PAGING_HPP
#define TIDEMARK_DETAIL_SPLIT_PAGING_HPP

#include <algorithm>
#include <cstdint>
#include <span>

namespace tidemark {

enum class paging_kind : std::uint8_t {
  evict,    ///< What the commands changed is saved, and the place given up.
  move,     ///< From one address to another; the two may overlap each other, but nothing else.
  page_in,  ///< The contents are brought to the place.
};

/// To be carried out in order, so that no address is used twice.
template <class Allocation>
struct paging_operation {
  paging_kind kind = paging_kind::page_in;
  Allocation allocation{};
  std::uint64_t bytes = 0;
  std::uint64_t from = 0;  ///< Address, of evict and move.
  std::uint64_t to = 0;    ///< Address, of move and page_in.

  bool operator==(const paging_operation&) const = default;
};

/// Since the splitter was made.
struct split_statistics {
  std::uint64_t parts = 0;
  std::uint64_t cuts = 0;
  std::uint64_t bytes_paged_in = 0;
  std::uint64_t bytes_evicted = 0;
  std::uint64_t bytes_moved = 0;
  std::uint64_t bytes_kept = 0;         ///< Bound after a cut, and left where they were; summed over the cuts.
  std::uint64_t bytes_pinned = 0;       ///< Of these, those that had to be; summed over the cuts (C25).
  std::uint64_t most_bytes_pinned = 0;  ///< At one cut.

  void count_cut(std::uint64_t pinned, std::uint64_t kept) noexcept {
    ++cuts;
    bytes_kept += kept;
    bytes_pinned += pinned;
    most_bytes_pinned = std::max(most_bytes_pinned, pinned);
  }

  template <class Allocation>
  void count_paging(std::span<const paging_operation<Allocation>> paging) noexcept {
    for (const paging_operation<Allocation>& one : paging) {
      std::uint64_t& sum = one.kind == paging_kind::evict  ? bytes_evicted
                           : one.kind == paging_kind::move ? bytes_moved
                                                           : bytes_paged_in;
      sum += one.bytes;
    }
  }
};

}  // namespace tidemark

#endif  // TIDEMARK_DETAIL_SPLIT_PAGING_HPP
