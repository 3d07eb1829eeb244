// SPDX-License-Identifier: BSL-1.0
//
// Where a work item needs more memory than there is, a splitter cuts it into parts that fit. For each part it says what
// must be paged in and out before the part may run.
//
//   using tidemark::slot_id;
//   tidemark::splitter<region_id, tidemark::address_space<>> parts{
//       {.max_slot = slot_id{15}}, tidemark::address_space<>{{.bytes = budget}}, size_of};
//   if (auto begun = parts.begin(list.entries(), end); !begun) return report(*begun.defect);
//   auto part = parts.next();
//   for (; part; part = parts.next()) {
//     for (const auto& operation : part.paging) carry_out(operation);
//     submit(part.begin, part.end);
//   }
//   if (part.failed) report(part.failed->slot, part.failed->split_offset);
//
// submit_parts.hpp has this loop ready-made.
//
// How a cut is found. The words are those of split_list.hpp: entries with the same offset are a group. The splitter
// takes the entries in the order of the list, and each group as a whole. It places the allocations of the group that
// are not resident. If one does not fit, it evicts allocations that no slot holds and that the part does not use. The
// one whose next use is farthest away goes first. If the group still does not fit, the part ends where the group
// begins, and the next part begins with that group. When it is the first group of a part,
//
//   - an allocation that a slot outside the group and the prologue holds keeps its place;
//   - an allocation may move if the group does not fit otherwise, and if only slots of the group and of the prologue
//     hold it once the group is applied: then the part begins by binding it. The slots of the prologue are given to
//     begin(); the prologue of each part binds them again (submit_parts.hpp);
//   - an allocation that no slot holds any more once the group is applied may be evicted, also one that the part before
//     has used.
//
// If the first group of a part can't be placed, the work item is `unsatisfiable`: next() returns no further part, and
// names the slot and the offset. By then two arrangements of what may move have been tried: in the order of the list,
// and the largest first. An exhaustive search might find another arrangement.
//
// What was not evicted stays resident, from part to part and from work item to work item. Such leftovers do not cause a
// cut where the work item would fit as a whole: if they would force a cut in the first part, it is planned again
// without them. They may however lie in the way of a later part. After evict_all(), a work item is cut as by a new
// splitter.
//
// Invariant: the parts cover [0, end) once and in order, and no part is empty. When a part may run, every allocation
// that its commands use is resident. An allocation is resident only while the placement policy has a place reserved for
// it.
//
// Threads: one at a time; the same thread reads the parts. Other threads that must know which allocations the work item
// still needs ask a split table (split_table.hpp). Not promised: the least number of parts, or of bytes moved.
#ifndef TIDEMARK_SPLIT_SPLITTER_HPP
#define TIDEMARK_SPLIT_SPLITTER_HPP

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

#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "detail/residents.hpp"
#include "paging.hpp"
#include "split_list.hpp"
#include "split_placement.hpp"

namespace tidemark {

/// A group that can't be placed.
struct unsatisfiable_group {
  slot_id slot{};                  ///< The slot of the first allocation of the group that does not fit.
  std::uint64_t split_offset = 0;  ///< Where the group begins.

  bool operator==(const unsatisfiable_group&) const = default;
};

/// Whether a splitter has planned another part.
enum class split_part_status : std::uint8_t {
  planned,        ///< The part may run after its paging.
  ended,          ///< There is no further part: all of the work item was planned, or none was begun.
  unsatisfiable,  ///< There is no further part, because a group can't be placed; `failed` says which one.
};

template <>
inline constexpr auto detail::names_of<split_part_status> = detail::names("planned", "ended", "unsatisfiable");

/// The commands [begin, end) of a work item, and the paging that must come before them.
template <class Allocation>
struct [[nodiscard]] split_part {
  split_part_status status = split_part_status::ended;
  std::uint64_t number = 0;  ///< The number of the part within its work item, from 0 on.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  /// The operations, to be carried out in this order. Valid until the next call of next() or evict_all().
  std::span<const paging_operation<Allocation>> paging{};
  std::optional<unsatisfiable_group> failed{};  ///< Present if and only if the status is `unsatisfiable`.

  explicit operator bool() const noexcept { return status == split_part_status::planned; }
};

/// Whether a splitter has begun a work item.
enum class split_begin_status : std::uint8_t {
  begun,    ///< next() plans the parts of this work item.
  invalid,  ///< The list is wrong; nothing has changed, and `defect` says why.
};

template <>
inline constexpr auto detail::names_of<split_begin_status> = detail::names("begun", "invalid");

/// The result of splitter::begin().
struct [[nodiscard]] split_begin_result {
  split_begin_status status = split_begin_status::begun;
  std::optional<split_defect> defect{};  ///< Present if and only if the status is `invalid`.

  explicit operator bool() const noexcept { return status == split_begin_status::begun; }
};

/// The choices of a splitter.
struct splitter_options {
  slot_id max_slot{};  ///< The largest slot of the lists, at most largest_slot (asserted). Each slot has a row.
};

/// What tells allocations apart in a hash table: std::hash, or a function object of yours.
template <class H, class Allocation>
concept allocation_hash =
    std::default_initializable<H> && std::copyable<H> && requires(const H& hash, const Allocation& allocation) {
      { hash(allocation) } -> std::convertible_to<std::size_t>;
    };

/// \tparam Allocation  what a slot holds; `Allocation{}` is the null handle
/// \tparam Placement   decides where allocations go; see split_placement.hpp
template <split_allocation Allocation, split_placement Placement = counting_budget,
          allocation_hash<Allocation> Hash = std::hash<Allocation>>
class splitter {
 public:
  using entry = split_entry<Allocation>;
  using part = split_part<Allocation>;
  using operation = paging_operation<Allocation>;
  /// Returns the size of an allocation in the units of the placement policy, at least 1. The size must stay the same
  /// from begin() to the end of the work item, and as long as the allocation is resident. What it throws comes out of
  /// begin() and would_fail().
  using size_function = std::function<std::uint64_t(const Allocation&)>;

  /// Allocates the rows. Throws std::bad_alloc, as nearly all functions of a splitter do; there is no make() that
  /// throws nothing.
  splitter(const splitter_options& options, Placement placement, size_function size_of)
      : residents_{std::move(placement)}, size_of_{std::move(size_of)}, rows_(rows_for(options.max_slot), none) {}

  /// Begins a work item. If the one before was not completed, it is given up. All slots are unbound; resident
  /// allocations stay. Returns `begun`, or `invalid` where check_split_list() finds the list invalid or the size of
  /// an allocation is 0 (`no_bytes`); nothing has changed then. After an exception either nothing has changed, and the
  /// work item before goes on, or there is no work item; all resident allocations are still in place.
  ///
  /// O(slots + entries + r * log(r)), where r allocations are resident. Allocates.
  /// \param entries      the list, which is copied
  /// \param end          the length of the work item, in the units of the offsets
  /// \param in_prologue  the slots of the prologue, which are copied. Asserts that none is above the largest one. Such
  ///                     a slot is ignored otherwise
  split_begin_result begin(std::span<const entry> entries, std::uint64_t end,
                           std::span<const slot_id> in_prologue = {}) {
    TIDEMARK_ASSERT(!is_torn_, "an exception has left the splitter unusable");
    if (const auto checked = check_split_list(entries, largest_row(), end); !checked) {
      return {split_begin_status::invalid, checked.defect};
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& [allocation, slot, offset] = entries[i];
      if (allocation == Allocation{} || size_of_(allocation) > 0) continue;
      return {split_begin_status::invalid, split_defect{split_fault::no_bytes, i, slot, offset}};
    }
    give_up();
    learn_prologue(in_prologue);
    residents_.keep_residents();
    may_begin_anew_ = residents_.size() > 0;
    learn(entries, end);
    end_ = end;
    return {};
  }

  /// Plans the next part. Returns it with the status `planned`; `ended` behind the last part; `unsatisfiable` where a
  /// group can't be placed. It then returns that again at each call until begin() or evict_all() is called. The parts
  /// before that group were handed out by then; would_fail() says beforehand whether that will happen.
  ///
  /// O(log allocations) for each entry and operation, plus the policy's own time. At each cut also O(candidates for
  /// eviction), O(slots of the prologue * entries at the cut), and O(moves^2 * log(moves)) if allocations move.
  /// Allocates. After an exception, of the policy or std::bad_alloc, the splitter does not know what is resident. After
  /// that the splitter may only be destroyed or assigned to: begin(), next(), would_fail(), forget() and evict_all()
  /// assert this.
  part next() {
    TIDEMARK_ASSERT(!is_torn_, "an exception has left the splitter unusable");
    residents_.begin_part();
    if (!is_over()) {
      is_torn_ = true;
      const std::uint64_t begin = cut_;
      const bool is_placed = plan_part();
      is_torn_ = false;
      if (is_placed) {
        ++statistics_.parts;
        statistics_.count_paging(residents_.paging());
        return {split_part_status::planned, number_++, begin, cut_, residents_.paging(), {}};
      }
    }
    part none_left;
    if (failed_) none_left.status = split_part_status::unsatisfiable;
    none_left.failed = failed_;
    return none_left;
  }

  /// Returns the group that can't be placed, if this work item were begun now; absent if all of it can be planned.
  /// Changes nothing: it plans on a copy of the splitter and of its policy. Asserts that begin() would not refuse the
  /// list; otherwise the answer means nothing.
  [[nodiscard]] std::optional<unsatisfiable_group> would_fail(std::span<const entry> entries, std::uint64_t end,
                                                              std::span<const slot_id> in_prologue = {}) const
    requires std::copyable<Placement>
  {
    splitter trial = *this;
    [[maybe_unused]] const split_begin_result begun = trial.begin(entries, end, in_prologue);
    TIDEMARK_ASSERT(begun, "begin() would refuse the list");
    while (trial.next()) {
    }
    return trial.failed_;
  }

  /// Returns what the slot holds where the part that was handed out last ends; the null handle if it is unbound.
  /// Entries at the end of that part are not applied. Asserts that the slot is not above the largest one. Otherwise it
  /// is unbound.
  [[nodiscard]] Allocation row(slot_id slot) const noexcept {
    TIDEMARK_ASSERT(detail::row_of(slot) < rows_.size(), "the slot has no row");
    if (detail::row_of(slot) >= rows_.size()) return {};
    const number held = rows_[detail::row_of(slot)];
    return held == none ? Allocation{} : residents_[held].allocation;
  }
  /// Returns what stays bound across the cut at which the next part begins: what those slots hold which the entries at
  /// the cut do not name, in the order of the slots. The prologue of that part must bind it again. Empty before the
  /// first part, after the last one, and after next() has returned `unsatisfiable`. O(slots + bound slots * entries at
  /// the cut); allocates.
  [[nodiscard]] std::vector<split_binding<Allocation>> carried_over() const {
    std::vector<split_binding<Allocation>> carried;
    if (number_ == 0 || is_over()) return carried;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row] != none) carried.push_back({slot_id{row}, residents_[rows_[row]].allocation});
    }
    const auto group = std::span<const entry>{entries_}.subspan(position_, next_group());
    std::erase_if(carried, [&](const split_binding<Allocation>& one) { return names(group, one.slot); });
    return carried;
  }
  /// Returns whether begin() was given slots of a prologue, for the work item that it has begun last.
  [[nodiscard]] bool has_prologue() const noexcept { return !in_prologue_.empty(); }
  /// Returns where the allocation lies while the part that was handed out last runs; absent if it is not resident then.
  [[nodiscard]] std::optional<std::uint64_t> address_of(const Allocation& allocation) const {
    const auto which = residents_.find(allocation);
    if (!which || !residents_[*which].is_here) return {};
    return residents_[*which].address;
  }
  /// Frees the place of an allocation that ceases to exist; nothing is saved. Each part that was handed out and uses it
  /// must have ended. As long as next() can plan another part, no slot may hold it (asserted). After the last part,
  /// slots may hold it, and this unbinds them. Harmless if the allocation is not resident. Throws what the policy's
  /// release() throws; then, as after an exception of next(), the splitter may only be destroyed or assigned to
  /// (asserted).
  void forget(const Allocation& allocation) {
    TIDEMARK_ASSERT(!is_torn_, "an exception has left the splitter unusable");
    const auto which = residents_.find(allocation);
    if (!which || !residents_[*which].is_here) return;
    number& holders = residents_[*which].holders;
    TIDEMARK_ASSERT(holders == 0 || is_over(), "an allocation was forgotten that a slot still holds");
    if (std::exchange(holders, 0) > 0) std::replace(rows_.begin(), rows_.end(), *which, none);
    is_torn_ = true;
    residents_.drop(*which);
    is_torn_ = false;
  }
  /// Evicts everything and unbinds all slots. Asserts that no work item is in progress: next() has planned all parts,
  /// or has returned `unsatisfiable`. Otherwise that work item is given up. Returns the operations, for example to save
  /// the contents before the memory is given up; they are valid until the next call of next() or evict_all().
  /// Exceptions as with next().
  std::span<const operation> evict_all() {
    TIDEMARK_ASSERT(is_over() && !is_torn_, "evict_all() was called while a work item is in progress");
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

  /// Returns the sums since the splitter was constructed.
  const split_statistics& statistics() const noexcept { return statistics_; }
  /// Returns the placement policy.
  const Placement& placement() const noexcept { return residents_.placement(); }

 private:
  using residents = detail::residents<Allocation, Placement, Hash, operation>;
  using number = typename residents::number;
  static constexpr number none = (std::numeric_limits<number>::max)();
  static constexpr number superseded = none - 1;  // by a later entry of the same group
  static constexpr std::size_t never = residents::never;

  static std::size_t rows_for(slot_id max_slot) {
    TIDEMARK_ASSERT(max_slot <= largest_slot, "a slot has 24 bits");
    return detail::row_of(max_slot) + 1;
  }
  slot_id largest_row() const noexcept { return slot_id{static_cast<std::uint32_t>(rows_.size() - 1)}; }
  bool is_over() const noexcept { return cut_ == end_ || failed_; }

  // ---- a new work item ----------------------------------------------------------------------------------------------

  /// Leaves no work item, and unbinds all slots.
  void give_up() noexcept {
    entries_.clear();
    in_prologue_.clear();
    let_go_.clear();
    std::fill(rows_.begin(), rows_.end(), none);
    bound_bytes_ = 0;
    position_ = 0;
    cut_ = 0;
    end_ = 0;
    number_ = 0;
    failed_.reset();
  }

  void learn_prologue(std::span<const slot_id> bound_there) {
    for (const slot_id slot : bound_there) {
      TIDEMARK_ASSERT(slot <= largest_row(), "a slot of the prologue has no row");
      if (slot <= largest_row()) in_prologue_.push_back(slot);
    }
    std::sort(in_prologue_.begin(), in_prologue_.end());
    in_prologue_.erase(std::unique(in_prologue_.begin(), in_prologue_.end()), in_prologue_.end());
  }
  static bool names(std::span<const entry> group, slot_id slot) noexcept {
    return std::any_of(group.begin(), group.end(), [slot](const entry& one) { return one.slot == slot; });
  }
  /// Finds out which allocation each entry binds, and which entry binds it next. Entries at the end bind nothing any
  /// more.
  void learn(std::span<const entry> entries, std::uint64_t end) {
    while (!entries.empty() && entries.back().split_offset == end) entries = entries.first(entries.size() - 1);
    entries_.assign(entries.begin(), entries.end());
    bound_.assign(entries.size(), none);
    next_bind_.assign(entries.size(), never);
    std::vector<std::size_t> last(rows_.size(), never);  // by slot
    for (std::size_t i = entries.size(); i-- > 0;) {
      const auto& [allocation, slot, offset] = entries[i];
      const std::size_t later = std::exchange(last[detail::row_of(slot)], i);
      if (later != never && entries[later].split_offset == offset) {
        bound_[i] = superseded;
      } else if (allocation != Allocation{}) {
        bound_[i] = residents_.find_or_add(allocation, size_of_);
        next_bind_[i] = std::exchange(residents_[bound_[i]].next_use, i);
      }
    }
    for (number which = 0; which < residents_.size(); ++which) residents_.may_go(which);
  }

  // ---- parts --------------------------------------------------------------------------------------------------------

  /// Plans the part that begins at cut_, and sets cut_ to its end. Returns false if its first group can't be placed;
  /// failed_ names it, and the rows and what is resident are as before.
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

  /// Returns how many entries the next group has; 0 if there is none.
  std::size_t next_group() const noexcept {
    return position_ == entries_.size() ? 0 : detail::group_length(std::span<const entry>{entries_}.subspan(position_));
  }

  /// Calls `what(index, allocation)` for each entry from `first` to the end of the next group, but not for one that a
  /// later entry of its group replaces. The allocation may be `none`.
  template <class What>
  void for_each_holding(std::size_t first, std::size_t group, const What& what) {
    for (std::size_t i = first; i < position_ + group; ++i) {
      if (bound_[i] != superseded) what(i, bound_[i]);
    }
  }

  /// Returns what the entries from `first` to the end of the next group bind, each allocation once, in the order of the
  /// list. Sets the `marks` of each allocation to the number of these entries that bind it.
  std::vector<number> needed_from(std::size_t first, std::size_t group) {
    std::vector<number> needed;
    for_each_holding(first, group, [&](std::size_t, number which) {
      if (which != none && residents_[which].marks++ == 0) needed.push_back(which);
    });
    return needed;
  }

  /// Enters the first group of a part. From here on, the part needs only what the group binds and what the rows outside
  /// the group hold.
  bool enter_first(std::size_t group) {
    std::vector<std::pair<slot_id, number>> before;  // the slots of the group, and what they held
    for_each_holding(position_, group, [&](std::size_t index, number) {
      before.push_back({entries_[index].slot, rows_[detail::row_of(entries_[index].slot)]});
    });
    for (const number replaced : update_rows(group)) residents_.may_go(replaced);
    std::vector<number> needed = needed_from(position_, group);
    add_prologue(needed, group);
    const auto may_move = [this](number which) { return residents_[which].holders == residents_[which].marks; };
    std::vector<std::pair<number, std::uint64_t>> movable;  // and where each one lies
    std::uint64_t fixed = bound_bytes_;
    for (const number which : needed) {
      if (!may_move(which)) continue;
      fixed -= residents_[which].bytes;
      if (residents_[which].is_here) movable.push_back({which, residents_[which].address});
    }
    const std::optional<slot_id> refused = bring(group);
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
      count_cut(fixed, movable);
    } else {
      failed_ = {*refused, entries_[position_].split_offset};
      for (const auto& [slot, held] : before) put(slot, held);
    }
    return is_placed;
  }

  /// Adds what the prologue of the part binds again to what the group needs, with the same marks.
  void add_prologue(std::vector<number>& needed, std::size_t group) {
    if (number_ == 0) return;  // nothing is bound yet, and there is no prologue
    for (const slot_id slot : in_prologue_) {
      const number held = rows_[detail::row_of(slot)];
      if (held == none || names(std::span<const entry>{entries_}.subspan(position_, group), slot)) continue;
      if (residents_[held].marks++ == 0) needed.push_back(held);
    }
  }

  /// Enters a later group of the part. Returns false if the part must end before it; nothing has changed then.
  bool enter(std::size_t group) {
    if (bring(group) && !begin_anew(group)) return false;
    for (const number replaced : update_rows(group)) let_go_.push_back(replaced);  // the part has used it
    return true;
  }

  /// Makes resident what the group binds. Returns the first slot whose allocation does not fit, if there is one;
  /// nothing has changed then.
  std::optional<slot_id> bring(std::size_t group) {
    const std::size_t before = residents_.paging().size();
    std::optional<slot_id> refused;
    // The group holds its allocations meanwhile, so that none of them is evicted for another one.
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
      if (refused) residents_.may_go(which);  // while it was held, it lost its place among the candidates
    });
    if (refused) residents_.take_back(before);
    return refused;
  }

  /// Plans the first part anew up to this group, and evicts what earlier work items have left. Nothing is bound
  /// before the first part, so every allocation may move. Returns false if it does not fit either; nothing has
  /// changed then.
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

  // ---- rows ---------------------------------------------------------------------------------------------------------

  /// Changes a row, and returns what the slot held before.
  number put(slot_id slot, number which) {
    const number before = std::exchange(rows_[detail::row_of(slot)], which);
    if (which != none && residents_[which].holders++ == 0) bound_bytes_ += residents_[which].bytes;
    if (before != none && --residents_[before].holders == 0) bound_bytes_ -= residents_[before].bytes;
    return before;
  }

  /// Applies a group to the rows. Returns what the group replaced and no row holds any more.
  std::vector<number> update_rows(std::size_t group) {
    std::vector<number> replaced;
    for_each_holding(position_, group, [&](std::size_t index, number which) {
      if (which != none) residents_[which].next_use = next_bind_[index];
      if (const number before = put(entries_[index].slot, which); before != none) replaced.push_back(before);
    });
    std::erase_if(replaced, [this](number before) { return residents_[before].holders > 0; });
    return replaced;
  }

  void count_cut(std::uint64_t fixed, const std::vector<std::pair<number, std::uint64_t>>& movable) {
    if (number_ == 0) return;
    std::uint64_t kept = fixed;
    for (const auto& [which, from] : movable) kept += residents_[which].address == from ? residents_[which].bytes : 0;
    statistics_.count_cut(fixed, kept);
  }

  residents residents_;
  size_function size_of_;

  std::vector<entry> entries_;
  std::vector<slot_id> in_prologue_;
  std::vector<number> bound_;           // for each entry: the allocation that it binds
  std::vector<std::size_t> next_bind_;  // for each entry: the next one that binds the same allocation
  std::vector<number> rows_;            // for each slot: the allocation that it holds
  std::vector<number> let_go_;          // what this part has used and replaced
  std::uint64_t bound_bytes_ = 0;       // the sum of what the rows hold

  std::size_t position_ = 0;  // the next entry
  std::uint64_t cut_ = 0;     // where the next part begins
  std::uint64_t end_ = 0;
  std::uint64_t number_ = 0;
  bool may_begin_anew_ = false;  // the first part may still be planned anew, without what earlier work items have left
  bool is_torn_ = false;         // an exception came out of the middle of a plan

  std::optional<unsatisfiable_group> failed_;
  split_statistics statistics_;
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_SPLITTER_HPP
