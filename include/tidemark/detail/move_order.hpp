// SPDX-License-Identifier: BSL-1.0
//
// In which order blocks of memory change places, so that none goes where another one still is.
#ifndef TIDEMARK_DETAIL_MOVE_ORDER_HPP
#define TIDEMARK_DETAIL_MOVE_ORDER_HPP

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tidemark::detail {

/// The places before all moves don't overlap each other, nor do those after. Before and after of one block may. No block is
/// empty.
struct block_move {
  std::uint32_t which = 0;
  std::uint64_t bytes = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  bool must_leave = false;  ///< It has to leave its place first, and be brought back when the others have moved.
};

/// Moves that go round in a circle can't be put in order: one of them has to leave.
inline std::vector<block_move> in_order(std::vector<block_move> waiting) {
  std::map<std::uint64_t, block_move> taken;  // by address, what has not left yet
  for (const block_move& one : waiting) taken.emplace(one.from, one);
  const auto is_clear = [&taken](const block_move& one) {
    auto other = taken.upper_bound(one.to + (one.bytes - 1));  // the last byte: the first one behind it may not exist
    while (other != taken.begin()) {
      --other;
      if (other->first + (other->second.bytes - 1) < one.to) return true;  // those before it end before it
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

#endif  // TIDEMARK_DETAIL_MOVE_ORDER_HPP
