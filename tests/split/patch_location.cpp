// SPDX-License-Identifier: BSL-1.0
//
// Split lists in 24-byte records: their layout, and what validate() refuses.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <tidemark/split/patch_location.hpp>

namespace {

using tidemark::patch_list;
using tidemark::patch_location;
using tidemark::slot_id;
using tidemark::split_defect;
using tidemark::split_fault;
using entry = tidemark::split_entry<int>;

const std::array<int, 3> allocations{0, 70, 80};

constexpr slot_id max_slot{7};
constexpr std::uint64_t end = 100;

/// Returns the fault that validate() finds; absent if it finds none.
std::optional<split_fault> fault_of(const std::vector<patch_location>& records) {
  const auto checked = patch_list<int>{std::span{records}, std::span{allocations}}.validate(max_slot, end);
  CHECK(static_cast<bool>(checked) == !checked.defect.has_value());
  if (!checked.defect) return std::nullopt;
  return checked.defect->fault;
}

}  // namespace

TEST_CASE("[C10] a record has 24 bytes, with each field at the offset that the texts give") {
  static_assert(sizeof(patch_location) == 24 && std::is_trivially_copyable_v<patch_location>);
  CHECK(offsetof(patch_location, allocation_index) == 0);
  CHECK(offsetof(patch_location, slot_word) == 4);
  CHECK(offsetof(patch_location, driver_id) == 8);
  CHECK(offsetof(patch_location, allocation_offset) == 12);
  CHECK(offsetof(patch_location, patch_offset) == 16);
  CHECK(offsetof(patch_location, split_offset) == 20);
  const patch_location one{.slot_word = 0xAB'123456};
  CHECK(one.slot() == slot_id{0x123456});
  CHECK(one.reserved() == 0xAB);
}

TEST_CASE("[C10][C24] records name allocations by index, and an index may name the null handle") {
  const std::vector<patch_location> records{
      {.allocation_index = 2, .slot_word = 3, .split_offset = 0},
      {.allocation_index = 0, .slot_word = 3, .patch_offset = 5, .split_offset = 9}};
  const patch_list<int> patches{std::span{records}, std::span{allocations}};
  CHECK(patches.validate(max_slot, end));
  CHECK(patches.size() == 2);
  CHECK(patches.entries() == std::vector<entry>{{80, slot_id{3}, 0}, {0, slot_id{3}, 9}});
}

TEST_CASE("[C30] validate() refuses reserved bits, and indices behind the last allocation") {
  CHECK(fault_of({{.allocation_index = 2, .slot_word = 7}}) == std::nullopt);
  CHECK(fault_of({{.allocation_index = 3, .slot_word = 7}}) == split_fault::bad_allocation_index);
  for (std::uint32_t bit = 24; bit < 32; ++bit) {
    CHECK(fault_of({{.allocation_index = 2, .slot_word = 7 | std::uint32_t{1} << bit}}) == split_fault::reserved_bits);
  }
}

TEST_CASE("[C11][C16] validate() looks at slots, order and end as check_split_list() does") {
  CHECK(fault_of({{.slot_word = 8}}) == split_fault::bad_slot);
  CHECK(fault_of({{.split_offset = 9}, {.split_offset = 9}, {.split_offset = 8}}) == split_fault::bad_order);
  CHECK(fault_of({{.split_offset = 101}}) == split_fault::bad_offset);
  const std::vector<patch_location> records{{.slot_word = 1}, {.slot_word = 9, .split_offset = 4}};
  const auto checked = patch_list<int>{std::span{records}, std::span{allocations}}.validate(max_slot, end);
  CHECK(checked.status == tidemark::split_check_status::invalid);
  CHECK(checked.defect == split_defect{split_fault::bad_slot, 1, slot_id{9}, 4});
}

TEST_CASE("[C30] records may have any alignment, and validate() refuses a record that is cut off") {
  const patch_location record{.allocation_index = 1, .slot_word = 2, .split_offset = 3};
  std::array<std::byte, 1 + 2 * sizeof record> bytes{};
  std::memcpy(bytes.data() + 1, &record, sizeof record);
  std::memcpy(bytes.data() + 1 + sizeof record, &record, sizeof record);
  const std::span all{bytes};
  const patch_list<int> whole{all.subspan(1), std::span{allocations}};
  CHECK(whole.validate(max_slot, end));
  CHECK(whole[1] == entry{70, slot_id{2}, 3});
  const patch_list<int> cut{all.subspan(1, sizeof record + 23), std::span{allocations}};
  CHECK(cut.size() == 1);
  CHECK(cut.validate(max_slot, end).defect == split_defect{split_fault::bad_length, 1, {}, 0});
}
