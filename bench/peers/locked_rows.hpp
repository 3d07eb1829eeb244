// SPDX-License-Identifier: BSL-1.0
//
// Rows in a map under a mutex: what one writes by hand instead of a split table. It makes the same checks of each
// entry. A row of an earlier work item counts as unbound, so nothing has to be cleared between two work items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <tidemark/split/split_table.hpp>

namespace bench {

struct stamped_row {
  std::uint64_t work_item = 0;
  std::uint64_t allocation = 0;
};

template <class Map>
class locked_rows {
 public:
  using entry = tidemark::split_entry<std::uint64_t>;

  explicit locked_rows(const tidemark::split_table_options<>& options) : max_slot_{options.max_slot} {
    if constexpr (requires { rows_.reserve(std::size_t{}); }) rows_.reserve(row_count());
  }

  tidemark::split_apply_result apply(const entry& added) {
    using tidemark::split_fault;
    constexpr auto invalid = tidemark::split_apply_status::invalid;
    const std::lock_guard lock{guard_};
    if (added.slot > max_slot_) return {invalid, split_fault::bad_slot};
    if (added.split_offset < last_offset_) return {invalid, split_fault::bad_order};
    if (added.split_offset > tidemark::largest_split_offset) return {invalid, split_fault::bad_offset};
    last_offset_ = added.split_offset;
    rows_[added.slot] = {work_item_, added.allocation};
    return {};
  }
  void close() {}
  void reset() {
    const std::lock_guard lock{guard_};
    ++work_item_;
    last_offset_ = 0;
  }
  void snapshot(std::vector<std::uint64_t>& rows) const {
    const std::lock_guard lock{guard_};
    rows.assign(row_count(), 0);
    for (const auto& [slot, row] : rows_) {
      if (row.work_item == work_item_) rows[static_cast<std::size_t>(slot)] = row.allocation;
    }
  }

 private:
  std::size_t row_count() const { return static_cast<std::size_t>(max_slot_) + 1; }

  mutable std::mutex guard_;
  const tidemark::slot_id max_slot_;
  std::uint64_t work_item_ = 0;
  std::uint64_t last_offset_ = 0;
  Map rows_;
};

using locked_unordered_map = locked_rows<std::unordered_map<tidemark::slot_id, stamped_row>>;
using locked_map = locked_rows<std::map<tidemark::slot_id, stamped_row>>;

}  // namespace bench
