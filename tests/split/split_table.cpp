// SPDX-License-Identifier: BSL-1.0
//
// The split table: the rows at every offset are compared with a naive model; then what readers can't tell yet, or
// can't tell any more; and readers beside a writer.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/platform/portable_platform.hpp>
#include <tidemark/split/split_table.hpp>

#include "support/random.hpp"
#include "support/split_model.hpp"
#include "support/watchdog.hpp"

namespace {

std::atomic<bool> is_memory_refused{false};

}  // namespace

// What make() allocates with.
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  if (is_memory_refused.load()) return nullptr;
  try {
    return ::operator new[](size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

using namespace testing;
using tidemark::largest_split_offset;
using tidemark::slot_id;
using tidemark::split_apply_status;
using tidemark::split_fault;
using tidemark::split_need;
using tidemark::split_rows_status;
using tidemark::split_table;

namespace {

using table_of_ids = split_table<split_id>;
using rows = std::vector<split_id>;

template <class Table>
void apply_all(Table& table, const split_entries& entries) {
  for (const auto& entry : entries) REQUIRE(table.apply(entry));
}

/// Returns the fault of an entry that must be invalid.
template <class Table>
std::optional<split_fault> fault_of(Table& table, const tidemark::split_entry<split_id>& entry) {
  const auto result = table.apply(entry);
  CHECK(result.status == split_apply_status::invalid);
  CHECK_FALSE(result);
  return result.fault;
}

/// Returns the rows; none unless they are known.
rows known(const tidemark::split_rows<split_id>& found) {
  CHECK(found.rows.empty() == !found);
  return {found.rows.begin(), found.rows.end()};
}

/// An allocation of several words, with an odd size.
struct texture {
  std::uint64_t heap = 0;
  std::uint32_t index = 0;
  std::uint16_t mip = 0;
  bool operator==(const texture&) const = default;
};

}  // namespace

// ---- what the rows are ----------------------------------------------------------------------------------------------

TEST_CASE("[C11] a table has a row for each slot up to the largest, all of them unbound") {
  table_of_ids table{{.max_slot = 3_slot}};
  CHECK(table.max_slot() == 3_slot);
  table.close();
  auto reader = table.reader();
  CHECK(known(reader.rows_after(0)) == rows{0, 0, 0, 0});
  CHECK(known(reader.needed_before(UINT64_MAX)) == rows{0, 0, 0, 0});
}

TEST_CASE("[C12][C13] an allocation is needed from its offset on") {
  table_of_ids table{{.max_slot = 1_slot}};
  apply_all(table, {{7, 1, 100}});
  table.close();
  auto reader = table.reader();
  CHECK(known(reader.rows_after(99)) == rows{0, 0});
  CHECK(known(reader.needed_before(100)) == rows{0, 0});
  CHECK(known(reader.rows_after(100)) == rows{0, 7});
  CHECK(known(reader.needed_before(101)) == rows{0, 7});
}

TEST_CASE("[C14][trap 31] an allocation that is replaced at an offset is needed before it, and not after") {
  table_of_ids table{{.max_slot = 1_slot}};
  apply_all(table, {{7, 0, 0}, {8, 0, 100}});
  table.close();
  auto reader = table.reader();
  CHECK(known(reader.needed_before(100)) == rows{7, 0});
  CHECK(known(reader.rows_after(100)) == rows{8, 0});
  CHECK(reader.need_of(7, 0, 100) == split_need::needed);
  CHECK(reader.need_of(7, 50, 101) == split_need::needed);
  CHECK(reader.need_of(7, 100, 101) == split_need::not_needed);
  CHECK(reader.need_of(8, 0, 100) == split_need::not_needed);
  CHECK(reader.need_of(8, 0, 101) == split_need::needed);
}

TEST_CASE("[C15] an allocation in two slots is needed until both drop it") {
  table_of_ids table{{.max_slot = 2_slot}};
  apply_all(table, {{7, 0, 0}, {7, 1, 0}, {8, 0, 10}, {0, 1, 20}});
  table.close();
  auto reader = table.reader();
  CHECK(reader.need_of(7, 10, 20) == split_need::needed);
  CHECK(reader.need_of(7, 20, 30) == split_need::not_needed);
}

TEST_CASE("[C24] the null handle unbinds a slot, and unbinding an empty slot is harmless") {
  table_of_ids table{{.max_slot = 1_slot}};
  apply_all(table, {{7, 0, 0}, {0, 0, 10}, {0, 1, 10}});
  table.close();
  auto reader = table.reader();
  CHECK(known(reader.rows_after(10)) == rows{0, 0});
}

TEST_CASE("[C16][trap 31] entries of one offset take effect together, and the last one for a slot holds") {
  table_of_ids table{{.max_slot = 1_slot}};
  apply_all(table, {{7, 0, 10}, {9, 0, 10}, {8, 1, 10}});
  table.close();
  auto reader = table.reader();
  CHECK(known(reader.rows_after(10)) == rows{9, 8});
  CHECK(reader.need_of(7, 0, 20) == split_need::not_needed);
}

TEST_CASE("[C20] rows lie in their reader, so a temporary reader gives none") {
  const auto can_ask = [](auto&& reader) { return requires { std::forward<decltype(reader)>(reader).rows_after(0); }; };
  table_of_ids table{{.max_slot = 0_slot}};
  auto reader = table.reader();
  CHECK(can_ask(reader));
  CHECK_FALSE(can_ask(table.reader()));
}

// ---- what is not known ----------------------------------------------------------------------------------------------

TEST_CASE("[C20] inside the group that is being applied, and beyond it, rows are not known yet") {
  table_of_ids table{{.max_slot = 1_slot}};
  auto reader = table.reader();
  CHECK(reader.rows_after(0).status == split_rows_status::not_yet);
  CHECK(known(reader.needed_before(0)) == rows{0, 0});
  apply_all(table, {{7, 0, 10}});
  CHECK(known(reader.rows_after(9)) == rows{0, 0});
  CHECK(known(reader.needed_before(10)) == rows{0, 0});
  CHECK(reader.rows_after(10).status == split_rows_status::not_yet);
  CHECK(reader.needed_before(11).status == split_rows_status::not_yet);
  apply_all(table, {{8, 0, 10}});
  CHECK(reader.rows_after(10).status == split_rows_status::not_yet);
  apply_all(table, {{9, 1, 20}});
  CHECK(known(reader.rows_after(10)) == rows{8, 0});
  CHECK(known(reader.needed_before(20)) == rows{8, 0});
  CHECK(reader.rows_after(20).status == split_rows_status::not_yet);
  table.close();
  CHECK(known(reader.rows_after(20)) == rows{8, 9});
  CHECK(known(reader.rows_after(UINT64_MAX)) == rows{8, 9});
}

TEST_CASE(
    "[C14][C20] a reader says early that an allocation is needed, and that it is not needed only once the part is "
    "complete") {
  table_of_ids table{{.max_slot = 1_slot}};
  apply_all(table, {{7, 0, 0}, {8, 1, 10}});
  auto reader = table.reader();
  CHECK(reader.need_of(7, 0, 1000) == split_need::needed);
  CHECK(reader.need_of(8, 5, 11) == split_need::not_yet);  // more entries of its group may follow
  CHECK(reader.need_of(9, 0, 10) == split_need::not_needed);
  CHECK(reader.need_of(9, 0, 11) == split_need::not_yet);
  CHECK(reader.need_of(7, 10, 11) == split_need::not_yet);
  table.close();
  CHECK(reader.need_of(9, 0, 11) == split_need::not_needed);
  CHECK(reader.need_of(7, 10, 11) == split_need::needed);
}

TEST_CASE("[C20] after a reset answers are stale, until the reader is restarted") {
  table_of_ids table{{.max_slot = 0_slot}};
  apply_all(table, {{7, 0, 0}});
  table.close();
  auto reader = table.reader();
  CHECK(known(reader.rows_after(0)) == rows{7});
  CHECK(reader.was_current());
  table.reset();
  CHECK_FALSE(reader.was_current());
  apply_all(table, {{8, 0, 0}});
  table.close();
  CHECK(reader.rows_after(0).status == split_rows_status::stale);
  CHECK(reader.needed_before(0).status == split_rows_status::stale);
  CHECK(reader.need_of(8, 0, 1) == split_need::stale);
  reader.restart();
  CHECK(known(reader.rows_after(0)) == rows{8});
}

TEST_CASE("[C20] offsets may be asked for in any order") {
  table_of_ids table{{.max_slot = 0_slot}};
  apply_all(table, {{7, 0, 0}, {8, 0, 10}, {9, 0, 20}});
  table.close();
  auto reader = table.reader();
  for (int round = 0; round < 2; ++round) {
    CHECK(known(reader.rows_after(20)) == rows{9});
    CHECK(known(reader.rows_after(5)) == rows{7});
    CHECK(known(reader.needed_before(20)) == rows{8});
    CHECK(known(reader.needed_before(0)) == rows{0});
  }
}

// ---- what is refused ------------------------------------------------------------------------------------------------

TEST_CASE("[C11][C16] a wrong entry is refused, and changes nothing") {
  table_of_ids table{{.max_slot = 2_slot}};
  apply_all(table, {{7, 2, 100}});
  CHECK(fault_of(table, {8, 3_slot, 100}) == split_fault::bad_slot);
  CHECK(fault_of(table, {8, 1_slot, 99}) == split_fault::bad_order);
  CHECK(fault_of(table, {8, 1_slot, largest_split_offset + 1}) == split_fault::bad_offset);
  CHECK(table.size() == 1);
  CHECK(table.apply({8, 1_slot, largest_split_offset}));
  table.close();
  CHECK(table.apply({8, 1_slot, largest_split_offset}).status == split_apply_status::closed);
  auto reader = table.reader();
  CHECK(known(reader.rows_after(100)) == rows{0, 0, 7});
  CHECK(known(reader.rows_after(largest_split_offset)) == rows{0, 8, 7});
}

TYPE_TO_STRING_AS("capacity is an option", split_table<split_id>);
TYPE_TO_STRING_AS("capacity is 3", split_table<split_id, 3>);

TEST_CASE_TEMPLATE("[C11] a full table has no space, loses nothing, and has room again for the next work item", Table,
                   split_table<split_id>, split_table<split_id, 3>) {
  typename Table::options options{.max_slot = 0_slot};
  if constexpr (requires { options.capacity; }) options.capacity = 3;
  Table table{options};
  CHECK(table.capacity() == 3);
  for (int item = 0; item < 3; ++item) {
    apply_all(table, {{7, 0, 0}, {8, 0, 1}, {9, 0, 2}});
    CHECK(table.apply({5, 0_slot, 3}).status == split_apply_status::no_space);
    auto reader = table.reader();
    CHECK(known(reader.rows_after(1)) == rows{8});
    CHECK(reader.rows_after(2).status == split_rows_status::not_yet);
    table.close();
    CHECK(table.apply({5, 0_slot, 3}).status == split_apply_status::closed);
    CHECK(known(reader.rows_after(2)) == rows{9});
    table.reset();
    CHECK(table.size() == 0);
  }
}

TEST_CASE("[C10] a slot may hold any trivially copyable type") {
  split_table<texture> table{{.max_slot = 1_slot, .capacity = 8}};
  REQUIRE(table.apply({{1, 2, 3}, 1_slot, 0}));
  REQUIRE(table.apply({{UINT64_MAX, UINT32_MAX, 9}, 0_slot, 5}));
  table.close();
  auto reader = table.reader();
  CHECK(reader.rows_after(5)[0_slot] == texture{UINT64_MAX, UINT32_MAX, 9});
  CHECK(reader.rows_after(5)[1_slot] == texture{1, 2, 3});
  CHECK(reader.need_of({1, 2, 4}, 0, 6) == split_need::not_needed);

  int one = 0;
  split_table<const int*, 2, tidemark::portable_platform> of_pointers{{.max_slot = tidemark::largest_slot}};
  REQUIRE(of_pointers.apply({&one, tidemark::largest_slot, 0}));
  of_pointers.close();
  auto its_reader = of_pointers.reader();
  CHECK(its_reader.rows_after(0)[tidemark::largest_slot] == &one);
}

TEST_CASE("[C11] a table and a reader can be made without exceptions") {
  const auto table = table_of_ids::make({.max_slot = 3_slot, .capacity = 8});
  REQUIRE(table);
  CHECK(table->max_slot() == 3_slot);
  CHECK(table->capacity() == 8);
  auto reader = table_of_ids::reader_type::make(*table);
  REQUIRE(reader);
  CHECK(known(reader->needed_before(0)) == rows{0, 0, 0, 0});
  CHECK(reader->rows_after(0).status == split_rows_status::not_yet);
}

TEST_CASE("[C11] a table or a reader is absent where there is no memory for it") {
  split_table<split_id, 2> small{{.max_slot = 3_slot}};
  is_memory_refused.store(true);
  const bool has_table = table_of_ids::make({.max_slot = 3_slot}).has_value();
  const bool has_reader = split_table<split_id, 2>::reader_type::make(small).has_value();
  is_memory_refused.store(false);
  CHECK_FALSE(has_table);
  CHECK_FALSE(has_reader);
}

// ---- any list -------------------------------------------------------------------------------------------------------

TEST_CASE("[C20] the rows at every offset are those of the naive model, for tables of 1 to 65,536 slots") {
  random_numbers random{fresh_seed()};
  for (const std::uint32_t slots : {1U, 2U, 16U, 255U, 65'536U}) {
    table_of_ids table{{.max_slot = slot_id{slots - 1}, .capacity = 512}};
    auto reader = table.reader();
    for (int item = 0; item < (slots > 1000 ? 4 : 200); ++item) {
      split_entries list;
      std::uint64_t offset = 0;
      const std::uint64_t count = random.below(60);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t allocation = random.below(20);
        list.add(allocation, random.below(slots), offset);
        offset += random.below(3);
      }
      table.reset();
      reader.restart();
      std::size_t applied = 0;
      for (int question = 0; question < 30; ++question) {
        const std::size_t more = std::min(list.size(), applied + random.below(std::size_t{6}));
        for (; applied < more; ++applied) REQUIRE(table.apply(list[applied]));
        const bool is_complete = applied == list.size() && random.below(2) == 0;
        if (is_complete) table.close();
        const std::uint64_t at = random.below(offset + 3);
        const bool after = random.below(2) == 0;
        const auto found = after ? reader.rows_after(at) : reader.needed_before(at);
        const std::uint64_t bound = after ? at + 1 : at;
        const bool is_known = bound == 0 || is_complete || (applied > 0 && list[applied - 1].split_offset >= bound);
        REQUIRE(found.status == (is_known ? split_rows_status::known : split_rows_status::not_yet));
        if (is_known) {
          const split_rows_map expected = rows_below(list, bound);
          REQUIRE(static_cast<std::size_t>(std::count_if(found.rows.begin(), found.rows.end(),
                                                         [](split_id id) { return id != 0; })) == expected.size());
          for (const auto& [slot, allocation] : expected) REQUIRE(found[slot] == allocation);
        }
        if (is_complete) break;
      }
    }
  }
}

// ---- readers beside a writer ----------------------------------------------------------------------------------------

namespace {

/// What entry `index` of work item `item` binds. From it a reader can compute every row of every work item. Two words.
struct stamped_allocation {
  std::uint64_t item = 0;
  std::uint64_t index = 0;
  bool operator==(const stamped_allocation&) const = default;
};

/// A writer that goes from one work item to the next without a pause, and two readers that ask at random offsets.
template <std::uint32_t Slots, std::uint64_t Entries>
class busy_table {
 public:
  /// Runs until each reader has had `enough` answers.
  void run(std::uint64_t enough) {
    const watchdog bite{[] { return std::string{"the readers of a split table get no answers"}; }};
    std::vector<std::thread> readers;
    for (std::size_t which = 0; which < seen_.size(); ++which) readers.emplace_back([this, which] { read(which); });
    std::uint64_t refused = 0;
    while (std::min(seen_[0].answers.load(), seen_[1].answers.load()) < enough) refused += apply_next();
    is_over_.store(true);
    for (auto& one : readers) one.join();
    MESSAGE(item_ << " work items, " << seen_[0].answers.load() << " and " << seen_[1].answers.load() << " answers");
    CHECK(refused == 0);
    for (const auto& one : seen_) CHECK(one.wrong.load() == 0);
  }

 private:
  struct counts {
    std::atomic<std::uint64_t> answers{0};
    std::atomic<std::uint64_t> wrong{0};
  };

  static constexpr std::uint64_t group = 3;  // entries at an offset
  /// Any `Slots` consecutive entries name different slots.
  static constexpr slot_id slot_of(std::uint64_t item, std::uint64_t index) {
    static_assert(Slots % 7 != 0);
    return slot_id{static_cast<std::uint32_t>((index * 7 + item) % Slots)};
  }

  std::uint64_t apply_next() {
    std::uint64_t refused = 0;
    ++item_;
    table_.reset();
    for (std::uint64_t index = 0; index < Entries; ++index) {
      if (!table_.apply({{item_, index + 1}, slot_of(item_, index), index / group})) ++refused;
    }
    table_.close();
    return refused;
  }

  void read(std::size_t which) {
    random_numbers random{which};
    auto reader = table_.reader();
    std::vector<stamped_allocation> expected(Slots);
    while (!is_over_.load(std::memory_order_relaxed)) {
      const std::uint64_t bound = 1 + random.below(Entries / group);
      const auto found = reader.needed_before(bound);
      if (found.status == split_rows_status::stale) reader.restart();
      if (!found) continue;
      std::uint64_t item = 0;
      for (const auto& row : found.rows) item = std::max(item, row.item);
      std::fill(expected.begin(), expected.end(), stamped_allocation{});
      const std::uint64_t entries = std::min(Entries, bound * group);
      for (std::uint64_t i = entries > Slots ? entries - Slots : 0; i < entries; ++i) {
        expected[static_cast<std::size_t>(slot_of(item, i))] = {item, i + 1};
      }
      const bool is_right = item > 0 && std::equal(expected.begin(), expected.end(), found.rows.begin());
      seen_[which].wrong.fetch_add(is_right ? 0 : 1);
      seen_[which].answers.fetch_add(1);
    }
  }

  split_table<stamped_allocation> table_{{.max_slot = slot_id{Slots - 1}, .capacity = Entries}};
  std::uint64_t item_ = 0;
  std::array<counts, 2> seen_;
  std::atomic<bool> is_over_{false};
};

}  // namespace

TEST_CASE("[C20] readers beside a writer that never pauses get consistent rows, each of a single work item") {
  busy_table<16, 512>{}.run(3'000);
}

TEST_CASE("[C20] a snapshot of 65,536 slots is complete while the writer never pauses") {
  busy_table<65'536, 400'000>{}.run(10);
}
