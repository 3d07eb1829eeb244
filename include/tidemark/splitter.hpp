// SPDX-License-Identifier: BSL-1.0
//
// A splitter cuts a work item that needs more than fits at once into parts that fit, and says what is to be paged in and
// out before each of them.
//
//   tidemark::splitter<region_id, tidemark::address_space<>> parts{max_slot, tidemark::address_space<>{budget}, size_of};
//   if (auto error = parts.begin(list.entries(), end)) return report(error);
//   while (auto part = parts.next()) {
//     for (const auto& operation : part->paging) carry_out(operation);
//     submit(part->begin, part->end);
//   }
//   if (auto failed = parts.failure()) report(failed->offset, failed->slot);
//
// How a cut is found (C16 to C22): entries are taken in the order of the list, a group of one offset as a whole. What is
// not resident is placed; if it does not fit, what no row holds and the part does not use is evicted, that first which is
// needed again last. If a group still does not fit, the part ends before it, where the group begins, and the next part
// begins with it. In that first group of a part
//
//   - what other slots hold keeps its place (C21);
//   - what only slots of the group hold was reprogrammed at this cut, and may move (C28), if the rest does not fit else;
//   - what the group replaced may be evicted (C14), and so may what was replaced within the part before.
//
// If a first group can't be placed, the work item is given up: next() ends, and failure() names offset and slot (C31). That
// is after two arrangements of what may move, in the order of the list and the largest first; an exhaustive search might
// find another one.
//
// What was not evicted stays resident from part to part, and from work item to work item. It does not make a part of what
// fits as a whole (C2): the first part is planned anew, without it, before it is cut. It may lie where a later part's first
// group would do better without; after evict_all() a work item is cut as by a new splitter.
//
// Invariant: parts cover [0, end) once and in order, none is empty; before each part all is resident that its commands use;
// what the policy was told to hold is never more than it said would fit.
//
// Not promised: the least number of parts, or of bytes moved. Not for several threads at once; each part's answers are for
// who drives it. Managers beside it ask a split_table.
#ifndef TIDEMARK_SPLITTER_HPP
#define TIDEMARK_SPLITTER_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "detail/assert.hpp"
#include "detail/residents.hpp"
#include "detail/split_paging.hpp"
#include "split_list.hpp"
#include "split_placement.hpp"

namespace tidemark {

/// The commands [begin, end) of a work item, and what comes before them.
template <class Allocation>
struct split_part {
  std::uint64_t number = 0;  ///< From 0 on.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::span<const paging_operation<Allocation>> paging;  ///< Until the next call of next() or evict_all().
};

/// A group at `offset` that can't be placed; `slot` is that of the first of its allocations which does not fit.
struct unsatisfiable {
  std::uint64_t offset = 0;
  std::uint32_t slot = 0;

  bool operator==(const unsatisfiable&) const = default;
};

/// \tparam Placement  see split_placement.hpp
template <split_allocation Allocation, split_placement Placement = counting_budget, class Hash = std::hash<Allocation>>
class splitter {
 public:
  using entry = split_entry<Allocation>;
  using part = split_part<Allocation>;
  using operation = paging_operation<Allocation>;
  /// Of an allocation, in what the policy counts in; more than 0. The same from begin() to the end of the work item, and as
  /// long as it is resident. What it throws comes out of begin().
  using size_function = std::function<std::uint64_t(const Allocation&)>;

  /// \param max_slot  the largest slot of the lists
  splitter(std::uint32_t max_slot, Placement placement, size_function size_of)
      : residents_{std::move(placement)}, size_of_{std::move(size_of)}, rows_(rows_for(max_slot), none) {}

  /// Begins a work item of `end` bytes, or whatever it is counted in; one that was not completed is given up. All slots are
  /// unbound, what is resident stays. The list is copied. A wrong one is refused, and changes nothing: check_split_list(), or
  /// `no_bytes`. After an exception there is no work item, and what is resident is so still.
  split_list_error begin(std::span<const entry> entries, std::uint64_t end) {
    TIDEMARK_ASSERT(!is_torn_, "an exception has left the splitter unusable");
    if (const split_list_error error = check_split_list(entries, largest_row(), end)) return error;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& [allocation, slot, offset] = entries[i];
      if (allocation != Allocation{} && size_of_(allocation) == 0) return {split_fault::no_bytes, i, slot, offset};
    }
    give_up();
    residents_.keep_residents();
    may_begin_anew_ = residents_.size() > 0;
    learn(entries, end);
    end_ = end;
    return {};
  }

  /// The next part, and what is to be done before it; nothing behind the last one (C32), and where failure() says why.
  ///
  /// O(log allocations) for each entry and operation, and what the policy takes; O(what may be evicted) at each cut;
  /// allocates. An exception, of the policy or std::bad_alloc, leaves a splitter that does not know what is resident: all
  /// that is left to do is to destroy it, or to assign another one.
  [[nodiscard]] std::optional<part> next() {
    TIDEMARK_ASSERT(!is_torn_, "an exception has left the splitter unusable");
    residents_.begin_part();
    if (is_over()) return {};
    is_torn_ = true;
    const std::uint64_t begin = cut_;
    const bool is_placed = plan_part();
    is_torn_ = false;
    if (!is_placed) return {};
    ++statistics_.parts;
    statistics_.count_paging(residents_.paging());
    return part{number_++, begin, cut_, residents_.paging()};
  }

  /// Why the work item can't be completed. The parts before were handed out; see would_fail().
  [[nodiscard]] std::optional<unsatisfiable> failure() const noexcept { return failure_; }

  /// What failure() would say of this work item if it came now, without a change to anything: the list is worked through on
  /// a copy, also of the policy. For a list that begin() does not refuse.
  [[nodiscard]] std::optional<unsatisfiable> would_fail(std::span<const entry> entries,
                                                        std::uint64_t end) const requires std::copyable<Placement> {
    splitter trial = *this;
    [[maybe_unused]] const split_list_error error = trial.begin(entries, end);
    TIDEMARK_ASSERT(!error, "begin() would refuse the list");
    while (trial.next()) {
    }
    return trial.failure();
  }

  /// What the slot holds where the part that was handed out last ends (C20): what replaces it there does not count.
  [[nodiscard]] Allocation row(std::uint32_t slot) const noexcept {
    TIDEMARK_ASSERT(slot < rows_.size(), "there is no such row");
    return rows_[slot] == none ? Allocation{} : residents_[rows_[slot]].allocation;
  }
  /// Where the allocation is once the part that was handed out last may run; nothing if it is not resident then.
  [[nodiscard]] std::optional<std::uint64_t> address_of(const Allocation& allocation) const {
    const auto which = residents_.find(allocation);
    if (!which || !residents_[*which].is_here) return {};
    return residents_[*which].address;
  }
  /// The allocation ceases to exist: its place is free, nothing is to be saved. No part that may still run uses it, and no
  /// slot holds it, unless the work item is over. Harmless if it is not resident.
  void forget(const Allocation& allocation) {
    const auto which = residents_.find(allocation);
    if (!which || !residents_[*which].is_here) return;
    number& holders = residents_[*which].holders;
    TIDEMARK_ASSERT(holders == 0 || is_over(), "a slot holds what is to be forgotten");
    if (std::exchange(holders, 0) > 0) std::replace(rows_.begin(), rows_.end(), *which, none);
    residents_.drop(*which);
  }
  /// Everything goes, between two work items, and no slot holds anything: what is to be saved before the memory is given up.
  /// The operations are there until the next call of it or of next(). Exceptions as of next().
  std::span<const operation> evict_all() {
    TIDEMARK_ASSERT(is_over() && !is_torn_, "a work item is in progress");
    give_up();
    residents_.begin_part();
    is_torn_ = true;
    for (number which = 0; which < residents_.size(); ++which) {
      if (residents_[which].is_here) residents_.evict(which);
    }
    is_torn_ = false;
    statistics_.count_paging(residents_.paging());
    return residents_.paging();
  }

  const split_statistics& statistics() const noexcept { return statistics_; }
  const Placement& placement() const noexcept { return residents_.placement(); }

 private:
  using residents = detail::residents<Allocation, Placement, Hash>;
  using number = typename residents::number;
  static constexpr number none = std::numeric_limits<number>::max();
  static constexpr number superseded = none - 1;  // by a later entry of the same group
  static constexpr std::size_t never = residents::never;

  static std::size_t rows_for(std::uint32_t max_slot) {
    TIDEMARK_ASSERT(max_slot <= largest_slot, "a slot has 24 bits");
    return std::size_t{max_slot} + 1;
  }
  std::uint32_t largest_row() const noexcept { return static_cast<std::uint32_t>(rows_.size() - 1); }
  bool is_over() const noexcept { return cut_ == end_ || failure_; }

  // ---- a new work item -----------------------------------------------------------------------------------------------

  /// No work item, and empty rows.
  void give_up() noexcept {
    entries_.clear();
    let_go_.clear();
    std::fill(rows_.begin(), rows_.end(), none);
    bound_bytes_ = 0;
    position_ = 0;
    cut_ = 0;
    end_ = 0;
    number_ = 0;
    failure_.reset();
  }

  /// Which allocation each entry binds, and which entry binds it next. Entries at the end bind nothing any more.
  void learn(std::span<const entry> entries, std::uint64_t end) {
    while (!entries.empty() && entries.back().split_offset == end) entries = entries.first(entries.size() - 1);
    entries_.assign(entries.begin(), entries.end());
    bound_.assign(entries.size(), none);
    next_bind_.assign(entries.size(), never);
    std::vector<std::size_t> last(rows_.size(), never);  // by slot
    for (std::size_t i = entries.size(); i-- > 0;) {
      const auto& [allocation, slot, offset] = entries[i];
      const std::size_t later = std::exchange(last[slot], i);
      if (later != never && entries[later].split_offset == offset) {
        bound_[i] = superseded;
      } else if (allocation != Allocation{}) {
        bound_[i] = residents_.find_or_add(allocation, size_of_);
        next_bind_[i] = std::exchange(residents_[bound_[i]].next_use, i);
      }
    }
    for (number which = 0; which < residents_.size(); ++which) residents_.may_go(which);
  }

  // ---- parts ---------------------------------------------------------------------------------------------------------

  /// From cut_ on, which becomes its end; false, and nothing has changed but failure_, if its first group can't be placed.
  bool plan_part() {
    for (const number which : let_go_) residents_.may_go(which);
    let_go_.clear();
    if (const std::size_t group = next_group(); group > 0 && entries_[position_].split_offset == cut_) {
      if (!enter_first(group)) return false;
      position_ += group;
    }
    while (const std::size_t group = next_group()) {
      if (!enter(group)) {
        cut_ = entries_[position_].split_offset;
        return true;
      }
      position_ += group;
    }
    cut_ = end_;
    return true;
  }

  /// How many entries the next group has.
  std::size_t next_group() const noexcept {
    return position_ == entries_.size() ? 0 : detail::group_length(std::span<const entry>{entries_}.subspan(position_));
  }

  /// Calls `what(index, allocation)` for the entries from `first` up to the end of the next group that hold: of a group for
  /// each slot the last one. The allocation may be `none`.
  template <class What>
  void for_each_holding(std::size_t first, std::size_t group, const What& what) {
    for (std::size_t i = first; i < position_ + group; ++i) {
      if (bound_[i] != superseded) what(i, bound_[i]);
    }
  }

  /// What these entries bind, in list order and none twice. `marks` says how many rows bind it.
  std::vector<number> needed_from(std::size_t first, std::size_t group) {
    std::vector<number> needed;
    for_each_holding(first, group, [&](std::size_t, number which) {
      if (which != none && residents_[which].marks++ == 0) needed.push_back(which);
    });
    return needed;
  }

  /// The first group of a part: from here on only it is needed, and what the other rows hold.
  bool enter_first(std::size_t group) {
    std::vector<std::pair<std::uint32_t, number>> before;  // slots, and what they held
    for_each_holding(position_, group, [&](std::size_t index, number) {
      before.push_back({entries_[index].slot, rows_[entries_[index].slot]});
    });
    for (const number replaced : update_rows(group)) residents_.may_go(replaced);
    const std::vector<number> needed = needed_from(position_, group);
    const auto may_move = [this](number which) { return residents_[which].holders == residents_[which].marks; };
    std::vector<std::pair<number, std::uint64_t>> movable;  // and where it is
    std::uint64_t pinned = bound_bytes_;
    for (const number which : needed) {
      if (!may_move(which)) continue;
      pinned -= residents_[which].bytes;
      if (residents_[which].is_here) movable.push_back({which, residents_[which].address});
    }
    const std::optional<std::uint32_t> refused = bring(group);
    bool is_placed = !refused;
    if (refused) {
      std::vector<number> order;
      std::copy_if(needed.begin(), needed.end(), std::back_inserter(order),
                   [&](number which) { return !residents_[which].is_here || may_move(which); });
      is_placed = residents_.place_anew(order);
      may_begin_anew_ = false;
    }
    for (const number which : needed) residents_[which].marks = 0;
    if (is_placed) {
      count_cut(pinned, movable);
    } else {
      failure_ = {entries_[position_].split_offset, *refused};
      for (const auto& [slot, held] : before) put(slot, held);
    }
    return is_placed;
  }

  /// A later group of the part; false, and nothing has changed, where the part has to end before it.
  bool enter(std::size_t group) {
    if (bring(group) && !begin_anew(group)) return false;
    for (const number replaced : update_rows(group)) let_go_.push_back(replaced);  // the part uses it
    return true;
  }

  /// Makes resident what the group binds; or the first slot whose allocation does not fit, and nothing has changed.
  std::optional<std::uint32_t> bring(std::size_t group) {
    const std::size_t before = residents_.paging().size();
    std::optional<std::uint32_t> refused;
    // What the group binds does not go for the rest of it.
    for_each_holding(position_, group, [&](std::size_t, number which) {
      if (which != none) ++residents_[which].holders;
    });
    for_each_holding(position_, group, [&](std::size_t index, number which) {
      if (refused || which == none || residents_[which].is_here) return;
      if (!residents_.page_in(which)) refused = entries_[index].slot;
    });
    for_each_holding(position_, group, [&](std::size_t, number which) {
      if (which == none) return;
      --residents_[which].holders;
      if (refused) residents_.may_go(which);  // again: it was passed over
    });
    if (refused) residents_.take_back(before);
    return refused;
  }

  /// The first part as far as it goes and this group, with what earlier work items left out of the way: nothing is bound
  /// before it, so all may move. False, and nothing has changed, if it does not fit so either.
  bool begin_anew(std::size_t group) {
    if (number_ > 0 || !std::exchange(may_begin_anew_, false)) return false;
    const std::vector<number> needed = needed_from(0, group);
    for (const number which : needed) ++residents_[which].holders;
    const bool is_placed = residents_.begin_part_anew(needed);
    for (const number which : needed) {
      residents_[which].marks = 0;
      --residents_[which].holders;
      if (!is_placed) residents_.may_go(which);  // in the next part
    }
    return is_placed;
  }

  // ---- rows ----------------------------------------------------------------------------------------------------------

  /// What the slot held before.
  number put(std::uint32_t slot, number which) {
    const number before = std::exchange(rows_[slot], which);
    if (which != none && residents_[which].holders++ == 0) bound_bytes_ += residents_[which].bytes;
    if (before != none && --residents_[before].holders == 0) bound_bytes_ -= residents_[before].bytes;
    return before;
  }

  /// The rows after a group. What it replaced and no row holds any more.
  std::vector<number> update_rows(std::size_t group) {
    std::vector<number> replaced;
    for_each_holding(position_, group, [&](std::size_t index, number which) {
      if (which != none) residents_[which].next_use = next_bind_[index];
      if (const number before = put(entries_[index].slot, which); before != none) replaced.push_back(before);
    });
    std::erase_if(replaced, [this](number before) { return residents_[before].holders > 0; });
    return replaced;
  }

  void count_cut(std::uint64_t pinned, const std::vector<std::pair<number, std::uint64_t>>& movable) {
    if (number_ == 0) return;
    std::uint64_t kept = pinned;
    for (const auto& [which, from] : movable) kept += residents_[which].address == from ? residents_[which].bytes : 0;
    statistics_.count_cut(pinned, kept);
  }

  residents residents_;
  size_function size_of_;

  std::vector<entry> entries_;
  std::vector<number> bound_;           // by entry: what it binds
  std::vector<std::size_t> next_bind_;  // by entry: the next one that binds the same
  std::vector<number> rows_;
  std::vector<number> let_go_;  // replaced within the part, which uses it
  std::uint64_t bound_bytes_ = 0;

  std::size_t position_ = 0;  // in entries_
  std::uint64_t cut_ = 0;     // where the next part begins
  std::uint64_t end_ = 0;
  std::uint64_t number_ = 0;
  bool may_begin_anew_ = false;  // there is what earlier work items left, and it is not yet out of the way
  bool is_torn_ = false;         // an exception came out of the middle of a plan

  std::optional<unsatisfiable> failure_;
  split_statistics statistics_;
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLITTER_HPP
