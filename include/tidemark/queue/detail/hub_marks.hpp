// SPDX-License-Identifier: BSL-1.0
//
// The marks that notifiers leave in a hub, one bit for each fence or queue. The server takes a whole word of them away
// before it looks at what they stand for: a mark that is left meanwhile is for the next pass [trap 12].
#ifndef TIDEMARK_QUEUE_DETAIL_HUB_MARKS_HPP
#define TIDEMARK_QUEUE_DETAIL_HUB_MARKS_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform, std::size_t Count>
class hub_marks {
 public:
  static constexpr std::size_t words = (Count + 63) / 64;

  void leave(std::size_t index) noexcept {
    // (U13): release, pairs with (U14): what the notifier did before is there for the pass.
    words_[index / 64].fetch_or(std::uint64_t{1} << index % 64, std::memory_order_release);
  }

  /// Takes the marks of one word away, and returns them.
  std::uint64_t take(std::size_t word) noexcept {
    // (U14): acquire, pairs with (U13). Taken before they are served: a mark left from now on is for the next pass.
    return words_[word].exchange(0, std::memory_order_acquire);
  }

  /// Calls `action(index)` for each mark of a word.
  template <class Action>
  static void for_each(std::uint64_t taken, std::size_t word, const Action& action) noexcept {
    for (; taken != 0; taken &= taken - 1) action(word * 64 + static_cast<std::size_t>(std::countr_zero(taken)));
  }

 private:
  std::array<typename Platform::template atomic<std::uint64_t>, words> words_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_HUB_MARKS_HPP
