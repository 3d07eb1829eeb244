// SPDX-License-Identifier: BSL-1.0
//
// Where a splitter puts allocations: the policies that are injected into it.
//
//   counting_budget{bytes}                  only the sum counts: a cache, pinned pages, file descriptors
//   address_space<fit::first>{bytes, 64}    addresses in one range, which fragments: memory, a DMA window
//
// A policy P of your own supplies
//
//   p.place(bytes)              an address, or nothing where the bytes, at least one, don't fit now
//   p.release(address, bytes)   gives back what was placed there
//   p.take(address, bytes)      places it exactly there again; called only for what was released since, and is still free
//   p.bytes()                   what there is in all; not needed, but spares attempts that can't succeed
//
// Bytes are whatever the policy counts in; what is placed ends at 2^64 at most. Copies of a policy, if it can be copied, are
// independent of each other: splitter::would_fail() plans with one. For one thread at a time; nothing here is shared.
#ifndef TIDEMARK_SPLIT_PLACEMENT_HPP
#define TIDEMARK_SPLIT_PLACEMENT_HPP

#include <concepts>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "detail/assert.hpp"

namespace tidemark {

template <class P>
concept split_placement = requires(P placement, std::uint64_t address, std::uint64_t bytes) {
  { placement.place(bytes) } -> std::same_as<std::optional<std::uint64_t>>;
  placement.release(address, bytes);
  placement.take(address, bytes);
};

/// No addresses, only a sum that is not exceeded.
class counting_budget {
 public:
  explicit counting_budget(std::uint64_t bytes) noexcept : bytes_{bytes}, free_{bytes} {}

  std::optional<std::uint64_t> place(std::uint64_t bytes) noexcept {
    if (bytes > free_) return {};
    free_ -= bytes;
    return 0;
  }
  void release(std::uint64_t, std::uint64_t bytes) noexcept {
    TIDEMARK_ASSERT(bytes <= bytes_ - free_, "what is released was placed before");
    free_ += bytes;
  }
  void take(std::uint64_t, std::uint64_t bytes) noexcept {
    TIDEMARK_ASSERT(bytes <= free_, "what is taken again was released before");
    free_ -= bytes;
  }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t free_bytes() const noexcept { return free_; }

 private:
  std::uint64_t bytes_;
  std::uint64_t free_;
};

/// Which hole of several.
enum class fit {
  first,  ///< The one with the lowest address.
  best    ///< The smallest that is large enough; of equal ones the first.
};

/// Addresses from 0 on, in holes between what was placed. O(holes) for place(), O(log holes) for the rest; allocates.
template <fit Fit = fit::first>
class address_space {
 public:
  /// \param bytes      of the range
  /// \param alignment  of every address, and every size is rounded up to it
  explicit address_space(std::uint64_t bytes, std::uint64_t alignment = 1) : alignment_{alignment} {
    TIDEMARK_ASSERT(alignment > 0, "an alignment is at least 1");
    end_ = bytes - bytes % alignment;
    if (end_ > 0) holes_.emplace(0, end_);
  }

  std::optional<std::uint64_t> place(std::uint64_t bytes) {
    TIDEMARK_ASSERT(bytes > 0, "what is placed has a size");
    const auto hole = find(bytes);
    if (hole == holes_.end()) return {};
    const std::uint64_t address = hole->first;
    cut(hole, address, rounded(bytes));
    return address;
  }

  void release(std::uint64_t address, std::uint64_t bytes) {
    std::uint64_t size = rounded(bytes);
    auto next = holes_.lower_bound(address);
    TIDEMARK_ASSERT(fits(address, size, next == holes_.end() ? end_ : next->first),
                    "what is released was placed before");
    if (next != holes_.end() && next->first == address + size) {
      size += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      TIDEMARK_ASSERT(before->first + before->second <= address, "what is released was placed before");
      if (before->first + before->second == address) {
        before->second += size;
        return;
      }
    }
    holes_.emplace_hint(next, address, size);
  }

  void take(std::uint64_t address, std::uint64_t bytes) {
    const auto behind = holes_.upper_bound(address);
    TIDEMARK_ASSERT(behind != holes_.begin(), "what is taken again was released before");
    const auto hole = std::prev(behind);
    TIDEMARK_ASSERT(fits(address, rounded(bytes), hole->first + hole->second),
                    "what is taken again was released before");
    cut(hole, address, rounded(bytes));
  }

  /// Whole units of the alignment.
  std::uint64_t bytes() const noexcept { return end_; }
  std::uint64_t free_bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& hole : holes_) sum += hole.second;
    return sum;
  }
  std::uint64_t largest_hole() const noexcept {
    std::uint64_t largest = 0;
    for (const auto& hole : holes_) largest = hole.second > largest ? hole.second : largest;
    return largest;
  }

 private:
  using holes = std::map<std::uint64_t, std::uint64_t>;  // address, size

  /// A size that can't be rounded up is too large for any hole.
  std::uint64_t rounded(std::uint64_t bytes) const noexcept {
    const std::uint64_t over = bytes % alignment_;
    if (over == 0) return bytes;
    return bytes - over > UINT64_MAX - alignment_ ? UINT64_MAX : bytes - over + alignment_;
  }

  static bool fits(std::uint64_t address, std::uint64_t size, std::uint64_t end) noexcept {
    return address <= end && size <= end - address;
  }

  holes::iterator find(std::uint64_t bytes) {
    const std::uint64_t size = rounded(bytes);
    auto found = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second < size || (found != holes_.end() && found->second <= hole->second)) continue;
      found = hole;
      if (Fit == fit::first || hole->second == size) break;
    }
    return found;
  }

  /// Takes a piece out of a hole.
  void cut(holes::iterator hole, std::uint64_t address, std::uint64_t size) {
    const std::uint64_t begin = hole->first;
    const std::uint64_t end = begin + hole->second;
    if (address + size < end) holes_.emplace_hint(std::next(hole), address + size, end - address - size);
    if (address == begin) {
      holes_.erase(hole);
    } else {
      hole->second = address - begin;
    }
  }

  std::uint64_t alignment_;
  std::uint64_t end_ = 0;
  holes holes_;
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_PLACEMENT_HPP
