// SPDX-License-Identifier: BSL-1.0
//
// Split lists: what a check refuses, the strict rule against binding leaks, and the builder.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tidemark/split/split_list.hpp>

#include "support/split_model.hpp"

using namespace testing;

namespace {

using tidemark::binding_leak;
using tidemark::find_binding_leak;
using tidemark::slot_id;
using tidemark::split_add_status;
using tidemark::split_check_status;
using tidemark::split_defect;
using tidemark::split_fault;
using entry = tidemark::split_entry<split_id>;
using view = std::span<const entry>;

/// Returns the defect that check_split_list() finds, after a look at the status.
std::optional<split_defect> defect_of(const split_entries& list, slot_id max_slot, std::uint64_t end) {
  const auto checked = tidemark::check_split_list(view{list}, max_slot, end);
  CHECK(static_cast<bool>(checked) == (checked.status == split_check_status::valid));
  CHECK(checked.defect.has_value() == (checked.status == split_check_status::invalid));
  return checked.defect;
}

std::optional<binding_leak> leak_of(const split_entries& list) { return find_binding_leak(view{list}); }

}  // namespace

TEST_CASE("[C16][trap 31] offsets may repeat, which makes a group, but must not fall") {
  CHECK(defect_of({{1, 0, 100}, {2, 1, 100}, {3, 2, 100}, {4, 0, 200}}, 3_slot, 300) == std::nullopt);
  CHECK(defect_of({{1, 0, 200}, {2, 1, 100}}, 3_slot, 300) == split_defect{split_fault::bad_order, 1, 1_slot, 100});
}

TEST_CASE("[C11][C12] a check names a slot above the largest one, and an offset above the end") {
  CHECK(defect_of({{1, 3, 0}, {2, 4, 7}}, 3_slot, 300) == split_defect{split_fault::bad_slot, 1, 4_slot, 7});
  CHECK(defect_of({{1, 3, 301}}, 3_slot, 300) == split_defect{split_fault::bad_offset, 0, 3_slot, 301});
  CHECK(defect_of({{1, 3, 300}}, 3_slot, 300) == std::nullopt);
  constexpr std::uint64_t largest = tidemark::largest_split_offset;
  CHECK(defect_of({{1, 3, largest}}, 3_slot, UINT64_MAX) == std::nullopt);
  CHECK(defect_of({{1, 3, largest + 1}}, 3_slot, UINT64_MAX) ==
        split_defect{split_fault::bad_offset, 0, 3_slot, largest + 1});
  CHECK(defect_of({}, 0_slot, 0) == std::nullopt);
  constexpr auto beyond = static_cast<std::uint32_t>(tidemark::largest_slot) + 1;
  CHECK(defect_of({{1, beyond, 0}}, slot_id{beyond}, 300) ==
        split_defect{split_fault::bad_slot, 0, slot_id{beyond}, 0});
}

TEST_CASE("[C9][C29] a slot that stays bound across a split point is a leak, named by slot and offset") {
  CHECK(leak_of({{1, 0, 0}, {2, 1, 0}, {1, 0, 10}, {3, 1, 10}}) == std::nullopt);
  CHECK(leak_of({{1, 0, 0}, {2, 1, 0}, {1, 0, 10}}) == binding_leak{1_slot, 10});
  CHECK(leak_of({{1, 7, 0}, {1, 5, 0}, {3, 9, 10}}) == binding_leak{5_slot, 10});
}

TEST_CASE("[C29] an unbound slot leaks nothing, and a split point may unbind it") {
  CHECK(leak_of({{1, 0, 0}, {0, 0, 10}, {2, 1, 20}, {2, 1, 30}}) == std::nullopt);
  CHECK(leak_of({{1, 0, 0}, {0, 0, 10}, {2, 1, 20}, {2, 2, 30}}) == binding_leak{1_slot, 30});
  CHECK(leak_of({{1, 0, 0}, {0, 0, 0}, {2, 1, 20}}) == std::nullopt);
  CHECK(leak_of({}) == std::nullopt);
  // A work item is never cut at its end.
  const split_entries last{{1, 0, 0}, {2, 1, 0}, {0, 0, 100}};
  CHECK(find_binding_leak(view{last}) == binding_leak{1_slot, 100});
  CHECK(find_binding_leak(view{last}, 100) == std::nullopt);
}

TEST_CASE("[C9][C27][C29] a slot that the prologue binds again is no leak, and hides no other one") {
  const split_entries list{{1, 0, 0}, {2, 1, 0}, {3, 2, 10}, {4, 3, 20}};
  const std::array in_prologue{0_slot, 1_slot, 2_slot};
  const auto leak_with = [&](std::size_t count) {
    return find_binding_leak(view{list}, UINT64_MAX, std::span{in_prologue}.first(count));
  };
  CHECK(leak_with(0) == binding_leak{0_slot, 10});
  CHECK(leak_with(1) == binding_leak{1_slot, 10});
  CHECK(leak_with(2) == binding_leak{2_slot, 20});
  CHECK(leak_with(3) == std::nullopt);
}

namespace {

/// A builder that is used as in a program, and whose refusals are told by their fault.
struct list_writer {
  tidemark::split_list_builder<split_id> builder;

  std::optional<split_fault> bind(std::uint64_t offset, std::uint32_t slot, split_id allocation) {
    return fault_of(builder.bind(offset, slot_id{slot}, allocation));
  }
  std::optional<split_fault> unbind(std::uint64_t offset, std::uint32_t slot) {
    return fault_of(builder.unbind(offset, slot_id{slot}));
  }
  split_entries entries() {
    const view all = builder.entries();
    return {all.begin(), all.end()};
  }
  std::size_t size() { return builder.entries().size(); }

 private:
  static std::optional<split_fault> fault_of(const tidemark::split_add_result& result) {
    CHECK(static_cast<bool>(result) == (result.status == split_add_status::added));
    CHECK(result.fault.has_value() == (result.status == split_add_status::invalid));
    return result.fault;
  }
};

}  // namespace

TEST_CASE("[C23][C24] the builder declares a split point for each bind and unbind") {
  list_writer list;
  CHECK(list.bind(0, 1, 7) == std::nullopt);
  CHECK(list.bind(0, 2, 8) == std::nullopt);
  CHECK(list.unbind(50, 1) == std::nullopt);
  CHECK(list.entries() == split_entries{{7, 1, 0}, {8, 2, 0}, {0, 1, 50}});
  list.builder.clear();
  CHECK(list.entries().empty());
}

TEST_CASE("[C16] the builder refuses a wrong entry, and adds nothing then") {
  list_writer list;
  CHECK(list.bind(50, 1, 7) == std::nullopt);
  CHECK(list.bind(49, 2, 8) == split_fault::bad_order);
  CHECK(list.unbind(49, 1) == split_fault::bad_order);
  CHECK(list.bind(50, static_cast<std::uint32_t>(tidemark::largest_slot) + 1, 8) == split_fault::bad_slot);
  CHECK(list.bind(tidemark::largest_split_offset + 1, 1, 8) == split_fault::bad_offset);
  CHECK(list.size() == 1);
}

TEST_CASE("[C26] a slot that is kept bound is bound again at every split point that does not mention it") {
  list_writer list;
  CHECK(list.bind(0, 9, 64) == std::nullopt);
  list.builder.keep_bound(9_slot);
  CHECK(list.bind(10, 1, 1) == std::nullopt);
  CHECK(list.bind(10, 2, 2) == std::nullopt);
  CHECK(list.bind(20, 9, 65) == std::nullopt);  // mentions it
  CHECK(list.bind(30, 1, 3) == std::nullopt);
  CHECK(list.entries() ==
        split_entries{{64, 9, 0}, {1, 1, 10}, {2, 2, 10}, {64, 9, 10}, {65, 9, 20}, {3, 1, 30}, {65, 9, 30}});
  CHECK(list.size() == 7);  // a second call of entries() adds nothing
  CHECK(list.unbind(40, 9) == std::nullopt);
  CHECK(list.bind(50, 1, 4) == std::nullopt);
  CHECK(list.size() == 9);  // an unbound slot is not bound again
  CHECK(list.bind(60, 9, 66) == std::nullopt);
  list.builder.keep_bound(9_slot, false);
  CHECK(list.bind(70, 1, 5) == std::nullopt);
  CHECK(list.entries().back() == entry{5, 1_slot, 70});
}

TEST_CASE("[C26] an entry that is added to a group after entries() has returned the group still belongs to it") {
  list_writer list;
  CHECK(list.bind(0, 9, 64) == std::nullopt);
  list.builder.keep_bound(9_slot);
  CHECK(list.bind(10, 1, 1) == std::nullopt);
  CHECK(list.size() == 3);
  CHECK(list.bind(10, 2, 2) == std::nullopt);
  CHECK(list.bind(20, 3, 3) == std::nullopt);
  CHECK(list.size() == 6);
  CHECK(leak_of(list.entries()) == binding_leak{1_slot, 20});
}

TEST_CASE("[C26] keeping a slot bound begins with the split point that was added last, and ends after it") {
  list_writer list;
  CHECK(list.bind(0, 9, 64) == std::nullopt);
  CHECK(list.bind(10, 1, 1) == std::nullopt);
  list.builder.keep_bound(9_slot);
  CHECK(list.bind(20, 1, 2) == std::nullopt);
  list.builder.keep_bound(9_slot, false);
  CHECK(list.bind(30, 1, 3) == std::nullopt);
  CHECK(list.entries() == split_entries{{64, 9, 0}, {1, 1, 10}, {64, 9, 10}, {2, 1, 20}, {64, 9, 20}, {3, 1, 30}});

  list_writer returned_already;
  CHECK(returned_already.bind(0, 9, 64) == std::nullopt);
  CHECK(returned_already.bind(10, 1, 1) == std::nullopt);
  CHECK(returned_already.size() == 2);
  returned_already.builder.keep_bound(9_slot);
  CHECK(returned_already.size() == 2);
  CHECK(returned_already.bind(20, 1, 2) == std::nullopt);
  CHECK(returned_already.size() == 4);
}
