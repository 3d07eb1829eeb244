// SPDX-License-Identifier: BSL-1.0
//
// uring_word: the word on which an io_uring sleeps for a loop, in the place of the loop's descriptor.
//
//   [ told : 1 | armed : 1 ]
//
// The kernel's operation sleeps while the word is `armed` and nothing else. So there are two ways to wake the loop's
// thread, and at any time one of them is right: the word while it is armed, and otherwise the descriptor.
//
// Why nothing is lost
// -------------------
// Whoever tells marks the word (Y22), whoever is about to sleep on it arms it (Y23), and both change the word in one
// step. If the word was armed before it was told, its sleepers are woken, and an operation that only begins finds
// another value than it expects. If it was told before, it is not armed, and the operation finds that as well. A word
// that stops to be armed wakes its sleepers, whoever changes it. So an operation is never left asleep, and one that was
// prepared long ago ends too early rather than too late.
//
// A change of the two ways, by clear() and disarm(), may come between (Y22) and what follows it. Then the sleeper is
// told by the way that was right before, once too often; and it looks at the loop after the change.
#ifndef TIDEMARK_FENCE_DETAIL_URING_WORD_HPP
#define TIDEMARK_FENCE_DETAIL_URING_WORD_HPP

#include <atomic>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform>
class uring_word {
 public:
  using word = typename Platform::park_word;

  /// The value with which an operation sleeps.
  static constexpr std::uint32_t armed = 1;

  /// Returns the word on which an operation sleeps after arm().
  word& sleeps_on() noexcept { return word_; }

  /// Ends the sleep on the word, or the next one, if the word is armed. Otherwise it returns false, and the caller must
  /// make the descriptor readable. Any thread may call it.
  bool tell() noexcept {
    // (Y22): relaxed alone: what the sleeper is told of, it finds by the loop's own word. An exchange, so that of this
    // and (Y23) the later one finds the earlier one.
    if ((word_.fetch_or(told, std::memory_order_relaxed) & armed) == 0) return false;
    Platform::unpark(word_, UINT32_MAX);
    return true;
  }

  // ---- with the loop's lock held ----

  /// Lets operations sleep on the word. If it was told since clear(), they don't sleep.
  void arm() noexcept {
    std::uint32_t expected = 0;
    // (Y23): relaxed alone, like (Y22).
    word_.compare_exchange_strong(expected, armed, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  /// Forgets that it was told, and ends what sleeps on it. Returns whether tell() may have returned false since the
  /// last time.
  bool clear() noexcept { return (reset() & armed) == 0; }
  /// Ends what sleeps on the word. From now on the descriptor must be used. Returns whether that must be readable
  /// because the word was told before. A thread may also call it without the lock while no other one may arm the word.
  bool disarm() noexcept {
    // (Y24): relaxed alone: the lock orders what it looks for.
    return (word_.load(std::memory_order_relaxed) & armed) != 0 && reset() != armed;
  }

 private:
  static constexpr std::uint32_t told = 2;

  std::uint32_t reset() noexcept {
    // (Y25): relaxed alone, like (Y22): the thread leaves the loop afterwards (Y15).
    const std::uint32_t before = word_.exchange(0, std::memory_order_relaxed);
    // If it was told, whoever did that wakes them.
    if (before == armed) Platform::unpark(word_, UINT32_MAX);
    return before;
  }

  word word_{0};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_URING_WORD_HPP
