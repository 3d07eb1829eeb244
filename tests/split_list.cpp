// SPDX-License-Identifier: BSL-1.0
//
// Split lists: what is refused, the strict rule against leaking bindings, and the builder.
#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include <tidemark/split_list.hpp>

namespace {

using tidemark::binding_leak;
using tidemark::check_split_list;
using tidemark::find_binding_leak;
using tidemark::split_fault;
using entry = tidemark::split_entry<int>;
using list = std::vector<entry>;
using view = std::span<const entry>;

}  // namespace

TEST_CASE("[C16][trap 31] offsets may stay, for a group, but not fall") {
  CHECK_FALSE(check_split_list(view{list{{1, 0, 100}, {2, 1, 100}, {3, 2, 100}, {4, 0, 200}}}, 3, 300));
  const list falling{{1, 0, 200}, {2, 1, 100}};
  const auto error = check_split_list(view{falling}, 3, 300);
  CHECK(error);
  CHECK(error.fault == split_fault::bad_order);
  CHECK(error.index == 1);
  CHECK(error.slot == 1);
  CHECK(error.split_offset == 100);
}

TEST_CASE("[C11][C12] slots above the largest one and offsets above the end are named") {
  const auto slot = check_split_list(view{list{{1, 3, 0}, {2, 4, 7}}}, 3, 300);
  CHECK(slot.fault == split_fault::bad_slot);
  CHECK(slot.index == 1);
  CHECK(slot.slot == 4);
  CHECK(slot.split_offset == 7);
  CHECK(check_split_list(view{list{{1, 3, 301}}}, 3, 300).fault == split_fault::bad_offset);
  CHECK_FALSE(check_split_list(view{list{{1, 3, 300}}}, 3, 300));
  CHECK_FALSE(check_split_list(view{list{{1, 3, tidemark::largest_split_offset}}}, 3, UINT64_MAX));
  CHECK(check_split_list(view{list{{1, 3, tidemark::largest_split_offset + 1}}}, 3, UINT64_MAX).fault ==
        split_fault::bad_offset);
  CHECK_FALSE(check_split_list(view{list{}}, 0, 0));
}

TEST_CASE("[C9][C29] a slot that stays bound across a split point is a leak, named by slot and offset") {
  CHECK(find_binding_leak(view{list{{1, 0, 0}, {2, 1, 0}, {1, 0, 10}, {3, 1, 10}}}) == std::nullopt);
  CHECK(find_binding_leak(view{list{{1, 0, 0}, {2, 1, 0}, {1, 0, 10}}}) == binding_leak{1, 10});
  CHECK(find_binding_leak(view{list{{1, 7, 0}, {1, 5, 0}, {3, 9, 10}}}) == binding_leak{5, 10});
}

TEST_CASE("[C29] an unbound slot leaks nothing, and a split point may unbind it") {
  CHECK(find_binding_leak(view{list{{1, 0, 0}, {0, 0, 10}, {2, 1, 20}, {2, 1, 30}}}) == std::nullopt);
  CHECK(find_binding_leak(view{list{{1, 0, 0}, {0, 0, 10}, {2, 1, 20}, {2, 2, 30}}}) == binding_leak{1, 30});
  CHECK(find_binding_leak(view{list{{1, 0, 0}, {0, 0, 0}, {2, 1, 20}}}) == std::nullopt);
  CHECK(find_binding_leak(view{list{}}) == std::nullopt);
  // Nothing is cut at the end of the work item.
  const list last{{1, 0, 0}, {2, 1, 0}, {0, 0, 100}};
  CHECK(find_binding_leak(view{last}) == binding_leak{1, 100});
  CHECK(find_binding_leak(view{last}, 100) == std::nullopt);
}

TEST_CASE("[C23][C24] the builder declares a split point for each bind and unbind") {
  tidemark::split_list_builder<int> builder;
  CHECK(builder.bind(0, 1, 7) == split_fault::none);
  CHECK(builder.bind(0, 2, 8) == split_fault::none);
  CHECK(builder.unbind(50, 1) == split_fault::none);
  const auto made = builder.entries();
  CHECK(list(made.begin(), made.end()) == list{{7, 1, 0}, {8, 2, 0}, {0, 1, 50}});
  builder.clear();
  CHECK(builder.entries().empty());
}

TEST_CASE("[C16] the builder refuses what is out of order, and adds nothing then") {
  tidemark::split_list_builder<int> builder;
  CHECK(builder.bind(50, 1, 7) == split_fault::none);
  CHECK(builder.bind(49, 2, 8) == split_fault::bad_order);
  CHECK(builder.unbind(49, 1) == split_fault::bad_order);
  CHECK(builder.bind(50, tidemark::largest_slot + 1, 8) == split_fault::bad_slot);
  CHECK(builder.bind(tidemark::largest_split_offset + 1, 1, 8) == split_fault::bad_offset);
  CHECK(builder.entries().size() == 1);
}

TEST_CASE("[C26] a slot that is kept bound is bound again at every split point that does not mention it") {
  tidemark::split_list_builder<int> builder;
  CHECK(builder.bind(0, 9, 64) == split_fault::none);
  builder.keep_bound(9);
  CHECK(builder.bind(10, 1, 1) == split_fault::none);
  CHECK(builder.bind(10, 2, 2) == split_fault::none);
  CHECK(builder.bind(20, 9, 65) == split_fault::none);  // mentions it
  CHECK(builder.bind(30, 1, 3) == split_fault::none);
  const auto made = builder.entries();
  CHECK(list(made.begin(), made.end()) ==
        list{{64, 9, 0}, {1, 1, 10}, {2, 2, 10}, {64, 9, 10}, {65, 9, 20}, {3, 1, 30}, {65, 9, 30}});
  CHECK(builder.entries().size() == 7);  // asking again adds nothing
  CHECK(builder.unbind(40, 9) == split_fault::none);
  CHECK(builder.bind(50, 1, 4) == split_fault::none);
  CHECK(builder.entries().size() == 9);  // nothing to bind again
  CHECK(builder.bind(60, 9, 66) == split_fault::none);
  builder.keep_bound(9, false);
  CHECK(builder.bind(70, 1, 5) == split_fault::none);
  CHECK(builder.entries().back() == entry{5, 1, 70});
}

TEST_CASE("[C26] what is added to a group after it was looked at belongs to it") {
  tidemark::split_list_builder<int> builder;
  CHECK(builder.bind(0, 9, 64) == split_fault::none);
  builder.keep_bound(9);
  CHECK(builder.bind(10, 1, 1) == split_fault::none);
  CHECK(builder.entries().size() == 3);
  CHECK(builder.bind(10, 2, 2) == split_fault::none);
  CHECK(builder.bind(20, 3, 3) == split_fault::none);
  CHECK(builder.entries().size() == 6);
  CHECK(find_binding_leak(builder.entries()) == binding_leak{1, 20});
}
