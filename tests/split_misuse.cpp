// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the blocks that split work items is reported through TIDEMARK_ASSERT; see misuse.cpp.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <tidemark/patch_location.hpp>
#include <tidemark/split_placement.hpp>
#include <tidemark/split_table.hpp>
#include <tidemark/splitter.hpp>

using namespace testing;

namespace {

using table = tidemark::split_table<int>;
using splitter = tidemark::splitter<int, tidemark::address_space<>>;
using entries = std::vector<tidemark::split_entry<int>>;

splitter made() {
  return {3, tidemark::address_space<>{10}, [](int allocation) { return static_cast<std::uint64_t>(allocation); }};
}

}  // namespace

TEST_CASE("[C11] a split table reports slots that it can't have, and a capacity that is none") {
  CHECK(reported_by([] { table{tidemark::largest_slot + 1}; }) == "a slot has 24 bits");
  CHECK(reported_by([] { table{3, 0}; }) == "a split table has 1 to 2^31 entries");
  CHECK(reported_by([] { table{3, SIZE_MAX / 2}; }) == "a split table has 1 to 2^31 entries");
  CHECK(reported_by([] { splitter(UINT32_MAX, tidemark::address_space<>{10}, {}); }) == "a slot has 24 bits");
  CHECK(reported_by([] {
          table small{3};
          small.finish();
          auto reader = small.reader();
          static_cast<void>(reader.rows_after(0)[4]);
        }) == "there is no such row");
}

TEST_CASE("[C14] a reader reports questions that have no answer") {
  CHECK(reported_by([] { static_cast<void>(table{3}.reader().is_needed(7, 5, 5)); }) ==
        "a part that is empty needs nothing");
  CHECK(reported_by([] { static_cast<void>(table{3}.reader().is_needed(0, 5, 6)); }) ==
        "no allocation is never needed");
}

TEST_CASE("[C24] a builder reports that no allocation is bound") {
  CHECK(reported_by([] {
          tidemark::split_list_builder<int> list;
          static_cast<void>(list.bind(0, 1, 0));
        }) == "no allocation is what unbind() is for");
}

TEST_CASE("[C30] a list of records reports who reads what check() has not seen") {
  const std::vector<tidemark::patch_location> records{{.allocation_index = 9}};
  const std::vector<int> allocations{0, 1};
  CHECK(reported_by([&] {
          static_cast<void>(tidemark::patch_list<int>{std::span{records}, std::span<const int>{allocations}}.entries());
        }) == "check() has not been asked");
  CHECK(reported_by([&] {
          static_cast<void>(tidemark::patch_list<int>{std::span{records}, std::span<const int>{allocations}}.record(1));
        }) == "there is no such record");
}

TEST_CASE("[C27] an address space reports what was not placed") {
  const std::string released = "what is released was placed before";
  CHECK(reported_by([] { tidemark::address_space<>{10}.release(3, 1); }) == released);
  CHECK(reported_by([] {
          tidemark::address_space<> space{10};
          static_cast<void>(space.place(4));
          space.release(3, 2);
        }) == released);
  CHECK(reported_by([] {
          tidemark::address_space<> space{10};
          static_cast<void>(space.place(4));
          space.take(3, 2);
        }) == "what is taken again was released before");
  CHECK(reported_by([] {
          tidemark::address_space<> space{10};
          static_cast<void>(space.place(4));
          space.take(5, UINT64_MAX);
        }) == "what is taken again was released before");
  CHECK(reported_by([] {
          tidemark::address_space<> space{10};
          static_cast<void>(space.place(10));
          space.release(20, 5);
        }) == released);
  CHECK(reported_by([] { tidemark::counting_budget{10}.release(0, 5); }) == released);
  CHECK(reported_by([] { tidemark::counting_budget{3}.take(0, 4); }) == "what is taken again was released before");
  CHECK(reported_by([] { static_cast<void>(tidemark::address_space<>{10}.place(0)); }) == "what is placed has a size");
  CHECK(reported_by([] { tidemark::address_space<>(10, 0); }) == "an alignment is at least 1");
}

TEST_CASE("[C21] a splitter reports who forgets what a slot holds, and rows that it does not have") {
  CHECK(reported_by([] {
          splitter parts = made();
          static_cast<void>(parts.begin(entries{{7, 0, 0}, {8, 0, 10}}, 20));
          static_cast<void>(parts.next());
          parts.forget(7);
        }) == "a slot holds what is to be forgotten");
  CHECK(reported_by([] { static_cast<void>(made().row(4)); }) == "there is no such row");
  CHECK(reported_by([] {
          static_cast<void>(made().would_fail(entries{{7, 9, 0}}, 20));
        }) == "begin() would refuse the list");
}

TEST_CASE("[C21] a splitter reports who lets all go while a work item is in progress") {
  CHECK(reported_by([] {
          splitter parts = made();
          static_cast<void>(parts.begin(entries{{7, 0, 0}, {8, 0, 10}}, 20));
          static_cast<void>(parts.evict_all());
        }) == "a work item is in progress");
}

namespace {

struct broken_placement : tidemark::counting_budget {
  using counting_budget::counting_budget;
  std::optional<std::uint64_t> place(std::uint64_t bytes) {
    if (bytes == 5) throw std::runtime_error{"the device is gone"};
    return counting_budget::place(bytes);
  }
};

struct never_released : tidemark::counting_budget {
  using counting_budget::counting_budget;
  void release(std::uint64_t, std::uint64_t) { throw std::runtime_error{"the device is gone"}; }
};

}  // namespace

TEST_CASE("[C31] a splitter reports who goes on after an exception") {
  const auto after_exception = [](auto what) {
    return [what] {
      tidemark::splitter<int, broken_placement> parts{3, broken_placement{9}, [](int) { return std::uint64_t{5}; }};
      static_cast<void>(parts.begin(entries{{7, 0, 0}}, 20));
      try {
        static_cast<void>(parts.next());
      } catch (const std::runtime_error&) {
        what(parts);
      }
    };
  };
  const std::string unusable = "an exception has left the splitter unusable";
  CHECK(reported_by(after_exception([](auto& parts) { static_cast<void>(parts.next()); })) == unusable);
  CHECK(reported_by(after_exception([](auto& parts) { static_cast<void>(parts.begin(entries{}, 20)); })) == unusable);
  CHECK(reported_by(after_exception([](auto& parts) { static_cast<void>(parts.evict_all()); })) ==
        "a work item is in progress");
  CHECK(reported_by([] {
          tidemark::splitter<int, never_released> parts{3, never_released{9}, [](int) { return std::uint64_t{5}; }};
          static_cast<void>(parts.begin(entries{{7, 0, 0}}, 20));
          static_cast<void>(parts.next());
          try {
            static_cast<void>(parts.evict_all());
          } catch (const std::runtime_error&) {
            static_cast<void>(parts.begin(entries{}, 20));
          }
        }) == unusable);
}
