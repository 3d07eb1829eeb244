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
// If a first group can't be placed, the work item can't be run: next() ends, and failure() names offset and slot (C31). A
// splitter gives up after two arrangements of what may move, in the order of the list and the largest first; an exhaustive
// search might find another one.
//
// Everything that fits stays resident from part to part, and from work item to work item.
//
// Invariant: parts cover [0, end) once and in order, none is empty; before each part all is resident that its commands use;
// what the policy was told to hold is never more than it said would fit.
//
// Not promised: the least number of parts, or of bytes moved. Not for several threads at once; each part's answers are for
// who drives it. Managers beside it ask a split_table.
#ifndef TIDEMARK_SPLITTER_HPP
#define TIDEMARK_SPLITTER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "detail/assert.hpp"
#include "detail/move_order.hpp"
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
  std::span<const paging_operation<Allocation>> paging;  ///< Until the next call of next() or begin().
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
  /// Of an allocation, in what the policy counts in; more than 0, and the same as long as it is resident.
  using size_function = std::function<std::uint64_t(const Allocation&)>;

  /// \param max_slot  the largest slot of the lists
  splitter(std::uint32_t max_slot, Placement placement, size_function size_of)
      : placement_{std::move(placement)}, size_of_{std::move(size_of)}, rows_(std::size_t{max_slot} + 1, none) {
    TIDEMARK_ASSERT(max_slot <= largest_slot, "a slot has 24 bits");
  }

  /// Begins a work item of `end` bytes, or whatever it is counted in; one that was not completed is given up. All slots are
  /// unbound, what is resident stays. The list is copied. A wrong one is refused, and changes nothing: check_split_list(), or
  /// `no_bytes`.
  split_list_error begin(std::span<const entry> entries, std::uint64_t end) {
    if (const split_list_error error = check_split_list(entries, largest_row(), end)) return error;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& [allocation, slot, offset] = entries[i];
      if (allocation != Allocation{} && size_of_(allocation) == 0) return {split_fault::no_bytes, i, slot, offset};
    }
    keep_residents();
    end_ = end;
    learn(entries);
    cut_ = 0;
    position_ = 0;
    number_ = 0;
    failure_.reset();
    return {};
  }

  /// The next part, and what is to be done before it; nothing behind the last one (C32), and where failure() says why.
  ///
  /// O(log allocations) for each entry and operation; O(what may be evicted) at each cut; allocates.
  [[nodiscard]] std::optional<part> next() {
    paging_.clear();
    changed_.clear();
    if (is_over()) return {};
    const std::uint64_t begin = cut_;
    let_go();
    if (const std::size_t group = next_group(); group > 0 && entries_[position_].split_offset == begin) {
      if (!enter_first(group)) return {};
      position_ += group;
    }
    cut_ = end_;
    while (const std::size_t group = next_group()) {
      if (!enter(group)) {
        cut_ = entries_[position_].split_offset;
        break;
      }
      position_ += group;
    }
    statistics_.count_part<Allocation>(paging_);
    return part{number_++, begin, cut_, paging_};
  }

  /// Why the work item can't be completed. The parts before were handed out; see would_fail().
  [[nodiscard]] std::optional<unsatisfiable> failure() const noexcept { return failure_; }

  /// What failure() would say of this work item if it came next, without a change to anything: the list is worked through
  /// on a copy. For a list that begin() does not refuse.
  [[nodiscard]] std::optional<unsatisfiable> would_fail(std::span<const entry> entries, std::uint64_t end) const {
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
    return rows_[slot] == none ? Allocation{} : known_[rows_[slot]].allocation;
  }
  /// Where the allocation is once the part that was handed out last may run; nothing if it is not resident then.
  [[nodiscard]] std::optional<std::uint64_t> address_of(const Allocation& allocation) const {
    const auto found = numbers_.find(allocation);
    if (found == numbers_.end() || !known_[found->second].is_here) return {};
    return known_[found->second].address;
  }
  /// The allocation ceases to exist: its place is free, nothing is to be saved. No part that may still run uses it, and no
  /// slot holds it, unless the work item is over. Harmless if it is not resident.
  void forget(const Allocation& allocation) {
    const auto found = numbers_.find(allocation);
    if (found == numbers_.end() || !known_[found->second].is_here) return;
    known& one = known_[found->second];
    TIDEMARK_ASSERT(one.rows == 0 || is_over(), "a slot holds what is to be forgotten");
    std::replace(rows_.begin(), rows_.end(), one.rows > 0 ? found->second : none, none);
    one.rows = 0;
    placement_.release(one.address, one.bytes);
    one.is_here = false;
  }

  const split_statistics& statistics() const noexcept { return statistics_; }
  const Placement& placement() const noexcept { return placement_; }

 private:
  using number = std::uint32_t;
  static constexpr number none = std::numeric_limits<number>::max();
  static constexpr number superseded = none - 1;  // by a later entry of the same group
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  struct known {
    Allocation allocation{};
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    std::size_t next_use = never;  // the entry that binds it next
    number rows = 0;               // that hold it
    number rows_in_group = 0;      // of these, those of the part's first group
    bool is_here = false;
  };
  struct candidate {  // for eviction, unless it was used again since
    std::size_t next_use;
    number which;
    auto operator<=>(const candidate&) const = default;
  };
  struct moved {
    number which;
    std::uint64_t from;
  };

  std::uint32_t largest_row() const noexcept { return static_cast<std::uint32_t>(rows_.size() - 1); }
  bool is_over() const noexcept { return cut_ == end_ || failure_; }

  // ---- a new work item -----------------------------------------------------------------------------------------------

  void keep_residents() {
    std::vector<known> kept;
    numbers_.clear();
    candidates_.clear();
    let_go_.clear();
    std::fill(rows_.begin(), rows_.end(), none);
    for (const known& one : known_) {
      if (!one.is_here) continue;
      numbers_.emplace(one.allocation, static_cast<number>(kept.size()));
      kept.push_back({one.allocation, one.bytes, one.address, never, 0, 0, true});
    }
    known_ = std::move(kept);
    bound_bytes_ = 0;
  }

  /// Which allocation each entry binds, and which entry binds it next. Entries at the end bind nothing any more.
  void learn(std::span<const entry> entries) {
    while (!entries.empty() && entries.back().split_offset == end_) entries = entries.first(entries.size() - 1);
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
        const auto [found, is_new] = numbers_.try_emplace(allocation, static_cast<number>(known_.size()));
        if (is_new) known_.push_back({allocation, size_of_(allocation)});
        bound_[i] = found->second;
        next_bind_[i] = std::exchange(known_[found->second].next_use, i);
      }
    }
    for (number which = 0; which < known_.size(); ++which) may_go(which);
  }

  // ---- groups --------------------------------------------------------------------------------------------------------

  /// How many entries the next group has.
  std::size_t next_group() const noexcept {
    return position_ == entries_.size() ? 0 : detail::group_length(std::span<const entry>{entries_}.subspan(position_));
  }

  /// Calls `what(index, allocation)` for the entries of a group that hold: for each slot the last one.
  template <class What>
  void for_each_holding(std::size_t group, const What& what) {
    for (std::size_t i = position_; i < position_ + group; ++i) {
      if (bound_[i] != superseded) what(i, bound_[i]);
    }
  }

  /// The first group of a part: from here on only it is needed, and what the other rows hold.
  bool enter_first(std::size_t group) {
    for (const number replaced : update_rows(group)) may_go(replaced);
    std::vector<number> needed;  // in list order, none twice
    for_each_holding(group, [&](std::size_t, number which) {
      if (which != none && known_[which].rows_in_group++ == 0) needed.push_back(which);
    });
    std::vector<moved> movable;
    std::uint64_t pinned = bound_bytes_;
    for (const number which : needed) {
      if (known_[which].rows != known_[which].rows_in_group) continue;
      pinned -= known_[which].bytes;
      if (known_[which].is_here) movable.push_back({which, known_[which].address});
    }
    const std::optional<std::uint32_t> refused = bring(group);
    const bool is_placed = !refused || rearrange(needed, movable);
    for (const number which : needed) known_[which].rows_in_group = 0;
    if (is_placed) {
      count_cut(pinned, movable);
    } else {
      failure_ = {entries_[position_].split_offset, *refused};
    }
    return is_placed;
  }

  /// A later group of the part; false, and nothing has changed, where the part has to end before it.
  bool enter(std::size_t group) {
    if (bring(group)) return false;
    for (const number replaced : update_rows(group)) let_go_.push_back(replaced);  // the part uses it
    return true;
  }

  /// Makes resident what the group binds; or the first slot whose allocation does not fit, and nothing has changed.
  std::optional<std::uint32_t> bring(std::size_t group) {
    const std::size_t before = paging_.size();
    std::optional<std::uint32_t> refused;
    // What the group binds does not go for the rest of it.
    for_each_holding(group, [&](std::size_t, number which) {
      if (which != none) ++known_[which].rows;
    });
    for_each_holding(group, [&](std::size_t index, number which) {
      if (refused || which == none || known_[which].is_here) return;
      if (!page_in(which)) refused = entries_[index].slot;
    });
    for_each_holding(group, [&](std::size_t, number which) {
      if (which == none) return;
      --known_[which].rows;
      if (refused) may_go(which);  // again: evict_one() has passed it over
    });
    if (refused) take_back(before);
    return refused;
  }

  /// The rows after a group. What it replaced and no row holds any more.
  std::vector<number> update_rows(std::size_t group) {
    std::vector<number> replaced;
    for_each_holding(group, [&](std::size_t index, number which) {
      const number before = std::exchange(rows_[entries_[index].slot], which);
      if (before != none) replaced.push_back(before);
      if (which == none) return;
      known_[which].next_use = next_bind_[index];
      if (known_[which].rows++ == 0) bound_bytes_ += known_[which].bytes;
    });
    for (const number before : replaced) {
      if (--known_[before].rows == 0) bound_bytes_ -= known_[before].bytes;
    }
    std::erase_if(replaced, [this](number before) { return known_[before].rows > 0; });
    return replaced;
  }

  // ---- residency -----------------------------------------------------------------------------------------------------

  /// What was replaced within the part before is not used any more.
  void let_go() {
    for (const number which : let_go_) may_go(which);
    let_go_.clear();
  }

  void may_go(number which) {
    if (!known_[which].is_here || known_[which].rows > 0) return;
    candidates_.push_back({known_[which].next_use, which});
    std::push_heap(candidates_.begin(), candidates_.end());
  }

  bool page_in(number which) {
    known& one = known_[which];
    std::optional<std::uint64_t> address;
    while (!(address = placement_.place(one.bytes))) {
      if (!evict_one()) return false;
    }
    one.address = *address;
    one.is_here = true;
    write(paging_kind::page_in, which, 0, one.address);
    return true;
  }

  /// That which is needed again last.
  bool evict_one() {
    while (!candidates_.empty()) {
      const auto [next_use, which] = candidates_.front();
      std::pop_heap(candidates_.begin(), candidates_.end());
      candidates_.pop_back();
      known& one = known_[which];
      if (!one.is_here || one.rows > 0 || one.next_use != next_use) continue;
      placement_.release(one.address, one.bytes);
      one.is_here = false;
      write(paging_kind::evict, which, one.address, 0);
      return true;
    }
    return false;
  }

  void write(paging_kind kind, number which, std::uint64_t from, std::uint64_t to) {
    paging_.push_back({kind, known_[which].allocation, known_[which].bytes, from, to});
    changed_.push_back(which);
  }

  /// Undoes the operations behind the first `count` of the part; none of them is a move.
  void take_back(std::size_t count) {
    while (paging_.size() > count) {
      known& one = known_[changed_.back()];
      one.is_here = paging_.back().kind == paging_kind::evict;
      if (one.is_here) {
        placement_.take(one.address, one.bytes);
        may_go(changed_.back());
      } else {
        placement_.release(one.address, one.bytes);
      }
      paging_.pop_back();
      changed_.pop_back();
    }
  }

  // ---- moving --------------------------------------------------------------------------------------------------------

  /// Places anew what only the part's first group holds, with all that may go gone.
  bool rearrange(const std::vector<number>& needed, const std::vector<moved>& movable) {
    while (evict_one()) {
    }
    for (const moved& one : movable) placement_.release(one.from, known_[one.which].bytes);
    std::vector<number> order;
    for (const number which : needed) {
      if (!known_[which].is_here || known_[which].rows == known_[which].rows_in_group) order.push_back(which);
    }
    std::vector<number> largest_first = order;
    std::sort(largest_first.begin(), largest_first.end(), [this](number one, number other) {
      return known_[one].bytes != known_[other].bytes ? known_[one].bytes > known_[other].bytes : one < other;
    });
    if (!place_all(order) && !place_all(largest_first)) {
      for (const moved& one : movable) {
        known_[one.which].address = one.from;
        placement_.take(one.from, known_[one.which].bytes);
      }
      take_back(0);
      return false;
    }
    write_moves(movable);
    for (const number which : order) {
      if (!std::exchange(known_[which].is_here, true)) write(paging_kind::page_in, which, 0, known_[which].address);
    }
    return true;
  }

  bool place_all(const std::vector<number>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::optional<std::uint64_t> address = placement_.place(known_[order[i]].bytes);
      if (address) {
        known_[order[i]].address = *address;
        continue;
      }
      while (i-- > 0) placement_.release(known_[order[i]].address, known_[order[i]].bytes);
      return false;
    }
    return true;
  }

  void write_moves(const std::vector<moved>& movable) {
    std::vector<detail::block_move> moves;
    for (const moved& one : movable) {
      const known& what = known_[one.which];
      if (one.from != what.address) moves.push_back({one.which, what.bytes, one.from, what.address});
    }
    for (const detail::block_move& one : detail::in_order(std::move(moves))) {
      if (one.must_leave) known_[one.which].is_here = false;
      write(one.must_leave ? paging_kind::evict : paging_kind::move, one.which, one.from, one.must_leave ? 0 : one.to);
    }
  }

  // ---- counting ------------------------------------------------------------------------------------------------------

  void count_cut(std::uint64_t pinned, const std::vector<moved>& movable) {
    if (number_ == 0) return;
    std::uint64_t kept = pinned;
    for (const moved& one : movable) kept += known_[one.which].address == one.from ? known_[one.which].bytes : 0;
    statistics_.count_cut(pinned, kept);
  }

  Placement placement_;
  size_function size_of_;

  std::vector<known> known_;
  std::unordered_map<Allocation, number, Hash> numbers_;  // of known_
  std::vector<candidate> candidates_;                     // a heap
  std::vector<number> let_go_;                            // replaced within the part, which uses it
  std::uint64_t bound_bytes_ = 0;

  std::vector<entry> entries_;
  std::vector<number> bound_;           // by entry: what it binds
  std::vector<std::size_t> next_bind_;  // by entry: the next one that binds the same
  std::vector<number> rows_;
  std::size_t position_ = 0;  // in entries_
  std::uint64_t cut_ = 0;     // where the next part begins
  std::uint64_t end_ = 0;
  std::uint64_t number_ = 0;

  std::vector<operation> paging_;
  std::vector<number> changed_;  // what each of them is about
  std::optional<unsatisfiable> failure_;
  split_statistics statistics_;
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLITTER_HPP
