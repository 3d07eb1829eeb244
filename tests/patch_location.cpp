// SPDX-License-Identifier: BSL-1.0
//
// Split lists in 24-byte records: the layout, and what check() refuses.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include <tidemark/patch_location.hpp>

namespace {

using tidemark::patch_list;
using tidemark::patch_location;
using tidemark::split_fault;
using entry = tidemark::split_entry<int>;

const std::array<int, 3> allocations{0, 70, 80};

split_fault fault_of(const std::vector<patch_location>& records, std::uint32_t max_slot = 7, std::uint64_t end = 100) {
  return patch_list<int>{std::span{records}, std::span{allocations}}.check(max_slot, end).fault;
}

}  // namespace

TEST_CASE("[C10] a record has 24 bytes, each field where the texts have it") {
  static_assert(sizeof(patch_location) == 24 && std::is_trivially_copyable_v<patch_location>);
  CHECK(offsetof(patch_location, allocation_index) == 0);
  CHECK(offsetof(patch_location, slot) == 4);
  CHECK(offsetof(patch_location, driver_id) == 8);
  CHECK(offsetof(patch_location, allocation_offset) == 12);
  CHECK(offsetof(patch_location, patch_offset) == 16);
  CHECK(offsetof(patch_location, split_offset) == 20);
  const patch_location one{.slot = 0xAB'123456};
  CHECK(one.slot_id() == 0x123456);
  CHECK(one.reserved() == 0xAB);
}

TEST_CASE("[C10][C24] records name allocations by index, one of which may be none") {
  const std::vector<patch_location> records{{.allocation_index = 2, .slot = 3, .split_offset = 0},
                                            {.allocation_index = 0, .slot = 3, .patch_offset = 5, .split_offset = 9}};
  const patch_list<int> patches{std::span{records}, std::span{allocations}};
  CHECK_FALSE(patches.check(7, 100));
  CHECK(patches.size() == 2);
  CHECK(patches.entries() == std::vector<entry>{{80, 3, 0}, {0, 3, 9}});
}

TEST_CASE("[C30] reserved bits and indices behind the last allocation are refused") {
  CHECK(fault_of({{.allocation_index = 2, .slot = 7}}) == split_fault::none);
  CHECK(fault_of({{.allocation_index = 3, .slot = 7}}) == split_fault::bad_allocation_index);
  for (std::uint32_t bit = 24; bit < 32; ++bit) {
    CHECK(fault_of({{.allocation_index = 2, .slot = 7 | std::uint32_t{1} << bit}}) == split_fault::reserved_bits);
  }
}

TEST_CASE("[C11][C16] slots, order and end are checked as in a split list") {
  CHECK(fault_of({{.slot = 8}}) == split_fault::bad_slot);
  CHECK(fault_of({{.split_offset = 9}, {.split_offset = 9}, {.split_offset = 8}}) == split_fault::bad_order);
  CHECK(fault_of({{.split_offset = 101}}) == split_fault::bad_offset);
  const std::vector<patch_location> records{{.slot = 1}, {.slot = 9, .split_offset = 4}};
  const auto error = patch_list<int>{std::span{records}, std::span{allocations}}.check(7, 100);
  CHECK(error.index == 1);
  CHECK(error.slot == 9);
  CHECK(error.split_offset == 4);
}

TEST_CASE("[C30] bytes of any alignment are read, and a record that is cut off is refused") {
  const patch_location record{.allocation_index = 1, .slot = 2, .split_offset = 3};
  std::array<std::byte, 1 + 2 * sizeof record> bytes{};
  std::memcpy(bytes.data() + 1, &record, sizeof record);
  std::memcpy(bytes.data() + 1 + sizeof record, &record, sizeof record);
  const std::span all{bytes};
  const patch_list<int> whole{all.subspan(1), std::span{allocations}};
  CHECK_FALSE(whole.check(7, 100));
  CHECK(whole[1] == entry{70, 2, 3});
  const patch_list<int> cut{all.subspan(1, sizeof record + 23), std::span{allocations}};
  CHECK(cut.size() == 1);
  const auto error = cut.check(7, 100);
  CHECK(error.fault == split_fault::bad_length);
  CHECK(error.index == 1);
}
