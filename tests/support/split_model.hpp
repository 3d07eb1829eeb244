// SPDX-License-Identifier: BSL-1.0
//
// What a split list means, worked out from its first entry each time, and a memory that carries out the paging of a splitter
// and finds every mistake. `Fail` is called with a text.
#ifndef TIDEMARK_TESTS_SUPPORT_SPLIT_MODEL_HPP
#define TIDEMARK_TESTS_SUPPORT_SPLIT_MODEL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <tidemark/split_list.hpp>
#include <tidemark/splitter.hpp>

namespace testing {

using split_id = std::uint32_t;
using split_entries = std::vector<tidemark::split_entry<split_id>>;
using split_rows_map = std::map<std::uint32_t, split_id>;  // the bound slots

/// The rows after all entries below `bound`.
inline split_rows_map rows_below(const split_entries& entries, std::uint64_t bound) {
  split_rows_map rows;
  for (const auto& [allocation, slot, offset] : entries) {
    if (offset >= bound) break;
    rows.erase(slot);
    if (allocation != 0) rows[slot] = allocation;
  }
  return rows;
}

/// All that the commands [begin, end) use.
inline std::set<split_id> needed_in(const split_entries& entries, std::uint64_t begin, std::uint64_t end) {
  std::set<std::uint64_t> offsets{begin};
  for (const auto& entry : entries) {
    if (entry.split_offset > begin && entry.split_offset < end) offsets.insert(entry.split_offset);
  }
  std::set<split_id> needed;
  for (const std::uint64_t offset : offsets) {
    for (const auto& [slot, allocation] : rows_below(entries, offset + 1)) needed.insert(allocation);
  }
  return needed;
}

/// What is in the group at `offset`: slots that were reprogrammed there.
inline std::set<std::uint32_t> slots_at(const split_entries& entries, std::uint64_t offset) {
  std::set<std::uint32_t> slots;
  for (const auto& entry : entries) {
    if (entry.split_offset == offset) slots.insert(entry.slot);
  }
  return slots;
}

/// What other slots than those of the group at `cut` hold across it.
inline std::set<split_id> pinned_at(const split_entries& entries, std::uint64_t cut) {
  std::set<split_id> pinned;
  const std::set<std::uint32_t> reprogrammed = slots_at(entries, cut);
  for (const auto& [slot, allocation] : rows_below(entries, cut)) {
    if (!reprogrammed.contains(slot)) pinned.insert(allocation);
  }
  return pinned;
}

/// \tparam Sizes     size_of(allocation)
/// \tparam HasPlaces whether addresses mean something
template <class Sizes, bool HasPlaces, class Fail>
class paged_memory {
 public:
  paged_memory(std::uint64_t bytes, Sizes size_of, Fail fail) : bytes_{bytes}, size_of_{size_of}, fail_{fail} {}

  struct block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool operator==(const block&) const = default;
  };
  const std::map<split_id, block>& residents() const { return residents_; }

  /// Carries out what comes before a part, and finds out whether the part may run then.
  void run(const split_entries& entries, const tidemark::split_part<split_id>& part) {
    const auto before = residents_;
    order_.clear();
    for (const auto& operation : part.paging) carry_out(operation);
    for (const split_id allocation : needed_in(entries, part.begin, part.end)) {
      if (!residents_.contains(allocation)) fail_("a part uses what is not resident");
    }
    if (part.number > 0) {
      for (const split_id pinned : pinned_at(entries, part.begin)) {
        if (touched_.contains(pinned)) fail_("what is bound across a cut was touched");
        if (residents_.at(pinned) != before.at(pinned)) fail_("what is bound across a cut has moved");
      }
    }
    check_order(entries, part);
    touched_.clear();
  }

  /// Carries out that everything goes.
  void let_all_go(std::span<const tidemark::paging_operation<split_id>> paging) {
    for (const auto& operation : paging) carry_out(operation);
    touched_.clear();
    if (!residents_.empty()) fail_("something stays");
  }

 private:
  void carry_out(const tidemark::paging_operation<split_id>& operation) {
    using tidemark::paging_kind;
    const auto& [kind, allocation, bytes, from, to] = operation;
    if (bytes != size_of_(allocation)) fail_("the wrong size");
    touched_.insert(allocation);
    const auto found = residents_.find(allocation);
    if ((kind == paging_kind::page_in) != (found == residents_.end())) fail_("paged in twice, or not there");
    if (kind != paging_kind::page_in) {
      if (found->second.address != from) fail_("it is not there");
      residents_.erase(found);
    }
    if (kind == paging_kind::evict) return;
    if (kind == paging_kind::page_in) order_.push_back(allocation);
    std::uint64_t sum = bytes;
    for (const auto& [other, where] : residents_) {
      sum += where.bytes;
      if (HasPlaces && where.address < to + bytes && to < where.address + where.bytes) fail_("two at one address");
    }
    if (sum > bytes_ || (HasPlaces && to + bytes > bytes_)) fail_("more than there is");
    residents_[allocation] = {to, bytes};
  }

  /// What is paged in comes in the order of the list (C17), by the entries that hold after their group.
  void check_order(const split_entries& entries, const tidemark::split_part<split_id>& part) {
    std::vector<split_id> expected;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& [allocation, slot, offset] = entries[i];
      if (offset < part.begin || offset >= part.end || is_superseded(entries, i)) continue;
      const bool is_paged_in = std::find(order_.begin(), order_.end(), allocation) != order_.end();
      const bool is_known = std::find(expected.begin(), expected.end(), allocation) != expected.end();
      if (is_paged_in && !is_known) expected.push_back(allocation);
    }
    if (order_ != expected) fail_("not paged in in the order of the list");
  }

  static bool is_superseded(const split_entries& entries, std::size_t index) {
    return std::any_of(entries.begin() + static_cast<std::ptrdiff_t>(index) + 1, entries.end(), [&](const auto& later) {
      return later.slot == entries[index].slot && later.split_offset == entries[index].split_offset;
    });
  }

  std::uint64_t bytes_;
  Sizes size_of_;
  Fail fail_;
  std::map<split_id, block> residents_;
  std::set<split_id> touched_;   // by the paging before one part
  std::vector<split_id> order_;  // paged in before it
};

/// Where the part that begins at `begin` ends if only the sum of what it uses counts; `begin` itself: not even the first
/// group fits.
template <class Sizes>
std::uint64_t naive_cut(const split_entries& entries, std::uint64_t begin, std::uint64_t end, std::uint64_t budget,
                        const Sizes& size_of) {
  std::vector<std::uint64_t> points{begin};
  for (const auto& entry : entries) {
    if (entry.split_offset > points.back() && entry.split_offset < end) points.push_back(entry.split_offset);
  }
  for (const std::uint64_t point : points) {
    std::uint64_t sum = 0;
    for (const split_id allocation : needed_in(entries, begin, point + 1)) sum += size_of(allocation);
    if (sum > budget) return point;
  }
  return end;
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_SPLIT_MODEL_HPP
