// SPDX-License-Identifier: BSL-1.0
//
// ordered_waits: waits in the order of their keys; those with equal keys in the order in which they came. The links lie
// in the waits, so nothing is allocated.
//
// It is a pairing heap of runs. A run is a list in ascending order. A wait that comes with a key no less than the one
// before it is appended to that one's run, in constant time; any other begins a run of its own. So waits that come in
// ascending order, as most do, stand in one list, and the least one is taken without a comparison. Waits in random
// order take O(log n), amortized. Those that are due together are taken out together and then sorted, which is faster
// than to take out the least one again and again.
//
//   head of a run   child: the first of the heads below it;  sibling: the next head below the same one;
//                   back: the head above it if it is the first one below that, else the sibling before it
//   any wait        later: the next of its run;  in all but the head, back: the one before it
//
// Not thread-safe: the owner's lock protects it.
#ifndef TIDEMARK_FENCE_DETAIL_ORDERED_WAITS_HPP
#define TIDEMARK_FENCE_DETAIL_ORDERED_WAITS_HPP

#include <cstddef>
#include <utility>

#include "linked_sort.hpp"

namespace tidemark::detail {

template <class Wait>
struct wait_links {
  Wait* child = nullptr;
  Wait* sibling = nullptr;
  Wait* back = nullptr;
  Wait* later = nullptr;
};

/// \tparam Traits  names the links and the key of a wait: `links(Wait&)` returns a wait_links<Wait>&,
///                 `comes_before(const Wait&, const Wait&)` is a strict order in which no two waits are equal, and
///                 `key(const Wait&)`, for take_while() alone, is a number that never falls in that order
template <class Wait, class Traits>
class ordered_waits {
 public:
  ordered_waits() = default;
  ordered_waits(ordered_waits&& from) noexcept
      : least_{std::exchange(from.least_, nullptr)}, newest_{std::exchange(from.newest_, nullptr)} {}
  ordered_waits& operator=(ordered_waits&& from) noexcept {
    least_ = std::exchange(from.least_, nullptr);
    newest_ = std::exchange(from.newest_, nullptr);
    return *this;
  }

  /// Returns the least wait; null if there is none.
  Wait* least() const noexcept { return least_; }
  /// Returns whether there is one wait and no other.
  bool has_one() const noexcept {
    return least_ != nullptr && links(*least_).child == nullptr && links(*least_).later == nullptr;
  }

  /// Removes the only wait: has_one() must be true.
  void remove_one() noexcept { least_ = newest_ = nullptr; }
  /// Inserts a wait where there is none. insert() would do the same, and look for others first.
  void insert_one(Wait& added) noexcept {
    links(added) = {};
    least_ = newest_ = &added;
  }

  void insert(Wait& added) noexcept {
    links(added) = {};
    if (newest_ != nullptr && Traits::comes_before(*newest_, added)) {
      links(*newest_).later = &added;
      links(added).back = newest_;
    } else {
      least_ = joined(least_, &added);
    }
    newest_ = &added;
  }

  /// \param removed  must be among the waits
  void remove(Wait& removed) noexcept {
    wait_links<Wait>& of = links(removed);
    if (of.back != nullptr && links(*of.back).later == &removed) {
      links(*of.back).later = of.later;
      if (of.later != nullptr) links(*of.later).back = of.back;
      if (newest_ == &removed) newest_ = of.back;
      return;
    }
    Wait* below = all_joined(of.child);
    if (of.later != nullptr) {
      links(*of.later).back = nullptr;
      below = joined(below, of.later);
    }
    if (newest_ == &removed) newest_ = nullptr;
    if (least_ == &removed) {
      least_ = below;
      return;
    }
    if (links(*of.back).child == &removed) {
      links(*of.back).child = of.sibling;
    } else {
      links(*of.back).sibling = of.sibling;
    }
    if (of.sibling != nullptr) links(*of.sibling).back = of.back;
    least_ = joined(least_, below);
  }

  /// Takes out all waits that are over, and returns the least of them; `links().later` leads to the next ones.
  /// \param is_over  says of a wait whether it is over. It must hold for each that comes before one for which it holds.
  /// \param on_take  is called with each of them, in any order
  template <class IsOver, class OnTake>
  Wait* take_while(const IsOver& is_over, const OnTake& on_take) noexcept {
    Wait* taken = nullptr;
    Wait** end = &taken;
    std::size_t count = 0;
    std::size_t runs = 0;
    Wait* kept = nullptr;
    for (Wait* heads = std::exchange(least_, nullptr); heads != nullptr;) {
      Wait* const head = heads;
      heads = links(*head).sibling;
      Wait* rest = head;
      if (is_over(*head)) {
        while (Wait* const below = links(*head).child) {
          links(*head).child = std::exchange(links(*below).sibling, heads);
          heads = below;
        }
        ++runs;
        for (; rest != nullptr && is_over(*rest); rest = *end) {
          *end = rest;
          end = &links(*rest).later;
          ++count;
          on_take(*rest);
          if (newest_ == rest) newest_ = nullptr;
        }
        *end = nullptr;
      }
      if (rest == nullptr) continue;
      links(*rest).sibling = kept;
      kept = rest;
    }
    least_ = all_joined(kept);
    return runs > 1 ? linked_sort<Wait, later_in>::sorted(taken, count) : taken;
  }

 private:
  struct later_in : Traits {
    static Wait*& next(Wait& of) noexcept { return Traits::links(of).later; }
  };

  static wait_links<Wait>& links(Wait& of) noexcept { return Traits::links(of); }

  /// Puts the greater one of two heads below the other, and returns that one. Either may be null.
  static Wait* joined(Wait* one, Wait* other) noexcept {
    if (one == nullptr) return other;
    if (other == nullptr) return one;
    if (Traits::comes_before(*other, *one)) std::swap(one, other);
    wait_links<Wait>& above = links(*one);
    wait_links<Wait>& below = links(*other);
    below.sibling = above.child;
    below.back = one;
    if (above.child != nullptr) links(*above.child).back = other;
    above.child = other;
    return one;
  }

  /// Joins the siblings from `first` on in pairs, and then the pairs from the last one on.
  static Wait* all_joined(Wait* first) noexcept {
    Wait* pairs = nullptr;
    while (first != nullptr) {
      Wait* const second = links(*first).sibling;
      Wait* const rest = second != nullptr ? links(*second).sibling : nullptr;
      alone(first);
      if (second != nullptr) alone(second);
      Wait* const pair = joined(first, second);
      links(*pair).sibling = pairs;
      pairs = pair;
      first = rest;
    }
    Wait* result = nullptr;
    while (pairs != nullptr) {
      Wait* const rest = std::exchange(links(*pairs).sibling, nullptr);
      result = joined(result, pairs);
      pairs = rest;
    }
    return result;
  }
  static void alone(Wait* head) noexcept {
    links(*head).sibling = nullptr;
    links(*head).back = nullptr;
  }

  Wait* least_ = nullptr;
  Wait* newest_ = nullptr;  // the last of the run to which the next wait may be appended
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_ORDERED_WAITS_HPP
