// SPDX-License-Identifier: BSL-1.0
//
// A split list in the 24-byte records of the texts (C10), as a driver writes it or as it comes from elsewhere.
//
//   byte   0  u32  allocation_index    into the list of allocations; what stands there may be none: the slot is unbound
//          4  u32  slot                24 bits, the upper 8 are reserved and 0 (C30)
//          8  u32  driver_id           not looked at, like the next two
//         12  u32  allocation_offset
//         16  u32  patch_offset
//         20  u32  split_offset
//
// In the byte order of the machine. A view: the records and the allocations belong to the caller, who writes them before
// others look; nothing is shared here, and nothing is copied until asked for.
#ifndef TIDEMARK_PATCH_LOCATION_HPP
#define TIDEMARK_PATCH_LOCATION_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "detail/assert.hpp"
#include "split_list.hpp"

namespace tidemark {

struct patch_location {
  std::uint32_t allocation_index = 0;
  std::uint32_t slot = 0;  ///< Slot and reserved bits.
  std::uint32_t driver_id = 0;
  std::uint32_t allocation_offset = 0;
  std::uint32_t patch_offset = 0;
  std::uint32_t split_offset = 0;

  constexpr std::uint32_t slot_id() const noexcept { return slot & largest_slot; }
  constexpr std::uint32_t reserved() const noexcept { return slot >> 24; }
};
static_assert(sizeof(patch_location) == 24);

/// Records of any alignment, and the allocations that they name by index.
template <split_allocation Allocation>
class patch_list {
 public:
  using entry = split_entry<Allocation>;

  patch_list(std::span<const std::byte> records, std::span<const Allocation> allocations) noexcept
      : records_{records}, allocations_{allocations} {}
  patch_list(std::span<const patch_location> records, std::span<const Allocation> allocations) noexcept
      : patch_list{std::as_bytes(records), allocations} {}

  /// Whole records; what follows them is an error of check().
  std::size_t size() const noexcept { return records_.size() / sizeof(patch_location); }

  patch_location record(std::size_t index) const noexcept {
    TIDEMARK_ASSERT(index < size(), "there is no such record");
    patch_location found;
    std::memcpy(&found, records_.data() + index * sizeof found, sizeof found);
    return found;
  }

  /// The first record that is wrong, if one is: reserved bits, indices, and what check_split_list() says.
  ///
  /// O(records), no allocation.
  split_list_error check(std::uint32_t max_slot, std::uint64_t end) const noexcept {
    std::uint64_t before = 0;
    for (std::size_t index = 0; index < size(); ++index) {
      const patch_location found = record(index);
      const auto error = [&](split_fault fault) {
        return split_list_error{fault, index, found.slot_id(), found.split_offset};
      };
      if (found.reserved() != 0) return error(split_fault::reserved_bits);
      if (found.allocation_index >= allocations_.size()) return error(split_fault::bad_allocation_index);
      const split_fault fault = detail::entry_fault(found.slot_id(), found.split_offset, before, max_slot, end);
      if (fault != split_fault::none) return error(fault);
      before = found.split_offset;
    }
    if (records_.size() % sizeof(patch_location) != 0) return {split_fault::bad_length, size(), 0, 0};
    return {};
  }

  /// What a record says. It has passed check().
  entry operator[](std::size_t index) const noexcept {
    const patch_location found = record(index);
    TIDEMARK_ASSERT(found.allocation_index < allocations_.size(), "check() has not been asked");
    return {allocations_[found.allocation_index], found.slot_id(), found.split_offset};
  }

  /// All of them. The list has passed check().
  [[nodiscard]] std::vector<entry> entries() const {
    std::vector<entry> all;
    all.reserve(size());
    for (std::size_t index = 0; index < size(); ++index) all.push_back((*this)[index]);
    return all;
  }

 private:
  std::span<const std::byte> records_;
  std::span<const Allocation> allocations_;
};

}  // namespace tidemark

#endif  // TIDEMARK_PATCH_LOCATION_HPP
