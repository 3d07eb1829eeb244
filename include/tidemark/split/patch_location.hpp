// SPDX-License-Identifier: BSL-1.0
//
// A split list in the 24-byte records of the texts, as a driver writes it or as it comes from elsewhere.
//
//   byte   0  u32  allocation_index    index into the list of allocations; a null handle there unbinds the slot
//          4  u32  slot_word           the slot in the lower 24 bits; the upper 8 are reserved and must be 0
//          8  u32  driver_id           not used here, like the next two
//         12  u32  allocation_offset
//         16  u32  patch_offset
//         20  u32  split_offset
//
// The records are in the byte order of the machine. A patch_list is a view: the records and the allocations belong to
// the caller, must outlive the view, and must not be written while another thread reads them. Nothing is copied
// except by entries().
#ifndef TIDEMARK_SPLIT_PATCH_LOCATION_HPP
#define TIDEMARK_SPLIT_PATCH_LOCATION_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "../platform/assert.hpp"
#include "split_list.hpp"

namespace tidemark {

/// One record.
struct patch_location {
  std::uint32_t allocation_index = 0;
  std::uint32_t slot_word = 0;  ///< The slot and the reserved bits (the texts: SlotId and Reserved).
  std::uint32_t driver_id = 0;
  std::uint32_t allocation_offset = 0;
  std::uint32_t patch_offset = 0;
  std::uint32_t split_offset = 0;

  /// Returns the slot, without the reserved bits.
  constexpr slot_id slot() const noexcept { return slot_id{slot_word & static_cast<std::uint32_t>(largest_slot)}; }
  /// Returns the 8 reserved bits as a number from 0 to 255.
  constexpr std::uint32_t reserved() const noexcept { return slot_word >> 24; }
};
static_assert(sizeof(patch_location) == 24);

/// A view of records, at any alignment, and of the allocations that they name by index. Any number of threads may use
/// it at the same time.
template <split_allocation Allocation>
class patch_list {
 public:
  using entry = split_entry<Allocation>;

  patch_list(std::span<const std::byte> records, std::span<const Allocation> allocations) noexcept
      : records_{records}, allocations_{allocations} {}
  patch_list(std::span<const patch_location> records, std::span<const Allocation> allocations) noexcept
      : patch_list{std::as_bytes(records), allocations} {}

  /// Returns the number of whole records. validate() complains about bytes that are left over.
  std::size_t size() const noexcept { return records_.size() / sizeof(patch_location); }

  /// Returns a record. Asserts that there is one. Otherwise all of it is 0.
  patch_location record(std::size_t index) const noexcept {
    TIDEMARK_ASSERT(index < size(), "there is no such record");
    patch_location found{};
    if (index >= size()) return found;
    std::memcpy(&found, records_.data() + index * sizeof found, sizeof found);
    return found;
  }

  /// Returns whether the list can be used, and otherwise the first record that is wrong. For each record it looks at
  /// the reserved bits (`reserved_bits`), at the allocation's index (`bad_allocation_index`), and at everything that
  /// check_split_list() looks at, in this order. If all records are valid, it looks at bytes that are left over
  /// (`bad_length`). Then the index in the defect is size(), and the slot and the offset are 0. O(records); allocates
  /// nothing.
  split_check_result validate(slot_id max_slot, std::uint64_t end) const noexcept {
    std::uint64_t before = 0;
    for (std::size_t index = 0; index < size(); ++index) {
      const patch_location found = record(index);
      if (const std::optional<split_fault> fault = fault_of(found, before, max_slot, end)) {
        return {split_check_status::invalid, split_defect{*fault, index, found.slot(), found.split_offset}};
      }
      before = found.split_offset;
    }
    if (records_.size() % sizeof(patch_location) == 0) return {};
    return {split_check_status::invalid, split_defect{split_fault::bad_length, size(), {}, 0}};
  }

  /// Returns a record as an entry. Precondition: there is such a record, and validate() finds it valid. Asserts that
  /// the record exists, and that its allocation index is in range. Otherwise the entry binds the null handle.
  entry operator[](std::size_t index) const noexcept {
    const patch_location found = record(index);
    const bool is_there = index < size() && found.allocation_index < allocations_.size();
    TIDEMARK_ASSERT(is_there, "validate() would refuse this record");
    if (!is_there) return {Allocation{}, found.slot(), found.split_offset};
    return {allocations_[found.allocation_index], found.slot(), found.split_offset};
  }

  /// Returns all whole records as entries. Precondition as for operator[]. Throws std::bad_alloc.
  [[nodiscard]] std::vector<entry> entries() const {
    std::vector<entry> all;
    all.reserve(size());
    for (std::size_t index = 0; index < size(); ++index) all.push_back((*this)[index]);
    return all;
  }

 private:
  std::optional<split_fault> fault_of(const patch_location& found, std::uint64_t before, slot_id max_slot,
                                      std::uint64_t end) const noexcept {
    if (found.reserved() != 0) return split_fault::reserved_bits;
    if (found.allocation_index >= allocations_.size()) return split_fault::bad_allocation_index;
    return detail::entry_fault(found.slot(), found.split_offset, before, max_slot, end);
  }

  std::span<const std::byte> records_;
  std::span<const Allocation> allocations_;
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_PATCH_LOCATION_HPP
