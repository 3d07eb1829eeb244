// SPDX-License-Identifier: BSL-1.0
//
// Placement policies: they decide where a splitter puts allocations.
//
//   counting_budget{n}                                        only the sum counts: a cache, file descriptors
//   address_space<fit::first>{{.bytes = n, .alignment = 64}}  a range of addresses, which fragments: memory
//
// A policy P of your own supplies
//
//   p.place(bytes)              reserves a place for `bytes`, which is never 0; returns a place_result
//   p.release(address, bytes)   gives back a place that place() or take() has reserved
//   p.take(address, bytes)      reserves exactly this place again; it was released before and is still free
//   p.bytes() const             returns how many bytes there are in all; optional, spares attempts that can't succeed
//
// "Bytes" are whatever unit the policy counts in. The sum of the address and the bytes of a place is at most 2^64. If a
// policy can be copied, its copies must be independent of each other: splitter::would_fail() plans with a copy. One
// thread at a time; nothing is shared.
#ifndef TIDEMARK_SPLIT_SPLIT_PLACEMENT_HPP
#define TIDEMARK_SPLIT_SPLIT_PLACEMENT_HPP

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/names.hpp"

namespace tidemark {

/// What became of a request for a place.
enum class place_status : std::uint8_t {
  placed,     ///< The place is reserved.
  no_space,   ///< Not now: other allocations hold too much, or lie in the way.
  too_large,  ///< Never: it is larger than the whole range.
};

template <>
inline constexpr auto detail::names_of<place_status> = detail::names("placed", "no_space", "too_large");

/// The result of a placement policy's place().
struct [[nodiscard]] place_result {
  place_status status = place_status::no_space;
  std::uint64_t address = 0;  ///< Where the place begins; 0 unless the status is `placed`.

  explicit operator bool() const noexcept { return status == place_status::placed; }
  bool operator==(const place_result&) const = default;
};

/// A placement policy; the head of this file says what each function must do.
template <class P>
concept split_placement = requires(P placement, std::uint64_t bytes) {
  { placement.place(bytes) } -> std::same_as<place_result>;
} && requires(P placement, std::uint64_t address, std::uint64_t bytes) {
  placement.release(address, bytes);
  placement.take(address, bytes);
};

/// A budget: places have no addresses, and only the sum of their bytes is limited.
class counting_budget {
 public:
  explicit counting_budget(std::uint64_t bytes) noexcept : bytes_{bytes}, free_{bytes} {}

  /// Reserves `bytes` of the budget. Returns `placed`, with the address 0; `no_space` if fewer bytes are free;
  /// `too_large` if the whole budget is smaller.
  place_result place(std::uint64_t bytes) noexcept {
    if (bytes > bytes_) return {place_status::too_large};
    if (bytes > free_) return {place_status::no_space};
    free_ -= bytes;
    return {place_status::placed, 0};
  }
  /// Gives back `bytes` that were reserved before (asserted). The address is not used.
  void release(std::uint64_t, std::uint64_t bytes) noexcept {
    TIDEMARK_ASSERT(bytes <= bytes_ - free_, "more was released than had been placed");
    free_ += (std::min)(bytes, bytes_ - free_);
  }
  /// Reserves `bytes` that are free (asserted). The address is not used.
  void take(std::uint64_t, std::uint64_t bytes) noexcept {
    TIDEMARK_ASSERT(bytes <= free_, "a place was taken again that is not free");
    free_ -= (std::min)(bytes, free_);
  }

  /// Returns the size of the budget.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Returns how many bytes are not reserved.
  std::uint64_t free_bytes() const noexcept { return free_; }

 private:
  std::uint64_t bytes_;
  std::uint64_t free_;
};

/// Which hole an address space chooses, if several are large enough.
enum class fit {
  first,  ///< The one with the lowest address.
  best    ///< The smallest; if several have that size, the one with the lowest address.
};

/// The choices of an address space.
struct address_space_options {
  std::uint64_t bytes = 0;      ///< The size of the range; a remainder below the alignment is not used.
  std::uint64_t alignment = 1;  ///< At least 1 (asserted). Addresses and rounded-up sizes are multiples of it.
};

/// Addresses from 0 on. What is not reserved lies in holes between the places. place() takes O(holes), release() and
/// take() O(log holes). These three, the constructor and a copy may allocate, and may throw std::bad_alloc. Nothing has
/// changed then, with one exception: after a copy assignment that throws, the target may only be destroyed or assigned
/// to.
/// \tparam Fit  which hole place() chooses
template <fit Fit = fit::first>
class address_space {
 public:
  explicit address_space(const address_space_options& options)
      : alignment_{(std::max)(options.alignment, std::uint64_t{1})} {
    TIDEMARK_ASSERT(options.alignment > 0, "an alignment must be at least 1");
    end_ = options.bytes - options.bytes % alignment_;
    if (end_ > 0) holes_.emplace(0, end_);
  }

  /// Reserves a place of `bytes`, at least 1 (asserted), at the beginning of the hole that `Fit` chooses. Returns
  /// `placed` and its address; `no_space` if no hole is large enough; `too_large` if the whole range is smaller.
  place_result place(std::uint64_t bytes) {
    TIDEMARK_ASSERT(bytes > 0, "a place must have at least one byte");
    const std::uint64_t size = rounded((std::max)(bytes, std::uint64_t{1}));
    if (size > end_) return {place_status::too_large};
    const auto hole = find(size);
    if (hole == holes_.end()) return {place_status::no_space};
    const std::uint64_t address = hole->first;
    cut(hole, address, size);
    return {place_status::placed, address};
  }

  /// Gives back a place; adjacent holes join. The place must be one that place() or take() has reserved. An assertion
  /// detects a place that overlaps a hole or goes beyond the range, but no other mistake. Such a place is not given
  /// back.
  void release(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t size = rounded(bytes);
    const auto next = holes_.lower_bound(address);
    if (!was_placed(address, size, next)) return;
    const bool joins_next = next != holes_.end() && next->first == address + size;
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == address) {
        before->second += size;
        if (!joins_next) return;
        before->second += next->second;
        holes_.erase(next);
        return;
      }
    }
    if (joins_next) {  // the hole begins earlier now; nothing is allocated
      auto hole = holes_.extract(next);
      hole.key() = address;
      hole.mapped() += size;
      holes_.insert(std::move(hole));
      return;
    }
    holes_.emplace_hint(next, address, size);
  }

  /// Reserves exactly this place, which must be free (asserted; otherwise nothing changes).
  void take(std::uint64_t address, std::uint64_t bytes) {
    const auto behind = holes_.upper_bound(address);
    const auto hole = behind == holes_.begin() ? holes_.end() : std::prev(behind);
    const bool is_free = hole != holes_.end() && fits(address, rounded(bytes), hole->first + hole->second);
    TIDEMARK_ASSERT(is_free, "a place was taken again that is not free");
    if (is_free) cut(hole, address, rounded(bytes));
  }

  /// Returns the size of the range, in whole units of the alignment.
  std::uint64_t bytes() const noexcept { return end_; }
  /// Returns the sum of all holes. O(holes).
  std::uint64_t free_bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& hole : holes_) sum += hole.second;
    return sum;
  }
  /// Returns the size of the largest hole, 0 if there is none. O(holes).
  std::uint64_t largest_hole() const noexcept {
    std::uint64_t largest = 0;
    for (const auto& hole : holes_) largest = hole.second > largest ? hole.second : largest;
    return largest;
  }

 private:
  using holes = std::map<std::uint64_t, std::uint64_t>;  // address, size

  /// Returns the size rounded up to the alignment; UINT64_MAX, which no hole has, if that overflows.
  std::uint64_t rounded(std::uint64_t bytes) const noexcept {
    const std::uint64_t over = bytes % alignment_;
    if (over == 0) return bytes;
    return bytes - over > UINT64_MAX - alignment_ ? UINT64_MAX : bytes - over + alignment_;
  }

  static bool fits(std::uint64_t address, std::uint64_t size, std::uint64_t end) noexcept {
    return address <= end && size <= end - address;
  }

  /// \param next  the first hole that does not begin before the place
  bool was_placed(std::uint64_t address, std::uint64_t size, holes::iterator next) {
    const bool is_in_hole = next != holes_.begin() && std::prev(next)->first + std::prev(next)->second > address;
    const bool is_one = !is_in_hole && fits(address, size, next == holes_.end() ? end_ : next->first);
    TIDEMARK_ASSERT(is_one, "a place was released that had not been placed");
    return is_one;
  }

  holes::iterator find(std::uint64_t size) {
    auto found = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second < size || (found != holes_.end() && found->second <= hole->second)) continue;
      found = hole;
      if (Fit == fit::first || hole->second == size) break;
    }
    return found;
  }

  /// Takes a piece out of a hole, and leaves what lies before and behind it.
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

#endif  // TIDEMARK_SPLIT_SPLIT_PLACEMENT_HPP
