// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the blocks that split work items is reported through TIDEMARK_ASSERT; see assert.cpp.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <tidemark/split/patch_location.hpp>
#include <tidemark/split/split_placement.hpp>
#include <tidemark/split/split_table.hpp>
#include <tidemark/split/splitter.hpp>
#include <tidemark/split/submit_parts.hpp>

#include "support/split_model.hpp"

using namespace testing;

namespace {

using space = tidemark::address_space<>;
using table = tidemark::split_table<split_id>;
using splitter = tidemark::splitter<split_id, space>;
using entries = split_entries;

constexpr tidemark::slot_id beyond_largest{static_cast<std::uint32_t>(tidemark::largest_slot) + 1};

table made_table() { return table{{.max_slot = 3_slot}}; }
splitter made() {
  return {{.max_slot = 3_slot}, space{{.bytes = 10}}, [](split_id allocation) { return allocation; }};
}

}  // namespace

TEST_CASE("[C11] a split table reports a slot above 24 bits, a capacity out of range, and a slot without a row") {
  CHECK(reported_by([] { table{{.max_slot = beyond_largest}}; }) == "a slot has 24 bits");
  const std::string capacity = "a split table has 1 to 2^31 entries";
  CHECK(reported_by([] { table{{.max_slot = 3_slot, .capacity = 0}}; }) == capacity);
  CHECK(reported_by([] { table{{.max_slot = 3_slot, .capacity = SIZE_MAX / 2}}; }) == capacity);
  CHECK(reported_by([] { static_cast<void>(table::make({.max_slot = 3_slot, .capacity = 0})); }) == capacity);
  CHECK(reported_by([] { splitter({.max_slot = beyond_largest}, space{{.bytes = 10}}, {}); }) == "a slot has 24 bits");
  CHECK(reported_by([] {
          table small = made_table();
          small.close();
          auto reader = small.reader();
          static_cast<void>(reader.rows_after(0)[4_slot]);
        }) == "the slot has no row");
}

TEST_CASE("[C14] a reader reports a question for an empty part, or for the null handle") {
  CHECK(reported_by([] { static_cast<void>(made_table().reader().need_of(7, 5, 5)); }) ==
        "need_of() was asked for an empty part");
  CHECK(reported_by([] { static_cast<void>(made_table().reader().need_of(0, 5, 6)); }) ==
        "need_of() was asked for the null handle");
}

TEST_CASE("[C24] a builder reports that the null handle is bound") {
  CHECK(reported_by([] {
          tidemark::split_list_builder<split_id> list;
          static_cast<void>(list.bind(0, 1_slot, 0));
        }) == "bind() was given the null handle; use unbind()");
}

TEST_CASE("[C30] a list of records reports an index that validate() would refuse, and a record that is not there") {
  const std::vector<tidemark::patch_location> records{{.allocation_index = 9}};
  const std::vector<split_id> allocations{0, 1};
  const tidemark::patch_list<split_id> patches{std::span{records}, std::span<const split_id>{allocations}};
  CHECK(reported_by([&] { static_cast<void>(patches.entries()); }) == "validate() would refuse this record");
  CHECK(reported_by([&] { static_cast<void>(patches.record(1)); }) == "there is no such record");
}

TEST_CASE("[C27] a placement policy reports places that were not placed, are not free, or are empty") {
  const std::string released = "a place was released that had not been placed";
  const std::string taken = "a place was taken again that is not free";
  CHECK(reported_by([] { space{{.bytes = 10}}.release(3, 1); }) == released);
  CHECK(reported_by([] {
          space ten{{.bytes = 10}};
          static_cast<void>(ten.place(4));
          ten.release(3, 2);
        }) == released);
  CHECK(reported_by([] {
          space ten{{.bytes = 10}};
          static_cast<void>(ten.place(4));
          ten.take(3, 2);
        }) == taken);
  CHECK(reported_by([] {
          space ten{{.bytes = 10}};
          static_cast<void>(ten.place(4));
          ten.take(5, UINT64_MAX);
        }) == taken);
  CHECK(reported_by([] {
          space ten{{.bytes = 10}};
          static_cast<void>(ten.place(10));
          ten.release(20, 5);
        }) == released);
  CHECK(reported_by([] { tidemark::counting_budget{10}.release(0, 5); }) == "more was released than had been placed");
  CHECK(reported_by([] { tidemark::counting_budget{3}.take(0, 4); }) == taken);
  CHECK(reported_by([] { static_cast<void>(space{{.bytes = 10}}.place(0)); }) == "a place must have at least one byte");
  CHECK(reported_by([] { space({.bytes = 10, .alignment = 0}); }) == "an alignment must be at least 1");
}

TEST_CASE("[C21] a splitter reports that a bound allocation is forgotten, a slot without a row, and a wrong list") {
  CHECK(reported_by([] {
          splitter parts = made();
          static_cast<void>(parts.begin(entries{{7, 0, 0}, {8, 0, 10}}, 20));
          static_cast<void>(parts.next());
          parts.forget(7);
        }) == "an allocation was forgotten that a slot still holds");
  CHECK(reported_by([] { static_cast<void>(made().row(4_slot)); }) == "the slot has no row");
  CHECK(reported_by([] {
          const std::array no_row{4_slot};
          static_cast<void>(made().begin({}, 10, no_row));
        }) == "a slot of the prologue has no row");
  CHECK(reported_by([] { static_cast<void>(made().would_fail(entries{{7, 9, 0}}, 20)); }) ==
        "begin() would refuse the list");
}

namespace {

/// Has no prologue.
struct executor_without_prologue {
  void enter() {}
  void leave() {}
  bool page(const tidemark::split_part<split_id>&) { return true; }
  bool submit(const tidemark::split_part<split_id>&) { return true; }
};

}  // namespace

TEST_CASE("[C9] submit_parts() reports that an executor lacks the prologue whose slots the splitter was given") {
  for (const auto scheduling : {tidemark::part_scheduling::back_to_back, tidemark::part_scheduling::full_packets}) {
    CHECK(reported_by([scheduling] {
            splitter parts = made();
            const std::array in_prologue{1_slot};
            static_cast<void>(parts.begin(entries{{2, 1, 0}, {7, 0, 0}, {8, 0, 10}}, 20, in_prologue));
            static_cast<void>(submit_parts(parts, scheduling, executor_without_prologue{}));
          }) == "a splitter was given the slots of a prologue, but the executor has none");
  }
}

TEST_CASE("[C21] a splitter reports evict_all() while a work item is in progress") {
  CHECK(reported_by([] {
          splitter parts = made();
          static_cast<void>(parts.begin(entries{{7, 0, 0}, {8, 0, 10}}, 20));
          static_cast<void>(parts.evict_all());
        }) == "evict_all() was called while a work item is in progress");
}

namespace {

struct broken_placement : tidemark::counting_budget {
  using counting_budget::counting_budget;
  tidemark::place_result place(std::uint64_t bytes) {
    if (bytes == 5) throw std::runtime_error{"the device is gone"};
    return counting_budget::place(bytes);
  }
};

struct never_released : tidemark::counting_budget {
  using counting_budget::counting_budget;
  void release(std::uint64_t, std::uint64_t) { throw std::runtime_error{"the device is gone"}; }
};

}  // namespace

TEST_CASE("[C31] a splitter reports its use after an exception") {
  const auto after_exception = [](auto what) {
    return [what] {
      tidemark::splitter<split_id, broken_placement> parts{
          {.max_slot = 3_slot}, broken_placement{9}, [](split_id) { return std::uint64_t{5}; }};
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
        "evict_all() was called while a work item is in progress");
  CHECK(reported_by(after_exception([](auto& parts) { parts.forget(7); })) == unusable);
  const auto after_release = [](auto released) {
    return [released] {
      tidemark::splitter<split_id, never_released> parts{
          {.max_slot = 3_slot}, never_released{9}, [](split_id) { return std::uint64_t{5}; }};
      static_cast<void>(parts.begin(entries{{7, 0, 0}}, 20));
      static_cast<void>(parts.next());
      try {
        released(parts);
      } catch (const std::runtime_error&) {
        static_cast<void>(parts.begin(entries{}, 20));
      }
    };
  };
  CHECK(reported_by(after_release([](auto& parts) { static_cast<void>(parts.evict_all()); })) == unusable);
  CHECK(reported_by(after_release([](auto& parts) { parts.forget(7); })) == unusable);
}
