// SPDX-License-Identifier: BSL-1.0
//
// loop_ready: the work that a loop is to run, by rank. Rank 0 comes first, and work of one rank runs in the order in
// which it became ready. Work that others have been preferred to a few times runs nevertheless, so none starves.
//
// Not thread-safe: the loop's lock protects it.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_READY_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_READY_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "linked_queue.hpp"

namespace tidemark::detail {

inline constexpr std::size_t loop_ranks = 3;
inline constexpr std::uint8_t usual_rank = 1;

/// \tparam Work  has the links of a linked_queue; a member `rank`, less than `loop_ranks`, which must not change while
///               the work is in here; and a pointer `is_in`
template <class Work>
class loop_ready {
 public:
  bool is_empty() const noexcept { return count_ == 0; }

  void push(Work& added) noexcept {
    ++count_;
    is_mixed_ = is_mixed_ || added.rank != usual_rank;
    push_to(ranks_[added.rank].works, added);
  }
  /// Adds work that runs when all that is ready now has had its turn: take_later() makes it ready.
  void push_later(Work& added) noexcept { push_to(later_, added); }
  void take_later() noexcept {
    while (Work* const next = later_.take()) push(*next);
  }
  void remove(Work& removed) noexcept {
    if (removed.is_in != &later_) --count_;
    removed.is_in->remove(removed);
  }
  /// Removes the work that is to run next, and returns it; null if there is none.
  Work* take() noexcept {
    if (count_ == 0) return nullptr;
    --count_;
    if (!is_mixed_) return ranks_[usual_rank].works.take();
    std::size_t taken = 0;
    while (ranks_[taken].works.is_empty()) ++taken;  // one has work, because count_ was not 0
    for (std::size_t each = taken + 1; each < ranks_.size(); ++each) {
      if (!ranks_[each].works.is_empty() && ++ranks_[each].passed_over >= most_passed_over) taken = each;
    }
    ranks_[taken].passed_over = 0;
    return ranks_[taken].works.take();
  }

 private:
  struct rank {
    linked_queue<Work> works;
    unsigned passed_over = 0;  // since one of them was taken
  };
  static constexpr unsigned most_passed_over = 8;

  static void push_to(linked_queue<Work>& of, Work& added) noexcept {
    added.is_in = &of;
    of.push(added);
  }

  std::array<rank, loop_ranks> ranks_{};
  linked_queue<Work> later_;
  std::size_t count_ = 0;  // in the ranks
  bool is_mixed_ = false;  // there was work of another rank than the usual one
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_READY_HPP
