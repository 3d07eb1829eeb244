// SPDX-License-Identifier: BSL-1.0
//
// pool_list: the pools of the immediate context, whose blocks have sizes that nobody has listed. A pool is made for a
// size when it is needed first.
#ifndef TIDEMARK_CONTEXT_DETAIL_POOL_LIST_HPP
#define TIDEMARK_CONTEXT_DETAIL_POOL_LIST_HPP

#include <cstddef>
#include <utility>

#include "../../platform/platform.hpp"
#include "block_pool.hpp"
#include "source_array.hpp"

namespace tidemark::detail {

template <platform Platform, class Source>
class pool_list {
 public:
  using pool = block_pool<Platform, Source>;

  /// Returns a pool of blocks of `bytes` bytes or a little more; null if there is no memory for it. The context's
  /// thread.
  pool* of(std::size_t bytes, Source& source) noexcept {
    const std::size_t distance = block_distance(bytes);
    for (node* each = first_; each != nullptr; each = each->next) {
      if (each->blocks.distance() == distance) return &each->blocks;
    }
    node* const made = make_array<node>(source, 1, bytes);
    if (made == nullptr) return nullptr;
    made->next = std::exchange(first_, made);
    return &made->blocks;
  }

  /// Gives all memory back. No block may be in use.
  void clear(Source& source) noexcept {
    while (first_ != nullptr) {
      node* const gone = std::exchange(first_, first_->next);
      gone->blocks.clear(source);
      destroy_array(source, gone, 1);
    }
  }

 private:
  struct node {
    explicit node(std::size_t bytes) noexcept : blocks{bytes} {}
    pool blocks;
    node* next = nullptr;
  };

  node* first_ = nullptr;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_POOL_LIST_HPP
