// SPDX-License-Identifier: BSL-1.0
//
// The allocations of a splitter: which are resident and where, which may go, and the paging that makes it so.
#ifndef TIDEMARK_DETAIL_RESIDENTS_HPP
#define TIDEMARK_DETAIL_RESIDENTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../split_placement.hpp"
#include "move_order.hpp"
#include "split_paging.hpp"

namespace tidemark::detail {

/// Allocations are known by numbers, which hold until keep_residents(). What is held does not go: `holders` is for the user
/// of this class to count.
template <class Allocation, split_placement Placement, class Hash>
class residents {
 public:
  using number = std::uint32_t;
  using operation = paging_operation<Allocation>;
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  struct known {
    Allocation allocation{};
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    std::size_t next_use = never;  // the entry that binds it next
    number holders = 0;            // rows, and whoever needs it for a moment
    number marks = 0;              // for the user of this class, who leaves 0 behind
    bool is_here = false;
  };

  explicit residents(Placement placement) : placement_{std::move(placement)} {}

  known& operator[](number which) noexcept { return known_[which]; }
  const known& operator[](number which) const noexcept { return known_[which]; }
  std::size_t size() const noexcept { return known_.size(); }
  const Placement& placement() const noexcept { return placement_; }
  /// What has to be done since begin_part().
  std::span<const operation> paging() const noexcept { return paging_; }

  std::optional<number> find(const Allocation& allocation) const {
    const auto found = numbers_.find(allocation);
    if (found == numbers_.end()) return {};
    return found->second;
  }
  /// \param size_of  asked only of what is not known yet
  template <class Size>
  number find_or_add(const Allocation& allocation, const Size& size_of) {
    if (const auto known_as = find(allocation)) return *known_as;
    const auto added = static_cast<number>(known_.size());
    known_.push_back({allocation, size_of(allocation)});
    numbers_.emplace(allocation, added);
    return added;
  }

  /// What is not resident is forgotten, and nothing is held. Numbers change; nothing is allocated.
  void keep_residents() {
    std::erase_if(numbers_, [this](const auto& named) { return !known_[named.second].is_here; });
    std::erase_if(known_, [](const known& one) { return !one.is_here; });
    for (number which = 0; which < known_.size(); ++which) {
      known& one = known_[which];
      numbers_.find(one.allocation)->second = which;
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

  void may_go(number which) {
    if (!known_[which].is_here || known_[which].holders > 0) return;
    candidates_.push_back({known_[which].next_use, which});
    std::push_heap(candidates_.begin(), candidates_.end());
  }

  /// At the cost of others, if it must be. False, and some may be gone, if it does not fit.
  bool page_in(number which) {
    std::optional<std::uint64_t> address;
    while (!(address = placement_.place(known_[which].bytes))) {
      if (!evict_one()) return false;
    }
    known_[which].address = *address;
    known_[which].is_here = true;
    write(paging_kind::page_in, which, 0, *address);
    return true;
  }

  void evict(number which) {
    known& one = known_[which];
    leave(one);
    write(paging_kind::evict, which, one.address, 0);
  }

  /// Without a word: there is nothing to be saved.
  void drop(number which) { leave(known_[which]); }

  /// Undoes the operations behind the first `count` of the part; none of them is a move.
  void take_back(std::size_t count) {
    while (paging_.size() > count) {
      known& one = known_[changed_.back()];
      if (paging_.back().kind == paging_kind::evict) {
        come_back(one, paging_.back().from);
        may_go(changed_.back());
      } else {
        leave(one);
      }
      paging_.pop_back();
      changed_.pop_back();
    }
  }

  /// Places those of `order` anew, which are held, with all that may go gone: in that order, or else the largest first. What
  /// is resident of them moves. False, and all operations of the part are taken back, if they don't fit so either.
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
      if (!std::exchange(known_[which].is_here, true)) write(paging_kind::page_in, which, 0, known_[which].address);
    }
    return true;
  }

  /// The same with the part planned anew from its beginning. False, and nothing has changed, if they don't fit.
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
      paging[i].kind == paging_kind::evict ? leave(one) : come_back(one, paging[i].to);
    }
    paging_ = paging;
    changed_ = changed;
    return false;
  }

 private:
  struct candidate {  // for eviction, unless it was used again since
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

  /// That which is needed again last.
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
    std::vector<block_move> moves;
    for (const moved& one : movable) {
      const known& what = known_[one.which];
      if (one.from != what.address) moves.push_back({one.which, what.bytes, one.from, what.address});
    }
    for (const block_move& one : in_order(std::move(moves))) {
      if (one.must_leave) known_[one.which].is_here = false;
      write(one.must_leave ? paging_kind::evict : paging_kind::move, one.which, one.from, one.must_leave ? 0 : one.to);
    }
  }

  void write(paging_kind kind, number which, std::uint64_t from, std::uint64_t to) {
    paging_.push_back({kind, known_[which].allocation, known_[which].bytes, from, to});
    changed_.push_back(which);
  }

  Placement placement_;
  std::vector<known> known_;
  std::unordered_map<Allocation, number, Hash> numbers_;  // of known_
  std::vector<candidate> candidates_;                     // a heap
  std::vector<operation> paging_;
  std::vector<number> changed_;  // what each of them is about
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_RESIDENTS_HPP
