// SPDX-License-Identifier: BSL-1.0
//
// linked_queue: a queue whose links, `next` and `previous`, lie in the entries. An entry can be removed from anywhere.
//
// Not thread-safe: the owner's lock protects it.
#ifndef TIDEMARK_FENCE_DETAIL_LINKED_QUEUE_HPP
#define TIDEMARK_FENCE_DETAIL_LINKED_QUEUE_HPP

namespace tidemark::detail {

template <class Entry>
class linked_queue {
 public:
  bool is_empty() const noexcept { return first_ == nullptr; }
  /// Returns the first entry; null if there is none.
  Entry* first() const noexcept { return first_; }

  void push(Entry& added) noexcept {
    added.next = nullptr;
    added.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &added;
    last_ = &added;
  }
  void remove(Entry& removed) noexcept {
    (removed.previous != nullptr ? removed.previous->next : first_) = removed.next;
    (removed.next != nullptr ? removed.next->previous : last_) = removed.previous;
  }
  /// Removes the first entry and returns it; null if there is none.
  Entry* take() noexcept {
    Entry* const taken = first_;
    if (taken != nullptr) remove(*taken);
    return taken;
  }

 private:
  Entry* first_ = nullptr;
  Entry* last_ = nullptr;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LINKED_QUEUE_HPP
