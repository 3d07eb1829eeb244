// SPDX-License-Identifier: BSL-1.0
//
// Paging: what must be done before a part of a work item may run, as a splitter plans it, and statistics of what it has
// planned. Plain data; nothing is shared.
#ifndef TIDEMARK_SPLIT_PAGING_HPP
#define TIDEMARK_SPLIT_PAGING_HPP

#include <algorithm>
#include <cstdint>
#include <span>

namespace tidemark {

/// What a paging operation does with an allocation.
enum class paging_kind : std::uint8_t {
  evict,    ///< Save what the commands changed, and give up the place at `from`.
  move,     ///< Copy the contents from `from` to `to`. The two places may overlap each other, but no other allocation.
  page_in,  ///< Bring the contents to the place at `to`.
};

/// One operation. Operations must be carried out in the order in which they are listed. In another order, an operation
/// might write to a place that still holds another allocation. If allocations have to move in a circle, one or more of
/// those that have to move are evicted, and paged in again after the moves.
template <class Allocation>
struct paging_operation {
  paging_kind kind = paging_kind::page_in;
  Allocation allocation{};
  std::uint64_t bytes = 0;  ///< The size of the allocation, in the units of the placement policy.
  std::uint64_t from = 0;   ///< An address, for `evict` and `move`; otherwise 0.
  std::uint64_t to = 0;     ///< An address, for `move` and `page_in`; otherwise 0.

  bool operator==(const paging_operation&) const = default;
};

/// What a splitter has planned since it was constructed. Each part but the first one of a work item begins at a cut.
/// Bytes are in the units of the placement policy.
struct split_statistics {
  std::uint64_t parts = 0;
  std::uint64_t cuts = 0;
  std::uint64_t bytes_paged_in = 0;
  std::uint64_t bytes_evicted = 0;
  std::uint64_t bytes_moved = 0;
  std::uint64_t bytes_kept = 0;        ///< Bound bytes that kept their place at a cut; the sum over all cuts.
  std::uint64_t bytes_fixed = 0;       ///< The share that had to stay: slots outside the group hold it (splitter.hpp).
  std::uint64_t most_bytes_fixed = 0;  ///< The greatest number of bytes that had to stay in place at one cut.

  /// Counts one cut.
  /// \param fixed  bytes that had to stay in place
  /// \param kept   bytes that stayed in place, those of `fixed` included
  void count_cut(std::uint64_t fixed, std::uint64_t kept) noexcept {
    ++cuts;
    bytes_kept += kept;
    bytes_fixed += fixed;
    most_bytes_fixed = (std::max)(most_bytes_fixed, fixed);
  }

  /// Counts the bytes of each operation, by its kind.
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

#endif  // TIDEMARK_SPLIT_PAGING_HPP
