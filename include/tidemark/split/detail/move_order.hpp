// SPDX-License-Identifier: BSL-1.0
//
// The order in which blocks of memory move, so that no block moves to where another one still lies.
#ifndef TIDEMARK_SPLIT_DETAIL_MOVE_ORDER_HPP
#define TIDEMARK_SPLIT_DETAIL_MOVE_ORDER_HPP

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tidemark::detail {

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

}  // namespace tidemark::detail

#endif  // TIDEMARK_SPLIT_DETAIL_MOVE_ORDER_HPP
