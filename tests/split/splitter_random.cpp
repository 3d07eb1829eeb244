// SPDX-License-Identifier: BSL-1.0
//
// The splitter and the split table with random lists: what they do is compared with a naive model of the list.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <tidemark/split/split_table.hpp>
#include <tidemark/split/splitter.hpp>

#include "support/random.hpp"
#include "support/split_model.hpp"
#include "support/split_stand.hpp"

using namespace testing;
using tidemark::address_space;
using tidemark::counting_budget;
using tidemark::fit;
using tidemark::slot_id;

namespace {

constexpr std::uint32_t slots = 5;
constexpr slot_id last_slot{slots - 1};

/// Sizes of 1 to 4 bytes, which often repeat.
std::uint64_t small_size(split_id allocation) { return 1 + allocation * 7 % 4; }

split_entries random_list(random_numbers& random, std::uint64_t end) {
  split_entries made;
  std::uint64_t offset = random.below(3);
  const std::uint64_t count = random.below(25);
  for (std::uint64_t i = 0; i < count && offset <= end; ++i) {
    const std::uint64_t allocation = random.below(4) == 0 ? 0 : random.below(9);
    made.add(allocation, random.below(slots), offset);
    offset += random.below(2) * (1 + random.below(4));
  }
  return made;
}

/// Compares a part with the list: its rows, and with a budget where it ends.
template <class Placement>
void check_part(const split_stand<Placement>& at, const split_entries& list, const tidemark::split_part<split_id>& part,
                std::uint64_t end, std::uint64_t budget) {
  const split_rows_map expected = rows_below(list, part.end);
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const auto row = expected.find(slot_id{slot});
    if (at.parts.row(slot_id{slot}) != (row == expected.end() ? 0 : row->second))
      split_is_wrong("a row is wrong at a cut");
  }
  if constexpr (!split_stand<Placement>::has_places) {
    if (part.end != naive_cut(list, part.begin, end, budget, small_size))
      split_is_wrong("a part does not end at the first entry that does not fit");
  }
}

/// Returns the slots of a prologue: none, or some.
std::vector<slot_id> random_slots(random_numbers& random) {
  std::vector<slot_id> made;
  if (random.below(2) == 0) return made;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    if (random.below(2) == 0) made.push_back(slot_id{slot});
  }
  return made;
}

/// Compares what is carried over the cut before a part with the list.
void check_carried(const split_entries& list, const tidemark::split_part<split_id>& part,
                   const std::vector<tidemark::split_binding<split_id>>& carried) {
  split_rows_map expected;
  if (part.number > 0) expected = rows_below(list, part.begin);
  for (const slot_id named : slots_at(list, part.begin)) expected.erase(named);
  const bool is_right = std::equal(
      carried.begin(), carried.end(), expected.begin(), expected.end(),
      [](const auto& found, const auto& one) { return found.slot == one.first && found.allocation == one.second; });
  if (!is_right) split_is_wrong("something else is carried over a cut");
}

/// Runs random work items. Checks each part, that the splitter ends, and that it names the entry at which it gives up.
template <class Placement>
void run_any(std::uint64_t items) {
  random_numbers random{fresh_seed()};
  std::uint64_t parts = 0;
  std::uint64_t failed = 0;
  std::uint64_t moved = 0;
  for (std::uint64_t item = 0; item < items;) {
    const std::uint64_t budget = 4 + random.below(10);
    split_stand<Placement> at{budget, small_size, last_slot};
    for (int i = 0; i < 4; ++i, ++item) {
      const std::uint64_t end = 1 + random.below(40);
      const split_entries list = random_list(random, end);
      const bool fits = naive_cut(list, 0, end, budget, small_size) == end;
      const bool is_first = i == 0 || random.below(4) == 0;
      if (i > 0 && is_first) at.memory.evict_all(at.parts.evict_all());
      const std::vector<slot_id> in_prologue = random_slots(random);
      at.memory.in_prologue = {in_prologue.begin(), in_prologue.end()};
      const auto foreseen = at.parts.would_fail(list, end, in_prologue);
      const split_stand<Placement> fresh{budget, small_size, last_slot};
      if (is_first && foreseen != fresh.parts.would_fail(list, end, in_prologue)) {
        split_is_wrong("a new splitter ends differently");
      }
      if (!at.parts.begin(list, end, in_prologue)) split_is_wrong("a valid list was refused");
      std::uint64_t reached = 0;
      auto carried = at.parts.carried_over();
      auto part = at.parts.next();
      for (; part; part = at.parts.next()) {
        check_carried(list, part, carried);
        if (part.begin != reached || part.end <= reached || part.end > end)
          split_is_wrong("a part does not follow the one before");
        reached = part.end;
        if (fits && reached != end) split_is_wrong("a work item was cut that fits as a whole");
        ++parts;
        at.memory.run(list, part);
        check_part(at, list, part, end, budget);
        carried = at.parts.carried_over();
      }
      if (part.failed != foreseen) split_is_wrong("would_fail() has foreseen another end");
      if (foreseen.has_value() != (reached != end)) split_is_wrong("a work item neither ended nor failed");
      if (!foreseen) continue;
      ++failed;
      if (fits) split_is_wrong("a work item failed that fits as a whole");
      if (foreseen->split_offset != reached) split_is_wrong("another group failed");
      if (!slots_at(list, reached).contains(foreseen->slot))
        split_is_wrong("a slot failed that the group does not name");
      if (!split_stand<Placement>::has_places && naive_cut(list, reached, end, budget, small_size) != reached) {
        split_is_wrong("a group failed that fits");
      }
    }
    moved += at.parts.statistics().bytes_moved;
  }
  MESSAGE(items << " work items, " << parts << " parts, " << failed << " unsatisfiable, " << moved << " bytes moved");
  CHECK(parts > items);
  CHECK(failed > items / 100);
  CHECK((moved > items / 100) == split_stand<Placement>::has_places);
}

}  // namespace

TEST_CASE("[C1][C14][C18][C20][C31][C32] 100,000 work items with a budget are cut as the naive model says") {
  run_any<counting_budget>(100'000);
}

TEST_CASE_TEMPLATE(
    "[C9][C21][C27][C28][C31] 100,000 work items in an address space: all that is used is resident, and stays where it "
    "must",
    Space, address_space<fit::first>, address_space<fit::best>) {
  run_any<Space>(50'000);
}

namespace {

using all_rows = std::array<split_id, slots>;

all_rows naive_rows(const split_entries& list, std::uint64_t bound) {
  all_rows rows{};
  for (const auto& [allocation, slot, offset] : list) {
    if (offset < bound) rows[static_cast<std::size_t>(slot)] = allocation;
  }
  return rows;
}

bool holds(const tidemark::split_rows<split_id>& found, const all_rows& expected) {
  return found && std::equal(expected.begin(), expected.end(), found.rows.begin(), found.rows.end());
}

}  // namespace

TEST_CASE("[C14][C20] before and after every offset of 100,000 work items the table says what the naive model says") {
  random_numbers random{fresh_seed()};
  tidemark::split_table<split_id> table{{.max_slot = last_slot, .capacity = 64}};
  auto reader = table.reader();
  std::uint64_t wrong_rows = 0;
  std::uint64_t wrong_needs = 0;
  for (int item = 0; item < 100'000; ++item) {
    const std::uint64_t end = 1 + random.below(40);
    const split_entries list = random_list(random, end);
    table.reset();
    reader.restart();
    for (const auto& one : list) {
      if (!table.apply(one)) ++wrong_rows;
    }
    table.close();
    for (std::uint64_t offset = 0; offset <= end; ++offset) {
      wrong_rows += !holds(reader.needed_before(offset), naive_rows(list, offset));
      wrong_rows += !holds(reader.rows_after(offset), naive_rows(list, offset + 1));
    }
    const std::uint64_t from = random.below(end);
    const std::uint64_t to = from + 1 + random.below(end - from);
    const std::set<split_id> needed = needed_in(list, from, to);
    for (split_id allocation = 1; allocation < 9; ++allocation) {
      const bool is_needed = reader.need_of(allocation, from, to) == tidemark::split_need::needed;
      wrong_needs += is_needed != needed.contains(allocation);
    }
  }
  CHECK(wrong_rows == 0);
  CHECK(wrong_needs == 0);
}
