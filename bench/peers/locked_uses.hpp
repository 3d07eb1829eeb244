// SPDX-License-Identifier: BSL-1.0
//
// Peer of split_table_reader::need_of(): for each allocation the parts of the work item that use it, in a std::map
// under a mutex. They are written down when an entry is applied, so that a question costs little. No entry is checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include <tidemark/split/split_table.hpp>

namespace bench {

class locked_uses {
 public:
  using entry = tidemark::split_entry<std::uint64_t>;

  explicit locked_uses(const tidemark::split_table_options<>& options)
      : rows_(static_cast<std::size_t>(options.max_slot) + 1) {}

  bool apply(const entry& added) {
    const std::lock_guard lock{guard_};
    row& bound = rows_[static_cast<std::size_t>(added.slot)];
    note_use(bound, added.split_offset);
    bound = {added.allocation, added.split_offset};
    return true;
  }
  void close() {
    const std::lock_guard lock{guard_};
    for (const row& bound : rows_) note_use(bound, UINT64_MAX);
  }
  void reset() {
    const std::lock_guard lock{guard_};
    ++work_item_;
    std::fill(rows_.begin(), rows_.end(), row{});
  }
  /// After close(): whether the part [from, to) uses the allocation.
  bool is_needed(std::uint64_t allocation, std::uint64_t from, std::uint64_t to) const {
    const std::lock_guard lock{guard_};
    const auto found = uses_.find(allocation);
    if (found == uses_.end() || found->second.work_item != work_item_) return false;
    const std::vector<use>& all = found->second.all;
    const auto ends_later = [](std::uint64_t offset, const use& one) { return offset < one.end; };
    const auto first = std::upper_bound(all.begin(), all.end(), from, ends_later);
    return first != all.end() && first->begin < to;
  }

 private:
  struct row {
    std::uint64_t allocation = 0;
    std::uint64_t since = 0;
  };
  struct use {
    std::uint64_t begin;
    std::uint64_t end;
  };
  /// Those of an earlier work item count as none.
  struct uses_of_allocation {
    std::uint64_t work_item = 0;
    std::vector<use> all;
  };

  /// Uses of an allocation come in the order of their ends. Those that overlap become one.
  void note_use(const row& bound, std::uint64_t end) {
    if (bound.allocation == 0 || bound.since == end) return;
    auto& [work_item, all] = uses_[bound.allocation];
    if (work_item != work_item_) all.clear();
    work_item = work_item_;
    std::uint64_t begin = bound.since;
    for (; !all.empty() && all.back().end >= begin; all.pop_back()) begin = (std::min)(begin, all.back().begin);
    all.push_back({begin, end});
  }

  mutable std::mutex guard_;
  std::uint64_t work_item_ = 1;
  std::vector<row> rows_;
  std::map<std::uint64_t, uses_of_allocation> uses_;
};

}  // namespace bench
