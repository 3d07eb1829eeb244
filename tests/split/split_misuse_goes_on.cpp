// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the blocks that split work items breaks nothing where the hook of TIDEMARK_ASSERT returns: here it notes
// the text. split_misuse.cpp has each text with the misuse that it reports.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

}  // namespace

TEST_CASE("[C11] a slot without a row is unbound") {
  table small{{.max_slot = 3_slot}};
  small.close();
  auto reader = small.reader();
  const auto rows = reader.rows_after(0);
  for (const tidemark::slot_id slot : {4_slot, 5'000_slot, tidemark::slot_id{UINT32_MAX}}) CHECK(rows[slot] == 0);
  CHECK(tidemark::split_rows<split_id>{}[0_slot] == 0);
  const splitter parts{{.max_slot = 3_slot}, space{{.bytes = 10}}, [](split_id allocation) { return allocation; }};
  CHECK(parts.row(4_slot) == 0);
  CHECK(parts.row(tidemark::slot_id{UINT32_MAX}) == 0);
  CHECK(take_said() == texts(6, "the slot has no row"));

  splitter pinned{{.max_slot = 3_slot}, space{{.bytes = 10}}, [](split_id allocation) { return allocation; }};
  const std::array slots{4_slot, 1_slot};
  const split_entries list{{3, 0, 0}, {4, 1, 0}, {6, 0, 50}};
  CHECK_FALSE(pinned.would_fail(list, 100, slots));  // the other slot counts
  CHECK(take_said() == texts{"a slot of the prologue has no row"});
}

namespace {

/// Counts what it is asked to do. It has no prologue.
struct counting_executor {
  int calls = 0;

  void enter() { ++calls; }
  void leave() { ++calls; }
  bool page(const tidemark::split_part<split_id>&) { return ++calls != 0; }
  bool submit(const tidemark::split_part<split_id>&) { return ++calls != 0; }
};

}  // namespace

TEST_CASE("[C9] an executor without the prologue whose slots the splitter was given gets no part") {
  splitter parts{{.max_slot = 3_slot}, space{{.bytes = 10}}, [](split_id allocation) { return allocation; }};
  const std::array in_prologue{1_slot, 2_slot};
  const split_entries list{{2, 1, 0}, {7, 0, 0}, {8, 0, 10}};
  CHECK_FALSE(parts.has_prologue());
  REQUIRE(parts.begin(list, 20, in_prologue));
  CHECK(parts.has_prologue());
  counting_executor executor;
  const auto result = submit_parts(parts, tidemark::part_scheduling::back_to_back, executor);
  CHECK(take_said() == texts{"a splitter was given the slots of a prologue, but the executor has none"});
  CHECK(result.status == tidemark::submit_parts_status::invalid);
  CHECK_FALSE(result.leak);
  CHECK(executor.calls == 0);
  CHECK(parts.next().number == 0);  // no part was planned

  REQUIRE(parts.begin(list, 20));
  CHECK_FALSE(parts.has_prologue());
  CHECK(submit_parts(parts, tidemark::part_scheduling::back_to_back, executor));
  CHECK(take_said().empty());
}

TEST_CASE("[C30] a record that is not there is all 0, and one of an allocation that is not there binds nothing") {
  const std::vector<tidemark::patch_location> records{{.allocation_index = 9}};
  const std::vector<split_id> allocations{7, 8};
  const tidemark::patch_list<split_id> patches{std::span{records}, std::span<const split_id>{allocations}};
  CHECK(patches.record(1).allocation_index == 0);
  CHECK(patches.record(SIZE_MAX / 64).allocation_index == 0);
  CHECK(take_said() == texts(2, "there is no such record"));
  CHECK(patches[0].allocation == 0);
  CHECK(take_said() == texts{"validate() would refuse this record"});
}

TEST_CASE("[C27] a place that was not placed is not given back, and one that is not free is not taken") {
  const std::string released = "a place was released that had not been placed";
  const std::string taken = "a place was taken again that is not free";
  space full{{.bytes = 10}};
  CHECK(full.place(10));
  full.take(0, 1);  // there is no hole at all
  CHECK(take_said() == texts{taken});
  full.release(20, 5);
  CHECK(take_said() == texts{released});
  CHECK(full.free_bytes() == 0);
  full.release(0, 4);
  full.release(3, 2);
  full.take(3, 2);
  full.take(5, UINT64_MAX);
  CHECK(take_said() == texts{released, taken, taken});
  CHECK(full.free_bytes() == 4);
  CHECK(full.largest_hole() == 4);

  tidemark::counting_budget budget{3};
  budget.release(0, 5);
  budget.take(0, 4);
  CHECK(take_said() == texts{"more was released than had been placed", taken});
  CHECK(budget.free_bytes() == 0);

  space unaligned{{.bytes = 10, .alignment = 0}};
  CHECK(unaligned.place(0));
  CHECK(take_said() == texts{"an alignment must be at least 1", "a place must have at least one byte"});
  CHECK(unaligned.free_bytes() == 9);
}
