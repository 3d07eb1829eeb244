// SPDX-License-Identifier: BSL-1.0
//
// intrusive_lists: containers whose links lie in their entries, so nothing is allocated: linked_queue, push_stack,
// linked_sort and ordered_waits.
#ifndef TIDEMARK_PLATFORM_TOOLS_INTRUSIVE_LISTS_HPP
#define TIDEMARK_PLATFORM_TOOLS_INTRUSIVE_LISTS_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../platform.hpp"

namespace tidemark::detail {

/// linked_queue: a queue whose links, `next` and `previous`, lie in the entries. An entry can be removed from anywhere.
///
/// Not thread-safe: the owner's lock protects it.
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

/// push_stack: a stack on which any thread pushes, and which is taken as a whole. The links lie in the entries. An
/// entry that was taken may be pushed again at once, because no thread looks at the links of others.
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

// linked_sort: sorts entries by the links that lie in them, so nothing is allocated.
//
// Many entries are distributed by the digits of their keys, from the lowest digit on. That looks at each entry a few
// times, where a comparison of entries in random order would look at it once for each doubling of their number. A few
// entries, keys that are far apart, and those with equal keys are merged: the ascending runs that there are, in pairs.

/// \tparam Traits  `next(Entry&)` returns the link as an Entry*&, `comes_before(const Entry&, const Entry&)` is a
///                 strict order in which no two entries are equal, and `key(const Entry&)` is a number that never falls
///                 in it
template <class Entry, class Traits>
class linked_sort {
 public:
  /// Returns the first entry of the sorted list.
  /// \param first  the first of the entries, the last of which links to null
  /// \param count  of the entries
  static Entry* sorted(Entry* first, std::size_t count) noexcept {
    if (count < most_buckets) return merged_runs(first);
    std::uint64_t least = UINT64_MAX;
    std::uint64_t greatest = 0;
    for (Entry* one = first; one != nullptr; one = Traits::next(*one)) {
      const std::uint64_t key = Traits::key(*one);
      if (key < least) least = key;
      if (key > greatest) greatest = key;
    }
    const auto bits = static_cast<unsigned>(std::bit_width(greatest - least));
    // Merging takes a pass for each bit of their number.
    if (2 * bits <= bits_of_digit * static_cast<unsigned>(std::bit_width(count))) {
      for (unsigned shift = 0; shift < bits; shift += bits_of_digit) first = distributed(first, least, shift);
    }
    return merged_runs(first);
  }

 private:
  static constexpr unsigned bits_of_digit = 8;
  static constexpr std::size_t most_buckets = std::size_t{1} << bits_of_digit;

  /// Sorts by one digit of the keys. Entries with the same digit keep their order.
  static Entry* distributed(Entry* first, std::uint64_t least, unsigned shift) noexcept {
    std::array<Entry*, most_buckets> firsts{};
    std::array<Entry*, most_buckets> lasts;
    for (Entry* one = first; one != nullptr; one = Traits::next(*one)) {
      const std::size_t digit = ((Traits::key(*one) - least) >> shift) % most_buckets;
      (firsts[digit] != nullptr ? Traits::next(*lasts[digit]) : firsts[digit]) = one;
      lasts[digit] = one;
    }
    Entry* result = nullptr;
    for (std::size_t digit = most_buckets; digit-- != 0;) {
      if (firsts[digit] == nullptr) continue;
      Traits::next(*lasts[digit]) = result;
      result = firsts[digit];
    }
    return result;
  }

  /// Merges ascending runs: lists of equally many runs in pairs, and at the end what is left. One run alone is passed
  /// over once.
  static Entry* merged_runs(Entry* first) noexcept {
    std::array<Entry*, 64> pending{};  // at i: what 2^i runs were merged into
    std::size_t used = 0;
    while (first != nullptr) {
      Entry* run = first;
      first = cut_run(*run);
      if (first == nullptr && used == 0) return run;
      std::size_t i = 0;
      for (; pending[i] != nullptr; ++i) run = merged(std::exchange(pending[i], nullptr), run);
      pending[i] = run;
      if (used <= i) used = i + 1;
    }
    Entry* result = nullptr;
    for (std::size_t i = 0; i < used; ++i) result = merged(pending[i], result);
    return result;
  }
  /// Ends the run that begins with an entry, and returns what comes after it.
  static Entry* cut_run(Entry& first) noexcept {
    Entry* last = &first;
    while (Traits::next(*last) != nullptr && Traits::comes_before(*last, *Traits::next(*last)))
      last = Traits::next(*last);
    return std::exchange(Traits::next(*last), nullptr);
  }
  static Entry* merged(Entry* one, Entry* other) noexcept {
    Entry* result = nullptr;
    Entry** end = &result;
    while (one != nullptr && other != nullptr) {
      Entry*& lesser = Traits::comes_before(*one, *other) ? one : other;
      *end = lesser;
      end = &Traits::next(*lesser);
      lesser = *end;
    }
    *end = one != nullptr ? one : other;
    return result;
  }
};

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

#endif  // TIDEMARK_PLATFORM_TOOLS_INTRUSIVE_LISTS_HPP
