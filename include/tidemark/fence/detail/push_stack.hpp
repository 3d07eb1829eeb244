// SPDX-License-Identifier: BSL-1.0
//
// push_stack: a stack on which any thread pushes, and which is taken as a whole. The links lie in the entries. An entry
// that was taken may be pushed again at once, because no thread looks at the links of others.
#ifndef TIDEMARK_FENCE_DETAIL_PUSH_STACK_HPP
#define TIDEMARK_FENCE_DETAIL_PUSH_STACK_HPP

#include <atomic>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform, class Entry>
class push_stack {
 public:
  using link = typename Platform::template var<Entry*>;

  /// Progress: lock-free. Any thread may call it.
  /// \param next  the link of the entry
  void push(Entry& pushed, link& next) noexcept {
    // (Y6): relaxed alone: only a guess of what the stack holds, which (Y1) verifies.
    Entry* first = first_.load(std::memory_order_relaxed);
    do {
      next.store(first);
      // (Y1): release, pairs with (Y7): the thread that takes the stack sees what was pushed, and what was done before.
      // Not stronger: a push reads nothing of other entries.
    } while (!first_.compare_exchange_weak(first, &pushed, std::memory_order_release, std::memory_order_relaxed));
  }

  /// An entry that another thread has pushed just now may be missed.
  bool is_empty() const noexcept {
    // (Y8): relaxed alone: whoever must not miss an entry knows of it by another word, or has pushed it.
    return first_.load(std::memory_order_relaxed) == nullptr;
  }
  /// Takes all entries, and returns the one that was pushed last; null if there is none. Progress: wait-free. Any
  /// thread may call it.
  Entry* take() noexcept {
    if (is_empty()) return nullptr;
    // (Y7): acquire, pairs with (Y1). Not stronger: nothing is handed back by it.
    return first_.exchange(nullptr, std::memory_order_acquire);
  }
  /// Does the same, and links them in the order in which they were pushed. Returns the first one.
  Entry* take_in_order(link Entry::* next) noexcept {
    Entry* first = nullptr;
    for (Entry* rest = take(); rest != nullptr;) {
      Entry* const before = (rest->*next).load();
      (rest->*next).store(first);
      first = rest;
      rest = before;
    }
    return first;
  }

 private:
  typename Platform::template atomic<Entry*> first_{nullptr};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_PUSH_STACK_HPP
