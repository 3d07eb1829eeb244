// SPDX-License-Identifier: BSL-1.0
//
// index_list: a lock-free list of the free ones among many equal objects, which are named by their indices. The objects
// lie in memory that stays, and each has a word that holds its successor while it is on the list.
//
//   head_   [ version : 40 bits | index + 1, or 0 : 24 bits ]
//
// A thread that takes an object reads its successor before it knows whether it gets the object. By then others may have
// taken both, and put the first one back. So each take raises the version, and the exchange of the slower thread fails.
// A thread would have to stand still for 2^40 takes, exactly, to be deceived: three hours of 10 nanoseconds each.
#ifndef TIDEMARK_FENCE_DETAIL_INDEX_LIST_HPP
#define TIDEMARK_FENCE_DETAIL_INDEX_LIST_HPP

#include <atomic>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform>
class index_list {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint32_t most_objects = (std::uint32_t{1} << 24) - 1;

  /// A list of the objects 0 to `count` - 1, in this order. Their words must say so: see link().
  explicit index_list(std::uint32_t count = 0) noexcept : head_{count != 0 ? 1U : 0U} {}

  /// Returns what the word of object `index` holds if it is followed by the next one of `count`, before the list is
  /// shared.
  static constexpr std::uint64_t link(std::uint32_t index, std::uint32_t count) noexcept {
    return index + 1 < count ? index + 2 : 0;
  }

  /// Takes an object and returns its index, or `none`. `word_of(index)` returns the word of an object. Progress:
  /// lock-free.
  std::uint32_t take(const auto& word_of) noexcept {
    // (SL1): acquire, pairs with (SL4): the object's word is what the thread has written that put it there. The
    // exchanges in between go on with that release.
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t first = seen & index_mask;
      if (first == 0) return none;
      const auto index = static_cast<std::uint32_t>(first - 1);
      // (SL2): relaxed alone: a word that is too new belongs to an object that was taken, and (SL3) fails then.
      const std::uint64_t next = word_of(index).load(std::memory_order_relaxed) & index_mask;
      // (SL3): acquire, pairs with (SL4): the new owner finds the object as the old one has left it. Acquire on
      // failure, like (SL1).
      if (head_.compare_exchange_weak(seen, (seen & ~index_mask) + one_version + next, std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return index;
      }
    }
  }

  /// Puts an object on the list, which nobody else uses. Progress: lock-free.
  void put(std::uint32_t index, word& of) noexcept {
    // (SL5): relaxed alone: (SL4) fails if it is too old.
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    do {
      // (SL6): relaxed, because (SL4) comes after it.
      of.store(seen & index_mask, std::memory_order_relaxed);
      // (SL4): release, pairs with (SL1) (SL3): hands over the object and its word. Not stronger: this thread takes
      // nothing.
    } while (!head_.compare_exchange_weak(seen, (seen & ~index_mask) | (std::uint64_t{index} + 1),
                                          std::memory_order_release, std::memory_order_relaxed));
  }

 private:
  static constexpr std::uint64_t one_version = std::uint64_t{1} << 24;
  static constexpr std::uint64_t index_mask = one_version - 1;

  word head_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_INDEX_LIST_HPP
