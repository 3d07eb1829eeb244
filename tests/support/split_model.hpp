// SPDX-License-Identifier: BSL-1.0
//
// A naive model of split lists, which computes everything from the first entry each time; and a simulated memory, which
// carries out the paging of a splitter and calls `Fail` with a text for every mistake.
#ifndef TIDEMARK_TESTS_SUPPORT_SPLIT_MODEL_HPP
#define TIDEMARK_TESTS_SUPPORT_SPLIT_MODEL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <vector>

#include <tidemark/split/split_list.hpp>
#include <tidemark/split/splitter.hpp>

namespace testing {

using split_id = std::uint32_t;
using split_rows_map = std::map<tidemark::slot_id, split_id>;  // the bound slots

constexpr tidemark::slot_id operator""_slot(unsigned long long number) {
  return tidemark::slot_id{static_cast<std::uint32_t>(number)};
}

/// A split list that a test writes as {{allocation, number of the slot, offset}, ...}.
class split_entries : public std::vector<tidemark::split_entry<split_id>> {
 public:
  struct written {
    split_id allocation;
    std::uint32_t slot;
    std::uint64_t split_offset;
  };

  using vector::vector;
  split_entries(std::initializer_list<written> list) {
    for (const auto& [allocation, slot, offset] : list) add(allocation, slot, offset);
  }
  void add(std::uint64_t allocation, std::uint64_t slot, std::uint64_t offset) {
    push_back({static_cast<split_id>(allocation), tidemark::slot_id{static_cast<std::uint32_t>(slot)}, offset});
  }
};

/// Returns the rows after all entries below `bound`.
inline split_rows_map rows_below(const split_entries& entries, std::uint64_t bound) {
  split_rows_map rows;
  for (const auto& [allocation, slot, offset] : entries) {
    if (offset >= bound) break;
    rows.erase(slot);
    if (allocation != 0) rows[slot] = allocation;
  }
  return rows;
}

/// Returns all allocations that the commands [begin, end) use.
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

/// Returns the slots that the group at `offset` names.
inline std::set<tidemark::slot_id> slots_at(const split_entries& entries, std::uint64_t offset) {
  std::set<tidemark::slot_id> slots;
  for (const auto& entry : entries) {
    if (entry.split_offset == offset) slots.insert(entry.slot);
  }
  return slots;
}

/// Returns what must keep its place at a cut: what slots hold that neither the group at the cut nor the prologue names.
inline std::set<split_id> fixed_at(const split_entries& entries, std::uint64_t cut,
                                   const std::set<tidemark::slot_id>& in_prologue = {}) {
  std::set<split_id> fixed;
  std::set<tidemark::slot_id> bound_again = slots_at(entries, cut);
  bound_again.insert(in_prologue.begin(), in_prologue.end());
  for (const auto& [slot, allocation] : rows_below(entries, cut)) {
    if (!bound_again.contains(slot)) fixed.insert(allocation);
  }
  return fixed;
}

/// A memory with a budget.
/// \tparam Sizes      the type of `size_of`, which returns the size of an allocation
/// \tparam HasPlaces  whether addresses mean anything
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
  /// The slots that the prologue of each part binds again.
  std::set<tidemark::slot_id> in_prologue;

  /// Carries out the paging of a part, and checks that the part may run then.
  void run(const split_entries& entries, const tidemark::split_part<split_id>& part) {
    const auto before = residents_;
    order_.clear();
    may_come_back_ = part.number > 0 && !in_prologue.empty() ? fixed_at(entries, part.begin) : std::set<split_id>{};
    for (const auto& operation : part.paging) carry_out(operation);
    for (const split_id allocation : needed_in(entries, part.begin, part.end)) {
      if (!residents_.contains(allocation)) fail_("a part uses an allocation that is not resident");
    }
    if (part.number > 0) {
      for (const split_id fixed : fixed_at(entries, part.begin, in_prologue)) {
        if (touched_.contains(fixed)) fail_("paging names an allocation that is bound across the cut");
        if (residents_.at(fixed) != before.at(fixed)) fail_("an allocation has moved that is bound across the cut");
      }
    }
    check_order(entries, part);
    touched_.clear();
  }

  /// Carries out the paging of evict_all().
  void evict_all(std::span<const tidemark::paging_operation<split_id>> paging) {
    for (const auto& operation : paging) carry_out(operation);
    touched_.clear();
    if (!residents_.empty()) fail_("evict_all() has left an allocation resident");
  }

 private:
  void carry_out(const tidemark::paging_operation<split_id>& operation) {
    using tidemark::paging_kind;
    const auto& [kind, allocation, bytes, from, to] = operation;
    if (bytes != size_of_(allocation)) fail_("an operation names a wrong size");
    touched_.insert(allocation);
    const auto found = residents_.find(allocation);
    const bool is_resident = found != residents_.end();
    if (is_resident == (kind == paging_kind::page_in)) fail_("an allocation was paged in twice, or is not resident");
    if (kind != paging_kind::page_in) {
      if (found->second.address != from) fail_("an allocation lies at another address");
      residents_.erase(found);
    }
    if (kind == paging_kind::evict) return;
    if (kind == paging_kind::page_in && !may_come_back_.contains(allocation)) order_.push_back(allocation);
    std::uint64_t sum = bytes;
    for (const auto& [other, where] : residents_) {
      sum += where.bytes;
      if (HasPlaces && where.address < to + bytes && to < where.address + where.bytes) fail_("two allocations overlap");
    }
    if (sum > bytes_ || (HasPlaces && to + bytes > bytes_)) fail_("the budget is exceeded");
    residents_[allocation] = {to, bytes};
  }

  /// Checks that allocations are paged in by the order of the list [C17]. Only entries count that hold after their
  /// group.
  void check_order(const split_entries& entries, const tidemark::split_part<split_id>& part) {
    std::vector<split_id> expected;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& [allocation, slot, offset] = entries[i];
      if (offset < part.begin || offset >= part.end || is_superseded(entries, i)) continue;
      const bool is_paged_in = std::find(order_.begin(), order_.end(), allocation) != order_.end();
      const bool is_known = std::find(expected.begin(), expected.end(), allocation) != expected.end();
      if (is_paged_in && !is_known) expected.push_back(allocation);
    }
    if (order_ != expected) fail_("allocations were not paged in by the order of the list");
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
  std::set<split_id> touched_;        // what the paging of the current part names
  std::vector<split_id> order_;       // what it pages in
  std::set<split_id> may_come_back_;  // what is bound across the cut, and moves with the help of an eviction
};

/// Returns where the part that begins at `begin` ends, if only the sum of what it uses counts. Returns `begin` if not
/// even the first group fits.
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
