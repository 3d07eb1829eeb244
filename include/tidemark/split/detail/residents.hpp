// SPDX-License-Identifier: BSL-1.0
//
// The allocations of a splitter: which ones are resident and where, which ones may be evicted, and the paging that
// brings this about.
#ifndef TIDEMARK_SPLIT_DETAIL_RESIDENTS_HPP
#define TIDEMARK_SPLIT_DETAIL_RESIDENTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tidemark::detail {

// The order in which blocks of memory move, so that no block moves to where another one still lies.

/// One move of a block of at least one byte. The old places of all blocks must not overlap each other, and the new
/// places must not; the old and the new place of one block may.
struct block_move {
  std::uint32_t which = 0;
  std::uint64_t bytes = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  bool must_leave = false;  ///< Set by in_order(): the block must leave, and come back after the other moves.
};

/// Returns the moves in an order in which they can be carried out. If some of them form a circle, no order exists,
/// and one block of the circle gets `must_leave`.
inline std::vector<block_move> in_order(std::vector<block_move> waiting) {
  std::map<std::uint64_t, block_move> taken;  // the blocks that have not moved yet, by their old address
  for (const block_move& one : waiting) taken.emplace(one.from, one);
  const auto is_clear = [&taken](const block_move& one) {
    auto other = taken.upper_bound(one.to + (one.bytes - 1));  // the last byte, because the end may be 2^64
    while (other != taken.begin()) {
      --other;
      if (other->first + (other->second.bytes - 1) < one.to) return true;  // and so do all blocks before this one
      if (other->second.which != one.which) return false;
    }
    return true;
  };

  std::vector<block_move> ordered;
  const auto leave = [&taken, &ordered](const block_move& one) {
    taken.erase(one.from);
    ordered.push_back(one);
  };
  while (!waiting.empty()) {
    std::vector<block_move> blocked;
    for (const block_move& one : waiting) is_clear(one) ? leave(one) : blocked.push_back(one);
    if (blocked.size() == waiting.size()) {
      blocked.back().must_leave = true;
      leave(blocked.back());
      blocked.pop_back();
    }
    waiting = std::move(blocked);
  }
  return ordered;
}

/// Each allocation has a number, which stays the same until keep_residents(). An allocation with `holders` is not
/// evicted; the user of this class counts them.
/// \tparam Operation  {kind, allocation, bytes, from, to}, where kind is an enum of evict, move and page_in
template <class Allocation, class Placement, class Hash, class Operation>
class residents {
 public:
  using number = std::uint32_t;
  using operation = Operation;
  using operation_kind = decltype(Operation::kind);
  static constexpr std::size_t never = (std::numeric_limits<std::size_t>::max)();

  struct known {
    Allocation allocation{};
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    std::size_t next_use = never;  // the entry that binds it next
    number holders = 0;            // how many rows hold it, plus temporary holders
    number marks = 0;              // free for the user of this class, who must leave 0 behind
    bool is_here = false;
  };

  explicit residents(Placement placement) : placement_{std::move(placement)} {}

  known& operator[](number which) noexcept { return known_[which]; }
  const known& operator[](number which) const noexcept { return known_[which]; }
  std::size_t size() const noexcept { return known_.size(); }
  const Placement& placement() const noexcept { return placement_; }
  /// Returns the operations since begin_part().
  std::span<const operation> paging() const noexcept { return paging_; }

  std::optional<number> find(const Allocation& allocation) const {
    const auto found = numbers_.find(allocation);
    if (found == numbers_.end()) return {};
    return found->second;
  }
  /// \param size_of  is called only for an allocation that is not known yet
  template <class Size>
  number find_or_add(const Allocation& allocation, const Size& size_of) {
    if (const auto known_as = find(allocation)) return *known_as;
    const auto added = static_cast<number>(known_.size());
    known_.push_back({allocation, size_of(allocation)});
    numbers_.emplace(allocation, added);
    return added;
  }

  /// Forgets what is not resident, and sets all holders to 0. Numbers change; nothing is allocated.
  void keep_residents() {
    std::erase_if(numbers_, [this](const auto& named) { return !known_[named.second].is_here; });
    std::erase_if(known_, [](const known& one) { return !one.is_here; });
    for (number which = 0; which < known_.size(); ++which) {
      known& one = known_[which];
      numbers_.at(one.allocation) = which;
      one.next_use = never;
      one.holders = 0;
      one.marks = 0;
    }
    candidates_.clear();
  }

  void begin_part() noexcept {
    paging_.clear();
    changed_.clear();
  }

  /// Makes an allocation a candidate for eviction, unless it is held or not resident.
  void may_go(number which) {
    if (!known_[which].is_here || known_[which].holders > 0) return;
    candidates_.push_back({known_[which].next_use, which});
    std::push_heap(candidates_.begin(), candidates_.end());
  }

  /// Makes an allocation resident, and evicts others for that if it must. Returns false if it does not fit; others
  /// may have been evicted then.
  bool page_in(number which) {
    auto placed = placement_.place(known_[which].bytes);
    for (; !placed; placed = placement_.place(known_[which].bytes)) {
      if (!evict_one()) return false;
    }
    known_[which].address = placed.address;
    known_[which].is_here = true;
    write(operation_kind::page_in, which, 0, placed.address);
    return true;
  }

  void evict(number which) {
    known& one = known_[which];
    leave(one);
    write(operation_kind::evict, which, one.address, 0);
  }

  /// Removes an allocation without an operation: its contents need not be saved.
  void drop(number which) { leave(known_[which]); }

  /// Undoes all operations of the part but the first `count`. None of the undone ones may be a move.
  void take_back(std::size_t count) {
    while (paging_.size() > count) {
      known& one = known_[changed_.back()];
      if (paging_.back().kind == operation_kind::evict) {
        come_back(one, paging_.back().from);
        may_go(changed_.back());
      } else {
        leave(one);
      }
      paging_.pop_back();
      changed_.pop_back();
    }
  }

  /// Evicts all candidates, and places the allocations of `order` anew; all of these are held, and those that are
  /// resident may move. Tries the given order first, then the largest first. Returns false if neither fits; all
  /// operations of the part are undone then.
  bool place_anew(const std::vector<number>& order) {
    while (evict_one()) {
    }
    std::vector<moved> movable;
    for (const number which : order) {
      if (known_[which].is_here) movable.push_back({which, known_[which].address});
    }
    for (const moved& one : movable) placement_.release(one.from, known_[one.which].bytes);
    std::vector<number> largest_first = order;
    std::sort(largest_first.begin(), largest_first.end(), [this](number one, number other) {
      return known_[one].bytes != known_[other].bytes ? known_[one].bytes > known_[other].bytes : one < other;
    });
    if (!place_all(order) && !place_all(largest_first)) {
      for (const moved& one : movable) come_back(known_[one.which], one.from);
      take_back(0);
      return false;
    }
    write_moves(movable);
    for (const number which : order) {
      if (!std::exchange(known_[which].is_here, true)) {
        write(operation_kind::page_in, which, 0, known_[which].address);
      }
    }
    return true;
  }

  /// Undoes all operations of the part, and places `order` as place_anew() does. Returns false if it does not fit;
  /// nothing has changed then.
  bool begin_part_anew(const std::vector<number>& order) {
    if constexpr (requires(const Placement& placement) { placement.bytes() < std::uint64_t{}; }) {
      std::uint64_t left = placement_.bytes();
      for (const number which : order) {
        if (known_[which].bytes > left) return false;
        left -= known_[which].bytes;
      }
    }
    const std::vector<operation> paging = paging_;
    const std::vector<number> changed = changed_;
    take_back(0);
    if (place_anew(order)) return true;
    for (std::size_t i = 0; i < paging.size(); ++i) {
      known& one = known_[changed[i]];
      paging[i].kind == operation_kind::evict ? leave(one) : come_back(one, paging[i].to);
    }
    paging_ = paging;
    changed_ = changed;
    return false;
  }

 private:
  struct candidate {  // for eviction, unless the allocation was used again since
    std::size_t next_use;
    number which;
    auto operator<=>(const candidate&) const = default;
  };
  struct moved {
    number which;
    std::uint64_t from;
  };

  void leave(known& one) {
    placement_.release(one.address, one.bytes);
    one.is_here = false;
  }
  void come_back(known& one, std::uint64_t address) {
    placement_.take(address, one.bytes);
    one.address = address;
    one.is_here = true;
  }

  /// Evicts the candidate whose next use is farthest away. Returns false if there is none.
  bool evict_one() {
    while (!candidates_.empty()) {
      const auto [next_use, which] = candidates_.front();
      std::pop_heap(candidates_.begin(), candidates_.end());
      candidates_.pop_back();
      const known& one = known_[which];
      if (!one.is_here || one.holders > 0 || one.next_use != next_use) continue;
      evict(which);
      return true;
    }
    return false;
  }

  bool place_all(const std::vector<number>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (const auto placed = placement_.place(known_[order[i]].bytes)) {
        known_[order[i]].address = placed.address;
        continue;
      }
      while (i-- > 0) placement_.release(known_[order[i]].address, known_[order[i]].bytes);
      return false;
    }
    return true;
  }

  void write_moves(const std::vector<moved>& movable) {
    std::vector<block_move> moves;
    for (const moved& one : movable) {
      const known& what = known_[one.which];
      if (one.from != what.address) moves.push_back({one.which, what.bytes, one.from, what.address});
    }
    for (const block_move& one : in_order(std::move(moves))) {
      if (one.must_leave) known_[one.which].is_here = false;
      write(one.must_leave ? operation_kind::evict : operation_kind::move, one.which, one.from,
            one.must_leave ? 0 : one.to);
    }
  }

  void write(operation_kind kind, number which, std::uint64_t from, std::uint64_t to) {
    paging_.push_back({kind, known_[which].allocation, known_[which].bytes, from, to});
    changed_.push_back(which);
  }

  Placement placement_;
  std::vector<known> known_;
  std::unordered_map<Allocation, number, Hash> numbers_;  // the index of each allocation in known_
  std::vector<candidate> candidates_;                     // a heap
  std::vector<operation> paging_;
  std::vector<number> changed_;  // the allocation of each operation in paging_
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_SPLIT_DETAIL_RESIDENTS_HPP
