// SPDX-License-Identifier: BSL-1.0
//
// Lists in 24-byte records, as raw bytes. Compared with a naive model: which lists are refused and why, the entries,
// the strict rule, and the rows that a split table computes.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <tidemark/split/patch_location.hpp>
#include <tidemark/split/split_table.hpp>

#include "input.hpp"
#include "support/split_model.hpp"

namespace {

using fuzz::require;
using tidemark::slot_id;
using tidemark::split_fault;
using namespace testing;

struct verdict {
  std::optional<split_fault> fault{};
  std::size_t index = 0;
};

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::array<std::byte, 4> word{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 4, word.begin());
  return std::bit_cast<std::uint32_t>(word);
}

verdict naive_check(std::span<const std::byte> bytes, std::size_t allocations, slot_id max_slot, std::uint64_t end) {
  std::uint64_t before = 0;
  std::size_t index = 0;
  for (std::size_t at = 0; at + 24 <= bytes.size(); at += 24, ++index) {
    const std::uint32_t slot = word_at(bytes, at + 4);
    const std::uint64_t offset = word_at(bytes, at + 20);
    if (slot > 0xff'ffff) return {split_fault::reserved_bits, index};
    if (word_at(bytes, at) >= allocations) return {split_fault::bad_allocation_index, index};
    if (slot_id{slot} > max_slot) return {split_fault::bad_slot, index};
    if (offset < before + (fuzz::model_is_broken ? 1 : 0)) return {split_fault::bad_order, index};
    if (offset > end) return {split_fault::bad_offset, index};
    before = offset;
  }
  if (bytes.size() % 24 != 0) return {split_fault::bad_length, index};
  return {};
}

std::optional<tidemark::binding_leak> naive_leak(const split_entries& entries) {
  std::set<std::uint64_t> points;
  for (const auto& entry : entries) points.insert(entry.split_offset);
  for (const std::uint64_t point : points) {
    const std::set<slot_id> mentioned = slots_at(entries, point);
    for (const auto& [slot, allocation] : rows_below(entries, point)) {
      if (!mentioned.contains(slot)) return tidemark::binding_leak{slot, point};
    }
  }
  return {};
}

/// Compares the rows at every split point, while the entries are applied and when the list is complete.
void check_table(const split_entries& entries, slot_id max_slot) {
  tidemark::split_table<split_id> table{{.max_slot = max_slot, .capacity = entries.size() + 1}};
  auto reader = table.reader();
  for (std::size_t applied = 0; applied <= entries.size(); ++applied) {
    const bool is_complete = applied == entries.size();
    if (is_complete) table.close();
    if (!is_complete) require(static_cast<bool>(table.apply(entries[applied])), "an entry of a valid list is refused");
    const std::uint64_t at = entries.empty() ? 0 : entries[applied % entries.size()].split_offset;
    for (const std::uint64_t bound : {at, at + 1}) {
      const auto found = bound == at ? reader.needed_before(at) : reader.rows_after(at);
      const std::uint64_t last = is_complete ? UINT64_MAX : entries[applied].split_offset;
      require(static_cast<bool>(found) == (bound <= last), "whether rows are known");
      if (!found) continue;
      const split_rows_map expected = rows_below(entries, bound);
      for (std::uint32_t number = 0; slot_id{number} <= max_slot; ++number) {
        const auto row = expected.find(slot_id{number});
        require(found[slot_id{number}] == (row == expected.end() ? 0 : row->second), "what a row holds");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from{data, size};
  const std::uint64_t slots = 1 + from.below(8);
  const slot_id max_slot{static_cast<std::uint32_t>(slots - 1)};
  const std::uint64_t end = from.below(65'536);
  std::vector<split_id> allocations(static_cast<std::size_t>(1 + from.below(6)));
  for (std::size_t i = 0; i < allocations.size(); ++i) allocations[i] = static_cast<split_id>(i);
  const bool is_raw = from.flag();
  std::vector<std::byte> bytes;
  for (std::size_t field = 0; !from.is_empty(); ++field) {
    if (is_raw) {
      bytes.push_back(std::byte{from.byte()});
    } else {  // most lists are valid
      const std::uint64_t before = bytes.size() < 24 ? 0 : word_at(bytes, bytes.size() / 24 * 24 - 4);
      const std::array<std::uint64_t, 6> right{from.below(allocations.size()), from.below(slots), 1, 2, 3,
                                               before + from.below(4)};
      const auto value = static_cast<std::uint32_t>(from.below(100) == 99 ? from.below(65'536) : right[field % 6]);
      for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(value >> shift));
    }
  }

  const tidemark::patch_list<split_id> patches{std::span<const std::byte>{bytes},
                                               std::span<const split_id>{allocations}};
  const verdict expected = naive_check(bytes, allocations.size(), max_slot, end);
  const auto found = patches.validate(max_slot, end);
  require(found.defect.has_value() == expected.fault.has_value(), "whether a list is valid");
  if (found.defect) {
    require(found.defect->fault == expected.fault, "what is wrong with a list");
    require(found.defect->index == expected.index, "which record is wrong");
    if (found.defect->fault != split_fault::bad_length) return 0;
  }
  const auto made = patches.entries();
  const split_entries entries(made.begin(), made.end());
  require(static_cast<bool>(
              tidemark::check_split_list(std::span<const tidemark::split_entry<split_id>>{entries}, max_slot, end)),
          "a list is valid as records, and invalid as entries");
  require(tidemark::find_binding_leak(std::span<const tidemark::split_entry<split_id>>{entries}) == naive_leak(entries),
          "which binding leaks");
  check_table(entries, max_slot);
  return 0;
}
